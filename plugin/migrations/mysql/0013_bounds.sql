-- What keeps the store within bounds, whatever is written: sums of a day in the parts that another engine
-- needs, no row for what has come to nothing, and a token for each claim of a mail.

ALTER TABLE shop_mails ADD COLUMN claim varchar(32) NOT NULL DEFAULT '';

-- A product that was given something to have in stock has a stock record.
UPDATE shop_products SET has_stock = 1 WHERE has_stock = 0 AND quantity > 0;

-- The sums of a day's orders, in parts: of 10^4 (_1) and of 10^-5 (_0).
DROP TABLE shop_sales_by_day;
CREATE TABLE shop_sales_by_day (
    day            varchar(10) NOT NULL,
    currency_code  varchar(3) NOT NULL,
    order_state_id bigint NOT NULL,
    slot           smallint NOT NULL,
    orders         bigint NOT NULL,
    items          bigint NOT NULL,
    subtotal_1     bigint NOT NULL,
    subtotal_0     bigint NOT NULL,
    discount_1     bigint NOT NULL,
    discount_0     bigint NOT NULL,
    refund_1       bigint NOT NULL,
    refund_0       bigint NOT NULL,
    shipping_1     bigint NOT NULL,
    shipping_0     bigint NOT NULL,
    tax_1          bigint NOT NULL,
    tax_0          bigint NOT NULL,
    PRIMARY KEY (day, currency_code, order_state_id, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- The slot of a count is now that of the record which is counted, not of the connection that writes: what a
-- record has added is taken from where it was added to. So no row is below zero, and one that has come to
-- nothing goes. Otherwise clients that use ever other values would fill the tables.
--
-- Counting anew leaves everything in slot 0, which is read faster than sixteen. Up to these keys records are
-- counted there, and younger ones in the slot of their key.
CREATE TABLE shop_slots (
    one       smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    products  bigint NOT NULL,
    orders    bigint NOT NULL,
    addresses bigint NOT NULL
);

DROP TRIGGER shop_products_count_new;
CREATE TRIGGER shop_products_count_new AFTER INSERT ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_product_id > products, NEW.shop_product_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_product_counts
    VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(NEW.category_id, 0), NEW.enabled, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

DROP TRIGGER shop_products_count_old;
CREATE TRIGGER shop_products_count_old AFTER DELETE ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_product_id > products, OLD.shop_product_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_product_counts
    VALUES (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type, mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_product_counts
    WHERE has_stock = OLD.has_stock AND enabled = OLD.enabled AND visibility = OLD.visibility
        AND product_type = OLD.product_type AND slot = mine AND n = 0;
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(OLD.manufacturer_id, 0), OLD.enabled, mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_product_counts_by_manufacturer
    WHERE manufacturer_id = coalesce(OLD.manufacturer_id, 0) AND enabled = OLD.enabled
        AND slot = mine AND n = 0;
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(OLD.category_id, 0), OLD.enabled, mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_product_counts_by_category
    WHERE category_id = coalesce(OLD.category_id, 0) AND enabled = OLD.enabled AND slot = mine
        AND n = 0;
END;

DROP TRIGGER shop_products_count_change;
CREATE TRIGGER shop_products_count_change AFTER UPDATE ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_product_id > products, OLD.shop_product_id % 16, 0) FROM shop_slots);
    IF (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type)
        <> (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type)
    THEN
        INSERT INTO shop_product_counts
        VALUES (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type,
            mine, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        DELETE FROM shop_product_counts
        WHERE has_stock = OLD.has_stock AND enabled = OLD.enabled AND visibility = OLD.visibility
            AND product_type = OLD.product_type AND slot = mine AND n = 0;
        INSERT INTO shop_product_counts
        VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type,
            mine, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
    IF (coalesce(OLD.manufacturer_id, 0), OLD.enabled)
        <> (coalesce(NEW.manufacturer_id, 0), NEW.enabled)
    THEN
        INSERT INTO shop_product_counts_by_manufacturer
        VALUES (coalesce(OLD.manufacturer_id, 0), OLD.enabled, mine, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        DELETE FROM shop_product_counts_by_manufacturer
        WHERE manufacturer_id = coalesce(OLD.manufacturer_id, 0) AND enabled = OLD.enabled
            AND slot = mine AND n = 0;
        INSERT INTO shop_product_counts_by_manufacturer
        VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
    IF (coalesce(OLD.category_id, 0), OLD.enabled)
        <> (coalesce(NEW.category_id, 0), NEW.enabled)
    THEN
        INSERT INTO shop_product_counts_by_category
        VALUES (coalesce(OLD.category_id, 0), OLD.enabled, mine, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        DELETE FROM shop_product_counts_by_category
        WHERE category_id = coalesce(OLD.category_id, 0) AND enabled = OLD.enabled AND slot = mine
            AND n = 0;
        INSERT INTO shop_product_counts_by_category
        VALUES (coalesce(NEW.category_id, 0), NEW.enabled, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;

DROP TRIGGER shop_products_steps_new;
CREATE TRIGGER shop_products_steps_new AFTER INSERT ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_product_id > products, NEW.shop_product_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_product_blocks VALUES (NEW.shop_product_id >> 12, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_product_counts_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

DROP TRIGGER shop_products_steps_old;
CREATE TRIGGER shop_products_steps_old AFTER DELETE ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_product_id > products, OLD.shop_product_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_product_blocks VALUES (OLD.shop_product_id >> 12, mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_product_blocks
    WHERE block = OLD.shop_product_id >> 12 AND slot = mine AND n = 0;
    INSERT INTO shop_product_counts_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_product_counts_by_day
    WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND slot = mine AND n = 0;
END;

DROP TRIGGER shop_products_steps_change;
CREATE TRIGGER shop_products_steps_change AFTER UPDATE ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_product_id > products, OLD.shop_product_id % 16, 0) FROM shop_slots);
    IF date(OLD.created_on) <> date(NEW.created_on) THEN
        INSERT INTO shop_product_counts_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), mine, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        DELETE FROM shop_product_counts_by_day
        WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND slot = mine AND n = 0;
        INSERT INTO shop_product_counts_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), mine, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;

DROP TRIGGER shop_products_stock_new;
CREATE TRIGGER shop_products_stock_new AFTER INSERT ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_product_id > products, NEW.shop_product_id % 16, 0) FROM shop_slots);
    DECLARE status_new smallint DEFAULT CASE WHEN NEW.manage_stock = 0 THEN 0
        WHEN NEW.quantity <= coalesce(NEW.min_out_qty, 0) THEN 1
        WHEN NEW.notify_qty IS NULL THEN 4
        WHEN NEW.quantity <= NEW.notify_qty THEN 2 ELSE 3 END;
    DECLARE price_new bigint DEFAULT NEW.price * 100000;
    DECLARE whole_new bigint DEFAULT NEW.quantity * (price_new DIV 1000000000)
        + NEW.quantity * (price_new % 1000000000) DIV 1000000000;
    INSERT INTO shop_stock
    VALUES (status_new, IF(status_new = 4, NEW.quantity, 0), mine,
        1, NEW.quantity,
        (whole_new DIV 1000000000), (whole_new % 1000000000),
        (NEW.quantity * (price_new % 1000000000) % 1000000000))
    ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
        value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
        value_0 = value_0 + value(value_0);
END;

DROP TRIGGER shop_products_stock_old;
CREATE TRIGGER shop_products_stock_old AFTER DELETE ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_product_id > products, OLD.shop_product_id % 16, 0) FROM shop_slots);
    DECLARE status_old smallint DEFAULT CASE WHEN OLD.manage_stock = 0 THEN 0
        WHEN OLD.quantity <= coalesce(OLD.min_out_qty, 0) THEN 1
        WHEN OLD.notify_qty IS NULL THEN 4
        WHEN OLD.quantity <= OLD.notify_qty THEN 2 ELSE 3 END;
    DECLARE price_old bigint DEFAULT OLD.price * 100000;
    DECLARE whole_old bigint DEFAULT OLD.quantity * (price_old DIV 1000000000)
        + OLD.quantity * (price_old % 1000000000) DIV 1000000000;
    INSERT INTO shop_stock
    VALUES (status_old, IF(status_old = 4, OLD.quantity, 0), mine,
        -1, -OLD.quantity,
        -(whole_old DIV 1000000000), -(whole_old % 1000000000),
        -(OLD.quantity * (price_old % 1000000000) % 1000000000))
    ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
        value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
        value_0 = value_0 + value(value_0);
    DELETE FROM shop_stock
    WHERE status = status_old AND quantity = IF(status_old = 4, OLD.quantity, 0) AND slot = mine
        AND products = 0;
