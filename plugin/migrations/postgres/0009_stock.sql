-- What is in stock, in groups that need no product to be read: how many products there are, how many
-- pieces, and what these are worth in parts, of 10^13 (value_2), of 10^4 (value_1) and of 10^-5
-- (value_0), since a quantity times a price may be more than 64 bits hold. Triggers keep it in the same
-- transaction as the write, in slots as the counts are.
--
-- The statuses: 0 not managed, 1 out of stock, 2 low, 3 enough, and 4 for what the configuration decides
-- by the quantity, which is 0 for all others.

CREATE TABLE shop_stock (
    status   smallint NOT NULL,
    quantity bigint NOT NULL,
    slot     smallint NOT NULL,
    products bigint NOT NULL,
    units    bigint NOT NULL,
    value_2  bigint NOT NULL,
    value_1  bigint NOT NULL,
    value_0  bigint NOT NULL,
    PRIMARY KEY (status, quantity, slot)
) WITH (fillfactor = 50);

-- The group that a product is in, and the parts of what its pieces are worth.
CREATE FUNCTION shop_stock_of(
    managed smallint, pieces integer, min_out numeric, notify numeric, price numeric
) RETURNS TABLE (
    status smallint, quantity bigint, value_2 bigint, value_1 bigint, value_0 bigint
) LANGUAGE sql IMMUTABLE AS $$
    SELECT parts.status, CASE WHEN parts.status = 4 THEN pieces ELSE 0 END,
        whole / 1000000000, whole % 1000000000, rest % 1000000000
    FROM (
        SELECT (CASE WHEN managed = 0 THEN 0
                WHEN pieces <= coalesce(min_out, 0) THEN 1
                WHEN notify IS NULL THEN 4
                WHEN pieces <= notify THEN 2 ELSE 3 END)::smallint AS status,
            pieces * (price_units / 1000000000) + pieces * (price_units % 1000000000) / 1000000000
                AS whole,
            pieces * (price_units % 1000000000) AS rest
        FROM (SELECT (price * 100000)::bigint AS price_units) AS in_units
    ) AS parts
$$;

INSERT INTO shop_stock
SELECT s.status, s.quantity, 0, count(*), sum(p.quantity), sum(s.value_2), sum(s.value_1),
    sum(s.value_0)
FROM shop_products AS p,
    shop_stock_of(p.manage_stock, p.quantity, p.min_out_qty, p.notify_qty, p.price) AS s
GROUP BY s.status, s.quantity;

CREATE FUNCTION shop_products_stock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop_stock AS kept
    SELECT status, quantity, pg_backend_pid() % 16, sum(sign), sum(sign * pieces),
        sum(sign * value_2), sum(sign * value_1), sum(sign * value_0)
    FROM (
        SELECT -1 AS sign, OLD.quantity AS pieces, s.* FROM shop_stock_of(OLD.manage_stock, OLD.quantity, OLD.min_out_qty,
            OLD.notify_qty, OLD.price) AS s
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT 1, NEW.quantity, s.* FROM shop_stock_of(NEW.manage_stock, NEW.quantity, NEW.min_out_qty,
            NEW.notify_qty, NEW.price) AS s WHERE TG_OP <> 'DELETE'
    ) AS change
    GROUP BY status, quantity
    ORDER BY status, quantity
    ON CONFLICT (status, quantity, slot) DO UPDATE
    SET products = kept.products + excluded.products, units = kept.units + excluded.units,
        value_2 = kept.value_2 + excluded.value_2, value_1 = kept.value_1 + excluded.value_1,
        value_0 = kept.value_0 + excluded.value_0;
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_products_stock
    AFTER INSERT OR DELETE
    OR UPDATE OF manage_stock, quantity, min_out_qty, notify_qty, price
    ON shop_products FOR EACH ROW EXECUTE FUNCTION shop_products_stock();
