//! The commands that extensions declare, their options, and the values given to these. What a command does is
//! defined by its extension.

use std::collections::HashSet;

use host_interface::{Command, Description, Parameter};
use serde_json::{Map, Value};

use crate::base::error::Error;
use crate::base::text::distinct;
use crate::extensions::parameters::full_name;

/// A command that one or several extensions declare. It is run by all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredCommand {
    /// Its name.
    pub name: String,
    /// What it does, in the words of its extensions.
    pub help: String,
    /// The options of all of these extensions.
    pub options: Vec<CommandOption>,
    /// The name of the option that is given by its value alone.
    pub operand: Option<String>,
    /// Whether it reports a table.
    pub has_table: bool,
}

/// An option of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandOption {
    /// Its name; with the name of its extension and a slash before it if several extensions have an
    /// option of that name, or every command has one.
    pub name: String,
    /// Its type, limits and default.
    pub parameter: Parameter,
}

/// The options that the command line has for commands of its own accord.
const RESERVED: [&str; 2] = ["help", "json"];

/// A command of one extension.
pub(crate) type Declared<'a> = (&'a Description, &'a Command);

/// The commands of these extensions, in the order of declaration.
pub(crate) fn all(descriptions: &[&Description]) -> Vec<DeclaredCommand> {
    let mut seen = HashSet::new();
    let commands = descriptions.iter().flat_map(|of| &of.commands);
    let names = commands.map(|command| command.name.as_str()).filter(|name| seen.insert(*name));
    names.map(|name| joined(name, &named(name, descriptions))).collect()
}

/// The command of this name in each extension that declares it.
pub(crate) fn named<'a>(name: &str, descriptions: &[&'a Description]) -> Vec<Declared<'a>> {
    let command = |of: &&'a Description| {
        Some((*of, of.commands.iter().find(|command| command.name == name)?))
    };
    descriptions.iter().filter_map(command).collect()
}

/// For each of the commands the values of all its options: the chosen ones, else the defaults.
pub(crate) fn values(
    commands: &[Declared<'_>],
    chosen: &Map<String, Value>,
) -> Result<Vec<Map<String, Value>>, Error> {
    let options = options(commands);
    for (name, value) in chosen {
        let option = options.iter().find(|option| option.name == *name);
        let CommandOption { parameter, .. } =
            option.ok_or_else(|| Error::not_found("option", name))?;
        if !parameter.admits(value) {
            let expected = parameter.expectation();
            return Err(Error::Invalid(format!("{name} must be {expected}, not {value}")));
        }
    }
    let own = |of: &Declared<'_>| {
        let value = |option: &Parameter| {
            let value = chosen.get(&option_name(commands, of, option)).unwrap_or(&option.default);
            (option.name.clone(), value.clone())
        };
        of.1.options.iter().map(value).collect()
    };
    Ok(commands.iter().map(own).collect())
}

fn joined(name: &str, commands: &[Declared<'_>]) -> DeclaredCommand {
    let help = distinct(commands.iter().map(|(_, command)| command.help.as_str()));
    DeclaredCommand {
        name: name.to_owned(),
        help: help.join(" "),
        options: options(commands),
        operand: commands.iter().find_map(|of| operand(commands, of)),
        has_table: commands.iter().any(|(_, command)| !command.columns.is_empty()),
    }
}

fn operand(commands: &[Declared<'_>], of: &Declared<'_>) -> Option<String> {
    let named = of.1.operand.as_ref()?;
    let option = of.1.options.iter().find(|option| option.name == *named)?;
    Some(option_name(commands, of, option))
}

fn options(commands: &[Declared<'_>]) -> Vec<CommandOption> {
    let own = |of: &Declared<'_>| {
        let named = |option: &Parameter| CommandOption {
            name: option_name(commands, of, option),
            parameter: option.clone(),
        };
        of.1.options.iter().map(named).collect::<Vec<CommandOption>>()
    };
    commands.iter().flat_map(own).collect()
}

fn option_name(commands: &[Declared<'_>], of: &Declared<'_>, option: &Parameter) -> String {
    let has = |of: &&Declared<'_>| of.1.options.iter().any(|other| other.name == option.name);
    let is_shared = commands.iter().filter(has).count() > 1;
    if is_shared || RESERVED.contains(&option.name.as_str()) {
        full_name(&of.0.name, &option.name)
    } else {
        option.name.clone()
    }
}

#[cfg(test)]
mod tests {
    use host_interface::ParameterKind;
    use serde_json::json;

    use super::*;

    fn command(options: &[&str]) -> Command {
        let option =
            |name: &&str| Parameter::new(*name, ParameterKind::Integer, 3, "How many.").at_least(0);
        Command::new("bake", "Bake.").options(options.iter().map(option))
    }

    fn extension(name: &str, command: Command) -> Description {
        let mut description = Description::new("1.0.0").commands([command]);
        description.name = name.to_owned();
        description
    }

    fn chosen(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn each_extension_has_a_value_for_each_of_its_options() {
        let bakery = extension("bakery", command(&["loaves", "days"]));
        let zoo = extension("zoo", command(&["days"]));
        let both = [&bakery, &zoo];
        let declared = all(&both);
        assert_eq!(declared.len(), 1);
        let options = declared.iter().flat_map(|command| &command.options);
        let names: Vec<&str> = options.map(|option| option.name.as_str()).collect();
        assert_eq!(names, ["loaves", "bakery/days", "zoo/days"]);
        let commands = named("bake", &both);
        let values = |given: Value| {
            values(&commands, &chosen(given))
                .map(|values| json!(values))
                .map_err(|error| error.to_string())
        };
        assert_eq!(values(json!({})), Ok(json!([{"loaves": 3, "days": 3}, {"days": 3}])));
        assert_eq!(
            values(json!({"loaves": 0, "zoo/days": 9})),
            Ok(json!([{"loaves": 0, "days": 3}, {"days": 9}]))
        );
        assert_eq!(
            values(json!({"days": 1})),
            Err("there is no option called \"days\"".to_owned())
        );
        assert_eq!(
            values(json!({"loaves": -1})),
            Err("loaves must be a whole number, at least 0, not -1".to_owned())
        );
    }

    #[test]
    fn a_command_of_several_extensions_is_one_with_the_words_of_each() {
        let quiet = extension("quiet", Command::new("bake", "Bake.").columns(["loaf"]));
        let other = extension("other", Command::new("bake", "Bake rolls."));
        let third = extension("third", Command::new("clean", "Clean.").options([]));
        let zoo = extension("zoo", command(&["json"]));
        let declared = all(&[&quiet, &zoo, &other, &third]);
        let about: Vec<_> =
            declared.iter().map(|of| (of.name.as_str(), of.help.as_str(), of.has_table)).collect();
        assert_eq!(about, [("bake", "Bake. Bake rolls.", true), ("clean", "Clean.", false)]);
        // Every command with a table has an option `json`.
        assert_eq!(declared[0].options[0].name, "zoo/json");
        assert_eq!(named("bake", &[&third]), []);
    }
}
