//! Names and addresses that an erasure keeps until a day, and what is removed then.

use host_interface::{Erasure, Person};
use plugin::error::Error;
use plugin::privacy::{self, Group};

use super::marked::{EMAIL, MARK, Marked, USER};

fn erasure() -> Erasure {
    Erasure::new(Person::of_email(EMAIL).user(USER), "asked by letter")
}

/// The columns that an invoice has.
const KEPT: [&str; 10] = [
    "billing_first_name",
    "billing_last_name",
    "billing_name",
    "shipping_first_name",
    "shipping_last_name",
    "shipping_company",
    "shipping_address_1",
    "shipping_address_2",
    "shipping_city",
    "shipping_zip",
];

#[tokio::test]
async fn names_and_addresses_of_orders_stay_until_the_day() {
    let marked = Marked::open().await;
    let shop = &marked.store.app.shop;
    let erased = privacy::erase(shop, &erasure().keep_until("2999-12-31")).await.unwrap();
    assert_eq!(erased.remaining.iter().collect::<Vec<_>>(), [(&"orders".to_owned(), &1)]);
    for column in marked.marks(MARK).await {
        let name = column.strip_prefix("shop_orders.").map(|name| name.trim_end_matches("_fold"));
        assert!(name.is_some_and(|name| KEPT.contains(&name)), "{column} is kept");
    }
    let copy = privacy::export(shop, &Person::of_email(EMAIL)).await.unwrap().text().await.unwrap();
    assert!(
        copy.contains("marker-billing-last-name"),
        "what is kept is still the person's: {copy}"
    );

    // Nothing is due yet.
    let due = async |dry_run| {
        let retained = privacy::retain(shop, dry_run).await.unwrap();
        retained.iter().find(|of| of.group == Group::Due).unwrap().records
    };
    assert_eq!(due(false).await, 0);
    marked.store.run("UPDATE shop_erasures SET due_on = '2020-01-01'").await;
    assert_eq!(due(true).await, 1);
    assert!(!marked.marks(MARK).await.is_empty(), "counting changes nothing");
    assert_eq!(due(false).await, 1);
    assert_eq!(marked.marks(MARK).await, [""; 0]);
    assert_eq!(marked.number("SELECT count(*) FROM shop_erasures").await, 0);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_erasure_without_a_day_removes_what_an_earlier_one_has_kept() {
    let marked = Marked::open().await;
    let shop = &marked.store.app.shop;
    privacy::erase(shop, &erasure().keep_until("2999-12-31")).await.unwrap();
    let again =
        privacy::erase(shop, &Erasure::new(Person::of_email(EMAIL), "again")).await.unwrap();
    assert_eq!(again.counts.get("orders"), Some(&1));
    assert_eq!(again.remaining.len(), 0);
    assert_eq!(marked.marks(MARK).await, [""; 0]);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_day_that_has_passed_or_is_none_is_refused() {
    let marked = Marked::open().await;
    for (day, detail) in [
        ("2020-01-01", "keep_until must be a day in the future."),
        ("tomorrow", "keep_until must be a day, YYYY-MM-DD."),
    ] {
        let refused = privacy::erase(&marked.store.app.shop, &erasure().keep_until(day)).await;
        let Err(Error::Faults(faults)) = refused else { panic!("{refused:?}") };
        assert_eq!(faults[0].detail, detail);
    }
}
