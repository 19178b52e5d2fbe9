-- Kept counts, so that the total of a list costs the same in a large store as in a small one. Each
-- table has one row for each combination of values that occurs; triggers keep it in the same
-- transaction as the write. 0 and '' stand for an unset value.

CREATE TABLE shop_product_counts (
    has_stock    INTEGER NOT NULL,
    enabled      INTEGER NOT NULL,
    visibility   INTEGER NOT NULL,
    product_type TEXT NOT NULL,
    n            INTEGER NOT NULL,
    PRIMARY KEY (has_stock, enabled, visibility, product_type)
) STRICT, WITHOUT ROWID;

CREATE TABLE shop_product_counts_by_manufacturer (
    manufacturer_id INTEGER NOT NULL,
    enabled         INTEGER NOT NULL,
    n               INTEGER NOT NULL,
    PRIMARY KEY (manufacturer_id, enabled)
) STRICT, WITHOUT ROWID;

CREATE TABLE shop_product_counts_by_category (
    category_id INTEGER NOT NULL,
    enabled     INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    PRIMARY KEY (category_id, enabled)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER shop_products_count_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_product_counts
    VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(NEW.category_id, 0), NEW.enabled, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER shop_products_count_old AFTER DELETE ON shop_products
BEGIN
    UPDATE shop_product_counts SET n = n - 1
    WHERE has_stock = OLD.has_stock AND enabled = OLD.enabled AND visibility = OLD.visibility
        AND product_type = OLD.product_type;
    UPDATE shop_product_counts_by_manufacturer SET n = n - 1
    WHERE manufacturer_id = coalesce(OLD.manufacturer_id, 0) AND enabled = OLD.enabled;
    UPDATE shop_product_counts_by_category SET n = n - 1
    WHERE category_id = coalesce(OLD.category_id, 0) AND enabled = OLD.enabled;
END;
CREATE TRIGGER shop_products_count_change
AFTER UPDATE OF has_stock, enabled, visibility, product_type, manufacturer_id, category_id
ON shop_products
BEGIN
    UPDATE shop_product_counts SET n = n - 1
    WHERE has_stock = OLD.has_stock AND enabled = OLD.enabled AND visibility = OLD.visibility
        AND product_type = OLD.product_type;
    INSERT INTO shop_product_counts
    VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    UPDATE shop_product_counts_by_manufacturer SET n = n - 1
    WHERE manufacturer_id = coalesce(OLD.manufacturer_id, 0) AND enabled = OLD.enabled;
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    UPDATE shop_product_counts_by_category SET n = n - 1
    WHERE category_id = coalesce(OLD.category_id, 0) AND enabled = OLD.enabled;
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(NEW.category_id, 0), NEW.enabled, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TABLE shop_order_counts (
    order_state_id    INTEGER NOT NULL,
    orderpayment_type TEXT NOT NULL,
    currency_code     TEXT NOT NULL,
    n                 INTEGER NOT NULL,
    PRIMARY KEY (order_state_id, orderpayment_type, currency_code)
) STRICT, WITHOUT ROWID;

CREATE TABLE shop_order_counts_by_user (
    user_id        INTEGER NOT NULL,
    order_state_id INTEGER NOT NULL,
    n              INTEGER NOT NULL,
    PRIMARY KEY (user_id, order_state_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE shop_order_counts_by_day (
    day            TEXT NOT NULL,
    order_state_id INTEGER NOT NULL,
    n              INTEGER NOT NULL,
    PRIMARY KEY (day, order_state_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER shop_orders_count_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_order_counts
    VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    INSERT INTO shop_order_counts_by_user VALUES (NEW.user_id, NEW.order_state_id, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    INSERT INTO shop_order_counts_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.order_state_id, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER shop_orders_count_old AFTER DELETE ON shop_orders
BEGIN
    UPDATE shop_order_counts SET n = n - 1
    WHERE order_state_id = OLD.order_state_id AND orderpayment_type = OLD.orderpayment_type
        AND currency_code = OLD.currency_code;
    UPDATE shop_order_counts_by_user SET n = n - 1
    WHERE user_id = OLD.user_id AND order_state_id = OLD.order_state_id;
    UPDATE shop_order_counts_by_day SET n = n - 1
    WHERE day = substr(OLD.created_on, 1, 10) AND order_state_id = OLD.order_state_id;
END;
CREATE TRIGGER shop_orders_count_change
AFTER UPDATE OF order_state_id, orderpayment_type, currency_code, user_id, created_on
ON shop_orders
BEGIN
    UPDATE shop_order_counts SET n = n - 1
    WHERE order_state_id = OLD.order_state_id AND orderpayment_type = OLD.orderpayment_type
        AND currency_code = OLD.currency_code;
    INSERT INTO shop_order_counts
    VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    UPDATE shop_order_counts_by_user SET n = n - 1
    WHERE user_id = OLD.user_id AND order_state_id = OLD.order_state_id;
    INSERT INTO shop_order_counts_by_user VALUES (NEW.user_id, NEW.order_state_id, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
    UPDATE shop_order_counts_by_day SET n = n - 1
    WHERE day = substr(OLD.created_on, 1, 10) AND order_state_id = OLD.order_state_id;
    INSERT INTO shop_order_counts_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.order_state_id, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TABLE shop_address_counts (
    country_id INTEGER NOT NULL PRIMARY KEY,
    n          INTEGER NOT NULL
) STRICT;
CREATE TRIGGER shop_addresses_count_new AFTER INSERT ON shop_addresses
BEGIN
    INSERT INTO shop_address_counts VALUES (coalesce(NEW.country_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER shop_addresses_count_old AFTER DELETE ON shop_addresses
BEGIN
    UPDATE shop_address_counts SET n = n - 1 WHERE country_id = coalesce(OLD.country_id, 0);
END;
CREATE TRIGGER shop_addresses_count_change AFTER UPDATE OF country_id ON shop_addresses
BEGIN
    UPDATE shop_address_counts SET n = n - 1 WHERE country_id = coalesce(OLD.country_id, 0);
    INSERT INTO shop_address_counts VALUES (coalesce(NEW.country_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
