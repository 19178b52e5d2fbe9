//! The records that attributes and filters refer to, for the fields of a form: all of them where they are few, and else the
//! names of those that are chosen. A name that is entered is searched for.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::join_all;

use crate::admin::problem::Problem;
use crate::admin::visit::Visit;

use super::entered::Entered;
use super::faults::Faults;
use super::listing::{self, Wanted};
use super::model::{Attribute, Kind, Query, Route, Shape, Types};
use super::record::Listed;
use super::{asking, showing};

/// The maximum number of records that are offered as choices.
const FEW: usize = 50;
/// The maximum number of records that a search offers.
const FOUND: usize = 20;
/// The maximum number of chosen records of a type whose names are looked up.
const NAMED: usize = 20;
/// The maximum number of types that a form looks up, and of names that it searches for.
const ASKED: usize = 40;

/// What is known of the records that the fields of a form refer to.
#[derive(Default)]
pub(crate) struct References {
    /// What is known of the records of each type that the user may list.
    pub(crate) kinds: HashMap<String, Known>,
    pub(crate) candidates: Candidates,
}

/// Records with their keys and their names.
pub(crate) type Named = Vec<(String, String)>;

/// What was found for what was entered in a field, by its pointer, if that is more than one record.
pub(crate) type Candidates = HashMap<String, Named>;

/// The records that have a name that was entered.
pub(crate) enum Found {
    /// The key of the only one, or of the only one with exactly this name.
    One(String),
    Several(Named),
    None,
}

/// What is known of the records of a type.
pub(crate) enum Known {
    /// All of them, with their keys and their names.
    All(Named),
    /// The names of some, by their keys.
    Some(HashMap<String, String>),
}

/// A list below the record that a form is about. A field chooses among these, and not among all of the type.
pub(crate) struct Below<'a> {
    pub(crate) kind: &'a str,
    pub(crate) route: &'a Route,
    pub(crate) query: &'a Query,
    /// The key of the record.
    pub(crate) id: &'a str,
}

impl References {
    /// The name of a record.
    pub(crate) fn name<'a>(&'a self, attribute: &Attribute, key: &str) -> Option<&'a str> {
        match self.kinds.get(attribute.reference.as_deref()?)? {
            Known::All(all) => {
                all.iter().find(|(of, _)| of == key).map(|(_, called)| called.as_str())
            }
            Known::Some(names) => names.get(key).map(String::as_str),
        }
    }

    /// Looks up what the fields of a form need: the records of each type, and the names of those that are chosen. A
    /// field whose records are not answered takes a key.
    pub(crate) async fn look_up(
        visit: &Visit,
        types: &Types,
        attributes: &[Attribute],
        entered: &Entered,
        below: &[Below<'_>],
        candidates: Candidates,
    ) -> Self {
        let mut wanted = BTreeSet::new();
        referred(attributes, &mut wanted);
        let asked = wanted.into_iter().take(ASKED).filter_map(|name| {
            let kind = types.kind(name)?;
            let below = below.iter().find(|of| of.kind == name);
            let chosen = chosen(attributes, entered, name);
            Some(async move { (name, known(visit, kind, below, chosen).await) })
        });
        let mut kinds = HashMap::new();
        for (name, known) in join_all(asked).await {
            kinds.extend(known.ok().flatten().map(|known| (name.to_owned(), known)));
        }
        Self { kinds, candidates }
    }
}

/// Replaces the names that were entered by the keys of their records. A name of several records becomes a choice among
/// them, and one of none a fault.
pub(crate) async fn resolve(
    visit: &Visit,
    types: &Types,
    attributes: &[Attribute],
    entered: &mut Entered,
) -> Result<(Faults, Candidates), Problem> {
    let (mut faults, mut candidates) = (Faults::default(), Candidates::new());
    let named = entered.fields(attributes).into_iter();
    let named = named.filter(|(_, of, text)| of.reference.is_some() && is_name(text));
    let named = named.take(ASKED).map(|(at, of, text)| (at, of, text.to_owned()));
    let named: Vec<_> = named.collect();
    for (pointer, attribute, text) in named {
        let kind = attribute.reference.as_deref().and_then(|name| types.kind(name));
        let Some(kind) = kind else { continue };
        let found = match find(visit, kind, &text).await {
            Err(Problem::Trouble(_)) => {
                let title = kind.title.to_lowercase();
                faults.add(&pointer, format!("The {title} cannot be searched now. Enter a key."));
                // Each further search might take as long.
                break;
            }
            found => found?,
        };
        match found {
            Some(Found::One(key)) => entered.set(pointer, key),
            // Keys may be texts too.
            Some(Found::None) if attribute.shape == Shape::Whole => {
                faults.add(&pointer, format!("No {} has this name.", kind.singular));
            }
            Some(Found::Several(found)) => {
                let question = format!("Several records match “{text}”: choose one of them.");
                faults.add(&pointer, question);
                candidates.insert(pointer, found);
            }
            Some(Found::None) | None => {}
        }
    }
    Ok((faults, candidates))
}

