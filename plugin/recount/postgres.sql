-- What triggers keep, counted anew from the records themselves: the truth that the kept counts must
-- always come to. Whoever adds a table of such counts adds it here.

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
-- What somebody may have kept of a day is true no more, whatever it was.
INSERT INTO shop_turns_by_day
SELECT day, 0, (random() * 9007199254740991)::bigint
FROM (SELECT DISTINCT day FROM shop_order_counts_by_day) AS days
ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;

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

-- All of these are in slot 0 now.
DELETE FROM shop_slots;
INSERT INTO shop_slots
SELECT 1, (SELECT coalesce(max(shop_product_id), 0) FROM shop_products),
    (SELECT coalesce(max(shop_order_id), 0) FROM shop_orders),
    (SELECT coalesce(max(shop_address_id), 0) FROM shop_addresses);
