//! Vouchers: gift cards. What is left of one is its value and the sum of its ledger, which is only
//! ever added to.

use host_interface::{Method, Response};
use time::PrimitiveDateTime;

use crate::app::Call;
use crate::error::{Error, FaultKind};
use crate::model::moment;
use crate::model::question::{Condition, Draft, Intent, Page, Record, Shape};
use crate::model::resource::{
    Complaint, Field, Gives, Resource, Scene, Special, Step, choice, code_of, created_on, decimal,
    email, flag, moment, money, printable, text, unique,
};
use crate::model::value::{self, Cell, MAX_AMOUNT, Value, decimal_text};
use crate::service::crud;
use crate::sql::Statement;
use crate::wire::document;
use crate::wire::request::{self, Body, Listing, Scope};

use super::coupons::valid_from_before_to;

pub(super) const VOUCHERS: Resource = Resource {
    kind: "vouchers",
    singular: "voucher",
    table: "shop_vouchers",
    key: "shop_voucher_id",
    list: &[
        printable("voucher_code", 255).derived(),
        VOUCHER_TYPE,
        email("email_to"),
        VOUCHER_VALUE,
        flag("enabled"),
        created_on(),
    ],
    detail: &[ORDER_ID, SUBJECT, VALID_FROM, VALID_TO],
    unique: &[unique(&["voucher_code"]).in_any_case()],
    turns: true,
    special: &[
        Special {
            method: Method::Post,
            path: "vouchers/{id:digits}/adjust",
            name: "adjust",
            action: Some("store.edit"),
            asset: None,
            takes: Some(|| &ADJUSTMENT),
            gives: Gives::One(|| &BALANCE),
            run: run_adjust,
        },
        Special {
            method: Method::Get,
            path: "vouchers/mine",
            name: "mine",
            // A valid token is enough: it shows what is its user's own.
            action: None,
            asset: None,
            takes: None,
            gives: Gives::Computed(|| &MINE, SHOWN),
            run: run_mine,
        },
    ],
    derive: Some(|draft, before, scene| Box::pin(derive(draft, before, scene))),
    check: |voucher| valid_from_before_to(voucher).into_iter().collect::<Vec<Complaint>>(),
    ..Resource::CRUD
};

/// A voucher with what is left of it.
const BALANCE: Resource = Resource {
    view: Some("vouchers.balance"),
    detail: &[ORDER_ID, SUBJECT, VALID_FROM, VALID_TO, REMAINING_BALANCE],
    special: &[],
    ..VOUCHERS
};

/// A voucher as the one it was given to sees it is worked out from these fields.
const MINE: Resource = Resource {
    view: Some("vouchers.mine"),
    list: &[VOUCHER_TYPE, VOUCHER_VALUE, REMAINING_BALANCE, VALID_FROM, VALID_TO],
    detail: &[],
    // No list field, for a list that is sorted by the code would tell what its mask covers.
    hidden: &[flag("enabled"), text("voucher_code", 255)],
    crud: false,
    special: &[],
    ..VOUCHERS
};

/// What is shown of it.
const SHOWN: &[Field] = &[
    text("masked_code", 255),
    VOUCHER_TYPE,
    VOUCHER_VALUE,
    money("remaining_balance"),
    VALID_FROM,
    VALID_TO,
    choice("status", &["active", "disabled", "not_yet_valid", "expired", "depleted"]),
];

/// What moves the balance of a voucher.
const ADJUSTMENT: Resource = Resource {
    kind: "vouchers",
    view: Some("vouchers.adjustment"),
    singular: "adjustment",
    list: &[
        choice("adjustment_type", &["credit", "debit", "correction"]).required(),
        decimal("amount", 5, -MAX_AMOUNT, MAX_AMOUNT).required(),
        text("reason", 255).required(),
        text("note", 65_535),
    ],
    check: amount_goes_with_type,
    ..Resource::CRUD
};

const VOUCHER_TYPE: Field = text("voucher_type", 64).default_text("giftcard");
const VOUCHER_VALUE: Field = money("voucher_value").required();
const ORDER_ID: Field = code_of("order_id", "orders", "order_id", 64);
const SUBJECT: Field = text("subject", 255);
const VALID_FROM: Field = moment("valid_from");
const VALID_TO: Field = moment("valid_to");
const REMAINING_BALANCE: Field = money("remaining_balance").computed(
    "t.voucher_value + (SELECT coalesce({sum l.amount}, 0) FROM shop_voucher_ledger l \
     WHERE l.voucher_id = t.shop_voucher_id)",
);

fn amount_goes_with_type(adjustment: &Record) -> Vec<Complaint> {
    let amount = adjustment.value("amount").int();
    let correction = adjustment.value("adjustment_type").text() == "correction";
    match (*adjustment.value("amount") == Value::Null, amount) {
        (true, _) => Vec::new(),
        (false, 0) => vec![("amount", "amount must not be zero.".to_owned())],
        (false, ..0) if !correction => {
            vec![("amount", "Only a correction may be negative.".to_owned())]
        }
        _ => Vec::new(),
    }
}

// Functions of their own, because the routes above are constants that the futures refer to.
fn run_adjust<'a>(call: &'a Call<'_>, _: &'static Resource) -> Step<'a, Response> {
    Box::pin(adjust(call))
}

fn run_mine<'a>(call: &'a Call<'_>, _: &'static Resource) -> Step<'a, Response> {
    Box::pin(mine(call))
}

