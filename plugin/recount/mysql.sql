-- What triggers keep, counted anew from the records themselves: the truth that the kept counts must
-- always come to. Whoever adds a table of such counts adds it here. Those that take longest come
-- first.

DELETE FROM shop_product_name_pieces;
INSERT INTO shop_product_name_pieces
WITH RECURSIVE longest (characters) AS (SELECT max(char_length(product_name_fold)) FROM shop_products),
places (place) AS (
    SELECT 1 UNION ALL SELECT place + 3 FROM places JOIN longest ON place + 3 <= characters
)
SELECT substr(product_name_fold, place, 12), shop_product_id, place,
    IF(place = 1, '', substr(product_name_fold, place - 2, 2))
FROM places JOIN shop_products ON place <= char_length(product_name_fold)
ORDER BY 1, 2, 3;

DELETE FROM shop_product_sku_pieces;
INSERT INTO shop_product_sku_pieces
WITH RECURSIVE longest (characters) AS (SELECT max(char_length(sku_fold)) FROM shop_products),
places (place) AS (
    SELECT 1 UNION ALL SELECT place + 3 FROM places JOIN longest ON place + 3 <= characters
)
SELECT substr(sku_fold, place, 12), shop_product_id, place,
    IF(place = 1, '', substr(sku_fold, place - 2, 2))
FROM places JOIN shop_products ON place <= char_length(sku_fold)
ORDER BY 1, 2, 3;

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
-- What somebody may have kept of a day is true no more, whatever it was.
REPLACE INTO shop_turns_by_day
SELECT day, 0, conv(left(md5(uuid()), 13), 16, 10)
FROM (SELECT DISTINCT day FROM shop_order_counts_by_day) AS days;

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

-- All of these are in slot 0 now.
DELETE FROM shop_slots;
INSERT INTO shop_slots
SELECT 1, (SELECT coalesce(max(shop_product_id), 0) FROM shop_products),
    (SELECT coalesce(max(shop_order_id), 0) FROM shop_orders),
    (SELECT coalesce(max(shop_address_id), 0) FROM shop_addresses);
