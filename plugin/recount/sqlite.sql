-- What triggers keep, counted anew from the records themselves: the truth that the kept counts must
-- always come to. Whoever adds a table of such counts adds it here.

DELETE FROM shop_product_counts;
INSERT INTO shop_product_counts
SELECT has_stock, enabled, visibility, product_type, count(*)
FROM shop_products GROUP BY has_stock, enabled, visibility, product_type;

DELETE FROM shop_product_counts_by_manufacturer;
INSERT INTO shop_product_counts_by_manufacturer
SELECT coalesce(manufacturer_id, 0), enabled, count(*)
FROM shop_products GROUP BY coalesce(manufacturer_id, 0), enabled;

DELETE FROM shop_product_counts_by_category;
INSERT INTO shop_product_counts_by_category
SELECT coalesce(category_id, 0), enabled, count(*)
FROM shop_products GROUP BY coalesce(category_id, 0), enabled;

DELETE FROM shop_order_counts;
INSERT INTO shop_order_counts
SELECT order_state_id, orderpayment_type, currency_code, count(*)
FROM shop_orders GROUP BY order_state_id, orderpayment_type, currency_code;

DELETE FROM shop_order_counts_by_user;
INSERT INTO shop_order_counts_by_user
SELECT user_id, order_state_id, count(*)
FROM shop_orders GROUP BY user_id, order_state_id;

DELETE FROM shop_order_counts_by_day;
INSERT INTO shop_order_counts_by_day
SELECT substr(created_on, 1, 10), order_state_id, count(*)
FROM shop_orders GROUP BY substr(created_on, 1, 10), order_state_id;
-- What somebody may have kept of a day is true no more, whatever it was.
INSERT OR REPLACE INTO shop_turns_by_day
SELECT day, random() & 0x1fffffffffffff FROM (SELECT DISTINCT day FROM shop_order_counts_by_day);

DELETE FROM shop_address_counts;
INSERT INTO shop_address_counts
SELECT coalesce(country_id, 0), count(*)
FROM shop_addresses GROUP BY coalesce(country_id, 0);

DELETE FROM shop_stock;
INSERT INTO shop_stock
SELECT status, iif(status = 4, quantity, 0), count(*), sum(quantity),
    sum(whole / 1000000000), sum(whole % 1000000000), sum(rest % 1000000000)
FROM (
    SELECT CASE WHEN manage_stock = 0 THEN 0
        WHEN quantity * 100000 <= coalesce(min_out_qty, 0) THEN 1
        WHEN notify_qty IS NULL THEN 4
        WHEN quantity * 100000 <= notify_qty THEN 2 ELSE 3 END AS status,
        quantity AS quantity, quantity * (price % 1000000000) AS rest,
        quantity * (price / 1000000000) + quantity * (price % 1000000000) / 1000000000 AS whole
    FROM shop_products
)
GROUP BY 1, 2;

DELETE FROM shop_sales_by_day;
INSERT INTO shop_sales_by_day
SELECT substr(created_on, 1, 10), currency_code, order_state_id, count(*), sum(item_quantity),
    sum(order_subtotal / 1000000000), sum(order_subtotal % 1000000000),
    sum(order_discount / 1000000000), sum(order_discount % 1000000000),
    sum(order_refund / 1000000000), sum(order_refund % 1000000000),
    sum(order_shipping / 1000000000), sum(order_shipping % 1000000000), sum(order_tax / 1000000000),
    sum(order_tax % 1000000000)
FROM shop_orders GROUP BY substr(created_on, 1, 10), currency_code, order_state_id;

DELETE FROM shop_product_blocks;
INSERT INTO shop_product_blocks
SELECT shop_product_id >> 12, count(*)
FROM shop_products GROUP BY shop_product_id >> 12;

DELETE FROM shop_order_blocks;
INSERT INTO shop_order_blocks
SELECT shop_order_id >> 12, count(*)
FROM shop_orders GROUP BY shop_order_id >> 12;

DELETE FROM shop_address_blocks;
INSERT INTO shop_address_blocks
SELECT shop_address_id >> 12, count(*)
FROM shop_addresses GROUP BY shop_address_id >> 12;

DELETE FROM shop_product_counts_by_day;
INSERT INTO shop_product_counts_by_day
SELECT substr(created_on, 1, 10), count(*)
FROM shop_products GROUP BY substr(created_on, 1, 10);

DELETE FROM shop_address_counts_by_zone;
INSERT INTO shop_address_counts_by_zone
SELECT coalesce(country_id, 0), coalesce(zone_id, 0), count(*)
FROM shop_addresses GROUP BY coalesce(country_id, 0), coalesce(zone_id, 0);

-- With much in memory at a time there is less to merge, and what is one part is read faster than several.
-- Afterwards it is what the engine takes anyway.
INSERT INTO shop_products_search (shop_products_search, rank) VALUES ('hashsize', 67108864);
INSERT INTO shop_products_search (shop_products_search) VALUES ('rebuild');
INSERT INTO shop_products_search (shop_products_search) VALUES ('optimize');
INSERT INTO shop_products_search (shop_products_search, rank) VALUES ('hashsize', 1048576);
INSERT INTO shop_orders_search (shop_orders_search, rank) VALUES ('hashsize', 67108864);
INSERT INTO shop_orders_search (shop_orders_search) VALUES ('rebuild');
INSERT INTO shop_orders_search (shop_orders_search) VALUES ('optimize');
INSERT INTO shop_orders_search (shop_orders_search, rank) VALUES ('hashsize', 1048576);
INSERT INTO shop_addresses_search (shop_addresses_search, rank) VALUES ('hashsize', 67108864);
INSERT INTO shop_addresses_search (shop_addresses_search) VALUES ('rebuild');
INSERT INTO shop_addresses_search (shop_addresses_search) VALUES ('optimize');
INSERT INTO shop_addresses_search (shop_addresses_search, rank) VALUES ('hashsize', 1048576);
