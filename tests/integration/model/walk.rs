//! A walk: one random request after another, each answer of which is compared with the model.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::LazyLock;

use fastrand::Rng;
use host_interface::{HostHandle, Method};
use plugin::model::field::Access;
use plugin::model::resource::Resource;
use plugin::resources::REGISTRY;
use regex_lite::Regex;
use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use super::draft::Draft;
use super::memory::{Records, name};
use super::query::Query;
use super::samples;
use crate::support::bare::{Bare, Directory};
use crate::support::databases::Engine;
use crate::support::mirror::Mirror;

/// Types that are written more often than the others.
const BUSY: [&str; 5] = ["products", "products", "orders", "orders", "inventory"];
/// Refusals by a rule between values, which no descriptor has: the code, or a part of the detail.
const RULES: [&str; 23] = [
    "An order has at",
    "The variants of a product name the same options",
    "quantity must be a number",
    "cannot be disabled",
    "cannot be changed",
    "A price that follows the product",
    "would be too large",
    "is the sum of those of its variants",
    "Only one variant of a product can be the default",
    "stock_is_with_variants",
    "variant_required",
    "insufficient_stock",
    "refused",
    "must not be before",
    "must be at most 100",
    "must not exceed the price",
    "cannot be its own descendant",
    "must be one of -2, 0, 1, 2",
    "must be an enabled order status",
    "must be at least",
    "take_stock needs a product",
    "There is no stock record",
    "must not be empty",
];

/// What a step does. Everything else about it follows from the number of the step.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    Create,
    Change,
    Delete,
    List,
    AddVariant,
    Adjust,
    AdjustVoucher,
    ChangeStatus,
    Ship,
}

impl Deed {
    /// Some deed, rather a frequent one.
    pub fn random(rng: &mut Rng) -> Deed {
        match rng.u8(..25) {
            0..8 => Deed::Create,
            8..12 => Deed::Change,
            12 => Deed::Delete,
            13..19 => Deed::List,
            19 => Deed::AddVariant,
            20 | 21 => Deed::Adjust,
            22 => Deed::AdjustVoucher,
            23 => Deed::ChangeStatus,
            _ => Deed::Ship,
        }
    }
}

/// A step: what it does, and the number from which its random values follow.
pub type Step = (Deed, u64);

/// A walk through a store.
pub struct Walk {
    store: Bare,
    records: Records,
    /// All requests and answers, but for moments of now.
    pub transcript: String,
    /// How many requests were sent, and how many writes were done and refused.
    pub sent: usize,
    pub done: usize,
    pub refused: usize,
}

/// An answer.
struct Reply {
    status: u16,
    document: Value,
}

impl Walk {
    pub async fn begin() -> Walk {
        let store = Bare::of(Engine::of_this_run(), HostHandle::new(Directory::default())).await;
        let mut mirror = Mirror::of_all(1_000);
        mirror.catch_up(&store).await;
        let records = Records::new(mirror);
        Walk { store, records, transcript: String::new(), sent: 0, done: 0, refused: 0 }
    }

    pub async fn step(&mut self, (deed, number): Step) {
        let rng = &mut Rng::with_seed(number);
        match deed {
            Deed::Create => self.create(rng).await,
            Deed::Change => self.change(rng).await,
            Deed::Delete => self.delete(rng).await,
            Deed::List => self.list(rng).await,
            Deed::AddVariant => self.add_variant(rng).await,
            Deed::Adjust => self.adjust(rng).await,
            Deed::AdjustVoucher => self.adjust_voucher(rng).await,
            Deed::ChangeStatus => self.change_status(rng).await,
            Deed::Ship => self.ship(rng).await,
        };
    }

    /// Reads every record that was made or changed, and compares it with the model.
    pub async fn compare_all(&mut self) {
        let touched = std::mem::take(&mut self.records.touched);
        for (kind, id) in touched {
            let resource = REGISTRY.find(&kind).unwrap();
            let path = match resource.below {
                Some((parent, segment)) => format!("/{parent}/{id}/{segment}"),
                None => format!("/{kind}/{id}"),
            };
            let reply = self.ask(Method::Get, &path, Value::Null).await;
            let key = id.parse().unwrap();
            let Some(known) = self.records.get(&kind, key) else {
                assert_eq!(reply.status, 404, "{path} is gone: {}", reply.document);
                continue;
            };
            let read = &reply.document["data"];
            assert_eq!(read["attributes"], json!(self.records.attributes(resource, key)), "{path}");
            assert_eq!(read["meta"], known["meta"], "{path}");
            self.check_sums(&kind, key);
        }
    }

