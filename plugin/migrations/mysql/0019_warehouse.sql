-- The warehouse: where an order goes, how far it has been shipped, and with which parcels. How much of an
-- item has been shipped is counted beside the item, so that no two parcels can have the same piece.

ALTER TABLE shop_orders
    ADD COLUMN shipping_first_name varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_last_name varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_company varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_phone_1 varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_phone_2 varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_address_1 varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_address_2 varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_city varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_zip varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_zone_id bigint,
    ADD COLUMN shipping_zone_name varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_country_id bigint,
    ADD COLUMN shipping_country_name varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN shipping_tax_number varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN ordershipping_name varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN ordershipping_code varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN ordershipping_type varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN fulfilment_state varchar(16) NOT NULL DEFAULT 'unfulfilled'
    CHECK (fulfilment_state IN ('unfulfilled', 'partial', 'fulfilled'));

CREATE INDEX shop_orders_fulfilment
    ON shop_orders (is_shippable, fulfilment_state, order_state_id, created_on);
CREATE INDEX shop_orders_fulfilment_state
    ON shop_orders (is_shippable, fulfilment_state, created_on);
CREATE INDEX shop_orders_ship_to ON shop_orders (shipping_country_id, created_on);

ALTER TABLE shop_orderitems ADD COLUMN shipped integer NOT NULL DEFAULT 0
    CHECK (shipped BETWEEN 0 AND orderitem_quantity);

