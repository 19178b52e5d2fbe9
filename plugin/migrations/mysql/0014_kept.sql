-- What triggers keep is described once, in `model/kept.rs`, and these triggers are made from that: a test
-- compares them. They count as those did that they replace, but for two things that let a difference stay what
-- it is whatever is written, so that it can be mended beside writers: a row goes when all that it
-- keeps has come to nothing, and what is taken away from a row that is missing is written too.

DROP TRIGGER shop_products_count_new;
DROP TRIGGER shop_products_count_old;
DROP TRIGGER shop_products_count_change;
DROP TRIGGER shop_products_steps_new;
DROP TRIGGER shop_products_steps_old;
DROP TRIGGER shop_products_steps_change;
DROP TRIGGER shop_products_stock_new;
DROP TRIGGER shop_products_stock_old;
DROP TRIGGER shop_products_stock_change;
DROP TRIGGER shop_orders_count_new;
DROP TRIGGER shop_orders_count_old;
DROP TRIGGER shop_orders_count_change;
DROP TRIGGER shop_orders_steps_new;
DROP TRIGGER shop_orders_steps_old;
DROP TRIGGER shop_orders_sales_new;
DROP TRIGGER shop_orders_sales_old;
DROP TRIGGER shop_orders_sales_change;
DROP TRIGGER shop_orders_turn_new;
DROP TRIGGER shop_orders_turn_old;
DROP TRIGGER shop_orders_turn_change;
DROP TRIGGER shop_addresses_count_new;
DROP TRIGGER shop_addresses_count_old;
DROP TRIGGER shop_addresses_count_change;
DROP TRIGGER shop_addresses_steps_new;
DROP TRIGGER shop_addresses_steps_old;
DROP TRIGGER shop_addresses_steps_change;
DROP TRIGGER shop_orderitems_turn_new;
DROP TRIGGER shop_orderitems_turn_old;
DROP TRIGGER shop_orderitems_turn_change;

-- Which run of `recount` is the latest, and how often it has written.
CREATE TABLE shop_recounts (
    one smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    run bigint NOT NULL,
    writes bigint NOT NULL
);
INSERT INTO shop_recounts VALUES (1, 0, 0);

