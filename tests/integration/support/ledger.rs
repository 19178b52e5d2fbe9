//! A client of a running host that records its orders, and computes the resulting reports with
//! another library.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Value, json};
use time::{Date, Duration, Month};

use crate::support::harness::{Answer, MEDIA_TYPE, ROOT};
use crate::support::process::Served;

/// The statuses whose orders reports count.
pub const COUNTED: [i64; 4] = [1, 2, 7, 8];

/// Currencies with their rates and decimals.
pub const CURRENCIES: [(&str, &str, u32); 3] =
    [("EUR", "1", 2), ("JPY", "163.07", 0), ("USD", "1.0843", 2)];

/// The expected state of an order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    pub key: i64,
    pub created_on: String,
    pub currency: &'static str,
    pub state: i64,
    pub user: i64,
    pub email: String,
    pub name: String,
    pub subtotal: Decimal,
    pub discount: Decimal,
    pub refund: Decimal,
    pub shipping: Decimal,
    pub tax: Decimal,
    pub total: Decimal,
    /// Product, quantity and final price of each line.
    pub lines: Vec<(i64, i64, Decimal)>,
}

/// A client that distinguishes errors from a missing answer.
#[derive(Clone)]
pub struct Client {
    pub http: reqwest::Client,
    pub base: String,
    pub token: String,
}

impl Client {
    /// A client of this host.
    pub fn of(host: &Served, token: &str) -> Client {
        let http =
            reqwest::Client::builder().timeout(std::time::Duration::from_secs(40)).build().unwrap();
        Client { http, base: host.url(""), token: token.to_owned() }
    }

    /// The status and the document; `None` if the host is gone.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Option<(u16, Value)> {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        let text = answer.bytes().await.ok()?;
        Some((status, serde_json::from_slice(&text).unwrap_or(Value::Null)))
    }

    /// The same for a POST with an `Idempotency-Key`, and whether the answer is a repetition.
    pub async fn ask_under(
        &self,
        key: &str,
        path: &str,
        body: &Value,
    ) -> Option<(u16, Value, bool)> {
        let request = self.request("POST", path).header("idempotency-key", key).json(body);
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        let replayed = answer.headers().contains_key("idempotent-replayed");
        let text = answer.bytes().await.ok()?;
        Some((status, serde_json::from_slice(&text).unwrap_or(Value::Null), replayed))
    }

    /// The status and the document of one of many requests about the same record; see [`Answer::in_turn`].
    pub async fn in_turn(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let answer = Answer::in_turn(self.request(method, path).json(body)).await;
        (answer.status, answer.json())
    }

    fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method: reqwest::Method = method.parse().unwrap();
        let request = self.http.request(method, format!("{}{ROOT}{path}", self.base));
        request.header("accept", MEDIA_TYPE).bearer_auth(&self.token)
    }

    /// Fails the test unless the answer has this status.
    pub async fn expect(
        &self,
        status: u16,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Value {
        let (found, document) = self.ask(method, path, body.clone()).await.unwrap();
        assert_eq!(found, status, "{method} {path} {body:?}: {document}");
        document
    }

    pub async fn create(&self, path: &str, body: Value) -> i64 {
        key(&self.expect(201, "POST", path, Some(body)).await)
    }

    /// All rows of a list, page by page.
    pub async fn all(&self, path: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        let joint = if path.contains('?') { '&' } else { '?' };
        loop {
            let page = format!("{path}{joint}page[limit]=100&page[offset]={}", rows.len());
            let document = self.expect(200, "GET", &page, None).await;
            rows.extend(document["data"].as_array().unwrap().iter().cloned());
            if rows.len() as i64 >= document["meta"]["total"].as_i64().unwrap() {
                return rows;
            }
        }
    }
}

pub fn key(document: &Value) -> i64 {
    document["data"]["id"].as_str().unwrap().parse().unwrap()
}

pub fn decimal(text: &Value) -> Decimal {
    text.as_str().unwrap_or_else(|| panic!("{text} is no amount")).parse().unwrap()
}

/// A day in the weeks around the turn of a year that precedes a leap day.
pub fn some_day(rng: &mut fastrand::Rng) -> Date {
    Date::from_calendar_date(2023, Month::December, 1).unwrap() + Duration::days(rng.i64(0..100))
}

