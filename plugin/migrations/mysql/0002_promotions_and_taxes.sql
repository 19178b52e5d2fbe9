-- Coupons, shipping and payment methods, taxes. Lists of keys are texts with commas.

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
    CHECK (valid_from <= valid_to),
    CHECK (value <= 100 OR value_type IN ('fixed_cart', 'fixed_product'))
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_coupons__coupon_code_fold ON shop_coupons (coupon_code_fold);
CREATE INDEX shop_coupons_name ON shop_coupons (coupon_name_fold);
CREATE INDEX shop_coupons_enabled ON shop_coupons (enabled);

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
    params       mediumtext NOT NULL DEFAULT ('{}')
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_methods__method_kind__element ON shop_methods (method_kind, element);

CREATE TABLE shop_taxprofiles (
    shop_taxprofile_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    taxprofile_name      varchar(255) NOT NULL,
    taxprofile_name_fold varchar(765) NOT NULL,
    enabled              smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1))
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

CREATE TABLE shop_taxrates (
    shop_taxrate_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    taxrate_name      varchar(255) NOT NULL,
    taxrate_name_fold varchar(765) NOT NULL,
    tax_percent       decimal(6, 3) NOT NULL CHECK (tax_percent BETWEEN 0 AND 100),
    geozone_id        bigint,
    enabled           smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1))
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
