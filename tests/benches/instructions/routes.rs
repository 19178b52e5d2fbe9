//! The requests whose instructions are counted. A new row is added here and in `table.md`.

use std::sync::OnceLock;

use serde_json::{Value, json};
use time::UtcDateTime;

use super::counted::Host;

/// A request that is repeated.
pub struct Route {
    /// The name of its row.
    pub name: &'static str,
    /// What is sent, and how the nth repetition differs from the others.
    pub request: Request,
}

/// A request to the API, whose path is below that of the store, or to the administration.
pub enum Request {
    Get(fn(u64) -> String),
    Send(&'static str, fn(u64) -> (String, Value)),
    /// A page.
    Open(fn(u64) -> String),
    /// A page with a form, and the form with another text in this field.
    Save(&'static str, &'static str),
}

/// What a catalogue may show of a product.
const NAMED: &str =
    "fields[products]=product_name,sku,price,quantity,enabled,visibility,main_image,created_on";

/// The requests that find the store as it was made, in the order of the table.
pub const READS: [Route; 17] = [
    read("products", |_| "/products".into()),
    read("products at half", |_| "/products?page[offset]=1000".into()),
    read("search of products", |_| "/products?filter[search]=wren".into()),
    read("one product", |nth| format!("/products/{}", 7 + nth)),
    read("one product, its fields named", |nth| format!("/products/{}?{NAMED}", 7 + nth)),
    read("products with their manufacturers", |_| "/products?include=manufacturer".into()),
    read("a product of six variants", |nth| format!("/products/{}", of_six(nth))),
    read("its variants", |nth| format!("/products/{}/variants", of_six(nth))),
    read("inventory report", |_| "/reports/inventory".into()),
    read("orders", |_| "/orders".into()),
    read("orders of a status", |_| "/orders?filter[status]=6".into()),
    read("orders, latest first", |_| {
        "/orders?list[ordering]=created_on&list[direction]=desc".into()
    }),
    read("one order", |nth| format!("/orders/{}", 7 + nth)),
    read("an order of 40 lines and 10 refunds", |_| format!("/orders/{OF_FORTY}")),
    read("items of an order", |nth| format!("/orders/{}/items", 7 + nth)),
    read("sales report", |_| "/reports/sales".into()),
    read("sales of twelve months", |_| twelve_months()),
];

/// Those that change a store, and pages of the administration.
pub const WRITES: [Route; 9] = [
    send("PATCH of a product", "PATCH", |nth| a_price(20 + nth)),
    send("POST of a product", "POST", |nth| {
        let sku = format!("COUNTED-{nth}");
        ("/products".into(), json!({ "product_name": "Counted", "sku": sku, "price": "12.50" }))
    }),
    send("POST of an order of two", "POST", |nth| {
        let items = json!([
            { "product_id": 30 + nth, "orderitem_quantity": 2 },
            { "product_id": 40 + nth },
        ]);
        let body = json!({
            "user_email": "ada@example.com", "billing_first_name": "Ada", "items": items,
        });
        ("/orders".into(), body)
    }),
    send("POST of a refund of two lines", "POST", |_| {
        let [lamps, bulbs] = LINES.get().copied().unwrap_or_default();
        let items = [lamps, bulbs].map(|item| json!({"orderitem_id": item, "quantity": 1}));
        (format!("/orders/{OF_TWO}/refunds"), json!({ "reason": "Counted", "items": items }))
    }),
    // Those that are ordered next.
    send("stock of a variant to order", "POST", |nth| {
        let body = json!({"variant_id": a_variant(nth), "quantity_delta": 5, "reason": "Counted"});
        (format!("/inventory/{}/adjust", of_six(nth)), body)
    }),
    send("POST of an order of two variants", "POST", |nth| {
        let lines =
            [nth, nth / 2].map(|nth| json!({"variant_id": a_variant(nth), "take_stock": 1}));
        let body = json!({
            "user_email": "ada@example.com", "billing_first_name": "Ada", "items": lines,
        });
        ("/orders".into(), body)
    }),
    Route {
        name: "page: orders",
        request: Request::Open(|_| "/records/webservices-shop/orders".into()),
    },
    Route {
        name: "page: one order",
        request: Request::Open(|nth| format!("/records/webservices-shop/orders/{}", 7 + nth)),
    },
    Route {
        name: "page: a manufacturer, edited and saved",
        request: Request::Save(
            "/records/webservices-shop/manufacturers/1/edit",
            "/manufacturer_name",
        ),
    },
];

/// Those that follow them with ten webhooks, whose messages another host sends.
pub const BESIDE_WEBHOOKS: [Route; 1] =
    [send("PATCH of a product, beside ten webhooks", "PATCH", |nth| a_price(1_020 + nth))];

/// Makes these webhooks.
pub async fn subscribe(host: &mut Host) {
    let body = json!({ "url": "https://erp.invalid/hooks", "enabled": 1 });
    for _ in 0..10 {
        host.ask("POST", "/webhooks", Some(&body)).await;
    }
    host.give_away("send_webhooks").await;
}

/// The sales of the latest twelve whole months.
fn twelve_months() -> String {
    let this = UtcDateTime::now().date().replace_day(1).unwrap();
    let (from, to) = (this.replace_year(this.year() - 1).unwrap(), this.previous_day().unwrap());
    format!("/reports/sales?filter[date_from]={from}&filter[date_to]={to}&filter[period]=month")
}

/// Another price for a product, of which nothing else has changed since the store was made.
fn a_price(product: u64) -> (String, Value) {
    (format!("/products/{product}"), json!({ "price": format!("{product}.25") }))
}

/// The orders that are made after those of the demo store: one of 40 lines, and one of two with many pieces.
const OF_FORTY: i64 = 4_001;
const OF_TWO: i64 = 4_002;
/// The items of the latter.
static LINES: OnceLock<[i64; 2]> = OnceLock::new();

/// Makes these orders, and the refunds of the first.
pub async fn prepare(host: &Host) {
    let made = async |path: &str, body: Value| host.ask("POST", path, Some(&body)).await;
    let order = |lines: i64, pieces: i64| {
        let line = |number: i64| json!({"product_id": 30 + number, "orderitem_quantity": pieces});
        json!({"user_email": "ada@example.com", "items": (0..lines).map(line).collect::<Vec<_>>()})
    };
    for (key, lines, pieces) in [(OF_FORTY, 40, 20), (OF_TWO, 2, 10_000)] {
        let order = made("/orders", order(lines, pieces)).await;
        assert_eq!(order["data"]["id"], key.to_string());
    }
    let items = async |order: i64| {
        let path = format!("/orders/{order}/items?page[limit]=100");
        let items = host.ask("GET", &path, None).await;
        let keys =
            items["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap());
        keys.map(|key| key.parse().unwrap()).collect::<Vec<i64>>()
    };
    let lines = items(OF_FORTY).await;
    for nth in 0..10 {
        let lines = [lines[nth], lines[nth + 10]];
        let lines = lines.map(|item| json!({"orderitem_id": item, "quantity": 2}));
        let body = json!({ "reason": "Counted", "items": lines });
        made(&format!("/orders/{OF_FORTY}/refunds"), body).await;
    }
    let [lamps, bulbs] = items(OF_TWO).await[..] else { panic!("the order has two items") };
    assert_eq!(*LINES.get_or_init(|| [lamps, bulbs]), [lamps, bulbs], "all stores are made alike");
}

/// How many products of the store have six variants.
const OF_SIX: u64 = 200;

/// The key of the nth product with six variants.
const fn of_six(nth: u64) -> u64 {
    nth % OF_SIX * 10 + 7
}

/// The key of its first variant: 500 products with their masters precede the variants of 50 of them.
const fn a_variant(nth: u64) -> u64 {
    let nth = nth % OF_SIX;
    nth / 50 * 800 + 501 + nth % 50 * 6
}

const fn read(name: &'static str, path: fn(u64) -> String) -> Route {
    Route { name, request: Request::Get(path) }
}

const fn send(
    name: &'static str,
    method: &'static str,
    request: fn(u64) -> (String, Value),
) -> Route {
    Route { name, request: Request::Send(method, request) }
}
