//! The commands that the loaded extensions declare, as commands of the program: with their options, their
//! help, and `--json` where they report a table. The extensions also define what a command does.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches};
use host_interface::{Parameter, ParameterKind};
use serde_json::{Map, Value};

use crate::base::databases::Databases;
use crate::base::settings::MailSettings;
use crate::extensions::commands::{CommandOption, DeclaredCommand};
use crate::extensions::parameters::entered;
use crate::site::Site;

use super::arguments::{Cli, Globals};
use super::libraries;
use super::listing::Form;
use super::terminal::Failure;

/// A command of extensions, as it was given.
#[derive(Debug, PartialEq)]
pub(super) struct Given {
    pub(super) name: String,
    /// The chosen values, by the name of each option.
    pub(super) options: Map<String, Value>,
    pub(super) form: Form,
}

/// Reads the words of a command that is not the program's own.
pub(super) fn read(
    commands: Vec<DeclaredCommand>,
    words: &[OsString],
) -> Result<Given, clap::Error> {
    let commands = offered(commands);
    let words = [OsString::from("example-host")].into_iter().chain(words.iter().cloned());
    let matches = with_all(&commands).try_get_matches_from(words)?;
    let given = matches.subcommand();
    let found = given.and_then(|(name, matches)| {
        Some((commands.iter().find(|command| command.name == name)?, matches))
    });
    // The words are those of none of the program's own commands, so they are one of these.
    let (command, matches) = found.ok_or_else(|| clap::Error::new(ErrorKind::InvalidSubcommand))?;
    let value =
        |option: &CommandOption| Some((option.name.clone(), chosen(matches, &option.name)?));
    Ok(Given {
        name: command.name.clone(),
        options: command.options.iter().filter_map(value).collect(),
        form: if command.has_table { Form::from_arg_matches(matches)? } else { Form::default() },
    })
}

/// An error about arguments, once the commands of extensions are known: they are in the help and among
/// the suggestions. Where no library can be loaded, the error stays as it is.
pub(super) fn informed(error: clap::Error) -> clap::Error {
    if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::InvalidSubcommand) {
        return error;
    }
    let Ok(commands) = declared() else { return error };
    with_all(&offered(commands)).try_get_matches().err().unwrap_or(error)
}

/// The commands of the libraries that the arguments of this process name.
fn declared() -> Result<Vec<DeclaredCommand>, Failure> {
    // A plugin is created within a runtime, as for any command.
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let _context = runtime.enter();
    let flag = |name: &'static str, short| {
        Arg::new(name).long(name).short(short).action(ArgAction::SetTrue)
    };
    // Nothing but the libraries is of interest, wherever an error or a request for help is.
    let command = Globals::augment_args(Command::new("example-host"))
        .disable_help_flag(true)
        .args([flag("help", 'h'), flag("version", 'V')])
        .allow_external_subcommands(true)
        .ignore_errors(true);
    let matches = command.try_get_matches()?;
    let named = matches.get_many::<PathBuf>("plugin");
    let libraries = libraries::named(named.into_iter().flatten().cloned().collect())?;
    let database = matches.get_one::<String>("database").ok_or("no database")?;
    let databases = Databases::new(database.parse()?);
    Ok(Site::load(&databases, &libraries, &MailSettings::default())?.commands())
}

/// Those whose names the program does not have itself.
fn offered(commands: Vec<DeclaredCommand>) -> Vec<DeclaredCommand> {
    let own = Cli::command();
    let is_own = |name: &str| name == "help" || own.find_subcommand(name).is_some();
    let (own, offered): (Vec<_>, Vec<_>) =
        commands.into_iter().partition(|command| is_own(&command.name));
    for command in own {
        tracing::debug!(command = command.name, "the program has a command of this name itself");
    }
    offered
}

/// The program's arguments with these commands beside its own.
fn with_all(commands: &[DeclaredCommand]) -> Command {
    // Now that all commands are known, any other word is a mistake.
    let own = Cli::command().external_subcommand_value_parser(Resettable::Reset);
    own.allow_external_subcommands(false).subcommands(commands.iter().map(command))
}

fn command(declared: &DeclaredCommand) -> Command {
    let DeclaredCommand { name, help, options, operand, has_table } = declared;
    // As in the help of the program's own commands.
    let help = help.strip_suffix('.').unwrap_or(help).to_owned();
    let arguments = options.iter().map(|option| {
        let argument = argument(option);
        if operand.as_ref() == Some(&option.name) { argument } else { by_name(argument, option) }
    });
    let command = Command::new(name.clone()).args(arguments);
    let command = if *has_table { Form::augment_args(command) } else { command };
    command.about(help)
}

