//! Vouchers: gift cards. The balance of a voucher is its value plus the sum of its ledger, which is
//! append-only.

use std::ops::ControlFlow::{Break, Continue};

use host_interface::{Method, Response, fact};

use super::coupons::{VALID_FROM, VALID_TO, valid_from_before_to};
use crate::error::{Error, FaultKind};
use crate::model::field::{
    Complaint, ENABLED, Field, Handle, Money, Units, choice, code_of, created_on, decimal, email,
    money, printable, text,
};
use crate::model::moment;
use crate::model::question::{Condition, Page, Shape};
use crate::model::record::Record;
use crate::model::resource::{Resource, unique};
use crate::model::value::{self, Cell, MAX_AMOUNT, Value, decimal_text};
use crate::service::call::{Call, VIEW, asset};
use crate::service::hooks::{Gives, Scene, Service, Special};
use crate::service::{crud, once};
use crate::sql::{self, Statement};
use crate::wire::body::Body;
use crate::wire::draft::{Draft, Intent};
use crate::wire::request::{self, Listing, Scope};
use crate::wire::{answer, document};

pub(crate) static VOUCHERS: Resource = Resource {
    kind: "vouchers",
    singular: "voucher",
    table: "shop_vouchers",
    key: "shop_voucher_id",
    list: &[
        CODE.field,
        VOUCHER_TYPE,
        email("email_to"),
        VOUCHER_VALUE.field,
        ENABLED.field,
        created_on(),
    ],
    detail: &[ORDER_ID, SUBJECT, VALID_FROM.field, VALID_TO.field],
    unique: &[unique(&["voucher_code"]).in_any_case()],
    lock_row: true,
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    special: &[
        Special {
            method: Method::Post,
            path: "vouchers/{id:digits}/adjust",
            name: "adjust",
            action: Some("store.edit"),
            asset: None,
            takes: Some(&ADJUSTMENT),
            gives: Gives::One(&BALANCE),
            run: |call| Box::pin(adjust(call)),
        },
        Special {
            method: Method::Get,
            path: "vouchers/mine",
            name: "mine",
            // A valid token is enough, because the route shows only the user's own vouchers.
            action: None,
            asset: None,
            takes: None,
            gives: Gives::Computed(&MINE, SHOWN),
            run: |call| Box::pin(mine(call)),
        },
    ],
    derive: Some(|draft, before, scene| Box::pin(derive(draft, before, scene))),
    check: |voucher| Ok(valid_from_before_to(voucher)?.into_iter().collect()),
    ..Service::of(&VOUCHERS)
};

/// A voucher with its balance.
static BALANCE: Resource = Resource {
    view: Some("vouchers.balance"),
    detail: &[ORDER_ID, SUBJECT, VALID_FROM.field, VALID_TO.field, REMAINING_BALANCE.field],
    ..VOUCHERS
}
.checked();

/// The fields from which a voucher is computed as its recipient sees it.
static MINE: Resource = Resource {
    view: Some("vouchers.mine"),
    list: &[
        VOUCHER_TYPE,
        VOUCHER_VALUE.field,
        REMAINING_BALANCE.field,
        VALID_FROM.field,
        VALID_TO.field,
    ],
    detail: &[],
    // The code is not a field of lists, because sorting by it would disclose the masked part.
    hidden: &[ENABLED.field, CODE.field],
    crud: false,
    ..VOUCHERS
}
.checked();

/// The fields that the recipient sees.
const SHOWN: &[Field] = &[
    text("masked_code", 255),
    VOUCHER_TYPE,
    VOUCHER_VALUE.field,
    money("remaining_balance"),
    VALID_FROM.field,
    VALID_TO.field,
    choice("status", &["active", "disabled", "not_yet_valid", "expired", "depleted"]),
];

/// A change of the balance of a voucher.
static ADJUSTMENT: Resource = Resource {
    kind: "vouchers",
    view: Some("vouchers.adjustment"),
    singular: "adjustment",
    list: &[ADJUSTMENT_TYPE.field, AMOUNT.field, REASON.field, NOTE.field],
    versioned: false,
    ..Resource::CRUD
}
.checked();

pub(super) const ADJUSTMENT_TYPE: Handle<String> =
    choice("adjustment_type", &["credit", "debit", "correction"]).required().words();
