-- What triggers keep is described once, in `model/kept.rs`, and these triggers are made from that: a test
-- compares them. They count as those did that they replace, but for two things that let a difference stay what
-- it is whatever is written, so that it can be mended beside writers: a row goes when all that it
-- keeps has come to nothing, and what is taken away from a row that is missing is written too.
--
-- They are told of all rows of a statement at once, so that a row which many of them are counted in is written
-- once.

DROP FUNCTION shop_products_count CASCADE;
DROP FUNCTION shop_orders_count CASCADE;
DROP FUNCTION shop_addresses_count CASCADE;
DROP FUNCTION shop_products_steps CASCADE;
DROP FUNCTION shop_orders_steps CASCADE;
DROP FUNCTION shop_addresses_steps CASCADE;
DROP FUNCTION shop_orders_sales CASCADE;
DROP FUNCTION shop_products_stock CASCADE;
DROP FUNCTION shop_orders_turn CASCADE;
DROP FUNCTION shop_orderitems_turn CASCADE;
DROP FUNCTION shop_orders_turn_away CASCADE;
DROP FUNCTION shop_counts_none CASCADE;
DROP FUNCTION shop_stock_of;
DROP FUNCTION shop_slot_of;

-- Which run of `recount` is the latest, and how often it has written.
CREATE TABLE shop_recounts (
    one smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    run bigint NOT NULL,
    writes bigint NOT NULL
);
INSERT INTO shop_recounts VALUES (1, 0, 0);

