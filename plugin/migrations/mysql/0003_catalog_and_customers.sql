-- Categories, products with their variants and stock, addresses.

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
    FOREIGN KEY (parent_key) REFERENCES shop_categories (id)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_categories__parent_id__alias ON shop_categories (parent_id, alias);
CREATE INDEX shop_categories_parent ON shop_categories (parent_key);
CREATE INDEX shop_categories_title ON shop_categories (title_fold);

-- The stock record of a product is part of its row: has_stock says whether it stands.
CREATE TABLE shop_products (
    shop_product_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_source_id bigint,
    product_type      varchar(64) NOT NULL DEFAULT 'simple' CHECK (product_type <> ''),
    product_name      varchar(255) NOT NULL,
    product_name_fold varchar(765) NOT NULL,
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
    main_image_fold   mediumtext NOT NULL DEFAULT (''),
    created_on        datetime NOT NULL,
    modified_on       datetime NOT NULL,
    has_stock         smallint NOT NULL DEFAULT 1 CHECK (has_stock IN (0, 1)),
    quantity          integer NOT NULL DEFAULT 0 CHECK (quantity >= 0),
    manage_stock      smallint NOT NULL DEFAULT 1 CHECK (manage_stock IN (0, 1)),
    min_out_qty       decimal(17, 5) CHECK (min_out_qty >= 0),
    min_sale_qty      decimal(17, 5) CHECK (min_sale_qty >= 0),
    max_sale_qty      decimal(17, 5) CHECK (max_sale_qty >= 0),
    notify_qty        decimal(17, 5) CHECK (notify_qty >= 0)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
-- One index for each order and filter of the lists; a tie is broken by the key, which ends each.
-- The paths of images are too long for an index.
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
    sku_taken            varchar(765) GENERATED ALWAYS AS (nullif(sku_fold, '')) STORED
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_variants_product ON shop_variants (product_id);
CREATE UNIQUE INDEX shop_variants__product_id ON shop_variants (master_of);
CREATE UNIQUE INDEX shop_variants__sku_fold ON shop_variants (sku_taken);

-- The master variant is the product as it is sold: its sku, price, upc and stock management are
-- the product's, whoever writes them.
CREATE TRIGGER shop_products_master_of_new AFTER INSERT ON shop_products FOR EACH ROW
INSERT INTO shop_variants
    (product_id, is_master, isdefault_variant, sku, sku_fold, price, upc, manage_stock)
VALUES (NEW.shop_product_id, 1, 1, NEW.sku, NEW.sku_fold, NEW.price, NEW.upc, NEW.manage_stock);

CREATE TRIGGER shop_products_master AFTER UPDATE ON shop_products FOR EACH ROW
IF (OLD.sku, OLD.sku_fold, OLD.price, OLD.upc, OLD.manage_stock)
    <> (NEW.sku, NEW.sku_fold, NEW.price, NEW.upc, NEW.manage_stock)
THEN
    UPDATE shop_variants
    SET sku = NEW.sku, sku_fold = NEW.sku_fold, price = NEW.price, upc = NEW.upc,
        manage_stock = NEW.manage_stock
    WHERE product_id = NEW.shop_product_id AND is_master = 1;
END IF;

CREATE UNIQUE INDEX shop_zones__shop_zone_id__country_id ON shop_zones (shop_zone_id, country_id);

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
