-- What is in stock, in groups that need no product to be read: how many products there are, how many
-- pieces, and what these are worth in parts, of 10^13 (value_2), of 10^4 (value_1) and of 10^-5
-- (value_0), since a quantity times a price may be more than 64 bits hold. Triggers keep it in the same
-- transaction as the write.
--
-- The statuses: 0 not managed, 1 out of stock, 2 low, 3 enough, and 4 for what the configuration decides
-- by the quantity, which is 0 for all others.

CREATE TABLE shop_stock (
    status   INTEGER NOT NULL,
    quantity INTEGER NOT NULL,
    products INTEGER NOT NULL,
    units    INTEGER NOT NULL,
    value_2  INTEGER NOT NULL,
    value_1  INTEGER NOT NULL,
    value_0  INTEGER NOT NULL,
    PRIMARY KEY (status, quantity)
) STRICT, WITHOUT ROWID;

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

CREATE TRIGGER shop_products_stock_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_stock
    SELECT status, iif(status = 4, quantity, 0), 1, quantity,
        (whole / 1000000000), (whole % 1000000000), (rest % 1000000000)
    FROM (
        SELECT CASE WHEN NEW.manage_stock = 0 THEN 0
            WHEN NEW.quantity * 100000 <= coalesce(NEW.min_out_qty, 0) THEN 1
            WHEN NEW.notify_qty IS NULL THEN 4
            WHEN NEW.quantity * 100000 <= NEW.notify_qty THEN 2 ELSE 3 END AS status,
            NEW.quantity AS quantity, NEW.quantity * (NEW.price % 1000000000) AS rest,
            NEW.quantity * (NEW.price / 1000000000) + NEW.quantity * (NEW.price % 1000000000) / 1000000000 AS whole
    )
    WHERE true
    ON CONFLICT DO UPDATE SET products = products + excluded.products,
        units = units + excluded.units, value_2 = value_2 + excluded.value_2,
        value_1 = value_1 + excluded.value_1, value_0 = value_0 + excluded.value_0;
END;
CREATE TRIGGER shop_products_stock_old AFTER DELETE ON shop_products
BEGIN
    INSERT INTO shop_stock
    SELECT status, iif(status = 4, quantity, 0), -1, -quantity,
        -(whole / 1000000000), -(whole % 1000000000), -(rest % 1000000000)
    FROM (
        SELECT CASE WHEN OLD.manage_stock = 0 THEN 0
            WHEN OLD.quantity * 100000 <= coalesce(OLD.min_out_qty, 0) THEN 1
            WHEN OLD.notify_qty IS NULL THEN 4
            WHEN OLD.quantity * 100000 <= OLD.notify_qty THEN 2 ELSE 3 END AS status,
            OLD.quantity AS quantity, OLD.quantity * (OLD.price % 1000000000) AS rest,
            OLD.quantity * (OLD.price / 1000000000) + OLD.quantity * (OLD.price % 1000000000) / 1000000000 AS whole
    )
    WHERE true
    ON CONFLICT DO UPDATE SET products = products + excluded.products,
        units = units + excluded.units, value_2 = value_2 + excluded.value_2,
        value_1 = value_1 + excluded.value_1, value_0 = value_0 + excluded.value_0;
END;
CREATE TRIGGER shop_products_stock_change
AFTER UPDATE OF manage_stock, quantity, min_out_qty, notify_qty, price ON shop_products
BEGIN
    INSERT INTO shop_stock
    SELECT status, iif(status = 4, quantity, 0), -1, -quantity,
        -(whole / 1000000000), -(whole % 1000000000), -(rest % 1000000000)
    FROM (
        SELECT CASE WHEN OLD.manage_stock = 0 THEN 0
            WHEN OLD.quantity * 100000 <= coalesce(OLD.min_out_qty, 0) THEN 1
            WHEN OLD.notify_qty IS NULL THEN 4
            WHEN OLD.quantity * 100000 <= OLD.notify_qty THEN 2 ELSE 3 END AS status,
            OLD.quantity AS quantity, OLD.quantity * (OLD.price % 1000000000) AS rest,
            OLD.quantity * (OLD.price / 1000000000) + OLD.quantity * (OLD.price % 1000000000) / 1000000000 AS whole
    )
    WHERE true
    ON CONFLICT DO UPDATE SET products = products + excluded.products,
        units = units + excluded.units, value_2 = value_2 + excluded.value_2,
        value_1 = value_1 + excluded.value_1, value_0 = value_0 + excluded.value_0;
    INSERT INTO shop_stock
    SELECT status, iif(status = 4, quantity, 0), 1, quantity,
        (whole / 1000000000), (whole % 1000000000), (rest % 1000000000)
    FROM (
        SELECT CASE WHEN NEW.manage_stock = 0 THEN 0
            WHEN NEW.quantity * 100000 <= coalesce(NEW.min_out_qty, 0) THEN 1
            WHEN NEW.notify_qty IS NULL THEN 4
            WHEN NEW.quantity * 100000 <= NEW.notify_qty THEN 2 ELSE 3 END AS status,
            NEW.quantity AS quantity, NEW.quantity * (NEW.price % 1000000000) AS rest,
            NEW.quantity * (NEW.price / 1000000000) + NEW.quantity * (NEW.price % 1000000000) / 1000000000 AS whole
    )
    WHERE true
    ON CONFLICT DO UPDATE SET products = products + excluded.products,
        units = units + excluded.units, value_2 = value_2 + excluded.value_2,
        value_1 = value_1 + excluded.value_1, value_0 = value_0 + excluded.value_0;
END;
