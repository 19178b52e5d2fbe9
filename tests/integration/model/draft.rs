//! Bodies of random values, and what the store has to show of them.

use fastrand::Rng;
use plugin::model::field::{Access, Field};
use plugin::model::resource::Resource;
use plugin::model::value::Kind;
use plugin::resources::REGISTRY;
use serde_json::{Map, Value, json};

use super::memory::Records;
use super::samples::{self, MISSING, word};

/// Fields whose values rules of their own change: only the later readings of the record are compared.
const RULED: [(&str, &str); 7] = [
    ("variants", "price"),
    ("variants", "price_follows_product"),
    ("variants", "quantity"),
    ("variants", "isdefault_variant"),
    ("products", "has_options"),
    ("categories", "alias"),
    ("inventory", "manage_stock"),
];
/// Codes that are random where a body omits them.
const RANDOM: [&str; 2] = ["order_id", "voucher_code"];

/// A body.
pub struct Draft {
    resource: &'static Resource,
    pub sent: Map<String, Value>,
    /// The values that it gives the fields, as the store shows them.
    values: Map<String, Value>,
}

impl Draft {
    /// The body for a new record; `None` if it must name a record of a type that has none.
    pub fn of_a_new(
        resource: &'static Resource,
        records: &Records,
        rng: &mut Rng,
    ) -> Option<Draft> {
        let mut draft = Draft::of(resource, true, records, rng)?;
        match resource.kind {
            "products" if rng.u8(..3) == 0 => draft.add_variants(records, rng),
            "orders" => draft.add_items(records, rng),
            "inventory" => {
                let product = records.any("products", rng)?;
                draft.sent.insert(resource.key.to_owned(), json!(product));
            }
            _ => {}
        }
        Some(draft)
    }

    /// The body of a change of a record.
    pub fn of_a_change(
        resource: &'static Resource,
        key: i64,
        records: &Records,
        rng: &mut Rng,
    ) -> Option<Draft> {
        let mut draft = Draft::of(resource, false, records, rng)?;
        if resource.kind == "variants" && rng.u8(..4) == 0 {
            let options = records.value(resource.kind, key, "options");
            let names: Vec<String> = options.as_object()?.keys().cloned().collect();
            draft.add_options(&names, rng);
        }
        Some(draft)
    }

    /// A variant of a product, with options that are named as those of the others.
    pub fn of_a_variant(names: &[String], records: &Records, rng: &mut Rng) -> Option<Draft> {
        let mut draft = Draft::of(REGISTRY.find("variants")?, true, records, rng)?;
        draft.add_options(names, rng);
        Some(draft)
    }

    /// The body as it is sent: the fields alone, or a document of JSON:API.
    pub fn body(&self, rng: &mut Rng) -> Value {
        if rng.bool() {
            json!(self.sent)
        } else {
            json!({"data": {"type": self.resource.kind, "attributes": self.sent}})
        }
    }

    /// The value that the body gives a field.
    pub fn given(&self, field: &str) -> Option<&Value> {
        self.values.get(field)
    }

    /// The attributes that a document must have after the write.
    pub fn shown(&self) -> Map<String, Value> {
        self.values_where(|name| {
            self.is_shown(name) && !RULED.contains(&(self.resource.kind, name))
        })
    }

    /// The values that no document shows.
    pub fn hidden(&self) -> Map<String, Value> {
        self.values_where(|name| !self.is_shown(name))
    }

    /// All values.
    pub fn values(&self) -> Map<String, Value> {
        self.values.clone()
    }

