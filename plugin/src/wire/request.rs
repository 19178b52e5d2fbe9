//! Requests: path and query in typed form. Anything that cannot be read is a fault with its place.
//! Bodies are read in `body`.

use std::borrow::Cow;

use host_interface::Request;
use percent_encoding::percent_decode_str;
use time::PrimitiveDateTime;

use super::ids::{self, IDS};
use super::literal;
use super::names::{hinted, nearest};
use super::resume::Resume;
pub(super) use super::view::Member;
use super::view::{self, View, selects};
use crate::error::{Error, Fault, FaultKind, MAX_FAULTS};
use crate::model::field::Field;
use crate::model::moment;
use crate::model::question::{Condition, Page, Shape};
use crate::model::registry::Registry;
use crate::model::resource::{Filter, Order, Resource, Test};
use crate::model::value::{self, Value, is_noncharacter, short};

/// How many records a page has by default.
pub const DEFAULT_LIMIT: i64 = 20;
/// How many records a page has at most.
pub const MAX_LIMIT: i64 = 100;

/// The greatest length of a search text in characters: that of the longest searched text, apart
/// from two names that are searched as one.
pub const MAX_SOUGHT: usize = 255;

/// The filter by the moment of the latest change.
pub const MODIFIED_SINCE: &str = "filter[modified_since]";

/// The parameter with the cursor of a page that does not begin at an offset.
pub const AFTER: &str = "page[after]";
pub(super) const OFFSET: &str = "page[offset]";
pub(super) const LIMIT: &str = "page[limit]";

/// The parameter with the types that a client follows.
pub(super) const TYPES: &str = "filter[types]";

/// The query of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// How many records to skip.
    pub offset: i64,
    /// How many records to return at most.
    pub limit: i64,
    /// The order.
    pub order: Order,
    /// The conditions of the filters.
    pub conditions: Vec<Condition>,
    /// The other parameters that were sent, cleaned, for links to other pages.
    pub sent: Vec<(String, String)>,
    /// Whether the query selected a page, as opposed to the default one.
    pub paged: bool,
    /// The moment since which the records must have changed.
    pub modified_since: Option<PrimitiveDateTime>,
    /// Where the list of what has changed since then goes on; `None` at its beginning.
    pub resume: Option<Resume>,
    /// Whether the query selected an order, as opposed to the default one.
    pub ordered: bool,
    /// The attributes to show of computed records; `None` for all.
    pub attributes: Option<Vec<&'static str>>,
}

/// The query parameters that a route has.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// The parameters of the resource's list.
    All(&'static Resource),
    /// The parameters of a list below another resource's records, with only these filters.
    Nested(&'static Resource, &'static [&'static str]),
}

/// A query as it was read. Its faults are kept beside it, because a missing permission on what it
/// names precedes them.
#[derive(Debug)]
pub struct Read<T> {
    /// What was read.
    pub value: T,
    /// What the document shows.
    pub view: View,
    /// The faults of the query.
    pub faults: Vec<Fault>,
}

impl<T> Read<T> {
    /// The value and the view of a query without faults.
    ///
    /// # Errors
    /// All faults of the query.
    pub fn accepted(self) -> Result<(T, View), Error> {
        if self.faults.is_empty() { Ok((self.value, self.view)) } else { Err(self.faults.into()) }
    }
}

impl Scope {
    /// Whether the list can be limited to what has changed since a moment, and to some keys: it is that of all
    /// records of a type.
    fn has_changes(self) -> bool {
        matches!(self, Scope::All(resource) if resource.lists_changes())
    }

    fn resource(self) -> &'static Resource {
        match self {
            Scope::All(resource) | Scope::Nested(resource, _) => resource,
        }
    }

    /// The filters of the list.
    fn filters(self) -> impl Iterator<Item = &'static Filter> {
        let has = move |name: &str| match self {
            Scope::All(_) => true,
            Scope::Nested(_, only) => only.contains(&name),
        };
        self.resource().filters.iter().filter(move |filter| has(filter.name))
    }
}

