//! What of an order can still be given back, for those who read an order and for its refunds. `refund_amounts` has the
//! arithmetic.

use serde::{Serialize, Serializer};
use serde_json::value::to_raw_value;

use super::amounts::{
    CURRENCY_DECIMALS, REFUND, REFUNDED, SHIPPING, SHIPPING_REFUNDED, SHIPPING_TAX,
    SHIPPING_TAX_REFUNDED, TOTAL,
};
use super::items::{
    AMOUNT_REFUNDED, FINALPRICE_WITH_TAX, QUANTITY, QUANTITY_REFUNDED, SHARE_REFUNDED, TAX,
    TAX_REFUNDED,
};
use super::refund_amounts::{Coin, Left, Line, Part};
use crate::error::Error;
use crate::model::field::{Field, Handle, Money, Typed, Units, json_list, money};
use crate::model::meta::DerivedMeta;
use crate::model::record::Record;
use crate::model::value::{Kind, Value, money_text};
use crate::service::write::Write;
use crate::sql::{self, Statement};

/// The key, quantity and amount of each of its items, with what was given back of both: kept with the order.
pub(super) const LINES: Field = json_list("refundable_lines", &[]);

/// What is left of an order, for those who read it.
pub(super) static META: DerivedMeta = DerivedMeta {
    members: &[REFUNDABLE.nullable(), UNATTRIBUTED.nullable()],
    from: &[
        CURRENCY_DECIMALS.field.name,
        TOTAL.field.name,
        REFUND.field.name,
        REFUNDED.field.name,
        SHIPPING.field.name,
        SHIPPING_TAX.field.name,
        SHIPPING_REFUNDED.field.name,
        LINES.name,
    ],
    derive: |cells| {
        let [decimals, total, refund, refunded, shipping, tax, shipped, lines] = cells else {
            return Err(Error::Contract("an order has other columns"));
        };
        let coin = Coin::of(decimals.int(CURRENCY_DECIMALS.name)?);
        let (refund, refunded) = (refund.int(REFUND.name)?, refunded.int(REFUNDED.name)?);
        let amount = shipping.int(SHIPPING.name)? + tax.int(SHIPPING_TAX.name)?;
        let of_shipping = Part { amount: shipped.int(SHIPPING_REFUNDED.name)?, ..Part::default() };
        let shipping = Line::new(coin, 0, [amount, 0], of_shipping).left();
        let lines: Vec<[i64; 5]> = serde_json::from_str(lines.text(LINES.name)?)?;
        let items = lines.into_iter().map(|[key, quantity, amount, pieces, given]| {
            let given = Part { quantity: pieces, amount: given, ..Part::default() };
            (key, shown(Line::new(coin, quantity, [amount, 0], given).left()))
        });
        let refundable = ShownRefundable {
            amount: money_text(coin.whole(total.int(TOTAL.name)? - refund)),
            shipping: money_text(shipping.amount),
            items: items.collect(),
        };
        let mut meta = vec![(REFUNDABLE.name, to_raw_value(&refundable)?)];
        if refund > refunded {
            meta.push((UNATTRIBUTED.name, to_raw_value(&money_text(refund - refunded))?));
        }
        Ok(meta)
    },
};

const REFUNDABLE: Field = Field::of_kind("refundable", Kind::JsonObject(MEMBERS));
const MEMBERS: &[(&str, Kind)] =
    &[("amount", Kind::MONEY), ("shipping", Kind::MONEY), ("items", Kind::JsonByKey(LEFT))];
const LEFT: &[(&str, Kind)] = &[("quantity", Kind::COUNT), ("amount", Kind::MONEY)];
/// What was given back without a refund.
const UNATTRIBUTED: Field = money("unattributed_refund");

/// Keeps the lines of an order whose items are new or have changed.
pub(super) async fn keep_lines(order: i64, write: &mut Write<'_>) -> Result<(), Error> {
    let text = sql::kept::keep_lines(write.transaction.dialect().kept);
    keep(text, order, write).await
}

/// Keeps them of an order of which something was given back, with how far that leaves it shipped.
pub(super) async fn keep_refunded(order: i64, write: &mut Write<'_>) -> Result<(), Error> {
    let text = sql::kept::keep_refunded(write.transaction.dialect().kept);
    keep(text, order, write).await
}

async fn keep(text: String, order: i64, write: &mut Write<'_>) -> Result<(), Error> {
    let statement = Statement { text, binds: vec![Value::Int(order)] };
    write.transaction.execute(statement).await
}

/// What is left of an order that is locked.
pub(super) struct Refundable {
    pub(super) coin: Coin,
    /// The decimals of its currency.
    pub(super) decimals: i64,
    /// What is left in all.
    pub(super) amount: i64,
    pub(super) shipping: Line,
}

impl Refundable {
    pub(super) fn of(order: &Record) -> Result<Self, Error> {
        let units = |field: &Handle<Money>| Ok::<_, Error>(order.need(field)?.0);
        let decimals = order.need(&CURRENCY_DECIMALS)?;
        let coin = Coin::of(decimals);
        let tax = units(&SHIPPING_TAX)?;
        let refunded = Part {
            amount: units(&SHIPPING_REFUNDED)?,
            tax: units(&SHIPPING_TAX_REFUNDED)?,
            ..Part::default()
        };
        Ok(Self {
            coin,
            decimals,
            amount: coin.whole(units(&TOTAL)? - units(&REFUND)?),
            shipping: Line::new(coin, 0, [units(&SHIPPING)? + tax, tax], refunded),
        })
    }

    /// A line of the order.
    pub(super) fn line(&self, item: &Record) -> Result<Line, Error> {
        let amount = [item.need(&FINALPRICE_WITH_TAX)?.0, item.need(&TAX)?.0];
        Ok(Line::new(self.coin, item.need(&QUANTITY)?, amount, refunded(item)?))
    }
}

/// What refunds have of an item.
pub(super) fn refunded(item: &Record) -> Result<Part, Error> {
    let units = |field: &Handle<Money>| Ok::<_, Error>(item.need(field)?.0);
    Ok(Part {
        quantity: item.need(&QUANTITY_REFUNDED)?,
        amount: units(&AMOUNT_REFUNDED)?,
        tax: units(&TAX_REFUNDED)?,
        share: units(&SHARE_REFUNDED)?,
    })
}

/// What is left of an order, as clients read it.
#[derive(Serialize)]
struct ShownRefundable {
    amount: String,
    shipping: String,
    #[serde(serialize_with = "by_key")]
    items: Vec<(i64, ShownLeft)>,
}

fn by_key<S: Serializer>(items: &[(i64, ShownLeft)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(items.iter().map(|(key, left)| (key, left)))
}

/// What is left of an item, as clients read it.
#[derive(Debug, Serialize)]
pub(super) struct ShownLeft {
    quantity: i64,
    amount: String,
}

pub(super) fn shown(left: Left) -> ShownLeft {
    ShownLeft { quantity: left.quantity, amount: money_text(left.amount) }
}

/// The new values of what refunds have of an item.
pub(super) fn values(refunded: Part) -> [Value; 4] {
    let Part { quantity, amount, tax, share } = refunded;
    [
        quantity.into_value(),
        Units::<5>(amount).into_value(),
        Units::<5>(tax).into_value(),
        Units::<5>(share).into_value(),
    ]
}
