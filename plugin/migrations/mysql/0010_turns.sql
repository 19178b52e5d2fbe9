-- Turns of days: whatever changes what a report tells of a day's orders gives the day another number,
-- which it never had before, in a slot as the counts have them. So whoever has kept what a day came to
-- knows whether it still does. The engine's own random numbers are too few.

CREATE TABLE shop_turns_by_day (
    day  varchar(10) NOT NULL,
    slot smallint NOT NULL,
    turn bigint NOT NULL,
    PRIMARY KEY (day, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

CREATE TRIGGER shop_orders_turn_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_turns_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), connection_id() % 16,
        conv(left(md5(uuid()), 13), 16, 10))
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orders_turn_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_turns_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), connection_id() % 16,
        conv(left(md5(uuid()), 13), 16, 10))
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orders_turn_change AFTER UPDATE ON shop_orders FOR EACH ROW
IF (OLD.created_on, OLD.currency_code, OLD.order_state_id, OLD.order_total, OLD.user_id,
        OLD.user_email_fold)
    <> (NEW.created_on, NEW.currency_code, NEW.order_state_id, NEW.order_total, NEW.user_id,
        NEW.user_email_fold)
THEN
    INSERT INTO shop_turns_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), connection_id() % 16,
        conv(left(md5(uuid()), 13), 16, 10))
    ON DUPLICATE KEY UPDATE turn = value(turn);
    INSERT INTO shop_turns_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), connection_id() % 16,
        conv(left(md5(uuid()), 13), 16, 10))
    ON DUPLICATE KEY UPDATE turn = value(turn);
END IF;

CREATE TRIGGER shop_orderitems_turn_new AFTER INSERT ON shop_orderitems FOR EACH ROW
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT date_format(created_on, '%Y-%m-%d'), connection_id() % 16,
        conv(left(md5(uuid()), 13), 16, 10)
    FROM shop_orders WHERE shop_order_id = NEW.order_key
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orderitems_turn_old AFTER DELETE ON shop_orderitems FOR EACH ROW
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT date_format(created_on, '%Y-%m-%d'), connection_id() % 16,
        conv(left(md5(uuid()), 13), 16, 10)
    FROM shop_orders WHERE shop_order_id = OLD.order_key
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orderitems_turn_change AFTER UPDATE ON shop_orderitems FOR EACH ROW
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT date_format(created_on, '%Y-%m-%d'), connection_id() % 16,
        conv(left(md5(uuid()), 13), 16, 10)
    FROM shop_orders WHERE shop_order_id = OLD.order_key
    ON DUPLICATE KEY UPDATE turn = value(turn);
    INSERT INTO shop_turns_by_day
    SELECT date_format(created_on, '%Y-%m-%d'), connection_id() % 16,
        conv(left(md5(uuid()), 13), 16, 10)
    FROM shop_orders WHERE shop_order_id = NEW.order_key
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;
