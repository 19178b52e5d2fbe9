//! What a client asks to be given back of an order, line by line, and what of it can be: never more than there is.
//! Knows nothing of how it is recorded.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::order::CURRENCY_CODE;
use super::refund_amounts::{Left, Line, Part, TooMuch};
use super::refundable::{Refundable, shown};
use crate::error::{Error, FaultKind};
use crate::model::field::{Field, Handle, Money, Units, decimal, flag, int, json_list, key};
use crate::model::record::Record;
use crate::model::value::{Kind, MAX_AMOUNT, Value, money_text};
use crate::wire::draft::Draft;

/// The lines of a refund.
pub(super) const ITEMS: Field = json_list(
    "items",
    &[
        ("orderitem_id", Kind::Key("orderitems")),
        ("quantity", Kind::Int { min: -(i32::MAX as i64), max: i32::MAX as i64 }),
        ("amount", SIGNED),
        ("tax_amount", SIGNED),
        ("restock", Kind::Flag),
    ],
);
const SIGNED: Kind = Kind::Decimal { places: 5, shown: 2, min: -MAX_AMOUNT, max: MAX_AMOUNT };

pub(super) const NEW_ITEM: Handle<i64> = key("orderitem_id", "orderitems").required().number();
pub(super) const NEW_QUANTITY: Handle<i64> =
    int("quantity").between(1, i32::MAX as i64).nullable().number();
pub(super) const NEW_AMOUNT: Handle<Money> = positive("amount");
pub(super) const NEW_SHIPPING: Handle<Money> = positive("shipping_amount");
/// Whether the pieces of a line go back into the stock.
pub(super) const RESTOCK: Handle<bool> = flag("restock").default(0).truth();

/// A line as a refund stores it, with amounts in units of 10^-5. Clients do not see the share.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) orderitem_id: i64,
    pub(super) quantity: i64,
    amount: i64,
    tax_amount: i64,
    restock: u8,
    share: i64,
}

impl Stored {
    pub(super) fn new(item: i64, part: Part, restock: bool) -> Self {
        let Part { quantity, amount, tax, share } = part;
        let restock = restock.into();
        Self { orderitem_id: item, quantity, amount, tax_amount: tax, restock, share }
    }

    /// Whether its pieces have gone into the stock.
    pub(super) fn is_restocked(&self) -> bool {
        self.restock == 1
    }

    /// Its pieces do not go into the stock.
    pub(super) fn leave_stock(&mut self) {
        self.restock = 0;
    }

    pub(super) fn part(&self) -> Part {
        let Self { quantity, amount, tax_amount: tax, share, .. } = *self;
        Part { quantity, amount, tax, share }
    }
}

/// What is given back, or taken again: the lines, the shipping, and what is tied to neither.
#[derive(Default)]
pub(super) struct Given {
    pub(super) lines: Vec<Stored>,
    pub(super) shipping: Part,
    pub(super) rest: i64,
}

impl Given {
    pub(super) fn amount(&self) -> i64 {
        let lines: i64 = self.lines.iter().map(|line| line.amount).sum();
        lines + self.shipping.amount + self.rest
    }

    pub(super) fn tax(&self) -> i64 {
        self.lines.iter().map(|line| line.tax_amount).sum::<i64>() + self.shipping.tax
    }
}

/// What is left of an order while a draft takes from it.
pub(super) struct Asked<'o> {
    left: Refundable,
    currency: &'o str,
}

impl<'o> Asked<'o> {
    pub(super) fn of(order: &'o Record) -> Result<Self, Error> {
        Ok(Self { left: Refundable::of(order)?, currency: order.need(&CURRENCY_CODE)? })
    }

