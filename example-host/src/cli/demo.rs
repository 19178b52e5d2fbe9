//! The arguments of the command `demo`, whose options are declared by the loaded extensions. The
//! extensions also define what an option means.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};
use host_interface::Parameter;
use serde_json::{Map, Value};

use crate::extensions::demo::DemoOption;
use crate::extensions::parameters::entered;
use crate::site::Loaded;

/// The chosen values, by the name of each option. If the extensions could not be loaded, the help
/// lists no options, and the caller reports the failure.
pub(super) fn chosen(
    loaded: Option<&Loaded>,
    arguments: Vec<String>,
) -> Result<Map<String, Value>, clap::Error> {
    let options = loaded.map(Loaded::demo_options).unwrap_or_default();
    match read(&options, arguments) {
        Err(error) if loaded.is_none() && error.kind() != ErrorKind::DisplayHelp => Ok(Map::new()),
        chosen => chosen,
    }
}

fn read(options: &[DemoOption], arguments: Vec<String>) -> Result<Map<String, Value>, clap::Error> {
    let command = Command::new("demo")
        .bin_name("example-host demo")
        .about("Fill the site with demonstration data.")
        .args(options.iter().map(argument));
    let words = ["demo".to_owned()].into_iter().chain(arguments);
    let matches: ArgMatches = command.try_get_matches_from(words)?;
    let value =
        |option: &DemoOption| Some((option.name.clone(), matches.get_one(&option.name).cloned()?));
    Ok(options.iter().filter_map(value).collect())
}

fn argument(option: &DemoOption) -> Arg {
    let DemoOption { name, parameter } = option;
    let default = match &parameter.default {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let declared = parameter.clone();
    Arg::new(name.clone())
        .long(name.replace('_', "-"))
        .value_name("VALUE")
        .allow_hyphen_values(true)
        .help(format!("{} [default: {default}]", parameter.description))
        .value_parser(move |text: &str| value(&declared, text))
}

fn value(parameter: &Parameter, text: &str) -> Result<Value, String> {
    let value = entered(parameter.kind, text);
    let expected = || format!("it is {}", parameter.expectation());
    parameter.admits(&value).then_some(value).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use host_interface::ParameterKind;
    use serde_json::json;

    use super::*;

    fn parsed(arguments: &str) -> Result<Value, String> {
        let loaves = Parameter::new("loaves", ParameterKind::Integer, 12, "How many.").at_least(0);
        let bread = Parameter::new("of_bread", ParameterKind::Text, "rye", "Which.");
        let options =
            [loaves, bread].map(|parameter| DemoOption { name: parameter.name.clone(), parameter });
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        read(&options, arguments).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_those_that_extensions_declare() {
        assert_eq!(parsed(""), Ok(json!({})));
        assert_eq!(parsed("--loaves 3 --of-bread=a"), Ok(json!({"loaves": 3, "of_bread": "a"})));
        for (wrong, why) in [
            ("--loaves many", "invalid value 'many' for '--loaves <VALUE>': it is a whole number"),
            ("--loaves -1", "it is a whole number, at least 0"),
            ("--loavs 1", "a similar argument exists: '--loaves'"),
            ("--rolls 1", "unexpected argument '--rolls' found"),
            ("--help", "--of-bread <VALUE>  Which. [default: rye]"),
        ] {
            let message = parsed(wrong).err().unwrap_or_default();
            assert!(message.contains(why), "{wrong}: {message}");
        }
    }
}