/// The body of an order of these products, with their prices in the default currency, and the
/// expected order.
pub fn new_order(rng: &mut fastrand::Rng, prices: &[Decimal]) -> (Value, Order) {
    let (currency, rate, decimals) = CURRENCIES[rng.usize(..CURRENCIES.len())];
    let rounding = RoundingStrategy::MidpointAwayFromZero;
    let mut cents = |most: i64| Decimal::new(rng.i64(0..most), 2);
    let (discount, shipping) = (cents(500), cents(900));
    let mut order = Order {
        created_on: format!("{}T{:02}:00:00", some_day(rng), rng.u8(..24)),
        currency,
        state: rng.i64(1..=8),
        user: 0,
        email: format!("guest{}@example.com", rng.u8(..9)),
        name: format!("Guest {}", rng.u8(..3)),
        discount,
        shipping,
        ..Order::default()
    };
    let mut items = Vec::new();
    for _ in 0..rng.usize(1..5) {
        let product = rng.usize(..prices.len());
        let (quantity, tax) = (rng.i64(1..40), Decimal::new(rng.i64(0..2_000), 2));
        let exact = Decimal::from(quantity) * prices[product] * rate.parse::<Decimal>().unwrap();
        let finalprice = exact.round_dp_with_strategy(decimals, rounding);
        order.subtotal += finalprice;
        order.tax += tax;
        order.lines.push((product as i64 + 1, quantity, finalprice));
        items.push(json!({
            "product_id": product + 1, "orderitem_quantity": quantity,
            "orderitem_tax": tax.to_string(),
        }));
    }
    order.total = (order.subtotal + order.tax + order.shipping - order.discount).max(Decimal::ZERO);
    let (first, last) = order.name.split_once(' ').unwrap();
    let body = json!({
        "user_email": order.email, "billing_first_name": first, "billing_last_name": last,
        "created_on": order.created_on, "order_state_id": order.state,
        "currency_code": currency, "currency_value": rate,
        "order_discount": discount.to_string(), "order_shipping": shipping.to_string(),
        "items": items,
    });
    (body, order)
}

/// The first and last day of the period that contains a day.
pub fn period(day: Date, unit: &str) -> (Date, Date) {
    let first_of_month = |date: Date| date.replace_day(1).unwrap();
    match unit {
        "day" => (day, day),
        "week" => {
            let (year, week, _) = day.to_iso_week_date();
            let monday = Date::from_iso_week_date(year, week, time::Weekday::Monday).unwrap();
            (monday, monday + Duration::days(6))
        }
        "month" => {
            let first = first_of_month(day);
            (first, first_of_month(first + Duration::days(31)) - Duration::days(1))
        }
        _ => {
            let year = |year, month, day| Date::from_calendar_date(year, month, day).unwrap();
            (year(day.year(), Month::January, 1), year(day.year(), Month::December, 31))
        }
    }
}

pub fn day_of(order: &Order) -> Date {
    let format = time::macros::format_description!("[year]-[month]-[day]");
    Date::parse(&order.created_on[..10], format).unwrap()
}

/// A quotient in the format of reports.
pub fn average(sum: Decimal, count: i64, currency: &str) -> Decimal {
    let decimals = CURRENCIES.iter().find(|known| known.0 == currency).unwrap().2;
    let rounding = RoundingStrategy::MidpointAwayFromZero;
    (sum / Decimal::from(count.max(1))).round_dp_with_strategy(decimals, rounding)
}