CREATE TRIGGER shop_products_kept_new AFTER INSERT ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_product_id > products, NEW.shop_product_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_product_counts
    VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(NEW.category_id, 0), NEW.enabled, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_product_counts_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_product_blocks
    VALUES (NEW.shop_product_id >> 12, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_stock
    VALUES (CASE WHEN NEW.manage_stock = 0 THEN 0 WHEN NEW.quantity <= coalesce(NEW.min_out_qty, 0) THEN 1 WHEN NEW.notify_qty IS NULL THEN 4 WHEN NEW.quantity <= NEW.notify_qty THEN 2 ELSE 3 END,
        CASE WHEN NEW.manage_stock <> 0 AND NEW.quantity > coalesce(NEW.min_out_qty, 0) AND NEW.notify_qty IS NULL THEN NEW.quantity ELSE 0 END,
        mine, 1, NEW.quantity,
        (NEW.quantity * (cast(NEW.price * 100000 AS signed) DIV 1000000000) + NEW.quantity * (cast(NEW.price * 100000 AS signed) % 1000000000) DIV 1000000000) DIV 1000000000,
        (NEW.quantity * (cast(NEW.price * 100000 AS signed) DIV 1000000000) + NEW.quantity * (cast(NEW.price * 100000 AS signed) % 1000000000) DIV 1000000000) % 1000000000,
        NEW.quantity * (cast(NEW.price * 100000 AS signed) % 1000000000) % 1000000000)
    ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
        value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
        value_0 = value_0 + value(value_0);
END;

CREATE TRIGGER shop_products_kept_old AFTER DELETE ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_product_id > products, OLD.shop_product_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_product_counts
    VALUES (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_product_counts
    WHERE has_stock = OLD.has_stock AND enabled = OLD.enabled AND visibility = OLD.visibility
        AND product_type = OLD.product_type AND slot = mine AND n = 0;
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(OLD.manufacturer_id, 0), OLD.enabled, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_product_counts_by_manufacturer
    WHERE manufacturer_id = coalesce(OLD.manufacturer_id, 0) AND enabled = OLD.enabled
        AND slot = mine AND n = 0;
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(OLD.category_id, 0), OLD.enabled, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_product_counts_by_category
    WHERE category_id = coalesce(OLD.category_id, 0) AND enabled = OLD.enabled AND slot = mine
        AND n = 0;
    INSERT INTO shop_product_counts_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_product_counts_by_day
    WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND slot = mine AND n = 0;
    INSERT INTO shop_product_blocks
    VALUES (OLD.shop_product_id >> 12, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_product_blocks
    WHERE block = OLD.shop_product_id >> 12 AND slot = mine AND n = 0;
    INSERT INTO shop_stock
    VALUES (CASE WHEN OLD.manage_stock = 0 THEN 0 WHEN OLD.quantity <= coalesce(OLD.min_out_qty, 0) THEN 1 WHEN OLD.notify_qty IS NULL THEN 4 WHEN OLD.quantity <= OLD.notify_qty THEN 2 ELSE 3 END,
        CASE WHEN OLD.manage_stock <> 0 AND OLD.quantity > coalesce(OLD.min_out_qty, 0) AND OLD.notify_qty IS NULL THEN OLD.quantity ELSE 0 END,
        mine, -1, -(OLD.quantity),
        -((OLD.quantity * (cast(OLD.price * 100000 AS signed) DIV 1000000000) + OLD.quantity * (cast(OLD.price * 100000 AS signed) % 1000000000) DIV 1000000000) DIV 1000000000),
        -((OLD.quantity * (cast(OLD.price * 100000 AS signed) DIV 1000000000) + OLD.quantity * (cast(OLD.price * 100000 AS signed) % 1000000000) DIV 1000000000) % 1000000000),
        -(OLD.quantity * (cast(OLD.price * 100000 AS signed) % 1000000000) % 1000000000))
    ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
        value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
        value_0 = value_0 + value(value_0);
    DELETE FROM shop_stock
    WHERE status = CASE WHEN OLD.manage_stock = 0 THEN 0 WHEN OLD.quantity <= coalesce(OLD.min_out_qty, 0) THEN 1 WHEN OLD.notify_qty IS NULL THEN 4 WHEN OLD.quantity <= OLD.notify_qty THEN 2 ELSE 3 END
        AND quantity = CASE WHEN OLD.manage_stock <> 0 AND OLD.quantity > coalesce(OLD.min_out_qty, 0) AND OLD.notify_qty IS NULL THEN OLD.quantity ELSE 0 END
        AND slot = mine AND products = 0 AND units = 0 AND value_2 = 0 AND value_1 = 0 AND value_0 = 0;
END;

CREATE TRIGGER shop_products_kept_change AFTER UPDATE ON shop_products FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_product_id > products, OLD.shop_product_id % 16, 0) FROM shop_slots);
    IF NOT ((OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type)
        <=> (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type))
    THEN
        INSERT INTO shop_product_counts
        VALUES (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type, mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_product_counts
        WHERE has_stock = OLD.has_stock AND enabled = OLD.enabled AND visibility = OLD.visibility
            AND product_type = OLD.product_type AND slot = mine AND n = 0;
        INSERT INTO shop_product_counts
        VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.manufacturer_id, OLD.enabled)
        <=> (NEW.manufacturer_id, NEW.enabled))
    THEN
        INSERT INTO shop_product_counts_by_manufacturer
        VALUES (coalesce(OLD.manufacturer_id, 0), OLD.enabled, mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_product_counts_by_manufacturer
        WHERE manufacturer_id = coalesce(OLD.manufacturer_id, 0) AND enabled = OLD.enabled
            AND slot = mine AND n = 0;
        INSERT INTO shop_product_counts_by_manufacturer
        VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.category_id, OLD.enabled)
        <=> (NEW.category_id, NEW.enabled))
    THEN
        INSERT INTO shop_product_counts_by_category
        VALUES (coalesce(OLD.category_id, 0), OLD.enabled, mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_product_counts_by_category
        WHERE category_id = coalesce(OLD.category_id, 0) AND enabled = OLD.enabled AND slot = mine
            AND n = 0;
        INSERT INTO shop_product_counts_by_category
        VALUES (coalesce(NEW.category_id, 0), NEW.enabled, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.created_on)
        <=> (NEW.created_on))
    THEN
        INSERT INTO shop_product_counts_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_product_counts_by_day
        WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND slot = mine AND n = 0;
        INSERT INTO shop_product_counts_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.manage_stock, OLD.quantity, OLD.min_out_qty, OLD.notify_qty, OLD.price)
        <=> (NEW.manage_stock, NEW.quantity, NEW.min_out_qty, NEW.notify_qty, NEW.price))
    THEN
        INSERT INTO shop_stock
        VALUES (CASE WHEN OLD.manage_stock = 0 THEN 0 WHEN OLD.quantity <= coalesce(OLD.min_out_qty, 0) THEN 1 WHEN OLD.notify_qty IS NULL THEN 4 WHEN OLD.quantity <= OLD.notify_qty THEN 2 ELSE 3 END,
            CASE WHEN OLD.manage_stock <> 0 AND OLD.quantity > coalesce(OLD.min_out_qty, 0) AND OLD.notify_qty IS NULL THEN OLD.quantity ELSE 0 END,
            mine, -1, -(OLD.quantity),
            -((OLD.quantity * (cast(OLD.price * 100000 AS signed) DIV 1000000000) + OLD.quantity * (cast(OLD.price * 100000 AS signed) % 1000000000) DIV 1000000000) DIV 1000000000),
            -((OLD.quantity * (cast(OLD.price * 100000 AS signed) DIV 1000000000) + OLD.quantity * (cast(OLD.price * 100000 AS signed) % 1000000000) DIV 1000000000) % 1000000000),
            -(OLD.quantity * (cast(OLD.price * 100000 AS signed) % 1000000000) % 1000000000))
        ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
            value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
            value_0 = value_0 + value(value_0);
        DELETE FROM shop_stock
        WHERE status = CASE WHEN OLD.manage_stock = 0 THEN 0 WHEN OLD.quantity <= coalesce(OLD.min_out_qty, 0) THEN 1 WHEN OLD.notify_qty IS NULL THEN 4 WHEN OLD.quantity <= OLD.notify_qty THEN 2 ELSE 3 END
            AND quantity = CASE WHEN OLD.manage_stock <> 0 AND OLD.quantity > coalesce(OLD.min_out_qty, 0) AND OLD.notify_qty IS NULL THEN OLD.quantity ELSE 0 END
            AND slot = mine AND products = 0 AND units = 0 AND value_2 = 0 AND value_1 = 0 AND value_0 = 0;
        INSERT INTO shop_stock
        VALUES (CASE WHEN NEW.manage_stock = 0 THEN 0 WHEN NEW.quantity <= coalesce(NEW.min_out_qty, 0) THEN 1 WHEN NEW.notify_qty IS NULL THEN 4 WHEN NEW.quantity <= NEW.notify_qty THEN 2 ELSE 3 END,
            CASE WHEN NEW.manage_stock <> 0 AND NEW.quantity > coalesce(NEW.min_out_qty, 0) AND NEW.notify_qty IS NULL THEN NEW.quantity ELSE 0 END,
            mine, 1, NEW.quantity,
            (NEW.quantity * (cast(NEW.price * 100000 AS signed) DIV 1000000000) + NEW.quantity * (cast(NEW.price * 100000 AS signed) % 1000000000) DIV 1000000000) DIV 1000000000,
            (NEW.quantity * (cast(NEW.price * 100000 AS signed) DIV 1000000000) + NEW.quantity * (cast(NEW.price * 100000 AS signed) % 1000000000) DIV 1000000000) % 1000000000,
            NEW.quantity * (cast(NEW.price * 100000 AS signed) % 1000000000) % 1000000000)
        ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
            value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
            value_0 = value_0 + value(value_0);
    END IF;
