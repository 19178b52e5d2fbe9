//! Requests: path and query in typed form. Anything that cannot be read is a fault with its place.
//! Bodies are read in `body`.

use std::borrow::Cow;

use host_interface::Request;
use percent_encoding::percent_decode_str;

use super::literal;
use crate::error::{Error, Fault, FaultKind, MAX_FAULTS};
use crate::model::moment;
use crate::model::question::{Condition, Page, Shape};
use crate::model::resource::{Filter, Order, Resource, Test};
use crate::model::value::{self, Value, short};

/// How many records a page has by default.
pub const DEFAULT_LIMIT: i64 = 20;
/// How many records a page has at most.
pub const MAX_LIMIT: i64 = 100;

/// The greatest length of a search text in characters: that of the longest searched text, apart
/// from two names that are searched as one.
pub const MAX_SOUGHT: usize = 255;

/// The query of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// The query parameters that a route has.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// The parameters of the resource's list.
    All(&'static Resource),
    /// The parameters of a list below another resource's records, with only these filters.
    Nested(&'static Resource, &'static [&'static str]),
}

impl Listing {
    /// Reads the query of a list.
    ///
    /// # Errors
    /// All faults of the query.
    pub fn read(query: &str, scope: Scope) -> Result<Listing, Error> {
        let resource = match scope {
            Scope::All(resource) | Scope::Nested(resource, _) => resource,
        };
        let mut listing = Listing {
            offset: 0,
            limit: DEFAULT_LIMIT,
            order: resource.order,
            conditions: Vec::new(),
            sent: Vec::new(),
            paged: false,
        };
        let mut field = None;
        let mut descending = None;
        let mut conditions: Vec<(&Filter, Condition)> = Vec::new();
        let mut faults = Vec::new();
        for (name, value) in members(query, &mut faults) {
            let result = match name.as_ref() {
                "page[offset]" => whole_number(&name, &value, 0).map(|number| {
                    listing.paged = true;
                    listing.offset = number;
                }),
                "page[limit]" => whole_number(&name, &value, 1).map(|number| {
                    listing.paged = true;
                    listing.limit = number.min(MAX_LIMIT);
                }),
                "list[ordering]" | "list[direction]" if resource.list.is_empty() => {
                    let detail = format!("This route has no parameter {name}: its order is fixed.");
                    Err(Fault::at_parameter(FaultKind::UnknownParameter, &name, detail))
                }
                "list[ordering]" => column(resource, &name, &value).map(|column| {
                    field = Some(column);
                    listing.sent.push((name.to_string(), value.to_string()));
                }),
                "list[direction]" => direction(&name, &value).map(|direction| {
                    descending = Some(direction);
                    listing.sent.push((name.to_string(), value.to_string()));
                }),
                _ => filter(scope, &name, &value).map(|condition| {
                    conditions.extend(condition);
                    let cleaned = clean(&value);
                    if !cleaned.is_empty() {
                        listing.sent.push((name.to_string(), cleaned));
                    }
                }),
            };
            faults.extend(result.err());
        }
        // The default direction is ascending.
        listing.order = match (field, descending) {
            (None, None) => resource.order,
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
        match faults.is_empty() {
            true => Ok(listing),
            false => Err(faults.into()),
        }
    }
}

impl Listing {
    /// The requested page of the resource, under these conditions.
    pub fn page(&self, resource: &'static Resource, conditions: Vec<Condition>) -> Page {
        Page {
            resource,
            shape: Shape::List,
            conditions,
            order: self.order,
            offset: self.offset,
            limit: self.limit,
        }
    }
}

/// Checks the query of a route that is not a list: it has no parameters of the known families.
///
/// # Errors
/// When one of these is sent.
pub fn no_listing(query: &str) -> Result<(), Error> {
    let mut faults = Vec::new();
    let names: Vec<_> = members(query, &mut faults).into_iter().map(|(name, _)| name).collect();
    faults.extend(names.iter().map(|name| {
        let detail =
            format!("This route has no parameter {}: it does not return a list.", short(name));
        Fault::at_parameter(FaultKind::UnknownParameter, name, detail)
    }));
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults.into()),
    }
}

/// Reads the id in the path. An id that is too long for a key belongs to no record.
///
/// # Errors
/// When the route has no id.
pub fn id(request: &Request) -> Result<Option<i64>, Error> {
    let text = request.params().get(0).ok_or(Error::Contract("the route has no id"))?;
    Ok(text.parse().ok())
}

/// The entry of `known` that `name` was most likely meant to be: one that contains it, or else the
/// one with the smallest edit distance. There is none for a name that is much longer than all
/// entries, because computing the distance would cost more than it is worth.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// By how much longer a name may be.
    const LONGER: usize = 16;
    let known = known.filter(|known| name.len() <= known.len() + LONGER);
    let distance = |known: &str| {
        (!known.contains(name) || name.is_empty(), strsim::damerau_levenshtein(name, known))
    };
    known.min_by_key(|known| distance(known))
}

/// The query parameters of the known families, decoded. A repeated one is a fault and is left out.
fn members<'a>(query: &'a str, faults: &mut Vec<Fault>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    let mut members: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        // No route has this many parameters: the rest is not needed to refuse the request.
        if members.len().max(faults.len()) > 2 * MAX_FAULTS {
            break;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (decode(name), decode(value)) else {
            let name = percent_decode_str(name).decode_utf8_lossy();
            let detail = format!("{} must be UTF-8 text.", short(&name));
            faults.push(Fault::at_parameter(FaultKind::InvalidParameter, &name, detail));
            continue;
        };
        if let Some(refusal) = reserved(&name) {
            faults.push(Fault::at_parameter(FaultKind::UnknownParameter, &name, refusal));
            continue;
        }
        if !["filter[", "page[", "list["].iter().any(|family| name.starts_with(family)) {
            continue;
        }
        if members.iter().any(|(known, _)| *known == name) {
            let detail = format!("{} is given more than once.", short(&name));
            faults.push(Fault::at_parameter(FaultKind::RepeatedParameter, &name, detail));
            continue;
        }
        members.push((name, value));
    }
    members
}

