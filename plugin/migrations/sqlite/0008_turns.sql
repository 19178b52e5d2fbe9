-- Turns of days: whatever changes what a report tells of a day's orders gives the day another number,
-- which it never had before. So whoever has kept what a day came to knows whether it still does.

CREATE TABLE shop_turns_by_day (
    day  TEXT NOT NULL PRIMARY KEY,
    turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER shop_orders_turn_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_turns_by_day VALUES (substr(NEW.created_on, 1, 10), random() & 0x1fffffffffffff)
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;
CREATE TRIGGER shop_orders_turn_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_turns_by_day VALUES (substr(OLD.created_on, 1, 10), random() & 0x1fffffffffffff)
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;
CREATE TRIGGER shop_orders_turn_change
AFTER UPDATE OF created_on, currency_code, order_state_id, order_total, user_id, user_email_fold
ON shop_orders
BEGIN
    INSERT INTO shop_turns_by_day VALUES (substr(OLD.created_on, 1, 10), random() & 0x1fffffffffffff),
        (substr(NEW.created_on, 1, 10), random() & 0x1fffffffffffff)
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;
CREATE TRIGGER shop_orderitems_turn_new AFTER INSERT ON shop_orderitems
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT substr(created_on, 1, 10), random() & 0x1fffffffffffff FROM shop_orders
    WHERE shop_order_id = NEW.order_key
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;
CREATE TRIGGER shop_orderitems_turn_old AFTER DELETE ON shop_orderitems
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT substr(created_on, 1, 10), random() & 0x1fffffffffffff FROM shop_orders
    WHERE shop_order_id = OLD.order_key
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;
CREATE TRIGGER shop_orderitems_turn_change
AFTER UPDATE OF order_key, product_id, orderitem_quantity, orderitem_finalprice ON shop_orderitems
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT substr(created_on, 1, 10), random() & 0x1fffffffffffff FROM shop_orders
    WHERE shop_order_id IN (OLD.order_key, NEW.order_key)
    ON CONFLICT DO UPDATE SET turn = excluded.turn;
END;