impl Listing {
    /// Reads the query of a list of computed records with these attributes.
    ///
    /// # Errors
    /// All faults of the query.
    pub fn read(query: &str, scope: Scope, row: &'static [Field]) -> Result<Listing, Error> {
        let mut faults = Vec::new();
        let members = members(query, &mut faults);
        let mut listing = Self::of(&members, scope, &mut faults);
        let known: Vec<&str> = row.iter().map(|field| field.name).collect();
        listing.attributes = view::attributes(scope.resource().kind, &known, &members, &mut faults);
        if faults.is_empty() { Ok(listing) } else { Err(faults.into()) }
    }

    /// Reads the query of a list whose fields and related records the client selects.
    pub fn read_selecting(query: &str, scope: Scope, registry: Registry) -> Read<Listing> {
        let mut faults = Vec::new();
        let members = members(query, &mut faults);
        let listing = Self::of(&members, scope, &mut faults);
        let plain = Shape::of_lists(scope.resource());
        let view = View::read(scope.resource(), plain, registry, &members, &mut faults);
        Read { value: listing, view, faults }
    }

    fn of(members: &[Member<'_>], scope: Scope, faults: &mut Vec<Fault>) -> Listing {
        let resource = scope.resource();
        let mut listing = Listing { limit: DEFAULT_LIMIT, ..Listing::default() };
        let mut field = None;
        let mut descending = None;
        let mut sort = None;
        let mut conditions: Vec<(&Filter, Condition)> = Vec::new();
        let mut chosen = None;
        // Takes a parameter in, and returns the value that links to other pages have for it, if they do.
        let mut take = |name: &str, value: &str| -> Result<Option<String>, Fault> {
            match name {
                OFFSET => listing.offset = whole_number(name, value, 0)?,
                LIMIT => listing.limit = whole_number(name, value, 1)?.min(MAX_LIMIT),
                AFTER if scope.has_changes() => listing.resume = Some(resume(resource, value)?),
                "list[ordering]" | "list[direction]" | "sort" if resource.list.is_empty() => {
                    let detail = format!("This route has no parameter {name}: its order is fixed.");
                    return Err(Fault::at_parameter(FaultKind::UnknownParameter, name, detail));
                }
                "sort" => sort = Some(sorted(resource, name, value)?),
                "list[ordering]" => field = Some(column(resource, name, value)?),
                "list[direction]" => descending = Some(direction(name, value)?),
                _ if selects(name) => {}
                _ => {
                    let cleaned = clean(value);
                    match name {
                        IDS if scope.has_changes() => {
                            let keys = ids::read(&cleaned)?;
                            chosen = keys.map(|keys| Condition::OneOf(resource.key, keys));
                        }
                        MODIFIED_SINCE if scope.has_changes() => {
                            listing.modified_since = modified_since(&cleaned)?;
                        }
                        _ => conditions.extend(filter(scope, name, &cleaned)?),
                    }
                    return Ok(Some(cleaned).filter(|value| !value.is_empty()));
                }
            }
            listing.paged |= matches!(name, OFFSET | LIMIT);
            let of_page = matches!(name, OFFSET | LIMIT | AFTER);
            Ok((!of_page).then(|| value.to_owned()))
        };
        for (name, value) in members {
            match take(name, value) {
                Ok(sent) => listing.sent.extend(sent.map(|value| (name.to_string(), value))),
                Err(fault) => faults.push(fault),
            }
        }
        if sort.is_some() && (field.is_some() || descending.is_some()) {
            let detail = "sort cannot be combined with list[ordering] and list[direction].";
            faults.push(invalid("sort", detail));
        }
        listing.ordered = sort.is_some() || field.is_some() || descending.is_some();
        faults.extend(contradicts_changes(&listing));
        // The default direction is ascending.
        listing.order = match (field, descending) {
            (None, None) => sort.unwrap_or(resource.order),
            (Some(field), None) => Order { field, descending: false },
            (field, Some(descending)) => {
                Order { field: field.unwrap_or(resource.order.field), descending }
            }
        };
        let replaced: Vec<&str> =
            conditions.iter().filter_map(|(filter, _)| filter.replaces).collect();
        conditions.retain(|(filter, _)| !replaced.contains(&filter.name));
        faults.extend(reversed_period(&conditions));
        listing.conditions = conditions.into_iter().map(|(_, condition)| condition).collect();
        listing.conditions.extend(chosen);
        listing
    }

    /// The requested page of the resource, under these conditions.
    pub fn page(&self, resource: &'static Resource, conditions: Vec<Condition>) -> Page {
        let Self { order, offset, limit, .. } = *self;
        Page { shape: Shape::List, conditions, order, offset, limit, ..Page::of(resource) }
    }
}

/// Reads the query of a single record, whose fields and related records the client selects. The
/// value is the selecting parameters, for the link to the document.
pub fn read_one(
    query: &str,
    resource: &'static Resource,
    registry: Registry,
) -> Read<Vec<(String, String)>> {
    let mut faults = Vec::new();
    let members = members(query, &mut faults);
    refuse_listing(&members, &mut faults);
    let view = View::read(resource, Shape::Detail, registry, &members, &mut faults);
    let sent = members.iter().filter(|(name, _)| selects(name));
    let value = sent.map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Read { value, view, faults }
}

/// Reads the query of a record without a table, which has these attributes: the chosen ones, or
/// `None` for all.
///
/// # Errors
/// All faults of the query.
pub fn attributes<'a>(
    query: &str,
    kind: &str,
    known: &[&'a str],
) -> Result<Option<Vec<&'a str>>, Error> {
    let mut faults = Vec::new();
    let members = members(query, &mut faults);
    refuse_listing(&members, &mut faults);
    let chosen = view::attributes(kind, known, &members, &mut faults);
    if faults.is_empty() { Ok(chosen) } else { Err(faults.into()) }
}

