//! The form for a new API token: its name, what it may do, until when, from where and how often.

use std::collections::BTreeSet;

use askama::Template;
use ipnet::IpNet;

use crate::base::error::Error;
use crate::base::text::{capitalised, network};
use crate::base::{moment, text};
use crate::identity::directory::{self, UserDetails};
use crate::identity::scopes::{Scope, VIEW_ALL};
use crate::identity::tokens::{Fault, GREATEST_RATE, NewToken, Part, Prepared};
use crate::site::operations::tokens as operations;
use crate::site::operations::users::Who;

use super::token::{longest_in_days, with_secret};
use crate::admin::problem::Problem;
use crate::admin::view::{Field, Layout, View, sentence, show};
use crate::admin::visit::{Outcome, Visit};

/// The value of the choice that the token may do whatever its user may.
const EVERYTHING: &str = "everything";

#[derive(Template)]
#[template(path = "admin/token_new.html")]
struct NewTokenPage {
    layout: Layout,
    user: UserDetails,
    name: Field,
    everything: bool,
    /// Whether `*:view` is ticked.
    view_all: bool,
    /// What `*:view` does not cover.
    view_all_but: Vec<String>,
    tables: Vec<Table>,
    scopes_fault: String,
    limits: Vec<Field>,
}

/// The scopes of an extension.
struct Table {
    extension: String,
    actions: Vec<String>,
    rows: Vec<Row>,
}

/// The scopes of a type, one for each action.
struct Row {
    kind: String,
    title: String,
    ticks: Vec<Tick>,
}

struct Tick {
    scope: String,
    action: String,
    ticked: bool,
}

/// The entered values.
#[derive(Default)]
struct Entered {
    name: String,
    everything: bool,
    scopes: BTreeSet<String>,
    expires: String,
    addresses: String,
    rate: String,
}

pub(crate) async fn blank(visit: Visit) -> Result<View, Problem> {
    render(&visit, &Entered::default(), &[]).await
}

pub(crate) async fn add(visit: Visit) -> Result<Outcome, Problem> {
    let id = visit.id()?;
    directory::user(visit.site.state().database(), id).await?;
    let entered = Entered::of(&visit);
    let prepared = match entered.check(&visit) {
        Ok(prepared) => prepared,
        Err(faults) => return Ok(Outcome::Again(render(&visit, &entered, &faults).await?)),
    };
    let name = prepared.name.as_str();
    match operations::create(&visit.site.shown(), Who::Key(id), &prepared).await {
        Ok(made) => with_secret(&visit, name, made).await,
        Err(taken @ Error::Taken { .. }) => {
            let faults = [(Part::Name, taken.to_string())];
            Ok(Outcome::Again(render(&visit, &entered, &faults).await?))
        }
        Err(error) => Err(error.into()),
    }
}

impl Entered {
    fn of(visit: &Visit) -> Self {
        let field = |name| visit.form.get(name).to_owned();
        Self {
            name: field("name"),
            everything: visit.form.get("may") == EVERYTHING,
            scopes: visit.form.all("scope").map(str::to_owned).collect(),
            expires: field("expires"),
            addresses: field("addresses"),
            rate: field("rate"),
        }
    }

    /// Checks the entered values; returns all faults at once.
    fn check(&self, visit: &Visit) -> Result<Prepared, Vec<Fault>> {
        let mut faults = Vec::new();
        let expires_on = checked(&mut faults, Part::End, entered_moment(&self.expires));
        let addresses = checked(&mut faults, Part::Addresses, networks(&self.addresses));
        let rate = checked(&mut faults, Part::Rate, rate_of(&self.rate));
        let scopes = (!self.everything).then(|| self.scopes.iter().cloned().collect());
        let new = NewToken { name: self.name.clone(), scopes, expires_on, addresses, rate };
        let catalogue = visit.site.state().scopes();
        let prepared = Prepared::check(&new, &catalogue, visit.site.token_lifetime());
        match prepared {
            Ok(prepared) if faults.is_empty() => Ok(prepared),
            prepared => {
                faults.extend(prepared.err().unwrap_or_default());
                Err(faults)
            }
        }
    }
}

/// The entered moment; none if the text is empty.
pub(super) fn entered_moment(text: &str) -> Result<Option<time::PrimitiveDateTime>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let read = moment::parse(text).map(Some);
    read.ok_or_else(|| format!("it must be {}", moment::EXPECTED))
}

