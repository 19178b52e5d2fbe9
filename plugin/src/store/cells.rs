//! Pages and tables as an engine returns them, and the conversion of their cells.

use std::fmt;

use rust_decimal::Decimal;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use sqlx::{ColumnIndex, Decode, Row, Type, TypeInfo, ValueRef};
use time::PrimitiveDateTime;

use super::driver::Driver;
use super::failure::TooLarge;
use crate::error::Error;
use crate::model::moment;
use crate::model::record::Record;
use crate::model::resource::Resource;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::Row as Named;

/// A page of records, or a table, as an engine returned it.
#[derive(Debug)]
pub struct Cells {
    total: i64,
    /// How many bytes it takes, as far as they were counted.
    bytes: usize,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    /// A JSON array of arrays of cells.
    Json(String),
    /// The rows of a driver.
    Fetched(Box<dyn Readable>),
}

impl Cells {
    /// Cells from a JSON array of arrays.
    pub(super) fn json(total: i64, text: String) -> Self {
        Self { total, bytes: text.len(), rows: Rows::Json(text) }
    }

    /// Rows whose last columns contain cells of these kinds, with this many bytes of long texts.
    pub(super) fn fetched<D: Driver>(
        total: i64,
        rows: Vec<D::Row>,
        kinds: Vec<Kind>,
        bytes: usize,
    ) -> Self {
        Self { total, bytes, rows: Rows::Fetched(Box::new(Fetched::<D> { rows, kinds })) }
    }

    /// The number of records that satisfy the conditions, on any page.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// How many bytes the page takes, as far as they were counted: those of long texts at least.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The records, each as its key and the cells of its fields; or the rows of the table.
    ///
    /// # Errors
    /// When the page does not have the requested form, or a sum is too large to be represented.
    pub fn rows(&self) -> Result<Vec<Vec<Cell<'_>>>, Error> {
        match &self.rows {
            Rows::Json(text) => {
                let AllRows(rows) = serde_json::from_str(text)?;
                Ok(rows)
            }
            Rows::Fetched(rows) => rows.cells(),
        }
    }

    /// The rows of a table that was read by the names of its columns.
    ///
    /// # Errors
    /// When a column has another kind of value.
    pub(super) fn read<R: Named>(&self) -> Result<Vec<R>, Error> {
        self.rows()?.iter().map(|row| R::read(row)).collect()
    }

    /// The records of a page that was read with all fields.
    ///
    /// # Errors
    /// When the page does not have the requested form, or a record has no key.
    pub fn records(&self, resource: &'static Resource) -> Result<Vec<Record>, Error> {
        self.rows()?.iter().map(|row| Record::of_row(resource, row)).collect()
    }
}

/// The values of a row, with their kinds.
pub(super) fn values<D: Driver>(row: &D::Row, kinds: &[Kind]) -> Result<Vec<Value>, sqlx::Error> {
    let columns = kinds.iter().enumerate();
    columns.map(|(column, kind)| Ok(kind.typed(D::cell(row, column, *kind)?.to_value()))).collect()
}

/// The rows of a JSON array, each as long as the one before it, so that none is moved while it grows.
struct AllRows<'a>(Vec<Vec<Cell<'a>>>);

impl<'de> Deserialize<'de> for AllRows<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows;

        impl<'de> Visitor<'de> for Rows {
            type Value = AllRows<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of rows")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
                let mut rows = Vec::new();
                let mut width = 0;
                while let Some(row) = all.next_element_seed(RowOf(width))? {
                    width = row.len();
                    rows.push(row);
                }
                Ok(AllRows(rows))
            }
        }

        deserializer.deserialize_seq(Rows)
    }
}

/// A row with about this many cells.
struct RowOf(usize);

impl<'de> DeserializeSeed<'de> for RowOf {
    type Value = Vec<Cell<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RowOf {
    type Value = Vec<Cell<'de>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of cells")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<Self::Value, A::Error> {
        let mut row = Vec::with_capacity(self.0);
        while let Some(cell) = cells.next_element()? {
            row.push(cell);
        }
        Ok(row)
    }
}

/// Rows in a format that is private to a driver.
trait Readable: fmt::Debug + Send + Sync {
    fn cells(&self) -> Result<Vec<Vec<Cell<'_>>>, Error>;
}

struct Fetched<D: Driver> {
    rows: Vec<D::Row>,
    /// The kinds of their last columns. A total may precede these.
    kinds: Vec<Kind>,
}

impl<D: Driver> Readable for Fetched<D> {
    fn cells(&self) -> Result<Vec<Vec<Cell<'_>>>, Error> {
        let cells = |row| {
            let columns = Row::len(row).saturating_sub(self.kinds.len())..;
            self.kinds
                .iter()
                .zip(columns)
                .map(|(kind, column)| D::cell(row, column, *kind))
                .collect()
        };
        self.rows.iter().map(cells).collect::<Result<_, _>>().map_err(D::classify)
    }
}

impl<D: Driver> fmt::Debug for Fetched<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

/// Reads a cell of a row, on an engine with a type for decimals, which has this name, and one for
/// moments.
pub(super) fn typed<'r, R>(
    row: &'r R,
    column: usize,
    kind: Kind,
    decimal: &str,
    number: impl Fn(&'r R, usize) -> Result<i64, sqlx::Error>,
) -> Result<Cell<'r>, sqlx::Error>
where
    R: Row,
    usize: ColumnIndex<R>,
    Decimal: Decode<'r, R::Database> + Type<R::Database>,
    PrimitiveDateTime: Decode<'r, R::Database> + Type<R::Database>,
    &'r str: Decode<'r, R::Database>,
{
    let raw = row.try_get_raw(column)?;
    if raw.is_null() {
        return Ok(Cell::Null);
    }
    Ok(match kind {
        // A sum of whole numbers may have the type of decimals.
        Kind::Int { .. } if raw.type_info().name() == decimal => {
            Cell::Int(units(row.try_get(column)?, 0)?)
        }
        Kind::Int { .. } | Kind::Flag | Kind::Key(_) | Kind::User => {
            Cell::Int(number(row, column)?)
        }
        Kind::Decimal { places, .. } => Cell::Int(units(row.try_get(column)?, places)?),
        Kind::DateTime => {
            let moment = row.try_get::<PrimitiveDateTime, _>(column)?;
            Cell::Text(moment::render(moment).into())
        }
        _ => Cell::Text(row.try_get_unchecked::<&str, _>(column)?.into()),
    })
}

/// A decimal as a count of units of its last place.
pub(super) fn count(decimal: Decimal) -> Result<i64, sqlx::Error> {
    i64::try_from(decimal.mantissa()).map_err(|_| sqlx::Error::Decode(TooLarge.into()))
}

/// A decimal as a count of units of `10^-places`.
fn units(mut decimal: Decimal, places: u8) -> Result<i64, sqlx::Error> {
    decimal.rescale(places.into());
    if decimal.scale() == u32::from(places) {
        count(decimal)
    } else {
        // The value has more digits than even an exact decimal.
        Err(sqlx::Error::Decode(TooLarge.into()))
    }
}