/// Checks the query of a route that is not a list and has one form only: it has no parameters of the
/// known families.
///
/// # Errors
/// When one of these is sent.
pub fn no_listing(query: &str) -> Result<(), Error> {
    let mut faults = Vec::new();
    let members = members(query, &mut faults);
    faults.extend(members.iter().filter(|(name, _)| selects(name)).map(|(name, _)| {
        let detail = format!("This route has no parameter {}.", short(name));
        Fault::at_parameter(FaultKind::UnknownParameter, name, detail)
    }));
    refuse_listing(&members, &mut faults);
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

/// Refuses the parameters of lists.
fn refuse_listing(members: &[Member<'_>], faults: &mut Vec<Fault>) {
    faults.extend(members.iter().filter(|(name, _)| !selects(name)).map(|(name, _)| {
        let detail =
            format!("This route has no parameter {}: it does not return a list.", short(name));
        Fault::at_parameter(FaultKind::UnknownParameter, name, detail)
    }));
}

/// Reads the id in the path. An id that is too long for a key belongs to no record.
///
/// # Errors
/// When the route has no id.
pub fn id(request: &Request) -> Result<Option<i64>, Error> {
    let text = request.params().get(0).ok_or(Error::Contract("the route has no id"))?;
    Ok(text.parse().ok())
}

/// The query parameters of the known families, decoded. Repeated ones that select count as one list;
/// any other repeated one is a fault and is left out.
pub(super) fn members<'a>(query: &'a str, faults: &mut Vec<Fault>) -> Vec<Member<'a>> {
    let mut members: Vec<Member<'_>> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        // No route has this many parameters: the rest is not needed to refuse the request.
        if members.len().max(faults.len()) > 2 * MAX_FAULTS {
            break;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (decode(name), decode(value)) else {
            let name = percent_decode_str(name).decode_utf8_lossy();
            faults.push(invalid(&name, format!("{} must be UTF-8 text.", short(&name))));
            continue;
        };
        if let Some(refusal) = reserved(&name) {
            faults.push(Fault::at_parameter(FaultKind::UnknownParameter, &name, refusal));
            continue;
        }
        let of_lists = ["filter[", "page[", "list["].iter().any(|family| name.starts_with(family));
        if !of_lists && name != "sort" && !selects(&name) {
            continue;
        }
        if let Some((_, known)) = members.iter_mut().find(|(known, _)| *known == name) {
            // Clients send a list either in one parameter or in one for each member.
            if selects(&name) || name == TYPES {
                let known = known.to_mut();
                known.push(',');
                known.push_str(&value);
                continue;
            }
            let detail = format!("{} is given more than once.", short(&name));
            faults.push(Fault::at_parameter(FaultKind::RepeatedParameter, &name, detail));
            continue;
        }
        members.push((name, value));
    }
    members
}

