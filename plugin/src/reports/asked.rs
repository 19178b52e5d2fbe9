//! The query of a report, and the document that answers it. Independent of particular reports.

use serde_json::{Map, Value as Json, json};
use time::Date;

use super::period::{Range, Unit};
use crate::error::Error;
use crate::model::field::{Field, choice, moment as moment_field};
use crate::model::moment;
use crate::model::parameters::Parameters;
use crate::model::resource::{Filter, Report, Resource, date_from, date_to, equals};
use crate::model::value::Value;
use crate::wire::document::{self, Row};
use crate::wire::request::{Listing, Scope};

/// The parameters that every report has. A report without fields cannot be ordered.
pub(super) static ASKED: Resource = Resource {
    kind: "reports",
    singular: "report",
    hidden: &[moment_field("created_on"), choice("period", &["day", "week", "month", "year"])],
    filters: FILTERS,
    crud: false,
    ..Resource::CRUD
}
.checked();

const FILTERS: &[Filter] = &[date_from("created_on"), date_to("created_on"), equals("period")];

/// The query of a report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    /// The path of the report.
    path: String,
    /// How many bytes the document may have.
    limit: usize,
    pub(super) listing: Listing,
    pub(super) range: Range,
    /// The keys of the statuses of orders that count.
    pub(super) statuses: Vec<Value>,
    /// The code of the store's own currency.
    pub(super) currency: String,
    pub(super) low_stock: i64,
}

impl Asked {
    /// Reads the query of the report at this path and with this limit, whose rows have these attributes.
    ///
    /// # Errors
    /// Faults of the query.
    pub(crate) fn read(
        (path, limit): (&str, usize),
        query: &str,
        row: &'static [Field],
        parameters: &Parameters,
        today: Date,
    ) -> Result<Self, Error> {
        let listing = Listing::read(query, Scope::All(&ASKED), row)?;
        let range = Range::of(&listing.conditions, today);
        Ok(Self {
            path: path.to_owned(),
            limit,
            listing,
            range,
            statuses: parameters.report_statuses.iter().copied().map(Value::Int).collect(),
            currency: parameters.default_currency.clone(),
            low_stock: parameters.low_stock_threshold,
        })
    }

    /// The unit into which the range is divided.
    pub(super) fn unit(&self) -> Unit {
        Unit::of(&self.listing.conditions)
    }

    /// The periods of the range.
    ///
    /// # Errors
    /// When there are too many of them.
    pub(crate) fn periods(&self) -> Result<Vec<Range>, Error> {
        self.range.periods(self.unit())
    }

    /// The values to bind for the counted orders of a range: the first moment, the last one, and
    /// the statuses.
    pub(super) fn orders_of(&self, range: Range) -> [Vec<Value>; 3] {
        let Range { from, to } = range;
        let [first, _] = moment::bounds(from);
        let [_, last] = moment::bounds(to);
        [vec![Value::Moment(first)], vec![Value::Moment(last)], self.statuses.clone()]
    }

    /// The offset and the limit of a page, as values to bind.
    pub(super) fn limits(&self) -> [Vec<Value>; 2] {
        [vec![Value::Int(self.listing.limit)], vec![Value::Int(self.listing.offset)]]
    }

    /// The range as a member of `meta`.
    pub(super) fn range(&self) -> (&'static str, Json) {
        let Range { from, to } = self.range;
        ("range", json!({"date_from": from.to_string(), "date_to": to.to_string()}))
    }

    /// The document of a report: rows, their total number, and further members of `meta`.
    pub(super) fn document(
        &self,
        of: &Report,
        rows: &[Row<'_>],
        total: i64,
        beside: Vec<(&'static str, Json)>,
    ) -> Result<Vec<u8>, Error> {
        let beside: Map<String, Json> =
            beside.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let place = (&*self.path, self.limit);
        document::computed(("reports", of.row), rows, total, &self.listing, place, &beside)
    }
}
