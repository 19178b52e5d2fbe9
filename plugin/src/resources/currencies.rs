//! Currencies, by their ISO 4217 codes, and the format of their amounts.

use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{
    Complaint, ENABLED, Handle, PAR, Units, capitals, choice, decimal, int, text,
};
use crate::model::parameters::Parameters;
use crate::model::presentation::{Group, Presentation};
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::resource::{Resource, unique};
use crate::model::value::Value;
use crate::service::hooks::Service;
use crate::service::write::Write;

const ONE: i64 = PAR.0;
/// 10^10, which exceeds any exchange rate, less one unit.
const MAX_VALUE: i64 = 10_000_000_000 * ONE - 1;

pub(crate) static CURRENCIES: Resource = Resource {
    kind: "currencies",
    singular: "currency",
    table: "shop_currencies",
    impersonal: Some("the world"),
    key: "shop_currency_id",
    list: &[text("currency_title", 64).required(), CODE.field, RATE.field, ENABLED.field],
    detail: &[
        choice("currency_position", &["pre", "post"]),
        DECIMALS.field,
        text("currency_decimal", 4).default_text("."),
        text("currency_thousands", 4).default_text(","),
    ],
    unique: &[unique(&["currency_code"])],
    shown: Presentation {
        group: Some(Group::Settings),
        label: &["currency_title"],
        columns: &["currency_title", "currency_code", "currency_value", "enabled"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    deletable: not_the_default,
    changeable: the_default_stays_one,
    ..Service::of(&CURRENCIES)
};

const CODE: Handle<String> = capitals("currency_code", 3).required().words();
/// The value of one unit of the default currency in this currency.
pub(super) const RATE: Handle<Units<8>> =
    decimal("currency_value", 8, 1, MAX_VALUE).default(ONE).units();
/// The number of fraction digits of amounts.
pub(super) const DECIMALS: Handle<i64> =
    int("currency_num_decimals").between(0, 8).default(2).number();

/// The currency with this code, if it exists.
pub(super) async fn by_code(code: &str, write: &mut Write<'_>) -> Result<Option<Record>, Error> {
    let condition = Condition::equals(&CODE, Value::Text(code.to_owned()));
    let cells = write.transaction.page(&Page::of_the(&CURRENCIES, condition)).await?;
    Ok(cells.records(&CURRENCIES)?.pop())
}

/// Prices are in the default currency, so it cannot be deleted.
fn not_the_default(currency: &Record, parameters: &Parameters) -> Result<(), Error> {
    let code = currency.need(&CODE)?;
    if code != parameters.default_currency {
        return Ok(());
    }
    let detail = format!("{code} is the store's default currency and cannot be deleted.");
    Err(Fault::new(FaultKind::Refused, detail).into())
}

/// The site identifies the default currency by its code, new orders use it, and rates are values of it.
fn the_default_stays_one(
    before: &Record,
    after: &Record,
    parameters: &Parameters,
) -> Result<Vec<Complaint>, Error> {
    let code = before.need(&CODE)?;
    let mut complaints = Vec::new();
    if code != parameters.default_currency {
        return Ok(complaints);
    }
    let refuse = |what: &str| format!("{code} is the store's default currency and {what}.");
    if after.need(&CODE)? != code {
        complaints.push((CODE.name, refuse("its code cannot be changed")));
    }
    if before.need(&ENABLED)? && !after.need(&ENABLED)? {
        complaints.push((ENABLED.name, refuse("cannot be disabled")));
    }
    let rate = after.need(&RATE)?;
    // One of before this rule may keep its rate, or get the right one.
    if rate != PAR && rate != before.need(&RATE)? {
        complaints.push((RATE.name, refuse("its currency_value is 1")));
    }
    Ok(complaints)
}
