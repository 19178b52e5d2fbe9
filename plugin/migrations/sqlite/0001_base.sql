-- The tables of a store, with their constraints, indexes and first rows. What follows from records by
-- description, such as counts, triggers and indexes of texts, is not here: see `src/sql/derived.rs`.
--
-- A column *_fold holds the case-folded copy of the text beside it: it is what is searched and sorted by, in
-- binary order. A copy that only sorts has the first 255 characters, and any other at most 750; where long
-- texts are sorted by all of their characters, *_rest has the others. An index on one column ends with the
-- key on this engine by itself.
--
-- Decimals are counted in units: currency_value in 10^-8, percentages in 10^-3, money and others in 10^-5.
-- Moments are text in the form of the wire, which sorts as they do. Lists of keys are texts with commas.
-- version counts the changes of a record, so that a client can refuse to overwrite the change of another.

-- The store itself, in its only row: what has been installed, and which derived objects the database has.
-- Their number and digest are noted last; `shop_derived` has each of them.
CREATE TABLE shop_meta (
    one                 INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    reference_installed INTEGER NOT NULL DEFAULT 0 CHECK (reference_installed IN (0, 1)),
    demo_set_up         INTEGER NOT NULL DEFAULT 0 CHECK (demo_set_up IN (0, 1)),
    derived_number      INTEGER NOT NULL DEFAULT 0,
    derived_digest      TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO shop_meta (one) VALUES (1);

-- The derived objects that the database has, each with a digest of its text and the statement that removes
-- it. See `src/store/reconciliation.rs`.
CREATE TABLE shop_derived (
    name   TEXT NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    remove TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The countries of addresses.
CREATE TABLE shop_countries (
    shop_country_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    country_name      TEXT NOT NULL CHECK (length(country_name) <= 255),
    country_name_fold TEXT NOT NULL,
    country_isocode_2 TEXT NOT NULL CHECK (country_isocode_2 GLOB '[A-Z][A-Z]'),
    country_isocode_3 TEXT NOT NULL CHECK (country_isocode_3 GLOB '[A-Z][A-Z][A-Z]'),
    enabled           INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version           INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX shop_countries_isocode_2 ON shop_countries (country_isocode_2);
CREATE UNIQUE INDEX shop_countries_isocode_3 ON shop_countries (country_isocode_3);
CREATE INDEX shop_countries_name ON shop_countries (country_name_fold);
CREATE INDEX shop_countries_enabled ON shop_countries (enabled);

-- The regions of a country, such as states or cantons.
CREATE TABLE shop_zones (
    shop_zone_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    zone_name      TEXT NOT NULL CHECK (length(zone_name) <= 255),
    zone_name_fold TEXT NOT NULL,
    zone_code      TEXT NOT NULL CHECK (length(zone_code) <= 32),
    zone_code_fold TEXT NOT NULL,
    country_id     INTEGER NOT NULL REFERENCES shop_countries (shop_country_id),
    enabled        INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version        INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX shop_zones_code_of_country ON shop_zones (country_id, zone_code);
CREATE INDEX shop_zones_country ON shop_zones (country_id);
CREATE INDEX shop_zones_name ON shop_zones (zone_name_fold);
CREATE INDEX shop_zones_code ON shop_zones (zone_code_fold);
CREATE INDEX shop_zones_enabled ON shop_zones (enabled);
CREATE UNIQUE INDEX shop_zones_with_country ON shop_zones (shop_zone_id, country_id);

-- The currencies of orders, with their rates and how amounts are written.
CREATE TABLE shop_currencies (
    shop_currency_id      INTEGER PRIMARY KEY AUTOINCREMENT,
    currency_title        TEXT NOT NULL CHECK (length(currency_title) <= 64),
    currency_title_fold   TEXT NOT NULL,
    currency_code         TEXT NOT NULL CHECK (currency_code GLOB '[A-Z][A-Z][A-Z]'),
    currency_value        INTEGER NOT NULL DEFAULT 100000000 CHECK (currency_value > 0),
    enabled               INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    currency_position     TEXT NOT NULL DEFAULT 'pre' CHECK (currency_position IN ('pre', 'post')),
    currency_num_decimals INTEGER NOT NULL DEFAULT 2 CHECK (currency_num_decimals BETWEEN 0 AND 8),
    currency_decimal      TEXT NOT NULL DEFAULT '.' CHECK (length(currency_decimal) <= 4),
    currency_thousands    TEXT NOT NULL DEFAULT ',' CHECK (length(currency_thousands) <= 4),
    version               INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX shop_currencies_code ON shop_currencies (currency_code);
CREATE INDEX shop_currencies_title ON shop_currencies (currency_title_fold);

-- The statuses that an order can have.
CREATE TABLE shop_orderstatuses (
    shop_orderstatus_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    orderstatus_name      TEXT NOT NULL CHECK (length(orderstatus_name) <= 64),
    orderstatus_name_fold TEXT NOT NULL,
    orderstatus_core      INTEGER NOT NULL DEFAULT 0 CHECK (orderstatus_core IN (0, 1)),
    enabled               INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version               INTEGER NOT NULL DEFAULT 1,
    -- A core status can be neither deleted nor disabled.
    CHECK (orderstatus_core = 0 OR enabled = 1)
) STRICT;

-- The manufacturers of products.
CREATE TABLE shop_manufacturers (
    shop_manufacturer_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    manufacturer_name      TEXT NOT NULL CHECK (length(manufacturer_name) <= 255),
    manufacturer_name_fold TEXT NOT NULL,
    enabled                INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    ordering               INTEGER NOT NULL DEFAULT 0,
    manufacturer_desc      TEXT NOT NULL DEFAULT '' CHECK (length(manufacturer_desc) <= 65535),
    version                INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX shop_manufacturers_name ON shop_manufacturers (manufacturer_name_fold);
CREATE INDEX shop_manufacturers_enabled ON shop_manufacturers (enabled);
CREATE INDEX shop_manufacturers_ordering ON shop_manufacturers (ordering);

-- Coupons: reductions that customers get by entering a code.
CREATE TABLE shop_coupons (
    shop_coupon_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    coupon_name       TEXT NOT NULL CHECK (length(coupon_name) <= 255),
    coupon_name_fold  TEXT NOT NULL,
    coupon_code       TEXT NOT NULL CHECK (length(coupon_code) BETWEEN 1 AND 255),
    coupon_code_fold  TEXT NOT NULL,
    enabled           INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    value             INTEGER NOT NULL CHECK (value >= 0),
    value_type        TEXT NOT NULL DEFAULT 'fixed_cart' CHECK (value_type IN
                      ('fixed_cart', 'fixed_product', 'percentage_cart', 'percentage_product')),
    valid_from        TEXT,
    valid_to          TEXT,
    max_value         INTEGER CHECK (max_value >= 0),
    free_shipping     INTEGER NOT NULL DEFAULT 0 CHECK (free_shipping IN (0, 1)),
    max_uses          INTEGER NOT NULL DEFAULT 0 CHECK (max_uses >= 0),
    max_customer_uses INTEGER NOT NULL DEFAULT 0 CHECK (max_customer_uses >= 0),
    max_quantity      INTEGER NOT NULL DEFAULT 0 CHECK (max_quantity >= 0),
    product_category  TEXT NOT NULL DEFAULT '',
    products          TEXT NOT NULL DEFAULT '',
    min_subtotal      INTEGER CHECK (min_subtotal >= 0),
    brand_ids         TEXT NOT NULL DEFAULT '',
    version           INTEGER NOT NULL DEFAULT 1,
    CHECK (valid_from <= valid_to),
    CHECK (value <= 10000000 OR value_type IN ('fixed_cart', 'fixed_product'))
) STRICT;
CREATE UNIQUE INDEX shop_coupons_code ON shop_coupons (coupon_code_fold);
CREATE INDEX shop_coupons_name ON shop_coupons (coupon_name_fold);
CREATE INDEX shop_coupons_enabled ON shop_coupons (enabled);

-- The methods of shipping and of payment.
CREATE TABLE shop_methods (
    extension_id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- 1 is shipping, 2 is payment.
    method_kind  INTEGER NOT NULL CHECK (method_kind IN (1, 2)),
    name         TEXT NOT NULL CHECK (length(name) <= 255),
    name_fold    TEXT NOT NULL,
    element      TEXT NOT NULL CHECK (length(element) BETWEEN 1 AND 255
                      AND element NOT GLOB '*[^a-z0-9_]*'),
    enabled      INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    ordering     INTEGER NOT NULL DEFAULT 0,
    params       TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(params)),
    version      INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX shop_methods_element ON shop_methods (method_kind, element);

-- Tax profiles: the groups of products that are taxed alike.
CREATE TABLE shop_taxprofiles (
    shop_taxprofile_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    taxprofile_name      TEXT NOT NULL CHECK (length(taxprofile_name) <= 255),
    taxprofile_name_fold TEXT NOT NULL,
    enabled              INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version              INTEGER NOT NULL DEFAULT 1
) STRICT;

-- The rates of taxes, by zone.
CREATE TABLE shop_taxrates (
    shop_taxrate_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    taxrate_name      TEXT NOT NULL CHECK (length(taxrate_name) <= 255),
    taxrate_name_fold TEXT NOT NULL,
    tax_percent       INTEGER NOT NULL CHECK (tax_percent BETWEEN 0 AND 100000),
    geozone_id        INTEGER,
    enabled           INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version           INTEGER NOT NULL DEFAULT 1
) STRICT;

-- The tree of categories. `path` and `level` follow from the parent.
CREATE TABLE shop_categories (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    title       TEXT NOT NULL CHECK (length(title) <= 255),
    title_fold  TEXT NOT NULL,
    alias       TEXT NOT NULL CHECK (length(alias) BETWEEN 1 AND 255 AND instr(alias, '/') = 0),
    alias_fold  TEXT NOT NULL,
    published   INTEGER NOT NULL DEFAULT 1 CHECK (published IN (-2, 0, 1, 2)),
    -- 0 is the top, which is no record; triggers stand in for a foreign key.
    parent_id   INTEGER NOT NULL DEFAULT 0,
    level       INTEGER NOT NULL CHECK (level >= 1),
    description TEXT NOT NULL DEFAULT '' CHECK (length(description) <= 65535),
    path        TEXT NOT NULL,
    language    TEXT NOT NULL DEFAULT '*' CHECK (length(language) <= 7),
    version     INTEGER NOT NULL DEFAULT 1,
    CHECK (parent_id <> id)
) STRICT;
CREATE UNIQUE INDEX shop_categories_alias ON shop_categories (parent_id, alias);
CREATE UNIQUE INDEX shop_categories_path ON shop_categories (path);
CREATE INDEX shop_categories_title ON shop_categories (title_fold);

-- Products. The stock record of a product is part of its row: has_stock says whether it exists. There is
-- an index for each order and filter of the lists, and for those that are often used together.
CREATE TABLE shop_products (
    shop_product_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    product_source_id INTEGER,
    product_type      TEXT NOT NULL DEFAULT 'simple' CHECK (length(product_type) BETWEEN 1 AND 64),
    product_name      TEXT NOT NULL CHECK (length(product_name) <= 255),
    product_name_fold TEXT NOT NULL,
    visibility        INTEGER NOT NULL DEFAULT 1 CHECK (visibility IN (0, 1)),
    enabled           INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    manufacturer_id   INTEGER REFERENCES shop_manufacturers (shop_manufacturer_id),
    category_id       INTEGER REFERENCES shop_categories (id),
    taxprofile_id     INTEGER REFERENCES shop_taxprofiles (shop_taxprofile_id),
    vendor_id         INTEGER,
    has_options       INTEGER NOT NULL DEFAULT 0 CHECK (has_options IN (0, 1)),
    sku               TEXT NOT NULL DEFAULT '' CHECK (length(sku) <= 255),
    sku_fold          TEXT NOT NULL DEFAULT '',
    upc               TEXT NOT NULL DEFAULT '' CHECK (length(upc) <= 64),
    price             INTEGER NOT NULL DEFAULT 0 CHECK (price >= 0),
    sale_price        INTEGER CHECK (sale_price >= 0),
    main_image        TEXT NOT NULL DEFAULT '' CHECK (length(main_image) <= 2048),
    main_image_fold   TEXT NOT NULL DEFAULT '',
    created_on        TEXT NOT NULL,
    modified_on       TEXT NOT NULL,
    has_stock         INTEGER NOT NULL DEFAULT 1 CHECK (has_stock IN (0, 1)),
    quantity          INTEGER NOT NULL DEFAULT 0 CHECK (quantity >= 0),
    manage_stock      INTEGER NOT NULL DEFAULT 1 CHECK (manage_stock IN (0, 1)),
    min_out_qty       INTEGER CHECK (min_out_qty >= 0),
    min_sale_qty      INTEGER CHECK (min_sale_qty >= 0),
    max_sale_qty      INTEGER CHECK (max_sale_qty >= 0),
    notify_qty        INTEGER CHECK (notify_qty >= 0),
    version           INTEGER NOT NULL DEFAULT 1,
    main_image_rest   TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX shop_products_source ON shop_products (product_source_id);
CREATE INDEX shop_products_type ON shop_products (product_type);
CREATE INDEX shop_products_name ON shop_products (product_name_fold);
CREATE INDEX shop_products_visibility ON shop_products (visibility);
CREATE INDEX shop_products_enabled ON shop_products (enabled);
CREATE INDEX shop_products_manufacturer ON shop_products (manufacturer_id);
CREATE INDEX shop_products_category ON shop_products (category_id);
CREATE INDEX shop_products_taxprofile ON shop_products (taxprofile_id);
CREATE INDEX shop_products_options ON shop_products (has_options);
CREATE INDEX shop_products_sku ON shop_products (sku_fold);
CREATE INDEX shop_products_price ON shop_products (price);
CREATE INDEX shop_products_sale_price ON shop_products (sale_price);
CREATE INDEX shop_products_quantity ON shop_products (quantity);
CREATE INDEX shop_products_manage_stock ON shop_products (manage_stock);
CREATE INDEX shop_products_image ON shop_products (main_image_fold);
CREATE INDEX shop_products_created ON shop_products (created_on);
CREATE INDEX shop_products_enabled_created ON shop_products (enabled, created_on);
CREATE INDEX shop_products_manufacturer_enabled ON shop_products (manufacturer_id, enabled);
CREATE INDEX shop_products_manufacturer_created ON shop_products (manufacturer_id, created_on);
CREATE INDEX shop_products_manufacturer_price ON shop_products (manufacturer_id, price);
CREATE INDEX shop_products_manufacturer_name ON shop_products (manufacturer_id, product_name_fold);
CREATE INDEX shop_products_category_enabled ON shop_products (category_id, enabled);
CREATE INDEX shop_products_category_manufacturer ON shop_products (category_id, manufacturer_id);
CREATE INDEX shop_products_category_created ON shop_products (category_id, created_on);
CREATE INDEX shop_products_category_price ON shop_products (category_id, price);
CREATE INDEX shop_products_category_name ON shop_products (category_id, product_name_fold);

-- The variants in which a product is sold. The master variant always has the values of the product.
CREATE TABLE shop_variants (
    shop_variant_id      INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id           INTEGER NOT NULL
                         REFERENCES shop_products (shop_product_id) ON DELETE CASCADE,
    is_master            INTEGER NOT NULL DEFAULT 0 CHECK (is_master IN (0, 1)),
    sku                  TEXT NOT NULL DEFAULT '' CHECK (length(sku) <= 255),
    sku_fold             TEXT NOT NULL DEFAULT '',
    price                INTEGER NOT NULL DEFAULT 0 CHECK (price >= 0),
    manage_stock         INTEGER NOT NULL DEFAULT 1 CHECK (manage_stock IN (0, 1)),
    availability         INTEGER NOT NULL DEFAULT 1 CHECK (availability IN (0, 1)),
    sold                 INTEGER NOT NULL DEFAULT 0 CHECK (sold >= 0),
    isdefault_variant    INTEGER NOT NULL DEFAULT 0 CHECK (isdefault_variant IN (0, 1)),
    upc                  TEXT NOT NULL DEFAULT '' CHECK (length(upc) <= 64),
    quantity_restriction INTEGER NOT NULL DEFAULT 0 CHECK (quantity_restriction IN (0, 1)),
    min_sale_qty         INTEGER CHECK (min_sale_qty >= 0),
    max_sale_qty         INTEGER CHECK (max_sale_qty >= 0),
    allow_backorder      INTEGER NOT NULL DEFAULT 0 CHECK (allow_backorder BETWEEN 0 AND 2),
    weight               INTEGER CHECK (weight >= 0),
    length               INTEGER CHECK (length >= 0),
    width                INTEGER CHECK (width >= 0),
    height               INTEGER CHECK (height >= 0),
    shipping             INTEGER NOT NULL DEFAULT 0 CHECK (shipping IN (0, 1)),
    version              INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX shop_variants_product ON shop_variants (product_id);
CREATE UNIQUE INDEX shop_variants_master ON shop_variants (product_id) WHERE is_master = 1;
CREATE UNIQUE INDEX shop_variants_sku ON shop_variants (sku_fold) WHERE sku_fold <> '';

-- Every change of a quantity in stock, with who made it and why. Rows are only ever added. They remain after
-- their product, so they have its SKU of the time.
CREATE TABLE shop_inventory_ledger (
    entry_id        INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id      INTEGER NOT NULL,
    sku             TEXT NOT NULL CHECK (length(sku) <= 255),
    quantity_delta  INTEGER NOT NULL CHECK (quantity_delta <> 0),
    quantity_before INTEGER NOT NULL CHECK (quantity_before >= 0),
    quantity_after  INTEGER NOT NULL CHECK (quantity_after >= 0),
    reason          TEXT NOT NULL CHECK (length(reason) <= 255),
    reference       TEXT NOT NULL DEFAULT '' CHECK (length(reference) <= 255),
    user_id         INTEGER NOT NULL DEFAULT 0,
    token_name      TEXT NOT NULL DEFAULT '' CHECK (length(token_name) <= 255),
    request_id      TEXT,
    created_on      TEXT NOT NULL,
    CHECK (quantity_after = quantity_before + quantity_delta)
) STRICT;
CREATE INDEX shop_inventory_ledger_product ON shop_inventory_ledger (product_id);
CREATE INDEX shop_inventory_ledger_request ON shop_inventory_ledger (request_id) WHERE request_id IS NOT NULL;

-- The addresses of customers.
CREATE TABLE shop_addresses (
    shop_address_id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL DEFAULT 0 CHECK (user_id >= 0),
    first_name      TEXT NOT NULL CHECK (length(first_name) <= 255),
    first_name_fold TEXT NOT NULL,
    last_name       TEXT NOT NULL CHECK (length(last_name) <= 255),
    last_name_fold  TEXT NOT NULL,
    email           TEXT NOT NULL CHECK (length(email) <= 254),
    email_fold      TEXT NOT NULL,
    city            TEXT NOT NULL DEFAULT '' CHECK (length(city) <= 255),
    city_fold       TEXT NOT NULL DEFAULT '',
    phone_1         TEXT NOT NULL DEFAULT '' CHECK (length(phone_1) <= 255),
    phone_1_fold    TEXT NOT NULL DEFAULT '',
    company         TEXT NOT NULL DEFAULT '' CHECK (length(company) <= 255),
    company_fold    TEXT NOT NULL DEFAULT '',
    type            TEXT NOT NULL DEFAULT 'billing' CHECK (type IN ('billing', 'shipping')),
    address_1       TEXT NOT NULL DEFAULT '' CHECK (length(address_1) <= 255),
    address_2       TEXT NOT NULL DEFAULT '' CHECK (length(address_2) <= 255),
    zip             TEXT NOT NULL DEFAULT '' CHECK (length(zip) <= 255),
    zone_id         INTEGER REFERENCES shop_zones (shop_zone_id),
    country_id      INTEGER REFERENCES shop_countries (shop_country_id),
    phone_2         TEXT NOT NULL DEFAULT '' CHECK (length(phone_2) <= 255),
    tax_number      TEXT NOT NULL DEFAULT '' CHECK (length(tax_number) <= 255),
    version         INTEGER NOT NULL DEFAULT 1,
    -- A zone is one of the address's country.
    FOREIGN KEY (zone_id, country_id) REFERENCES shop_zones (shop_zone_id, country_id)
) STRICT;
CREATE INDEX shop_addresses_user ON shop_addresses (user_id);
CREATE INDEX shop_addresses_first_name ON shop_addresses (first_name_fold);
CREATE INDEX shop_addresses_last_name ON shop_addresses (last_name_fold);
CREATE INDEX shop_addresses_email ON shop_addresses (email_fold);
CREATE INDEX shop_addresses_city ON shop_addresses (city_fold);
CREATE INDEX shop_addresses_phone ON shop_addresses (phone_1_fold);
CREATE INDEX shop_addresses_company ON shop_addresses (company_fold);
CREATE INDEX shop_addresses_zone ON shop_addresses (zone_id);
CREATE INDEX shop_addresses_country ON shop_addresses (country_id);

-- Orders, with the addresses and prices of their time. item_quantity is the number of pieces, so that sums
-- over orders need not read the items; fulfilment_state says how far the order has been shipped.
CREATE TABLE shop_orders (
    shop_order_id           INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id                TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 64),
    order_id_fold           TEXT NOT NULL,
    user_id                 INTEGER NOT NULL DEFAULT 0 CHECK (user_id >= 0),
    user_email              TEXT NOT NULL CHECK (length(user_email) <= 254),
    user_email_fold         TEXT NOT NULL,
    order_state_id          INTEGER NOT NULL REFERENCES shop_orderstatuses (shop_orderstatus_id),
    order_total             INTEGER NOT NULL DEFAULT 0 CHECK (order_total >= 0),
    orderpayment_type       TEXT NOT NULL DEFAULT '' CHECK (length(orderpayment_type) <= 255),
    orderpayment_type_fold  TEXT NOT NULL DEFAULT '',
    currency_code           TEXT NOT NULL REFERENCES shop_currencies (currency_code),
    billing_first_name      TEXT NOT NULL DEFAULT '' CHECK (length(billing_first_name) <= 255),
    billing_first_name_fold TEXT NOT NULL DEFAULT '',
    billing_last_name       TEXT NOT NULL DEFAULT '' CHECK (length(billing_last_name) <= 255),
    billing_last_name_fold  TEXT NOT NULL DEFAULT '',
    -- Both names as they are searched: either alone, or one after the other.
    billing_name            TEXT NOT NULL GENERATED ALWAYS AS
                            (billing_first_name_fold || ' ' || billing_last_name_fold) STORED,
    created_on              TEXT NOT NULL,
    order_subtotal          INTEGER NOT NULL DEFAULT 0 CHECK (order_subtotal >= 0),
    order_tax               INTEGER NOT NULL DEFAULT 0 CHECK (order_tax >= 0),
    order_shipping          INTEGER NOT NULL DEFAULT 0 CHECK (order_shipping >= 0),
    order_shipping_tax      INTEGER NOT NULL DEFAULT 0 CHECK (order_shipping_tax >= 0),
    order_discount          INTEGER NOT NULL DEFAULT 0 CHECK (order_discount >= 0),
    order_surcharge         INTEGER NOT NULL DEFAULT 0 CHECK (order_surcharge >= 0),
    order_fees              INTEGER NOT NULL DEFAULT 0 CHECK (order_fees >= 0),
    order_credit            INTEGER NOT NULL DEFAULT 0 CHECK (order_credit >= 0),
    order_refund            INTEGER NOT NULL DEFAULT 0 CHECK (order_refund >= 0),
    transaction_id          TEXT NOT NULL DEFAULT '' CHECK (length(transaction_id) <= 255),
    transaction_status      TEXT NOT NULL DEFAULT '' CHECK (length(transaction_status) <= 255),
    currency_value          INTEGER NOT NULL CHECK (currency_value > 0),
    customer_note           TEXT NOT NULL DEFAULT '' CHECK (length(customer_note) <= 65535),
    customer_language       TEXT NOT NULL DEFAULT '' CHECK (length(customer_language) <= 32),
    is_shippable            INTEGER NOT NULL DEFAULT 0 CHECK (is_shippable IN (0, 1)),
    invoice_prefix          TEXT NOT NULL DEFAULT '' CHECK (length(invoice_prefix) <= 32),
    modified_on             TEXT NOT NULL,
    item_quantity           INTEGER NOT NULL DEFAULT 0 CHECK (item_quantity >= 0),
    version                 INTEGER NOT NULL DEFAULT 1,
    shipping_first_name     TEXT NOT NULL DEFAULT '' CHECK (length(shipping_first_name) <= 255),
    shipping_last_name      TEXT NOT NULL DEFAULT '' CHECK (length(shipping_last_name) <= 255),
    shipping_company        TEXT NOT NULL DEFAULT '' CHECK (length(shipping_company) <= 255),
    shipping_phone_1        TEXT NOT NULL DEFAULT '' CHECK (length(shipping_phone_1) <= 255),
    shipping_phone_2        TEXT NOT NULL DEFAULT '' CHECK (length(shipping_phone_2) <= 255),
    shipping_address_1      TEXT NOT NULL DEFAULT '' CHECK (length(shipping_address_1) <= 255),
    shipping_address_2      TEXT NOT NULL DEFAULT '' CHECK (length(shipping_address_2) <= 255),
    shipping_city           TEXT NOT NULL DEFAULT '' CHECK (length(shipping_city) <= 255),
    shipping_zip            TEXT NOT NULL DEFAULT '' CHECK (length(shipping_zip) <= 255),
    shipping_zone_id        INTEGER,
    shipping_zone_name      TEXT NOT NULL DEFAULT '' CHECK (length(shipping_zone_name) <= 255),
    shipping_country_id     INTEGER,
    shipping_country_name   TEXT NOT NULL DEFAULT '' CHECK (length(shipping_country_name) <= 255),
    shipping_tax_number     TEXT NOT NULL DEFAULT '' CHECK (length(shipping_tax_number) <= 255),
    ordershipping_name      TEXT NOT NULL DEFAULT '' CHECK (length(ordershipping_name) <= 255),
    ordershipping_code      TEXT NOT NULL DEFAULT '' CHECK (length(ordershipping_code) <= 255),
    ordershipping_type      TEXT NOT NULL DEFAULT '' CHECK (length(ordershipping_type) <= 255),
    fulfilment_state        TEXT NOT NULL DEFAULT 'unfulfilled'
                            CHECK (fulfilment_state IN ('unfulfilled', 'partial', 'fulfilled'))
) STRICT;
CREATE UNIQUE INDEX shop_orders_reference ON shop_orders (order_id);
CREATE INDEX shop_orders_reference_fold ON shop_orders (order_id_fold);
CREATE INDEX shop_orders_user ON shop_orders (user_id, created_on);
CREATE INDEX shop_orders_user_status ON shop_orders (user_id, order_state_id, created_on);
CREATE INDEX shop_orders_email ON shop_orders (user_email_fold);
CREATE INDEX shop_orders_status ON shop_orders (order_state_id, created_on);
CREATE INDEX shop_orders_total ON shop_orders (order_total);
CREATE INDEX shop_orders_payment ON shop_orders (orderpayment_type, created_on);
CREATE INDEX shop_orders_payment_fold ON shop_orders (orderpayment_type_fold);
CREATE INDEX shop_orders_currency ON shop_orders (currency_code);
CREATE INDEX shop_orders_first_name ON shop_orders (billing_first_name_fold);
CREATE INDEX shop_orders_last_name ON shop_orders (billing_last_name_fold);
CREATE INDEX shop_orders_created ON shop_orders (created_on);
CREATE INDEX shop_orders_user_key ON shop_orders (user_id);
CREATE INDEX shop_orders_user_total ON shop_orders (user_id, order_total);
CREATE INDEX shop_orders_status_key ON shop_orders (order_state_id);
CREATE INDEX shop_orders_status_total ON shop_orders (order_state_id, order_total);
CREATE INDEX shop_orders_status_payment
    ON shop_orders (order_state_id, orderpayment_type, created_on);
CREATE INDEX shop_orders_payment_key ON shop_orders (orderpayment_type);
CREATE INDEX shop_orders_fulfilment
    ON shop_orders (is_shippable, fulfilment_state, order_state_id, created_on);
CREATE INDEX shop_orders_fulfilment_state
    ON shop_orders (is_shippable, fulfilment_state, created_on);
CREATE INDEX shop_orders_ship_to ON shop_orders (shipping_country_id, created_on);

-- The items of orders. take_stock says whether the order took the item out of the stock when it was made;
-- shipped counts what shipments contain, so that no two of them can have the same piece.
CREATE TABLE shop_orderitems (
    shop_orderitem_id             INTEGER PRIMARY KEY AUTOINCREMENT,
    order_key                     INTEGER NOT NULL
                                  REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    orderitem_sku                 TEXT NOT NULL DEFAULT '' CHECK (length(orderitem_sku) <= 255),
    orderitem_sku_fold            TEXT NOT NULL DEFAULT '',
    orderitem_name                TEXT NOT NULL DEFAULT '' CHECK (length(orderitem_name) <= 255),
    orderitem_name_fold           TEXT NOT NULL DEFAULT '',
    orderitem_quantity            INTEGER NOT NULL DEFAULT 1 CHECK (orderitem_quantity >= 1),
    orderitem_finalprice          INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_finalprice >= 0),
    orderitem_tax                 INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_tax >= 0),
    product_id                    INTEGER,
    variant_id                    INTEGER,
    orderitem_attributes          TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(orderitem_attributes)),
    orderitem_price               INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_price >= 0),
    orderitem_option_price        INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_option_price >= 0),
    orderitem_finalprice_with_tax INTEGER NOT NULL DEFAULT 0
                                  CHECK (orderitem_finalprice_with_tax >= 0),
    orderitem_discount            INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_discount >= 0),
    orderitem_weight              INTEGER CHECK (orderitem_weight >= 0),
    created_on                    TEXT NOT NULL,
    version                       INTEGER NOT NULL DEFAULT 1,
    take_stock                    INTEGER NOT NULL DEFAULT 0 CHECK (take_stock IN (0, 1)),
    shipped                       INTEGER NOT NULL DEFAULT 0 CHECK (shipped BETWEEN 0 AND orderitem_quantity)
) STRICT;
CREATE INDEX shop_orderitems_order ON shop_orderitems (order_key);

-- The history of each order: its statuses and comments.
CREATE TABLE shop_orderhistories (
    shop_orderhistory_id INTEGER PRIMARY KEY AUTOINCREMENT,
    order_key            INTEGER NOT NULL
                         REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    order_state_id       INTEGER NOT NULL REFERENCES shop_orderstatuses (shop_orderstatus_id),
    comment              TEXT NOT NULL DEFAULT '' CHECK (length(comment) <= 65535),
    comment_fold         TEXT NOT NULL DEFAULT '',
    notify_customer      INTEGER NOT NULL DEFAULT 0 CHECK (notify_customer IN (0, 1)),
    created_by           INTEGER NOT NULL DEFAULT 0,
    created_on           TEXT NOT NULL,
    version              INTEGER NOT NULL DEFAULT 1,
    comment_rest         TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX shop_orderhistories_order ON shop_orderhistories (order_key);
CREATE INDEX shop_orderhistories_status ON shop_orderhistories (order_state_id);

-- The parcels of orders.
CREATE TABLE shop_shipments (
    shop_shipment_id INTEGER PRIMARY KEY AUTOINCREMENT,
    order_key        INTEGER NOT NULL REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    tracking_id      TEXT NOT NULL DEFAULT '' CHECK (length(tracking_id) <= 255),
    carrier          TEXT NOT NULL DEFAULT '' CHECK (length(carrier) <= 255),
    tracking_url     TEXT NOT NULL DEFAULT '' CHECK (length(tracking_url) <= 2048),
    -- What is in it, as clients read it.
    items            TEXT NOT NULL CHECK (json_valid(items)),
    -- The status that the order had before and the one that it got, if the shipment has changed it.
    status_before    INTEGER,
    status_after     INTEGER,
    created_by       INTEGER NOT NULL DEFAULT 0,
    created_on       TEXT NOT NULL,
    modified_on      TEXT NOT NULL,
    version          INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX shop_shipments_order ON shop_shipments (order_key);

-- Vouchers: amounts that customers have paid in advance.
CREATE TABLE shop_vouchers (
    shop_voucher_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    voucher_code      TEXT NOT NULL CHECK (length(voucher_code) BETWEEN 1 AND 255),
    voucher_code_fold TEXT NOT NULL,
    voucher_type      TEXT NOT NULL DEFAULT 'giftcard' CHECK (length(voucher_type) <= 64),
    voucher_type_fold TEXT NOT NULL DEFAULT 'giftcard',
    email_to          TEXT NOT NULL DEFAULT '' CHECK (length(email_to) <= 254),
    email_to_fold     TEXT NOT NULL DEFAULT '',
    voucher_value     INTEGER NOT NULL CHECK (voucher_value >= 0),
    enabled           INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    created_on        TEXT NOT NULL,
    order_id          TEXT NOT NULL DEFAULT '' CHECK (length(order_id) <= 64),
    subject           TEXT NOT NULL DEFAULT '' CHECK (length(subject) <= 255),
    valid_from        TEXT,
    valid_to          TEXT,
    version           INTEGER NOT NULL DEFAULT 1,
    CHECK (valid_from <= valid_to)
) STRICT;
CREATE UNIQUE INDEX shop_vouchers_code ON shop_vouchers (voucher_code_fold);
CREATE INDEX shop_vouchers_email ON shop_vouchers (email_to_fold);
CREATE INDEX shop_vouchers_order ON shop_vouchers (order_id);
CREATE INDEX shop_vouchers_created ON shop_vouchers (created_on);

-- Every change of the balance of a voucher. Rows are only ever added, and go with their voucher.
CREATE TABLE shop_voucher_ledger (
    entry_id        INTEGER PRIMARY KEY AUTOINCREMENT,
    voucher_id      INTEGER NOT NULL
                    REFERENCES shop_vouchers (shop_voucher_id) ON DELETE CASCADE,
    adjustment_type TEXT NOT NULL
                    CHECK (adjustment_type IN ('credit', 'debit', 'correction', 'order')),
    amount          INTEGER NOT NULL CHECK (amount <> 0),
    balance_before  INTEGER NOT NULL CHECK (balance_before >= 0),
    balance_after   INTEGER NOT NULL CHECK (balance_after >= 0),
    reason          TEXT NOT NULL CHECK (length(reason) <= 255),
    note            TEXT NOT NULL DEFAULT '' CHECK (length(note) <= 65535),
    user_id         INTEGER NOT NULL,
    created_on      TEXT NOT NULL,
    token_name      TEXT NOT NULL DEFAULT '' CHECK (length(token_name) <= 255),
    request_id      TEXT,
    CHECK (balance_after = balance_before + amount)
) STRICT;
CREATE INDEX shop_voucher_ledger_voucher ON shop_voucher_ledger (voucher_id, amount);
CREATE INDEX shop_voucher_ledger_request ON shop_voucher_ledger (request_id)
    WHERE request_id IS NOT NULL;
CREATE INDEX shop_voucher_ledger_entries ON shop_voucher_ledger (voucher_id);

-- Mails that have been promised and not been sent. A row goes when its mail has been handed over; one that
-- nobody takes stays, with the reason.
CREATE TABLE shop_mails (
    shop_mail_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    mail_id        TEXT NOT NULL CHECK (length(mail_id) BETWEEN 1 AND 64),
    recipient      TEXT NOT NULL CHECK (length(recipient) <= 254),
    recipient_name TEXT NOT NULL CHECK (length(recipient_name) <= 511),
    subject        TEXT NOT NULL CHECK (length(subject) <= 1000),
    body           TEXT NOT NULL,
    created_on     TEXT NOT NULL,
    attempts       INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- In seconds since 1970: not before then is it tried again.
    due_at         INTEGER NOT NULL,
    given_up       INTEGER NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1)),
    failure        TEXT NOT NULL DEFAULT '',
    claim          TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX shop_mails_id ON shop_mails (mail_id);
CREATE INDEX shop_mails_due ON shop_mails (given_up, due_at);

-- The keys of writes, with their answers: a write that is sent again under its key is answered as it was. A
-- row is written in the transaction of its write. The body is compressed, as text in base64.
CREATE TABLE shop_keys (
    shop_key_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL,
    idempotency_key TEXT NOT NULL,
    -- The SHA-256 of the request, in hexadecimal.
    fingerprint     TEXT NOT NULL,
    created_on      TEXT NOT NULL,
    status          INTEGER NOT NULL,
    location        TEXT NOT NULL,
    etag            TEXT NOT NULL,
    body            TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX shop_keys__user_id__idempotency_key ON shop_keys (user_id, idempotency_key);

-- The number of the latest recount, and how often it has written, in the only row.
CREATE TABLE shop_recounts (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    run INTEGER NOT NULL,
    writes INTEGER NOT NULL
) STRICT;
INSERT INTO shop_recounts VALUES (1, 0, 0);

-- The feed of changes: triggers queue each change of a record in the transaction of the change. Queued
-- changes then get places, when somebody reads the feed, and once a second.
CREATE TABLE shop_change_queue (
    entry  INTEGER PRIMARY KEY,
    kind   TEXT NOT NULL,
    record INTEGER NOT NULL
) STRICT;

-- The latest change of each record that has changed since the feed began. Its place is a number that grows
-- with each change: the moment of the change in microseconds since 1970.
CREATE TABLE shop_changes (
    kind    TEXT NOT NULL,
    record  INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    deleted INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    PRIMARY KEY (kind, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX shop_changes_seq ON shop_changes (seq);
CREATE INDEX shop_changes_kind ON shop_changes (kind, seq, deleted, record);

-- The feed itself, in the only row. It gets another name after a bulk fill and after a restored backup. It
-- begins a second before its first place, so that a moment can be between the two.
CREATE TABLE shop_feed (
    one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    feed  TEXT NOT NULL,
    began INTEGER NOT NULL,
    -- The latest place.
    seq   INTEGER NOT NULL,
    -- Deletions up to this place are forgotten.
    floor INTEGER NOT NULL,
    -- Up to this place, old deletions have been looked for.
    swept INTEGER NOT NULL
) STRICT;
INSERT INTO shop_feed (one, feed, began, seq, floor, swept)
SELECT 1, lower(hex(randomblob(8))), begun * 1000000,
    (begun + 1) * 1000000, (begun + 1) * 1000000, (begun + 1) * 1000000
FROM (SELECT unixepoch() AS begun);
