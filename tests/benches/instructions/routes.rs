//! The requests whose instructions are counted. A new row is added here and in `table.md`.

use serde_json::{Value, json};

/// A request that is repeated.
pub struct Route {
    /// The name of its row.
    pub name: &'static str,
    /// What is sent, and how the nth repetition differs from the others.
    pub request: Request,
}

/// The path is below that of the store.
pub enum Request {
    Get(fn(u64) -> String),
    Send(&'static str, fn(u64) -> (String, Value)),
}

/// All of them, in the order of the table. Reads come first, so that they find the store as it was made.
pub const ALL: [Route; 12] = [
    read("products", |_| "/products".into()),
    read("products at half", |_| "/products?page[offset]=1000".into()),
    read("search of products", |_| "/products?filter[search]=wren".into()),
    read("one product", |nth| format!("/products/{}", 7 + nth)),
    read("orders", |_| "/orders".into()),
    read("orders of a status", |_| "/orders?filter[status]=6".into()),
    read("orders, latest first", |_| {
        "/orders?list[ordering]=created_on&list[direction]=desc".into()
    }),
    read("items of an order", |nth| format!("/orders/{}/items", 7 + nth)),
    read("sales report", |_| "/reports/sales".into()),
    send("PATCH of a product", "PATCH", |nth| {
        (format!("/products/{}", 20 + nth), json!({ "price": format!("{}.25", 10 + nth) }))
    }),
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
];

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
