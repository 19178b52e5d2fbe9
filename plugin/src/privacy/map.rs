//! The map of where the store has data of persons. Each place is a table; which of its columns are personal follows
//! from the marks of its fields. From it follow copies, erasures, the document of data protection, and a test that
//! compares it with all columns of texts that the database has.

use std::collections::BTreeSet;
use std::fmt::Write;

use host_interface::{PersonalData, Privacy};

use crate::model::field::{Field, Initial};
use crate::model::personal::Personal;
use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::value::{Kind, Value};
use crate::service::once::KEYS;
use crate::service::outbox::MAILS;

/// The action of copying and erasing a person's data.
pub const ACTION: &str = "store.privacy";
/// Its asset: the store as a whole.
pub const ASSET: &str = "com_shop.store";

/// A table with data of persons.
#[derive(Debug)]
pub struct Place {
    /// Its records.
    of: Of,
    /// How they belong to a person.
    pub(super) whose: Whose,
    /// What becomes of them.
    pub(super) fate: Fate,
    /// What they are kept for.
    purpose: &'static str,
    /// How long they are kept.
    kept: &'static str,
}

/// Where the descriptor of a table is.
#[derive(Debug)]
enum Of {
    /// Among the resources of the store, by its kind.
    Kind(&'static str),
    /// Here: no route shows the table.
    Table(&'static Resource),
}

/// How rows belong to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// By the order with the key in this column; an order itself by its own key.
    Order(&'static str),
    /// By the address in the first column, case-folded, or the key of the user in the second.
    Own(&'static str, Option<&'static str>),
    /// By the voucher with the key in this column.
    Voucher(&'static str),
    /// By what these columns contain, or by the key of the user in the first one, if there is such.
    Contents(&'static [&'static str]),
}

/// What becomes of the records of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The personal fields get other values; everything else stays.
    Replaced,
    /// They are removed.
    Removed,
}

/// All places, in the order in which people read them.
pub static PLACES: &[Place] = &[
    Place {
        of: Of::Kind("orders"),
        whose: Whose::Order("shop_order_id"),
        fate: Fate::Replaced,
        purpose: "the contract, its delivery, and the invoice",
        kept: "until the person is erased, a day that the erasure names, or the end of the retention; reference, \
            dates, amounts, tax, country and region stay",
    },
    Place {
        of: Of::Kind("orderitems"),
        whose: Whose::Order("order_key"),
        fate: Fate::Replaced,
        purpose: "what was ordered, as the person wished it, such as an engraving",
        kept: "with the order; the line with its price stays",
    },
    Place {
        of: Of::Kind("orderhistories"),
        whose: Whose::Order("order_key"),
        fate: Fate::Replaced,
        purpose: "what was written to the person, or noted about the order",
        kept: "with the order; the statuses and their dates stay",
    },
    Place {
        of: Of::Kind("shipments"),
        whose: Whose::Order("order_key"),
        fate: Fate::Replaced,
        purpose: "where a parcel is",
        kept: "with the order; what a parcel contained stays",
    },
    Place {
        of: Of::Kind("orderrefunds"),
        whose: Whose::Order("order_key"),
        fate: Fate::Replaced,
        purpose: "why money was given back, and by which payment",
        kept: "with the order; amounts, tax and the number of a credit note stay",
    },
    Place {
        of: Of::Kind("addresses"),
        whose: Whose::Own("email_fold", Some("user_id")),
        fate: Fate::Removed,
        purpose: "invoices and deliveries to customers",
        kept: "until the person is erased, or the site's retention of customers without orders ends",
    },
    Place {
        of: Of::Kind("vouchers"),
        whose: Whose::Own("email_to_fold", None),
        fate: Fate::Replaced,
        purpose: "showing people the vouchers that were sent to them",
        kept: "until the person is erased; code and balance stay, because a voucher is money",
    },
    Place {
        of: Of::Kind("vouchermovements"),
        whose: Whose::Voucher("voucher_id"),
        fate: Fate::Replaced,
        purpose: "why the balance of a voucher changed",
        kept: "with the voucher; amounts and dates stay",
    },
    Place {
        of: Of::Table(&MAILS),
        whose: Whose::Contents(&["recipient"]),
        fate: Fate::Removed,
        purpose: "mails that have been promised and not been sent",
        kept: "until the mail is sent; one that was given up, until the person is erased",
    },
    Place {
        of: Of::Table(&KEYS),
        whose: Whose::Contents(&["user_id", "location", "body"]),
        fate: Fate::Removed,
        purpose: "answering a request that is sent again as it was answered before",
        kept: "for as many days as the parameter idempotency_days",
    },
    Place {
        of: Of::Kind("importfaults"),
        whose: Whose::Contents(&["record_key", "errors"]),
        fate: Fate::Replaced,
        purpose: "what was wrong with a line of an imported file",
        kept: "for 30 days",
    },
];

/// A table whose texts are not about persons, or some of its columns.
#[derive(Debug)]
pub struct Impersonal {
    /// The table.
    pub table: &'static str,
    /// The columns; none are all.
    pub columns: &'static [&'static str],
    /// Why they are not about persons.
    pub why: &'static str,
}

