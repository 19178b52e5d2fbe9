//! Commands: what an operator can have a plugin do on a site, and what it reports. Knows nothing of how a host
//! offers them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::parameter::Parameter;

/// A command of a plugin, for the operators of a site. The example host has it on its command line.
///
/// Work that is also about the host's own data is not a command, but a call of its own: when a site moves,
/// only the host knows the order and both places, see [`Plugin::copy`](crate::Plugin::copy).
///
/// ```
/// use host_interface::{Command, Parameter, ParameterKind};
///
/// let prune = Command::new("prune", "Remove drafts that nobody has touched for some days.")
///     .options([Parameter::new("days", ParameterKind::Integer, 90, "How many days.").at_least(1)])
///     .columns(["draft", "title"])
///     .recorded("remove old drafts");
/// assert_eq!(prune.columns, ["draft", "title"]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Command {
    /// The name, unique in the plugin: lower-case letters, digits and hyphens. Where several extensions of a
    /// site have a command of one name, all of them run it.
    pub name: String,
    /// What it does, some sentences for operators.
    pub help: String,
    /// Its options. None of them is a secret.
    #[serde(default)]
    pub options: Vec<Parameter>,
    /// The option that is given by its value alone, as a command line has the name of a file; `None` if each is
    /// given by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operand: Option<String>,
    /// The option, a flag, with which it changes nothing, and reports what it would do. Nothing is recorded then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<String>,
    /// The columns of the table that it reports; none if it reports no table.
    #[serde(default)]
    pub columns: Vec<String>,
    /// What it changes, as the audit trail of a host calls it, for example `remove old drafts`. Recorded
    /// before it begins, so that there is an entry also if it fails half-way. Without it, nothing is recorded.
    #[serde(default)]
    pub recorded: Option<String>,
    /// What it has changed, recorded once it has succeeded.
    #[serde(default)]
    pub recorded_at_end: Option<String>,
    /// When a host runs it of its own accord, with the defaults of its options, see
    /// [`occasion`](crate::occasion).
    #[serde(default)]
    pub occasions: Vec<String>,
}

impl Command {
    /// A command without options, which reports no table and changes nothing.
    pub fn new(name: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            help: help.into(),
            options: Vec::new(),
            operand: None,
            dry_run: None,
            columns: Vec::new(),
            recorded: None,
            recorded_at_end: None,
            occasions: Vec::new(),
        }
    }

    /// Declares options.
    pub fn options(mut self, options: impl IntoIterator<Item = Parameter>) -> Self {
        self.options.extend(options);
        self
    }

    /// Has one of the options given by its value alone.
    pub fn operand(mut self, option: impl Into<String>) -> Self {
        self.operand = Some(option.into());
        self
    }

    /// Names the flag among the options with which it changes nothing.
    pub fn dry_run(mut self, option: impl Into<String>) -> Self {
        self.dry_run = Some(option.into());
        self
    }

    /// Names the columns of the table that it reports.
    pub fn columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.columns.extend(names.into_iter().map(Into::into));
        self
    }

    /// Has it recorded with these words before it begins.
    pub fn recorded(mut self, what: impl Into<String>) -> Self {
        self.recorded = Some(what.into());
        self
    }

    /// Has it recorded with these words once it has succeeded.
    pub fn recorded_at_end(mut self, what: impl Into<String>) -> Self {
        self.recorded_at_end = Some(what.into());
        self
    }

    /// Names an [`occasion`](crate::occasion) on which a host runs it of its own accord.
    pub fn on(mut self, occasion: impl Into<String>) -> Self {
        self.occasions.push(occasion.into());
        self
    }

    /// Whether a host runs it on this [`occasion`](crate::occasion).
    pub fn is_on(&self, occasion: &str) -> bool {
        self.occasions.iter().any(|known| known == occasion)
    }
}

/// What a command reports: rows of a table, lines for people, and whether something is wrong.
///
/// ```
/// use host_interface::CommandOutput;
///
/// let output = CommandOutput::new().row(["7", "A draft"]).line("1 draft was removed");
/// assert_eq!((output.rows.len(), output.failure), (1, None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CommandOutput {
    /// The rows, each with a value for each of [`Command::columns`], in their order.
    pub rows: Vec<Vec<Value>>,
    /// Lines for people.
    pub lines: Vec<String>,
    /// Why the command counts as failed although it has run to its end, one line: a check, for example, has
    /// found something. The rows and lines are shown before it.
    pub failure: Option<String>,
}

impl CommandOutput {
    /// Nothing to report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row.
    pub fn row<V: Into<Value>>(mut self, cells: impl IntoIterator<Item = V>) -> Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a line.
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Has the command count as failed for this reason.
    pub fn failure(mut self, reason: impl Into<String>) -> Self {
        self.failure = Some(reason.into());
        self
    }
}
