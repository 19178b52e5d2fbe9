-- Kept counts, so that the total of a list costs the same in a large store as in a small one. Each
-- table has rows for each combination of values that occurs; triggers keep them in the same
-- transaction as the write. 0 and '' stand for an unset value.
--
-- One row for a combination would make writers wait for one another until each has committed.
-- There are sixteen, its slots, and a connection writes to one of them: the count is their sum, and
-- a slot may be below zero.

CREATE TABLE shop_product_counts (
    has_stock    smallint NOT NULL,
    enabled      smallint NOT NULL,
    visibility   smallint NOT NULL,
    product_type varchar(64) NOT NULL,
    slot         smallint NOT NULL,
    n            bigint NOT NULL,
    PRIMARY KEY (has_stock, enabled, visibility, product_type, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

CREATE TABLE shop_product_counts_by_manufacturer (
    manufacturer_id bigint NOT NULL,
    enabled         smallint NOT NULL,
    slot            smallint NOT NULL,
    n               bigint NOT NULL,
    PRIMARY KEY (manufacturer_id, enabled, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

CREATE TABLE shop_product_counts_by_category (
    category_id bigint NOT NULL,
    enabled     smallint NOT NULL,
    slot        smallint NOT NULL,
    n           bigint NOT NULL,
    PRIMARY KEY (category_id, enabled, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

CREATE TABLE shop_order_counts (
    order_state_id    bigint NOT NULL,
    orderpayment_type varchar(255) NOT NULL,
    currency_code     varchar(3) NOT NULL,
    slot              smallint NOT NULL,
    n                 bigint NOT NULL,
    PRIMARY KEY (order_state_id, orderpayment_type, currency_code, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

CREATE TABLE shop_order_counts_by_user (
    user_id        bigint NOT NULL,
    order_state_id bigint NOT NULL,
    slot           smallint NOT NULL,
    n              bigint NOT NULL,
    PRIMARY KEY (user_id, order_state_id, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

CREATE TABLE shop_order_counts_by_day (
    day            varchar(10) NOT NULL,
    order_state_id bigint NOT NULL,
    slot           smallint NOT NULL,
    n              bigint NOT NULL,
    PRIMARY KEY (day, order_state_id, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

CREATE TABLE shop_address_counts (
    country_id bigint NOT NULL,
    slot       smallint NOT NULL,
    n          bigint NOT NULL,
    PRIMARY KEY (country_id, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- The counters are always written in the same order, so that two writers on one slot wait for one
-- another instead of each for the other.

CREATE TRIGGER shop_products_count_new AFTER INSERT ON shop_products FOR EACH ROW
BEGIN
    INSERT INTO shop_product_counts
    VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(NEW.category_id, 0), NEW.enabled, connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

CREATE TRIGGER shop_products_count_old AFTER DELETE ON shop_products FOR EACH ROW
BEGIN
    INSERT INTO shop_product_counts
    VALUES (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type, connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(OLD.manufacturer_id, 0), OLD.enabled, connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(OLD.category_id, 0), OLD.enabled, connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
END;

CREATE TRIGGER shop_products_count_change AFTER UPDATE ON shop_products FOR EACH ROW
BEGIN
    IF (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type)
        <> (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type)
    THEN
        INSERT INTO shop_product_counts
        VALUES (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type,
            connection_id() % 16, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        INSERT INTO shop_product_counts
        VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type,
            connection_id() % 16, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
    IF (coalesce(OLD.manufacturer_id, 0), OLD.enabled)
        <> (coalesce(NEW.manufacturer_id, 0), NEW.enabled)
    THEN
        INSERT INTO shop_product_counts_by_manufacturer
        VALUES (coalesce(OLD.manufacturer_id, 0), OLD.enabled, connection_id() % 16, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        INSERT INTO shop_product_counts_by_manufacturer
        VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, connection_id() % 16, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
    IF (coalesce(OLD.category_id, 0), OLD.enabled)
        <> (coalesce(NEW.category_id, 0), NEW.enabled)
    THEN
        INSERT INTO shop_product_counts_by_category
        VALUES (coalesce(OLD.category_id, 0), OLD.enabled, connection_id() % 16, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        INSERT INTO shop_product_counts_by_category
        VALUES (coalesce(NEW.category_id, 0), NEW.enabled, connection_id() % 16, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;

CREATE TRIGGER shop_orders_count_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_order_counts
    VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_order_counts_by_user
    VALUES (NEW.user_id, NEW.order_state_id, connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_order_counts_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id, connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

CREATE TRIGGER shop_orders_count_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_order_counts
    VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    INSERT INTO shop_order_counts_by_user
    VALUES (OLD.user_id, OLD.order_state_id, connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    INSERT INTO shop_order_counts_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id, connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
END;

CREATE TRIGGER shop_orders_count_change AFTER UPDATE ON shop_orders FOR EACH ROW
BEGIN
    IF (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code)
        <> (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code)
    THEN
        INSERT INTO shop_order_counts
        VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code,
            connection_id() % 16, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        INSERT INTO shop_order_counts
        VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code,
            connection_id() % 16, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
    IF (OLD.user_id, OLD.order_state_id) <> (NEW.user_id, NEW.order_state_id) THEN
        INSERT INTO shop_order_counts_by_user
        VALUES (OLD.user_id, OLD.order_state_id, connection_id() % 16, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        INSERT INTO shop_order_counts_by_user
        VALUES (NEW.user_id, NEW.order_state_id, connection_id() % 16, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
    IF (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id)
        <> (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id)
    THEN
        INSERT INTO shop_order_counts_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id,
            connection_id() % 16, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        INSERT INTO shop_order_counts_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id,
            connection_id() % 16, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;

CREATE TRIGGER shop_addresses_count_new AFTER INSERT ON shop_addresses FOR EACH ROW
BEGIN
    INSERT INTO shop_address_counts
    VALUES (coalesce(NEW.country_id, 0), connection_id() % 16, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

CREATE TRIGGER shop_addresses_count_old AFTER DELETE ON shop_addresses FOR EACH ROW
BEGIN
    INSERT INTO shop_address_counts
    VALUES (coalesce(OLD.country_id, 0), connection_id() % 16, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
END;

CREATE TRIGGER shop_addresses_count_change AFTER UPDATE ON shop_addresses FOR EACH ROW
BEGIN
    IF coalesce(OLD.country_id, 0) <> coalesce(NEW.country_id, 0) THEN
        INSERT INTO shop_address_counts
        VALUES (coalesce(OLD.country_id, 0), connection_id() % 16, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        INSERT INTO shop_address_counts
        VALUES (coalesce(NEW.country_id, 0), connection_id() % 16, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;