    /// What holds of every record of these types.
    fn check_sums(&self, kind: &str, key: i64) {
        let value = |field: &str| self.records.value(kind, key, field);
        match kind {
            "products" => {
                let variants = self.variants_of(key);
                let of = |variant: i64, field: &str| self.records.value("variants", variant, field);
                let sum: i64 =
                    variants.iter().filter_map(|variant| of(*variant, "quantity").as_i64()).sum();
                assert!(variants.is_empty() || value("quantity") == sum, "{key} has the sum {sum}");
                let mut prices: Vec<Decimal> = Vec::new();
                for variant in &variants {
                    prices.push(of(*variant, "price").as_str().unwrap().parse().unwrap());
                }
                let meta = &self.records.get(kind, key).unwrap()["meta"];
                let end =
                    |name: &str| meta[name].as_str().map(|end| end.parse::<Decimal>().unwrap());
                assert_eq!(end("price_from"), prices.iter().min().copied(), "prices of {key}");
                assert_eq!(end("price_to"), prices.iter().max().copied(), "prices of {key}");
                let mut all = self.records.keys("variants").into_iter();
                let master = all.find(|variant| {
                    of(*variant, "product_id") == key && of(*variant, "is_master") == 1
                });
                for field in ["sku", "price", "upc"] {
                    assert_eq!(
                        of(master.unwrap(), field),
                        value(field),
                        "{field} of product {key}"
                    );
                }
            }
            "categories" => {
                let parent = value("parent_id").as_i64().unwrap();
                let above = self.records.value(kind, parent, "path");
                let path = match above.as_str() {
                    Some(above) => format!("{above}/{}", value("alias").as_str().unwrap()),
                    None => value("alias").as_str().unwrap().to_owned(),
                };
                assert_eq!(value("path"), path);
                assert_eq!(value("level"), path.split('/').count());
            }
            _ => {}
        }
    }

    async fn create(&mut self, rng: &mut Rng) {
        let Some(resource) = some_type(rng) else { return };
        let Some(draft) = Draft::of_a_new(resource, &self.records, rng) else { return };
        let body = draft.body(rng);
        let reply = self.ask(Method::Post, &format!("/{}", resource.kind), body).await;
        self.created(resource, &draft, &reply).await;
    }

    /// Compares the answer to a new record with its body.
    async fn created(&mut self, resource: &'static Resource, draft: &Draft, reply: &Reply) {
        // A stock record has the key of its product.
        let key = draft.sent.get(resource.key).and_then(Value::as_i64);
        let mut values = draft.values();
        for field in resource.fields().filter(|field| draft.given(field.name).is_none()) {
            values.extend(samples::default(field).map(|value| (field.name.to_owned(), value)));
        }
        let doubled = self.records.is_duplicate(resource, key, &values);
        let dangles = self.records.dangles(resource, None, |field| draft.given(field).cloned());
        if reply.status != 201 {
            let stocked = resource.kind == "inventory";
            let parts = draft.sent.contains_key("variants") || resource.kind == "variants";
            return self.was_refused(reply, dangles, doubled || stocked || parts).await;
        }
        assert!(!dangles && !doubled, "{}", reply.document);
        let data = &reply.document["data"];
        let key = data["id"].as_str().unwrap().parse().unwrap();
        self.records.hidden.insert(name(resource.kind, key), draft.hidden());
        self.follow(resource, key, data).await;
        let given = draft.shown();
        for field in resource.list.iter().chain(resource.detail) {
            let shown = &data["attributes"][field.name];
            if let Some(given) = given.get(field.name) {
                assert_eq!(shown, given, "{} of {data}", field.name);
            } else if !draft.sent.contains_key(field.name)
                && field.access == Access::Open
                && resource.kind != "inventory"
                && let Some(default) = samples::default(field)
                && !(field.name == "quantity" && draft.sent.contains_key("variants"))
                && field.name != "has_options"
            {
                assert_eq!(*shown, default, "{} of {data}", field.name);
            }
        }
    }

