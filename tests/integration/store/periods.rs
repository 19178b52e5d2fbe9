//! The periods of the sales report, and the preceding range.

use std::collections::BTreeMap;

use plugin::model::moment;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use time::{Date, Duration};

use super::reports::{line, order, report, rows};
use crate::support::harness::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn weeks_months_and_years_follow_the_calendar_within_the_range() {
    let shop = Shop::open().await;
    // The last day of 2023 is a Sunday, and 2024 has a leap day.
    for day in ["2023-12-24", "2023-12-31", "2024-01-01", "2024-02-29", "2024-03-01"] {
        order(&shop, &format!("{day}T12:00:00"), json!({"order_subtotal": "1"})).await;
    }
    for (period, from, to, expected) in [
        (
            "week",
            "2023-12-23",
            "2024-01-09",
            vec![
                "2023-12-23 2023-12-24 1",
                "2023-12-25 2023-12-31 1",
                "2024-01-01 2024-01-07 1",
                "2024-01-08 2024-01-09 0",
            ],
        ),
        (
            "month",
            "2023-12-30",
            "2024-03-01",
            vec![
                "2023-12-30 2023-12-31 1",
                "2024-01-01 2024-01-31 1",
                "2024-02-01 2024-02-29 1",
                "2024-03-01 2024-03-01 1",
            ],
        ),
        (
            "year",
            "2023-12-31",
            "2025-01-01",
            vec!["2023-12-31 2023-12-31 1", "2024-01-01 2024-12-31 3", "2025-01-01 2025-01-01 0"],
        ),
        (
            "day",
            "2024-02-28",
            "2024-03-01",
            vec!["2024-02-28 2024-02-28 0", "2024-02-29 2024-02-29 1", "2024-03-01 2024-03-01 1"],
        ),
        // 2026 has 53 weeks: its last one ends in 2027.
        (
            "week",
            "2026-12-27",
            "2027-01-04",
            vec!["2026-12-27 2026-12-27 0", "2026-12-28 2027-01-03 0", "2027-01-04 2027-01-04 0"],
        ),
    ] {
        let range = format!("filter[date_from]={from}&filter[date_to]={to}");
        let sales = report(&shop, &format!("sales?{range}&filter[period]={period}")).await;
        let shown = rows(&sales, &["period_start", "period_end", "orders"]);
        assert_eq!(shown, expected, "{period} from {from} to {to}");
    }
}