CREATE FUNCTION shop_products_kept_new() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    floor_key CONSTANT bigint := (SELECT products FROM shop_slots);
BEGIN
    INSERT INTO shop_product_counts AS kept
    SELECT has_stock, enabled, visibility, product_type,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2, 3, 4, 5
    ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (has_stock, enabled, visibility, product_type, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_product_counts_by_manufacturer AS kept
    SELECT coalesce(manufacturer_id, 0), enabled,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (manufacturer_id, enabled, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_product_counts_by_category AS kept
    SELECT coalesce(category_id, 0), enabled,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (category_id, enabled, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_product_counts_by_day AS kept
    SELECT to_char(created_on, 'YYYY-MM-DD'),
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (day, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_product_blocks AS kept
    SELECT shop_product_id >> 12,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (block, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_stock AS kept
    SELECT CASE WHEN manage_stock = 0 THEN 0 WHEN quantity <= coalesce(min_out_qty, 0) THEN 1 WHEN notify_qty IS NULL THEN 4 WHEN quantity <= notify_qty THEN 2 ELSE 3 END,
        CASE WHEN manage_stock <> 0 AND quantity > coalesce(min_out_qty, 0) AND notify_qty IS NULL THEN quantity ELSE 0 END,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, count(*),
        sum(quantity),
        sum((quantity * ((price * 100000)::bigint / 1000000000) + quantity * ((price * 100000)::bigint % 1000000000) / 1000000000) / 1000000000),
        sum((quantity * ((price * 100000)::bigint / 1000000000) + quantity * ((price * 100000)::bigint % 1000000000) / 1000000000) % 1000000000),
        sum(quantity * ((price * 100000)::bigint % 1000000000) % 1000000000)
    FROM new_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (status, quantity, slot)
    DO UPDATE SET products = kept.products + excluded.products, units = kept.units + excluded.units,
        value_2 = kept.value_2 + excluded.value_2, value_1 = kept.value_1 + excluded.value_1,
        value_0 = kept.value_0 + excluded.value_0;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_products_kept_new AFTER INSERT ON shop_products
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_products_kept_new();

CREATE FUNCTION shop_products_kept_old() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    floor_key CONSTANT bigint := (SELECT products FROM shop_slots);
BEGIN
    INSERT INTO shop_product_counts AS kept
    SELECT has_stock, enabled, visibility, product_type,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2, 3, 4, 5
    ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (has_stock, enabled, visibility, product_type, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_product_counts_by_manufacturer AS kept
    SELECT coalesce(manufacturer_id, 0), enabled,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (manufacturer_id, enabled, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_product_counts_by_category AS kept
    SELECT coalesce(category_id, 0), enabled,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (category_id, enabled, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_product_counts_by_day AS kept
    SELECT to_char(created_on, 'YYYY-MM-DD'),
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (day, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_product_blocks AS kept
    SELECT shop_product_id >> 12,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (block, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_stock AS kept
    SELECT CASE WHEN manage_stock = 0 THEN 0 WHEN quantity <= coalesce(min_out_qty, 0) THEN 1 WHEN notify_qty IS NULL THEN 4 WHEN quantity <= notify_qty THEN 2 ELSE 3 END,
        CASE WHEN manage_stock <> 0 AND quantity > coalesce(min_out_qty, 0) AND notify_qty IS NULL THEN quantity ELSE 0 END,
        CASE WHEN shop_product_id > floor_key THEN shop_product_id % 16 ELSE 0 END, -count(*),
        -sum(quantity),
        -sum((quantity * ((price * 100000)::bigint / 1000000000) + quantity * ((price * 100000)::bigint % 1000000000) / 1000000000) / 1000000000),
        -sum((quantity * ((price * 100000)::bigint / 1000000000) + quantity * ((price * 100000)::bigint % 1000000000) / 1000000000) % 1000000000),
        -sum(quantity * ((price * 100000)::bigint % 1000000000) % 1000000000)
    FROM old_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (status, quantity, slot)
    DO UPDATE SET products = kept.products + excluded.products, units = kept.units + excluded.units,
        value_2 = kept.value_2 + excluded.value_2, value_1 = kept.value_1 + excluded.value_1,
        value_0 = kept.value_0 + excluded.value_0;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_products_kept_old AFTER DELETE ON shop_products
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_products_kept_old();

CREATE FUNCTION shop_products_kept_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    several CONSTANT boolean := (SELECT count(*) > 1 FROM (SELECT FROM new_rows LIMIT 2) AS few);
    was shop_products;
    became shop_products;
BEGIN
    SELECT * INTO was FROM old_rows LIMIT 1;
    SELECT * INTO became FROM new_rows LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF several OR (was.has_stock, was.enabled, was.visibility, was.product_type)
        IS DISTINCT FROM (became.has_stock, became.enabled, became.visibility, became.product_type)
    THEN
        INSERT INTO shop_product_counts AS kept
        SELECT has_stock, enabled, visibility, product_type,
            CASE WHEN shop_product_id > (SELECT products FROM shop_slots) THEN shop_product_id % 16 ELSE 0 END,
            sum(sign)
        FROM (
            SELECT -1 AS sign, has_stock, enabled, visibility, product_type, shop_product_id FROM old_rows
            UNION ALL
            SELECT 1, has_stock, enabled, visibility, product_type, shop_product_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2, 3, 4, 5
        HAVING sum(sign) <> 0
        ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (has_stock, enabled, visibility, product_type, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF several OR (was.manufacturer_id, was.enabled)
        IS DISTINCT FROM (became.manufacturer_id, became.enabled)
    THEN
        INSERT INTO shop_product_counts_by_manufacturer AS kept
        SELECT coalesce(manufacturer_id, 0), enabled,
            CASE WHEN shop_product_id > (SELECT products FROM shop_slots) THEN shop_product_id % 16 ELSE 0 END,
            sum(sign)
        FROM (
            SELECT -1 AS sign, manufacturer_id, enabled, shop_product_id FROM old_rows
            UNION ALL
            SELECT 1, manufacturer_id, enabled, shop_product_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2, 3
        HAVING sum(sign) <> 0
        ORDER BY 1, 2, 3
        ON CONFLICT (manufacturer_id, enabled, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF several OR (was.category_id, was.enabled)
        IS DISTINCT FROM (became.category_id, became.enabled)
    THEN
        INSERT INTO shop_product_counts_by_category AS kept
        SELECT coalesce(category_id, 0), enabled,
            CASE WHEN shop_product_id > (SELECT products FROM shop_slots) THEN shop_product_id % 16 ELSE 0 END,
            sum(sign)
        FROM (
            SELECT -1 AS sign, category_id, enabled, shop_product_id FROM old_rows
            UNION ALL
            SELECT 1, category_id, enabled, shop_product_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2, 3
        HAVING sum(sign) <> 0
        ORDER BY 1, 2, 3
        ON CONFLICT (category_id, enabled, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF several OR (was.created_on)
        IS DISTINCT FROM (became.created_on)
    THEN
        INSERT INTO shop_product_counts_by_day AS kept
        SELECT to_char(created_on, 'YYYY-MM-DD'),
            CASE WHEN shop_product_id > (SELECT products FROM shop_slots) THEN shop_product_id % 16 ELSE 0 END,
            sum(sign)
        FROM (
            SELECT -1 AS sign, created_on, shop_product_id FROM old_rows
            UNION ALL
            SELECT 1, created_on, shop_product_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2
        HAVING sum(sign) <> 0
        ORDER BY 1, 2
        ON CONFLICT (day, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF several OR (was.manage_stock, was.quantity, was.min_out_qty, was.notify_qty, was.price)
        IS DISTINCT FROM (became.manage_stock, became.quantity, became.min_out_qty, became.notify_qty,
            became.price)
    THEN
        INSERT INTO shop_stock AS kept
        SELECT CASE WHEN manage_stock = 0 THEN 0 WHEN quantity <= coalesce(min_out_qty, 0) THEN 1 WHEN notify_qty IS NULL THEN 4 WHEN quantity <= notify_qty THEN 2 ELSE 3 END,
            CASE WHEN manage_stock <> 0 AND quantity > coalesce(min_out_qty, 0) AND notify_qty IS NULL THEN quantity ELSE 0 END,
            CASE WHEN shop_product_id > (SELECT products FROM shop_slots) THEN shop_product_id % 16 ELSE 0 END,
            sum(sign), sum(sign * (quantity)),
            sum(sign * ((quantity * ((price * 100000)::bigint / 1000000000) + quantity * ((price * 100000)::bigint % 1000000000) / 1000000000) / 1000000000)),
            sum(sign * ((quantity * ((price * 100000)::bigint / 1000000000) + quantity * ((price * 100000)::bigint % 1000000000) / 1000000000) % 1000000000)),
            sum(sign * (quantity * ((price * 100000)::bigint % 1000000000) % 1000000000))
        FROM (
            SELECT -1 AS sign, manage_stock, quantity, min_out_qty, notify_qty, price,
                shop_product_id FROM old_rows
            UNION ALL
            SELECT 1, manage_stock, quantity, min_out_qty, notify_qty, price, shop_product_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2, 3
        HAVING sum(sign) <> 0 OR sum(sign * (quantity)) <> 0
            OR sum(sign * ((quantity * ((price * 100000)::bigint / 1000000000) + quantity * ((price * 100000)::bigint % 1000000000) / 1000000000) / 1000000000)) <> 0
            OR sum(sign * ((quantity * ((price * 100000)::bigint / 1000000000) + quantity * ((price * 100000)::bigint % 1000000000) / 1000000000) % 1000000000)) <> 0
            OR sum(sign * (quantity * ((price * 100000)::bigint % 1000000000) % 1000000000)) <> 0
        ORDER BY 1, 2, 3
        ON CONFLICT (status, quantity, slot)
        DO UPDATE SET products = kept.products + excluded.products, units = kept.units + excluded.units,
            value_2 = kept.value_2 + excluded.value_2, value_1 = kept.value_1 + excluded.value_1,
            value_0 = kept.value_0 + excluded.value_0;
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_products_kept_change AFTER UPDATE ON shop_products
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_products_kept_change();

CREATE FUNCTION shop_orders_kept_new() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    floor_key CONSTANT bigint := (SELECT orders FROM shop_slots);
BEGIN
    INSERT INTO shop_order_counts AS kept
    SELECT order_state_id, orderpayment_type, currency_code,
        CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2, 3, 4
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (order_state_id, orderpayment_type, currency_code, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_order_counts_by_user AS kept
    SELECT user_id, order_state_id,
        CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (user_id, order_state_id, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_order_counts_by_day AS kept
    SELECT to_char(created_on, 'YYYY-MM-DD'), order_state_id,
        CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (day, order_state_id, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_order_blocks AS kept
    SELECT shop_order_id >> 12, CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END,
        count(*)
    FROM new_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (block, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_sales_by_day AS kept
    SELECT to_char(created_on, 'YYYY-MM-DD'), currency_code, order_state_id,
        CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END, count(*),
        sum(item_quantity), sum(div(order_subtotal, 10000)), sum(mod(order_subtotal, 10000) * 100000),
        sum(div(order_discount, 10000)), sum(mod(order_discount, 10000) * 100000),
        sum(div(order_refund, 10000)), sum(mod(order_refund, 10000) * 100000),
        sum(div(order_shipping, 10000)), sum(mod(order_shipping, 10000) * 100000),
        sum(div(order_tax, 10000)), sum(mod(order_tax, 10000) * 100000)
    FROM new_rows
    GROUP BY 1, 2, 3, 4
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (day, currency_code, order_state_id, slot)
    DO UPDATE SET orders = kept.orders + excluded.orders, items = kept.items + excluded.items,
        subtotal_1 = kept.subtotal_1 + excluded.subtotal_1,
        subtotal_0 = kept.subtotal_0 + excluded.subtotal_0,
        discount_1 = kept.discount_1 + excluded.discount_1,
        discount_0 = kept.discount_0 + excluded.discount_0,
        refund_1 = kept.refund_1 + excluded.refund_1, refund_0 = kept.refund_0 + excluded.refund_0,
        shipping_1 = kept.shipping_1 + excluded.shipping_1,
        shipping_0 = kept.shipping_0 + excluded.shipping_0, tax_1 = kept.tax_1 + excluded.tax_1,
        tax_0 = kept.tax_0 + excluded.tax_0;
    INSERT INTO shop_turns_by_day
    SELECT day, pg_backend_pid() % 16, (random() * 9007199254740991)::bigint
    FROM (
        SELECT DISTINCT to_char(created_on, 'YYYY-MM-DD') AS day FROM new_rows
    ) AS days
    ORDER BY day
    ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_orders_kept_new AFTER INSERT ON shop_orders
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_orders_kept_new();

CREATE FUNCTION shop_orders_kept_old() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    floor_key CONSTANT bigint := (SELECT orders FROM shop_slots);
BEGIN
    INSERT INTO shop_order_counts AS kept
    SELECT order_state_id, orderpayment_type, currency_code,
        CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2, 3, 4
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (order_state_id, orderpayment_type, currency_code, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_order_counts_by_user AS kept
    SELECT user_id, order_state_id,
        CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (user_id, order_state_id, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_order_counts_by_day AS kept
    SELECT to_char(created_on, 'YYYY-MM-DD'), order_state_id,
        CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (day, order_state_id, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_order_blocks AS kept
    SELECT shop_order_id >> 12, CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END,
        -count(*)
    FROM old_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (block, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_sales_by_day AS kept
    SELECT to_char(created_on, 'YYYY-MM-DD'), currency_code, order_state_id,
        CASE WHEN shop_order_id > floor_key THEN shop_order_id % 16 ELSE 0 END, -count(*),
        -sum(item_quantity), -sum(div(order_subtotal, 10000)),
        -sum(mod(order_subtotal, 10000) * 100000), -sum(div(order_discount, 10000)),
        -sum(mod(order_discount, 10000) * 100000), -sum(div(order_refund, 10000)),
        -sum(mod(order_refund, 10000) * 100000), -sum(div(order_shipping, 10000)),
        -sum(mod(order_shipping, 10000) * 100000), -sum(div(order_tax, 10000)),
        -sum(mod(order_tax, 10000) * 100000)
    FROM old_rows
    GROUP BY 1, 2, 3, 4
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (day, currency_code, order_state_id, slot)
    DO UPDATE SET orders = kept.orders + excluded.orders, items = kept.items + excluded.items,
        subtotal_1 = kept.subtotal_1 + excluded.subtotal_1,
        subtotal_0 = kept.subtotal_0 + excluded.subtotal_0,
        discount_1 = kept.discount_1 + excluded.discount_1,
        discount_0 = kept.discount_0 + excluded.discount_0,
        refund_1 = kept.refund_1 + excluded.refund_1, refund_0 = kept.refund_0 + excluded.refund_0,
        shipping_1 = kept.shipping_1 + excluded.shipping_1,
        shipping_0 = kept.shipping_0 + excluded.shipping_0, tax_1 = kept.tax_1 + excluded.tax_1,
        tax_0 = kept.tax_0 + excluded.tax_0;
    INSERT INTO shop_turns_by_day
    SELECT day, pg_backend_pid() % 16, (random() * 9007199254740991)::bigint
    FROM (
        SELECT DISTINCT to_char(created_on, 'YYYY-MM-DD') AS day FROM old_rows
    ) AS days
    ORDER BY day
    ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_orders_kept_old AFTER DELETE ON shop_orders
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_orders_kept_old();

CREATE FUNCTION shop_orders_kept_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    several CONSTANT boolean := (SELECT count(*) > 1 FROM (SELECT FROM new_rows LIMIT 2) AS few);
    was shop_orders;
    became shop_orders;
BEGIN
    SELECT * INTO was FROM old_rows LIMIT 1;
    SELECT * INTO became FROM new_rows LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF several OR (was.order_state_id, was.orderpayment_type, was.currency_code)
        IS DISTINCT FROM (became.order_state_id, became.orderpayment_type, became.currency_code)
    THEN
        INSERT INTO shop_order_counts AS kept
        SELECT order_state_id, orderpayment_type, currency_code,
            CASE WHEN shop_order_id > (SELECT orders FROM shop_slots) THEN shop_order_id % 16 ELSE 0 END,
            sum(sign)
        FROM (
            SELECT -1 AS sign, order_state_id, orderpayment_type, currency_code, shop_order_id FROM old_rows
            UNION ALL
            SELECT 1, order_state_id, orderpayment_type, currency_code, shop_order_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2, 3, 4
        HAVING sum(sign) <> 0
        ORDER BY 1, 2, 3, 4
        ON CONFLICT (order_state_id, orderpayment_type, currency_code, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF several OR (was.user_id, was.order_state_id)
        IS DISTINCT FROM (became.user_id, became.order_state_id)
    THEN
        INSERT INTO shop_order_counts_by_user AS kept
        SELECT user_id, order_state_id,
            CASE WHEN shop_order_id > (SELECT orders FROM shop_slots) THEN shop_order_id % 16 ELSE 0 END,
            sum(sign)
        FROM (
            SELECT -1 AS sign, user_id, order_state_id, shop_order_id FROM old_rows
            UNION ALL
            SELECT 1, user_id, order_state_id, shop_order_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2, 3
        HAVING sum(sign) <> 0
        ORDER BY 1, 2, 3
        ON CONFLICT (user_id, order_state_id, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF several OR (was.created_on, was.order_state_id)
        IS DISTINCT FROM (became.created_on, became.order_state_id)
    THEN
        INSERT INTO shop_order_counts_by_day AS kept
        SELECT to_char(created_on, 'YYYY-MM-DD'), order_state_id,
            CASE WHEN shop_order_id > (SELECT orders FROM shop_slots) THEN shop_order_id % 16 ELSE 0 END,
            sum(sign)
        FROM (
            SELECT -1 AS sign, created_on, order_state_id, shop_order_id FROM old_rows
            UNION ALL
            SELECT 1, created_on, order_state_id, shop_order_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2, 3
        HAVING sum(sign) <> 0
        ORDER BY 1, 2, 3
        ON CONFLICT (day, order_state_id, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF several OR (was.created_on, was.currency_code, was.order_state_id, was.item_quantity,
        was.order_subtotal, was.order_discount, was.order_refund, was.order_shipping, was.order_tax)
        IS DISTINCT FROM (became.created_on, became.currency_code, became.order_state_id,
            became.item_quantity, became.order_subtotal, became.order_discount, became.order_refund,
            became.order_shipping, became.order_tax)
    THEN
        INSERT INTO shop_sales_by_day AS kept
        SELECT to_char(created_on, 'YYYY-MM-DD'), currency_code, order_state_id,
            CASE WHEN shop_order_id > (SELECT orders FROM shop_slots) THEN shop_order_id % 16 ELSE 0 END,
            sum(sign), sum(sign * (item_quantity)), sum(sign * (div(order_subtotal, 10000))),
            sum(sign * (mod(order_subtotal, 10000) * 100000)), sum(sign * (div(order_discount, 10000))),
            sum(sign * (mod(order_discount, 10000) * 100000)), sum(sign * (div(order_refund, 10000))),
            sum(sign * (mod(order_refund, 10000) * 100000)), sum(sign * (div(order_shipping, 10000))),
            sum(sign * (mod(order_shipping, 10000) * 100000)), sum(sign * (div(order_tax, 10000))),
            sum(sign * (mod(order_tax, 10000) * 100000))
        FROM (
            SELECT -1 AS sign, created_on, currency_code, order_state_id, item_quantity, order_subtotal,
                order_discount, order_refund, order_shipping, order_tax, shop_order_id FROM old_rows
            UNION ALL
            SELECT 1, created_on, currency_code, order_state_id, item_quantity, order_subtotal,
                order_discount, order_refund, order_shipping, order_tax, shop_order_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2, 3, 4
        HAVING sum(sign) <> 0 OR sum(sign * (item_quantity)) <> 0
            OR sum(sign * (div(order_subtotal, 10000))) <> 0
            OR sum(sign * (mod(order_subtotal, 10000) * 100000)) <> 0
            OR sum(sign * (div(order_discount, 10000))) <> 0
            OR sum(sign * (mod(order_discount, 10000) * 100000)) <> 0
            OR sum(sign * (div(order_refund, 10000))) <> 0
            OR sum(sign * (mod(order_refund, 10000) * 100000)) <> 0
            OR sum(sign * (div(order_shipping, 10000))) <> 0
            OR sum(sign * (mod(order_shipping, 10000) * 100000)) <> 0
            OR sum(sign * (div(order_tax, 10000))) <> 0 OR sum(sign * (mod(order_tax, 10000) * 100000)) <> 0
        ORDER BY 1, 2, 3, 4
        ON CONFLICT (day, currency_code, order_state_id, slot)
        DO UPDATE SET orders = kept.orders + excluded.orders, items = kept.items + excluded.items,
            subtotal_1 = kept.subtotal_1 + excluded.subtotal_1,
            subtotal_0 = kept.subtotal_0 + excluded.subtotal_0,
            discount_1 = kept.discount_1 + excluded.discount_1,
            discount_0 = kept.discount_0 + excluded.discount_0,
            refund_1 = kept.refund_1 + excluded.refund_1, refund_0 = kept.refund_0 + excluded.refund_0,
            shipping_1 = kept.shipping_1 + excluded.shipping_1,
            shipping_0 = kept.shipping_0 + excluded.shipping_0, tax_1 = kept.tax_1 + excluded.tax_1,
            tax_0 = kept.tax_0 + excluded.tax_0;
    END IF;
    IF several OR (was.created_on, was.currency_code, was.order_state_id, was.order_total, was.user_id,
        was.user_email_fold)
        IS DISTINCT FROM (became.created_on, became.currency_code, became.order_state_id,
            became.order_total, became.user_id, became.user_email_fold)
    THEN
        INSERT INTO shop_turns_by_day
        SELECT day, pg_backend_pid() % 16, (random() * 9007199254740991)::bigint
        FROM (
            SELECT to_char(created_on, 'YYYY-MM-DD') AS day FROM old_rows UNION SELECT to_char(created_on, 'YYYY-MM-DD') AS day FROM new_rows
        ) AS days
        ORDER BY day
        ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_orders_kept_change AFTER UPDATE ON shop_orders
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_orders_kept_change();

CREATE FUNCTION shop_addresses_kept_new() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    floor_key CONSTANT bigint := (SELECT addresses FROM shop_slots);
BEGIN
    INSERT INTO shop_address_counts AS kept
    SELECT coalesce(country_id, 0),
        CASE WHEN shop_address_id > floor_key THEN shop_address_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (country_id, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_address_counts_by_zone AS kept
    SELECT coalesce(country_id, 0), coalesce(zone_id, 0),
        CASE WHEN shop_address_id > floor_key THEN shop_address_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (country_id, zone_id, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_address_blocks AS kept
    SELECT shop_address_id >> 12,
        CASE WHEN shop_address_id > floor_key THEN shop_address_id % 16 ELSE 0 END, count(*)
    FROM new_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (block, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_addresses_kept_new AFTER INSERT ON shop_addresses
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_addresses_kept_new();

CREATE FUNCTION shop_addresses_kept_old() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    floor_key CONSTANT bigint := (SELECT addresses FROM shop_slots);
BEGIN
    INSERT INTO shop_address_counts AS kept
    SELECT coalesce(country_id, 0),
        CASE WHEN shop_address_id > floor_key THEN shop_address_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (country_id, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_address_counts_by_zone AS kept
    SELECT coalesce(country_id, 0), coalesce(zone_id, 0),
        CASE WHEN shop_address_id > floor_key THEN shop_address_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (country_id, zone_id, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    INSERT INTO shop_address_blocks AS kept
    SELECT shop_address_id >> 12,
        CASE WHEN shop_address_id > floor_key THEN shop_address_id % 16 ELSE 0 END, -count(*)
    FROM old_rows
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (block, slot)
    DO UPDATE SET n = kept.n + excluded.n;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_addresses_kept_old AFTER DELETE ON shop_addresses
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_addresses_kept_old();

CREATE FUNCTION shop_addresses_kept_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    several CONSTANT boolean := (SELECT count(*) > 1 FROM (SELECT FROM new_rows LIMIT 2) AS few);
    was shop_addresses;
    became shop_addresses;
BEGIN
    SELECT * INTO was FROM old_rows LIMIT 1;
    SELECT * INTO became FROM new_rows LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF several OR (was.country_id)
        IS DISTINCT FROM (became.country_id)
    THEN
        INSERT INTO shop_address_counts AS kept
        SELECT coalesce(country_id, 0),
            CASE WHEN shop_address_id > (SELECT addresses FROM shop_slots) THEN shop_address_id % 16 ELSE 0 END,
            sum(sign)
        FROM (
            SELECT -1 AS sign, country_id, shop_address_id FROM old_rows
            UNION ALL
            SELECT 1, country_id, shop_address_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2
        HAVING sum(sign) <> 0
        ORDER BY 1, 2
        ON CONFLICT (country_id, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF several OR (was.country_id, was.zone_id)
        IS DISTINCT FROM (became.country_id, became.zone_id)
    THEN
        INSERT INTO shop_address_counts_by_zone AS kept
        SELECT coalesce(country_id, 0), coalesce(zone_id, 0),
            CASE WHEN shop_address_id > (SELECT addresses FROM shop_slots) THEN shop_address_id % 16 ELSE 0 END,
            sum(sign)
        FROM (
            SELECT -1 AS sign, country_id, zone_id, shop_address_id FROM old_rows
            UNION ALL
            SELECT 1, country_id, zone_id, shop_address_id FROM new_rows
        ) AS changed
        GROUP BY 1, 2, 3
        HAVING sum(sign) <> 0
        ORDER BY 1, 2, 3
        ON CONFLICT (country_id, zone_id, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_addresses_kept_change AFTER UPDATE ON shop_addresses
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_addresses_kept_change();

CREATE FUNCTION shop_orderitems_day_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT day, pg_backend_pid() % 16, (random() * 9007199254740991)::bigint
    FROM (
        SELECT DISTINCT to_char(created_on, 'YYYY-MM-DD') AS day FROM shop_orders
        WHERE shop_order_id IN (SELECT order_key FROM new_rows)
    ) AS days
    ORDER BY day
    ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_orderitems_day_new AFTER INSERT ON shop_orderitems
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_orderitems_day_new();

CREATE FUNCTION shop_orderitems_day_old() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT day, pg_backend_pid() % 16, (random() * 9007199254740991)::bigint
    FROM (
        SELECT DISTINCT to_char(created_on, 'YYYY-MM-DD') AS day FROM shop_orders
        WHERE shop_order_id IN (SELECT order_key FROM old_rows)
    ) AS days
    ORDER BY day
    ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_orderitems_day_old AFTER DELETE ON shop_orderitems
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_orderitems_day_old();

CREATE FUNCTION shop_orderitems_day_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    several CONSTANT boolean := (SELECT count(*) > 1 FROM (SELECT FROM new_rows LIMIT 2) AS few);
    was shop_orderitems;
    became shop_orderitems;
BEGIN
    SELECT * INTO was FROM old_rows LIMIT 1;
    SELECT * INTO became FROM new_rows LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF several OR (was.order_key, was.product_id, was.orderitem_quantity, was.orderitem_finalprice)
        IS DISTINCT FROM (became.order_key, became.product_id, became.orderitem_quantity,
            became.orderitem_finalprice)
    THEN
        INSERT INTO shop_turns_by_day
        SELECT day, pg_backend_pid() % 16, (random() * 9007199254740991)::bigint
        FROM (
            SELECT DISTINCT to_char(created_on, 'YYYY-MM-DD') AS day FROM shop_orders
            WHERE shop_order_id IN (SELECT order_key FROM old_rows UNION SELECT order_key FROM new_rows)
        ) AS days
        ORDER BY day
        ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_orderitems_day_change AFTER UPDATE ON shop_orderitems
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION shop_orderitems_day_change();

CREATE FUNCTION shop_product_counts_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_product_counts
    WHERE has_stock = NEW.has_stock AND enabled = NEW.enabled AND visibility = NEW.visibility
        AND product_type = NEW.product_type AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_product_counts_none AFTER UPDATE ON shop_product_counts FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_product_counts_none();

CREATE FUNCTION shop_product_counts_by_manufacturer_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_product_counts_by_manufacturer
    WHERE manufacturer_id = NEW.manufacturer_id AND enabled = NEW.enabled AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_product_counts_by_manufacturer_none AFTER UPDATE ON shop_product_counts_by_manufacturer FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_product_counts_by_manufacturer_none();

CREATE FUNCTION shop_product_counts_by_category_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_product_counts_by_category
    WHERE category_id = NEW.category_id AND enabled = NEW.enabled AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_product_counts_by_category_none AFTER UPDATE ON shop_product_counts_by_category FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_product_counts_by_category_none();

CREATE FUNCTION shop_product_counts_by_day_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_product_counts_by_day
    WHERE day = NEW.day AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_product_counts_by_day_none AFTER UPDATE ON shop_product_counts_by_day FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_product_counts_by_day_none();

CREATE FUNCTION shop_product_blocks_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_product_blocks
    WHERE block = NEW.block AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_product_blocks_none AFTER UPDATE ON shop_product_blocks FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_product_blocks_none();

CREATE FUNCTION shop_stock_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_stock
    WHERE status = NEW.status AND quantity = NEW.quantity AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_stock_none AFTER UPDATE ON shop_stock FOR EACH ROW
    WHEN (NEW.products = 0 AND NEW.units = 0 AND NEW.value_2 = 0 AND NEW.value_1 = 0
        AND NEW.value_0 = 0)
    EXECUTE FUNCTION shop_stock_none();

CREATE FUNCTION shop_order_counts_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_order_counts
    WHERE order_state_id = NEW.order_state_id AND orderpayment_type = NEW.orderpayment_type
        AND currency_code = NEW.currency_code AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_order_counts_none AFTER UPDATE ON shop_order_counts FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_order_counts_none();

CREATE FUNCTION shop_order_counts_by_user_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_order_counts_by_user
    WHERE user_id = NEW.user_id AND order_state_id = NEW.order_state_id AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_order_counts_by_user_none AFTER UPDATE ON shop_order_counts_by_user FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_order_counts_by_user_none();

CREATE FUNCTION shop_order_counts_by_day_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_order_counts_by_day
    WHERE day = NEW.day AND order_state_id = NEW.order_state_id AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_order_counts_by_day_none AFTER UPDATE ON shop_order_counts_by_day FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_order_counts_by_day_none();

CREATE FUNCTION shop_order_blocks_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_order_blocks
    WHERE block = NEW.block AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_order_blocks_none AFTER UPDATE ON shop_order_blocks FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_order_blocks_none();

CREATE FUNCTION shop_sales_by_day_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_sales_by_day
    WHERE day = NEW.day AND currency_code = NEW.currency_code
        AND order_state_id = NEW.order_state_id AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_sales_by_day_none AFTER UPDATE ON shop_sales_by_day FOR EACH ROW
    WHEN (NEW.orders = 0 AND NEW.items = 0 AND NEW.subtotal_1 = 0 AND NEW.subtotal_0 = 0
        AND NEW.discount_1 = 0 AND NEW.discount_0 = 0 AND NEW.refund_1 = 0 AND NEW.refund_0 = 0
        AND NEW.shipping_1 = 0 AND NEW.shipping_0 = 0 AND NEW.tax_1 = 0 AND NEW.tax_0 = 0)
    EXECUTE FUNCTION shop_sales_by_day_none();

CREATE FUNCTION shop_address_counts_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_address_counts
    WHERE country_id = NEW.country_id AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_address_counts_none AFTER UPDATE ON shop_address_counts FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_address_counts_none();

CREATE FUNCTION shop_address_counts_by_zone_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_address_counts_by_zone
    WHERE country_id = NEW.country_id AND zone_id = NEW.zone_id AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_address_counts_by_zone_none AFTER UPDATE ON shop_address_counts_by_zone FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_address_counts_by_zone_none();

CREATE FUNCTION shop_address_blocks_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shop_address_blocks
    WHERE block = NEW.block AND slot = NEW.slot;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_address_blocks_none AFTER UPDATE ON shop_address_blocks FOR EACH ROW
    WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_address_blocks_none();