    async fn change(&mut self, rng: &mut Rng) {
        let types =
            REGISTRY.followed().filter(|resource| resource.crud || resource.kind == "variants");
        let Some(resource) = rng.choice(types.collect::<Vec<_>>()) else { return };
        let Some(key) = self.records.any(resource.kind, rng) else { return };
        let Some(draft) = Draft::of_a_change(resource, key, &self.records, rng) else { return };
        let before = self.records.attributes(resource, key);
        let version = self
            .records
            .get(resource.kind, key)
            .map(|known| known["meta"]["version"].as_i64().unwrap());
        let body = draft.body(rng);
        let reply = self.ask(Method::Patch, &format!("/{}/{key}", resource.kind), body).await;
        let mut after = before.clone();
        after.extend(draft.values());
        let doubled = self.records.is_duplicate(resource, Some(key), &after);
        let dangles =
            self.records.dangles(resource, Some(key), |field| draft.given(field).cloned());
        if reply.status != 200 {
            let ruled = ["variants", "categories"].contains(&resource.kind);
            return self.was_refused(&reply, dangles, doubled || ruled).await;
        }
        assert!(!dangles && !doubled, "{}", reply.document);
        let data = &reply.document["data"];
        let hidden = self.records.hidden.entry(name(resource.kind, key)).or_default();
        hidden.extend(draft.hidden());
        self.follow(resource, key, data).await;
        let shown = data["attributes"].as_object().unwrap();
        for (field, value) in &draft.shown() {
            assert_eq!(shown[field], *value, "{field} of {data}");
        }
        let same = |of: &Map<String, Value>| {
            let mut of = of.clone();
            of.remove("modified_on");
            of
        };
        let rose = data["meta"]["version"].as_i64() > version;
        if same(shown) != same(&before) {
            assert!(rose, "a change raises the version: {data}");
        } else if draft.hidden().is_empty() {
            assert!(!rose, "no change leaves the version: {data}");
        }
    }

    async fn delete(&mut self, rng: &mut Rng) {
        let types = REGISTRY.followed().filter(|resource| resource.crud || resource.editable);
        let Some(resource) = rng.choice(types.collect::<Vec<_>>()) else { return };
        let Some(key) = self.records.any(resource.kind, rng) else { return };
        // The stock record alone goes, and the row remains.
        let bound = resource.kind != "inventory" && self.records.is_referred_to(resource.kind, key);
        let reply =
            self.ask(Method::Delete, &format!("/{}/{key}", resource.kind), Value::Null).await;
        if reply.status == 422 {
            let code = &reply.document["errors"][0]["code"];
            assert!(code == "refused" || code == "referenced" && bound, "{}", reply.document);
            return self.nothing_changed().await;
        }
        assert_eq!(reply.status, 204, "{}", reply.document);
        assert!(!bound, "{} {key} is referred to", resource.kind);
        self.catch_up().await;
        self.records.hidden.remove(&name(resource.kind, key));
        assert!(self.records.get(resource.kind, key).is_none(), "{} {key} is gone", resource.kind);
        for part in REGISTRY.iter().filter(|part| part.is_followed()) {
            let owners = part.fields().filter(|field| {
                field.owned && field.kind == plugin::model::value::Kind::Key(resource.kind)
            });
            for owner in owners {
                let left: Vec<i64> = self.records.keys(part.kind);
                let left = left
                    .into_iter()
                    .find(|of| self.records.value(part.kind, *of, owner.name) == key);
                assert_eq!(
                    left, None,
                    "a part of {} {key} is left of {}",
                    resource.kind, part.kind
                );
            }
        }
    }