END;

CREATE TRIGGER shop_orders_kept_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_order_id > orders, NEW.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_order_counts
    VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_order_counts_by_user
    VALUES (NEW.user_id, NEW.order_state_id, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_order_counts_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_order_blocks
    VALUES (NEW.shop_order_id >> 12, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_sales_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id, mine, 1,
        NEW.item_quantity, NEW.order_subtotal DIV 10000, NEW.order_subtotal % 10000 * 100000,
        NEW.order_discount DIV 10000, NEW.order_discount % 10000 * 100000, NEW.order_refund DIV 10000,
        NEW.order_refund % 10000 * 100000, NEW.order_shipping DIV 10000,
        NEW.order_shipping % 10000 * 100000, NEW.order_tax DIV 10000, NEW.order_tax % 10000 * 100000)
    ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
        subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
        discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
        refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
        shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
        tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
    INSERT INTO shop_turns_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10))
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orders_kept_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_order_id > orders, OLD.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_order_counts
    VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_order_counts
    WHERE order_state_id = OLD.order_state_id AND orderpayment_type = OLD.orderpayment_type
        AND currency_code = OLD.currency_code AND slot = mine AND n = 0;
    INSERT INTO shop_order_counts_by_user
    VALUES (OLD.user_id, OLD.order_state_id, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_order_counts_by_user
    WHERE user_id = OLD.user_id AND order_state_id = OLD.order_state_id AND slot = mine AND n = 0;
    INSERT INTO shop_order_counts_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_order_counts_by_day
    WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND order_state_id = OLD.order_state_id
        AND slot = mine AND n = 0;
    INSERT INTO shop_order_blocks
    VALUES (OLD.shop_order_id >> 12, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_order_blocks
    WHERE block = OLD.shop_order_id >> 12 AND slot = mine AND n = 0;
    INSERT INTO shop_sales_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id, mine, -1,
        -(OLD.item_quantity), -(OLD.order_subtotal DIV 10000), -(OLD.order_subtotal % 10000 * 100000),
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
        AND order_state_id = OLD.order_state_id AND slot = mine AND orders = 0 AND items = 0
        AND subtotal_1 = 0 AND subtotal_0 = 0 AND discount_1 = 0 AND discount_0 = 0 AND refund_1 = 0
        AND refund_0 = 0 AND shipping_1 = 0 AND shipping_0 = 0 AND tax_1 = 0 AND tax_0 = 0;
    INSERT INTO shop_turns_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10))
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orders_kept_change AFTER UPDATE ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_order_id > orders, OLD.shop_order_id % 16, 0) FROM shop_slots);
    IF NOT ((OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code)
        <=> (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code))
    THEN
        INSERT INTO shop_order_counts
        VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_order_counts
        WHERE order_state_id = OLD.order_state_id AND orderpayment_type = OLD.orderpayment_type
            AND currency_code = OLD.currency_code AND slot = mine AND n = 0;
        INSERT INTO shop_order_counts
        VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.user_id, OLD.order_state_id)
        <=> (NEW.user_id, NEW.order_state_id))
    THEN
        INSERT INTO shop_order_counts_by_user
        VALUES (OLD.user_id, OLD.order_state_id, mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_order_counts_by_user
        WHERE user_id = OLD.user_id AND order_state_id = OLD.order_state_id AND slot = mine AND n = 0;
        INSERT INTO shop_order_counts_by_user
        VALUES (NEW.user_id, NEW.order_state_id, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.created_on, OLD.order_state_id)
        <=> (NEW.created_on, NEW.order_state_id))
    THEN
        INSERT INTO shop_order_counts_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id, mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_order_counts_by_day
        WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND order_state_id = OLD.order_state_id
            AND slot = mine AND n = 0;
        INSERT INTO shop_order_counts_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.created_on, OLD.currency_code, OLD.order_state_id, OLD.item_quantity,
        OLD.order_subtotal, OLD.order_discount, OLD.order_refund, OLD.order_shipping, OLD.order_tax)
        <=> (NEW.created_on, NEW.currency_code, NEW.order_state_id, NEW.item_quantity,
            NEW.order_subtotal, NEW.order_discount, NEW.order_refund, NEW.order_shipping,
            NEW.order_tax))
    THEN
        INSERT INTO shop_sales_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id, mine, -1,
            -(OLD.item_quantity), -(OLD.order_subtotal DIV 10000), -(OLD.order_subtotal % 10000 * 100000),
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
            AND order_state_id = OLD.order_state_id AND slot = mine AND orders = 0 AND items = 0
            AND subtotal_1 = 0 AND subtotal_0 = 0 AND discount_1 = 0 AND discount_0 = 0 AND refund_1 = 0
            AND refund_0 = 0 AND shipping_1 = 0 AND shipping_0 = 0 AND tax_1 = 0 AND tax_0 = 0;
        INSERT INTO shop_sales_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id, mine, 1,
            NEW.item_quantity, NEW.order_subtotal DIV 10000, NEW.order_subtotal % 10000 * 100000,
            NEW.order_discount DIV 10000, NEW.order_discount % 10000 * 100000, NEW.order_refund DIV 10000,
            NEW.order_refund % 10000 * 100000, NEW.order_shipping DIV 10000,
            NEW.order_shipping % 10000 * 100000, NEW.order_tax DIV 10000, NEW.order_tax % 10000 * 100000)
        ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
            subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
            discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
            refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
            shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
            tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
    END IF;
    IF NOT ((OLD.created_on, OLD.currency_code, OLD.order_state_id, OLD.order_total, OLD.user_id,
        OLD.user_email_fold)
        <=> (NEW.created_on, NEW.currency_code, NEW.order_state_id, NEW.order_total, NEW.user_id,
            NEW.user_email_fold))
    THEN
        INSERT INTO shop_turns_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10))
        ON DUPLICATE KEY UPDATE turn = value(turn);
        INSERT INTO shop_turns_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10))
        ON DUPLICATE KEY UPDATE turn = value(turn);
    END IF;
