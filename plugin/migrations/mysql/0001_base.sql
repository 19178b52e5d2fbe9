-- The tables of a store, with their constraints, indexes and first rows. What follows from records by
-- description, such as counts, triggers and pieces of texts, is not here: see `src/sql/derived.rs`.
--
-- A column *_fold holds the case-folded copy of the text beside it: it is what is searched and sorted by. A
-- copy that only sorts has the first 255 characters, and any other at most as many as an index with two keys
-- takes; where long texts are sorted by all of their characters, *_rest has the others. Texts are collated
-- by code point, and spaces at their ends count; folding makes one character three at most. An index on one
-- column ends with the key by itself. A unique index is named after its table and columns, because a
-- violation names the index alone. Lists of keys are texts with commas. version counts the changes of a
-- record, so that a client can refuse to overwrite the change of another.
--
-- A column locks is incremented to lock a row on all nodes of a cluster: a node knows no locks of another
-- one, but of two transactions that change the same row on two nodes, one is refused when it commits.

-- The store itself, in its only row: what has been installed, and which derived objects the database has.
-- Their number and digest are noted last; `shop_derived` has each of them.
CREATE TABLE shop_meta (
    one                 smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    reference_installed smallint NOT NULL DEFAULT 0 CHECK (reference_installed IN (0, 1)),
    demo_set_up         smallint NOT NULL DEFAULT 0 CHECK (demo_set_up IN (0, 1)),
    locks               bigint NOT NULL DEFAULT 0,
    derived_number      bigint NOT NULL DEFAULT 0,
    derived_digest      varchar(64) NOT NULL DEFAULT ''
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
INSERT INTO shop_meta (one) VALUES (1);

-- The derived objects that the database has, each with a digest of its text and the statement that removes
-- it. See `src/store/reconciliation.rs`.
CREATE TABLE shop_derived (
    name   varchar(128) NOT NULL PRIMARY KEY,
    digest varchar(64) NOT NULL,
    remove varchar(255) NOT NULL
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- The countries of addresses.
CREATE TABLE shop_countries (
    shop_country_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    country_name      varchar(255) NOT NULL,
    country_name_fold varchar(765) NOT NULL,
    country_isocode_2 varchar(2) NOT NULL CHECK (country_isocode_2 REGEXP '^[A-Z]{2}\\z'),
    country_isocode_3 varchar(3) NOT NULL CHECK (country_isocode_3 REGEXP '^[A-Z]{3}\\z'),
    enabled           smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version           bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_countries__country_isocode_2 ON shop_countries (country_isocode_2);
CREATE UNIQUE INDEX shop_countries__country_isocode_3 ON shop_countries (country_isocode_3);
CREATE INDEX shop_countries_name ON shop_countries (country_name_fold);
CREATE INDEX shop_countries_enabled ON shop_countries (enabled);

-- The regions of a country, such as states or cantons.
CREATE TABLE shop_zones (
    shop_zone_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    zone_name      varchar(255) NOT NULL,
    zone_name_fold varchar(765) NOT NULL,
    zone_code      varchar(32) NOT NULL,
    zone_code_fold varchar(96) NOT NULL,
    country_id     bigint NOT NULL REFERENCES shop_countries (shop_country_id),
    enabled        smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version        bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_zones__country_id__zone_code ON shop_zones (country_id, zone_code);
CREATE INDEX shop_zones_country ON shop_zones (country_id);
CREATE INDEX shop_zones_name ON shop_zones (zone_name_fold);
CREATE INDEX shop_zones_code ON shop_zones (zone_code_fold);
CREATE INDEX shop_zones_enabled ON shop_zones (enabled);
CREATE UNIQUE INDEX shop_zones__shop_zone_id__country_id ON shop_zones (shop_zone_id, country_id);

-- The currencies of orders, with their rates and how amounts are written.
CREATE TABLE shop_currencies (
    shop_currency_id      bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    currency_title        varchar(64) NOT NULL,
    currency_title_fold   varchar(192) NOT NULL,
    currency_code         varchar(3) NOT NULL CHECK (currency_code REGEXP '^[A-Z]{3}\\z'),
    currency_value        decimal(18, 8) NOT NULL DEFAULT 1 CHECK (currency_value > 0),
    enabled               smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    currency_position     varchar(4) NOT NULL DEFAULT 'pre'
                          CHECK (currency_position IN ('pre', 'post')),
    currency_num_decimals smallint NOT NULL DEFAULT 2 CHECK (currency_num_decimals BETWEEN 0 AND 8),
    currency_decimal      varchar(4) NOT NULL DEFAULT '.',
    currency_thousands    varchar(4) NOT NULL DEFAULT ',',
    version               bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_currencies__currency_code ON shop_currencies (currency_code);
CREATE INDEX shop_currencies_title ON shop_currencies (currency_title_fold);

-- The statuses that an order can have.
CREATE TABLE shop_orderstatuses (
    shop_orderstatus_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    orderstatus_name      varchar(64) NOT NULL,
    orderstatus_name_fold varchar(192) NOT NULL,
    orderstatus_core      smallint NOT NULL DEFAULT 0 CHECK (orderstatus_core IN (0, 1)),
    enabled               smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version               bigint NOT NULL DEFAULT 1,
    -- A core status can be neither deleted nor disabled.
    CHECK (orderstatus_core = 0 OR enabled = 1)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- The manufacturers of products.
CREATE TABLE shop_manufacturers (
    shop_manufacturer_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    manufacturer_name      varchar(255) NOT NULL,
    manufacturer_name_fold varchar(765) NOT NULL,
    enabled                smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    ordering               integer NOT NULL DEFAULT 0,
    manufacturer_desc      mediumtext NOT NULL DEFAULT ('')
                           CHECK (char_length(manufacturer_desc) <= 65535),
    version                bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_manufacturers_name
    ON shop_manufacturers (manufacturer_name_fold);
CREATE INDEX shop_manufacturers_enabled ON shop_manufacturers (enabled);
CREATE INDEX shop_manufacturers_ordering ON shop_manufacturers (ordering);

-- Coupons: reductions that customers get by entering a code.
CREATE TABLE shop_coupons (
    shop_coupon_id    bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    coupon_name       varchar(255) NOT NULL,
    coupon_name_fold  varchar(765) NOT NULL,
    coupon_code       varchar(255) NOT NULL CHECK (coupon_code <> ''),
    coupon_code_fold  varchar(765) NOT NULL,
    enabled           smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    value             decimal(17, 5) NOT NULL CHECK (value >= 0),
    value_type        varchar(32) NOT NULL DEFAULT 'fixed_cart' CHECK (value_type IN
                      ('fixed_cart', 'fixed_product', 'percentage_cart', 'percentage_product')),
    valid_from        datetime,
    valid_to          datetime,
    max_value         decimal(17, 5) CHECK (max_value >= 0),
    free_shipping     smallint NOT NULL DEFAULT 0 CHECK (free_shipping IN (0, 1)),
    max_uses          integer NOT NULL DEFAULT 0 CHECK (max_uses >= 0),
    max_customer_uses integer NOT NULL DEFAULT 0 CHECK (max_customer_uses >= 0),
    max_quantity      integer NOT NULL DEFAULT 0 CHECK (max_quantity >= 0),
    product_category  mediumtext NOT NULL DEFAULT (''),
    products          mediumtext NOT NULL DEFAULT (''),
    min_subtotal      decimal(17, 5) CHECK (min_subtotal >= 0),
    brand_ids         mediumtext NOT NULL DEFAULT (''),
    version           bigint NOT NULL DEFAULT 1,
    CHECK (valid_from <= valid_to),
    CHECK (value <= 100 OR value_type IN ('fixed_cart', 'fixed_product'))
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_coupons__coupon_code_fold ON shop_coupons (coupon_code_fold);
CREATE INDEX shop_coupons_name ON shop_coupons (coupon_name_fold);
CREATE INDEX shop_coupons_enabled ON shop_coupons (enabled);

-- The methods of shipping and of payment.
CREATE TABLE shop_methods (
    extension_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- 1 is shipping, 2 is payment.
    method_kind  smallint NOT NULL CHECK (method_kind IN (1, 2)),
    name         varchar(255) NOT NULL,
    name_fold    varchar(765) NOT NULL,
    element      varchar(255) NOT NULL CHECK (element REGEXP '^[a-z0-9_]+\\z'),
    enabled      smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    ordering     integer NOT NULL DEFAULT 0,
    -- Plain text: the engine's own check of JSON refuses what is nested deeper than 32 levels.
    params       mediumtext NOT NULL DEFAULT ('{}'),
    version      bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_methods__method_kind__element ON shop_methods (method_kind, element);

-- Tax profiles: the groups of products that are taxed alike.
CREATE TABLE shop_taxprofiles (
    shop_taxprofile_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    taxprofile_name      varchar(255) NOT NULL,
    taxprofile_name_fold varchar(765) NOT NULL,
    enabled              smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version              bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- The rates of taxes, by zone.
CREATE TABLE shop_taxrates (
    shop_taxrate_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    taxrate_name      varchar(255) NOT NULL,
    taxrate_name_fold varchar(765) NOT NULL,
    tax_percent       decimal(6, 3) NOT NULL CHECK (tax_percent BETWEEN 0 AND 100),
    geozone_id        bigint,
    enabled           smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    version           bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- The tree of categories. `path` and `level` follow from the parent.
CREATE TABLE shop_categories (
    id          bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    title       varchar(255) NOT NULL,
    title_fold  varchar(765) NOT NULL,
    alias       varchar(255) NOT NULL
                CHECK (alias <> '' AND instr(alias, '/') = 0),
    alias_fold  varchar(765) NOT NULL,
    published   smallint NOT NULL DEFAULT 1 CHECK (published IN (-2, 0, 1, 2)),
    -- 0 is the top, which is no record.
    parent_id   bigint NOT NULL DEFAULT 0,
    parent_key  bigint GENERATED ALWAYS AS (nullif(parent_id, 0)) STORED,
    level       integer NOT NULL CHECK (level >= 1),
    description mediumtext NOT NULL DEFAULT ('') CHECK (char_length(description) <= 65535),
    path        mediumtext NOT NULL,
    language    varchar(7) NOT NULL DEFAULT '*',
    version     bigint NOT NULL DEFAULT 1,
    FOREIGN KEY (parent_key) REFERENCES shop_categories (id)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_categories__parent_id__alias ON shop_categories (parent_id, alias);
CREATE INDEX shop_categories_parent ON shop_categories (parent_key);
CREATE INDEX shop_categories_title ON shop_categories (title_fold);

-- Products. The stock record of a product is part of its row: has_stock says whether it exists. There is
-- an index for each order and filter of the lists, and for those that are often used together.
CREATE TABLE shop_products (
    shop_product_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_source_id bigint,
    product_type      varchar(64) NOT NULL DEFAULT 'simple' CHECK (product_type <> ''),
    product_name      varchar(255) NOT NULL,
    product_name_fold varchar(763) NOT NULL,
    visibility        smallint NOT NULL DEFAULT 1 CHECK (visibility IN (0, 1)),
    enabled           smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    manufacturer_id   bigint REFERENCES shop_manufacturers (shop_manufacturer_id),
    category_id       bigint REFERENCES shop_categories (id),
    taxprofile_id     bigint REFERENCES shop_taxprofiles (shop_taxprofile_id),
    vendor_id         bigint,
    has_options       smallint NOT NULL DEFAULT 0 CHECK (has_options IN (0, 1)),
    sku               varchar(255) NOT NULL DEFAULT '',
    sku_fold          varchar(765) NOT NULL DEFAULT '',
    upc               varchar(64) NOT NULL DEFAULT '',
    price             decimal(17, 5) NOT NULL DEFAULT 0 CHECK (price >= 0),
    sale_price        decimal(17, 5) CHECK (sale_price >= 0),
    main_image        varchar(2048) NOT NULL DEFAULT '',
    main_image_fold   varchar(255) NOT NULL DEFAULT '',
    created_on        datetime NOT NULL,
    modified_on       datetime NOT NULL,
    has_stock         smallint NOT NULL DEFAULT 1 CHECK (has_stock IN (0, 1)),
    quantity          integer NOT NULL DEFAULT 0 CHECK (quantity >= 0),
    manage_stock      smallint NOT NULL DEFAULT 1 CHECK (manage_stock IN (0, 1)),
    min_out_qty       decimal(17, 5) CHECK (min_out_qty >= 0),
    min_sale_qty      decimal(17, 5) CHECK (min_sale_qty >= 0),
    max_sale_qty      decimal(17, 5) CHECK (max_sale_qty >= 0),
    notify_qty        decimal(17, 5) CHECK (notify_qty >= 0),
    version           bigint NOT NULL DEFAULT 1,
    main_image_rest   mediumtext NOT NULL DEFAULT ('')
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_products_source
    ON shop_products (product_source_id);
CREATE INDEX shop_products_type ON shop_products (product_type);
CREATE INDEX shop_products_name ON shop_products (product_name_fold);
CREATE INDEX shop_products_visibility ON shop_products (visibility);
CREATE INDEX shop_products_enabled ON shop_products (enabled);
CREATE INDEX shop_products_manufacturer
    ON shop_products (manufacturer_id);
CREATE INDEX shop_products_category ON shop_products (category_id);
CREATE INDEX shop_products_taxprofile ON shop_products (taxprofile_id);
CREATE INDEX shop_products_options ON shop_products (has_options);
CREATE INDEX shop_products_sku ON shop_products (sku_fold);
CREATE INDEX shop_products_price ON shop_products (price);
CREATE INDEX shop_products_sale_price ON shop_products (sale_price);
CREATE INDEX shop_products_quantity ON shop_products (quantity);
CREATE INDEX shop_products_manage_stock ON shop_products (manage_stock);
CREATE INDEX shop_products_created ON shop_products (created_on);
CREATE INDEX shop_products_enabled_created
    ON shop_products (enabled, created_on);
CREATE INDEX shop_products_manufacturer_enabled ON shop_products (manufacturer_id, enabled);
CREATE INDEX shop_products_manufacturer_created ON shop_products (manufacturer_id, created_on);
CREATE INDEX shop_products_manufacturer_price ON shop_products (manufacturer_id, price);
CREATE INDEX shop_products_manufacturer_name ON shop_products (manufacturer_id, product_name_fold);
CREATE INDEX shop_products_category_enabled ON shop_products (category_id, enabled);
CREATE INDEX shop_products_category_manufacturer ON shop_products (category_id, manufacturer_id);
CREATE INDEX shop_products_category_created ON shop_products (category_id, created_on);
CREATE INDEX shop_products_category_price ON shop_products (category_id, price);
CREATE INDEX shop_products_category_name ON shop_products (category_id, product_name_fold);
CREATE INDEX shop_products_image ON shop_products (main_image_fold);

-- The variants in which a product is sold. The master variant always has the values of the product.
CREATE TABLE shop_variants (
    shop_variant_id      bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id           bigint NOT NULL
                         REFERENCES shop_products (shop_product_id) ON DELETE CASCADE,
    is_master            smallint NOT NULL DEFAULT 0 CHECK (is_master IN (0, 1)),
    sku                  varchar(255) NOT NULL DEFAULT '',
    sku_fold             varchar(765) NOT NULL DEFAULT '',
    price                decimal(17, 5) NOT NULL DEFAULT 0 CHECK (price >= 0),
    manage_stock         smallint NOT NULL DEFAULT 1 CHECK (manage_stock IN (0, 1)),
    availability         smallint NOT NULL DEFAULT 1 CHECK (availability IN (0, 1)),
    sold                 decimal(17, 5) NOT NULL DEFAULT 0 CHECK (sold >= 0),
    isdefault_variant    smallint NOT NULL DEFAULT 0 CHECK (isdefault_variant IN (0, 1)),
    upc                  varchar(64) NOT NULL DEFAULT '',
    quantity_restriction smallint NOT NULL DEFAULT 0 CHECK (quantity_restriction IN (0, 1)),
    min_sale_qty         decimal(17, 5) CHECK (min_sale_qty >= 0),
    max_sale_qty         decimal(17, 5) CHECK (max_sale_qty >= 0),
    allow_backorder      smallint NOT NULL DEFAULT 0 CHECK (allow_backorder BETWEEN 0 AND 2),
    weight               decimal(17, 5) CHECK (weight >= 0),
    length               decimal(17, 5) CHECK (length >= 0),
    width                decimal(17, 5) CHECK (width >= 0),
    height               decimal(17, 5) CHECK (height >= 0),
    shipping             smallint NOT NULL DEFAULT 0 CHECK (shipping IN (0, 1)),
    -- What must be unique only where it is: unset values may stand any number of times.
    master_of            bigint GENERATED ALWAYS AS (if(is_master = 1, product_id, NULL)) STORED,
    sku_taken            varchar(765) GENERATED ALWAYS AS (nullif(sku_fold, '')) STORED,
    version              bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_variants_product ON shop_variants (product_id);
CREATE UNIQUE INDEX shop_variants__product_id ON shop_variants (master_of);
CREATE UNIQUE INDEX shop_variants__sku_fold ON shop_variants (sku_taken);
CREATE INDEX shop_variants_sku ON shop_variants (sku_fold);

-- Every change of a quantity in stock, with who made it and why. Rows are only ever added. They remain after
-- their product, so they have its SKU of the time.
CREATE TABLE shop_inventory_ledger (
    entry_id        bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id      bigint NOT NULL,
    sku             varchar(255) NOT NULL,
    quantity_delta  int NOT NULL CHECK (quantity_delta <> 0),
    quantity_before int NOT NULL CHECK (quantity_before >= 0),
    quantity_after  int NOT NULL CHECK (quantity_after >= 0),
    reason          varchar(255) NOT NULL,
    reference       varchar(255) NOT NULL DEFAULT '',
    user_id         bigint NOT NULL DEFAULT 0,
    token_name      varchar(255) NOT NULL DEFAULT '',
    request_id      varchar(64),
    created_on      datetime NOT NULL,
    CHECK (quantity_after = quantity_before + quantity_delta)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_inventory_ledger_product ON shop_inventory_ledger (product_id, entry_id);
CREATE INDEX shop_inventory_ledger_request ON shop_inventory_ledger (request_id);

-- The addresses of customers.
CREATE TABLE shop_addresses (
    shop_address_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id         bigint NOT NULL DEFAULT 0 CHECK (user_id >= 0),
    first_name      varchar(255) NOT NULL,
    first_name_fold varchar(765) NOT NULL,
    last_name       varchar(255) NOT NULL,
    last_name_fold  varchar(765) NOT NULL,
    email           varchar(254) NOT NULL,
    email_fold      varchar(762) NOT NULL,
    city            varchar(255) NOT NULL DEFAULT '',
    city_fold       varchar(765) NOT NULL DEFAULT '',
    phone_1         varchar(255) NOT NULL DEFAULT '',
    phone_1_fold    varchar(765) NOT NULL DEFAULT '',
    company         varchar(255) NOT NULL DEFAULT '',
    company_fold    varchar(765) NOT NULL DEFAULT '',
    type            varchar(8) NOT NULL DEFAULT 'billing'
                    CHECK (type IN ('billing', 'shipping')),
    address_1       varchar(255) NOT NULL DEFAULT '',
    address_2       varchar(255) NOT NULL DEFAULT '',
    zip             varchar(255) NOT NULL DEFAULT '',
    zone_id         bigint REFERENCES shop_zones (shop_zone_id),
    country_id      bigint REFERENCES shop_countries (shop_country_id),
    phone_2         varchar(255) NOT NULL DEFAULT '',
    tax_number      varchar(255) NOT NULL DEFAULT '',
    version         bigint NOT NULL DEFAULT 1,
    -- A zone is one of the address's country.
    FOREIGN KEY (zone_id, country_id) REFERENCES shop_zones (shop_zone_id, country_id)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
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
    shop_order_id           bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_id                varchar(64) NOT NULL CHECK (order_id <> ''),
    order_id_fold           varchar(192) NOT NULL,
    user_id                 bigint NOT NULL DEFAULT 0 CHECK (user_id >= 0),
    user_email              varchar(254) NOT NULL,
    user_email_fold         varchar(762) NOT NULL,
    order_state_id          bigint NOT NULL REFERENCES shop_orderstatuses (shop_orderstatus_id),
    order_total             decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_total >= 0),
    orderpayment_type       varchar(255) NOT NULL DEFAULT '',
    orderpayment_type_fold  varchar(765) NOT NULL DEFAULT '',
    currency_code           varchar(3) NOT NULL
                            REFERENCES shop_currencies (currency_code),
    billing_first_name      varchar(255) NOT NULL DEFAULT '',
    billing_first_name_fold varchar(765) NOT NULL DEFAULT '',
    billing_last_name       varchar(255) NOT NULL DEFAULT '',
    billing_last_name_fold  varchar(765) NOT NULL DEFAULT '',
    -- Both names as they are searched: either alone, or one after the other.
    billing_name            varchar(1531) GENERATED ALWAYS AS
                            (concat(billing_first_name_fold, ' ', billing_last_name_fold)) STORED,
    created_on              datetime NOT NULL,
    order_subtotal          decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_subtotal >= 0),
    order_tax               decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_tax >= 0),
    order_shipping          decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_shipping >= 0),
    order_shipping_tax      decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_shipping_tax >= 0),
    order_discount          decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_discount >= 0),
    order_surcharge         decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_surcharge >= 0),
    order_fees              decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_fees >= 0),
    order_credit            decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_credit >= 0),
    order_refund            decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_refund >= 0),
    transaction_id          varchar(255) NOT NULL DEFAULT '',
    transaction_status      varchar(255) NOT NULL DEFAULT '',
    currency_value          decimal(18, 8) NOT NULL CHECK (currency_value > 0),
    customer_note           mediumtext NOT NULL DEFAULT ('')
                            CHECK (char_length(customer_note) <= 65535),
    customer_language       varchar(32) NOT NULL DEFAULT '',
    is_shippable            smallint NOT NULL DEFAULT 0 CHECK (is_shippable IN (0, 1)),
    invoice_prefix          varchar(32) NOT NULL DEFAULT '',
    modified_on             datetime NOT NULL,
    item_quantity           bigint NOT NULL DEFAULT 0 CHECK (item_quantity >= 0),
    locks                   bigint NOT NULL DEFAULT 0,
    version                 bigint NOT NULL DEFAULT 1,
    shipping_first_name     varchar(255) NOT NULL DEFAULT '',
    shipping_last_name      varchar(255) NOT NULL DEFAULT '',
    shipping_company        varchar(255) NOT NULL DEFAULT '',
    shipping_phone_1        varchar(255) NOT NULL DEFAULT '',
    shipping_phone_2        varchar(255) NOT NULL DEFAULT '',
    shipping_address_1      varchar(255) NOT NULL DEFAULT '',
    shipping_address_2      varchar(255) NOT NULL DEFAULT '',
    shipping_city           varchar(255) NOT NULL DEFAULT '',
    shipping_zip            varchar(255) NOT NULL DEFAULT '',
    shipping_zone_id        bigint,
    shipping_zone_name      varchar(255) NOT NULL DEFAULT '',
    shipping_country_id     bigint,
    shipping_country_name   varchar(255) NOT NULL DEFAULT '',
    shipping_tax_number     varchar(255) NOT NULL DEFAULT '',
    ordershipping_name      varchar(255) NOT NULL DEFAULT '',
    ordershipping_code      varchar(255) NOT NULL DEFAULT '',
    ordershipping_type      varchar(255) NOT NULL DEFAULT '',
    fulfilment_state        varchar(16) NOT NULL DEFAULT 'unfulfilled'
                            CHECK (fulfilment_state IN ('unfulfilled', 'partial', 'fulfilled'))
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_orders__order_id ON shop_orders (order_id);
CREATE INDEX shop_orders_reference_fold ON shop_orders (order_id_fold);
CREATE INDEX shop_orders_user ON shop_orders (user_id, created_on);
CREATE INDEX shop_orders_user_status
    ON shop_orders (user_id, order_state_id, created_on);
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
CREATE INDEX shop_orders_status_payment ON shop_orders (order_state_id, orderpayment_type, created_on);
CREATE INDEX shop_orders_payment_key ON shop_orders (orderpayment_type);
CREATE INDEX shop_orders_fulfilment
    ON shop_orders (is_shippable, fulfilment_state, order_state_id, created_on);
CREATE INDEX shop_orders_fulfilment_state
    ON shop_orders (is_shippable, fulfilment_state, created_on);
CREATE INDEX shop_orders_ship_to ON shop_orders (shipping_country_id, created_on);

-- The items of orders. take_stock says whether the order took the item out of the stock when it was made;
-- shipped counts what shipments contain, so that no two of them can have the same piece.
CREATE TABLE shop_orderitems (
    shop_orderitem_id             bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_key                     bigint NOT NULL
                                  REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    orderitem_sku                 varchar(255) NOT NULL DEFAULT '',
    orderitem_sku_fold            varchar(765) NOT NULL DEFAULT '',
    orderitem_name                varchar(255) NOT NULL DEFAULT '',
    orderitem_name_fold           varchar(765) NOT NULL DEFAULT '',
    orderitem_quantity            integer NOT NULL DEFAULT 1 CHECK (orderitem_quantity >= 1),
    orderitem_finalprice          decimal(17, 5) NOT NULL DEFAULT 0
                                  CHECK (orderitem_finalprice >= 0),
    orderitem_tax                 decimal(17, 5) NOT NULL DEFAULT 0 CHECK (orderitem_tax >= 0),
    product_id                    bigint,
    variant_id                    bigint,
    orderitem_attributes          mediumtext NOT NULL DEFAULT ('{}'),
    orderitem_price               decimal(17, 5) NOT NULL DEFAULT 0 CHECK (orderitem_price >= 0),
    orderitem_option_price        decimal(17, 5) NOT NULL DEFAULT 0
                                  CHECK (orderitem_option_price >= 0),
    orderitem_finalprice_with_tax decimal(17, 5) NOT NULL DEFAULT 0
                                  CHECK (orderitem_finalprice_with_tax >= 0),
    orderitem_discount            decimal(17, 5) NOT NULL DEFAULT 0
                                  CHECK (orderitem_discount >= 0),
    orderitem_weight              decimal(17, 5) CHECK (orderitem_weight >= 0),
    created_on                    datetime NOT NULL,
    version                       bigint NOT NULL DEFAULT 1,
    take_stock                    smallint NOT NULL DEFAULT 0 CHECK (take_stock IN (0, 1)),
    shipped                       integer NOT NULL DEFAULT 0 CHECK (shipped BETWEEN 0 AND orderitem_quantity)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_orderitems_order ON shop_orderitems (order_key);

-- The history of each order: its statuses and comments.
CREATE TABLE shop_orderhistories (
    shop_orderhistory_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_key            bigint NOT NULL
                         REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    order_state_id       bigint NOT NULL REFERENCES shop_orderstatuses (shop_orderstatus_id),
    comment              mediumtext NOT NULL DEFAULT ('')
                         CHECK (char_length(comment) <= 65535),
    comment_fold         mediumtext NOT NULL DEFAULT (''),
    notify_customer      smallint NOT NULL DEFAULT 0 CHECK (notify_customer IN (0, 1)),
    created_by           bigint NOT NULL DEFAULT 0,
    created_on           datetime NOT NULL,
    version              bigint NOT NULL DEFAULT 1,
    comment_rest         mediumtext NOT NULL DEFAULT ('')
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_orderhistories_order ON shop_orderhistories (order_key);
CREATE INDEX shop_orderhistories_status ON shop_orderhistories (order_state_id);

-- The parcels of orders.
CREATE TABLE shop_shipments (
    shop_shipment_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_key        bigint NOT NULL REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    tracking_id      varchar(255) NOT NULL DEFAULT '',
    carrier          varchar(255) NOT NULL DEFAULT '',
    tracking_url     varchar(2048) NOT NULL DEFAULT '',
    -- What is in it, as clients read it.
    items            mediumtext NOT NULL,
    -- The status that the order had before and the one that it got, if the shipment has changed it.
    status_before    bigint,
    status_after     bigint,
    created_by       bigint NOT NULL DEFAULT 0,
    created_on       datetime NOT NULL,
    modified_on      datetime NOT NULL,
    version          bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_shipments_order ON shop_shipments (order_key);

-- Vouchers: amounts that customers have paid in advance.
CREATE TABLE shop_vouchers (
    shop_voucher_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    voucher_code      varchar(255) NOT NULL CHECK (voucher_code <> ''),
    voucher_code_fold varchar(765) NOT NULL,
    voucher_type      varchar(64) NOT NULL DEFAULT 'giftcard',
    voucher_type_fold varchar(192) NOT NULL DEFAULT 'giftcard',
    email_to          varchar(254) NOT NULL DEFAULT '',
    email_to_fold     varchar(762) NOT NULL DEFAULT '',
    voucher_value     decimal(17, 5) NOT NULL CHECK (voucher_value >= 0),
    enabled           smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    created_on        datetime NOT NULL,
    order_id          varchar(64) NOT NULL DEFAULT '',
    subject           varchar(255) NOT NULL DEFAULT '',
    valid_from        datetime,
    valid_to          datetime,
    locks             bigint NOT NULL DEFAULT 0,
    version           bigint NOT NULL DEFAULT 1,
    CHECK (valid_from <= valid_to)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_vouchers__voucher_code_fold ON shop_vouchers (voucher_code_fold);
CREATE INDEX shop_vouchers_email ON shop_vouchers (email_to_fold);
CREATE INDEX shop_vouchers_order ON shop_vouchers (order_id);
CREATE INDEX shop_vouchers_created ON shop_vouchers (created_on);

-- Every change of the balance of a voucher. Rows are only ever added, and go with their voucher.
CREATE TABLE shop_voucher_ledger (
    entry_id        bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    voucher_id      bigint NOT NULL REFERENCES shop_vouchers (shop_voucher_id) ON DELETE CASCADE,
    adjustment_type varchar(16) NOT NULL
                    CHECK (adjustment_type IN ('credit', 'debit', 'correction', 'order')),
    amount          decimal(17, 5) NOT NULL CHECK (amount <> 0),
    balance_before  decimal(17, 5) NOT NULL CHECK (balance_before >= 0),
    balance_after   decimal(17, 5) NOT NULL CHECK (balance_after >= 0),
    reason          varchar(255) NOT NULL,
    note            mediumtext NOT NULL DEFAULT ('') CHECK (char_length(note) <= 65535),
    user_id         bigint NOT NULL,
    created_on      datetime NOT NULL,
    token_name      varchar(255) NOT NULL DEFAULT '',
    request_id      varchar(64),
    CHECK (balance_after = balance_before + amount)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_voucher_ledger_voucher ON shop_voucher_ledger (voucher_id, amount);
CREATE INDEX shop_voucher_ledger_request ON shop_voucher_ledger (request_id);
CREATE INDEX shop_voucher_ledger_entries ON shop_voucher_ledger (voucher_id, entry_id);

-- Mails that have been promised and not been sent. A row goes when its mail has been handed over; one that
-- nobody takes stays, with the reason.
CREATE TABLE shop_mails (
    shop_mail_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    mail_id        varchar(64) NOT NULL CHECK (mail_id <> ''),
    recipient      varchar(254) NOT NULL,
    recipient_name varchar(511) NOT NULL,
    subject        varchar(1000) NOT NULL,
    body           mediumtext NOT NULL,
    created_on     datetime NOT NULL,
    attempts       integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- In seconds since 1970: not before then is it tried again.
    due_at         bigint NOT NULL,
    given_up       smallint NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1)),
    failure        mediumtext NOT NULL DEFAULT (''),
    claim          varchar(32) NOT NULL DEFAULT ''
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_mails__mail_id ON shop_mails (mail_id);
CREATE INDEX shop_mails_due ON shop_mails (given_up, due_at);

-- The keys of writes, with their answers: a write that is sent again under its key is answered as it was. A
-- row is written in the transaction of its write. The body is compressed, as text in base64.
CREATE TABLE shop_keys (
    shop_key_id     bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id         bigint NOT NULL,
    idempotency_key varchar(255) NOT NULL,
    -- The SHA-256 of the request, in hexadecimal.
    fingerprint     varchar(64) NOT NULL,
    created_on      datetime NOT NULL,
    status          smallint NOT NULL DEFAULT 0,
    location        varchar(2048) NOT NULL DEFAULT '',
    etag            varchar(64) NOT NULL DEFAULT '',
    body            mediumtext NOT NULL DEFAULT ('')
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_keys__user_id__idempotency_key ON shop_keys (user_id, idempotency_key);

-- The last keys that are counted in slot 0, in the only row. A recount puts all records there.
CREATE TABLE shop_slots (
    one       smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    products  bigint NOT NULL,
    orders    bigint NOT NULL,
    addresses bigint NOT NULL
);
INSERT INTO shop_slots VALUES (1, 0, 0, 0);

-- The number of the latest recount, and how often it has written, in the only row.
CREATE TABLE shop_recounts (
    one smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    run bigint NOT NULL,
    writes bigint NOT NULL
);
INSERT INTO shop_recounts VALUES (1, 0, 0);

-- The feed of changes: triggers queue each change of a record in the transaction of the change. Queued
-- changes then get places, when somebody reads the feed, and once a second.
CREATE TABLE shop_change_queue (
    entry  bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    kind   varchar(32) NOT NULL,
    record bigint NOT NULL
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- The latest change of each record that has changed since the feed began. Its place is a number that grows
-- with each change: the moment of the change in microseconds since 1970.
CREATE TABLE shop_changes (
    kind    varchar(32) NOT NULL,
    record  bigint NOT NULL,
    seq     bigint NOT NULL,
    deleted smallint NOT NULL CHECK (deleted IN (0, 1)),
    PRIMARY KEY (kind, record)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_changes_seq ON shop_changes (seq);
CREATE INDEX shop_changes_kind ON shop_changes (kind, seq, deleted, record);

-- The feed itself, in the only row. It gets another name after a bulk fill and after a restored backup. It
-- begins a second before its first place, so that a moment can be between the two.
CREATE TABLE shop_feed (
    one   smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    feed  varchar(32) NOT NULL,
    began bigint NOT NULL,
    -- The latest place.
    seq   bigint NOT NULL,
    -- Deletions up to this place are forgotten.
    floor bigint NOT NULL,
    -- Up to this place, old deletions have been looked for.
    swept bigint NOT NULL,
    locks bigint NOT NULL DEFAULT 0
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
INSERT INTO shop_feed (one, feed, began, seq, floor, swept)
SELECT 1, left(md5(uuid()), 16), begun * 1000000,
    (begun + 1) * 1000000, (begun + 1) * 1000000, (begun + 1) * 1000000
FROM (SELECT CAST(unix_timestamp() AS signed) AS begun) clock;