    async fn list(&mut self, rng: &mut Rng) {
        let Some(query) = Query::random(&self.records, rng) else { return };
        let reply = self.ask(Method::Get, &query.path, Value::Null).await;
        assert_eq!(reply.status, 200, "{}: {}", query.path, reply.document);
        let (data, total, included) = query.answer(&self.records);
        let read = reply.document["data"].as_array().unwrap().iter();
        let read: Vec<Value> = read
            .map(|of| json!({"id": of["id"], "attributes": of["attributes"], "version": of["meta"]["version"]}))
            .collect();
        assert_eq!(read, data, "{}", query.path);
        assert_eq!(reply.document["meta"]["total"], total, "{}", query.path);
        let beside = reply.document["included"].as_array().into_iter().flatten();
        let beside: BTreeSet<_> = beside
            .map(|of| {
                let (kind, id) = (of["type"].as_str().unwrap(), of["id"].as_str().unwrap());
                let resource = REGISTRY.find(kind).unwrap();
                let key = id.parse().unwrap();
                if !query.path.contains(&format!("fields[{kind}]")) {
                    assert_eq!(
                        of["attributes"],
                        json!(self.records.attributes(resource, key)),
                        "{}",
                        query.path
                    );
                }
                name(kind, key)
            })
            .collect();
        assert_eq!(beside, included, "{}", query.path);
    }

    async fn add_variant(&mut self, rng: &mut Rng) {
        let Some(product) = self.records.any("products", rng) else { return };
        let known = self
            .variants_of(product)
            .first()
            .map(|variant| self.records.value("variants", *variant, "options"));
        let names: Vec<String> = match known {
            Some(options) => options.as_object().unwrap().keys().cloned().collect(),
            None => vec!["Size".to_owned()],
        };
        let Some(draft) = Draft::of_a_variant(&names, &self.records, rng) else { return };
        let body = draft.body(rng);
        let reply = self.ask(Method::Post, &format!("/products/{product}/variants"), body).await;
        self.created(REGISTRY.find("variants").unwrap(), &draft, &reply).await;
    }

    async fn adjust(&mut self, rng: &mut Rng) {
        let Some(product) = self.records.any("products", rng) else { return };
        let variants = self.variants_of(product);
        let variant = rng.choice(&variants).copied().filter(|_| rng.u8(..8) > 0);
        let delta = rng.i64(1..30) * if rng.bool() { 1 } else { -1 };
        let body = json!({"quantity_delta": delta, "reason": "counted", "variant_id": variant});
        let before = match variant {
            Some(variant) => self.records.value("variants", variant, "quantity"),
            None => self.records.value("products", product, "quantity"),
        };
        let whole = self.records.value("products", product, "quantity").as_i64().unwrap();
        let reply = self.ask(Method::Post, &format!("/inventory/{product}/adjust"), body).await;
        if self.records.get("inventory", product).is_none() {
            assert_eq!(reply.status, 404, "{}", reply.document);
        } else if variant.is_none() && !variants.is_empty() {
            assert_eq!(
                reply.document["errors"][0]["code"], "variant_required",
                "{}",
                reply.document
            );
        } else if before.as_i64().unwrap() + delta < 0 {
            assert_eq!(
                reply.document["errors"][0]["code"], "insufficient_stock",
                "{}",
                reply.document
            );
        } else {
            assert_eq!(reply.status, 200, "{}", reply.document);
            assert_eq!(reply.document["data"]["attributes"]["quantity"], whole + delta);
            let resource = REGISTRY.find("inventory").unwrap();
            return self.follow(resource, product, &reply.document["data"]).await;
        }
        self.nothing_changed().await;
    }

    async fn adjust_voucher(&mut self, rng: &mut Rng) {
        let Some(voucher) = self.records.any("vouchers", rng) else { return };
        let adjustment = rng.choice(["credit", "debit", "correction"]);
        let body = json!({"adjustment_type": adjustment, "amount": format!("{}.5", rng.u8(..30)), "reason": "x"});
        let reply = self.ask(Method::Post, &format!("/vouchers/{voucher}/adjust"), body).await;
        match reply.status {
            200 | 201 => self.catch_up().await,
            _ => self.was_refused(&reply, false, false).await,
        }
    }

    async fn change_status(&mut self, rng: &mut Rng) {
        let (order, status) =
            (self.records.any("orders", rng), self.records.any("orderstatuses", rng));
        let (Some(order), Some(status)) = (order, status) else { return };
        let body = json!({"order_state_id": status, "comment": samples::word(rng)});
        let reply = self.ask(Method::Post, &format!("/orders/{order}/history"), body).await;
        if reply.status != 201 {
            return self.was_refused(&reply, false, false).await;
        }
        let entry = &reply.document["data"];
        let key = entry["id"].as_str().unwrap().parse().unwrap();
        self.follow(REGISTRY.find("orderhistories").unwrap(), key, entry).await;
        assert_eq!(self.records.value("orders", order, "order_state_id"), status);
    }

