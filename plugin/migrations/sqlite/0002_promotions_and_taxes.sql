-- Coupons, shipping and payment methods, taxes.
--
-- Money and other decimals are counted in units of 10^-5, percentages in 10^-3. Moments are text
-- in the form of the wire, which sorts as they do. Lists of keys are texts with commas.

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
    CHECK (valid_from <= valid_to),
    CHECK (value <= 10000000 OR value_type IN ('fixed_cart', 'fixed_product'))
) STRICT;
CREATE UNIQUE INDEX shop_coupons_code ON shop_coupons (coupon_code_fold);
CREATE INDEX shop_coupons_name ON shop_coupons (coupon_name_fold);
CREATE INDEX shop_coupons_enabled ON shop_coupons (enabled);

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
    params       TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(params))
) STRICT;
CREATE UNIQUE INDEX shop_methods_element ON shop_methods (method_kind, element);

CREATE TABLE shop_taxprofiles (
    shop_taxprofile_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    taxprofile_name      TEXT NOT NULL CHECK (length(taxprofile_name) <= 255),
    taxprofile_name_fold TEXT NOT NULL,
    enabled              INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1))
) STRICT;

CREATE TABLE shop_taxrates (
    shop_taxrate_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    taxrate_name      TEXT NOT NULL CHECK (length(taxrate_name) <= 255),
    taxrate_name_fold TEXT NOT NULL,
    tax_percent       INTEGER NOT NULL CHECK (tax_percent BETWEEN 0 AND 100000),
    geozone_id        INTEGER,
    enabled           INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1))
) STRICT;