END;

DROP TRIGGER shop_products_stock_change;
CREATE TRIGGER shop_products_stock_change AFTER UPDATE ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_product_id > products, OLD.shop_product_id % 16, 0) FROM shop_slots);
    DECLARE status_old smallint DEFAULT CASE WHEN OLD.manage_stock = 0 THEN 0
        WHEN OLD.quantity <= coalesce(OLD.min_out_qty, 0) THEN 1
        WHEN OLD.notify_qty IS NULL THEN 4
        WHEN OLD.quantity <= OLD.notify_qty THEN 2 ELSE 3 END;
    DECLARE price_old bigint DEFAULT OLD.price * 100000;
    DECLARE whole_old bigint DEFAULT OLD.quantity * (price_old DIV 1000000000)
        + OLD.quantity * (price_old % 1000000000) DIV 1000000000;
    DECLARE status_new smallint DEFAULT CASE WHEN NEW.manage_stock = 0 THEN 0
        WHEN NEW.quantity <= coalesce(NEW.min_out_qty, 0) THEN 1
        WHEN NEW.notify_qty IS NULL THEN 4
        WHEN NEW.quantity <= NEW.notify_qty THEN 2 ELSE 3 END;
    DECLARE price_new bigint DEFAULT NEW.price * 100000;
    DECLARE whole_new bigint DEFAULT NEW.quantity * (price_new DIV 1000000000)
        + NEW.quantity * (price_new % 1000000000) DIV 1000000000;
    IF NOT (OLD.manage_stock, OLD.quantity, OLD.min_out_qty, OLD.notify_qty, OLD.price)
        <=> (NEW.manage_stock, NEW.quantity, NEW.min_out_qty, NEW.notify_qty, NEW.price)
    THEN
        INSERT INTO shop_stock
        VALUES (status_old, IF(status_old = 4, OLD.quantity, 0), mine,
            -1, -OLD.quantity,
            -(whole_old DIV 1000000000), -(whole_old % 1000000000),
            -(OLD.quantity * (price_old % 1000000000) % 1000000000))
        ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
            value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
            value_0 = value_0 + value(value_0);
        DELETE FROM shop_stock
        WHERE status = status_old AND quantity = IF(status_old = 4, OLD.quantity, 0)
            AND slot = mine AND products = 0;
        INSERT INTO shop_stock
        VALUES (status_new, IF(status_new = 4, NEW.quantity, 0), mine,
            1, NEW.quantity,
            (whole_new DIV 1000000000), (whole_new % 1000000000),
            (NEW.quantity * (price_new % 1000000000) % 1000000000))
        ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
            value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
            value_0 = value_0 + value(value_0);
    END IF;
