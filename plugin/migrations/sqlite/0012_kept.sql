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
DROP TRIGGER shop_product_counts_none;
DROP TRIGGER shop_product_counts_by_manufacturer_none;
DROP TRIGGER shop_product_counts_by_category_none;
DROP TRIGGER shop_product_counts_by_day_none;
DROP TRIGGER shop_product_blocks_none;
DROP TRIGGER shop_stock_none;
DROP TRIGGER shop_order_counts_none;
DROP TRIGGER shop_order_counts_by_user_none;
DROP TRIGGER shop_order_counts_by_day_none;
DROP TRIGGER shop_order_blocks_none;
DROP TRIGGER shop_sales_by_day_none;
DROP TRIGGER shop_address_counts_none;
DROP TRIGGER shop_address_counts_by_zone_none;
DROP TRIGGER shop_address_blocks_none;

-- Which run of `recount` is the latest, and how often it has written.
CREATE TABLE shop_recounts (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    run INTEGER NOT NULL,
    writes INTEGER NOT NULL
) STRICT;
INSERT INTO shop_recounts VALUES (1, 0, 0);

CREATE TRIGGER shop_product_counts_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_product_counts
    VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_old AFTER DELETE ON shop_products
BEGIN
    INSERT INTO shop_product_counts
    VALUES (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_change
AFTER UPDATE OF has_stock, enabled, visibility, product_type
ON shop_products
WHEN (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type)
    IS NOT (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type)
BEGIN
    INSERT INTO shop_product_counts
    VALUES (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_product_counts
    VALUES (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_none AFTER UPDATE ON shop_product_counts
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_counts
    WHERE has_stock = NEW.has_stock AND enabled = NEW.enabled AND visibility = NEW.visibility
        AND product_type = NEW.product_type;
END;

CREATE TRIGGER shop_product_counts_by_manufacturer_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_by_manufacturer_old AFTER DELETE ON shop_products
BEGIN
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(OLD.manufacturer_id, 0), OLD.enabled, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_by_manufacturer_change
AFTER UPDATE OF manufacturer_id, enabled
ON shop_products
WHEN (OLD.manufacturer_id, OLD.enabled)
    IS NOT (NEW.manufacturer_id, NEW.enabled)
BEGIN
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(OLD.manufacturer_id, 0), OLD.enabled, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_product_counts_by_manufacturer
    VALUES (coalesce(NEW.manufacturer_id, 0), NEW.enabled, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_by_manufacturer_none AFTER UPDATE ON shop_product_counts_by_manufacturer
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_counts_by_manufacturer
    WHERE manufacturer_id = NEW.manufacturer_id AND enabled = NEW.enabled;
END;

CREATE TRIGGER shop_product_counts_by_category_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(NEW.category_id, 0), NEW.enabled, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_by_category_old AFTER DELETE ON shop_products
BEGIN
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(OLD.category_id, 0), OLD.enabled, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_by_category_change
AFTER UPDATE OF category_id, enabled
ON shop_products
WHEN (OLD.category_id, OLD.enabled)
    IS NOT (NEW.category_id, NEW.enabled)
BEGIN
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(OLD.category_id, 0), OLD.enabled, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_product_counts_by_category
    VALUES (coalesce(NEW.category_id, 0), NEW.enabled, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_by_category_none AFTER UPDATE ON shop_product_counts_by_category
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_counts_by_category
    WHERE category_id = NEW.category_id AND enabled = NEW.enabled;
END;

CREATE TRIGGER shop_product_counts_by_day_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_product_counts_by_day
    VALUES (substr(NEW.created_on, 1, 10), 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_by_day_old AFTER DELETE ON shop_products
BEGIN
    INSERT INTO shop_product_counts_by_day
    VALUES (substr(OLD.created_on, 1, 10), -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_by_day_change
AFTER UPDATE OF created_on
ON shop_products
WHEN (OLD.created_on)
    IS NOT (NEW.created_on)
BEGIN
    INSERT INTO shop_product_counts_by_day
    VALUES (substr(OLD.created_on, 1, 10), -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_product_counts_by_day
    VALUES (substr(NEW.created_on, 1, 10), 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_counts_by_day_none AFTER UPDATE ON shop_product_counts_by_day
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_counts_by_day
    WHERE day = NEW.day;
END;

CREATE TRIGGER shop_product_blocks_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_product_blocks
    VALUES (NEW.shop_product_id >> 12, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_blocks_old AFTER DELETE ON shop_products
BEGIN
    INSERT INTO shop_product_blocks
    VALUES (OLD.shop_product_id >> 12, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_product_blocks_none AFTER UPDATE ON shop_product_blocks
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_blocks
    WHERE block = NEW.block;
END;

CREATE TRIGGER shop_stock_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_stock
    VALUES (CASE WHEN NEW.manage_stock = 0 THEN 0 WHEN NEW.quantity * 100000 <= coalesce(NEW.min_out_qty, 0) THEN 1 WHEN NEW.notify_qty IS NULL THEN 4 WHEN NEW.quantity * 100000 <= NEW.notify_qty THEN 2 ELSE 3 END,
        CASE WHEN NEW.manage_stock <> 0 AND NEW.quantity * 100000 > coalesce(NEW.min_out_qty, 0) AND NEW.notify_qty IS NULL THEN NEW.quantity ELSE 0 END,
        1, NEW.quantity,
        (NEW.quantity * (NEW.price / 1000000000) + NEW.quantity * (NEW.price % 1000000000) / 1000000000) / 1000000000,
        (NEW.quantity * (NEW.price / 1000000000) + NEW.quantity * (NEW.price % 1000000000) / 1000000000) % 1000000000,
        NEW.quantity * (NEW.price % 1000000000) % 1000000000)
    ON CONFLICT DO UPDATE SET products = products + excluded.products, units = units + excluded.units,
        value_2 = value_2 + excluded.value_2, value_1 = value_1 + excluded.value_1,
        value_0 = value_0 + excluded.value_0;
END;

CREATE TRIGGER shop_stock_old AFTER DELETE ON shop_products
BEGIN
    INSERT INTO shop_stock
    VALUES (CASE WHEN OLD.manage_stock = 0 THEN 0 WHEN OLD.quantity * 100000 <= coalesce(OLD.min_out_qty, 0) THEN 1 WHEN OLD.notify_qty IS NULL THEN 4 WHEN OLD.quantity * 100000 <= OLD.notify_qty THEN 2 ELSE 3 END,
        CASE WHEN OLD.manage_stock <> 0 AND OLD.quantity * 100000 > coalesce(OLD.min_out_qty, 0) AND OLD.notify_qty IS NULL THEN OLD.quantity ELSE 0 END,
        -1, -(OLD.quantity),
        -((OLD.quantity * (OLD.price / 1000000000) + OLD.quantity * (OLD.price % 1000000000) / 1000000000) / 1000000000),
        -((OLD.quantity * (OLD.price / 1000000000) + OLD.quantity * (OLD.price % 1000000000) / 1000000000) % 1000000000),
        -(OLD.quantity * (OLD.price % 1000000000) % 1000000000))
    ON CONFLICT DO UPDATE SET products = products + excluded.products, units = units + excluded.units,
        value_2 = value_2 + excluded.value_2, value_1 = value_1 + excluded.value_1,
        value_0 = value_0 + excluded.value_0;
END;

CREATE TRIGGER shop_stock_change
AFTER UPDATE OF manage_stock, quantity, min_out_qty, notify_qty, price
ON shop_products
WHEN (OLD.manage_stock, OLD.quantity, OLD.min_out_qty, OLD.notify_qty, OLD.price)
    IS NOT (NEW.manage_stock, NEW.quantity, NEW.min_out_qty, NEW.notify_qty, NEW.price)
BEGIN
    INSERT INTO shop_stock
    VALUES (CASE WHEN OLD.manage_stock = 0 THEN 0 WHEN OLD.quantity * 100000 <= coalesce(OLD.min_out_qty, 0) THEN 1 WHEN OLD.notify_qty IS NULL THEN 4 WHEN OLD.quantity * 100000 <= OLD.notify_qty THEN 2 ELSE 3 END,
        CASE WHEN OLD.manage_stock <> 0 AND OLD.quantity * 100000 > coalesce(OLD.min_out_qty, 0) AND OLD.notify_qty IS NULL THEN OLD.quantity ELSE 0 END,
        -1, -(OLD.quantity),
        -((OLD.quantity * (OLD.price / 1000000000) + OLD.quantity * (OLD.price % 1000000000) / 1000000000) / 1000000000),
        -((OLD.quantity * (OLD.price / 1000000000) + OLD.quantity * (OLD.price % 1000000000) / 1000000000) % 1000000000),
        -(OLD.quantity * (OLD.price % 1000000000) % 1000000000))
    ON CONFLICT DO UPDATE SET products = products + excluded.products, units = units + excluded.units,
        value_2 = value_2 + excluded.value_2, value_1 = value_1 + excluded.value_1,
        value_0 = value_0 + excluded.value_0;
    INSERT INTO shop_stock
    VALUES (CASE WHEN NEW.manage_stock = 0 THEN 0 WHEN NEW.quantity * 100000 <= coalesce(NEW.min_out_qty, 0) THEN 1 WHEN NEW.notify_qty IS NULL THEN 4 WHEN NEW.quantity * 100000 <= NEW.notify_qty THEN 2 ELSE 3 END,
        CASE WHEN NEW.manage_stock <> 0 AND NEW.quantity * 100000 > coalesce(NEW.min_out_qty, 0) AND NEW.notify_qty IS NULL THEN NEW.quantity ELSE 0 END,
        1, NEW.quantity,
        (NEW.quantity * (NEW.price / 1000000000) + NEW.quantity * (NEW.price % 1000000000) / 1000000000) / 1000000000,
        (NEW.quantity * (NEW.price / 1000000000) + NEW.quantity * (NEW.price % 1000000000) / 1000000000) % 1000000000,
        NEW.quantity * (NEW.price % 1000000000) % 1000000000)
    ON CONFLICT DO UPDATE SET products = products + excluded.products, units = units + excluded.units,
        value_2 = value_2 + excluded.value_2, value_1 = value_1 + excluded.value_1,
        value_0 = value_0 + excluded.value_0;
END;

CREATE TRIGGER shop_stock_none AFTER UPDATE ON shop_stock
WHEN NEW.products = 0 AND NEW.units = 0 AND NEW.value_2 = 0 AND NEW.value_1 = 0 AND NEW.value_0 = 0
BEGIN
    DELETE FROM shop_stock
    WHERE status = NEW.status AND quantity = NEW.quantity;
END;

CREATE TRIGGER shop_order_counts_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_order_counts
    VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_counts_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_order_counts
    VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_counts_change
AFTER UPDATE OF order_state_id, orderpayment_type, currency_code
ON shop_orders
WHEN (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code)
    IS NOT (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code)
BEGIN
    INSERT INTO shop_order_counts
    VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_order_counts
    VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_counts_none AFTER UPDATE ON shop_order_counts
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_order_counts
    WHERE order_state_id = NEW.order_state_id AND orderpayment_type = NEW.orderpayment_type
        AND currency_code = NEW.currency_code;
END;

CREATE TRIGGER shop_order_counts_by_user_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_order_counts_by_user
    VALUES (NEW.user_id, NEW.order_state_id, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_counts_by_user_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_order_counts_by_user
    VALUES (OLD.user_id, OLD.order_state_id, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_counts_by_user_change
AFTER UPDATE OF user_id, order_state_id
ON shop_orders
WHEN (OLD.user_id, OLD.order_state_id)
    IS NOT (NEW.user_id, NEW.order_state_id)
BEGIN
    INSERT INTO shop_order_counts_by_user
    VALUES (OLD.user_id, OLD.order_state_id, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_order_counts_by_user
    VALUES (NEW.user_id, NEW.order_state_id, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_counts_by_user_none AFTER UPDATE ON shop_order_counts_by_user
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_order_counts_by_user
    WHERE user_id = NEW.user_id AND order_state_id = NEW.order_state_id;
END;

CREATE TRIGGER shop_order_counts_by_day_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_order_counts_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.order_state_id, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_counts_by_day_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_order_counts_by_day
    VALUES (substr(OLD.created_on, 1, 10), OLD.order_state_id, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_counts_by_day_change
AFTER UPDATE OF created_on, order_state_id
ON shop_orders
WHEN (OLD.created_on, OLD.order_state_id)
    IS NOT (NEW.created_on, NEW.order_state_id)
BEGIN
    INSERT INTO shop_order_counts_by_day
    VALUES (substr(OLD.created_on, 1, 10), OLD.order_state_id, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_order_counts_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.order_state_id, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_counts_by_day_none AFTER UPDATE ON shop_order_counts_by_day
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_order_counts_by_day
    WHERE day = NEW.day AND order_state_id = NEW.order_state_id;
END;

CREATE TRIGGER shop_order_blocks_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_order_blocks
    VALUES (NEW.shop_order_id >> 12, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_blocks_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_order_blocks
    VALUES (OLD.shop_order_id >> 12, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_order_blocks_none AFTER UPDATE ON shop_order_blocks
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_order_blocks
    WHERE block = NEW.block;
END;

CREATE TRIGGER shop_sales_by_day_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_sales_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.currency_code, NEW.order_state_id, 1, NEW.item_quantity,
        NEW.order_subtotal / 1000000000, NEW.order_subtotal % 1000000000,
        NEW.order_discount / 1000000000, NEW.order_discount % 1000000000, NEW.order_refund / 1000000000,
        NEW.order_refund % 1000000000, NEW.order_shipping / 1000000000, NEW.order_shipping % 1000000000,
        NEW.order_tax / 1000000000, NEW.order_tax % 1000000000)
    ON CONFLICT DO UPDATE SET orders = orders + excluded.orders, items = items + excluded.items,
        subtotal_1 = subtotal_1 + excluded.subtotal_1, subtotal_0 = subtotal_0 + excluded.subtotal_0,
        discount_1 = discount_1 + excluded.discount_1, discount_0 = discount_0 + excluded.discount_0,
        refund_1 = refund_1 + excluded.refund_1, refund_0 = refund_0 + excluded.refund_0,
        shipping_1 = shipping_1 + excluded.shipping_1, shipping_0 = shipping_0 + excluded.shipping_0,
        tax_1 = tax_1 + excluded.tax_1, tax_0 = tax_0 + excluded.tax_0;
END;

CREATE TRIGGER shop_sales_by_day_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_sales_by_day
    VALUES (substr(OLD.created_on, 1, 10), OLD.currency_code, OLD.order_state_id, -1,
        -(OLD.item_quantity), -(OLD.order_subtotal / 1000000000), -(OLD.order_subtotal % 1000000000),
        -(OLD.order_discount / 1000000000), -(OLD.order_discount % 1000000000),
        -(OLD.order_refund / 1000000000), -(OLD.order_refund % 1000000000),
        -(OLD.order_shipping / 1000000000), -(OLD.order_shipping % 1000000000),
        -(OLD.order_tax / 1000000000), -(OLD.order_tax % 1000000000))
    ON CONFLICT DO UPDATE SET orders = orders + excluded.orders, items = items + excluded.items,
        subtotal_1 = subtotal_1 + excluded.subtotal_1, subtotal_0 = subtotal_0 + excluded.subtotal_0,
        discount_1 = discount_1 + excluded.discount_1, discount_0 = discount_0 + excluded.discount_0,
        refund_1 = refund_1 + excluded.refund_1, refund_0 = refund_0 + excluded.refund_0,
        shipping_1 = shipping_1 + excluded.shipping_1, shipping_0 = shipping_0 + excluded.shipping_0,
        tax_1 = tax_1 + excluded.tax_1, tax_0 = tax_0 + excluded.tax_0;
END;

CREATE TRIGGER shop_sales_by_day_change
AFTER UPDATE OF created_on, currency_code, order_state_id, item_quantity, order_subtotal,
    order_discount, order_refund, order_shipping, order_tax
ON shop_orders
WHEN (OLD.created_on, OLD.currency_code, OLD.order_state_id, OLD.item_quantity, OLD.order_subtotal,
    OLD.order_discount, OLD.order_refund, OLD.order_shipping, OLD.order_tax)
    IS NOT (NEW.created_on, NEW.currency_code, NEW.order_state_id, NEW.item_quantity,
        NEW.order_subtotal, NEW.order_discount, NEW.order_refund, NEW.order_shipping, NEW.order_tax)
BEGIN
    INSERT INTO shop_sales_by_day
    VALUES (substr(OLD.created_on, 1, 10), OLD.currency_code, OLD.order_state_id, -1,
        -(OLD.item_quantity), -(OLD.order_subtotal / 1000000000), -(OLD.order_subtotal % 1000000000),
        -(OLD.order_discount / 1000000000), -(OLD.order_discount % 1000000000),
        -(OLD.order_refund / 1000000000), -(OLD.order_refund % 1000000000),
        -(OLD.order_shipping / 1000000000), -(OLD.order_shipping % 1000000000),
        -(OLD.order_tax / 1000000000), -(OLD.order_tax % 1000000000))
    ON CONFLICT DO UPDATE SET orders = orders + excluded.orders, items = items + excluded.items,
        subtotal_1 = subtotal_1 + excluded.subtotal_1, subtotal_0 = subtotal_0 + excluded.subtotal_0,
        discount_1 = discount_1 + excluded.discount_1, discount_0 = discount_0 + excluded.discount_0,
        refund_1 = refund_1 + excluded.refund_1, refund_0 = refund_0 + excluded.refund_0,
        shipping_1 = shipping_1 + excluded.shipping_1, shipping_0 = shipping_0 + excluded.shipping_0,
        tax_1 = tax_1 + excluded.tax_1, tax_0 = tax_0 + excluded.tax_0;
    INSERT INTO shop_sales_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.currency_code, NEW.order_state_id, 1, NEW.item_quantity,
        NEW.order_subtotal / 1000000000, NEW.order_subtotal % 1000000000,
        NEW.order_discount / 1000000000, NEW.order_discount % 1000000000, NEW.order_refund / 1000000000,
        NEW.order_refund % 1000000000, NEW.order_shipping / 1000000000, NEW.order_shipping % 1000000000,
        NEW.order_tax / 1000000000, NEW.order_tax % 1000000000)
    ON CONFLICT DO UPDATE SET orders = orders + excluded.orders, items = items + excluded.items,
        subtotal_1 = subtotal_1 + excluded.subtotal_1, subtotal_0 = subtotal_0 + excluded.subtotal_0,
        discount_1 = discount_1 + excluded.discount_1, discount_0 = discount_0 + excluded.discount_0,
        refund_1 = refund_1 + excluded.refund_1, refund_0 = refund_0 + excluded.refund_0,
        shipping_1 = shipping_1 + excluded.shipping_1, shipping_0 = shipping_0 + excluded.shipping_0,
        tax_1 = tax_1 + excluded.tax_1, tax_0 = tax_0 + excluded.tax_0;
END;

CREATE TRIGGER shop_sales_by_day_none AFTER UPDATE ON shop_sales_by_day
WHEN NEW.orders = 0 AND NEW.items = 0 AND NEW.subtotal_1 = 0 AND NEW.subtotal_0 = 0
    AND NEW.discount_1 = 0 AND NEW.discount_0 = 0 AND NEW.refund_1 = 0 AND NEW.refund_0 = 0
    AND NEW.shipping_1 = 0 AND NEW.shipping_0 = 0 AND NEW.tax_1 = 0 AND NEW.tax_0 = 0
BEGIN
    DELETE FROM shop_sales_by_day
    WHERE day = NEW.day AND currency_code = NEW.currency_code AND order_state_id = NEW.order_state_id;
END;

CREATE TRIGGER shop_address_counts_new AFTER INSERT ON shop_addresses
BEGIN
    INSERT INTO shop_address_counts
    VALUES (coalesce(NEW.country_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_address_counts_old AFTER DELETE ON shop_addresses
BEGIN
    INSERT INTO shop_address_counts
    VALUES (coalesce(OLD.country_id, 0), -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_address_counts_change
AFTER UPDATE OF country_id
ON shop_addresses
WHEN (OLD.country_id)
    IS NOT (NEW.country_id)
BEGIN
    INSERT INTO shop_address_counts
    VALUES (coalesce(OLD.country_id, 0), -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_address_counts
    VALUES (coalesce(NEW.country_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_address_counts_none AFTER UPDATE ON shop_address_counts
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_address_counts
    WHERE country_id = NEW.country_id;
END;

CREATE TRIGGER shop_address_counts_by_zone_new AFTER INSERT ON shop_addresses
BEGIN
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_address_counts_by_zone_old AFTER DELETE ON shop_addresses
BEGIN
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_address_counts_by_zone_change
AFTER UPDATE OF country_id, zone_id
ON shop_addresses
WHEN (OLD.country_id, OLD.zone_id)
    IS NOT (NEW.country_id, NEW.zone_id)
BEGIN
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_address_counts_by_zone
    VALUES (coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_address_counts_by_zone_none AFTER UPDATE ON shop_address_counts_by_zone
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_address_counts_by_zone
    WHERE country_id = NEW.country_id AND zone_id = NEW.zone_id;
END;

CREATE TRIGGER shop_address_blocks_new AFTER INSERT ON shop_addresses
BEGIN
    INSERT INTO shop_address_blocks
    VALUES (NEW.shop_address_id >> 12, 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_address_blocks_old AFTER DELETE ON shop_addresses
BEGIN
    INSERT INTO shop_address_blocks
    VALUES (OLD.shop_address_id >> 12, -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_address_blocks_none AFTER UPDATE ON shop_address_blocks
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_address_blocks
    WHERE block = NEW.block;
END;

CREATE TRIGGER shop_orders_day_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_turns_by_day
    VALUES (substr(NEW.created_on, 1, 10), random() & 0x1fffffffffffff)
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;

CREATE TRIGGER shop_orders_day_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_turns_by_day
    VALUES (substr(OLD.created_on, 1, 10), random() & 0x1fffffffffffff)
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;

CREATE TRIGGER shop_orders_day_change
AFTER UPDATE OF created_on, currency_code, order_state_id, order_total, user_id,
    user_email_fold
ON shop_orders
WHEN (OLD.created_on, OLD.currency_code, OLD.order_state_id, OLD.order_total, OLD.user_id,
    OLD.user_email_fold)
    IS NOT (NEW.created_on, NEW.currency_code, NEW.order_state_id, NEW.order_total, NEW.user_id,
        NEW.user_email_fold)
BEGIN
    INSERT INTO shop_turns_by_day
    VALUES (substr(OLD.created_on, 1, 10), random() & 0x1fffffffffffff),
        (substr(NEW.created_on, 1, 10), random() & 0x1fffffffffffff)
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;

CREATE TRIGGER shop_orderitems_day_new AFTER INSERT ON shop_orderitems
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT substr(created_on, 1, 10), random() & 0x1fffffffffffff FROM shop_orders
    WHERE shop_order_id = NEW.order_key
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;

CREATE TRIGGER shop_orderitems_day_old AFTER DELETE ON shop_orderitems
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT substr(created_on, 1, 10), random() & 0x1fffffffffffff FROM shop_orders
    WHERE shop_order_id = OLD.order_key
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;

CREATE TRIGGER shop_orderitems_day_change
AFTER UPDATE OF order_key, product_id, orderitem_quantity, orderitem_finalprice
ON shop_orderitems
WHEN (OLD.order_key, OLD.product_id, OLD.orderitem_quantity, OLD.orderitem_finalprice)
    IS NOT (NEW.order_key, NEW.product_id, NEW.orderitem_quantity, NEW.orderitem_finalprice)
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT substr(created_on, 1, 10), random() & 0x1fffffffffffff FROM shop_orders
    WHERE shop_order_id IN (OLD.order_key, NEW.order_key)
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;