/// Whether a text that was entered may be the name of a record, and not its key.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.parse::<i64>().is_err()
}

/// The records that have this name; `None` if the type cannot be searched.
pub(crate) async fn find(visit: &Visit, kind: &Kind, text: &str) -> Result<Option<Found>, Problem> {
    let (Some(list), Some(search)) = (&kind.list, &kind.query.search) else { return Ok(None) };
    let sought = [(search.clone(), text.to_owned())];
    let Some(listed) = names(visit, kind, (list, &kind.query, ""), FOUND, &sought).await? else {
        return Ok(None);
    };
    let found = named(&listed, kind);
    let exact = |of: &&(String, String)| of.1.to_lowercase() == text.to_lowercase();
    let mut same = found.iter().filter(exact);
    Ok(Some(match (found.as_slice(), same.next(), same.next()) {
        ([only], _, _) | (_, Some(only), None) => Found::One(only.0.clone()),
        ([], _, _) => Found::None,
        _ => Found::Several(found),
    }))
}

/// All records of a type, if there are few, and the user may list them.
pub(crate) async fn all(visit: &Visit, kind: &Kind) -> Option<Named> {
    let list = kind.list.as_ref()?;
    few(&names(visit, kind, (list, &kind.query, ""), FEW, &[]).await.ok()??, kind)
}

/// The types that attributes refer to.
fn referred<'a>(attributes: &'a [Attribute], found: &mut BTreeSet<&'a str>) {
    for attribute in attributes.iter().filter(|attribute| !attribute.read_only) {
        found.extend(attribute.reference.as_deref());
        if let Shape::Object(members) | Shape::Parts(members) = &attribute.shape {
            referred(members, found);
        }
    }
}

/// The keys of the records of a type that are chosen.
fn chosen(attributes: &[Attribute], entered: &Entered, kind: &str) -> Vec<String> {
    let fields = entered.fields(attributes).into_iter();
    let of_kind =
        fields.filter(|(_, of, text)| of.reference.as_deref() == Some(kind) && !text.is_empty());
    let keys: BTreeSet<&str> = of_kind.map(|(_, _, text)| text).collect();
    keys.into_iter().take(NAMED).map(str::to_owned).collect()
}

/// What is known of the records of a type; `None` if the user may not list them.
async fn known(
    visit: &Visit,
    kind: &Kind,
    below: Option<&Below<'_>>,
    chosen: Vec<String>,
) -> Result<Option<Known>, Problem> {
    let (route, query, id) = match (below, &kind.list) {
        (Some(Below { route, query, id, .. }), _) => (*route, *query, *id),
        (None, Some(list)) => (list, &kind.query, ""),
        (None, None) => return Ok(None),
    };
    let Some(listed) = names(visit, kind, (route, query, id), FEW, &[]).await? else {
        return Ok(None);
    };
    if let Some(all) = few(&listed, kind) {
        return Ok(Some(Known::All(all)));
    }
    let shown = chosen.iter().map(|key| async move {
        let (record, _) = asking::show(visit, kind, key, &[]).await.ok()?;
        Some((key.clone(), showing::label(&record, kind)))
    });
    Ok(Some(Known::Some(join_all(shown).await.into_iter().flatten().collect())))
}

/// The first records of a list, with what names them; `None` if the user may not list them.
async fn names(
    visit: &Visit,
    kind: &Kind,
    (route, query, id): (&Route, &Query, &str),
    rows: usize,
    sought: &asking::Asked,
) -> Result<Option<Listed>, Problem> {
    if !visit.may_use(route) {
        return Ok(None);
    }
    let rows = rows.to_string();
    let fields = vec![(kind.name.as_str(), kind.label.iter().map(String::as_str).collect())];
    let asked = listing::asked(query, sought, Wanted { rows: &rows, fields, ..Wanted::default() });
    Ok(asking::list(visit, kind, route, id, &asked).await?.ok())
}

/// The records of a list, if these are all.
fn few(listed: &Listed, kind: &Kind) -> Option<Named> {
    let number = u64::try_from(listed.records.len()).ok()?;
    let is_all = listed.records.len() <= FEW && listed.total.is_none_or(|total| total == number);
    is_all.then(|| named(listed, kind))
}

/// Records with their keys and their names.
fn named(listed: &Listed, kind: &Kind) -> Named {
    listed.records.iter().map(|of| (of.id.clone(), showing::label(of, kind))).collect()
}
