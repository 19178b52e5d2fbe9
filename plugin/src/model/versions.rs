//! Versions: which tables have a version of each row, which records show it, and which writes of
//! other records change it. A version is 1 when its record is created, and one more after each
//! transaction that changes what the record itself or its parts show. Values that are joined from
//! another record belong to that record. Independent of SQL.
//!
//! The statements that change a row also count the change. This table describes their combined effect;
//! a test writes every field of every record and compares.

/// A table with a version of each row.
#[derive(Debug)]
pub struct Versioned {
    /// The table.
    pub table: &'static str,
    /// The kinds of the records that show its rows. Those of one row share its version.
    pub kinds: &'static [&'static str],
    /// The writes of other records that change a row.
    pub raised_by: &'static [Raise],
}

/// A write that changes the version of another record.
#[derive(Debug)]
pub struct Raise {
    /// The kind of the record that is written, or the name of its view.
    pub of: &'static str,
    /// The fields of which at least one must change.
    pub fields: Fields,
    /// The rows that get another version.
    pub rows: Rows,
}

/// The fields whose change has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// All of them: the record is only ever created.
    Created,
    /// These.
    These(&'static [&'static str]),
}

/// The rows that a write affects beside its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The one that the written record is a part of.
    Whole,
    /// The master variant of the product.
    Master,
    /// All below the category.
    Branch,
    /// The product that it is taken from.
    Stock,
    /// The items that it contains.
    Shipped,
}

/// All tables with versions, in alphabetical order.
pub static VERSIONED: [Versioned; 18] = [
    of("shop_addresses", &["addresses", "customers"]),
    Versioned {
        raised_by: &[Raise {
            of: "categories",
            fields: Fields::These(&["alias", "parent_id"]),
            rows: Rows::Branch,
        }],
        ..of("shop_categories", &["categories"])
    },
    of("shop_countries", &["countries"]),
    of("shop_coupons", &["coupons"]),
    of("shop_currencies", &["currencies"]),
    of("shop_manufacturers", &["manufacturers"]),
    of("shop_methods", &["paymentmethods", "shippingmethods"]),
    of("shop_orderhistories", &["orderhistories"]),
    Versioned {
        raised_by: &[Raise { of: "shipments", fields: Fields::Created, rows: Rows::Shipped }],
        ..of("shop_orderitems", &["orderitems"])
    },
    Versioned {
        raised_by: &[
            Raise { of: "orderhistories", fields: Fields::Created, rows: Rows::Whole },
            Raise { of: "shipments", fields: Fields::Created, rows: Rows::Whole },
            Raise {
                of: "shipments",
                fields: Fields::These(&["tracking_id", "carrier", "tracking_url"]),
                rows: Rows::Whole,
            },
        ],
        ..of("shop_orders", &["orderfulfilments", "orders"])
    },
    of("shop_orderstatuses", &["orderstatuses"]),
    Versioned {
        raised_by: &[
            Raise { of: "inventory.adjustment", fields: Fields::Created, rows: Rows::Whole },
            Raise { of: "inventory.step", fields: Fields::Created, rows: Rows::Whole },
            Raise { of: "orderitems", fields: Fields::These(&["take_stock"]), rows: Rows::Stock },
        ],
        ..of("shop_products", &["inventory", "products"])
    },
    of("shop_shipments", &["shipments"]),
    of("shop_taxprofiles", &["taxprofiles"]),
    of("shop_taxrates", &["taxrates"]),
    Versioned {
        raised_by: &[
            Raise {
                of: "products",
                fields: Fields::These(&["sku", "price", "upc"]),
                rows: Rows::Master,
            },
            Raise {
                of: "inventory",
                fields: Fields::These(&["sku", "manage_stock"]),
                rows: Rows::Master,
            },
        ],
        ..of("shop_variants", &["variants"])
    },
    Versioned {
        raised_by: &[Raise {
            of: "vouchers.adjustment",
            fields: Fields::Created,
            rows: Rows::Whole,
        }],
        ..of("shop_vouchers", &["vouchers"])
    },
    of("shop_zones", &["zones"]),
];

/// A table whose rows only writes of their own records change.
const fn of(table: &'static str, kinds: &'static [&'static str]) -> Versioned {
    Versioned { table, kinds, raised_by: &[] }
}