END;

CREATE TRIGGER shop_addresses_kept_new AFTER INSERT ON shop_addresses FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_address_id > addresses, NEW.shop_address_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_address_counts
    VALUES (coalesce(NEW.country_id, 0), mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_address_blocks
    VALUES (NEW.shop_address_id >> 12, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
END;

CREATE TRIGGER shop_addresses_kept_old AFTER DELETE ON shop_addresses FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_address_id > addresses, OLD.shop_address_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_address_counts
    VALUES (coalesce(OLD.country_id, 0), mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_address_counts
    WHERE country_id = coalesce(OLD.country_id, 0) AND slot = mine AND n = 0;
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_address_counts_by_zone
    WHERE country_id = coalesce(OLD.country_id, 0) AND zone_id = coalesce(OLD.zone_id, 0)
        AND slot = mine AND n = 0;
    INSERT INTO shop_address_blocks
    VALUES (OLD.shop_address_id >> 12, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_address_blocks
    WHERE block = OLD.shop_address_id >> 12 AND slot = mine AND n = 0;
END;

CREATE TRIGGER shop_addresses_kept_change AFTER UPDATE ON shop_addresses FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_address_id > addresses, OLD.shop_address_id % 16, 0) FROM shop_slots);
    IF NOT ((OLD.country_id)
        <=> (NEW.country_id))
    THEN
        INSERT INTO shop_address_counts
        VALUES (coalesce(OLD.country_id, 0), mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_address_counts
        WHERE country_id = coalesce(OLD.country_id, 0) AND slot = mine AND n = 0;
        INSERT INTO shop_address_counts
        VALUES (coalesce(NEW.country_id, 0), mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.country_id, OLD.zone_id)
        <=> (NEW.country_id, NEW.zone_id))
    THEN
        INSERT INTO shop_address_counts_by_zone
        VALUES (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_address_counts_by_zone
        WHERE country_id = coalesce(OLD.country_id, 0) AND zone_id = coalesce(OLD.zone_id, 0)
            AND slot = mine AND n = 0;
        INSERT INTO shop_address_counts_by_zone
        VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
END;

CREATE TRIGGER shop_orderitems_day_new AFTER INSERT ON shop_orderitems FOR EACH ROW
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT date_format(created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10)
    FROM shop_orders WHERE shop_order_id = NEW.order_key
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orderitems_day_old AFTER DELETE ON shop_orderitems FOR EACH ROW
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT date_format(created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10)
    FROM shop_orders WHERE shop_order_id = OLD.order_key
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orderitems_day_change AFTER UPDATE ON shop_orderitems FOR EACH ROW
BEGIN
    IF NOT ((OLD.order_key, OLD.product_id, OLD.orderitem_quantity, OLD.orderitem_finalprice)
        <=> (NEW.order_key, NEW.product_id, NEW.orderitem_quantity, NEW.orderitem_finalprice))
    THEN
        INSERT INTO shop_turns_by_day
        SELECT date_format(created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10)
        FROM shop_orders WHERE shop_order_id = OLD.order_key
        ON DUPLICATE KEY UPDATE turn = value(turn);
        INSERT INTO shop_turns_by_day
        SELECT date_format(created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10)
        FROM shop_orders WHERE shop_order_id = NEW.order_key
        ON DUPLICATE KEY UPDATE turn = value(turn);
    END IF;
END;
