-- The feed of changes. Triggers queue each change of a record in the transaction of the change: when it
-- is created or deleted, and when its version changes. Queued changes then get places, when somebody
-- reads the feed, and once a second. A place is a number that grows with each change, and the moment
-- of the change in microseconds since 1970.

CREATE TABLE shop_change_queue (
    entry  INTEGER PRIMARY KEY,
    kind   TEXT NOT NULL,
    record INTEGER NOT NULL
) STRICT;

-- The latest change of each record that has changed since the feed began.
CREATE TABLE shop_changes (
    kind    TEXT NOT NULL,
    record  INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    deleted INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    PRIMARY KEY (kind, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX shop_changes_seq ON shop_changes (seq);
-- Has all columns, so that no place is read for them, and PostgreSQL does not prefer the other index,
-- where it would pass over the changes of all other types.
CREATE INDEX shop_changes_kind ON shop_changes (kind, seq, deleted, record);

-- The feed gets another name after a bulk fill and after a restored backup. It begins a second before
-- its first place, so that a moment can be between the two.
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

-- The triggers are generated from the descriptions of the resources.

CREATE TRIGGER shop_addresses_feed_new AFTER INSERT ON shop_addresses
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('addresses', NEW.shop_address_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('customers', NEW.shop_address_id);
END;

CREATE TRIGGER shop_addresses_feed_old AFTER DELETE ON shop_addresses
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('addresses', OLD.shop_address_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('customers', OLD.shop_address_id);
END;

CREATE TRIGGER shop_addresses_feed_change AFTER UPDATE OF version ON shop_addresses
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('addresses', NEW.shop_address_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('customers', NEW.shop_address_id);
END;

CREATE TRIGGER shop_categories_feed_new AFTER INSERT ON shop_categories
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('categories', NEW.id);
END;

CREATE TRIGGER shop_categories_feed_old AFTER DELETE ON shop_categories
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('categories', OLD.id);
END;

CREATE TRIGGER shop_categories_feed_change AFTER UPDATE OF version ON shop_categories
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('categories', NEW.id);
END;

CREATE TRIGGER shop_countries_feed_new AFTER INSERT ON shop_countries
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('countries', NEW.shop_country_id);
END;

CREATE TRIGGER shop_countries_feed_old AFTER DELETE ON shop_countries
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('countries', OLD.shop_country_id);
END;

CREATE TRIGGER shop_countries_feed_change AFTER UPDATE OF version ON shop_countries
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('countries', NEW.shop_country_id);
END;

CREATE TRIGGER shop_coupons_feed_new AFTER INSERT ON shop_coupons
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('coupons', NEW.shop_coupon_id);
END;

CREATE TRIGGER shop_coupons_feed_old AFTER DELETE ON shop_coupons
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('coupons', OLD.shop_coupon_id);
END;

CREATE TRIGGER shop_coupons_feed_change AFTER UPDATE OF version ON shop_coupons
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('coupons', NEW.shop_coupon_id);
END;

CREATE TRIGGER shop_currencies_feed_new AFTER INSERT ON shop_currencies
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('currencies', NEW.shop_currency_id);
END;

CREATE TRIGGER shop_currencies_feed_old AFTER DELETE ON shop_currencies
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('currencies', OLD.shop_currency_id);
END;

CREATE TRIGGER shop_currencies_feed_change AFTER UPDATE OF version ON shop_currencies
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('currencies', NEW.shop_currency_id);
END;

CREATE TRIGGER shop_manufacturers_feed_new AFTER INSERT ON shop_manufacturers
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('manufacturers', NEW.shop_manufacturer_id);
END;

CREATE TRIGGER shop_manufacturers_feed_old AFTER DELETE ON shop_manufacturers
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('manufacturers', OLD.shop_manufacturer_id);
END;

CREATE TRIGGER shop_manufacturers_feed_change AFTER UPDATE OF version ON shop_manufacturers
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('manufacturers', NEW.shop_manufacturer_id);
END;

CREATE TRIGGER shop_methods_feed_new AFTER INSERT ON shop_methods
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'paymentmethods', NEW.extension_id WHERE 2 IN (NEW.method_kind);
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'shippingmethods', NEW.extension_id WHERE 1 IN (NEW.method_kind);
END;

CREATE TRIGGER shop_methods_feed_old AFTER DELETE ON shop_methods
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'paymentmethods', OLD.extension_id WHERE 2 IN (OLD.method_kind);
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'shippingmethods', OLD.extension_id WHERE 1 IN (OLD.method_kind);
END;

CREATE TRIGGER shop_methods_feed_change AFTER UPDATE OF version ON shop_methods
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'paymentmethods', NEW.extension_id WHERE 2 IN (NEW.method_kind, OLD.method_kind);
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'shippingmethods', NEW.extension_id WHERE 1 IN (NEW.method_kind, OLD.method_kind);
END;

CREATE TRIGGER shop_orderhistories_feed_new AFTER INSERT ON shop_orderhistories
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderhistories', NEW.shop_orderhistory_id);
END;

CREATE TRIGGER shop_orderhistories_feed_old AFTER DELETE ON shop_orderhistories
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderhistories', OLD.shop_orderhistory_id);
END;

CREATE TRIGGER shop_orderhistories_feed_change AFTER UPDATE OF version ON shop_orderhistories
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderhistories', NEW.shop_orderhistory_id);
END;

CREATE TRIGGER shop_orderitems_feed_new AFTER INSERT ON shop_orderitems
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderitems', NEW.shop_orderitem_id);
END;

CREATE TRIGGER shop_orderitems_feed_old AFTER DELETE ON shop_orderitems
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderitems', OLD.shop_orderitem_id);
END;

CREATE TRIGGER shop_orderitems_feed_change AFTER UPDATE OF version ON shop_orderitems
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderitems', NEW.shop_orderitem_id);
END;

CREATE TRIGGER shop_orders_feed_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', NEW.shop_order_id);
END;

CREATE TRIGGER shop_orders_feed_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', OLD.shop_order_id);
END;

CREATE TRIGGER shop_orders_feed_change AFTER UPDATE OF version ON shop_orders
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', NEW.shop_order_id);
END;

CREATE TRIGGER shop_orderstatuses_feed_new AFTER INSERT ON shop_orderstatuses
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderstatuses', NEW.shop_orderstatus_id);
END;

CREATE TRIGGER shop_orderstatuses_feed_old AFTER DELETE ON shop_orderstatuses
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderstatuses', OLD.shop_orderstatus_id);
END;

CREATE TRIGGER shop_orderstatuses_feed_change AFTER UPDATE OF version ON shop_orderstatuses
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderstatuses', NEW.shop_orderstatus_id);
END;

CREATE TRIGGER shop_products_feed_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'inventory', NEW.shop_product_id WHERE 1 IN (NEW.has_stock);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('products', NEW.shop_product_id);
END;

CREATE TRIGGER shop_products_feed_old AFTER DELETE ON shop_products
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'inventory', OLD.shop_product_id WHERE 1 IN (OLD.has_stock);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('products', OLD.shop_product_id);
END;

CREATE TRIGGER shop_products_feed_change AFTER UPDATE OF version ON shop_products
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'inventory', NEW.shop_product_id WHERE 1 IN (NEW.has_stock, OLD.has_stock);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('products', NEW.shop_product_id);
END;

CREATE TRIGGER shop_taxprofiles_feed_new AFTER INSERT ON shop_taxprofiles
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxprofiles', NEW.shop_taxprofile_id);
END;

CREATE TRIGGER shop_taxprofiles_feed_old AFTER DELETE ON shop_taxprofiles
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxprofiles', OLD.shop_taxprofile_id);
END;

CREATE TRIGGER shop_taxprofiles_feed_change AFTER UPDATE OF version ON shop_taxprofiles
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxprofiles', NEW.shop_taxprofile_id);
END;

CREATE TRIGGER shop_taxrates_feed_new AFTER INSERT ON shop_taxrates
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxrates', NEW.shop_taxrate_id);
END;

CREATE TRIGGER shop_taxrates_feed_old AFTER DELETE ON shop_taxrates
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxrates', OLD.shop_taxrate_id);
END;

CREATE TRIGGER shop_taxrates_feed_change AFTER UPDATE OF version ON shop_taxrates
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxrates', NEW.shop_taxrate_id);
END;

CREATE TRIGGER shop_variants_feed_new AFTER INSERT ON shop_variants
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('variants', NEW.shop_variant_id);
END;

CREATE TRIGGER shop_variants_feed_old AFTER DELETE ON shop_variants
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('variants', OLD.shop_variant_id);
END;

CREATE TRIGGER shop_variants_feed_change AFTER UPDATE OF version ON shop_variants
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('variants', NEW.shop_variant_id);
END;

CREATE TRIGGER shop_vouchers_feed_new AFTER INSERT ON shop_vouchers
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('vouchers', NEW.shop_voucher_id);
END;

CREATE TRIGGER shop_vouchers_feed_old AFTER DELETE ON shop_vouchers
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('vouchers', OLD.shop_voucher_id);
END;

CREATE TRIGGER shop_vouchers_feed_change AFTER UPDATE OF version ON shop_vouchers
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('vouchers', NEW.shop_voucher_id);
END;

CREATE TRIGGER shop_zones_feed_new AFTER INSERT ON shop_zones
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('zones', NEW.shop_zone_id);
END;

CREATE TRIGGER shop_zones_feed_old AFTER DELETE ON shop_zones
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('zones', OLD.shop_zone_id);
END;

CREATE TRIGGER shop_zones_feed_change AFTER UPDATE OF version ON shop_zones
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('zones', NEW.shop_zone_id);
END;
