-- The lines from which an order shows what of it can be refunded: of each item its key, quantity and amount with tax, and
-- what was given back of both. Amounts are in units of 10^-5.
ALTER TABLE shop_orders ADD COLUMN refundable_lines json NOT NULL DEFAULT '[]';
UPDATE shop_orders SET refundable_lines = (
    SELECT coalesce(translate(json_agg(json_build_array(shop_orderitem_id, orderitem_quantity,
        (orderitem_finalprice_with_tax * 100000)::bigint, refunded_quantity, (refunded_amount * 100000)::bigint)
        ORDER BY shop_orderitem_id)::text, E' \n', ''), '[]')::json
    FROM shop_orderitems WHERE order_key = shop_order_id);