CREATE TABLE shop_shipments (
    shop_shipment_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_key        bigint NOT NULL REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    tracking_id      varchar(255) NOT NULL DEFAULT '',
    carrier          varchar(255) NOT NULL DEFAULT '',
    tracking_url     varchar(2048) NOT NULL DEFAULT '',
    -- What is in it, as clients read it.
    items            mediumtext NOT NULL,
    -- The status that the order had before and the one that it got, if the shipment has changed it.
    status_before    bigint,
    status_after     bigint,
    created_by       bigint NOT NULL DEFAULT 0,
    created_on       datetime NOT NULL,
    modified_on      datetime NOT NULL,
    version          bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_shipments_order ON shop_shipments (order_key);

-- Orders are counted by what a warehouse asks for. These triggers, and those of the feed, are generated
-- from their descriptions.

CREATE TABLE shop_fulfilment_counts (
    is_shippable smallint NOT NULL,
    fulfilment_state varchar(16) NOT NULL,
    order_state_id bigint NOT NULL,
    shipping_country_id bigint NOT NULL,
    slot smallint NOT NULL,
    n bigint NOT NULL,
    PRIMARY KEY (is_shippable, fulfilment_state, order_state_id, shipping_country_id, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

INSERT INTO shop_fulfilment_counts
SELECT is_shippable, fulfilment_state, order_state_id, coalesce(shipping_country_id, 0),
    IF(shop_order_id > (SELECT orders FROM shop_slots), shop_order_id % 16, 0),
    count(*)
FROM shop_orders GROUP BY 1, 2, 3, 4, 5;

DROP TRIGGER shop_orders_kept_new;
DROP TRIGGER shop_orders_kept_old;
DROP TRIGGER shop_orders_kept_change;
DROP TRIGGER shop_orders_feed_new;
DROP TRIGGER shop_orders_feed_old;
DROP TRIGGER shop_orders_feed_change;
DROP TRIGGER shop_orders_feed_parts;

CREATE TRIGGER shop_orders_kept_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(NEW.shop_order_id > orders, NEW.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_order_counts
    VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_order_counts_by_user
    VALUES (NEW.user_id, NEW.order_state_id, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_order_counts_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_order_blocks
    VALUES (NEW.shop_order_id >> 12, mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_sales_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id, mine, 1,
        NEW.item_quantity, NEW.order_subtotal DIV 10000, NEW.order_subtotal % 10000 * 100000,
        NEW.order_discount DIV 10000, NEW.order_discount % 10000 * 100000, NEW.order_refund DIV 10000,
        NEW.order_refund % 10000 * 100000, NEW.order_shipping DIV 10000,
        NEW.order_shipping % 10000 * 100000, NEW.order_tax DIV 10000, NEW.order_tax % 10000 * 100000)
    ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
        subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
        discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
        refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
        shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
        tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
    INSERT INTO shop_fulfilment_counts
    VALUES (NEW.is_shippable, NEW.fulfilment_state, NEW.order_state_id,
        coalesce(NEW.shipping_country_id, 0), mine, 1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    INSERT INTO shop_turns_by_day
    VALUES (date_format(NEW.created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10))
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orders_kept_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_order_id > orders, OLD.shop_order_id % 16, 0) FROM shop_slots);
    INSERT INTO shop_order_counts
    VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_order_counts
    WHERE order_state_id = OLD.order_state_id AND orderpayment_type = OLD.orderpayment_type
        AND currency_code = OLD.currency_code AND slot = mine AND n = 0;
    INSERT INTO shop_order_counts_by_user
    VALUES (OLD.user_id, OLD.order_state_id, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_order_counts_by_user
    WHERE user_id = OLD.user_id AND order_state_id = OLD.order_state_id AND slot = mine AND n = 0;
    INSERT INTO shop_order_counts_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_order_counts_by_day
    WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND order_state_id = OLD.order_state_id
        AND slot = mine AND n = 0;
    INSERT INTO shop_order_blocks
    VALUES (OLD.shop_order_id >> 12, mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_order_blocks
    WHERE block = OLD.shop_order_id >> 12 AND slot = mine AND n = 0;
    INSERT INTO shop_sales_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id, mine, -1,
        -(OLD.item_quantity), -(OLD.order_subtotal DIV 10000), -(OLD.order_subtotal % 10000 * 100000),
        -(OLD.order_discount DIV 10000), -(OLD.order_discount % 10000 * 100000),
        -(OLD.order_refund DIV 10000), -(OLD.order_refund % 10000 * 100000),
        -(OLD.order_shipping DIV 10000), -(OLD.order_shipping % 10000 * 100000),
        -(OLD.order_tax DIV 10000), -(OLD.order_tax % 10000 * 100000))
    ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
        subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
        discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
        refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
        shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
        tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
    DELETE FROM shop_sales_by_day
    WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND currency_code = OLD.currency_code
        AND order_state_id = OLD.order_state_id AND slot = mine AND orders = 0 AND items = 0
        AND subtotal_1 = 0 AND subtotal_0 = 0 AND discount_1 = 0 AND discount_0 = 0 AND refund_1 = 0
        AND refund_0 = 0 AND shipping_1 = 0 AND shipping_0 = 0 AND tax_1 = 0 AND tax_0 = 0;
    INSERT INTO shop_fulfilment_counts
    VALUES (OLD.is_shippable, OLD.fulfilment_state, OLD.order_state_id,
        coalesce(OLD.shipping_country_id, 0), mine, -1)
    ON DUPLICATE KEY UPDATE n = n + value(n);
    DELETE FROM shop_fulfilment_counts
    WHERE is_shippable = OLD.is_shippable AND fulfilment_state = OLD.fulfilment_state
        AND order_state_id = OLD.order_state_id
        AND shipping_country_id = coalesce(OLD.shipping_country_id, 0) AND slot = mine AND n = 0;
    INSERT INTO shop_turns_by_day
    VALUES (date_format(OLD.created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10))
    ON DUPLICATE KEY UPDATE turn = value(turn);
END;

CREATE TRIGGER shop_orders_kept_change AFTER UPDATE ON shop_orders FOR EACH ROW
BEGIN
    DECLARE mine smallint DEFAULT
        (SELECT IF(OLD.shop_order_id > orders, OLD.shop_order_id % 16, 0) FROM shop_slots);
    IF NOT ((OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code)
        <=> (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code))
    THEN
        INSERT INTO shop_order_counts
        VALUES (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_order_counts
        WHERE order_state_id = OLD.order_state_id AND orderpayment_type = OLD.orderpayment_type
            AND currency_code = OLD.currency_code AND slot = mine AND n = 0;
        INSERT INTO shop_order_counts
        VALUES (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.user_id, OLD.order_state_id)
        <=> (NEW.user_id, NEW.order_state_id))
    THEN
        INSERT INTO shop_order_counts_by_user
        VALUES (OLD.user_id, OLD.order_state_id, mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_order_counts_by_user
        WHERE user_id = OLD.user_id AND order_state_id = OLD.order_state_id AND slot = mine AND n = 0;
        INSERT INTO shop_order_counts_by_user
        VALUES (NEW.user_id, NEW.order_state_id, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.created_on, OLD.order_state_id)
        <=> (NEW.created_on, NEW.order_state_id))
    THEN
        INSERT INTO shop_order_counts_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.order_state_id, mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_order_counts_by_day
        WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND order_state_id = OLD.order_state_id
            AND slot = mine AND n = 0;
        INSERT INTO shop_order_counts_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.order_state_id, mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.created_on, OLD.currency_code, OLD.order_state_id, OLD.item_quantity,
        OLD.order_subtotal, OLD.order_discount, OLD.order_refund, OLD.order_shipping, OLD.order_tax)
        <=> (NEW.created_on, NEW.currency_code, NEW.order_state_id, NEW.item_quantity,
            NEW.order_subtotal, NEW.order_discount, NEW.order_refund, NEW.order_shipping,
            NEW.order_tax))
    THEN
        INSERT INTO shop_sales_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), OLD.currency_code, OLD.order_state_id, mine, -1,
            -(OLD.item_quantity), -(OLD.order_subtotal DIV 10000), -(OLD.order_subtotal % 10000 * 100000),
            -(OLD.order_discount DIV 10000), -(OLD.order_discount % 10000 * 100000),
            -(OLD.order_refund DIV 10000), -(OLD.order_refund % 10000 * 100000),
            -(OLD.order_shipping DIV 10000), -(OLD.order_shipping % 10000 * 100000),
            -(OLD.order_tax DIV 10000), -(OLD.order_tax % 10000 * 100000))
        ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
            subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
            discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
            refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
            shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
            tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
        DELETE FROM shop_sales_by_day
        WHERE day = date_format(OLD.created_on, '%Y-%m-%d') AND currency_code = OLD.currency_code
            AND order_state_id = OLD.order_state_id AND slot = mine AND orders = 0 AND items = 0
            AND subtotal_1 = 0 AND subtotal_0 = 0 AND discount_1 = 0 AND discount_0 = 0 AND refund_1 = 0
            AND refund_0 = 0 AND shipping_1 = 0 AND shipping_0 = 0 AND tax_1 = 0 AND tax_0 = 0;
        INSERT INTO shop_sales_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), NEW.currency_code, NEW.order_state_id, mine, 1,
            NEW.item_quantity, NEW.order_subtotal DIV 10000, NEW.order_subtotal % 10000 * 100000,
            NEW.order_discount DIV 10000, NEW.order_discount % 10000 * 100000, NEW.order_refund DIV 10000,
            NEW.order_refund % 10000 * 100000, NEW.order_shipping DIV 10000,
            NEW.order_shipping % 10000 * 100000, NEW.order_tax DIV 10000, NEW.order_tax % 10000 * 100000)
        ON DUPLICATE KEY UPDATE orders = orders + value(orders), items = items + value(items),
            subtotal_1 = subtotal_1 + value(subtotal_1), subtotal_0 = subtotal_0 + value(subtotal_0),
            discount_1 = discount_1 + value(discount_1), discount_0 = discount_0 + value(discount_0),
            refund_1 = refund_1 + value(refund_1), refund_0 = refund_0 + value(refund_0),
            shipping_1 = shipping_1 + value(shipping_1), shipping_0 = shipping_0 + value(shipping_0),
            tax_1 = tax_1 + value(tax_1), tax_0 = tax_0 + value(tax_0);
    END IF;
    IF NOT ((OLD.is_shippable, OLD.fulfilment_state, OLD.order_state_id, OLD.shipping_country_id)
        <=> (NEW.is_shippable, NEW.fulfilment_state, NEW.order_state_id, NEW.shipping_country_id))
    THEN
        INSERT INTO shop_fulfilment_counts
        VALUES (OLD.is_shippable, OLD.fulfilment_state, OLD.order_state_id,
            coalesce(OLD.shipping_country_id, 0), mine, -1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
        DELETE FROM shop_fulfilment_counts
        WHERE is_shippable = OLD.is_shippable AND fulfilment_state = OLD.fulfilment_state
            AND order_state_id = OLD.order_state_id
            AND shipping_country_id = coalesce(OLD.shipping_country_id, 0) AND slot = mine AND n = 0;
        INSERT INTO shop_fulfilment_counts
        VALUES (NEW.is_shippable, NEW.fulfilment_state, NEW.order_state_id,
            coalesce(NEW.shipping_country_id, 0), mine, 1)
        ON DUPLICATE KEY UPDATE n = n + value(n);
    END IF;
    IF NOT ((OLD.created_on, OLD.currency_code, OLD.order_state_id, OLD.order_total, OLD.user_id,
        OLD.user_email_fold)
        <=> (NEW.created_on, NEW.currency_code, NEW.order_state_id, NEW.order_total, NEW.user_id,
            NEW.user_email_fold))
    THEN
        INSERT INTO shop_turns_by_day
        VALUES (date_format(OLD.created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10))
        ON DUPLICATE KEY UPDATE turn = value(turn);
        INSERT INTO shop_turns_by_day
        VALUES (date_format(NEW.created_on, '%Y-%m-%d'), connection_id() % 16, conv(left(md5(uuid()), 13), 16, 10))
        ON DUPLICATE KEY UPDATE turn = value(turn);
    END IF;
END;

CREATE TRIGGER shop_orders_feed_new AFTER INSERT ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderfulfilments', NEW.shop_order_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', NEW.shop_order_id);
END;