/// Writes an entry of the ledger, and nothing else. The transaction takes the adjustments of one
/// voucher one after the other.
async fn adjust(call: &Call<'_>) -> Result<Response, Error> {
    request::no_listing(call.request.query())?;
    let id = request::id(call.request)?;
    let body = Body::read(call.request, &ADJUSTMENT, id)?;
    let key = crud::path_key(call, &VOUCHERS)?;
    let mut draft = Draft::read(&ADJUSTMENT, &body, Intent::Create);
    let mut transaction = call.app.store.begin().await?;
    let voucher = crud::locked(&mut transaction, &BALANCE, key).await?;
    let before = voucher.value("remaining_balance").int();
    let adjustment = draft.as_record();
    let amount = match adjustment.value("adjustment_type").text() {
        "debit" => -adjustment.value("amount").int(),
        _ => adjustment.value("amount").int(),
    };
    let after = before + amount;
    if after < 0 {
        let left = decimal_text(before, 5, 2);
        let detail = format!("The balance is {left} and cannot fall below zero.");
        draft.fault_at(FaultKind::Refused, "amount", detail);
    } else if after > MAX_AMOUNT {
        draft.fault_at(FaultKind::Refused, "amount", "The balance would be too large.");
    }
    crud::settle(&mut draft, &adjustment, &mut transaction).await?;
    let entry = Statement::fixed(
        "INSERT INTO shop_voucher_ledger (voucher_id, adjustment_type, amount, balance_before, \
         balance_after, reason, note, user_id, created_on) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        vec![
            Value::Int(key),
            adjustment.value("adjustment_type").clone(),
            Value::money(amount),
            Value::money(before),
            Value::money(after),
            adjustment.value("reason").clone(),
            adjustment.value("note").clone(),
            Value::Int(call.request.user().map_or(0, host_interface::User::id)),
            Value::now(),
        ],
    );
    transaction.execute(entry).await?;
    let cells = transaction.page(&Page::of_one(&BALANCE, key)).await?;
    transaction.commit().await?;
    crud::single(200, call, &BALANCE, &cells)
}

/// The vouchers that were sent to the caller's e-mail address.
async fn mine(call: &Call<'_>) -> Result<Response, Error> {
    let listing = Listing::read(call.request.query(), Scope::Nested(&MINE, &[]))?;
    let email = call.request.user().map_or("", host_interface::User::email);
    let own = match email {
        // Vouchers without an address are nobody's.
        "" => Condition::Key(0),
        email => Condition::Equals("email_to_fold", Value::Text(value::fold(email))),
    };
    let page = Page {
        resource: &MINE,
        shape: Shape::List,
        conditions: vec![own],
        order: listing.order,
        offset: listing.offset,
        limit: listing.limit,
    };
    let cells = call.app.store.page(&page).await?;
    let now = moment::now();
    let mut records = Vec::new();
    for row in cells.rows()? {
        let [key, kind, value, balance, from, to, enabled, code] = &row[..] else {
            return Err(Error::Contract("a voucher has other columns"));
        };
        let masked = Cell::Text(masked(code.text()).into());
        let [begins, ends] = [from, to].map(|moment| moment::parse(moment.text()));
        let status = status(enabled, balance, begins, ends, now);
        let status = Cell::Text(status.into());
        let shown = [&masked, kind, value, balance, from, to, &status].map(Clone::clone);
        records.push((key.int().to_string(), document::attributes(SHOWN, &shown)?));
    }
    let (total, path) = (cells.total(), call.request.path());
    let beside = serde_json::Map::new();
    let body = document::computed("vouchers", &records, total, &listing, path, &beside)?;
    Ok(crud::answer(200, body))
}

/// A code with all but its last four characters covered; one of four or fewer wholly.
fn masked(code: &str) -> String {
    let length = code.chars().count();
    let shown = if length > 4 { 4 } else { 0 };
    let covered = std::iter::repeat_n('*', length - shown);
    covered.chain(code.chars().skip(length - shown)).collect()
}

fn status(
    enabled: &Cell<'_>,
    balance: &Cell<'_>,
    from: Option<PrimitiveDateTime>,
    to: Option<PrimitiveDateTime>,
    now: PrimitiveDateTime,
) -> &'static str {
    if enabled.int() == 0 {
        "disabled"
    } else if from.is_some_and(|from| from > now) {
        "not_yet_valid"
    } else if to.is_some_and(|to| to < now) {
        "expired"
    } else if balance.int() == 0 {
        "depleted"
    } else {
        "active"
    }
}

/// Letters and digits that nobody takes for one another: 32, so that each is five random bits.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

async fn derive(
    draft: &mut Draft,
    before: Option<&Record>,
    scene: &mut Scene<'_>,
) -> Result<(), Error> {
    let blank = draft.given("voucher_code").is_none_or(Value::is_blank);
    match before {
        None if blank => draft.set("voucher_code", Value::Text(new_code()?)),
        Some(_) if draft.given("voucher_code").is_some_and(Value::is_blank) => {
            draft.refuse("voucher_code", "voucher_code must not be empty.");
        }
        _ => {}
    }
    let (Some(before), Some(value)) = (before, draft.given("voucher_value")) else {
        return Ok(());
    };
    let value = value.int();
    let left = crud::record(scene.transaction, &BALANCE, before.key()).await?;
    let moved = left.value("remaining_balance").int() - before.value("voucher_value").int();
    if value + moved < 0 {
        let spent = decimal_text(-moved, 5, 2);
        let detail = format!("voucher_value must be at least {spent}, the amount already spent.");
        draft.refuse("voucher_value", detail);
    } else if value + moved > MAX_AMOUNT {
        let most = decimal_text(MAX_AMOUNT - moved, 5, 2);
        let detail = format!(
            "voucher_value must be at most {most}: with the amounts credited, the balance would be \
             too large."
        );
        draft.refuse("voucher_value", detail);
    }
    Ok(())
}

/// Sixteen characters, eighty bits from the system's source, in groups of four.
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
