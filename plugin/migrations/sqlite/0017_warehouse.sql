-- The warehouse: where an order goes, how far it has been shipped, and with which parcels. How much of an
-- item has been shipped is counted beside the item, so that no two parcels can have the same piece.

ALTER TABLE shop_orders ADD COLUMN shipping_first_name TEXT NOT NULL DEFAULT '' CHECK (length(shipping_first_name) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_last_name TEXT NOT NULL DEFAULT '' CHECK (length(shipping_last_name) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_company TEXT NOT NULL DEFAULT '' CHECK (length(shipping_company) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_phone_1 TEXT NOT NULL DEFAULT '' CHECK (length(shipping_phone_1) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_phone_2 TEXT NOT NULL DEFAULT '' CHECK (length(shipping_phone_2) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_address_1 TEXT NOT NULL DEFAULT '' CHECK (length(shipping_address_1) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_address_2 TEXT NOT NULL DEFAULT '' CHECK (length(shipping_address_2) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_city TEXT NOT NULL DEFAULT '' CHECK (length(shipping_city) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_zip TEXT NOT NULL DEFAULT '' CHECK (length(shipping_zip) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_zone_id INTEGER;
ALTER TABLE shop_orders ADD COLUMN shipping_zone_name TEXT NOT NULL DEFAULT '' CHECK (length(shipping_zone_name) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_country_id INTEGER;
ALTER TABLE shop_orders ADD COLUMN shipping_country_name TEXT NOT NULL DEFAULT '' CHECK (length(shipping_country_name) <= 255);
ALTER TABLE shop_orders ADD COLUMN shipping_tax_number TEXT NOT NULL DEFAULT '' CHECK (length(shipping_tax_number) <= 255);
ALTER TABLE shop_orders ADD COLUMN ordershipping_name TEXT NOT NULL DEFAULT '' CHECK (length(ordershipping_name) <= 255);
ALTER TABLE shop_orders ADD COLUMN ordershipping_code TEXT NOT NULL DEFAULT '' CHECK (length(ordershipping_code) <= 255);
ALTER TABLE shop_orders ADD COLUMN ordershipping_type TEXT NOT NULL DEFAULT '' CHECK (length(ordershipping_type) <= 255);
ALTER TABLE shop_orders ADD COLUMN fulfilment_state TEXT NOT NULL DEFAULT 'unfulfilled'
    CHECK (fulfilment_state IN ('unfulfilled', 'partial', 'fulfilled'));

CREATE INDEX shop_orders_fulfilment
    ON shop_orders (is_shippable, fulfilment_state, order_state_id, created_on);
CREATE INDEX shop_orders_fulfilment_state
    ON shop_orders (is_shippable, fulfilment_state, created_on);
CREATE INDEX shop_orders_ship_to ON shop_orders (shipping_country_id, created_on);

ALTER TABLE shop_orderitems ADD COLUMN shipped INTEGER NOT NULL DEFAULT 0
    CHECK (shipped BETWEEN 0 AND orderitem_quantity);

CREATE TABLE shop_shipments (
    shop_shipment_id INTEGER PRIMARY KEY AUTOINCREMENT,
    order_key        INTEGER NOT NULL REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    tracking_id      TEXT NOT NULL DEFAULT '' CHECK (length(tracking_id) <= 255),
    carrier          TEXT NOT NULL DEFAULT '' CHECK (length(carrier) <= 255),
    tracking_url     TEXT NOT NULL DEFAULT '' CHECK (length(tracking_url) <= 2048),
    -- What is in it, as clients read it.
    items            TEXT NOT NULL CHECK (json_valid(items)),
    -- The status that the order had before and the one that it got, if the shipment has changed it.
    status_before    INTEGER,
    status_after     INTEGER,
    created_by       INTEGER NOT NULL DEFAULT 0,
    created_on       TEXT NOT NULL,
    modified_on      TEXT NOT NULL,
    version          INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX shop_shipments_order ON shop_shipments (order_key);

-- Orders are counted by what a warehouse asks for. These triggers, and those of the feed, are generated
-- from their descriptions.

CREATE TABLE shop_fulfilment_counts (
    is_shippable INTEGER NOT NULL,
    fulfilment_state TEXT NOT NULL,
    order_state_id INTEGER NOT NULL,
    shipping_country_id INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (is_shippable, fulfilment_state, order_state_id, shipping_country_id)
) STRICT, WITHOUT ROWID;

INSERT INTO shop_fulfilment_counts
SELECT is_shippable, fulfilment_state, order_state_id, coalesce(shipping_country_id, 0), count(*)
FROM shop_orders GROUP BY 1, 2, 3, 4;

DROP TRIGGER shop_orders_feed_new;
DROP TRIGGER shop_orders_feed_old;
DROP TRIGGER shop_orders_feed_change;

CREATE TRIGGER shop_fulfilment_counts_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_fulfilment_counts
    VALUES (NEW.is_shippable, NEW.fulfilment_state, NEW.order_state_id,
        coalesce(NEW.shipping_country_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_fulfilment_counts_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_fulfilment_counts
    VALUES (OLD.is_shippable, OLD.fulfilment_state, OLD.order_state_id,
        coalesce(OLD.shipping_country_id, 0), -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_fulfilment_counts_change
AFTER UPDATE OF is_shippable, fulfilment_state, order_state_id, shipping_country_id
ON shop_orders
WHEN (OLD.is_shippable, OLD.fulfilment_state, OLD.order_state_id, OLD.shipping_country_id)
    IS NOT (NEW.is_shippable, NEW.fulfilment_state, NEW.order_state_id, NEW.shipping_country_id)
BEGIN
    INSERT INTO shop_fulfilment_counts
    VALUES (OLD.is_shippable, OLD.fulfilment_state, OLD.order_state_id,
        coalesce(OLD.shipping_country_id, 0), -1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
    INSERT INTO shop_fulfilment_counts
    VALUES (NEW.is_shippable, NEW.fulfilment_state, NEW.order_state_id,
        coalesce(NEW.shipping_country_id, 0), 1)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER shop_fulfilment_counts_none AFTER UPDATE ON shop_fulfilment_counts
WHEN NEW.n = 0
BEGIN
    DELETE FROM shop_fulfilment_counts
    WHERE is_shippable = NEW.is_shippable AND fulfilment_state = NEW.fulfilment_state
        AND order_state_id = NEW.order_state_id AND shipping_country_id = NEW.shipping_country_id;
END;

CREATE TRIGGER shop_orders_feed_new AFTER INSERT ON shop_orders
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderfulfilments', NEW.shop_order_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', NEW.shop_order_id);
END;

CREATE TRIGGER shop_orders_feed_old AFTER DELETE ON shop_orders
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderfulfilments', OLD.shop_order_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', OLD.shop_order_id);
END;

CREATE TRIGGER shop_orders_feed_change AFTER UPDATE OF version ON shop_orders
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orderfulfilments', NEW.shop_order_id);
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('orders', NEW.shop_order_id);
END;

CREATE TRIGGER shop_shipments_feed_new AFTER INSERT ON shop_shipments
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('shipments', NEW.shop_shipment_id);
END;

CREATE TRIGGER shop_shipments_feed_old AFTER DELETE ON shop_shipments
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('shipments', OLD.shop_shipment_id);
END;

CREATE TRIGGER shop_shipments_feed_change AFTER UPDATE OF version ON shop_shipments
WHEN OLD.version <> NEW.version
BEGIN
    INSERT INTO shop_change_queue (kind, record)
    VALUES ('shipments', NEW.shop_shipment_id);
END;