/// A field for the end of a token, with a note on what an empty one means.
pub(super) fn end_field(visit: &Visit, empty: Option<&str>) -> Field {
    let last = visit.site.token_lifetime().map(|longest| text::now() + longest);
    let hint = match longest_in_days(visit) {
        Some(days) => {
            let empty = empty.unwrap_or("Empty: as late as possible.");
            format!("In UTC. {empty} On this site a token ends after {days} days at most.")
        }
        None => format!("In UTC. {}", empty.unwrap_or("Empty: no end.")),
    };
    Field::moment("expires", "Ends", last).optional().hint(hint)
}

/// Notes a fault if there is one, and returns the value that the check continues with.
fn checked<T: Default>(faults: &mut Vec<Fault>, part: Part, read: Result<T, String>) -> T {
    read.unwrap_or_else(|why| {
        faults.push((part, why));
        T::default()
    })
}

/// The networks in a text, one a line.
fn networks(text: &str) -> Result<Vec<IpNet>, String> {
    let read = |word: &str| {
        network(word).ok_or_else(|| {
            format!("{word:?} is neither a range of addresses like 192.0.2.0/24 nor an address")
        })
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(read).collect()
}

fn rate_of(text: &str) -> Result<Option<u32>, String> {
    match text.trim() {
        "" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| format!("it must be a whole number from 1 to {GREATEST_RATE}")),
    }
}

async fn render(visit: &Visit, entered: &Entered, faults: &[Fault]) -> Result<View, Problem> {
    let state = visit.site.state();
    let user = directory::user(state.database(), visit.id()?).await?;
    let fault = |part| faults.iter().find(|(of, _)| *of == part).map(|(_, why)| why.as_str());
    let scopes = state.scopes();
    let named_only = scopes.scopes().iter().filter(|scope| scope.named_only);
    let view_all_but: BTreeSet<&str> = named_only.map(|scope| scope.title.as_str()).collect();
    let greatest = GREATEST_RATE.to_string();
    show(&NewTokenPage {
        layout: visit
            .layout(format!("New token of {}", user.username))
            .warning_if(!faults.is_empty(), "The token was not created. See below."),
        user,
        name: Field::text("name", "Name")
            .longest(Some(150))
            .hint("What the token is for, for example the name of a program.")
            .value(&entered.name)
            .fault(fault(Part::Name)),
        everything: entered.everything,
        view_all: entered.scopes.contains(VIEW_ALL),
        view_all_but: view_all_but.into_iter().map(str::to_owned).collect(),
        tables: tables(scopes.scopes(), &entered.scopes),
        scopes_fault: sentence(fault(Part::Scopes).unwrap_or_default()),
        limits: vec![
            end_field(visit, None)
                .value(&entered.expires)
                .fault(fault(Part::End)),
            Field::area("addresses", "Addresses")
                .optional()
                .hint("Where it may be used from: a range like 192.0.2.0/24, or an address, on each line.")
                .value(&entered.addresses)
                .fault(fault(Part::Addresses)),
            Field::number("rate", "Requests a minute", Some("1".to_owned()), Some(greatest))
                .optional()
                .hint("Those beyond this rate are refused.")
                .value(&entered.rate)
                .fault(fault(Part::Rate)),
        ],
    })
}

/// The scopes as a table for each extension, in the order of declaration.
fn tables(scopes: &[Scope], ticked: &BTreeSet<String>) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for of_extension in scopes.chunk_by(|one, next| one.extension == next.extension) {
        let of_types = of_extension.chunk_by(|one, next| one.kind == next.kind);
        let rows: Vec<Row> = of_types.filter_map(|of_type| row(of_type, ticked)).collect();
        let Some(first) = of_extension.first() else { continue };
        let actions = rows.first().map(|row| row.ticks.iter().map(|tick| tick.action.clone()));
        let actions = actions.into_iter().flatten().collect();
        tables.push(Table { extension: first.extension.clone(), actions, rows });
    }
    tables
}

fn row(of_type: &[Scope], ticked: &BTreeSet<String>) -> Option<Row> {
    let first = of_type.first()?;
    let ticks = of_type.iter().map(|scope| Tick {
        scope: scope.name(),
        action: capitalised(&scope.action),
        ticked: ticked.contains(&scope.name()),
    });
    Some(Row { kind: first.kind.clone(), title: first.title.clone(), ticks: ticks.collect() })
}
