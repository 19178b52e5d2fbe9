-- What keeps the store within bounds, whatever is written: sums that no amount of orders overflows, no row
-- for what has come to nothing, and a token for each claim of a mail.

ALTER TABLE shop_mails ADD COLUMN claim TEXT NOT NULL DEFAULT '';

-- A product that was given something to have in stock has a stock record.
UPDATE shop_products SET has_stock = 1 WHERE has_stock = 0 AND quantity > 0;

-- The sums of a day's orders, in parts, because more of the greatest amounts than 92 are more than 64 bits
-- hold: of 10^4 (_1) and of 10^-5 (_0).
DROP TRIGGER shop_orders_sales_new;
DROP TRIGGER shop_orders_sales_old;
DROP TRIGGER shop_orders_sales_change;
DROP TABLE shop_sales_by_day;
CREATE TABLE shop_sales_by_day (
    day            TEXT NOT NULL,
    currency_code  TEXT NOT NULL,
    order_state_id INTEGER NOT NULL,
    orders         INTEGER NOT NULL,
    items          INTEGER NOT NULL,
    subtotal_1     INTEGER NOT NULL,
    subtotal_0     INTEGER NOT NULL,
    discount_1     INTEGER NOT NULL,
    discount_0     INTEGER NOT NULL,
    refund_1       INTEGER NOT NULL,
    refund_0       INTEGER NOT NULL,
    shipping_1     INTEGER NOT NULL,
    shipping_0     INTEGER NOT NULL,
    tax_1          INTEGER NOT NULL,
    tax_0          INTEGER NOT NULL,
    PRIMARY KEY (day, currency_code, order_state_id)
) STRICT, WITHOUT ROWID;

INSERT INTO shop_sales_by_day
SELECT substr(created_on, 1, 10), currency_code, order_state_id, count(*), sum(item_quantity),
    sum(order_subtotal / 1000000000), sum(order_subtotal % 1000000000),
    sum(order_discount / 1000000000), sum(order_discount % 1000000000),
    sum(order_refund / 1000000000), sum(order_refund % 1000000000),
    sum(order_shipping / 1000000000), sum(order_shipping % 1000000000), sum(order_tax / 1000000000),
    sum(order_tax % 1000000000)
FROM shop_orders GROUP BY substr(created_on, 1, 10), currency_code, order_state_id;

CREATE TRIGGER shop_orders_sales_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_sales_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.currency_code, NEW.order_state_id, 1, NEW.item_quantity,
        NEW.order_subtotal / 1000000000, NEW.order_subtotal % 1000000000,
        NEW.order_discount / 1000000000, NEW.order_discount % 1000000000,
        NEW.order_refund / 1000000000, NEW.order_refund % 1000000000,
        NEW.order_shipping / 1000000000, NEW.order_shipping % 1000000000,
        NEW.order_tax / 1000000000, NEW.order_tax % 1000000000)
    ON CONFLICT DO UPDATE SET orders = orders + excluded.orders, items = items + excluded.items,
        subtotal_1 = subtotal_1 + excluded.subtotal_1,
        subtotal_0 = subtotal_0 + excluded.subtotal_0,
        discount_1 = discount_1 + excluded.discount_1,
        discount_0 = discount_0 + excluded.discount_0, refund_1 = refund_1 + excluded.refund_1,
        refund_0 = refund_0 + excluded.refund_0, shipping_1 = shipping_1 + excluded.shipping_1,
        shipping_0 = shipping_0 + excluded.shipping_0, tax_1 = tax_1 + excluded.tax_1,
        tax_0 = tax_0 + excluded.tax_0;
