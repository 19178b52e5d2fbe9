//! Vouchers: gift cards. The balance of a voucher is its value plus the sum of its ledger, which is
//! append-only.

use host_interface::{Response, fact};

use super::coupons::{VALID_FROM, VALID_TO, valid_from_before_to};
use super::route::{get, post};
use super::vouchermovements::{ADJUSTMENT_TYPE, NOTE, REASON, VOUCHERMOVEMENTS};
use crate::error::{Error, FaultKind};
use crate::model::field::{
    Complaint, ENABLED, Field, Handle, Money, Units, choice, code_of, created_on, decimal, email,
    money, printable, text,
};
use crate::model::moment;
use crate::model::personal::Personal;
use crate::model::presentation::{Group, Presentation};
use crate::model::question::{Condition, Page, Shape};
use crate::model::record::Record;
use crate::model::resource::{Resource, unique};
use crate::model::value::{self, Cell, MAX_AMOUNT, Value, money_text};
use crate::service::call::{Call, VIEW, asset};
use crate::service::hooks::{Answer, Service, Special};
use crate::service::write::Write;
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
        email("email_to").personal(Personal::Contact),
        VOUCHER_VALUE.field,
        ENABLED.field,
        created_on(),
    ],
    detail: &[ORDER_ID, SUBJECT, VALID_FROM.field, VALID_TO.field],
    unique: &[unique(&["voucher_code"]).in_any_case()],
    lock_row: true,
    shown: Presentation {
        group: Some(Group::Sales),
        label: &["voucher_code"],
        columns: &[
            "voucher_code",
            "voucher_type",
            "email_to",
            "voucher_value",
            "enabled",
            "created_on",
        ],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    special: &[
        post(
            "vouchers/{id:digits}/adjust",
            "adjust",
            "Adjust the balance of a voucher",
            &ADJUSTMENT,
            Answer::One(&BALANCE),
            |call| Box::pin(adjust(call)),
        ),
        Special {
            // A valid token is enough, because the route shows only the user's own vouchers.
            action: None,
            ..get(
                "vouchers/mine",
                "mine",
                "List your own vouchers",
                Answer::Computed(&MINE, SHOWN),
                |call| Box::pin(mine(call)),
            )
        },
    ],
    derive: Some(|draft, before, write| Box::pin(derive(draft, before, write))),
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

const AMOUNT: Handle<Money> = decimal("amount", 5, -MAX_AMOUNT, MAX_AMOUNT).required().money();

const CODE: Handle<String> = printable("voucher_code", 255).derived().words();
const VOUCHER_TYPE: Field = text("voucher_type", 64).default_text("giftcard");
const VOUCHER_VALUE: Handle<Money> = money("voucher_value").required().money();
const ORDER_ID: Field = code_of("order_id", "orders", "order_id", 64);
const SUBJECT: Field = text("subject", 255).personal(Personal::FreeText);
const REMAINING_BALANCE: Handle<Money> = money("remaining_balance")
    .computed(
        "t.voucher_value + (SELECT coalesce({sum l.amount}, 0) FROM shop_voucher_ledger l \
         WHERE l.voucher_id = t.shop_voucher_id)",
    )
    .money();

fn amount_goes_with_type(adjustment: &Record) -> Result<Vec<Complaint>, Error> {
    let correction = adjustment.get(&ADJUSTMENT_TYPE)? == Some("correction");
    let complaint = match adjustment.get(&AMOUNT)? {
        Some(Units(0)) => Some("amount must not be zero."),
        Some(Units(..0)) if !correction => Some("Only a correction may be negative."),
        _ => None,
    };
    Ok(complaint.into_iter().map(|detail| (AMOUNT.name, detail.to_owned())).collect())
}

/// `POST /vouchers/<id>/adjust`
async fn adjust(call: &Call<'_>) -> Result<Response, Error> {
    let id = request::id(call.request)?;
    let mut draft = Draft::sent(call.request, &ADJUSTMENT, id, Intent::Create)?;
    let key = call.path_key(&VOUCHERS)?;
    let mut write = Write::begin(call).await?;
    // The lock serialises the adjustments of a voucher.
    let voucher = write.target(&BALANCE, key).await?;
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
        let left = money_text(before);
        let detail = format!("The balance is {left} and cannot fall below zero.");
        draft.fault_at(FaultKind::Refused, AMOUNT.name, detail);
    } else if after > MAX_AMOUNT {
        draft.fault_at(FaultKind::Refused, AMOUNT.name, "The balance would be too large.");
    }
    draft.complain(amount_goes_with_type(&adjustment)?);
    write.validate(&mut draft, &adjustment).await?;
    let text = |field: &Handle<String>| {
        let text = adjustment.need(field)?;
        Ok::<_, Error>(Value::Text(text.to_owned()))
    };
    let entry = [
        ("voucher_id", Value::Int(key)),
        (ADJUSTMENT_TYPE.name, text(&ADJUSTMENT_TYPE)?),
        ("amount", Value::money(amount)),
        ("balance_before", Value::money(before)),
        ("balance_after", Value::money(after)),
        (REASON.name, text(&REASON)?),
        (NOTE.name, text(&NOTE)?),
    ];
    write.append(&VOUCHERMOVEMENTS, [entry]).await?;
    // The ledger is part of the voucher.
    write.change(&VOUCHERS, key, &[]).await?;
    let answer = write.shown(&BALANCE, key).await?;
    write.commit(answer).await
}

/// The vouchers that were sent to the e-mail address of the calling user.
async fn mine(call: &Call<'_>) -> Result<Response, Error> {
    call.permit_token(VIEW, &asset(VOUCHERS.kind))?;
    let listing = Listing::read(call.request.query(), Scope::Nested(&MINE, &[]), SHOWN)?;
    let caller = call.request.caller();
    let email = caller.and_then(|caller| caller.fact(fact::USER_EMAIL)).unwrap_or_default();
    let own = match email {
        // Vouchers without an address belong to no user.
        "" => Condition::Equals(MINE.key, Value::Int(0)),
        email => Condition::Equals("email_to_fold", Value::Text(value::fold(email))),
    };
    let page =
        Page { shape: Shape::Record, most_bytes: call.limit, ..listing.page(&MINE, vec![own]) };
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
        records.push((voucher.key().to_string(), shown.into()));
    }
    let (total, place) = (cells.total(), (call.request.path(), call.limit));
    let beside = serde_json::Map::new();
    let body = document::computed(("vouchers", SHOWN), &records, total, &listing, place, &beside)?;
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
    write: &mut Write<'_>,
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
    let left = write.record(&BALANCE, before.key()).await?;
    let moved = left.need(&REMAINING_BALANCE)?.0 - before.need(&VOUCHER_VALUE)?.0;
    if value + moved < 0 {
        let spent = money_text(-moved);
        let detail = format!("voucher_value must be at least {spent}, the amount already spent.");
        draft.refuse(&VOUCHER_VALUE, detail);
    } else if value + moved > MAX_AMOUNT {
        let most = money_text(MAX_AMOUNT - moved);
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
