-- Turns of days: whatever changes what a report tells of a day's orders gives the day another number,
-- which it never had before, in a slot as the counts have them. So whoever has kept what a day came to
-- knows whether it still does.

CREATE TABLE shop_turns_by_day (
    day  varchar(10) COLLATE "C" NOT NULL,
    slot smallint NOT NULL,
    turn bigint NOT NULL,
    PRIMARY KEY (day, slot)
) WITH (fillfactor = 50);

-- The orders that have changed are in a table of this name while a statement ends, or those whose
-- items have.
CREATE FUNCTION shop_orders_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT day, pg_backend_pid() % 16, (random() * 9007199254740991)::bigint
    FROM (SELECT DISTINCT to_char(created_on, 'YYYY-MM-DD') AS day FROM changed) AS days
    ORDER BY day
    ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;
    RETURN NULL;
END;
$$;
CREATE FUNCTION shop_orderitems_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop_turns_by_day
    SELECT day, pg_backend_pid() % 16, (random() * 9007199254740991)::bigint
    FROM (
        SELECT DISTINCT to_char(created_on, 'YYYY-MM-DD') AS day FROM shop_orders
        WHERE shop_order_id IN (SELECT order_key FROM changed)
    ) AS days
    ORDER BY day
    ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;
    RETURN NULL;
END;
$$;
-- An order that is moved to another day was there before in its old one.
CREATE FUNCTION shop_orders_turn_away() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop_turns_by_day
    VALUES (to_char(OLD.created_on, 'YYYY-MM-DD'), pg_backend_pid() % 16,
        (random() * 9007199254740991)::bigint)
    ON CONFLICT (day, slot) DO UPDATE SET turn = excluded.turn;
    RETURN NULL;
END;
$$;

CREATE TRIGGER shop_orders_turn_new AFTER INSERT ON shop_orders
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION shop_orders_turn();
CREATE TRIGGER shop_orders_turn_old AFTER DELETE ON shop_orders
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION shop_orders_turn();
CREATE TRIGGER shop_orders_turn_change AFTER UPDATE ON shop_orders
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION shop_orders_turn();
CREATE TRIGGER shop_orders_turn_away AFTER UPDATE OF created_on ON shop_orders
    FOR EACH ROW WHEN (OLD.created_on <> NEW.created_on) EXECUTE FUNCTION shop_orders_turn_away();
CREATE TRIGGER shop_orderitems_turn_new AFTER INSERT ON shop_orderitems
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION shop_orderitems_turn();
CREATE TRIGGER shop_orderitems_turn_old AFTER DELETE ON shop_orderitems
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION shop_orderitems_turn();
CREATE TRIGGER shop_orderitems_turn_change AFTER UPDATE ON shop_orderitems
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION shop_orderitems_turn();
CREATE TRIGGER shop_orderitems_turn_away AFTER UPDATE ON shop_orderitems
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION shop_orderitems_turn();
