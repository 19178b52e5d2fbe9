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
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

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

CREATE TRIGGER shop_products_stock_new AFTER INSERT ON shop_products FOR EACH ROW
BEGIN
    DECLARE status_new smallint DEFAULT CASE WHEN NEW.manage_stock = 0 THEN 0
        WHEN NEW.quantity <= coalesce(NEW.min_out_qty, 0) THEN 1
        WHEN NEW.notify_qty IS NULL THEN 4
        WHEN NEW.quantity <= NEW.notify_qty THEN 2 ELSE 3 END;
    DECLARE price_new bigint DEFAULT NEW.price * 100000;
    DECLARE whole_new bigint DEFAULT NEW.quantity * (price_new DIV 1000000000)
        + NEW.quantity * (price_new % 1000000000) DIV 1000000000;
    INSERT INTO shop_stock
    VALUES (status_new, IF(status_new = 4, NEW.quantity, 0), connection_id() % 16,
        1, NEW.quantity,
        (whole_new DIV 1000000000), (whole_new % 1000000000),
        (NEW.quantity * (price_new % 1000000000) % 1000000000))
    ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
        value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
        value_0 = value_0 + value(value_0);
END;

CREATE TRIGGER shop_products_stock_old AFTER DELETE ON shop_products FOR EACH ROW
BEGIN
    DECLARE status_old smallint DEFAULT CASE WHEN OLD.manage_stock = 0 THEN 0
        WHEN OLD.quantity <= coalesce(OLD.min_out_qty, 0) THEN 1
        WHEN OLD.notify_qty IS NULL THEN 4
        WHEN OLD.quantity <= OLD.notify_qty THEN 2 ELSE 3 END;
    DECLARE price_old bigint DEFAULT OLD.price * 100000;
    DECLARE whole_old bigint DEFAULT OLD.quantity * (price_old DIV 1000000000)
        + OLD.quantity * (price_old % 1000000000) DIV 1000000000;
    INSERT INTO shop_stock
    VALUES (status_old, IF(status_old = 4, OLD.quantity, 0), connection_id() % 16,
        -1, -OLD.quantity,
        -(whole_old DIV 1000000000), -(whole_old % 1000000000),
        -(OLD.quantity * (price_old % 1000000000) % 1000000000))
    ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
        value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
        value_0 = value_0 + value(value_0);
END;

CREATE TRIGGER shop_products_stock_change AFTER UPDATE ON shop_products FOR EACH ROW
BEGIN
    DECLARE status_old smallint DEFAULT CASE WHEN OLD.manage_stock = 0 THEN 0
        WHEN OLD.quantity <= coalesce(OLD.min_out_qty, 0) THEN 1
        WHEN OLD.notify_qty IS NULL THEN 4
        WHEN OLD.quantity <= OLD.notify_qty THEN 2 ELSE 3 END;
    DECLARE price_old bigint DEFAULT OLD.price * 100000;
    DECLARE whole_old bigint DEFAULT OLD.quantity * (price_old DIV 1000000000)
        + OLD.quantity * (price_old % 1000000000) DIV 1000000000;
    DECLARE status_new smallint DEFAULT CASE WHEN NEW.manage_stock = 0 THEN 0
        WHEN NEW.quantity <= coalesce(NEW.min_out_qty, 0) THEN 1
        WHEN NEW.notify_qty IS NULL THEN 4
        WHEN NEW.quantity <= NEW.notify_qty THEN 2 ELSE 3 END;
    DECLARE price_new bigint DEFAULT NEW.price * 100000;
    DECLARE whole_new bigint DEFAULT NEW.quantity * (price_new DIV 1000000000)
        + NEW.quantity * (price_new % 1000000000) DIV 1000000000;
    IF NOT (OLD.manage_stock, OLD.quantity, OLD.min_out_qty, OLD.notify_qty, OLD.price)
        <=> (NEW.manage_stock, NEW.quantity, NEW.min_out_qty, NEW.notify_qty, NEW.price)
    THEN
        INSERT INTO shop_stock
        VALUES (status_old, IF(status_old = 4, OLD.quantity, 0), connection_id() % 16,
            -1, -OLD.quantity,
            -(whole_old DIV 1000000000), -(whole_old % 1000000000),
            -(OLD.quantity * (price_old % 1000000000) % 1000000000))
        ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
            value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
            value_0 = value_0 + value(value_0);
        INSERT INTO shop_stock
        VALUES (status_new, IF(status_new = 4, NEW.quantity, 0), connection_id() % 16,
            1, NEW.quantity,
            (whole_new DIV 1000000000), (whole_new % 1000000000),
            (NEW.quantity * (price_new % 1000000000) % 1000000000))
        ON DUPLICATE KEY UPDATE products = products + value(products), units = units + value(units),
            value_2 = value_2 + value(value_2), value_1 = value_1 + value(value_1),
            value_0 = value_0 + value(value_0);
    END IF;
END;
