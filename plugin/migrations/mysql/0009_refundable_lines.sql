-- The lines from which an order shows what of it can be refunded: of each item its key, quantity and amount with tax, and
-- what was given back of both. Amounts are in units of 10^-5.
ALTER TABLE shop_orders ADD COLUMN refundable_lines mediumtext NOT NULL DEFAULT ('[]') CHECK (json_valid(refundable_lines));
UPDATE shop_orders SET refundable_lines = (
    SELECT coalesce(replace(json_arrayagg(json_array(shop_orderitem_id, orderitem_quantity,
        cast(orderitem_finalprice_with_tax * 100000 AS signed), refunded_quantity,
        cast(refunded_amount * 100000 AS signed))), ' ', ''), '[]')
    FROM shop_orderitems WHERE order_key = shop_order_id);
