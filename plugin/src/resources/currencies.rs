//! Currencies, by their ISO 4217 codes, and how amounts in them are written.

use crate::error::{Fault, FaultKind};
use crate::model::parameters::Parameters;
use crate::model::question::Record;
use crate::model::resource::{
    Complaint, Resource, capitals, choice, decimal, flag, int, text, unique,
};

/// One, in units of 10^-8.
const ONE: i64 = 100_000_000;
/// Ten thousand million, which is more than any rate of exchange, less the last unit.
const MAX_VALUE: i64 = 10_000_000_000 * ONE - 1;

pub(super) const CURRENCIES: Resource = Resource {
    kind: "currencies",
    singular: "currency",
    table: "shop_currencies",
    key: "shop_currency_id",
    list: &[
        text("currency_title", 64).required(),
        capitals("currency_code", 3).required(),
        decimal("currency_value", 8, 1, MAX_VALUE).default(ONE),
        flag("enabled"),
    ],
    detail: &[
        choice("currency_position", &["pre", "post"]),
        int("currency_num_decimals").between(0, 8).default(2),
        text("currency_decimal", 4).default_text("."),
        text("currency_thousands", 4).default_text(","),
    ],
    unique: &[unique(&["currency_code"])],
    deletable: not_the_default,
    changeable: the_default_keeps_its_code,
    ..Resource::CRUD
};

/// Prices are in the default currency, so it has to stay.
fn not_the_default(currency: &Record, parameters: &Parameters) -> Result<(), Fault> {
    let code = currency.value("currency_code");
    match code.text() == parameters.default_currency {
        true => Err(Fault::new(
            FaultKind::Refused,
            format!("{} is the store's default currency and cannot be deleted.", code.text()),
        )),
        false => Ok(()),
    }
}

/// The site knows the default currency by its code, and new orders are in it.
fn the_default_keeps_its_code(
    before: &Record,
    after: &Record,
    parameters: &Parameters,
) -> Vec<Complaint> {
    let code = before.value("currency_code");
    if code.text() != parameters.default_currency {
        return Vec::new();
    }
    let refuse =
        |what: &str| format!("{} is the store's default currency and {what}.", code.text());
    let mut complaints = Vec::new();
    if after.value("currency_code") != code {
        complaints.push(("currency_code", refuse("its code cannot be changed")));
    }
    if before.value("enabled").int() == 1 && after.value("enabled").int() == 0 {
        complaints.push(("enabled", refuse("cannot be disabled")));
    }
    complaints
}
