//! Kept numbers: what the store counts and adds up beside its records, so that queries need not.
//! There are counts, steps that locate a page far down a list, and sums. Each table of them is
//! described here once; its triggers, the statements that recount it, and those that compare it
//! with its records are generated from the description. Independent of SQL.

/// A table of kept numbers, with a row for each combination of values that occurs in the records.
#[derive(Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// The table.
    pub table: &'static str,
    /// The records that are counted.
    pub of: &'static Records,
    /// The column that selects them, and its value; `None` if all are counted.
    pub only: Option<(&'static str, i64)>,
    /// The values that the records of a row share.
    pub by: &'static [Group],
    /// The numbers of each row. The first is the number of records.
    pub sums: &'static [Sum],
}

/// Records that are counted.
#[derive(Debug, PartialEq, Eq)]
pub struct Records {
    /// Their table.
    pub table: &'static str,
    /// Its primary key, which no record ever changes.
    pub key: &'static str,
    /// The column of [`SLOTS`] with the last key that is counted in slot 0.
    pub floor: &'static str,
}

/// A grouping column of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub column: &'static str,
    /// The value that it takes from a record.
    pub value: Value,
    /// The type of the column.
    pub room: ColumnType,
}

/// The value by which records are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The column of the same name.
    Same,
    /// The column of the same name, with 0 for unset.
    OrZero,
    /// The day of a moment.
    Day(&'static str),
    /// The month of a moment.
    Month(&'static str),
    /// The [`BLOCK`] of keys that contains the record's key.
    Block,
    /// The stock status of a product or variant: 0 not managed, 1 out of stock, 2 low, 3 enough, and
    /// [`UNDECIDED`] for what the configuration decides by the quantity.
    StockStatus,
    /// The quantity of one whose status is undecided, and 0 for all others.
    StockQuantity,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A number of 16 bits.
    Small,
    /// A number of 64 bits.
    Whole,
    /// At most this many characters.
    Text(u16),
}

/// A column that adds up a value of its records.
#[derive(Debug, PartialEq, Eq)]
pub struct Sum {
    /// Its name.
    pub column: &'static str,
    /// The value that is added up.
    pub of: Addend,
}

/// What a record adds to a sum. An amount of money is added up in two parts and the value of a
/// stock in three, because the sum of many would overflow 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addend {
    /// One.
    One,
    /// A whole number.
    Whole(&'static str),
    /// The multiples of 10^4 in an amount.
    High(&'static str),
    /// The rest, in units of 10^-5.
    Low(&'static str),
    /// The multiples of 10^13 in the value of a product's stock.
    WorthHigh,
    /// The multiples of 10^4 in the rest.
    WorthMiddle,
    /// The rest of that, in units of 10^-5.
    WorthLow,
}

/// The stock status of products whose status depends on the configuration.
pub const UNDECIDED: i64 = 4;
/// The number of keys that one step counts together.
pub const BLOCK: i64 = 1 << BLOCK_BITS;
/// The number of bits of a key that give its position within the block.
pub const BLOCK_BITS: u32 = 12;

/// Where the engine lets several writers work at once, each number is the sum of this many rows,
/// its slots, so that two writers seldom wait for the same row. The slot of a record follows from
/// its key, so the contribution of a record is subtracted from the row that it was added to, and a
/// row that reaches zero can be removed.
pub const SLOT_COUNT: i64 = 16;
/// The column with the slot of a row.
pub const SLOT: &str = "slot";
/// The table of one row with the last keys that are counted in slot 0. A recount puts all records
/// there, because one row is read faster than sixteen.
pub const SLOTS: &str = "shop_slots";

/// What a record keeps of its parts: how many there are, the sum of a number of theirs, and the ends of the range
/// of another. A record without parts keeps the number that it has, and has no range.
#[derive(Debug, PartialEq, Eq)]
pub struct OfParts {
    /// The records.
    pub whole: &'static Records,
    /// The column of the number, in the record and in its parts.
    pub column: &'static str,
    /// The column of the record with the number of its parts.
    pub count: &'static str,
    /// The parts.
    pub parts: &'static Records,
    /// The column of the parts that refers to the record.
    pub by: &'static str,
    /// The column that selects those that count, and its value.
    pub only: (&'static str, i64),
    /// The column of the parts whose range is kept.
    pub ranged: &'static str,
    /// The columns of the record with the least and the greatest value in it.
    pub ends: [&'static str; 2],
    /// The column of a part that follows the record's own value of the ranged column. Where that changes, the
    /// record brings its range up to date itself, once for all of its parts.
    pub follows: &'static str,
}

/// The stock of a product is that of its further variants, and its prices are theirs.
pub static OF_VARIANTS: OfParts = OfParts {
    whole: &PRODUCTS,
    column: "quantity",
    count: "variant_count",
    parts: &VARIANTS,
    by: "product_id",
    only: ("is_master", 0),
    ranged: "price",
    ends: ["price_from", "price_to"],
    follows: "price_follows_product",
};

/// A table that gives a day a new, unique number whenever something changes that reports have kept
/// for this day.
#[derive(Debug, PartialEq, Eq)]
pub struct Revisions {
    /// The table, whose rows are identified by their `day`.
    pub table: &'static str,
    /// The column of the numbers.
    pub column: &'static str,
    /// The records that belong to days.
    pub of: &'static Records,
    /// The moment that determines the day.
    pub day_of: &'static str,
    /// The columns that reports read.
    pub watched: &'static [&'static str],
    /// The table of the records' parts, with the column that refers to the record.
    pub parts: (&'static str, &'static str),
    /// The columns of the parts that reports read.
    pub watched_of_parts: &'static [&'static str],
}

/// An index of the texts of records, on an engine that stores it as a table. What it contains can be read
/// from a table with the same name and `_terms`.
#[derive(Debug)]
pub struct Searched {
    /// The table.
    pub table: &'static str,
    /// The records.
    pub of: &'static Records,
    /// The column that selects those in it, and its value; `None` if all are in it. A record never changes it.
    pub only: Option<(&'static str, i64)>,
    /// The columns of the texts.
    pub texts: &'static [&'static str],
    /// The columns that determine these.
    pub reads: &'static [&'static str],
}

/// All indexes of texts.
pub static SEARCHED: [Searched; 4] = [
    Searched {
        table: PRODUCT_SEARCH,
        of: &PRODUCTS,
        only: None,
        texts: PRODUCT_TEXTS,
        reads: PRODUCT_TEXTS,
    },
    Searched {
        table: VARIANT_SEARCH,
        of: &VARIANTS,
        only: FURTHER,
        texts: &["sku_fold"],
        reads: &["sku_fold"],
    },
    Searched {
        table: ORDER_SEARCH,
        of: &ORDERS,
        only: None,
        texts: &["order_id_fold", "billing_name", "user_email_fold"],
        reads: &[
            "order_id_fold",
            "billing_first_name_fold",
            "billing_last_name_fold",
            "user_email_fold",
        ],
    },
    Searched {
        table: ADDRESS_SEARCH,
        of: &ADDRESSES,
        only: None,
        texts: ADDRESS_TEXTS,
        reads: ADDRESS_TEXTS,
    },
];
const PRODUCT_TEXTS: &[&str] = &["product_name_fold", "sku_fold"];
const ADDRESS_TEXTS: &[&str] = &["first_name_fold", "last_name_fold", "email_fold", "company_fold"];
/// The names and SKUs of products.
pub const PRODUCT_SEARCH: &str = "shop_products_search";
/// The SKUs of further variants. A master variant has that of its product.
pub const VARIANT_SEARCH: &str = "shop_variants_search";
/// The references, names and e-mail addresses of orders.
pub const ORDER_SEARCH: &str = "shop_orders_search";
/// The names, e-mail addresses and companies of customers.
pub const ADDRESS_SEARCH: &str = "shop_addresses_search";

/// A table of the pieces of texts, on an engine without a substring index.
#[derive(Debug)]
pub struct Pieces {
    /// The table.
    pub table: &'static str,
    /// The records with the texts.
    pub of: &'static Records,
    /// The column that selects those in it, and its value; `None` if all are in it. A record never changes it.
    pub only: Option<(&'static str, i64)>,
    /// The column of the texts.
    pub text: &'static str,
}

/// All tables of pieces.
pub static PIECES: [Pieces; 3] = [
    Pieces { table: PRODUCT_NAME_PIECES, of: &PRODUCTS, only: None, text: "product_name_fold" },
    Pieces { table: PRODUCT_SKU_PIECES, of: &PRODUCTS, only: None, text: "sku_fold" },
    Pieces { table: VARIANT_SKU_PIECES, of: &VARIANTS, only: FURTHER, text: "sku_fold" },
];
/// The names of products.
pub const PRODUCT_NAME_PIECES: &str = "shop_product_name_pieces";
/// The SKUs of products.
pub const PRODUCT_SKU_PIECES: &str = "shop_product_sku_pieces";
/// The SKUs of further variants.
pub const VARIANT_SKU_PIECES: &str = "shop_variant_sku_pieces";

/// The table with the number of the latest recount, and with how often it has written. See
/// `bulk::maintenance`.
pub const RECOUNTS: &str = "shop_recounts";

/// Products.
pub static PRODUCTS: Records =
    Records { table: "shop_products", key: "shop_product_id", floor: "products" };
/// Orders.
pub static ORDERS: Records =
    Records { table: "shop_orders", key: "shop_order_id", floor: "orders" };
static ADDRESSES: Records =
    Records { table: "shop_addresses", key: "shop_address_id", floor: "addresses" };
/// Variants.
pub static VARIANTS: Records =
    Records { table: "shop_variants", key: "shop_variant_id", floor: "variants" };
/// Those beside the master of their product.
const FURTHER: Option<(&str, i64)> = Some(("is_master", 0));

/// Refunds of orders.
pub static ORDERREFUNDS: Records =
    Records { table: "shop_orderrefunds", key: "shop_orderrefund_id", floor: "orderrefunds" };

/// The counted records, in the order of the columns of [`SLOTS`].
pub const COUNTED: [&Records; 5] = [&PRODUCTS, &ORDERS, &ADDRESSES, &VARIANTS, &ORDERREFUNDS];

/// All tables. A write locks rows in this order, so that two writes cannot deadlock.
pub const ALL: [&Aggregate; 18] = [
    &PRODUCT_COUNTS,
    &PRODUCT_COUNTS_BY_MANUFACTURER,
    &PRODUCT_COUNTS_BY_CATEGORY,
    &PRODUCT_COUNTS_BY_DAY,
    &PRODUCT_BLOCKS,
    &STOCK,
    &VARIANT_STOCK,
    &REFUNDS_BY_DAY,
    &ORDER_COUNTS,
    &ORDER_COUNTS_BY_USER,
    &ORDER_COUNTS_BY_DAY,
    &ORDER_BLOCKS,
    &SALES_BY_DAY,
    &SALES_BY_MONTH,
    &FULFILMENT_COUNTS,
    &ADDRESS_COUNTS,
    &ADDRESS_COUNTS_BY_ZONE,
    &ADDRESS_BLOCKS,
];

/// The number of all these records by these values.
const fn counts(table: &'static str, of: &'static Records, by: &'static [Group]) -> Aggregate {
    Aggregate { table, of, only: None, by, sums: &[Sum { column: "n", of: Addend::One }] }
}

/// Products by stock record, state, visibility and type.
pub static PRODUCT_COUNTS: Aggregate = counts(
    "shop_product_counts",
    &PRODUCTS,
    &[small("has_stock"), small("enabled"), small("visibility"), text("product_type", 64)],
);
/// Products by manufacturer and state.
pub static PRODUCT_COUNTS_BY_MANUFACTURER: Aggregate = counts(
    "shop_product_counts_by_manufacturer",
    &PRODUCTS,
    &[or_zero("manufacturer_id"), small("enabled")],
);
/// Products by category and state.
pub static PRODUCT_COUNTS_BY_CATEGORY: Aggregate = counts(
    "shop_product_counts_by_category",
    &PRODUCTS,
    &[or_zero("category_id"), small("enabled")],
);
/// Products by the day on which they were created.
pub static PRODUCT_COUNTS_BY_DAY: Aggregate =
    counts("shop_product_counts_by_day", &PRODUCTS, &[day("created_on")]);
/// Products by block of keys.
pub static PRODUCT_BLOCKS: Aggregate = counts("shop_product_blocks", &PRODUCTS, BLOCKS);
/// The stock of products without further variants, in groups that can be evaluated without reading one.
pub static STOCK: Aggregate = Aggregate {
    table: "shop_stock",
    of: &PRODUCTS,
    only: Some(("variant_count", 0)),
    by: &[
        Group { column: "status", value: Value::StockStatus, room: ColumnType::Small },
        Group { column: "quantity", value: Value::StockQuantity, room: ColumnType::Whole },
    ],
    sums: &[
        Sum { column: "products", of: Addend::One },
        Sum { column: "units", of: Addend::Whole("quantity") },
        Sum { column: "value_2", of: Addend::WorthHigh },
        Sum { column: "value_1", of: Addend::WorthMiddle },
        Sum { column: "value_0", of: Addend::WorthLow },
    ],
};
/// The stock of variants in the same groups.
pub static VARIANT_STOCK: Aggregate =
    Aggregate { table: "shop_variant_stock", of: &VARIANTS, only: FURTHER, ..STOCK };
/// Orders by status, payment and currency.
pub static ORDER_COUNTS: Aggregate = counts(
    "shop_order_counts",
    &ORDERS,
    &[whole("order_state_id"), text("orderpayment_type", 255), text("currency_code", 3)],
);
/// Orders by user and status.
pub static ORDER_COUNTS_BY_USER: Aggregate =
    counts("shop_order_counts_by_user", &ORDERS, &[whole("user_id"), whole("order_state_id")]);
/// Orders by day and status.
pub static ORDER_COUNTS_BY_DAY: Aggregate =
    counts("shop_order_counts_by_day", &ORDERS, &[day("created_on"), whole("order_state_id")]);
/// Orders by block of keys.
pub static ORDER_BLOCKS: Aggregate = counts("shop_order_blocks", &ORDERS, BLOCKS);
/// The sums of the orders of a day.
pub static SALES_BY_DAY: Aggregate = Aggregate {
    table: "shop_sales_by_day",
    of: &ORDERS,
    only: None,
    by: &[day("created_on"), text("currency_code", 3), whole("order_state_id")],
    sums: &[
        Sum { column: "orders", of: Addend::One },
        Sum { column: "items", of: Addend::Whole("item_quantity") },
        Sum { column: "subtotal_1", of: Addend::High("order_subtotal") },
        Sum { column: "subtotal_0", of: Addend::Low("order_subtotal") },
        Sum { column: "discount_1", of: Addend::High("order_discount") },
        Sum { column: "discount_0", of: Addend::Low("order_discount") },
        Sum { column: "refund_1", of: Addend::High("order_refund") },
        Sum { column: "refund_0", of: Addend::Low("order_refund") },
        Sum { column: "shipping_1", of: Addend::High("order_shipping") },
        Sum { column: "shipping_0", of: Addend::Low("order_shipping") },
        Sum { column: "tax_1", of: Addend::High("order_tax") },
        Sum { column: "tax_0", of: Addend::Low("order_tax") },
    ],
};
/// The sums of the orders of a month, so that a report on years need not add up days.
pub static SALES_BY_MONTH: Aggregate = Aggregate {
    table: "shop_sales_by_month",
    by: &[month("created_on"), text("currency_code", 3), whole("order_state_id")],
    ..SALES_BY_DAY
};
/// The sums of the refunds of a day, with those that undo others.
pub static REFUNDS_BY_DAY: Aggregate = Aggregate {
    table: "shop_refunds_by_day",
    of: &ORDERREFUNDS,
    only: None,
    by: &[day("created_on"), text("currency_code", 3)],
    sums: &[
        Sum { column: "refunds", of: Addend::One },
        Sum { column: "reversals", of: Addend::Whole("is_reversal") },
        Sum { column: "amount_1", of: Addend::High("amount") },
        Sum { column: "amount_0", of: Addend::Low("amount") },
    ],
};
/// Orders by what a warehouse asks for.
pub static FULFILMENT_COUNTS: Aggregate = counts(
    "shop_fulfilment_counts",
    &ORDERS,
    &[
        small("is_shippable"),
        text("fulfilment_state", 16),
        whole("order_state_id"),
        or_zero("shipping_country_id"),
    ],
);
/// Customers by country.
pub static ADDRESS_COUNTS: Aggregate =
    counts("shop_address_counts", &ADDRESSES, &[or_zero("country_id")]);
/// Customers by country and zone.
pub static ADDRESS_COUNTS_BY_ZONE: Aggregate =
    counts("shop_address_counts_by_zone", &ADDRESSES, &[or_zero("country_id"), or_zero("zone_id")]);
/// Customers by block of keys.
pub static ADDRESS_BLOCKS: Aggregate = counts("shop_address_blocks", &ADDRESSES, BLOCKS);

/// The revisions of the days of orders.
pub static DAY_REVISIONS: Revisions = Revisions {
    table: "shop_revisions_by_day",
    column: "revision",
    of: &ORDERS,
    day_of: "created_on",
    watched: &[
        "created_on",
        "currency_code",
        "order_state_id",
        "order_total",
        "user_id",
        "user_email_fold",
    ],
    parts: ("shop_orderitems", "order_key"),
    watched_of_parts: &[
        "order_key",
        "product_id",
        "orderitem_quantity",
        "orderitem_finalprice",
        "refunded_quantity",
        "refunded_amount",
    ],
};

const BLOCKS: &[Group] = &[Group { column: "block", value: Value::Block, room: ColumnType::Whole }];

const fn small(column: &'static str) -> Group {
    Group { column, value: Value::Same, room: ColumnType::Small }
}

const fn whole(column: &'static str) -> Group {
    Group { column, value: Value::Same, room: ColumnType::Whole }
}

const fn text(column: &'static str, characters: u16) -> Group {
    Group { column, value: Value::Same, room: ColumnType::Text(characters) }
}

const fn or_zero(column: &'static str) -> Group {
    Group { column, value: Value::OrZero, room: ColumnType::Whole }
}

const fn day(of: &'static str) -> Group {
    Group { column: "day", value: Value::Day(of), room: ColumnType::Text(10) }
}

const fn month(of: &'static str) -> Group {
    Group { column: "month", value: Value::Month(of), room: ColumnType::Text(7) }
}

impl Aggregate {
    /// Whether its rows are grouped by the column of this name, which the records have too.
    pub fn has(&self, column: &str) -> bool {
        let same = |group: &Group| matches!(group.value, Value::Same | Value::OrZero);
        self.by.iter().any(|group| group.column == column && same(group))
    }

    /// Whether it counts the records without a value in this column as those with 0.
    pub fn merges_unset(&self, column: &str) -> bool {
        let merges = |group: &Group| matches!(group.value, Value::OrZero);
        self.by.iter().any(|group| group.column == column && merges(group))
    }

    /// The moment whose day groups its rows.
    pub fn day_of(&self) -> Option<&'static str> {
        self.by.iter().find_map(|group| match group.value {
            Value::Day(of) => Some(of),
            _ => None,
        })
    }

    /// The columns of the records that it depends on, each once, without the key.
    pub fn reads(&self) -> Vec<&'static str> {
        let by = self.by.iter().flat_map(|group| group.value.reads(group.column));
        let sums = self.sums.iter().flat_map(|sum| sum.of.reads());
        let mut reads = Vec::new();
        for column in self.only.map(|(column, _)| column).into_iter().chain(by).chain(sums) {
            if !reads.contains(&column) {
                reads.push(column);
            }
        }
        reads
    }
}

/// The columns that determine the stock status of a product or variant.
pub const STOCK_STATUS: [&str; 4] = ["manage_stock", "quantity", "min_out_qty", "notify_qty"];

impl Value {
    fn reads(self, column: &'static str) -> Vec<&'static str> {
        match self {
            Value::Same | Value::OrZero => vec![column],
            Value::Day(of) | Value::Month(of) => vec![of],
            Value::Block => Vec::new(),
            Value::StockStatus | Value::StockQuantity => STOCK_STATUS.to_vec(),
        }
    }
}

impl Addend {
    fn reads(self) -> Vec<&'static str> {
        match self {
            Addend::One => Vec::new(),
            Addend::Whole(column) | Addend::High(column) | Addend::Low(column) => vec![column],
            Addend::WorthHigh | Addend::WorthMiddle | Addend::WorthLow => {
                vec!["quantity", "price"]
            }
        }
    }
}
