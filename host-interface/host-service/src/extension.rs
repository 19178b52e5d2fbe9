//! An extension: a plugin with its description. Creates, checks, installs and ends plugins; knows
//! neither requests nor what a site keeps about an extension.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use host_interface::{
    Command, Description, Environment, Event, Host, Library, LoadedPlugin, Parameter,
    ParameterKind, capability,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::Error;

/// How long a plugin may take to deal with an event.
const EVENT_TIME: Duration = Duration::from_secs(5);
/// Extra time to log that a plugin did not finish in time.
const LOGGING_TIME: Duration = Duration::from_millis(50);

/// A plugin that has been created, with its description. Clones are cheap and equal.
#[derive(Clone, Debug)]
pub struct Extension(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    base_path: String,
    description: Description,
    plugin: Arc<LoadedPlugin>,
}

/// Reports an event to the plugin of an extension, and waits for it to deal with the event, for five
/// seconds at most. An error is only logged.
pub async fn report_event(extension: &str, plugin: &LoadedPlugin, event: &Event) {
    let reported = timeout(EVENT_TIME, plugin.event(event)).await;
    let late = |_| Err(host_interface::Error::failed("it took too long"));
    if let Err(error) = reported.unwrap_or_else(late) {
        tracing::warn!(extension, event = event.name(), %error, "an event was not dealt with");
    }
}

impl Extension {
    /// Creates the plugin of a library for this host, and asks it to describe itself. The plugin has
    /// not been installed then. Its routes are to be below the environment's base path; that bodies
    /// are passed on in pieces is offered in addition to what the environment names.
    ///
    /// # Errors
    /// When its name is not of the form that the contract defines, or the plugin fails.
    pub fn create(
        library: &Library,
        host: impl Host,
        environment: Environment,
    ) -> Result<Self, Error> {
        let name = library.name();
        check_name(name)?;
        let failed =
            |step| move |source| Error::Plugin { extension: name.to_owned(), step, source };
        let environment = environment.capabilities([capability::STREAMS]);
        let plugin = library.create(host, &environment).map_err(failed("create"))?;
        let description = plugin.describe().map_err(failed("describe"))?;
        for left_out in &description.ignored {
            tracing::warn!(extension = name, %left_out, "the contract of this host does not know it");
        }
        let (base_path, plugin) = (environment.base_path, Arc::new(plugin));
        Ok(Self(Arc::new(Inner { base_path, description, plugin })))
    }

    /// Its name, by which the site knows it.
    pub fn name(&self) -> &str {
        &self.0.description.name
    }

    /// What the plugin has declared.
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// The plugin.
    pub fn plugin(&self) -> &Arc<LoadedPlugin> {
        &self.0.plugin
    }

    /// Reports an event, if the plugin has asked for it; see [`report_event`].
    pub async fn report(&self, event: &Event) {
        if self.description().events.iter().any(|name| name == event.name()) {
            report_event(self.name(), self.plugin(), event).await;
        }
    }

    /// The path below which its routes are, without a slash at the end.
    pub fn base_path(&self) -> &str {
        &self.0.base_path
    }

    /// Checks what extensions declare, each by itself and together: distinct names of extensions,
    /// panels, jobs and commands, valid options and defaults, one base path.
    pub(crate) fn check(extensions: &[Self]) -> Result<(), Error> {
        let mut names = HashSet::new();
        for extension in extensions {
            let description = extension.description();
            let wrong = |reason: &str| Err(Error::description(extension.name(), reason));
            if !names.insert(extension.name()) {
                return wrong("is loaded twice");
            }
            if extensions.iter().any(|other| other.base_path() != extension.base_path()) {
                return wrong("has another base path than the other extensions");
            }
            let Description { panels, detail_panels, jobs, commands, .. } = description;
            for (what, repeated) in [
                ("panels", repeated(panels.iter().map(|panel| &panel.name))),
                ("detail panels", repeated(detail_panels.iter().map(|panel| &panel.name))),
                ("jobs", repeated(jobs.iter().map(|job| &job.name))),
                ("commands", repeated(commands.iter().map(|command| &command.name))),
            ] {
                if let Some(name) = repeated {
                    return wrong(&format!("has two {what} of the name {name}"));
                }
            }
            if let Some(reason) = impossible(description) {
                return wrong(&reason);
            }
        }
        Ok(())
    }

