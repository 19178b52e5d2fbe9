//! The same store on different engines: every request gets the same bytes from each.

use serde_json::json;

use crate::support::databases::Engine;
use crate::support::harness::{Setup, Shop};
use crate::support::tables;

/// Names that engines would order or fold differently, or consider equal.
const NAMES: [&str; 34] = [
    "Äpfel",
    "ÄPFEL",
    "äpfel",
    "Apfel",
    "apfel",
    "Zebra",
    "zebra",
    "Straße",
    "STRASSE",
    "strasse",
    "İstanbul",
    "ıstanbul",
    "istanbul",
    "ΣΊΣΥΦΟΣ",
    "σίσυφος",
    "Ωmega",
    "Ωmega",
    "中文",
    "日本語",
    "😀 emoji",
    "\u{10fffd}",
    "Ａ wide",
    "ﬁsh",
    "fish",
    "Cafe\u{301}",
    "Café",
    "100% off",
    "100 off",
    "a_b",
    "axb",
    r"back\slash",
    "quote\"d 'twice'",
    "two  spaces",
    "ŁÓDŹ",
];

/// The search texts.
const NEEDLES: [&str; 22] = [
    "äpfel",
    "Ä",
    "strasse",
    "ß",
    "istanbul",
    "İ",
    "ı",
    "σίσυφοσ",
    "ς",
    "ω",
    "中",
    "日本",
    "😀",
    "\u{10ffff}",
    "ａ",
    "ﬁ",
    "café",
    "%",
    "_",
    "\\",
    "'",
    "  s",
];

/// A demo store with additional records that are hard to distinguish.
async fn shop(engine: Engine) -> Shop {
    let shop = Shop::with(Setup { engine, ..Setup::default() }).await;
    shop.fill().await;
    for (number, name) in NAMES.iter().enumerate() {
        shop.create("/manufacturers", json!({"manufacturer_name": name, "ordering": number % 3}))
            .await;
        let category = json!({"title": name, "alias": format!("n-{number}"), "parent_id": 1});
        shop.create("/categories", category).await;
        let product = json!({
            "product_name": name, "sku": format!("{name} {number}"), "price": "0.12345",
            "quantity": number,
        });
        shop.create("/products", product).await;
        let method = json!({
            "name": name, "element": format!("payment_{number}"),
            "params": {"z": 1.50, "a": [name, null, {"deep": true}]},
        });
        shop.create("/paymentmethods", method).await;
        let coupon = json!({
            "coupon_name": name, "coupon_code": format!("{number}{name}").replace(' ', "-"),
            "value": "99999999.99999", "valid_from": "2026-02-28T23:59:59",
        });
        shop.create("/coupons", coupon).await;
        let customer = json!({
            "first_name": name, "last_name": NAMES[NAMES.len() - 1 - number],
            "email": format!("n{number}@example.com"), "country_id": 1 + number % 4,
        });
        shop.create("/customers", customer).await;
        let order = json!({
            "order_id": format!("{number} {name}"), "user_email": format!("n{number}@example.com"),
            "billing_first_name": name, "customer_note": name, "order_state_id": 1 + number % 5,
            "created_on": format!("2026-01-{:02}T00:00:00", 1 + number % 28),
            "items": [{"orderitem_name": name, "orderitem_price": "0.1", "orderitem_quantity": "3"}],
        });
        shop.create("/orders", order).await;
        let voucher = json!({
            "voucher_code": format!("V{number}{name}").replace(' ', "-"), "voucher_value": "0.00001",
            "subject": name,
        });
        shop.create("/vouchers", voucher).await;
    }
    let debit = json!({"adjustment_type": "debit", "amount": "0.00001", "reason": "ß"});
    shop.post("/vouchers/1/adjust", debit).send().await.expect(200);
    shop
}