    /// What a draft gives back. It gets a fault for each part of which there is not as much.
    pub(super) fn given(
        mut self,
        draft: &mut Draft,
        items: &HashMap<i64, Record>,
    ) -> Result<Given, Error> {
        let mut given = Given::default();
        let mut places = HashMap::new();
        for (place, line) in draft.children.iter_mut().enumerate() {
            let Some(item) = line.get(&NEW_ITEM)? else { continue };
            let Some(known) = items.get(&item) else {
                let detail = format!("orderitem_id: the order has no item with the id {item}.");
                line.fault_at(FaultKind::MissingReference, NEW_ITEM.name, detail);
                continue;
            };
            if let Some(first) = places.insert(item, place) {
                let detail = format!("The item {item} is named before, at the place {first}.");
                line.refuse(&NEW_ITEM, detail);
                continue;
            }
            let (quantity, restock) = (line.get(&NEW_QUANTITY)?, line.get(&RESTOCK)?);
            let restock = restock.unwrap_or_default();
            if restock && line.given(&NEW_QUANTITY)? == Some(&Value::Null) {
                line.refuse(&RESTOCK, "restock needs a quantity.");
            }
            let of = self.left.line(known)?;
            if let Some(part) = self.part(&of, &NEW_AMOUNT, quantity, line)? {
                given.lines.push(Stored::new(item, part, restock));
            }
        }
        let nothing = draft.children.is_empty()
            && draft.faults.is_empty()
            && draft.get(&NEW_SHIPPING)?.is_none()
            && draft.get(&NEW_AMOUNT)?.is_none();
        if nothing {
            let detail = "A refund needs items, a shipping_amount or an amount.";
            draft.fault_at(FaultKind::MissingField, ITEMS.name, detail);
        }
        let shipping = self.left.shipping;
        if draft.get(&NEW_SHIPPING)?.is_some()
            && let Some(part) = self.part(&shipping, &NEW_SHIPPING, None, draft)?
        {
            given.shipping = part;
        }
        if let Some(Units(amount)) = draft.get(&NEW_AMOUNT)?
            && self.is_payable(&NEW_AMOUNT, amount, draft)
        {
            let left = self.left.amount;
            if amount > left {
                over(draft, &NEW_AMOUNT, left, json!({"amount": money_text(left)}));
            }
            given.rest = amount;
        }
        Ok(given)
    }

    /// What a draft gives back of a line, and takes from what is left in all; `None` if it cannot.
    fn part(
        &mut self,
        line: &Line,
        field: &Handle<Money>,
        quantity: Option<i64>,
        draft: &mut Draft,
    ) -> Result<Option<Part>, Error> {
        let amount = draft.get(field)?.map(|amount| amount.0);
        if amount.is_some_and(|amount| !self.is_payable(field, amount, draft)) {
            return Ok(None);
        }
        if quantity.is_none() && amount.is_none() {
            if draft.faults.is_empty() {
                let detail = "quantity or amount is required.";
                draft.fault_at(FaultKind::MissingField, NEW_QUANTITY.name, detail);
            }
            return Ok(None);
        }
        let of_line = line.left();
        let left = Left { amount: of_line.amount.min(self.left.amount), ..of_line };
        let part = line.part(quantity.unwrap_or(0), amount);
        let is_left = |part: &Part| part.amount <= left.amount;
        let part = part.and_then(|part| is_left(&part).then_some(part).ok_or(TooMuch::Money));
        let meta = match quantity {
            None if field.name == NEW_SHIPPING.name => json!({"amount": money_text(left.amount)}),
            _ => json!(shown(left)),
        };
        match part {
            Ok(part) => {
                self.left.amount -= part.amount;
                return Ok(Some(part));
            }
            Err(TooMuch::Pieces) => {
                let detail =
                    format!("Only {} pieces of it can still be given back.", left.quantity);
                draft.fault_with(
                    FaultKind::OverRefunded,
                    NEW_QUANTITY.name,
                    detail,
                    ("left", meta),
                );
            }
            Err(TooMuch::Money) if amount.is_none() => {
                over(draft, &NEW_QUANTITY, left.amount, meta)
            }
            Err(TooMuch::Money) => over(draft, field, left.amount, meta),
        }
        Ok(None)
    }

    /// Whether the currency can express an amount; otherwise the draft gets a fault.
    fn is_payable(&self, field: &Field, amount: i64, draft: &mut Draft) -> bool {
        let payable = self.left.coin.pays(amount);
        if !payable {
            let (currency, decimals) = (self.currency, self.left.decimals);
            let name = field.name;
            let detail =
                format!("{name} must have at most {decimals} decimals, as {currency} has.");
            draft.refuse(field, detail);
        }
        payable
    }
}

/// Adds the fault that less than an amount is left.
fn over(draft: &mut Draft, field: &Field, left: i64, meta: Json) {
    let detail = format!("Only {} can be given back.", money_text(left));
    draft.fault_with(FaultKind::OverRefunded, field.name, detail, ("left", meta));
}

const fn positive(name: &'static str) -> Handle<Money> {
    decimal(name, 5, 1, MAX_AMOUNT).nullable().money()
}