    async fn ship(&mut self, rng: &mut Rng) {
        let Some(order) = self.records.any("orders", rng) else { return };
        let items = self.records.keys("orderitems").into_iter();
        let items: Vec<i64> = items
            .filter(|item| self.records.value("orderitems", *item, "shop_order_id") == order)
            .collect();
        let body = match rng.choice(&items) {
            Some(item) => {
                json!({"items": [{"orderitem_id": item, "quantity": rng.u8(1..4)}], "carrier": "Post"})
            }
            None => json!({"carrier": "Post"}),
        };
        let reply = self.ask(Method::Post, &format!("/orders/{order}/shipments"), body).await;
        match reply.status {
            201 => self.catch_up().await,
            _ => {
                assert_eq!(
                    reply.document["errors"][0]["code"], "over_fulfilled",
                    "{}",
                    reply.document
                );
                self.nothing_changed().await;
            }
        }
    }

    /// The variants of a product beside its master.
    fn variants_of(&self, product: i64) -> Vec<i64> {
        let of = |variant: i64, field: &str| self.records.value("variants", variant, field);
        let mut all = self.records.keys("variants");
        all.retain(|variant| {
            of(*variant, "product_id") == product && of(*variant, "is_master") == 0
        });
        all
    }

    /// Takes over what the feed has, which must agree with the answer to the write of a record.
    async fn follow(&mut self, resource: &'static Resource, key: i64, data: &Value) {
        self.catch_up().await;
        let known = json!(self.records.attributes(resource, key));
        assert_eq!(data["attributes"], known, "the feed has {} {key}", resource.kind);
    }

    async fn catch_up(&mut self) {
        self.done += 1;
        let seen = self.records.mirror.catch_up(&self.store).await;
        let names = seen.iter().map(|seen| seen.trim_start_matches('-').split_once('/').unwrap());
        self.records.touched.extend(names.map(|(kind, id)| (kind.to_owned(), id.to_owned())));
    }

    /// A refusal needs a reason, and changes nothing.
    async fn was_refused(&mut self, reply: &Reply, missing: bool, doubled: bool) {
        let Reply { status, document } = reply;
        assert_eq!(*status, 422, "{document}");
        for error in document["errors"].as_array().unwrap() {
            let (code, detail) =
                (error["code"].as_str().unwrap(), error["detail"].as_str().unwrap());
            let ruled = RULES.iter().any(|rule| code == *rule || detail.contains(rule));
            let explained = match code {
                "missing_reference" => missing || ruled,
                "duplicate" => doubled,
                _ => ruled,
            };
            assert!(explained, "{error}");
        }
        self.nothing_changed().await;
    }

    async fn nothing_changed(&mut self) {
        self.refused += 1;
        let seen = self.records.mirror.catch_up(&self.store).await;
        assert!(seen.is_empty(), "a refusal has changed {seen:?}");
    }

    async fn ask(&mut self, method: Method, path: &str, body: Value) -> Reply {
        self.sent += 1;
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.store.ask(method, path, body).await;
        let reply = String::from_utf8_lossy(answer.body()).into_owned();
        let status = answer.status();
        writeln!(self.transcript, "{method:?} {path} {text}\n{status} {}", without_now(&reply))
            .unwrap();
        Reply { status, document: serde_json::from_str(&reply).unwrap_or_default() }
    }
}

/// A type with records of its own.
fn some_type(rng: &mut Rng) -> Option<&'static Resource> {
    let all = REGISTRY.followed().filter(|resource| resource.crud);
    let busy = BUSY.iter().filter_map(|kind| REGISTRY.find(kind));
    rng.choice(all.chain(busy).collect::<Vec<_>>())
}

/// An answer without the moments that are not from a body, all of which are in 2025.
fn without_now(text: &str) -> String {
    static NOW: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#""20(2[6-9]|[3-9]\d)-\d\d-\d\dT[\d:]+Z?""#).unwrap());
    NOW.replace_all(text, "\"now\"").into_owned()
}
