//! The commands about a person's data: a copy as one document, and its removal as a list of counts. What belongs to a
//! person, and who may be erased, is decided in `site`.

use std::pin::pin;

use clap::{ArgGroup, Args, Subcommand};
use futures_util::TryStreamExt;
use host_interface::{Erasure, Person};
use serde_json::json;

use crate::site::Site;

use super::listing::{Form, Lines};
use super::terminal::{Failure, read_line, write};

#[derive(Debug, Subcommand)]
pub(super) enum PrivacyCommand {
    /// Print everything that the site keeps about a person, as one JSON document. The audit trail has a note of it.
    Export(WhomArgs),
    /// Erase what the site keeps about a person, and list what was erased: part of the site, place, records, and
    /// records that a second search found. A user is blocked and loses everything but the id. It cannot be undone.
    Erase(EraseArgs),
}

/// A person, by address, by user, or by both.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").required(true).multiple(true))]
pub(super) struct WhomArgs {
    /// The e-mail address. With - it is read from the first line of standard input, because every user of the
    /// machine can read arguments.
    #[arg(long, value_name = "EMAIL", group = "whom")]
    email: Option<String>,
    /// The name or the id of the user.
    #[arg(long, value_name = "NAME|ID", group = "whom")]
    user: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct EraseArgs {
    #[command(flatten)]
    whom: WhomArgs,
    /// Why, for the audit trail, without names or addresses of the person.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Only count, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// The day, such as 2027-01-31, until which extensions keep names and addresses in what is younger than that.
    #[arg(long, value_name = "DAY")]
    keep_until: Option<String>,
    /// Erase also what is not completed.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    form: Form,
}

/// The lines of what was erased. For an extension that reports nothing, all but its name is null.
const ERASED: Lines = Lines {
    without: &[("place", "unknown"), ("records", "unknown"), ("remaining", "unknown")],
    ..Lines::PLAIN
};

pub(super) async fn run(site: &Site, command: PrivacyCommand) -> Result<(), Failure> {
    match command {
        PrivacyCommand::Export(whom) => {
            let person = person(site, whom).await?;
            let mut copy = pin!(site.export_person(&person).await?);
            while let Some(piece) = copy.try_next().await? {
                if !write(&piece)? {
                    return Ok(());
                }
            }
            write(b"\n").map(drop)
        }
        PrivacyCommand::Erase(args) => erase(site, args).await,
    }
}

async fn erase(site: &Site, args: EraseArgs) -> Result<(), Failure> {
    let EraseArgs { whom, reason, dry_run, keep_until, force, form } = args;
    let mut erasure = Erasure::new(person(site, whom).await?, reason);
    (erasure.dry_run, erasure.keep_until, erasure.force) = (dry_run, keep_until, force);
    let erased = site.erase_person(&erasure).await?;
    let open: Vec<&str> = erased.open().collect();
    if !force && !open.is_empty() {
        let open = open.join(", ");
        let why = format!("because this is not completed: {open}; --force erases it, too");
        if !dry_run {
            return Err(format!("nothing was erased, {why}").into());
        }
        tracing::warn!("nothing would be erased, {why}");
    }
    let is_incomplete = erasure.keep_until.is_none()
        && erased.parts.values().any(|part| !part.remaining.is_empty());
    let known = erased.parts.into_iter().flat_map(|(part, erased)| {
        let mut places: Vec<String> = erased.counts.keys().cloned().collect();
        places.extend(erased.remaining.keys().cloned());
        places.sort_unstable();
        places.dedup();
        let row = move |place: String| {
            let records = erased.counts.get(&place).copied().unwrap_or_default();
            let remaining = erased.remaining.get(&place).copied().unwrap_or_default();
            json!({ "part": part, "place": place, "records": records, "remaining": remaining })
        };
        places.into_iter().map(row)
    });
    let unknown = erased.unknown.into_iter();
    let unknown = unknown
        .map(|part| json!({ "part": part, "place": null, "records": null, "remaining": null }));
    form.print(known.chain(unknown), ERASED)?;
    if is_incomplete && !dry_run {
        return Err("a second search has found something that was not erased; see the list".into());
    }
    Ok(())
}

async fn person(site: &Site, whom: WhomArgs) -> Result<Person, Failure> {
    let WhomArgs { email, user } = whom;
    let mut person = Person::default();
    person.email = match email.as_deref() {
        Some("-") => Some(read_line()?),
        _ => email,
    };
    if let Some(user) = user {
        person.user = Some(site.key_of_user(&user).await?);
    }
    Ok(person)
}