CREATE TRIGGER shop_orders_feed_old AFTER DELETE ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderfulfilments', OLD.shop_order_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', OLD.shop_order_id);
END;

CREATE TRIGGER shop_orders_feed_change AFTER UPDATE ON shop_orders FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('orderfulfilments', NEW.shop_order_id);
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('orders', NEW.shop_order_id);
    END IF;
END;

CREATE TRIGGER shop_orders_feed_parts BEFORE DELETE ON shop_orders FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'orderhistories', shop_orderhistory_id FROM shop_orderhistories
    WHERE order_key = OLD.shop_order_id;
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'orderitems', shop_orderitem_id FROM shop_orderitems
    WHERE order_key = OLD.shop_order_id;
    INSERT INTO shop_change_queue (kind, record)
    SELECT 'shipments', shop_shipment_id FROM shop_shipments
    WHERE order_key = OLD.shop_order_id;
END;

CREATE TRIGGER shop_shipments_feed_new AFTER INSERT ON shop_shipments FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('shipments', NEW.shop_shipment_id);
END;

CREATE TRIGGER shop_shipments_feed_old AFTER DELETE ON shop_shipments FOR EACH ROW
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('shipments', OLD.shop_shipment_id);
END;

CREATE TRIGGER shop_shipments_feed_change AFTER UPDATE ON shop_shipments FOR EACH ROW
BEGIN
    IF OLD.version <> NEW.version THEN
        INSERT INTO shop_change_queue (kind, record)
        VALUES ('shipments', NEW.shop_shipment_id);
    END IF;
END;
