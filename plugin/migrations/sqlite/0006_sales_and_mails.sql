-- What reports are made from, and mails on their way.

-- How many pieces an order's items are of, so that sums over orders need not read the items.
ALTER TABLE shop_orders ADD COLUMN item_quantity INTEGER NOT NULL DEFAULT 0
    CHECK (item_quantity >= 0);
UPDATE shop_orders SET item_quantity = (
    SELECT coalesce(sum(orderitem_quantity), 0) FROM shop_orderitems
    WHERE order_key = shop_order_id
);

-- The sums of a day's orders, by currency and status. Triggers keep them in the same transaction
-- as the write.
CREATE TABLE shop_sales_by_day (
    day            TEXT NOT NULL,
    currency_code  TEXT NOT NULL,
    order_state_id INTEGER NOT NULL,
    orders         INTEGER NOT NULL,
    items          INTEGER NOT NULL,
    subtotal       INTEGER NOT NULL,
    discount       INTEGER NOT NULL,
    refund         INTEGER NOT NULL,
    shipping       INTEGER NOT NULL,
    tax            INTEGER NOT NULL,
    PRIMARY KEY (day, currency_code, order_state_id)
) STRICT, WITHOUT ROWID;

INSERT INTO shop_sales_by_day
SELECT substr(created_on, 1, 10), currency_code, order_state_id, count(*), sum(item_quantity),
    sum(order_subtotal), sum(order_discount), sum(order_refund), sum(order_shipping),
    sum(order_tax)
FROM shop_orders GROUP BY 1, 2, 3;

CREATE TRIGGER shop_orders_sales_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_sales_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.currency_code, NEW.order_state_id, 1,
        NEW.item_quantity, NEW.order_subtotal, NEW.order_discount, NEW.order_refund,
        NEW.order_shipping, NEW.order_tax)
    ON CONFLICT DO UPDATE SET orders = orders + 1, items = items + excluded.items,
        subtotal = subtotal + excluded.subtotal, discount = discount + excluded.discount,
        refund = refund + excluded.refund, shipping = shipping + excluded.shipping,
        tax = tax + excluded.tax;
END;
CREATE TRIGGER shop_orders_sales_old AFTER DELETE ON shop_orders
BEGIN
    UPDATE shop_sales_by_day SET orders = orders - 1, items = items - OLD.item_quantity,
        subtotal = subtotal - OLD.order_subtotal, discount = discount - OLD.order_discount,
        refund = refund - OLD.order_refund, shipping = shipping - OLD.order_shipping,
        tax = tax - OLD.order_tax
    WHERE day = substr(OLD.created_on, 1, 10) AND currency_code = OLD.currency_code
        AND order_state_id = OLD.order_state_id;
END;
CREATE TRIGGER shop_orders_sales_change
AFTER UPDATE OF created_on, currency_code, order_state_id, item_quantity, order_subtotal,
    order_discount, order_refund, order_shipping, order_tax
ON shop_orders
BEGIN
    UPDATE shop_sales_by_day SET orders = orders - 1, items = items - OLD.item_quantity,
        subtotal = subtotal - OLD.order_subtotal, discount = discount - OLD.order_discount,
        refund = refund - OLD.order_refund, shipping = shipping - OLD.order_shipping,
        tax = tax - OLD.order_tax
    WHERE day = substr(OLD.created_on, 1, 10) AND currency_code = OLD.currency_code
        AND order_state_id = OLD.order_state_id;
    INSERT INTO shop_sales_by_day
    VALUES (substr(NEW.created_on, 1, 10), NEW.currency_code, NEW.order_state_id, 1,
        NEW.item_quantity, NEW.order_subtotal, NEW.order_discount, NEW.order_refund,
        NEW.order_shipping, NEW.order_tax)
    ON CONFLICT DO UPDATE SET orders = orders + 1, items = items + excluded.items,
        subtotal = subtotal + excluded.subtotal, discount = discount + excluded.discount,
        refund = refund + excluded.refund, shipping = shipping + excluded.shipping,
        tax = tax + excluded.tax;
END;

-- Mails that have been promised and not been sent. A row goes when its mail has been handed over;
-- one that nobody takes stays, with the reason.
CREATE TABLE shop_mails (
    shop_mail_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    mail_id        TEXT NOT NULL CHECK (length(mail_id) BETWEEN 1 AND 64),
    recipient      TEXT NOT NULL CHECK (length(recipient) <= 254),
    recipient_name TEXT NOT NULL CHECK (length(recipient_name) <= 511),
    subject        TEXT NOT NULL CHECK (length(subject) <= 1000),
    body           TEXT NOT NULL,
    created_on     TEXT NOT NULL,
    attempts       INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- In seconds since 1970: not before then is it tried again.
    due_at         INTEGER NOT NULL,
    given_up       INTEGER NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1)),
    failure        TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX shop_mails_id ON shop_mails (mail_id);
CREATE INDEX shop_mails_due ON shop_mails (given_up, due_at);