const AMOUNT: Handle<Money> = decimal("amount", 5, -MAX_AMOUNT, MAX_AMOUNT).required().amount();
pub(super) const REASON: Handle<String> = text("reason", 255).required().words();
pub(super) const NOTE: Handle<String> = text("note", 65_535).words();

const CODE: Handle<String> = printable("voucher_code", 255).derived().words();
const VOUCHER_TYPE: Field = text("voucher_type", 64).default_text("giftcard");
const VOUCHER_VALUE: Handle<Money> = money("voucher_value").required().amount();
const ORDER_ID: Field = code_of("order_id", "orders", "order_id", 64);
const SUBJECT: Field = text("subject", 255);
const REMAINING_BALANCE: Handle<Money> = money("remaining_balance")
    .computed(
        "t.voucher_value + (SELECT coalesce({sum l.amount}, 0) FROM shop_voucher_ledger l \
         WHERE l.voucher_id = t.shop_voucher_id)",
    )
    .amount();

fn amount_goes_with_type(adjustment: &Record) -> Result<Vec<Complaint>, Error> {
    let correction = adjustment.get(&ADJUSTMENT_TYPE)? == Some("correction");
    let complaint = match adjustment.get(&AMOUNT)? {
        Some(Units(0)) => Some("amount must not be zero."),
        Some(Units(..0)) if !correction => Some("Only a correction may be negative."),
        _ => None,
    };
    Ok(complaint.into_iter().map(|detail| (AMOUNT.name, detail.to_owned())).collect())
}

/// Writes an entry of the ledger. The transaction serialises the adjustments of a voucher.
async fn adjust(call: &Call<'_>) -> Result<Response, Error> {
    request::no_listing(call.request.query())?;
    let id = request::id(call.request)?;
    let body = Body::read(call.request, &ADJUSTMENT, id)?;
    let key = crud::path_key(call, &VOUCHERS)?;
    let mut draft = Draft::read(&ADJUSTMENT, &body, Intent::Create);
    let mut transaction = match once::begin(call).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let voucher = crud::locked(call, &mut transaction, &BALANCE, key).await?;
    let Units(before) = voucher.need(&REMAINING_BALANCE)?;
    let adjustment = draft.as_record();
    // An invalid amount counts as 0, and is refused below.
    let Units(amount) = adjustment.get(&AMOUNT)?.unwrap_or_default();
    let amount = match adjustment.get(&ADJUSTMENT_TYPE)? {
        Some("debit") => -amount,
        _ => amount,
    };
    let after = before + amount;
    if after < 0 {
        let left = decimal_text(before, 5, 2);
        let detail = format!("The balance is {left} and cannot fall below zero.");
        draft.fault_at(FaultKind::Refused, AMOUNT.name, detail);
    } else if after > MAX_AMOUNT {
        draft.fault_at(FaultKind::Refused, AMOUNT.name, "The balance would be too large.");
    }
    let complaints = amount_goes_with_type(&adjustment)?;
    let mut scene = Scene { call, transaction: &mut transaction };
    crud::validate(&mut draft, &adjustment, complaints, &mut scene).await?;
    let entry = Statement::fixed(
        "INSERT INTO shop_voucher_ledger (voucher_id, adjustment_type, amount, balance_before, \
         balance_after, reason, note, user_id, token_name, request_id, created_on) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        vec![
            Value::Int(key),
            Value::Text(adjustment.need(&ADJUSTMENT_TYPE)?.to_owned()),
            Value::money(amount),
            Value::money(before),
            Value::money(after),
            Value::Text(adjustment.need(&REASON)?.to_owned()),
            Value::Text(adjustment.need(&NOTE)?.to_owned()),
            Value::Int(call.user()),
            Value::Text(call.token_name().to_owned()),
            Value::Text(call.request.id().to_owned()),
            Value::now(),
        ],
    );
    transaction.execute(entry).await?;
    // The ledger is part of the voucher.
    let counted = sql::update(&VOUCHERS, key, std::iter::empty(), transaction.dialect());
    transaction.execute(counted).await?;
    let cells = transaction.page(&Page::of_one(&BALANCE, key)).await?;
    once::commit(call, transaction, crud::single(200, call, &BALANCE, &cells)?).await
}