fn argument(option: &CommandOption) -> Arg {
    let CommandOption { name, parameter } = option;
    let default = match &parameter.default {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let declared = parameter.clone();
    let shown = if default.is_empty() { String::new() } else { format!(" [default: {default}]") };
    Arg::new(name.clone())
        .value_name(name.replace('_', "-").to_uppercase())
        .help(format!("{}{shown}", parameter.description))
        .value_parser(move |text: &str| value(&declared, text))
}

/// An argument that is given by its name. A flag needs no value.
fn by_name(argument: Arg, option: &CommandOption) -> Arg {
    let argument = argument.long(option.name.replace('_', "-"));
    if option.parameter.kind == ParameterKind::Flag {
        return argument.num_args(0..=1).require_equals(true).default_missing_value("1");
    }
    argument.value_name("VALUE").allow_hyphen_values(true)
}

fn chosen(matches: &ArgMatches, name: &str) -> Option<Value> {
    matches.get_one(name).cloned()
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

    fn bakery() -> Vec<DeclaredCommand> {
        let loaves = Parameter::new("loaves", ParameterKind::Integer, 12, "How many.").at_least(0);
        let bread = Parameter::new("of_bread", ParameterKind::Text, "rye", "Which.");
        let options = [loaves, bread]
            .map(|parameter| CommandOption { name: parameter.name.clone(), parameter });
        let command = |name: &str, has_table| DeclaredCommand {
            name: name.to_owned(),
            help: format!("Do {name} it."),
            options: options.to_vec(),
            operand: None,
            has_table,
        };
        vec![command("bake", false), command("weigh", true), command("serve", false)]
    }

    fn given(words: &str) -> Result<Value, String> {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        read(bakery(), &words)
            .map(|given| json!([given.name, given.options, format!("{:?}", given.form)]))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn commands_and_their_options_are_those_that_extensions_declare() {
        let (lines, json) = ("Form { json: false }", "Form { json: true }");
        assert_eq!(given("bake"), Ok(json!(["bake", {}, lines])));
        assert_eq!(
            given("bake --loaves 3 --of-bread=a"),
            Ok(json!(["bake", {"loaves": 3, "of_bread": "a"}, lines]))
        );
        assert_eq!(given("weigh --json"), Ok(json!(["weigh", {}, json])));
        for (wrong, why) in [
            (
                "bake --loaves many",
                "invalid value 'many' for '--loaves <VALUE>': it is a whole number",
            ),
            ("bake --loaves -1", "it is a whole number, at least 0"),
            ("bake --loavs 1", "a similar argument exists: '--loaves'"),
            ("bake --rolls 1", "unexpected argument '--rolls' found"),
            ("bake --json", "unexpected argument '--json' found"),
            ("bake --help", "--of-bread <VALUE>  Which. [default: rye]"),
            ("bake --help", "Usage: example-host bake"),
            ("wiegh", "a similar subcommand exists: 'weigh'"),
            ("--help", "  weigh       Do weigh it\n"),
        ] {
            let message = given(wrong).err().unwrap_or_default();
            assert!(message.contains(why), "{wrong}: {message}");
        }
    }

    #[test]
    fn an_operand_is_given_by_its_value_and_a_flag_by_its_name() {
        let text = Parameter::new("of_bread", ParameterKind::Text, "rye", "Which.");
        let flag = Parameter::new("try_out", ParameterKind::Flag, 0, "Whether to eat none.");
        let options =
            [text, flag].map(|parameter| CommandOption { name: parameter.name.clone(), parameter });
        let command = DeclaredCommand {
            name: "eat".to_owned(),
            help: String::new(),
            options: options.to_vec(),
            operand: Some("of_bread".to_owned()),
            has_table: false,
        };
        let given = |words: &str| -> Result<Value, String> {
            let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
            let given = read(vec![command.clone()], &words);
            given.map(|given| given.options.into()).map_err(|error| error.to_string())
        };
        assert_eq!(given("eat"), Ok(json!({})));
        assert_eq!(given("eat - --try-out"), Ok(json!({"of_bread": "-", "try_out": 1})));
        assert_eq!(given("eat --try-out wheat"), Ok(json!({"of_bread": "wheat", "try_out": 1})));
        assert_eq!(given("eat --try-out=0"), Ok(json!({"try_out": 0})));
        for (wrong, why) in [
            ("eat a b", "unexpected argument 'b' found"),
            ("eat --of-bread a", "unexpected argument '--of-bread' found"),
            ("eat --try-out=2", "it is 0 or 1"),
            ("eat --help", "eat [OPTIONS] [OF-BREAD]"),
        ] {
            let message = given(wrong).err().unwrap_or_default();
            assert!(message.contains(why), "{wrong}: {message}");
        }
    }

    #[test]
    fn a_command_with_the_name_of_one_of_the_program_is_left_out() {
        let names: Vec<String> = offered(bakery()).into_iter().map(|of| of.name).collect();
        assert_eq!(names, ["bake", "weigh"]);
    }
}
