-- What keeps lists of a large store as quick as those of a small one: indexes for filters and orders
-- that are asked for together, counts by which a place far down a list is found.

-- A copy that only sorts has the first 255 characters, and any other at most 750: as many as an index
-- takes on every engine, with two keys.
UPDATE shop_products SET product_name_fold = left(product_name_fold, 750)
WHERE char_length(product_name_fold) > 750;
UPDATE shop_products SET main_image_fold = left(main_image_fold, 255)
WHERE char_length(main_image_fold) > 255;
UPDATE shop_orderhistories SET comment_fold = left(comment_fold, 255)
WHERE char_length(comment_fold) > 255;
ALTER TABLE shop_products
    MODIFY product_name_fold varchar(750) NOT NULL,
    MODIFY main_image_fold varchar(255) NOT NULL DEFAULT '',
    ADD INDEX shop_products_manufacturer_enabled (manufacturer_id, enabled),
    ADD INDEX shop_products_manufacturer_created (manufacturer_id, created_on),
    ADD INDEX shop_products_manufacturer_price (manufacturer_id, price),
    ADD INDEX shop_products_manufacturer_name (manufacturer_id, product_name_fold),
    ADD INDEX shop_products_category_enabled (category_id, enabled),
    ADD INDEX shop_products_category_manufacturer (category_id, manufacturer_id),
    ADD INDEX shop_products_category_created (category_id, created_on),
    ADD INDEX shop_products_category_price (category_id, price),
    ADD INDEX shop_products_category_name (category_id, product_name_fold),
    ADD INDEX shop_products_image (main_image_fold);
ALTER TABLE shop_orders
    ADD INDEX shop_orders_user_key (user_id),
    ADD INDEX shop_orders_user_total (user_id, order_total),
    ADD INDEX shop_orders_status_key (order_state_id),
    ADD INDEX shop_orders_status_total (order_state_id, order_total),
    ADD INDEX shop_orders_status_payment (order_state_id, orderpayment_type, created_on),
    ADD INDEX shop_orders_payment_key (orderpayment_type);

-- How many records there are of each 4,096 keys, and of each day; see the other counters for slots.
CREATE TABLE shop_product_blocks (
    block bigint NOT NULL,
    slot  smallint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (block, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE TABLE shop_order_blocks (
    block bigint NOT NULL,
    slot  smallint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (block, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE TABLE shop_address_blocks (
    block bigint NOT NULL,
    slot  smallint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (block, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE TABLE shop_product_counts_by_day (
    day  varchar(10) NOT NULL,
    slot smallint NOT NULL,
    n    bigint NOT NULL,
    PRIMARY KEY (day, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE TABLE shop_address_counts_by_zone (
    country_id bigint NOT NULL,
    zone_id    bigint NOT NULL,
    slot       smallint NOT NULL,
    n          bigint NOT NULL,
    PRIMARY KEY (country_id, zone_id, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

INSERT INTO shop_product_blocks SELECT shop_product_id >> 12, 0, count(*) FROM shop_products GROUP BY 1;
INSERT INTO shop_order_blocks SELECT shop_order_id >> 12, 0, count(*) FROM shop_orders GROUP BY 1;
INSERT INTO shop_address_blocks SELECT shop_address_id >> 12, 0, count(*) FROM shop_addresses GROUP BY 1;
INSERT INTO shop_product_counts_by_day
SELECT date_format(created_on, '%Y-%m-%d'), 0, count(*) FROM shop_products GROUP BY 1;
INSERT INTO shop_address_counts_by_zone
SELECT coalesce(country_id, 0), coalesce(zone_id, 0), 0, count(*) FROM shop_addresses GROUP BY 1, 2;

CREATE TRIGGER shop_products_steps_new AFTER INSERT ON shop_products FOR EACH ROW
BEGIN
    INSERT INTO shop_product_blocks VALUES (NEW.shop_product_id >> 12, connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_product_counts_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

CREATE TRIGGER shop_products_steps_old AFTER DELETE ON shop_products FOR EACH ROW
BEGIN
    INSERT INTO shop_product_blocks VALUES (OLD.shop_product_id >> 12, connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    INSERT INTO shop_product_counts_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
END;

CREATE TRIGGER shop_products_steps_change AFTER UPDATE ON shop_products FOR EACH ROW
BEGIN
    IF date(OLD.created_on) <> date(NEW.created_on) THEN
        INSERT INTO shop_product_counts_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), connection_id() % 16, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        INSERT INTO shop_product_counts_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), connection_id() % 16, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;

CREATE TRIGGER shop_orders_steps_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_order_blocks VALUES (NEW.shop_order_id >> 12, connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

CREATE TRIGGER shop_orders_steps_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_order_blocks VALUES (OLD.shop_order_id >> 12, connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
END;

CREATE TRIGGER shop_addresses_steps_new AFTER INSERT ON shop_addresses FOR EACH ROW
BEGIN
    INSERT INTO shop_address_blocks VALUES (NEW.shop_address_id >> 12, connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

CREATE TRIGGER shop_addresses_steps_old AFTER DELETE ON shop_addresses FOR EACH ROW
BEGIN
    INSERT INTO shop_address_blocks VALUES (OLD.shop_address_id >> 12, connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
END;

CREATE TRIGGER shop_addresses_steps_change AFTER UPDATE ON shop_addresses FOR EACH ROW
BEGIN
    IF (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0))
        <> (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0))
    THEN
        INSERT INTO shop_address_counts_by_zone
        VALUES (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), connection_id() % 16, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        INSERT INTO shop_address_counts_by_zone
        VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), connection_id() % 16, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;