    /// Lets plugins finish, concurrently, so that one that hangs does not delay the others. What
    /// fails, or is not done at the deadline, is logged.
    pub async fn shut_down(extensions: impl IntoIterator<Item = Self>, deadline: Instant) {
        // Each in a task of its own, because a plugin that blocks its thread could not be cancelled
        // otherwise.
        let mut finishing = JoinSet::new();
        for extension in extensions {
            finishing.spawn(async move {
                let done = timeout_at(deadline, extension.plugin().shutdown()).await;
                let extension = extension.name();
                match done {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::error!(extension, %error, "did not shut down"),
                    Err(_) => tracing::error!(extension, "did not shut down in time"),
                }
            });
        }
        let all = async { while finishing.join_next().await.is_some() {} };
        // A little more time lets the tasks that have timed out log that.
        if timeout_at(deadline + LOGGING_TIME, all).await.is_err() {
            tracing::error!("an extension blocks its thread while it shuts down");
        }
    }
}

/// The first name that occurs a second time.
fn repeated<'a>(names: impl IntoIterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// A site uses a name as a key and in file names, so it must have the form that the contract defines.
fn check_name(name: &str) -> Result<(), Error> {
    if !is_word(name) {
        let reason = "has a name with characters other than lower-case letters, digits and hyphens";
        return Err(Error::description(name, reason));
    }
    Ok(())
}

fn is_word(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(fits)
}

/// What is wrong with a parameter, a command or an option, if anything is.
fn impossible(description: &Description) -> Option<String> {
    let Description { parameters, commands, .. } = description;
    let secret = |of: &&Parameter| of.kind == ParameterKind::Secret;
    // What is in a library, or in the arguments of a command, is no secret.
    if let Some(Parameter { name, .. }) =
        parameters.iter().filter(secret).find(|of| !of.default.is_null())
    {
        return Some(format!("{name} is a secret, but has a default"));
    }
    for Command { name, options, .. } in commands {
        if !is_word(name) {
            return Some(format!("has a command {name:?}, which is no name of one"));
        }
        if let Some(option) = repeated(options.iter().map(|option| &option.name)) {
            return Some(format!("has two options {option} of the command {name}"));
        }
        if let Some(Parameter { name, .. }) = options.iter().find(secret) {
            return Some(format!("{name} is an option and cannot be a secret"));
        }
    }
    let options = commands.iter().flat_map(|command| &command.options);
    let mut all = parameters.iter().chain(options);
    let wrong = all.find(|of| !of.admits(&of.default))?;
    let (name, default, expected) = (&wrong.name, &wrong.default, wrong.expectation());
    Some(format!("{name} must be {expected}, but its default is {default}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_no_default_and_is_no_option() {
        let key = || Parameter::secret("key", "");
        let known = Parameter::new("key", ParameterKind::Secret, "s3cret", "");
        let described = || Description::new("1.0.0");
        let command = |options: [Parameter; 1]| {
            described().commands([Command::new("open", "").options(options)])
        };
        assert_eq!(impossible(&described().parameters([key()])), None);
        for (wrong, why) in [
            (described().parameters([known]), "key is a secret, but has a default"),
            (command([key()]), "key is an option and cannot be a secret"),
        ] {
            assert_eq!(impossible(&wrong).as_deref(), Some(why));
        }
    }

    #[test]
    fn a_command_has_a_name_and_options_of_different_names() {
        let option = |default: i64| {
            Parameter::new("days", ParameterKind::Integer, default, "How many.").at_least(1)
        };
        let described = |name: &str, options: Vec<Parameter>| {
            Description::new("1.0.0").commands([Command::new(name, "").options(options)])
        };
        assert_eq!(impossible(&described("prune-2", vec![option(1)])), None);
        for (wrong, why) in [
            (described("", vec![]), "has a command \"\", which is no name of one"),
            (described("Prune", vec![]), "has a command \"Prune\", which is no name of one"),
            (
                described("prune", vec![option(1), option(2)]),
                "has two options days of the command prune",
            ),
            (
                described("prune", vec![option(0)]),
                "days must be a whole number, at least 1, but its default is 0",
            ),
        ] {
            assert_eq!(impossible(&wrong).as_deref(), Some(why));
        }
    }
}