/// Why a parameter is refused that JSON:API defines and no route has. A client that pages with an
/// ignored parameter would never reach the end.
fn reserved(name: &str) -> Option<&'static str> {
    match family(name) {
        "page" if !name.contains('[') => {
            Some("page takes no value; use page[offset] and page[limit].")
        }
        "sort" => Some("sort is not supported; use list[ordering] and list[direction]."),
        "include" => Some("include is not supported; follow the links of the relationships."),
        "fields" => Some("fields is not supported; every answer contains all fields."),
        _ => None,
    }
}

/// The family of a query parameter: the part before the brackets.
fn family(name: &str) -> &str {
    name.split_once('[').map_or(name, |(family, _)| family)
}

/// Decodes the encoding of forms: `+` for a space, `%` and two digits for a byte.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    match text.contains('+') {
        false => percent_decode_str(text).decode_utf8().ok(),
        true => {
            let spaced = text.replace('+', " ");
            let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
            Some(Cow::Owned(decoded.into_owned()))
        }
    }
}

/// The value of a filter without control characters and surrounding white space.
fn clean(value: &str) -> String {
    let visible: String = value.chars().filter(|character| !character.is_control()).collect();
    visible.trim().to_owned()
}

fn whole_number(name: &str, value: &str, least: i64) -> Result<i64, Fault> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    // A number too long to be represented is past every end.
    let number = digits.then(|| value.parse().unwrap_or(i64::MAX));
    number.filter(|number| *number >= least).ok_or_else(|| {
        let detail = format!("{name} must be a whole number, {least} or greater.");
        Fault::at_parameter(FaultKind::InvalidParameter, name, detail)
    })
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
            Err(Fault::at_parameter(FaultKind::InvalidParameter, name, detail))
        }
    }
}

fn direction(name: &str, value: &str) -> Result<bool, Fault> {
    match value {
        "asc" => Ok(false),
        "desc" => Ok(true),
        _ => {
            let detail = format!("{name} must be asc or desc.");
            Err(Fault::at_parameter(FaultKind::InvalidParameter, name, detail))
        }
    }
}

/// The condition of a filter; `None` if its value is empty.
fn filter(
    scope: Scope,
    name: &str,
    value: &str,
) -> Result<Option<(&'static Filter, Condition)>, Fault> {
    let known = || match scope {
        Scope::All(resource) => known_filters(resource, None),
        Scope::Nested(resource, only) => known_filters(resource, Some(only)),
    };
    let inner = name.strip_prefix("filter[").and_then(|rest| rest.strip_suffix(']'));
    let filter = inner.and_then(|inner| known().into_iter().find(|filter| filter.name == inner));
    let Some(filter) = filter else {
        let names: Vec<String> = known().iter().map(|f| format!("filter[{}]", f.name)).collect();
        return Err(unknown(name, names.iter().map(String::as_str)));
    };
    let value = clean(value);
    if value.is_empty() {
        return Ok(None);
    }
    match filter.test {
        Test::Contains(_) if value.chars().nth(MAX_SOUGHT).is_some() => {
            let detail = format!("{name} must be at most {MAX_SOUGHT} characters.");
            Err(Fault::at_parameter(FaultKind::InvalidFilter, name, detail))
        }
        Test::Contains(fields) => {
            Ok(Some((filter, Condition::Contains(fields, value::fold(&value)))))
        }
        Test::From(field) | Test::To(field) => {
            let day = moment::day(&value).ok_or_else(|| {
                let detail = format!("{name} must be a date in the form YYYY-MM-DD.");
                Fault::at_parameter(FaultKind::InvalidFilter, name, detail)
            })?;
            let [first, last] = moment::bounds(day).map(Value::Moment);
            let condition = match filter.test {
                Test::From(_) => Condition::AtLeast(field, first),
                _ => Condition::AtMost(field, last),
            };
            Ok(Some((filter, condition)))
        }
        Test::Equals(field) => {
            let (Scope::All(resource) | Scope::Nested(resource, _)) = scope;
            let kind = resource.fields().find(|known| known.name == field).map(|found| found.kind);
            let value = kind.map_or(Ok(Value::Null), |kind| literal::read_plain(kind, &value));
            let test = |value| Some((filter, Condition::Equals(field, value)));
            value.map(test).map_err(|complaint| {
                let detail = format!("{name} {complaint}.");
                Fault::at_parameter(FaultKind::InvalidFilter, name, detail)
            })
        }
    }
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

/// The filters of a route.
fn known_filters(resource: &'static Resource, only: Option<&[&str]>) -> Vec<&'static Filter> {
    let known = |filter: &&Filter| only.is_none_or(|only| only.contains(&filter.name));
    resource.filters.iter().filter(known).collect()
}

fn unknown<'a>(name: &str, filters: impl Iterator<Item = &'a str>) -> Fault {
    const LISTING: [&str; 4] = ["page[offset]", "page[limit]", "list[ordering]", "list[direction]"];
    let known = filters.chain(LISTING).filter(|known| known.starts_with(family(name)));
    let shown = short(name);
    let detail = match nearest(name, known) {
        Some(hint) => format!("This route has no parameter {shown}; did you mean {hint}?"),
        None => format!("This route has no parameter {shown}."),
    };
    Fault::at_parameter(FaultKind::UnknownParameter, name, detail)
}
