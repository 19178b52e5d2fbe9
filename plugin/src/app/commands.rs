//! The commands of the store for the operators of a site: what is declared to the host, and what each does.
//! Knows nothing of how a host offers them.

use host_interface::{Command, CommandOutput, Parameter, ParameterKind, ProgressHandle, occasion};
use serde_json::{Map, Value};

use super::transfer::{self, Asking};
use crate::bulk::demo;
use crate::bulk::maintenance::{self, Difference};
use crate::error::{Error, chain};
use crate::privacy::{self, Retained};
use crate::service::call::Shop;
use crate::store::Store;
use crate::wire::importing::DRY_RUN;

const IMPORT: &str = "import";
const EXPORT: &str = "export";
const DEMO: &str = "demo";
const CHECK: &str = "check";
const RECOUNT: &str = "recount";
pub(super) const RETAIN: &str = "retain";
const RESTORED: &str = "restored";

/// The members of a [`Difference`] as operators and their programs read them.
const DIFFERENCE: [&str; 5] = ["table", "key", "column", "stored", "counted"];

/// The commands.
pub(super) fn declared() -> [Command; 7] {
    [
        Command::new(
            IMPORT,
            "Import a file of records, as lines of JSON or CSV. Prints each line that has failed: its number, what \
             its record is known by, and why. The exit code is 1 if any has.",
        )
        .options(transfer::import_options())
        .operand("file")
        .dry_run(DRY_RUN)
        .columns(transfer::FAULTS)
        .recorded("import records"),
        Command::new(
            EXPORT,
            "Export all records of a type, of one moment, as lines of JSON or CSV.",
        )
        .options(transfer::export_options())
        .operand("type"),
        Command::new(DEMO, "Fill the site with demonstration data.")
            .options(demo::options())
            .recorded("begin to fill in demo data")
            .recorded_at_end("finish filling in demo data")
            .on(occasion::TRIAL),
        Command::new(
            CHECK,
            "Compare the counts and sums that the store keeps with its records. Prints each one that \
             differs: table, key, column, stored number, counted number. The exit code is 1 if any differ.",
        )
        .columns(DIFFERENCE),
        Command::new(
            RECOUNT,
            "Correct the stored counts and sums that differ from the records, and print them.",
        )
        .columns(DIFFERENCE)
        .recorded("correct counts and sums"),
        Command::new(
            RETAIN,
            "Remove what is personal once the site keeps it no longer, by the parameters retention_*: what \
             a host does once a day. Prints how many orders and customers these were, and after how many months \
             they lose it; 0 is never.",
        )
        .options([Parameter::new(DRY_RUN, ParameterKind::Flag, 0, "Only count.")])
        .dry_run(DRY_RUN)
        .columns(["what", "records", "months"])
        .recorded("remove what is kept no longer"),
        Command::new(
            RESTORED,
            "Note that the databases were restored by other means than `restore`, before hosts serve \
             them: clients that keep a copy of the data then start over.",
        )
        .recorded("note a restored backup")
        .on(occasion::RESTORED),
    ]
}

/// Runs a command.
pub(super) async fn run(
    name: &str,
    options: Map<String, Value>,
    shop: &Shop,
    asking: &Asking<'_>,
    progress: &ProgressHandle,
) -> Result<CommandOutput, Error> {
    match name {
        IMPORT => transfer::import(asking, &options, progress).await,
        EXPORT => transfer::export(asking, &options, progress).await,
        DEMO => {
            let line = demo::fill(&shop.store, demo::Size::of(options)?, progress).await?;
            Ok(CommandOutput::new().line(line))
        }
        CHECK | RECOUNT => {
            let store = shop.store.patient();
            let output = compare(name, &store, progress).await;
            store.close().await;
            output
        }
        RESTORED => {
            shop.store.renew_feed().await?;
            // A backup brings back what was erased since.
            match shop.host.erase_again().await {
                Ok(0) | Err(host_interface::Error::Unsupported(_)) => Ok(CommandOutput::new()),
                Ok(persons) => {
                    let line = format!("erased again: {persons} persons");
                    Ok(CommandOutput::new().line(line))
                }
                Err(error) => Err(error.into()),
            }
        }
        RETAIN => {
            let dry_run = options.get(DRY_RUN).and_then(Value::as_i64) == Some(1);
            Ok(removed(&privacy::retain(shop, dry_run).await?))
        }
        _ => Err(Error::Contract("the host asked for a command that was never declared")),
    }
}

/// Compares the stored numbers with the records, and corrects them if the command is to recount.
async fn compare(
    name: &str,
    store: &Store,
    progress: &ProgressHandle,
) -> Result<CommandOutput, Error> {
    let found = match name {
        CHECK => maintenance::check(store, progress).await?,
        _ => maintenance::recount(store, progress).await?,
    };
    let output = found.iter().fold(CommandOutput::new(), listed);
    if found.is_empty() {
        return Ok(output);
    }
    if name == CHECK {
        return Ok(output.failure(
            "the stored numbers above do not match the records; `recount` corrects what follows from these",
        ));
    }
    // What was corrected is reported even if this fails.
    let left = match maintenance::check(store, progress).await {
        Ok(left) => left,
        Err(error) => {
            let why = chain(&error);
            return Ok(output.failure(format!("whether differences remain is not known: {why}")));
        }
    };
    let lines: Vec<String> = left
        .iter()
        .map(|Difference { table, key, column, stored, counted }| {
            format!("{table} {key} {column} {stored} {counted}")
        })
        .collect();
    if lines.is_empty() {
        return Ok(output);
    }
    Ok(output.failure(format!(
        "the differences below remain, because they cannot be corrected from other records: {}",
        lines.join("; ")
    )))
}

fn removed(retained: &[Retained]) -> CommandOutput {
    retained.iter().fold(CommandOutput::new(), |output, of| {
        output.row([of.group.title().into(), of.records.into(), Value::from(of.months)])
    })
}

fn listed(output: CommandOutput, found: &Difference) -> CommandOutput {
    let Difference { table, key, column, stored, counted } = found;
    // An object; what is none stays text.
    let key = serde_json::from_str(key).unwrap_or_else(|_| Value::from(key.as_str()));
    output.row([
        table.as_str().into(),
        key,
        column.as_str().into(),
        (*stored).into(),
        (*counted).into(),
    ])
}
