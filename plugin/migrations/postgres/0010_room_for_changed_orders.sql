-- A new order is changed at once, when what can be refunded of its items is noted in it. With room for that on its page
-- none of its 24 indexes has a new entry.
ALTER TABLE shop_orders SET (fillfactor = 90);