END;

DROP TRIGGER shop_orders_count_new;
CREATE TRIGGER shop_orders_count_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_order_id > orders, NEW.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_order_counts
    VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_order_counts_by_user
    VALUES (NEW.user_id, NEW.order_state_id, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_order_counts_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

DROP TRIGGER shop_orders_count_old;
CREATE TRIGGER shop_orders_count_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_order_id > orders, OLD.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_order_counts
    VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_order_counts
    WHERE order_state_id = OLD.order_state_id AND orderpayment_type = OLD.orderpayment_type
        AND currency_code = OLD.currency_code AND slot = mine AND n = 0;
    INSERT INTO shop_order_counts_by_user
    VALUES (OLD.user_id, OLD.order_state_id, mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_order_counts_by_user
    WHERE user_id = OLD.user_id AND order_state_id = OLD.order_state_id AND slot = mine AND n = 0;
    INSERT INTO shop_order_counts_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id, mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_order_counts_by_day
    WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND order_state_id = OLD.order_state_id
        AND slot = mine AND n = 0;
END;

DROP TRIGGER shop_orders_count_change;
CREATE TRIGGER shop_orders_count_change AFTER UPDATE ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_order_id > orders, OLD.shop_order_id % 16, 0) FROM shop_slots);
    IF (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code)
        <> (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code)
    THEN
        INSERT INTO shop_order_counts
        VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code,
            mine, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        DELETE FROM shop_order_counts
        WHERE order_state_id = OLD.order_state_id AND orderpayment_type = OLD.orderpayment_type
            AND currency_code = OLD.currency_code AND slot = mine AND n = 0;
        INSERT INTO shop_order_counts
        VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code,
            mine, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
    IF (OLD.user_id, OLD.order_state_id) <> (NEW.user_id, NEW.order_state_id) THEN
        INSERT INTO shop_order_counts_by_user
        VALUES (OLD.user_id, OLD.order_state_id, mine, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        DELETE FROM shop_order_counts_by_user
        WHERE user_id = OLD.user_id AND order_state_id = OLD.order_state_id AND slot = mine
            AND n = 0;
        INSERT INTO shop_order_counts_by_user
        VALUES (NEW.user_id, NEW.order_state_id, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
    IF (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id)
        <> (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id)
    THEN
        INSERT INTO shop_order_counts_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id,
            mine, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        DELETE FROM shop_order_counts_by_day
        WHERE day = date_format(OLD.created_on, '%Y-%m-%d')
            AND order_state_id = OLD.order_state_id AND slot = mine AND n = 0;
        INSERT INTO shop_order_counts_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id,
            mine, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;

DROP TRIGGER shop_orders_steps_new;
CREATE TRIGGER shop_orders_steps_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_order_id > orders, NEW.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_order_blocks VALUES (NEW.shop_order_id >> 12, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

DROP TRIGGER shop_orders_steps_old;
CREATE TRIGGER shop_orders_steps_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_order_id > orders, OLD.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_order_blocks VALUES (OLD.shop_order_id >> 12, mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_order_blocks
    WHERE block = OLD.shop_order_id >> 12 AND slot = mine AND n = 0;
END;

DROP TRIGGER shop_addresses_count_new;
CREATE TRIGGER shop_addresses_count_new AFTER INSERT ON shop_addresses FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_address_id > addresses, NEW.shop_address_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_address_counts
    VALUES (coalesce(NEW.country_id, 0), mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

DROP TRIGGER shop_addresses_count_old;
CREATE TRIGGER shop_addresses_count_old AFTER DELETE ON shop_addresses FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_address_id > addresses, OLD.shop_address_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_address_counts
    VALUES (coalesce(OLD.country_id, 0), mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_address_counts
    WHERE country_id = coalesce(OLD.country_id, 0) AND slot = mine AND n = 0;
END;

DROP TRIGGER shop_addresses_count_change;
CREATE TRIGGER shop_addresses_count_change AFTER UPDATE ON shop_addresses FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_address_id > addresses, OLD.shop_address_id % 16, 0) FROM shop_slots);
    IF coalesce(OLD.country_id, 0) <> coalesce(NEW.country_id, 0) THEN
        INSERT INTO shop_address_counts
        VALUES (coalesce(OLD.country_id, 0), mine, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        DELETE FROM shop_address_counts
        WHERE country_id = coalesce(OLD.country_id, 0) AND slot = mine AND n = 0;
        INSERT INTO shop_address_counts
        VALUES (coalesce(NEW.country_id, 0), mine, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;

DROP TRIGGER shop_addresses_steps_new;
CREATE TRIGGER shop_addresses_steps_new AFTER INSERT ON shop_addresses FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_address_id > addresses, NEW.shop_address_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_address_blocks VALUES (NEW.shop_address_id >> 12, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), mine, 1)
    ON DUPLICATE KEY UPDATE n = n + 1;
END;

DROP TRIGGER shop_addresses_steps_old;
CREATE TRIGGER shop_addresses_steps_old AFTER DELETE ON shop_addresses FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_address_id > addresses, OLD.shop_address_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_address_blocks VALUES (OLD.shop_address_id >> 12, mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_address_blocks
    WHERE block = OLD.shop_address_id >> 12 AND slot = mine AND n = 0;
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), mine, -1)
    ON DUPLICATE KEY UPDATE n = n - 1;
    DELETE FROM shop_address_counts_by_zone
    WHERE country_id = coalesce(OLD.country_id, 0) AND zone_id = coalesce(OLD.zone_id, 0)
        AND slot = mine AND n = 0;
END;

DROP TRIGGER shop_addresses_steps_change;
CREATE TRIGGER shop_addresses_steps_change AFTER UPDATE ON shop_addresses FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_address_id > addresses, OLD.shop_address_id % 16, 0) FROM shop_slots);
    IF (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0))
        <> (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0))
    THEN
        INSERT INTO shop_address_counts_by_zone
        VALUES (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), mine, -1)
        ON DUPLICATE KEY UPDATE n = n - 1;
        DELETE FROM shop_address_counts_by_zone
        WHERE country_id = coalesce(OLD.country_id, 0) AND zone_id = coalesce(OLD.zone_id, 0)
            AND slot = mine AND n = 0;
        INSERT INTO shop_address_counts_by_zone
        VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), mine, 1)
        ON DUPLICATE KEY UPDATE n = n + 1;
    END IF;
