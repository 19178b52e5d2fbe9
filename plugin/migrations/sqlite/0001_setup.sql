-- Store setup: countries, zones, currencies, order statuses, manufacturers.
--
-- A column *_fold holds the case-folded copy of the text beside it: it is what is searched and
-- sorted by, in binary order. An index on one column ends with the key on this engine by itself.
-- Decimals are counted in units: currency_value in 10^-8.

CREATE TABLE shop_meta (
    one                 INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    reference_installed INTEGER NOT NULL DEFAULT 0 CHECK (reference_installed IN (0, 1)),
    demo_set_up         INTEGER NOT NULL DEFAULT 0 CHECK (demo_set_up IN (0, 1))
) STRICT;
INSERT INTO shop_meta (one) VALUES (1);

CREATE TABLE shop_countries (
    shop_country_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    country_name      TEXT NOT NULL CHECK (length(country_name) <= 255),
    country_name_fold TEXT NOT NULL,
    country_isocode_2 TEXT NOT NULL CHECK (country_isocode_2 GLOB '[A-Z][A-Z]'),
    country_isocode_3 TEXT NOT NULL CHECK (country_isocode_3 GLOB '[A-Z][A-Z][A-Z]'),
    enabled           INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX shop_countries_isocode_2 ON shop_countries (country_isocode_2);
CREATE UNIQUE INDEX shop_countries_isocode_3 ON shop_countries (country_isocode_3);
CREATE INDEX shop_countries_name ON shop_countries (country_name_fold);
CREATE INDEX shop_countries_enabled ON shop_countries (enabled);

CREATE TABLE shop_zones (
    shop_zone_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    zone_name      TEXT NOT NULL CHECK (length(zone_name) <= 255),
    zone_name_fold TEXT NOT NULL,
    zone_code      TEXT NOT NULL CHECK (length(zone_code) <= 32),
    zone_code_fold TEXT NOT NULL,
    country_id     INTEGER NOT NULL REFERENCES shop_countries (shop_country_id),
    enabled        INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX shop_zones_code_of_country ON shop_zones (country_id, zone_code);
CREATE INDEX shop_zones_country ON shop_zones (country_id);
CREATE INDEX shop_zones_name ON shop_zones (zone_name_fold);
CREATE INDEX shop_zones_code ON shop_zones (zone_code_fold);
CREATE INDEX shop_zones_enabled ON shop_zones (enabled);

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
    currency_thousands    TEXT NOT NULL DEFAULT ',' CHECK (length(currency_thousands) <= 4)
) STRICT;
CREATE UNIQUE INDEX shop_currencies_code ON shop_currencies (currency_code);
CREATE INDEX shop_currencies_title ON shop_currencies (currency_title_fold);

CREATE TABLE shop_orderstatuses (
    shop_orderstatus_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    orderstatus_name      TEXT NOT NULL CHECK (length(orderstatus_name) <= 64),
    orderstatus_name_fold TEXT NOT NULL,
    orderstatus_core      INTEGER NOT NULL DEFAULT 0 CHECK (orderstatus_core IN (0, 1)),
    enabled               INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    -- A core status can be neither deleted nor disabled.
    CHECK (orderstatus_core = 0 OR enabled = 1)
) STRICT;

CREATE TABLE shop_manufacturers (
    shop_manufacturer_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    manufacturer_name      TEXT NOT NULL CHECK (length(manufacturer_name) <= 255),
    manufacturer_name_fold TEXT NOT NULL,
    enabled                INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    ordering               INTEGER NOT NULL DEFAULT 0,
    manufacturer_desc      TEXT NOT NULL DEFAULT '' CHECK (length(manufacturer_desc) <= 65535)
) STRICT;
CREATE INDEX shop_manufacturers_name ON shop_manufacturers (manufacturer_name_fold);
CREATE INDEX shop_manufacturers_enabled ON shop_manufacturers (enabled);
CREATE INDEX shop_manufacturers_ordering ON shop_manufacturers (ordering);
