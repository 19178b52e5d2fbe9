-- Categories, products with their variants and stock, addresses.

CREATE TABLE shop_categories (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    title       TEXT NOT NULL CHECK (length(title) <= 255),
    title_fold  TEXT NOT NULL,
    alias       TEXT NOT NULL CHECK (length(alias) BETWEEN 1 AND 255 AND instr(alias, '/') = 0),
    alias_fold  TEXT NOT NULL,
    published   INTEGER NOT NULL DEFAULT 1 CHECK (published IN (-2, 0, 1, 2)),
    -- 0 is the top, which is no record; the triggers below stand in for a foreign key.
    parent_id   INTEGER NOT NULL DEFAULT 0,
    level       INTEGER NOT NULL CHECK (level >= 1),
    description TEXT NOT NULL DEFAULT '' CHECK (length(description) <= 65535),
    path        TEXT NOT NULL,
    language    TEXT NOT NULL DEFAULT '*' CHECK (length(language) <= 7),
    CHECK (parent_id <> id)
) STRICT;
CREATE UNIQUE INDEX shop_categories_alias ON shop_categories (parent_id, alias);
CREATE UNIQUE INDEX shop_categories_path ON shop_categories (path);
CREATE INDEX shop_categories_title ON shop_categories (title_fold);

CREATE TRIGGER shop_categories_parent_of_new BEFORE INSERT ON shop_categories
WHEN NEW.parent_id <> 0
    AND NOT EXISTS (SELECT 1 FROM shop_categories WHERE id = NEW.parent_id)
BEGIN
    SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed');
END;
CREATE TRIGGER shop_categories_parent_of_moved BEFORE UPDATE OF parent_id ON shop_categories
WHEN NEW.parent_id <> 0
    AND NOT EXISTS (SELECT 1 FROM shop_categories WHERE id = NEW.parent_id)
BEGIN
    SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed');
END;
CREATE TRIGGER shop_categories_children BEFORE DELETE ON shop_categories
WHEN EXISTS (SELECT 1 FROM shop_categories WHERE parent_id = OLD.id)
BEGIN
    SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed');
END;

-- The stock record of a product is part of its row: has_stock says whether it stands.
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
    notify_qty        INTEGER CHECK (notify_qty >= 0)
) STRICT;
-- One index for each order and filter of the lists; a tie is broken by the key, which ends each.
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
    shipping             INTEGER NOT NULL DEFAULT 0 CHECK (shipping IN (0, 1))
) STRICT;
CREATE INDEX shop_variants_product ON shop_variants (product_id);
CREATE UNIQUE INDEX shop_variants_master ON shop_variants (product_id) WHERE is_master = 1;
CREATE UNIQUE INDEX shop_variants_sku ON shop_variants (sku_fold) WHERE sku_fold <> '';

-- The master variant is the product as it is sold: its sku, price, upc and stock management are
-- the product's, whoever writes them.
CREATE TRIGGER shop_products_master_of_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_variants
        (product_id, is_master, isdefault_variant, sku, sku_fold, price, upc, manage_stock)
    VALUES (NEW.shop_product_id, 1, 1, NEW.sku, NEW.sku_fold, NEW.price, NEW.upc,
        NEW.manage_stock);
END;
CREATE TRIGGER shop_products_master AFTER UPDATE OF sku, sku_fold, price, upc, manage_stock
ON shop_products
BEGIN
    UPDATE shop_variants
    SET sku = NEW.sku, sku_fold = NEW.sku_fold, price = NEW.price, upc = NEW.upc,
        manage_stock = NEW.manage_stock
    WHERE product_id = NEW.shop_product_id AND is_master = 1;
END;

CREATE UNIQUE INDEX shop_zones_with_country ON shop_zones (shop_zone_id, country_id);

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