/// Why a parameter is refused that belongs to a family of JSON:API and that no route has. A client
/// that pages with an ignored parameter would never reach the end.
fn reserved(name: &str) -> Option<&'static str> {
    let with_member = name.contains('[');
    match family(name) {
        "page" if !with_member => Some("page takes no value; use page[offset] and page[limit]."),
        "filter" if !with_member => Some("filter takes no value; use filter[<name>]."),
        "fields" if !selects(name) => Some("fields takes a type; use fields[<type>]."),
        "sort" if with_member => Some("sort has no members."),
        "include" if with_member => Some("include has no members."),
        _ => None,
    }
}

/// The family of a query parameter: the part before the brackets.
fn family(name: &str) -> &str {
    name.split_once('[').map_or(name, |(family, _)| family)
}

/// Decodes the encoding of forms: `+` for a space, `%` and two digits for a byte.
pub(super) fn decode(text: &str) -> Option<Cow<'_, str>> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
        Some(Cow::Owned(decoded.into_owned()))
    } else {
        percent_decode_str(text).decode_utf8().ok()
    }
}

/// The value of a filter without surrounding white space and the characters that nobody sees: control
/// characters, and those that no record can have.
fn clean(value: &str) -> String {
    let seen = |character: &char| !character.is_control() && !is_noncharacter(*character);
    let visible: String = value.chars().filter(seen).collect();
    visible.trim().to_owned()
}

pub(super) fn whole_number(name: &str, value: &str, least: i64) -> Result<i64, Fault> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    // A number too long to be represented is past every end.
    let number = digits.then(|| value.parse().unwrap_or(i64::MAX));
    number
        .filter(|number| *number >= least)
        .ok_or_else(|| invalid(name, format!("{name} must be a whole number, {least} or greater.")))
}

fn column(resource: &Resource, name: &str, value: &str) -> Result<Option<&'static str>, Fault> {
    if value == resource.key {
        return Ok(None);
    }
    match resource.list.iter().find(|field| field.name == value) {
        Some(field) => Ok(Some(field.name)),
        None => {
            let known = resource.list.iter().map(|field| field.name).chain([resource.key]);
            let hint = nearest(value, known).unwrap_or(resource.key);
            let detail = format!(
                "{} cannot be ordered by {:?}; did you mean {hint}?",
                resource.kind,
                short(value)
            );
            Err(invalid(name, detail))
        }
    }
}

/// The order that `sort` names: a field, after a `-` where the greatest value comes first.
fn sorted(resource: &Resource, name: &str, value: &str) -> Result<Order, Fault> {
    if value.contains(',') {
        let detail = "sort takes one field; ties are broken by the primary key.";
        return Err(invalid(name, detail));
    }
    let descending = value.strip_prefix('-');
    let field = column(resource, name, descending.unwrap_or(value))?;
    Ok(Order { field, descending: descending.is_some() })
}

/// Where a list of changed records goes on.
fn resume(resource: &Resource, value: &str) -> Result<Resume, Fault> {
    Resume::read(value, resource.kind).ok_or_else(|| {
        invalid(AFTER, format!("{AFTER} must be a cursor as links.next of this list has it."))
    })
}

/// The fault of a page that is found in another way than the order of its list allows. A record that
/// changes moves to the end of a list of changes, and would move another one across an offset.
fn contradicts_changes(listing: &Listing) -> Option<Fault> {
    let by_change = listing.modified_since.is_some() && !listing.ordered;
    let (name, detail) = match listing {
        Listing { resume: Some(_), .. } if !by_change => {
            (AFTER, format!("{AFTER} needs {MODIFIED_SINCE}, and no other order."))
        }
        Listing { offset: 1.., .. } if by_change => {
            let why = "because records move to its end when they change";
            (
                OFFSET,
                format!("{OFFSET} cannot be used in a list of changes, {why}: follow links.next."),
            )
        }
        _ => return None,
    };
    Some(invalid(name, detail))
}