END;

DROP TRIGGER shop_orders_sales_new;
CREATE TRIGGER shop_orders_sales_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_order_id > orders, NEW.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_sales_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id, mine, 1,
        NEW.item_quantity, NEW.order_subtotal DIV 10000, NEW.order_subtotal % 10000 * 100000,
        NEW.order_discount DIV 10000, NEW.order_discount % 10000 * 100000,
        NEW.order_refund DIV 10000, NEW.order_refund % 10000 * 100000, NEW.order_shipping DIV 10000,
        NEW.order_shipping % 10000 * 100000, NEW.order_tax DIV 10000,
        NEW.order_tax % 10000 * 100000)
    ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
        subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
        discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
        refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
        shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
        tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
END;

DROP TRIGGER shop_orders_sales_old;
CREATE TRIGGER shop_orders_sales_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_order_id > orders, OLD.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_sales_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id, mine, -1,
        -OLD.item_quantity, -(OLD.order_subtotal DIV 10000), -(OLD.order_subtotal % 10000 * 100000),
        -(OLD.order_discount DIV 10000), -(OLD.order_discount % 10000 * 100000),
        -(OLD.order_refund DIV 10000), -(OLD.order_refund % 10000 * 100000),
        -(OLD.order_shipping DIV 10000), -(OLD.order_shipping % 10000 * 100000),
        -(OLD.order_tax DIV 10000), -(OLD.order_tax % 10000 * 100000))
    ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
        subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
        discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
        refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
        shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
        tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
    DELETE FROM shop_sales_by_day
    WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND currency_code = OLD.currency_code
        AND order_state_id = OLD.order_state_id AND slot = mine AND orders = 0;
