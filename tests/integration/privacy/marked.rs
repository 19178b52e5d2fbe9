//! A store with a person who has written a mark into every text that anybody can fill in, and with another person.

use host_interface::{HostHandle, Method};
use plugin::model::value::Kind;
use plugin::privacy::PLACES;
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use serde_json::{Value, json};

use crate::support::bare::{Bare, Directory, JsonHeaders, KeyedHeaders};
use crate::support::databases::Engine;

/// The address of the person, which is a mark too.
pub const EMAIL: &str = "Marker-email@Person.example";
/// What each text of the person begins with, in any case.
pub const MARK: &str = "marker-";
/// The key of their user.
pub const USER: i64 = 41;

/// A store with both persons.
pub struct Marked {
    pub store: Bare,
}

impl Marked {
    /// A store on a host that has the person as a user.
    pub async fn open() -> Marked {
        let host = Directory { email: EMAIL, ..Directory::default() };
        let store = Bare::of(Engine::of_this_run(), HostHandle::new(host)).await;
        let marked = Marked { store };
        marked.fill().await;
        marked
    }

    pub async fn ask(&self, method: Method, path: &str, body: Value) -> Value {
        let answer = self.store.ask(method, path, body.clone()).await;
        let text = String::from_utf8_lossy(answer.body()).into_owned();
        assert!(answer.status() < 300, "{method} {path} {body}: {text}");
        if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() }
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.ask(Method::Post, path, body).await
    }

    async fn fill(&self) {
        self.post("/products", json!({"product_name": "Lamp", "sku": "L-1", "quantity": 50})).await;
        self.order(EMAIL, USER, MARK).await;
        self.order("bob@other.example", 0, "other-").await;
        self.address(EMAIL, USER, MARK).await;
        self.address("bob@other.example", 0, "other-").await;
        self.voucher(1, EMAIL, MARK).await;
        self.voucher(2, "bob@other.example", "other-").await;
        self.fault(EMAIL).await;
        self.fault("bob@other.example").await;
        // The subject of mails has no text of a person unless the site makes its template so.
        let subject =
            "UPDATE shop_mails SET subject = 'marker-subject' WHERE recipient LIKE 'Marker%'";
        self.store.run(subject).await;
        // A write under a key, whose answer is kept.
        let note = json!({"customer_note": text(MARK, "kept answer")});
        let answer = self.store.ask_with(
            Method::Patch,
            "/orders/1",
            note,
            KeyedHeaders("marker-key".to_owned()),
        );
        assert_eq!(answer.await.status(), 200);
        let note = json!({"customer_note": text(MARK, "customer_note")});
        self.ask(Method::Patch, "/orders/1", note).await;
        let other = json!({"customer_note": "other-kept"});
        let other = self.store.ask_with(
            Method::Patch,
            "/orders/2",
            other,
            KeyedHeaders("other".to_owned()),
        );
        assert_eq!(other.await.status(), 200);
    }

    /// An order that is shipped and paid back in part.
    pub async fn order(&self, email: &str, user: i64, mark: &str) -> i64 {
        let given = |name: &str| text(mark, name);
        let mut order = json!({
            "user_email": email, "user_id": user, "is_shippable": 1, "shipping_country_id": 15,
            "order_shipping": "5.00",
            "items": [
                {"product_id": 1, "orderitem_quantity": 2, "orderitem_price": "10.00",
                    "orderitem_attributes": {"engraving": given("orderitem_attributes")}},
            ],
        });
        for name in [
            "billing_first_name",
            "billing_last_name",
            "transaction_id",
            "customer_note",
            "shipping_first_name",
            "shipping_last_name",
            "shipping_company",
            "shipping_phone_1",
            "shipping_phone_2",
            "shipping_address_1",
            "shipping_address_2",
            "shipping_city",
            "shipping_zip",
            "shipping_tax_number",
        ] {
            order[name] = json!(given(name));
        }
        let made = self.post("/orders", order).await;
        let key: i64 = made["data"]["id"].as_str().unwrap().parse().unwrap();
        let shipment = json!({
            "tracking_id": given("tracking_id"),
            "tracking_url": format!("https://parcels.example/{}", given("tracking_url")),
            "carrier": "Post",
        });
        self.post(&format!("/orders/{key}/shipments"), shipment).await;
        let refund = json!({
            "reason": given("refund_reason"), "transaction_id": given("refund_transaction"),
            "comment": given("refund_comment"), "amount": "1.00",
        });
        self.post(&format!("/orders/{key}/refunds"), refund).await;
        let entry = json!({"order_state_id": 8, "comment": given("comment"), "notify_customer": 1});
        self.post(&format!("/orders/{key}/history"), entry).await;
        key
    }

    async fn address(&self, email: &str, user: i64, mark: &str) {
        let mut address = json!({"user_id": user, "email": email, "country_id": 15});
        for name in [
            "first_name",
            "last_name",
            "city",
            "phone_1",
            "company",
            "address_1",
            "address_2",
            "zip",
            "phone_2",
            "tax_number",
        ] {
            address[name] = json!(text(mark, name));
        }
        self.post("/customers", address).await;
    }

    async fn voucher(&self, key: i64, email: &str, mark: &str) {
        let voucher =
            json!({"email_to": email, "voucher_value": "20.00", "subject": text(mark, "subject")});
        self.post("/vouchers", voucher).await;
        let adjustment = json!({
            "adjustment_type": "debit", "amount": "2.00", "reason": text(mark, "reason"),
            "note": text(mark, "note"),
        });
        self.post(&format!("/vouchers/{key}/adjust"), adjustment).await;
    }

    /// What was wrong with a line about this person.
    async fn fault(&self, email: &str) {
        let run = async |text: String| {
            self.store.app.shop.store.execute(Statement { text, binds: Vec::new() }).await.unwrap();
        };
        let now = "'2026-01-31 10:00:00'";
        if self.number("SELECT count(*) FROM shop_imports").await == 0 {
            run(format!(
                "INSERT INTO shop_imports (record_type, mode, key_field, state, created_on, seen_on) \
                 VALUES ('customers', 'create', 'email', 'done', {now}, {now})"
            ))
            .await;
        }
        run(format!(
            "INSERT INTO shop_import_faults (import_id, record_type, line, record_key, errors) VALUES \
             (1, 'customers', 1, '{email}', \
             '[{{\"status\": 422, \"code\": \"invalid_value\", \"title\": \"\", \"detail\": \"{email} is no address.\"}}]')"
        ))
        .await;
    }

    pub async fn number(&self, text: &str) -> i64 {
        let mut reading = self.store.app.shop.store.begin_read().await.unwrap();
        let statement = Statement { text: text.to_owned(), binds: Vec::new() };
        reading.number(statement).await.unwrap()
    }

    /// All texts of all tables in which a mark occurs, as `table.column`.
    pub async fn marks(&self, mark: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (table, column) in columns(&self.store).await {
            let text = format!(
                "SELECT count(*) FROM {table} WHERE lower(concat({column}, '')) LIKE '%{mark}%'"
            );
            if self.number(&text).await > 0 {
                found.push(format!("{table}.{column}"));
            }
        }
        found
    }

    /// Every column that the map marks and that a person can fill in has a mark: otherwise an erasure would pass
    /// without having to do anything there.
    pub async fn is_complete(&self) {
        let found = self.marks(MARK).await;
        for place in PLACES {
            let resource = place.resource(REGISTRY).unwrap();
            let marked = resource.fields().filter(|field| field.personal.is_some());
            for field in marked.filter(|field| !matches!(field.kind, Kind::User)) {
                let column = format!("{}.{}", resource.table, field.name);
                // The body of a stored answer is compressed, and its location is that of a new record.
                let is_packed = resource.table == "shop_keys" && field.name != "idempotency_key";
                assert!(is_packed || found.contains(&column), "{column} has no mark: {found:?}");
            }
        }
    }
}

