-- What keeps lists of a large store as quick as those of a small one: indexes for filters and orders
-- that are asked for together, counts by which a place far down a list is found, and indexes of
-- trigrams for texts within texts.

CREATE INDEX shop_products_manufacturer_enabled ON shop_products (manufacturer_id, enabled);
CREATE INDEX shop_products_manufacturer_created ON shop_products (manufacturer_id, created_on);
CREATE INDEX shop_products_manufacturer_price ON shop_products (manufacturer_id, price);
CREATE INDEX shop_products_manufacturer_name ON shop_products (manufacturer_id, product_name_fold);
CREATE INDEX shop_products_category_enabled ON shop_products (category_id, enabled);
CREATE INDEX shop_products_category_manufacturer ON shop_products (category_id, manufacturer_id);
CREATE INDEX shop_products_category_created ON shop_products (category_id, created_on);
CREATE INDEX shop_products_category_price ON shop_products (category_id, price);
CREATE INDEX shop_products_category_name ON shop_products (category_id, product_name_fold);
CREATE INDEX shop_orders_user_key ON shop_orders (user_id);
CREATE INDEX shop_orders_user_total ON shop_orders (user_id, order_total);
CREATE INDEX shop_orders_status_key ON shop_orders (order_state_id);
CREATE INDEX shop_orders_status_total ON shop_orders (order_state_id, order_total);
CREATE INDEX shop_orders_status_payment
    ON shop_orders (order_state_id, orderpayment_type, created_on);
CREATE INDEX shop_orders_payment_key ON shop_orders (orderpayment_type);

-- A copy that only sorts has the first 255 characters, and any other at most 750: as many as an index
-- takes on every engine, with two keys.
UPDATE shop_products SET product_name_fold = substr(product_name_fold, 1, 750)
WHERE length(product_name_fold) > 750;
UPDATE shop_products SET main_image_fold = substr(main_image_fold, 1, 255)
WHERE length(main_image_fold) > 255;
UPDATE shop_orderhistories SET comment_fold = substr(comment_fold, 1, 255)
WHERE length(comment_fold) > 255;