/// The moment in a filter; `None` if it is empty.
fn modified_since(value: &str) -> Result<Option<PrimitiveDateTime>, Fault> {
    if value.is_empty() {
        return Ok(None);
    }
    moment::read(value).map(Some).ok_or_else(|| {
        let detail = format!(
            "{MODIFIED_SINCE} must be a date or a date and time, such as 2026-01-31T12:00:00."
        );
        Fault::at_parameter(FaultKind::InvalidFilter, MODIFIED_SINCE, detail)
    })
}

fn direction(name: &str, value: &str) -> Result<bool, Fault> {
    match value {
        "asc" => Ok(false),
        "desc" => Ok(true),
        _ => Err(invalid(name, format!("{name} must be asc or desc."))),
    }
}

/// The condition of a filter; `None` if its value is empty.
fn filter(
    scope: Scope,
    name: &str,
    value: &str,
) -> Result<Option<(&'static Filter, Condition)>, Fault> {
    let inner = name.strip_prefix("filter[").and_then(|rest| rest.strip_suffix(']'));
    let filter = inner.and_then(|inner| scope.filters().find(|filter| filter.name == inner));
    let Some(filter) = filter else {
        let names = scope.filters().map(|filter| format!("filter[{}]", filter.name));
        let names: Vec<String> = names.collect();
        let changes = [IDS, MODIFIED_SINCE, AFTER].into_iter().filter(|_| scope.has_changes());
        let listing = [OFFSET, LIMIT, "list[ordering]", "list[direction]"];
        let known = names.iter().map(String::as_str).chain(changes).chain(listing);
        return Err(unknown(name, known));
    };
    if value.is_empty() {
        return Ok(None);
    }
    let refusal = |detail| Fault::at_parameter(FaultKind::InvalidFilter, name, detail);
    let condition = match filter.test {
        Test::Contains(_) | Test::OfPart(_) if value.chars().nth(MAX_SOUGHT).is_some() => {
            return Err(refusal(format!("{name} must be at most {MAX_SOUGHT} characters.")));
        }
        Test::Contains(fields) => Condition::Contains(fields, value::fold(value)),
        Test::OfPart(part) => Condition::OfPart(part, value::fold(value)),
        Test::From(field) | Test::To(field) => {
            let day = moment::day(value)
                .ok_or_else(|| refusal(format!("{name} must be a date in the form YYYY-MM-DD.")))?;
            let [first, last] = moment::bounds(day).map(Value::Moment);
            match filter.test {
                Test::From(_) => Condition::AtLeast(field, first),
                _ => Condition::AtMost(field, last),
            }
        }
        Test::Equals(field) => {
            let of = scope.resource().field(field);
            let value = of.map_or(Ok(Value::Null), |of| literal::read_plain(of.kind, value));
            let value = value.map_err(|complaint| refusal(format!("{name} {complaint}.")))?;
            Condition::Equals(field, value)
        }
    };
    Ok(Some((filter, condition)))
}

/// The fault of a period that ends before it begins.
fn reversed_period(conditions: &[(&Filter, Condition)]) -> Option<Fault> {
    let from = conditions.iter().find_map(|(_, condition)| match condition {
        Condition::AtLeast(_, value) => value.moment(),
        _ => None,
    })?;
    let (filter, to) = conditions.iter().find_map(|(filter, condition)| match condition {
        Condition::AtMost(_, value) => Some((filter, value.moment()?)),
        _ => None,
    })?;
    let name = format!("filter[{}]", filter.name);
    let detail = format!("{name} must not be before filter[date_from].");
    (from > to).then(|| Fault::at_parameter(FaultKind::InvalidFilter, &name, detail))
}

/// The fault of a parameter that cannot be read.
pub(super) fn invalid(name: &str, detail: impl Into<String>) -> Fault {
    Fault::at_parameter(FaultKind::InvalidParameter, name, detail)
}

/// The fault of a parameter that a route does not have, with a hint if it has a similar one.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Fault {
    let known = known.filter(|known| known.starts_with(family(name)));
    let detail = hinted(format!("This route has no parameter {}", short(name)), name, known);
    Fault::at_parameter(FaultKind::UnknownParameter, name, detail)
}