END;
CREATE TRIGGER shop_orders_sales_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_sales_by_day
    VALUES (substr(OLD.created_on, 1, 10), OLD.currency_code, OLD.order_state_id, -1,
        -OLD.item_quantity, -(OLD.order_subtotal / 1000000000), -(OLD.order_subtotal % 1000000000),
        -(OLD.order_discount / 1000000000), -(OLD.order_discount % 1000000000),
        -(OLD.order_refund / 1000000000), -(OLD.order_refund % 1000000000),
        -(OLD.order_shipping / 1000000000), -(OLD.order_shipping % 1000000000),
        -(OLD.order_tax / 1000000000), -(OLD.order_tax % 1000000000))
    ON CONFLICT DO UPDATE SET orders = orders + excluded.orders, items = items + excluded.items,
        subtotal_1 = subtotal_1 + excluded.subtotal_1,
        subtotal_0 = subtotal_0 + excluded.subtotal_0,
        discount_1 = discount_1 + excluded.discount_1,
        discount_0 = discount_0 + excluded.discount_0, refund_1 = refund_1 + excluded.refund_1,
        refund_0 = refund_0 + excluded.refund_0, shipping_1 = shipping_1 + excluded.shipping_1,
        shipping_0 = shipping_0 + excluded.shipping_0, tax_1 = tax_1 + excluded.tax_1,
        tax_0 = tax_0 + excluded.tax_0;
END;
CREATE TRIGGER shop_orders_sales_change
AFTER UPDATE OF created_on, currency_code, order_state_id, item_quantity, order_subtotal,
    order_discount, order_refund, order_shipping, order_tax
ON shop_orders
BEGIN
    INSERT INTO shop_sales_by_day
    VALUES (substr(OLD.created_on, 1, 10), OLD.currency_code, OLD.order_state_id, -1,
        -OLD.item_quantity, -(OLD.order_subtotal / 1000000000), -(OLD.order_subtotal % 1000000000),
        -(OLD.order_discount / 1000000000), -(OLD.order_discount % 1000000000),
        -(OLD.order_refund / 1000000000), -(OLD.order_refund % 1000000000),
        -(OLD.order_shipping / 1000000000), -(OLD.order_shipping % 1000000000),
        -(OLD.order_tax / 1000000000), -(OLD.order_tax % 1000000000))
    ON CONFLICT DO UPDATE SET orders = orders + excluded.orders, items = items + excluded.items,
        subtotal_1 = subtotal_1 + excluded.subtotal_1,
        subtotal_0 = subtotal_0 + excluded.subtotal_0,
        discount_1 = discount_1 + excluded.discount_1,
        discount_0 = discount_0 + excluded.discount_0, refund_1 = refund_1 + excluded.refund_1,
        refund_0 = refund_0 + excluded.refund_0, shipping_1 = shipping_1 + excluded.shipping_1,
        shipping_0 = shipping_0 + excluded.shipping_0, tax_1 = tax_1 + excluded.tax_1,
        tax_0 = tax_0 + excluded.tax_0;
    INSERT INTO shop_sales_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.currency_code, NEW.order_state_id, 1, NEW.item_quantity,
        NEW.order_subtotal / 1000000000, NEW.order_subtotal % 1000000000,
        NEW.order_discount / 1000000000, NEW.order_discount % 1000000000,
        NEW.order_refund / 1000000000, NEW.order_refund % 1000000000,
        NEW.order_shipping / 1000000000, NEW.order_shipping % 1000000000,
        NEW.order_tax / 1000000000, NEW.order_tax % 1000000000)
    ON CONFLICT DO UPDATE SET orders = orders + excluded.orders, items = items + excluded.items,
        subtotal_1 = subtotal_1 + excluded.subtotal_1,
        subtotal_0 = subtotal_0 + excluded.subtotal_0,
        discount_1 = discount_1 + excluded.discount_1,
        discount_0 = discount_0 + excluded.discount_0, refund_1 = refund_1 + excluded.refund_1,
        refund_0 = refund_0 + excluded.refund_0, shipping_1 = shipping_1 + excluded.shipping_1,
        shipping_0 = shipping_0 + excluded.shipping_0, tax_1 = tax_1 + excluded.tax_1,
        tax_0 = tax_0 + excluded.tax_0;
END;

