-- What keeps the store within bounds, whatever is written: sums of a day in the parts that another engine
-- needs, no row for what has come to nothing, and a token for each claim of a mail.

ALTER TABLE shop_mails ADD COLUMN claim varchar(32) COLLATE "C" NOT NULL DEFAULT '';

-- A product that was given something to have in stock has a stock record.
UPDATE shop_products SET has_stock = 1 WHERE has_stock = 0 AND quantity > 0;

-- The sums of a day's orders, in parts: of 10^4 (_1) and of 10^-5 (_0).
DROP TABLE shop_sales_by_day;
CREATE TABLE shop_sales_by_day (
    day            varchar(10) COLLATE "C" NOT NULL,
    currency_code  varchar(3) COLLATE "C" NOT NULL,
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
) WITH (fillfactor = 50);

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
CREATE FUNCTION shop_slot_of(records text, key bigint) RETURNS smallint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE WHEN key > (
        SELECT CASE records WHEN 'products' THEN products WHEN 'orders' THEN orders ELSE addresses END
        FROM shop_slots
    ) THEN key % 16 ELSE 0 END;
END;
$$;

CREATE OR REPLACE FUNCTION shop_products_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := shop_slot_of('products', coalesce(NEW.shop_product_id, OLD.shop_product_id));
BEGIN
    IF TG_OP <> 'UPDATE' OR (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type)
        IS DISTINCT FROM (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type)
    THEN
        INSERT INTO shop_product_counts AS kept
        SELECT OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type, mine, -1
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, mine, 1
        WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2, 3, 4
        ON CONFLICT (has_stock, enabled, visibility, product_type, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR (OLD.manufacturer_id, OLD.enabled)
        IS DISTINCT FROM (NEW.manufacturer_id, NEW.enabled)
    THEN
        INSERT INTO shop_product_counts_by_manufacturer AS kept
        SELECT coalesce(OLD.manufacturer_id, 0), OLD.enabled, mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT coalesce(NEW.manufacturer_id, 0), NEW.enabled, mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (manufacturer_id, enabled, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR (OLD.category_id, OLD.enabled)
        IS DISTINCT FROM (NEW.category_id, NEW.enabled)
    THEN
        INSERT INTO shop_product_counts_by_category AS kept
        SELECT coalesce(OLD.category_id, 0), OLD.enabled, mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT coalesce(NEW.category_id, 0), NEW.enabled, mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (category_id, enabled, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION shop_orders_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := shop_slot_of('orders', coalesce(NEW.shop_order_id, OLD.shop_order_id));
BEGIN
    IF TG_OP <> 'UPDATE' OR (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code)
        IS DISTINCT FROM (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code)
    THEN
        INSERT INTO shop_order_counts AS kept
        SELECT OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, mine, -1
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, mine, 1
        WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2, 3
        ON CONFLICT (order_state_id, orderpayment_type, currency_code, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR (OLD.user_id, OLD.order_state_id)
        IS DISTINCT FROM (NEW.user_id, NEW.order_state_id)
    THEN
        INSERT INTO shop_order_counts_by_user AS kept
        SELECT OLD.user_id, OLD.order_state_id, mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT NEW.user_id, NEW.order_state_id, mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (user_id, order_state_id, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR (OLD.created_on::date, OLD.order_state_id)
        IS DISTINCT FROM (NEW.created_on::date, NEW.order_state_id)
    THEN
        INSERT INTO shop_order_counts_by_day AS kept
        SELECT to_char(OLD.created_on, 'YYYY-MM-DD'), OLD.order_state_id, mine, -1
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT to_char(NEW.created_on, 'YYYY-MM-DD'), NEW.order_state_id, mine, 1
        WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (day, order_state_id, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION shop_addresses_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := shop_slot_of('addresses', coalesce(NEW.shop_address_id, OLD.shop_address_id));
BEGIN
    IF TG_OP <> 'UPDATE' OR OLD.country_id IS DISTINCT FROM NEW.country_id THEN
        INSERT INTO shop_address_counts AS kept
        SELECT coalesce(OLD.country_id, 0), mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT coalesce(NEW.country_id, 0), mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1
        ON CONFLICT (country_id, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION shop_products_steps() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := shop_slot_of('products', coalesce(NEW.shop_product_id, OLD.shop_product_id));
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        INSERT INTO shop_product_blocks AS kept
        SELECT OLD.shop_product_id >> 12, mine, -1 WHERE TG_OP = 'DELETE'
        UNION ALL
        SELECT NEW.shop_product_id >> 12, mine, 1 WHERE TG_OP = 'INSERT'
        ON CONFLICT (block, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR OLD.created_on::date <> NEW.created_on::date THEN
        INSERT INTO shop_product_counts_by_day AS kept
        SELECT to_char(OLD.created_on, 'YYYY-MM-DD'), mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT to_char(NEW.created_on, 'YYYY-MM-DD'), mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1
        ON CONFLICT (day, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION shop_orders_steps() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := shop_slot_of('orders', coalesce(NEW.shop_order_id, OLD.shop_order_id));
BEGIN
    INSERT INTO shop_order_blocks AS kept
    SELECT OLD.shop_order_id >> 12, mine, -1 WHERE TG_OP = 'DELETE'
    UNION ALL
    SELECT NEW.shop_order_id >> 12, mine, 1 WHERE TG_OP = 'INSERT'
    ON CONFLICT (block, slot) DO UPDATE SET n = kept.n + excluded.n;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION shop_addresses_steps() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := shop_slot_of('addresses', coalesce(NEW.shop_address_id, OLD.shop_address_id));
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        INSERT INTO shop_address_blocks AS kept
        SELECT OLD.shop_address_id >> 12, mine, -1 WHERE TG_OP = 'DELETE'
        UNION ALL
        SELECT NEW.shop_address_id >> 12, mine, 1 WHERE TG_OP = 'INSERT'
        ON CONFLICT (block, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE'
        OR (OLD.country_id, OLD.zone_id) IS DISTINCT FROM (NEW.country_id, NEW.zone_id)
    THEN
        INSERT INTO shop_address_counts_by_zone AS kept
        SELECT coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), mine, -1
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), mine, 1
        WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (country_id, zone_id, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION shop_orders_sales() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := shop_slot_of('orders', coalesce(NEW.shop_order_id, OLD.shop_order_id));
BEGIN
    INSERT INTO shop_sales_by_day AS kept
    SELECT day, currency_code, order_state_id, mine, sum(sign), sum(sign * items),
        sum(sign * div(subtotal, 10000)), sum(sign * mod(subtotal, 10000) * 100000),
        sum(sign * div(discount, 10000)), sum(sign * mod(discount, 10000) * 100000),
        sum(sign * div(refund, 10000)), sum(sign * mod(refund, 10000) * 100000),
        sum(sign * div(shipping, 10000)), sum(sign * mod(shipping, 10000) * 100000),
        sum(sign * div(tax, 10000)), sum(sign * mod(tax, 10000) * 100000)
    FROM (
        SELECT -1 AS sign, to_char(OLD.created_on, 'YYYY-MM-DD') AS day, OLD.currency_code,
            OLD.order_state_id, OLD.item_quantity AS items, OLD.order_subtotal AS subtotal,
            OLD.order_discount AS discount, OLD.order_refund AS refund,
            OLD.order_shipping AS shipping, OLD.order_tax AS tax
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT 1, to_char(NEW.created_on, 'YYYY-MM-DD'), NEW.currency_code,
            NEW.order_state_id, NEW.item_quantity, NEW.order_subtotal, NEW.order_discount,
            NEW.order_refund, NEW.order_shipping, NEW.order_tax
        WHERE TG_OP <> 'DELETE'
    ) AS change
    GROUP BY day, currency_code, order_state_id
    ORDER BY day, currency_code, order_state_id
    ON CONFLICT (day, currency_code, order_state_id, slot) DO UPDATE
    SET orders = kept.orders + excluded.orders, items = kept.items + excluded.items,
        subtotal_1 = kept.subtotal_1 + excluded.subtotal_1,
        subtotal_0 = kept.subtotal_0 + excluded.subtotal_0,
        discount_1 = kept.discount_1 + excluded.discount_1,
        discount_0 = kept.discount_0 + excluded.discount_0,
        refund_1 = kept.refund_1 + excluded.refund_1, refund_0 = kept.refund_0 + excluded.refund_0,
        shipping_1 = kept.shipping_1 + excluded.shipping_1,
        shipping_0 = kept.shipping_0 + excluded.shipping_0, tax_1 = kept.tax_1 + excluded.tax_1,
        tax_0 = kept.tax_0 + excluded.tax_0;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION shop_products_stock() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := shop_slot_of('products', coalesce(NEW.shop_product_id, OLD.shop_product_id));
BEGIN
    INSERT INTO shop_stock AS kept
    SELECT status, quantity, mine, sum(sign), sum(sign * pieces),
        sum(sign * value_2), sum(sign * value_1), sum(sign * value_0)
    FROM (
        SELECT -1 AS sign, OLD.quantity AS pieces, s.* FROM shop_stock_of(OLD.manage_stock, OLD.quantity, OLD.min_out_qty,
            OLD.notify_qty, OLD.price) AS s
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT 1, NEW.quantity, s.* FROM shop_stock_of(NEW.manage_stock, NEW.quantity, NEW.min_out_qty,
            NEW.notify_qty, NEW.price) AS s WHERE TG_OP <> 'DELETE'
    ) AS change
    GROUP BY status, quantity
    ORDER BY status, quantity
    ON CONFLICT (status, quantity, slot) DO UPDATE
    SET products = kept.products + excluded.products, units = kept.units + excluded.units,
        value_2 = kept.value_2 + excluded.value_2, value_1 = kept.value_1 + excluded.value_1,
        value_0 = kept.value_0 + excluded.value_0;
    RETURN NULL;
END;
$$;

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
SELECT to_char(created_on, 'YYYY-MM-DD'), order_state_id, 0, count(*)
FROM shop_orders GROUP BY to_char(created_on, 'YYYY-MM-DD'), order_state_id;
DELETE FROM shop_address_counts;
INSERT INTO shop_address_counts
SELECT coalesce(country_id, 0), 0, count(*)
FROM shop_addresses GROUP BY coalesce(country_id, 0);
DELETE FROM shop_stock;
INSERT INTO shop_stock
SELECT s.status, s.quantity, 0, count(*), sum(p.quantity), sum(s.value_2), sum(s.value_1),
    sum(s.value_0)
FROM shop_products AS p,
    shop_stock_of(p.manage_stock, p.quantity, p.min_out_qty, p.notify_qty, p.price) AS s
GROUP BY s.status, s.quantity;
DELETE FROM shop_sales_by_day;
INSERT INTO shop_sales_by_day
SELECT to_char(created_on, 'YYYY-MM-DD'), currency_code, order_state_id, 0, count(*),
    sum(item_quantity), sum(div(order_subtotal, 10000)), sum(mod(order_subtotal, 10000) * 100000),
    sum(div(order_discount, 10000)), sum(mod(order_discount, 10000) * 100000),
    sum(div(order_refund, 10000)), sum(mod(order_refund, 10000) * 100000),
    sum(div(order_shipping, 10000)), sum(mod(order_shipping, 10000) * 100000),
    sum(div(order_tax, 10000)), sum(mod(order_tax, 10000) * 100000)
FROM shop_orders
GROUP BY to_char(created_on, 'YYYY-MM-DD'), currency_code, order_state_id;
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
SELECT to_char(created_on, 'YYYY-MM-DD'), 0, count(*)
FROM shop_products GROUP BY to_char(created_on, 'YYYY-MM-DD');
DELETE FROM shop_address_counts_by_zone;
INSERT INTO shop_address_counts_by_zone
SELECT coalesce(country_id, 0), coalesce(zone_id, 0), 0, count(*)
FROM shop_addresses GROUP BY coalesce(country_id, 0), coalesce(zone_id, 0);
DELETE FROM shop_slots;
INSERT INTO shop_slots
SELECT 1, (SELECT coalesce(max(shop_product_id), 0) FROM shop_products),
    (SELECT coalesce(max(shop_order_id), 0) FROM shop_orders),
    (SELECT coalesce(max(shop_address_id), 0) FROM shop_addresses);

-- The columns by which a row is known are the trigger's argument.
CREATE FUNCTION shop_counts_none() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('DELETE FROM %s WHERE (%s) = (SELECT %s FROM (SELECT ($1).*) AS none)',
        TG_RELID::regclass, TG_ARGV[0], TG_ARGV[0]) USING NEW;
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_product_counts_none AFTER UPDATE ON shop_product_counts
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('has_stock, enabled, visibility, product_type, slot');
CREATE TRIGGER shop_product_counts_by_manufacturer_none AFTER UPDATE ON shop_product_counts_by_manufacturer
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('manufacturer_id, enabled, slot');
CREATE TRIGGER shop_product_counts_by_category_none AFTER UPDATE ON shop_product_counts_by_category
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('category_id, enabled, slot');
CREATE TRIGGER shop_product_counts_by_day_none AFTER UPDATE ON shop_product_counts_by_day
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('day, slot');
CREATE TRIGGER shop_product_blocks_none AFTER UPDATE ON shop_product_blocks
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('block, slot');
CREATE TRIGGER shop_order_counts_none AFTER UPDATE ON shop_order_counts
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('order_state_id, orderpayment_type, currency_code, slot');
CREATE TRIGGER shop_order_counts_by_user_none AFTER UPDATE ON shop_order_counts_by_user
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('user_id, order_state_id, slot');
CREATE TRIGGER shop_order_counts_by_day_none AFTER UPDATE ON shop_order_counts_by_day
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('day, order_state_id, slot');
CREATE TRIGGER shop_order_blocks_none AFTER UPDATE ON shop_order_blocks
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('block, slot');
CREATE TRIGGER shop_address_counts_none AFTER UPDATE ON shop_address_counts
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('country_id, slot');
CREATE TRIGGER shop_address_counts_by_zone_none AFTER UPDATE ON shop_address_counts_by_zone
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('country_id, zone_id, slot');
CREATE TRIGGER shop_address_blocks_none AFTER UPDATE ON shop_address_blocks
    FOR EACH ROW WHEN (NEW.n = 0)
    EXECUTE FUNCTION shop_counts_none('block, slot');
CREATE TRIGGER shop_sales_by_day_none AFTER UPDATE ON shop_sales_by_day
    FOR EACH ROW WHEN (NEW.orders = 0)
    EXECUTE FUNCTION shop_counts_none('day, currency_code, order_state_id, slot');
CREATE TRIGGER shop_stock_none AFTER UPDATE ON shop_stock
    FOR EACH ROW WHEN (NEW.products = 0)
    EXECUTE FUNCTION shop_counts_none('status, quantity, slot');
