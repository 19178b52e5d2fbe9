//! What a column holds that cannot be what was written there is an internal error, which names the column:
//! nothing is read as 0 or as empty text instead.

use host_interface::Method;
use plugin::error::{Error, chain};
use serde_json::json;

use crate::support::bare::Bare;

/// Puts a view in place of a table, in which one of its columns is NULL.
async fn unset(bare: &Bare, table: &str, columns: &[&str], column: &str) {
    let columns = columns.iter().map(|name| {
        if *name == column {
            format!("nullif({name}, {name}) AS {name}")
        } else {
            (*name).to_owned()
        }
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    bare.run(format!("ALTER TABLE {table} RENAME TO {table}_kept")).await;
    bare.run(format!("CREATE VIEW {table} AS SELECT {columns} FROM {table}_kept")).await;
}

#[tokio::test]
async fn a_sum_that_is_unset_is_an_error_and_never_a_zero() {
    let bare = Bare::open().await;
    let order = json!({
        "user_email": "ada@example.com", "order_state_id": 1,
        "items": [{"orderitem_price": "5", "orderitem_quantity": 2}],
    });
    assert_eq!(bare.ask(Method::Post, "/orders", order).await.status(), 201);
    let product = json!({"product_name": "Lamp", "price": "5", "quantity": 3});
    assert_eq!(bare.ask(Method::Post, "/products", product).await.status(), 201);
    let ask = async |path| bare.ask(Method::Get, path, json!(null)).await.status();
    assert_eq!([ask("/reports/sales").await, ask("/reports/inventory").await], [200; 2]);
    bare.app.panel("sales").await.unwrap();

    let sales = [
        "day",
        "currency_code",
        "order_state_id",
        "orders",
        "items",
        "subtotal_1",
        "subtotal_0",
        "discount_1",
        "discount_0",
        "refund_1",
        "refund_0",
        "shipping_1",
        "shipping_0",
        "tax_1",
        "tax_0",
    ];
    unset(&bare, "shop_sales_by_day", &sales, "subtotal_0").await;
    let stock = ["status", "quantity", "products", "units", "value_2", "value_1", "value_0"];
    unset(&bare, "shop_stock", &stock, "value_0").await;
    assert_eq!([ask("/reports/sales").await, ask("/reports/inventory").await], [500; 2]);
    let error = bare.app.panel("sales").await.unwrap_err();
    assert!(matches!(error, Error::Column { .. }), "{error:?}");
    assert_eq!(chain(&error), "the column subtotal_0 holds NULL, but must hold a number");
}
