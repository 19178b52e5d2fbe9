-- What reports are made from, and mails on their way.

-- How many pieces an order's items are of, so that sums over orders need not read the items.
ALTER TABLE shop_orders ADD COLUMN item_quantity bigint NOT NULL DEFAULT 0
    CHECK (item_quantity >= 0);
UPDATE shop_orders SET item_quantity = (
    SELECT coalesce(sum(orderitem_quantity), 0) FROM shop_orderitems
    WHERE order_key = shop_order_id
);

-- The sums of a day's orders, by currency and status, in slots as the counts are. Triggers keep
-- them in the same transaction as the write.
CREATE TABLE shop_sales_by_day (
    day            varchar(10) NOT NULL,
    currency_code  varchar(3) NOT NULL,
    order_state_id bigint NOT NULL,
    slot           smallint NOT NULL,
    orders         bigint NOT NULL,
    items          bigint NOT NULL,
    subtotal       decimal(24, 5) NOT NULL,
    discount       decimal(24, 5) NOT NULL,
    refund         decimal(24, 5) NOT NULL,
    shipping       decimal(24, 5) NOT NULL,
    tax            decimal(24, 5) NOT NULL,
    PRIMARY KEY (day, currency_code, order_state_id, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

INSERT INTO shop_sales_by_day
SELECT date_format(created_on, '%Y-%m-%d'), currency_code, order_state_id, 0, count(*),
    sum(item_quantity), sum(order_subtotal), sum(order_discount), sum(order_refund),
    sum(order_shipping), sum(order_tax)
FROM shop_orders GROUP BY 1, 2, 3;

CREATE TRIGGER shop_orders_sales_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_sales_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id,
        connection_id() % 16, 1, NEW.item_quantity, NEW.order_subtotal, NEW.order_discount,
        NEW.order_refund, NEW.order_shipping, NEW.order_tax)
    ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
        subtotal = subtotal + value(subtotal), discount = discount + value(discount),
        refund = refund + value(refund), shipping = shipping + value(shipping),
        tax = tax + value(tax);
END;

CREATE TRIGGER shop_orders_sales_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_sales_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id,
        connection_id() % 16, -1, -OLD.item_quantity, -OLD.order_subtotal, -OLD.order_discount,
        -OLD.order_refund, -OLD.order_shipping, -OLD.order_tax)
    ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
        subtotal = subtotal + value(subtotal), discount = discount + value(discount),
        refund = refund + value(refund), shipping = shipping + value(shipping),
        tax = tax + value(tax);
END;

CREATE TRIGGER shop_orders_sales_change AFTER UPDATE ON shop_orders FOR EACH ROW
IF (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id,
        OLD.item_quantity, OLD.order_subtotal, OLD.order_discount, OLD.order_refund,
        OLD.order_shipping, OLD.order_tax)
    <> (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id,
        NEW.item_quantity, NEW.order_subtotal, NEW.order_discount, NEW.order_refund,
        NEW.order_shipping, NEW.order_tax)
THEN
    INSERT INTO shop_sales_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id,
        connection_id() % 16, -1, -OLD.item_quantity, -OLD.order_subtotal, -OLD.order_discount,
        -OLD.order_refund, -OLD.order_shipping, -OLD.order_tax)
    ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
        subtotal = subtotal + value(subtotal), discount = discount + value(discount),
        refund = refund + value(refund), shipping = shipping + value(shipping),
        tax = tax + value(tax);
    INSERT INTO shop_sales_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id,
        connection_id() % 16, 1, NEW.item_quantity, NEW.order_subtotal, NEW.order_discount,
        NEW.order_refund, NEW.order_shipping, NEW.order_tax)
    ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
        subtotal = subtotal + value(subtotal), discount = discount + value(discount),
        refund = refund + value(refund), shipping = shipping + value(shipping),
        tax = tax + value(tax);
END IF;

-- Mails that have been promised and not been sent. A row goes when its mail has been handed over;
-- one that nobody takes stays, with the reason.
CREATE TABLE shop_mails (
    shop_mail_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    mail_id        varchar(64) NOT NULL CHECK (mail_id <> ''),
    recipient      varchar(254) NOT NULL,
    recipient_name varchar(511) NOT NULL,
    subject        varchar(1000) NOT NULL,
    body           mediumtext NOT NULL,
    created_on     datetime NOT NULL,
    attempts       integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- In seconds since 1970: not before then is it tried again.
    due_at         bigint NOT NULL,
    given_up       smallint NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1)),
    failure        mediumtext NOT NULL DEFAULT ('')
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_mails__mail_id ON shop_mails (mail_id);
CREATE INDEX shop_mails_due ON shop_mails (given_up, due_at);