-- How many records there are of each 4,096 keys, and of each day.
CREATE TABLE shop_product_blocks (
    block INTEGER NOT NULL PRIMARY KEY,
    n     INTEGER NOT NULL
) STRICT;
CREATE TABLE shop_order_blocks (
    block INTEGER NOT NULL PRIMARY KEY,
    n     INTEGER NOT NULL
) STRICT;
CREATE TABLE shop_address_blocks (
    block INTEGER NOT NULL PRIMARY KEY,
    n     INTEGER NOT NULL
) STRICT;
CREATE TABLE shop_product_counts_by_day (
    day TEXT NOT NULL PRIMARY KEY,
    n   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE shop_address_counts_by_zone (
    country_id INTEGER NOT NULL,
    zone_id    INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    PRIMARY KEY (country_id, zone_id)
) STRICT, WITHOUT ROWID;

INSERT INTO shop_product_blocks SELECT shop_product_id >> 12, count(*) FROM shop_products GROUP BY 1;
INSERT INTO shop_order_blocks SELECT shop_order_id >> 12, count(*) FROM shop_orders GROUP BY 1;
INSERT INTO shop_address_blocks SELECT shop_address_id >> 12, count(*) FROM shop_addresses GROUP BY 1;
INSERT INTO shop_product_counts_by_day
SELECT substr(created_on, 1, 10), count(*) FROM shop_products GROUP BY 1;
INSERT INTO shop_address_counts_by_zone
SELECT coalesce(country_id, 0), coalesce(zone_id, 0), count(*) FROM shop_addresses GROUP BY 1, 2;

CREATE TRIGGER shop_products_steps_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_product_blocks VALUES (NEW.shop_product_id >> 12, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    INSERT INTO shop_product_counts_by_day VALUES (substr(NEW.created_on, 1, 10), 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER shop_products_steps_old AFTER DELETE ON shop_products
BEGIN
    UPDATE shop_product_blocks SET n = n - 1 WHERE block = OLD.shop_product_id >> 12;
    UPDATE shop_product_counts_by_day SET n = n - 1 WHERE day = substr(OLD.created_on, 1, 10);
END;
CREATE TRIGGER shop_products_steps_change AFTER UPDATE OF created_on ON shop_products
BEGIN
    UPDATE shop_product_counts_by_day SET n = n - 1 WHERE day = substr(OLD.created_on, 1, 10);
    INSERT INTO shop_product_counts_by_day VALUES (substr(NEW.created_on, 1, 10), 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER shop_orders_steps_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_order_blocks VALUES (NEW.shop_order_id >> 12, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER shop_orders_steps_old AFTER DELETE ON shop_orders
BEGIN
    UPDATE shop_order_blocks SET n = n - 1 WHERE block = OLD.shop_order_id >> 12;
END;
CREATE TRIGGER shop_addresses_steps_new AFTER INSERT ON shop_addresses
BEGIN
    INSERT INTO shop_address_blocks VALUES (NEW.shop_address_id >> 12, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER shop_addresses_steps_old AFTER DELETE ON shop_addresses
BEGIN
    UPDATE shop_address_blocks SET n = n - 1 WHERE block = OLD.shop_address_id >> 12;
    UPDATE shop_address_counts_by_zone SET n = n - 1
    WHERE country_id = coalesce(OLD.country_id, 0) AND zone_id = coalesce(OLD.zone_id, 0);
END;
CREATE TRIGGER shop_addresses_steps_change AFTER UPDATE OF country_id, zone_id ON shop_addresses
BEGIN
    UPDATE shop_address_counts_by_zone SET n = n - 1
    WHERE country_id = coalesce(OLD.country_id, 0) AND zone_id = coalesce(OLD.zone_id, 0);
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

-- The texts themselves stay where they are; here is only which trigrams they have, and where.
CREATE VIRTUAL TABLE shop_products_search USING fts5 (
    product_name_fold, sku_fold,
    content = 'shop_products', content_rowid = 'shop_product_id',
    tokenize = 'trigram case_sensitive 1', detail = full, columnsize = 0
);
INSERT INTO shop_products_search (shop_products_search) VALUES ('rebuild');
CREATE TRIGGER shop_products_search_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_products_search (rowid, product_name_fold, sku_fold)
    VALUES (NEW.shop_product_id, NEW.product_name_fold, NEW.sku_fold);
END;
CREATE TRIGGER shop_products_search_old AFTER DELETE ON shop_products
BEGIN
    INSERT INTO shop_products_search (shop_products_search, rowid, product_name_fold, sku_fold)
    VALUES ('delete', OLD.shop_product_id, OLD.product_name_fold, OLD.sku_fold);
END;
CREATE TRIGGER shop_products_search_change AFTER UPDATE OF product_name_fold, sku_fold
ON shop_products
BEGIN
    INSERT INTO shop_products_search (shop_products_search, rowid, product_name_fold, sku_fold)
    VALUES ('delete', OLD.shop_product_id, OLD.product_name_fold, OLD.sku_fold);
    INSERT INTO shop_products_search (rowid, product_name_fold, sku_fold)
    VALUES (NEW.shop_product_id, NEW.product_name_fold, NEW.sku_fold);
END;
CREATE VIRTUAL TABLE shop_orders_search USING fts5 (
    order_id_fold, billing_name, user_email_fold,
    content = 'shop_orders', content_rowid = 'shop_order_id',
    tokenize = 'trigram case_sensitive 1', detail = full, columnsize = 0
);
INSERT INTO shop_orders_search (shop_orders_search) VALUES ('rebuild');
CREATE TRIGGER shop_orders_search_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_orders_search (rowid, order_id_fold, billing_name, user_email_fold)
    VALUES (NEW.shop_order_id, NEW.order_id_fold, NEW.billing_name, NEW.user_email_fold);
END;
CREATE TRIGGER shop_orders_search_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_orders_search (shop_orders_search, rowid, order_id_fold, billing_name,
        user_email_fold)
    VALUES ('delete', OLD.shop_order_id, OLD.order_id_fold, OLD.billing_name,
        OLD.user_email_fold);
END;
CREATE TRIGGER shop_orders_search_change AFTER UPDATE OF order_id_fold, billing_first_name_fold,
    billing_last_name_fold, user_email_fold
ON shop_orders
BEGIN
    INSERT INTO shop_orders_search (shop_orders_search, rowid, order_id_fold, billing_name,
        user_email_fold)
    VALUES ('delete', OLD.shop_order_id, OLD.order_id_fold, OLD.billing_name,
        OLD.user_email_fold);
    INSERT INTO shop_orders_search (rowid, order_id_fold, billing_name, user_email_fold)
    VALUES (NEW.shop_order_id, NEW.order_id_fold, NEW.billing_name, NEW.user_email_fold);
END;
CREATE VIRTUAL TABLE shop_addresses_search USING fts5 (
    first_name_fold, last_name_fold, email_fold, company_fold,
    content = 'shop_addresses', content_rowid = 'shop_address_id',
    tokenize = 'trigram case_sensitive 1', detail = full, columnsize = 0
);
INSERT INTO shop_addresses_search (shop_addresses_search) VALUES ('rebuild');
CREATE TRIGGER shop_addresses_search_new AFTER INSERT ON shop_addresses
BEGIN
    INSERT INTO shop_addresses_search (rowid, first_name_fold, last_name_fold, email_fold,
        company_fold)
    VALUES (NEW.shop_address_id, NEW.first_name_fold, NEW.last_name_fold, NEW.email_fold,
        NEW.company_fold);
END;
CREATE TRIGGER shop_addresses_search_old AFTER DELETE ON shop_addresses
BEGIN
    INSERT INTO shop_addresses_search (shop_addresses_search, rowid, first_name_fold,
        last_name_fold, email_fold, company_fold)
    VALUES ('delete', OLD.shop_address_id, OLD.first_name_fold, OLD.last_name_fold,
        OLD.email_fold, OLD.company_fold);
END;
CREATE TRIGGER shop_addresses_search_change AFTER UPDATE OF first_name_fold, last_name_fold,
    email_fold, company_fold
ON shop_addresses
BEGIN
    INSERT INTO shop_addresses_search (shop_addresses_search, rowid, first_name_fold,
        last_name_fold, email_fold, company_fold)
    VALUES ('delete', OLD.shop_address_id, OLD.first_name_fold, OLD.last_name_fold,
        OLD.email_fold, OLD.company_fold);
    INSERT INTO shop_addresses_search (rowid, first_name_fold, last_name_fold, email_fold,
        company_fold)
    VALUES (NEW.shop_address_id, NEW.first_name_fold, NEW.last_name_fold, NEW.email_fold,
        NEW.company_fold);
END;