-- A row that has come to nothing goes, or clients that use ever other values would fill the tables.
DELETE FROM shop_product_counts WHERE n = 0;
CREATE TRIGGER shop_product_counts_none AFTER UPDATE ON shop_product_counts
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_counts
    WHERE has_stock = NEW.has_stock AND enabled = NEW.enabled AND visibility = NEW.visibility
        AND product_type = NEW.product_type;
END;
DELETE FROM shop_product_counts_by_manufacturer WHERE n = 0;
CREATE TRIGGER shop_product_counts_by_manufacturer_none AFTER UPDATE ON shop_product_counts_by_manufacturer
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_counts_by_manufacturer
    WHERE manufacturer_id = NEW.manufacturer_id AND enabled = NEW.enabled;
END;
DELETE FROM shop_product_counts_by_category WHERE n = 0;
CREATE TRIGGER shop_product_counts_by_category_none AFTER UPDATE ON shop_product_counts_by_category
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_counts_by_category
    WHERE category_id = NEW.category_id AND enabled = NEW.enabled;
END;
DELETE FROM shop_product_counts_by_day WHERE n = 0;
CREATE TRIGGER shop_product_counts_by_day_none AFTER UPDATE ON shop_product_counts_by_day
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_counts_by_day
    WHERE day = NEW.day;
END;
DELETE FROM shop_product_blocks WHERE n = 0;
CREATE TRIGGER shop_product_blocks_none AFTER UPDATE ON shop_product_blocks
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_product_blocks
    WHERE block = NEW.block;
END;
DELETE FROM shop_order_counts WHERE n = 0;
CREATE TRIGGER shop_order_counts_none AFTER UPDATE ON shop_order_counts
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_order_counts
    WHERE order_state_id = NEW.order_state_id AND orderpayment_type = NEW.orderpayment_type
        AND currency_code = NEW.currency_code;
END;
DELETE FROM shop_order_counts_by_user WHERE n = 0;
CREATE TRIGGER shop_order_counts_by_user_none AFTER UPDATE ON shop_order_counts_by_user
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_order_counts_by_user
    WHERE user_id = NEW.user_id AND order_state_id = NEW.order_state_id;
END;
DELETE FROM shop_order_counts_by_day WHERE n = 0;
CREATE TRIGGER shop_order_counts_by_day_none AFTER UPDATE ON shop_order_counts_by_day
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_order_counts_by_day
    WHERE day = NEW.day AND order_state_id = NEW.order_state_id;
END;
DELETE FROM shop_order_blocks WHERE n = 0;
CREATE TRIGGER shop_order_blocks_none AFTER UPDATE ON shop_order_blocks
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_order_blocks
    WHERE block = NEW.block;
END;
DELETE FROM shop_address_counts WHERE n = 0;
CREATE TRIGGER shop_address_counts_none AFTER UPDATE ON shop_address_counts
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_address_counts
    WHERE country_id = NEW.country_id;
END;
DELETE FROM shop_address_counts_by_zone WHERE n = 0;
CREATE TRIGGER shop_address_counts_by_zone_none AFTER UPDATE ON shop_address_counts_by_zone
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_address_counts_by_zone
    WHERE country_id = NEW.country_id AND zone_id = NEW.zone_id;
END;
DELETE FROM shop_address_blocks WHERE n = 0;
CREATE TRIGGER shop_address_blocks_none AFTER UPDATE ON shop_address_blocks
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_address_blocks
    WHERE block = NEW.block;
END;
DELETE FROM shop_sales_by_day WHERE orders = 0;
CREATE TRIGGER shop_sales_by_day_none AFTER UPDATE ON shop_sales_by_day
WHEN NEW.orders = 0
BEGIN
    DELETE FROM shop_sales_by_day
    WHERE day = NEW.day AND currency_code = NEW.currency_code
        AND order_state_id = NEW.order_state_id;
END;
DELETE FROM shop_stock WHERE products = 0;
CREATE TRIGGER shop_stock_none AFTER UPDATE ON shop_stock
WHEN NEW.products = 0
BEGIN
    DELETE FROM shop_stock
    WHERE status = NEW.status AND quantity = NEW.quantity;
END;