/// Requests for all lists, in every order, searched, filtered and paged.
fn lists(shop: &Shop) -> Vec<String> {
    let mut paths = Vec::new();
    for row in tables::fields() {
        let list = shop.list_of(row.kind);
        paths.push(list.clone());
        for name in &row.list {
            for direction in ["asc", "desc"] {
                let ordering = format!("list[ordering]={name}&list[direction]={direction}");
                paths.push(format!("{list}?page[limit]=100&{ordering}"));
                paths.push(format!("{list}?page[limit]=7&page[offset]=21&{ordering}"));
            }
        }
    }
    for (kind, filters) in tables::filters() {
        if !filters.contains(&"search") {
            continue;
        }
        for needle in NEEDLES {
            let needle: String = needle.bytes().map(|byte| format!("%{byte:02X}")).collect();
            paths.push(format!("/{kind}?filter[search]={needle}&page[limit]=100"));
        }
    }
    for query in [
        "products?filter[category]=3&list[ordering]=product_name",
        "products?filter[manufacturer]=2&filter[enabled]=1&list[ordering]=price",
        "products?filter[product_type]=variable&list[ordering]=sku&list[direction]=desc",
        "products?filter[sku]=zebra%205",
        "products?filter[sku]=ZEBRA%206",
        "products?filter[visibility]=0",
        "orders?filter[status]=5&list[ordering]=order_total",
        "orders?filter[customer_id]=0&page[limit]=3",
        "orders?filter[date_from]=2026-01-03&filter[date_to]=2026-01-05",
        "orders?filter[payment_type]=payment_invoice&filter[status]=1",
        "customers?filter[country]=2&list[ordering]=last_name",
        "coupons?filter[enabled]=0",
        "products?sort=-sku&include=variants,manufacturer,category.parent,taxprofile",
        "products?filter[search]=a&fields[products]=upc,sku,category&include=category",
        "orders?page[limit]=50&include=items,history.orderstatus,orderstatus",
        "orders?fields[orders]=order_state,invoice_number,items&sort=orderstatus_name",
        "orders/1?include=items.order,history&fields[orderitems]=orderitem_attributes,order_id",
        "customers?sort=country_name&include=zone.country,country&fields[zones]=zone_name",
        "orders/1/items?include=order.history&fields[orderitems]=product_id",
        "vouchers/mine",
        "config",
        "reports/sales?filter[date_from]=2026-01-01&filter[date_to]=2026-03-31",
        "reports/sales?filter[period]=week",
        "reports/sales?filter[period]=month&page[limit]=100",
        "reports/products?filter[date_from]=2025-06-01&page[limit]=100",
        "reports/products?filter[date_from]=2026-01-01&filter[date_to]=2026-01-31&page[limit]=100",
        "reports/customers?filter[date_from]=2026-01-01&filter[date_to]=2026-01-31&page[limit]=100",
        "reports/inventory?page[limit]=100",
    ] {
        paths.push(format!("/{query}"));
    }
    paths
}

/// An answer without the parts that differ between two shops and moments: the address, the id of
/// the request, and the moments since the test began.
async fn answer(shop: &Shop, path: &str, begun: &str) -> String {
    let answer = shop.get(path).send().await;
    let id = answer.header("x-request-id").to_owned();
    let text = String::from_utf8(answer.body).unwrap();
    let text = text.replace(&shop.url(""), "").replace(&id, "");
    let mut said = format!("{}\n", answer.status);
    for part in text.split_inclusive('"') {
        let moment = part.strip_suffix("\"").filter(|part| part.len() == begun.len());
        let is_new = moment.is_some_and(|text| text >= begun && text < "9999");
        said.push_str(if is_new { "now\"" } else { part });
    }
    said
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "compares SQLite with a server")]
async fn every_engine_returns_the_same_bytes() {
    let begun = plugin::model::moment::render(plugin::model::moment::now());
    let embedded = shop(Engine::Sqlite).await;
    let server = shop(Engine::of_this_run()).await;
    for path in lists(&embedded) {
        let expected = answer(&embedded, &path, &begun).await;
        assert!(expected.starts_with("200\n"), "{path}: {expected}");
        assert_eq!(answer(&server, &path, &begun).await, expected, "{path}");
    }
    for row in tables::fields() {
        let list = format!("{}?page[limit]=100", embedded.list_of(row.kind));
        let list = embedded.get(&list).send().await;
        for id in list.expect(200).ids() {
            let path = format!("/{}/{id}", row.kind);
            let expected = answer(&embedded, &path, &begun).await;
            assert_eq!(answer(&server, &path, &begun).await, expected, "{path}");
        }
    }
    // Refusals have the same text.
    for path in [
        "/reports/sales?filter[period]=fortnight",
        "/products?filter[unheard_of]=1",
        "/products?list[ordering]=nothing",
        "/products?include=nothing&fields[products]=nothing&sort=nothing",
        "/products/999999999",
    ] {
        let expected = answer(&embedded, path, &begun).await;
        assert!(expected.starts_with('4'), "{path}: {expected}");
        assert_eq!(answer(&server, path, &begun).await, expected, "{path}");
    }
    for (path, body) in [
        ("/products", json!({"product_name": "x", "sku": "ÄPFEL 2"})),
        ("/products", json!({"product_name": "x", "sku": "x", "category_id": 999_999})),
        ("/products", json!({"product_name": "x", "price": "1.000001", "quantity": "much"})),
        ("/coupons", json!({"coupon_name": "x", "coupon_code": "0äPFEL", "value": 1})),
        ("/zones", json!({"zone_name": "x", "zone_code": "x", "country_id": 0})),
        (
            "/vouchers/1/adjust",
            json!({"adjustment_type": "debit", "amount": "1000000", "reason": "ß"}),
        ),
    ] {
        let expected = embedded.post(path, body.clone()).send().await;
        let refused = server.post(path, body).send().await;
        assert_eq!(expected.status, 422, "{path}");
        assert_eq!(refused.errors(), expected.errors(), "{path}");
    }
    for path in ["/countries/1", "/orderstatuses/1", "/categories/1"] {
        let expected = embedded.delete(path).send().await.expect(422);
        let refused = server.delete(path).send().await;
        assert_eq!(refused.json()["errors"], expected.json()["errors"], "{path}");
    }
}