/// The texts that no erasure touches, with the reason, beside those of [resources that are impersonal](Resource::impersonal).
pub const IMPERSONAL: &[Impersonal] = &[
    of("shop_orders", &["order_id"], "the reference of an order, which stays on its invoice"),
    of("shop_orders", &["order_state_id"], "a status"),
    of(
        "shop_orders",
        &[
            "orderpayment_type",
            "ordershipping_name",
            "ordershipping_code",
            "ordershipping_type",
            "transaction_status",
        ],
        "a method of payment or of shipping, and what a payment service calls a state",
    ),
    of(
        "shop_orders",
        &["currency_code", "customer_language", "invoice_prefix"],
        "many people share them",
    ),
    of(
        "shop_orders",
        &["shipping_zone_name", "shipping_country_name"],
        "the region that determines the tax",
    ),
    of("shop_orders", &["billing_name"], "follows from the names, and goes with them"),
    of("shop_orderitems", &["orderitem_sku", "orderitem_name"], "what was sold"),
    of("shop_shipments", &["carrier"], "a company that delivers parcels"),
    of(
        "shop_orderrefunds",
        &["reference"],
        "the number of a credit note, which the books of a store must have",
    ),
    of("shop_orderrefunds", &["currency_code", "request_id"], "a currency, and a random text"),
    of(
        "shop_vouchers",
        &["voucher_code", "voucher_type", "order_id"],
        "the voucher itself, which is money, and the reference of its order",
    ),
    of(
        "shop_voucher_ledger",
        &["token_name", "request_id"],
        "the program that wrote the entry, and a random text",
    ),
    of("shop_inventory_ledger", &[], "why a quantity in stock changed, and which program did it"),
    of("shop_mails", &["mail_id", "claim", "failure"], "random texts; and why a mail was not sent"),
    of(
        "shop_keys",
        &["fingerprint", "etag"],
        "digests, from which nothing can be read, in a row that is removed whole",
    ),
    of("shop_imports", &[], "which file was imported by which program, without its contents"),
    of("shop_import_faults", &["record_type"], "a type of records"),
    of(
        "shop_erasures",
        &[],
        "a day, and a keyed hash in place of an address, which only the host can compute",
    ),
    of("shop_webhooks", &[], "addresses of other programs"),
    of("shop_webhook_places", &[], "how far changes were sent to a program"),
    of("shop_webhook_retries", &[], "types and keys of records"),
    of("shop_webhook_deliveries", &[], "types and keys of records, and how an attempt ended"),
    of("shop_change_queue", &[], "types and keys of records"),
    of("shop_changes", &[], "types and keys of records"),
    of("shop_feed", &[], "the name of the feed, a random text"),
    of("shop_meta", &[], "digests of the store's triggers"),
    of("shop_derived", &[], "names and texts of triggers"),
    of("shop_migrations", &[], "names and digests of migrations"),
];

const fn of(
    table: &'static str,
    columns: &'static [&'static str],
    why: &'static str,
) -> Impersonal {
    Impersonal { table, columns, why }
}

/// What replaces a text that must not be empty.
const ERASED: &str = "erased";

impl Place {
    /// Its descriptor.
    pub fn resource(&self, registry: Registry) -> Option<&'static Resource> {
        match self.of {
            Of::Kind(kind) => registry.find(kind),
            Of::Table(resource) => Some(resource),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self.of {
            Of::Kind(kind) => kind,
            Of::Table(resource) => resource.kind,
        }
    }

    fn kinds(&self, registry: Registry) -> BTreeSet<Personal> {
        let fields = self.resource(registry).into_iter().flat_map(Resource::fields);
        fields.filter_map(|field| field.personal).collect()
    }

    /// The kinds of data, as a list for people.
    fn what(&self, registry: Registry) -> String {
        let titles: Vec<&str> = self.kinds(registry).into_iter().map(Personal::title).collect();
        titles.join(", ")
    }
}

/// The values that personal fields get, those of some kinds. `nobody` is the address of nobody, for a field that must
/// have one.
pub(super) fn replacements(
    resource: &'static Resource,
    nobody: &str,
    of: impl Fn(Personal) -> bool,
) -> Vec<(&'static Field, Value)> {
    let marked = resource.fields().filter(|field| field.personal.is_some_and(&of));
    marked.map(|field| (field, replacement(field, nobody))).collect()
}

fn replacement(field: &Field, nobody: &str) -> Value {
    match (field.kind, field.initial) {
        (Kind::User | Kind::Int { .. }, _) => Value::Int(0),
        (Kind::Email, _) if field.required => Value::Text(nobody.to_owned()),
        (kind, Initial::Text(text)) if kind.is_json() => Value::Json(text.to_owned()),
        (kind, _) if kind.is_json() => Value::Json("{}".to_owned()),
        _ if field.required => Value::Text(ERASED.to_owned()),
        _ => Value::Text(String::new()),
    }
}

/// The map as hosts read it.
pub fn declared(registry: Registry) -> Privacy {
    let place = |place: &Place| {
        PersonalData::new(place.name(), place.what(registry), place.purpose, place.kept)
    };
    Privacy::new(ACTION, ASSET).places(PLACES.iter().map(place))
}

/// The map as a table of Markdown.
pub fn table(registry: Registry) -> String {
    let mut table = "| place | data | purpose | kept |\n|---|---|---|---|\n".to_owned();
    for place in PLACES {
        let (name, what) = (place.name(), place.what(registry));
        // Nothing fails while a string is written.
        let _ = writeln!(table, "| `{name}` | {what} | {} | {} |", place.purpose, place.kept);
    }
    table
}