    fn of(
        resource: &'static Resource,
        is_new: bool,
        records: &Records,
        rng: &mut Rng,
    ) -> Option<Draft> {
        let mut draft = Draft { resource, sent: Map::new(), values: Map::new() };
        for field in resource.fields() {
            let settable = match field.access {
                Access::Open => true,
                Access::Once => is_new,
                Access::ReadOnly | Access::Touched => false,
            };
            let needed = is_new && (field.required || RANDOM.contains(&field.name));
            let known = field.joined.is_none() && !resource.is_internal(field.name);
            // Options go with those of other variants.
            if !known || field.name == "options" || !needed && rng.u8(..4) > u8::from(is_new) {
                continue;
            }
            match samples::random(field, records, rng) {
                // What clients cannot set is ignored.
                Some(given) if !settable => {
                    draft.sent.insert(field.name.to_owned(), given.sent);
                }
                Some(given) if RANDOM.contains(&field.name) && given.shown == "" => {
                    let code = json!(format!("x{}", rng.u16(..)));
                    draft.give(field, code.clone(), code);
                }
                Some(given) => draft.give(field, given.sent, given.shown),
                None if needed => return None,
                None => {}
            }
        }
        draft.agree(records, rng);
        Some(draft)
    }

    fn give(&mut self, field: &Field, sent: Value, shown: Value) {
        self.values.insert(field.name.to_owned(), shown);
        self.sent.insert(field.name.to_owned(), sent);
    }

    fn is_shown(&self, name: &str) -> bool {
        self.resource.list.iter().chain(self.resource.detail).any(|field| field.name == name)
    }

    fn values_where(&self, wanted: impl Fn(&str) -> bool) -> Map<String, Value> {
        let values = self.values.iter().filter(|(name, _)| wanted(name));
        values.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Gives what a record that is named must have in common with this one, such as a zone its country; rarely it
    /// is left as it is.
    fn agree(&mut self, records: &Records, rng: &mut Rng) {
        for field in self.resource.fields() {
            let (Some([own, theirs]), Kind::Key(kind)) = (field.within, field.kind) else {
                continue;
            };
            let Some(key) = self.given(field.name).and_then(Value::as_i64) else { continue };
            if let Some(own) = self.resource.fields().find(|known| known.name == own)
                && rng.u8(..10) > 0
                && key != MISSING
            {
                let value = records.value(kind, key, theirs);
                self.give(own, value.clone(), value);
            }
        }
    }

    fn add_options(&mut self, names: &[String], rng: &mut Rng) {
        let values = ["S", "M", "L", "XL", "red", "Blue"];
        let options = names.iter().map(|name| (name.clone(), json!(rng.choice(values))));
        let options = Value::Object(options.collect());
        self.sent.insert("options".to_owned(), options.clone());
        self.values.insert("options".to_owned(), options);
    }

    fn add_variants(&mut self, records: &Records, rng: &mut Rng) {
        let names: Vec<String> = ["Size", "Colour"].map(str::to_owned)[..rng.usize(1..=2)].to_vec();
        let variants =
            (0..rng.usize(1..4)).filter_map(|_| Draft::of_a_variant(&names, records, rng));
        let variants = variants.map(|variant| json!(variant.sent)).collect();
        self.sent.insert("variants".to_owned(), variants);
        // It is the sum of theirs.
        self.values.remove("quantity");
    }

    fn add_items(&mut self, records: &Records, rng: &mut Rng) {
        let items = (0..rng.usize(..4)).map(|_| {
            let mut item = Map::new();
            let mut give = |name: &str, value: Value| item.insert(name.to_owned(), value);
            give("orderitem_quantity", json!(rng.u8(1..6)));
            give("orderitem_tax", json!(format!("{}.{:02}", rng.u8(..9), rng.u8(..99))));
            let (product, variant) = (records.any("products", rng), records.any("variants", rng));
            match (product, variant) {
                (Some(product), _) if rng.u8(..3) == 0 => give("product_id", json!(product)),
                (_, Some(variant)) if rng.bool() => give("variant_id", json!(variant)),
                _ => {
                    give("orderitem_name", json!(format!("x{}", word(rng))));
                    give("orderitem_price", json!(format!("{}.{}", rng.u8(..99), rng.u8(..9))))
                }
            };
            let named = item.contains_key("product_id") || item.contains_key("variant_id");
            if named && rng.bool() {
                item.insert("take_stock".to_owned(), json!(1));
            }
            Value::Object(item)
        });
        let items = items.collect();
        self.sent.insert("items".to_owned(), items);
    }
}
