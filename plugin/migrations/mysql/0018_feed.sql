-- The feed of changes. Triggers queue each change of a record in the transaction of the change: when it
-- is created or deleted, and when its version changes. Queued changes then get places, when somebody
-- reads the feed, and once a second. A place is a number that grows with each change, and the moment
-- of the change in microseconds since 1970.

CREATE TABLE shop_change_queue (
    entry  bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    kind   varchar(32) NOT NULL,
    record bigint NOT NULL
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- The latest change of each record that has changed since the feed began.
CREATE TABLE shop_changes (
    kind    varchar(32) NOT NULL,
    record  bigint NOT NULL,
    seq     bigint NOT NULL,
    deleted smallint NOT NULL CHECK (deleted IN (0, 1)),
    PRIMARY KEY (kind, record)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_changes_seq ON shop_changes (seq);
-- Has all columns, so that no place is read for them, and PostgreSQL does not prefer the other index,
-- where it would pass over the changes of all other types.
CREATE INDEX shop_changes_kind ON shop_changes (kind, seq, deleted, record);

-- The feed gets another name after a bulk fill and after a restored backup. It begins a second before
-- its first place, so that a moment can be between the two.
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
    turn  bigint NOT NULL DEFAULT 0
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
INSERT INTO shop_feed (one, feed, began, seq, floor, swept)
SELECT 1, left(md5(uuid()), 16), begun * 1000000,
    (begun + 1) * 1000000, (begun + 1) * 1000000, (begun + 1) * 1000000
FROM (SELECT CAST(unix_timestamp() AS signed) AS begun) clock;

-- The triggers are generated from the descriptions of the resources.

CREATE TRIGGER shop_addresses_feed_new AFTER INSERT ON shop_addresses FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('addresses', NEW.shop_address_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('customers', NEW.shop_address_id);
END;

CREATE TRIGGER shop_addresses_feed_old AFTER DELETE ON shop_addresses FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('addresses', OLD.shop_address_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('customers', OLD.shop_address_id);
END;

CREATE TRIGGER shop_addresses_feed_change AFTER UPDATE ON shop_addresses FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('addresses', NEW.shop_address_id);
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('customers', NEW.shop_address_id);
    END IF;
END;

CREATE TRIGGER shop_categories_feed_new AFTER INSERT ON shop_categories FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('categories', NEW.id);
END;

CREATE TRIGGER shop_categories_feed_old AFTER DELETE ON shop_categories FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('categories', OLD.id);
END;

CREATE TRIGGER shop_categories_feed_change AFTER UPDATE ON shop_categories FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('categories', NEW.id);
    END IF;
END;

CREATE TRIGGER shop_countries_feed_new AFTER INSERT ON shop_countries FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('countries', NEW.shop_country_id);
END;

CREATE TRIGGER shop_countries_feed_old AFTER DELETE ON shop_countries FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('countries', OLD.shop_country_id);
END;

CREATE TRIGGER shop_countries_feed_change AFTER UPDATE ON shop_countries FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('countries', NEW.shop_country_id);
    END IF;
END;

CREATE TRIGGER shop_coupons_feed_new AFTER INSERT ON shop_coupons FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('coupons', NEW.shop_coupon_id);
END;

CREATE TRIGGER shop_coupons_feed_old AFTER DELETE ON shop_coupons FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('coupons', OLD.shop_coupon_id);
END;

CREATE TRIGGER shop_coupons_feed_change AFTER UPDATE ON shop_coupons FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('coupons', NEW.shop_coupon_id);
    END IF;
END;

CREATE TRIGGER shop_currencies_feed_new AFTER INSERT ON shop_currencies FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('currencies', NEW.shop_currency_id);
END;

CREATE TRIGGER shop_currencies_feed_old AFTER DELETE ON shop_currencies FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('currencies', OLD.shop_currency_id);
END;

CREATE TRIGGER shop_currencies_feed_change AFTER UPDATE ON shop_currencies FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('currencies', NEW.shop_currency_id);
    END IF;
END;

CREATE TRIGGER shop_manufacturers_feed_new AFTER INSERT ON shop_manufacturers FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('manufacturers', NEW.shop_manufacturer_id);
END;

CREATE TRIGGER shop_manufacturers_feed_old AFTER DELETE ON shop_manufacturers FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('manufacturers', OLD.shop_manufacturer_id);
END;

CREATE TRIGGER shop_manufacturers_feed_change AFTER UPDATE ON shop_manufacturers FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('manufacturers', NEW.shop_manufacturer_id);
    END IF;
END;

CREATE TRIGGER shop_methods_feed_new AFTER INSERT ON shop_methods FOR EACH ROW
BEGIN
    IF 2 IN (NEW.method_kind) THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('paymentmethods', NEW.extension_id);
    END IF;
    IF 1 IN (NEW.method_kind) THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('shippingmethods', NEW.extension_id);
    END IF;
END;

CREATE TRIGGER shop_methods_feed_old AFTER DELETE ON shop_methods FOR EACH ROW
BEGIN
    IF 2 IN (OLD.method_kind) THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('paymentmethods', OLD.extension_id);
    END IF;
    IF 1 IN (OLD.method_kind) THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('shippingmethods', OLD.extension_id);
    END IF;
END;

CREATE TRIGGER shop_methods_feed_change AFTER UPDATE ON shop_methods FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        IF 2 IN (NEW.method_kind, OLD.method_kind) THEN
            INSERT INTO shop_change_queue (kind, record)
            VALUES ('paymentmethods', NEW.extension_id);
        END IF;
        IF 1 IN (NEW.method_kind, OLD.method_kind) THEN
            INSERT INTO shop_change_queue (kind, record)
            VALUES ('shippingmethods', NEW.extension_id);
        END IF;
    END IF;
END;

CREATE TRIGGER shop_orderhistories_feed_new AFTER INSERT ON shop_orderhistories FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderhistories', NEW.shop_orderhistory_id);
END;

CREATE TRIGGER shop_orderhistories_feed_old AFTER DELETE ON shop_orderhistories FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderhistories', OLD.shop_orderhistory_id);
END;

CREATE TRIGGER shop_orderhistories_feed_change AFTER UPDATE ON shop_orderhistories FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('orderhistories', NEW.shop_orderhistory_id);
    END IF;
END;

CREATE TRIGGER shop_orderitems_feed_new AFTER INSERT ON shop_orderitems FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderitems', NEW.shop_orderitem_id);
END;

CREATE TRIGGER shop_orderitems_feed_old AFTER DELETE ON shop_orderitems FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderitems', OLD.shop_orderitem_id);
END;

CREATE TRIGGER shop_orderitems_feed_change AFTER UPDATE ON shop_orderitems FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('orderitems', NEW.shop_orderitem_id);
    END IF;
END;

CREATE TRIGGER shop_orders_feed_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', NEW.shop_order_id);
END;

CREATE TRIGGER shop_orders_feed_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', OLD.shop_order_id);
END;

CREATE TRIGGER shop_orders_feed_change AFTER UPDATE ON shop_orders FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('orders', NEW.shop_order_id);
    END IF;
END;

CREATE TRIGGER shop_orders_feed_parts BEFORE DELETE ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'orderhistories', shop_orderhistory_id FROM shop_orderhistories
    WHERE order_key = OLD.shop_order_id;
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'orderitems', shop_orderitem_id FROM shop_orderitems
    WHERE order_key = OLD.shop_order_id;
END;

CREATE TRIGGER shop_orderstatuses_feed_new AFTER INSERT ON shop_orderstatuses FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderstatuses', NEW.shop_orderstatus_id);
END;

CREATE TRIGGER shop_orderstatuses_feed_old AFTER DELETE ON shop_orderstatuses FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderstatuses', OLD.shop_orderstatus_id);
END;

CREATE TRIGGER shop_orderstatuses_feed_change AFTER UPDATE ON shop_orderstatuses FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('orderstatuses', NEW.shop_orderstatus_id);
    END IF;
END;

CREATE TRIGGER shop_products_feed_new AFTER INSERT ON shop_products FOR EACH ROW
BEGIN
    IF 1 IN (NEW.has_stock) THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('inventory', NEW.shop_product_id);
    END IF;
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('products', NEW.shop_product_id);
END;

CREATE TRIGGER shop_products_feed_old AFTER DELETE ON shop_products FOR EACH ROW
BEGIN
    IF 1 IN (OLD.has_stock) THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('inventory', OLD.shop_product_id);
    END IF;
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('products', OLD.shop_product_id);
END;

CREATE TRIGGER shop_products_feed_change AFTER UPDATE ON shop_products FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        IF 1 IN (NEW.has_stock, OLD.has_stock) THEN
            INSERT INTO shop_change_queue (kind, record)
            VALUES ('inventory', NEW.shop_product_id);
        END IF;
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('products', NEW.shop_product_id);
    END IF;
END;

CREATE TRIGGER shop_products_feed_parts BEFORE DELETE ON shop_products FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'variants', shop_variant_id FROM shop_variants
    WHERE product_id = OLD.shop_product_id;
END;

CREATE TRIGGER shop_taxprofiles_feed_new AFTER INSERT ON shop_taxprofiles FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxprofiles', NEW.shop_taxprofile_id);
END;

CREATE TRIGGER shop_taxprofiles_feed_old AFTER DELETE ON shop_taxprofiles FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxprofiles', OLD.shop_taxprofile_id);
END;

CREATE TRIGGER shop_taxprofiles_feed_change AFTER UPDATE ON shop_taxprofiles FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('taxprofiles', NEW.shop_taxprofile_id);
    END IF;
END;

CREATE TRIGGER shop_taxrates_feed_new AFTER INSERT ON shop_taxrates FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxrates', NEW.shop_taxrate_id);
END;

CREATE TRIGGER shop_taxrates_feed_old AFTER DELETE ON shop_taxrates FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('taxrates', OLD.shop_taxrate_id);
END;

CREATE TRIGGER shop_taxrates_feed_change AFTER UPDATE ON shop_taxrates FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('taxrates', NEW.shop_taxrate_id);
    END IF;
END;

CREATE TRIGGER shop_variants_feed_new AFTER INSERT ON shop_variants FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('variants', NEW.shop_variant_id);
END;

CREATE TRIGGER shop_variants_feed_old AFTER DELETE ON shop_variants FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('variants', OLD.shop_variant_id);
END;

CREATE TRIGGER shop_variants_feed_change AFTER UPDATE ON shop_variants FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('variants', NEW.shop_variant_id);
    END IF;
END;

CREATE TRIGGER shop_vouchers_feed_new AFTER INSERT ON shop_vouchers FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('vouchers', NEW.shop_voucher_id);
END;

CREATE TRIGGER shop_vouchers_feed_old AFTER DELETE ON shop_vouchers FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('vouchers', OLD.shop_voucher_id);
END;

CREATE TRIGGER shop_vouchers_feed_change AFTER UPDATE ON shop_vouchers FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('vouchers', NEW.shop_voucher_id);
    END IF;
END;

CREATE TRIGGER shop_zones_feed_new AFTER INSERT ON shop_zones FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('zones', NEW.shop_zone_id);
END;

CREATE TRIGGER shop_zones_feed_old AFTER DELETE ON shop_zones FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('zones', OLD.shop_zone_id);
END;

CREATE TRIGGER shop_zones_feed_change AFTER UPDATE ON shop_zones FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('zones', NEW.shop_zone_id);
    END IF;
END;