/// Programs without an end in mind ask for the last day of the calendar.
#[tokio::test(flavor = "multi_thread")]
async fn a_range_up_to_the_last_day_of_the_calendar_counts_each_order_once() {
    let shop = Shop::open().await;
    for day in ["2024-03-05", "2025-06-01"] {
        order(&shop, &format!("{day}T12:00:00"), json!({"order_subtotal": "10"})).await;
    }
    let range = "filter[date_from]=2024-01-15&filter[date_to]=9999-12-31";
    let sales = report(&shop, &format!("sales?{range}&filter[period]=year&page[limit]=3")).await;
    let shown = rows(&sales, &["period_start", "orders", "gross_sales"]);
    assert_eq!(shown, ["2024-01-15 1 10.00", "2025-01-01 1 10.00", "2026-01-01 0 0.00"]);
    let totals = &sales.json()["meta"]["totals"][0];
    assert_eq!(line(totals, &["orders", "gross_sales"]), "2 20.00");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_previous_range_is_as_long_and_ends_where_the_range_begins() {
    let shop = Shop::open().await;
    for (day, subtotal) in [("02-19", "1"), ("02-20", "2"), ("02-29", "4"), ("03-01", "8")] {
        let created_on = format!("2024-{day}T10:00:00");
        order(&shop, &created_on, json!({"order_subtotal": subtotal})).await;
    }
    let dollars = json!({"order_subtotal": "16", "currency_code": "USD"});
    order(&shop, "2024-02-25T10:00:00", dollars).await;
    let path = "sales?filter[date_from]=2024-03-01&filter[date_to]=2024-03-10";
    let meta = report(&shop, path).await.json()["meta"].clone();
    let lines = |name: &str| {
        let totals = meta[name].as_array().unwrap().iter();
        totals
            .map(|sums| line(sums, &["currency_code", "orders", "gross_sales"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(lines("totals"), ["EUR 1 8.00"]);
    assert_eq!(lines("previous"), ["EUR 2 6.00", "USD 1 16.00"]);
}

/// Sums of a report by currency: orders, items and amounts.
type Sums = BTreeMap<String, [Decimal; 7]>;

/// Adds the sums of a row, or of an element of `totals`.
fn add(sums: &mut Sums, of: &Value) {
    let currency = of["currency_code"].as_str().unwrap().to_owned();
    let all = sums.entry(currency).or_default();
    const NAMES: [&str; 7] =
        ["orders", "items_sold", "gross_sales", "discounts", "refunds", "shipping", "tax"];
    for (sum, name) in all.iter_mut().zip(NAMES) {
        let more = line(of, &[name]);
        *sum += more.parse::<Decimal>().unwrap();
    }
}

/// The sums without those of currencies in which nothing was sold.
fn sold(sums: Sums) -> Sums {
    sums.into_iter().filter(|(_, [orders, ..])| !orders.is_zero()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_of_months_and_years_are_those_of_their_days() {
    let shop = Shop::open().await;
    let ends = "2023-12-31 2024-01-01 2024-01-02 2024-01-31 2024-02-01 2024-02-28 2024-02-29 \
                2024-03-01 2024-04-15 2024-12-31 2025-01-01 2025-02-28";
    let ends: Vec<Date> = ends.split(' ').map(|day| moment::day(day).unwrap()).collect();
    let mut of_days: BTreeMap<Date, Sums> = BTreeMap::new();
    for (number, day) in ends.iter().enumerate() {
        // A day beside each of them, too.
        for day in [*day, *day - Duration::days(2)] {
            let currency = ["EUR", "USD", "JPY"][number % 3];
            let order = json!({
                "user_email": "ada@example.com", "order_state_id": 1, "currency_code": currency,
                "created_on": format!("{day}T23:59:59"), "order_tax": "0.07",
                "order_discount": "1.5", "order_shipping": "4.90",
                "items": [{"orderitem_price": "19.99", "orderitem_quantity": number + 1}],
            });
            let answer = shop.post("/orders", order).send().await.expect(201).json();
            let order = &answer["data"]["attributes"];
            let row = json!({
                "currency_code": currency, "orders": 1, "items_sold": number + 1,
                "gross_sales": order["order_subtotal"], "discounts": order["order_discount"],
                "refunds": order["order_refund"], "shipping": order["order_shipping"],
                "tax": order["order_tax"],
            });
            add(of_days.entry(day).or_default(), &row);
        }
    }
    let within = |from: Date, to: Date| {
        let mut sums = Sums::new();
        for (currency, more) in of_days.range(from..=to).flat_map(|(_, of_day)| of_day) {
            let all = sums.entry(currency.clone()).or_default();
            all.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        sums
    };
    for (place, from) in ends.iter().copied().enumerate() {
        for to in ends[place..].iter().copied() {
            for period in ["month", "year"] {
                let about = format!("{period} from {from} to {to}");
                let range = format!("filter[date_from]={from}&filter[date_to]={to}");
                let path = format!("sales?{range}&filter[period]={period}&page[limit]=100");
                let sales = report(&shop, &path).await.json();
                let mut periods: BTreeMap<String, Sums> = BTreeMap::new();
                for row in sales["data"].as_array().unwrap() {
                    let ends = line(&row["attributes"], &["period_start", "period_end"]);
                    add(periods.entry(ends).or_default(), &row["attributes"]);
                }
                for (ends, shown) in periods {
                    let (from, to) = ends.split_once(' ').unwrap();
                    let day = |text| moment::day(text).unwrap();
                    assert_eq!(sold(shown), within(day(from), day(to)), "{about}: {ends}");
                }
                let length = to - from + Duration::days(1);
                let before = within(from - length, from - Duration::days(1));
                for (name, expected) in [("totals", within(from, to)), ("previous", before)] {
                    let mut shown = Sums::new();
                    let of = sales["meta"][name].as_array().unwrap();
                    of.iter().for_each(|of| add(&mut shown, of));
                    assert_eq!(sold(shown), expected, "{about}: {name}");
                }
            }
        }
    }
}