END;

DROP TRIGGER shop_orders_sales_change;
CREATE TRIGGER shop_orders_sales_change AFTER UPDATE ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_order_id > orders, OLD.shop_order_id % 16, 0) FROM shop_slots);
    IF (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id,
            OLD.item_quantity, OLD.order_subtotal, OLD.order_discount, OLD.order_refund,
            OLD.order_shipping, OLD.order_tax)
        <> (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id,
            NEW.item_quantity, NEW.order_subtotal, NEW.order_discount, NEW.order_refund,
            NEW.order_shipping, NEW.order_tax)
    THEN
        INSERT INTO shop_sales_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id, mine, -1,
            -OLD.item_quantity, -(OLD.order_subtotal DIV 10000), -(OLD.order_subtotal % 10000 * 100000),
            -(OLD.order_discount DIV 10000), -(OLD.order_discount % 10000 * 100000),
            -(OLD.order_refund DIV 10000), -(OLD.order_refund % 10000 * 100000),
            -(OLD.order_shipping DIV 10000), -(OLD.order_shipping % 10000 * 100000),
            -(OLD.order_tax DIV 10000), -(OLD.order_tax % 10000 * 100000))
        ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
            subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
            discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
            refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
            shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
            tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
        DELETE FROM shop_sales_by_day
        WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND currency_code = OLD.currency_code
            AND order_state_id = OLD.order_state_id AND slot = mine AND orders = 0;
        INSERT INTO shop_sales_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id, mine, 1,
            NEW.item_quantity, NEW.order_subtotal DIV 10000, NEW.order_subtotal % 10000 * 100000,
            NEW.order_discount DIV 10000, NEW.order_discount % 10000 * 100000,
            NEW.order_refund DIV 10000, NEW.order_refund % 10000 * 100000, NEW.order_shipping DIV 10000,
            NEW.order_shipping % 10000 * 100000, NEW.order_tax DIV 10000,
            NEW.order_tax % 10000 * 100000)
        ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
            subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
            discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
            refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
            shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
            tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
    END IF;
END;