/// Compares all reports about a range with the recorded orders.
pub async fn check_reports(client: &Client, orders: &[Order], from: Date, to: Date) {
    let counted: Vec<&Order> =
        orders.iter().filter(|order| COUNTED.contains(&order.state)).collect();
    let within: Vec<&Order> =
        counted.iter().copied().filter(|order| (from..=to).contains(&day_of(order))).collect();
    let range = format!("filter[date_from]={from}&filter[date_to]={to}");
    for unit in ["day", "week", "month", "year"] {
        check_sales(client, &within, from, to, unit).await;
    }
    let length = to - from + Duration::days(1);
    let document = client.expect(200, "GET", &format!("/reports/sales?{range}"), None).await;
    for previous in document["meta"]["previous"].as_array().unwrap() {
        let before = counted.iter().filter(|order| {
            (from - length..from).contains(&day_of(order))
                && previous["currency_code"] == order.currency
        });
        let gross: Decimal = before.map(|order| order.subtotal).sum();
        assert_eq!(decimal(&previous["gross_sales"]), gross, "before {from}");
    }

    let mut products: BTreeMap<(i64, &str), (i64, BTreeSet<i64>, Decimal)> = BTreeMap::new();
    let mut customers: BTreeMap<(&str, &str), (i64, Decimal, &str, &str)> = BTreeMap::new();
    for order in &within {
        for (product, quantity, finalprice) in &order.lines {
            let sold = products.entry((*product, order.currency)).or_default();
            sold.0 += quantity;
            sold.1.insert(order.key);
            sold.2 += finalprice;
        }
        let created_on = order.created_on.as_str();
        let spent = customers.entry((&order.email, order.currency)).or_insert((
            0,
            Decimal::ZERO,
            created_on,
            created_on,
        ));
        spent.0 += 1;
        spent.1 += order.total;
        spent.2 = spent.2.min(created_on);
        spent.3 = spent.3.max(created_on);
    }
    let rows = client.all(&format!("/reports/products?{range}")).await;
    assert_eq!(rows.len(), products.len());
    for row in rows.iter().map(|row| &row["attributes"]) {
        let currency = row["currency_code"].as_str().unwrap();
        let (quantity, orders, revenue) =
            &products[&(row["product_id"].as_i64().unwrap(), currency)];
        assert_eq!(row["quantity_sold"], *quantity);
        assert_eq!(row["orders"], orders.len());
        assert_eq!(decimal(&row["revenue"]), *revenue);
        assert_eq!(decimal(&row["average_price"]), average(*revenue, *quantity, currency));
    }
    let revenues: Vec<Decimal> =
        rows.iter().map(|row| decimal(&row["attributes"]["revenue"])).collect();
    assert!(revenues.is_sorted_by(|a, b| a >= b), "the best revenue first");

    let rows = client.all(&format!("/reports/customers?{range}")).await;
    assert_eq!(rows.len(), customers.len());
    for row in rows.iter().map(|row| &row["attributes"]) {
        let currency = row["currency_code"].as_str().unwrap();
        let (orders, spent, first, last) = customers[&(row["email"].as_str().unwrap(), currency)];
        assert_eq!(row["orders"], orders);
        assert_eq!(decimal(&row["total_spent"]), spent);
        assert_eq!(decimal(&row["average_order_value"]), average(spent, orders, currency));
        assert_eq!((&row["first_order_on"], &row["last_order_on"]), (&json!(first), &json!(last)));
    }
}

pub async fn check_sales(client: &Client, within: &[&Order], from: Date, to: Date, unit: &str) {
    let mut currencies: BTreeSet<&str> = within.iter().map(|order| order.currency).collect();
    if currencies.is_empty() {
        currencies.insert("EUR");
    }
    let mut expected = Vec::new();
    let mut day = from;
    while day <= to {
        let (first, last) = period(day, unit);
        for currency in &currencies {
            let of_period = within.iter().filter(|order| {
                order.currency == *currency && (first..=last).contains(&day_of(order))
            });
            let of_period: Vec<&&Order> = of_period.collect();
            let sum = |amount: fn(&Order) -> Decimal| {
                of_period.iter().map(|order| amount(order)).sum::<Decimal>()
            };
            let gross = sum(|order| order.subtotal);
            let net = gross - sum(|order| order.discount) - sum(|order| order.refund);
            let items = of_period.iter().flat_map(|order| &order.lines).map(|line| line.1);
            let count = of_period.len() as i64;
            expected.push((
                (first.max(from).to_string(), last.min(to).to_string(), (*currency).to_owned()),
                (count, items.sum::<i64>()),
                [
                    gross,
                    sum(|order| order.discount),
                    sum(|order| order.refund),
                    sum(|order| order.shipping),
                    sum(|order| order.tax),
                    net,
                    average(net, count, currency),
                ],
            ));
        }
        day = last + Duration::days(1);
    }
    let path = format!(
        "/reports/sales?filter[date_from]={from}&filter[date_to]={to}&filter[period]={unit}"
    );
    let rows = client.all(&path).await;
    let shown = rows.iter().map(|row| {
        let row = &row["attributes"];
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let names = [
            "gross_sales",
            "discounts",
            "refunds",
            "shipping",
            "tax",
            "net_sales",
            "average_order_value",
        ];
        (
            (text("period_start"), text("period_end"), text("currency_code")),
            (row["orders"].as_i64().unwrap(), row["items_sold"].as_i64().unwrap()),
            names.map(|name| decimal(&row[name])),
        )
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected, "{path}");
}