/// A text with a mark.
fn text(mark: &str, name: &str) -> String {
    format!("{mark}{}", name.replace(['_', ' '], "-"))
}

/// All columns of the store's tables.
pub async fn columns(store: &Bare) -> Vec<(String, String)> {
    typed_columns(store).await.into_iter().map(|[table, column, _]| (table, column)).collect()
}

/// The same with their types.
pub async fn typed_columns(store: &Bare) -> Vec<[String; 3]> {
    let mut reading = store.app.shop.store.begin_read().await.unwrap();
    let all = reading.dialect().columns;
    let mut columns: [Vec<String>; 3] = Default::default();
    for (place, texts) in columns.iter_mut().enumerate() {
        let text = format!("SELECT c{place} FROM ({all}) AS columns_of");
        *texts = reading.texts(Statement { text, binds: Vec::new() }).await.unwrap();
    }
    let [tables, names, types] = columns;
    let rows = tables.into_iter().zip(names).zip(types);
    rows.map(|((table, name), form)| [table, name, form]).collect()
}

/// The status of an answer and its document.
pub async fn answer(store: &Bare, method: Method, path: &str, body: Value) -> (u16, Value) {
    let answer = store.ask_with(method, path, body, JsonHeaders).await;
    (answer.status(), serde_json::from_slice(answer.body()).unwrap_or_default())
}
