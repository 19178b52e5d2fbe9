//! Vouchers: gift cards. What is left of one is its value and the sum of its ledger, which is only
//! ever added to.

use crate::error::Error;
use crate::plan::{Draft, Record};
use crate::resource::{
    Complaint, Resource, Scene, code_of, created_on, email, flag, moment, money, printable, text,
    unique,
};
use crate::sql::Statement;
use crate::value::{Value, decimal_text};

use super::coupons::valid_from_before_to;

pub(super) const VOUCHERS: Resource = Resource {
    kind: "vouchers",
    singular: "voucher",
    table: "shop_vouchers",
    key: "shop_voucher_id",
    list: &[
        printable("voucher_code", 255).derived(),
        text("voucher_type", 64).default_text("giftcard"),
        email("email_to"),
        money("voucher_value").required(),
        flag("enabled"),
        created_on(),
    ],
    detail: &[
        code_of("order_id", "orders", "order_id", 64),
        text("subject", 255),
        moment("valid_from"),
        moment("valid_to"),
    ],
    unique: &[unique(&["voucher_code"]).in_any_case()],
    derive: Some(|draft, before, scene| Box::pin(derive(draft, before, scene))),
    check: |voucher| valid_from_before_to(voucher).into_iter().collect::<Vec<Complaint>>(),
    ..Resource::CRUD
};

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
    let statement = Statement::fixed(
        "SELECT coalesce(sum(amount), 0) FROM shop_voucher_ledger WHERE voucher_id = ?",
        vec![Value::Int(before.key())],
    );
    let moved = scene.transaction.numbers(statement).await?.first().copied().unwrap_or(0);
    if value + moved < 0 {
        let spent = decimal_text(-moved, 5, 2);
        let detail = format!("voucher_value must be at least {spent}, which has been spent.");
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
