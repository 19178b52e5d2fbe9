-- Store setup: countries, zones, currencies, order statuses, manufacturers.
--
-- A column *_fold holds the case-folded copy of the text beside it: it is what is searched and
-- sorted by. Texts are collated by code point, and spaces at their ends count; folding makes one
-- character three at most. An index on one column ends with the key by itself. A unique index is
-- named after its table and columns, because a violation names the index alone.

CREATE TABLE shop_meta (
    one                 smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    reference_installed smallint NOT NULL DEFAULT 0 CHECK (reference_installed IN (0, 1)),
    demo_set_up         smallint NOT NULL DEFAULT 0 CHECK (demo_set_up IN (0, 1))
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
INSERT INTO shop_meta (one) VALUES (1);

CREATE TABLE shop_countries (
    shop_country_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    country_name      varchar(255) NOT NULL,
    country_name_fold varchar(765) NOT NULL,
    country_isocode_2 varchar(2) NOT NULL CHECK (country_isocode_2 REGEXP '^[A-Z]{2}\\z'),
    country_isocode_3 varchar(3) NOT NULL CHECK (country_isocode_3 REGEXP '^[A-Z]{3}\\z'),
    enabled           smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1))
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_countries__country_isocode_2 ON shop_countries (country_isocode_2);
CREATE UNIQUE INDEX shop_countries__country_isocode_3 ON shop_countries (country_isocode_3);
CREATE INDEX shop_countries_name ON shop_countries (country_name_fold);
CREATE INDEX shop_countries_enabled ON shop_countries (enabled);

CREATE TABLE shop_zones (
    shop_zone_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    zone_name      varchar(255) NOT NULL,
    zone_name_fold varchar(765) NOT NULL,
    zone_code      varchar(32) NOT NULL,
    zone_code_fold varchar(96) NOT NULL,
    country_id     bigint NOT NULL REFERENCES shop_countries (shop_country_id),
    enabled        smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1))
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_zones__country_id__zone_code ON shop_zones (country_id, zone_code);
CREATE INDEX shop_zones_country ON shop_zones (country_id);
CREATE INDEX shop_zones_name ON shop_zones (zone_name_fold);
CREATE INDEX shop_zones_code ON shop_zones (zone_code_fold);
CREATE INDEX shop_zones_enabled ON shop_zones (enabled);

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
    currency_thousands    varchar(4) NOT NULL DEFAULT ','
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_currencies__currency_code ON shop_currencies (currency_code);
CREATE INDEX shop_currencies_title ON shop_currencies (currency_title_fold);

CREATE TABLE shop_orderstatuses (
    shop_orderstatus_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    orderstatus_name      varchar(64) NOT NULL,
    orderstatus_name_fold varchar(192) NOT NULL,
    orderstatus_core      smallint NOT NULL DEFAULT 0 CHECK (orderstatus_core IN (0, 1)),
    enabled               smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    -- A core status can be neither deleted nor disabled.
    CHECK (orderstatus_core = 0 OR enabled = 1)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

CREATE TABLE shop_manufacturers (
    shop_manufacturer_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    manufacturer_name      varchar(255) NOT NULL,
    manufacturer_name_fold varchar(765) NOT NULL,
    enabled                smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    ordering               integer NOT NULL DEFAULT 0,
    manufacturer_desc      mediumtext NOT NULL DEFAULT ('')
                           CHECK (char_length(manufacturer_desc) <= 65535)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_manufacturers_name
    ON shop_manufacturers (manufacturer_name_fold);
CREATE INDEX shop_manufacturers_enabled ON shop_manufacturers (enabled);
CREATE INDEX shop_manufacturers_ordering ON shop_manufacturers (ordering);
