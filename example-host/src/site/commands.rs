//! Running the commands that extensions declare. The host knows none of them by name: what one does, and what
//! the audit trail records of it, is declared by its extension.
//!
//! `copy`, `backup` and `restore` are no such commands, but the host's own. They are about its tables too, they
//! work where no site is open yet, and only the host knows the databases of all extensions and the order in
//! which they are marked, filled and released.

use host_interface::{Command, CommandOutput, Description, LoadedPlugin, Progress, occasion};
use serde_json::{Map, Value};

use super::Site;
use super::state::change;
use crate::base::error::Error;
use crate::base::text::distinct;
use crate::database::{Connection, sql, transact};
use crate::extensions::commands::{self, Declared};

/// What a command has reported, of all extensions that have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandReport {
    /// The rows, each with its values by the names of the columns.
    pub rows: Vec<Map<String, Value>>,
    /// The lines for people.
    pub lines: Vec<String>,
    /// Why it counts as failed, although it has run to its end.
    pub failure: Option<String>,
}

/// A command of an extension, ready to run.
struct Run<'a> {
    extension: &'a Description,
    command: &'a Command,
    plugin: &'a LoadedPlugin,
    options: Map<String, Value>,
}

impl Run<'_> {
    /// Whether it changes nothing.
    fn is_dry(&self) -> bool {
        let flag = self.command.dry_run.as_ref().and_then(|flag| self.options.get(flag));
        flag.and_then(Value::as_i64) == Some(1)
    }
}

impl Site {
    /// Runs a command in each extension that declares it. Options are given by the names in
    /// [`Loaded::commands`](super::Loaded::commands); the others have their defaults. `progress` creates
    /// the progress listener for an extension.
    ///
    /// # Errors
    /// When no extension declares the command, an option does not exist or may not have that value, or an
    /// extension or the database fails.
    pub async fn command<P: Progress>(
        &self,
        name: &str,
        options: &Map<String, Value>,
        progress: impl FnMut() -> P,
    ) -> Result<CommandReport, Error> {
        // What an extension keeps may be about another one's.
        self.all_served()?;
        let declared = commands::named(name, &self.described());
        if declared.is_empty() {
            return Err(Error::not_found("command", name));
        }
        let values = commands::values(&declared, options)?;
        self.run(self.runs(&declared, values), progress).await
    }

    /// What a command of one extension would do; `None` if it cannot tell without doing it.
    ///
    /// # Errors
    /// When the extension fails.
    pub(crate) async fn dry_run(
        &self,
        extension: &str,
        command: &str,
    ) -> Result<Option<CommandReport>, Error> {
        let mut declared = commands::named(command, &self.described());
        declared.retain(|(of, _)| of.name == extension);
        let flag = declared.first().and_then(|(_, command)| command.dry_run.clone());
        let Some(flag) = flag else { return Ok(None) };
        let chosen = Map::from_iter([(flag, Value::from(1))]);
        let values = commands::values(&declared, &chosen)?;
        self.run(self.runs(&declared, values), || ()).await.map(Some)
    }

    /// Runs the commands that extensions have for an occasion, with the defaults of their options.
    ///
    /// # Errors
    /// When an extension or the database fails, or a command counts as failed.
    pub(crate) async fn run_on<P: Progress>(
        &self,
        occasion: &str,
        mut progress: impl FnMut() -> P,
    ) -> Result<(), Error> {
        self.all_served()?;
        let descriptions = self.described();
        for of in commands::all(&descriptions) {
            let mut declared = commands::named(&of.name, &descriptions);
            declared.retain(|(_, command)| command.is_on(occasion));
            let values = commands::values(&declared, &Map::new())?;
            let report = self.run(self.runs(&declared, values), &mut progress).await?;
            if let Some(why) = report.failure {
                return Err(Error::Invalid(why));
            }
        }
        Ok(())
    }

    fn described(&self) -> Vec<&Description> {
        self.plugins().map(|(description, _)| description).collect()
    }

    fn runs<'a>(
        &'a self,
        declared: &[Declared<'a>],
        values: Vec<Map<String, Value>>,
    ) -> Vec<Run<'a>> {
        let run = |((extension, command), options): (&Declared<'a>, _)| {
            let of = |(description, _): &(&Description, _)| description.name == extension.name;
            let (_, plugin) = self.plugins().find(of)?;
            Some(Run { extension, command, plugin, options })
        };
        declared.iter().zip(values).filter_map(run).collect()
    }

    async fn run<P: Progress>(
        &self,
        runs: Vec<Run<'_>>,
        mut progress: impl FnMut() -> P,
    ) -> Result<CommandReport, Error> {
        // The data are in the databases of the extensions, so no transaction has both them and an entry.
        // With an entry at the beginning, what an interrupted run has left is in the trail, too; the entry
        // at the end means that everything was done.
        let changing = || runs.iter().filter(|run| !run.is_dry());
        // Several extensions may have the same entry.
        let begins = distinct(changing().filter_map(|run| run.command.recorded.clone()));
        if !begins.is_empty() {
            transact!(self.state().database(), |transaction| {
                self.record_all(transaction, &begins).await
            })?;
        }
        let ends = distinct(changing().filter_map(|run| run.command.recorded_at_end.clone()));
        let is_trial = runs.iter().any(|run| run.command.is_on(occasion::TRIAL));
        let mut report = CommandReport::default();
        let mut failures = Vec::new();
        for Run { extension, command, plugin, options } in runs {
            let output = plugin.command(&command.name, options, progress()).await;
            let output = output.map_err(|source| Error::Command {
                plugin: extension.name.clone(),
                command: command.name.clone(),
                source,
            })?;
            let CommandOutput { rows, lines, failure, .. } = output;
            let row = |cells: Vec<Value>| command.columns.iter().cloned().zip(cells).collect();
            report.rows.extend(rows.into_iter().map(row));
            report.lines.extend(lines);
            failures.extend(failure);
        }
        let failures = distinct(failures);
        if failures.is_empty() && (is_trial || !ends.is_empty()) {
            change!(self.state(), |transaction| {
                if is_trial {
                    transaction.execute(sql("UPDATE host_state SET demo_filled = TRUE")).await?;
                }
                self.record_all(transaction, &ends).await
            })?;
        }
        report.failure = (!failures.is_empty()).then(|| failures.join("; "));
        Ok(report)
    }

    async fn record_all(
        &self,
        transaction: &mut Connection,
        entries: &[String],
    ) -> Result<(), Error> {
        for what in entries {
            self.record(transaction, "", "", what).await?;
        }
        Ok(())
    }
}