/// The vouchers that were sent to the e-mail address of the calling user.
async fn mine(call: &Call<'_>) -> Result<Response, Error> {
    call.permit_token(VIEW, &asset(VOUCHERS.kind))?;
    let listing = Listing::read(call.request.query(), Scope::Nested(&MINE, &[]), SHOWN)?;
    let caller = call.request.caller();
    let email = caller.and_then(|caller| caller.fact(fact::USER_EMAIL)).unwrap_or_default();
    let own = match email {
        // Vouchers without an address belong to no user.
        "" => Condition::Key(0),
        email => Condition::Equals("email_to_fold", Value::Text(value::fold(email))),
    };
    let page =
        Page { shape: Shape::Detail, most_bytes: call.limit, ..listing.page(&MINE, vec![own]) };
    let cells = call.shop.store.page(&page).await?;
    let mut records = Vec::new();
    for row in cells.rows()? {
        let voucher = Record::of_row(&MINE, &row)?;
        let [_, kind, value, balance, from, to, ..] = &row[..] else {
            return Err(Error::Contract("a voucher has other columns"));
        };
        let masked = Cell::Text(masked(voucher.need(&CODE)?).into());
        let status = Cell::Text(status(&voucher)?.into());
        let shown = [&masked, kind, value, balance, from, to, &status].map(Clone::clone);
        records.push((voucher.key().to_string(), document::attributes(SHOWN, &shown)?));
    }
    let (total, place) = (cells.total(), (call.request.path(), call.limit));
    let beside = serde_json::Map::new();
    let body = document::computed("vouchers", &records, total, &listing, place, &beside)?;
    Ok(answer::document(200, call.send(body)?))
}

/// Masks all but the last four characters of a code; a code of up to four characters completely.
fn masked(code: &str) -> String {
    let length = code.chars().count();
    let shown = if length > 4 { 4 } else { 0 };
    let covered = std::iter::repeat_n('*', length - shown);
    covered.chain(code.chars().skip(length - shown)).collect()
}

fn status(voucher: &Record) -> Result<&'static str, Error> {
    let now = moment::now();
    Ok(if !voucher.need(&ENABLED)? {
        "disabled"
    } else if voucher.get(&VALID_FROM)?.is_some_and(|from| from > now) {
        "not_yet_valid"
    } else if voucher.get(&VALID_TO)?.is_some_and(|to| to < now) {
        "expired"
    } else if voucher.need(&REMAINING_BALANCE)? == Units(0) {
        "depleted"
    } else {
        "active"
    })
}

/// Letters and digits that are not easily confused: 32, so that each encodes five random bits.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

async fn derive(
    draft: &mut Draft,
    before: Option<&Record>,
    scene: &mut Scene<'_>,
) -> Result<(), Error> {
    let blank = draft.given(&CODE)?.map(Value::is_blank);
    match (before, blank) {
        (None, None | Some(true)) => draft.set(&CODE, new_code()?)?,
        (Some(_), Some(true)) => draft.refuse(&CODE, "voucher_code must not be empty."),
        _ => {}
    }
    let (Some(before), Some(Units(value))) = (before, draft.get(&VOUCHER_VALUE)?) else {
        return Ok(());
    };
    let left = crud::record(scene.transaction, &BALANCE, before.key()).await?;
    let moved = left.need(&REMAINING_BALANCE)?.0 - before.need(&VOUCHER_VALUE)?.0;
    if value + moved < 0 {
        let spent = decimal_text(-moved, 5, 2);
        let detail = format!("voucher_value must be at least {spent}, the amount already spent.");
        draft.refuse(&VOUCHER_VALUE, detail);
    } else if value + moved > MAX_AMOUNT {
        let most = decimal_text(MAX_AMOUNT - moved, 5, 2);
        let detail = format!(
            "voucher_value must be at most {most}: with the amounts credited, the balance would be too large."
        );
        draft.refuse(&VOUCHER_VALUE, detail);
    }
    Ok(())
}

/// Sixteen characters, eighty bits from the operating system's generator, in groups of four.
fn new_code() -> Result<String, Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(host_interface::Error::failed)?;
    let letters = random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    let mut code = String::with_capacity(19);
    for (position, letter) in letters.enumerate() {
        if position > 0 && position % 4 == 0 {
            code.push('-');
        }
        code.push(letter);
    }
    Ok(code)
}