DELETE FROM shop_product_counts;
INSERT INTO shop_product_counts
SELECT has_stock, enabled, visibility, product_type, 0, count(*)
FROM shop_products GROUP BY has_stock, enabled, visibility, product_type;
DELETE FROM shop_product_counts_by_manufacturer;
INSERT INTO shop_product_counts_by_manufacturer
SELECT coalesce(manufacturer_id, 0), enabled, 0, count(*)
FROM shop_products GROUP BY coalesce(manufacturer_id, 0), enabled;
DELETE FROM shop_product_counts_by_category;
INSERT INTO shop_product_counts_by_category
SELECT coalesce(category_id, 0), enabled, 0, count(*)
FROM shop_products GROUP BY coalesce(category_id, 0), enabled;
DELETE FROM shop_order_counts;
INSERT INTO shop_order_counts
SELECT order_state_id, orderpayment_type, currency_code, 0, count(*)
FROM shop_orders GROUP BY order_state_id, orderpayment_type, currency_code;
DELETE FROM shop_order_counts_by_user;
INSERT INTO shop_order_counts_by_user
SELECT user_id, order_state_id, 0, count(*)
FROM shop_orders GROUP BY user_id, order_state_id;
DELETE FROM shop_order_counts_by_day;
INSERT INTO shop_order_counts_by_day
SELECT date_format(created_on, '%Y-%m-%d'), order_state_id, 0, count(*)
FROM shop_orders GROUP BY date_format(created_on, '%Y-%m-%d'), order_state_id;
DELETE FROM shop_address_counts;
INSERT INTO shop_address_counts
SELECT coalesce(country_id, 0), 0, count(*)
FROM shop_addresses GROUP BY coalesce(country_id, 0);
DELETE FROM shop_stock;
INSERT INTO shop_stock
SELECT status, IF(status = 4, pieces, 0), 0, count(*), sum(pieces),
    sum(whole DIV 1000000000), sum(whole % 1000000000), sum(rest % 1000000000)
FROM (
    SELECT CASE WHEN manage_stock = 0 THEN 0
        WHEN quantity <= coalesce(min_out_qty, 0) THEN 1
        WHEN notify_qty IS NULL THEN 4
        WHEN quantity <= notify_qty THEN 2 ELSE 3 END AS status,
        quantity AS pieces, quantity * (cast(price * 100000 AS signed) % 1000000000) AS rest,
        quantity * (cast(price * 100000 AS signed) DIV 1000000000)
            + quantity * (cast(price * 100000 AS signed) % 1000000000) DIV 1000000000 AS whole
    FROM shop_products
) AS parts
GROUP BY 1, 2;
DELETE FROM shop_sales_by_day;
INSERT INTO shop_sales_by_day
SELECT date_format(created_on, '%Y-%m-%d'), currency_code, order_state_id, 0, count(*),
    sum(item_quantity), sum(order_subtotal DIV 10000), sum(order_subtotal % 10000 * 100000),
    sum(order_discount DIV 10000), sum(order_discount % 10000 * 100000),
    sum(order_refund DIV 10000), sum(order_refund % 10000 * 100000), sum(order_shipping DIV 10000),
    sum(order_shipping % 10000 * 100000), sum(order_tax DIV 10000), sum(order_tax % 10000 * 100000)
FROM shop_orders
GROUP BY date_format(created_on, '%Y-%m-%d'), currency_code, order_state_id;
DELETE FROM shop_product_blocks;
INSERT INTO shop_product_blocks
SELECT shop_product_id >> 12, 0, count(*)
FROM shop_products GROUP BY shop_product_id >> 12;
DELETE FROM shop_order_blocks;
INSERT INTO shop_order_blocks
SELECT shop_order_id >> 12, 0, count(*)
FROM shop_orders GROUP BY shop_order_id >> 12;
DELETE FROM shop_address_blocks;
INSERT INTO shop_address_blocks
SELECT shop_address_id >> 12, 0, count(*)
FROM shop_addresses GROUP BY shop_address_id >> 12;
DELETE FROM shop_product_counts_by_day;
INSERT INTO shop_product_counts_by_day
SELECT date_format(created_on, '%Y-%m-%d'), 0, count(*)
FROM shop_products GROUP BY date_format(created_on, '%Y-%m-%d');
DELETE FROM shop_address_counts_by_zone;
INSERT INTO shop_address_counts_by_zone
SELECT coalesce(country_id, 0), coalesce(zone_id, 0), 0, count(*)
FROM shop_addresses GROUP BY coalesce(country_id, 0), coalesce(zone_id, 0);
DELETE FROM shop_slots;
INSERT INTO shop_slots
SELECT 1, (SELECT coalesce(max(shop_product_id), 0) FROM shop_products),
    (SELECT coalesce(max(shop_order_id), 0) FROM shop_orders),
    (SELECT coalesce(max(shop_address_id), 0) FROM shop_addresses);
