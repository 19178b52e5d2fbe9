-- The lowest and the highest price of a product's variants; unset without variants.
ALTER TABLE shop_products ADD COLUMN price_from decimal(17, 5);
ALTER TABLE shop_products ADD COLUMN price_to decimal(17, 5);
UPDATE shop_products SET
    price_from = (SELECT min(price) FROM shop_variants WHERE product_id = shop_product_id AND +is_master = 0),
    price_to = (SELECT max(price) FROM shop_variants WHERE product_id = shop_product_id AND +is_master = 0)
WHERE variant_count > 0;

-- The fraction digits of amounts in the currency of an order, at the time of the order.
ALTER TABLE shop_orders ADD COLUMN currency_decimals smallint NOT NULL DEFAULT 2
    CHECK (currency_decimals BETWEEN 0 AND 8);
UPDATE shop_orders SET currency_decimals =
    (SELECT currency_num_decimals FROM shop_currencies c WHERE c.currency_code = shop_orders.currency_code)
WHERE currency_code IN (SELECT currency_code FROM shop_currencies WHERE currency_num_decimals <> 2);
