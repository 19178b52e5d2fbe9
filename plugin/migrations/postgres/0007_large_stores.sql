-- What keeps lists of a large store as quick as those of a small one: indexes for filters and orders
-- that are asked for together, counts by which a place far down a list is found.

CREATE INDEX shop_products_manufacturer_enabled
    ON shop_products (manufacturer_id, enabled, shop_product_id);
CREATE INDEX shop_products_manufacturer_created
    ON shop_products (manufacturer_id, created_on, shop_product_id);
CREATE INDEX shop_products_manufacturer_price
    ON shop_products (manufacturer_id, price, shop_product_id);
CREATE INDEX shop_products_manufacturer_name
    ON shop_products (manufacturer_id, product_name_fold, shop_product_id);
CREATE INDEX shop_products_category_enabled
    ON shop_products (category_id, enabled, shop_product_id);
CREATE INDEX shop_products_category_manufacturer
    ON shop_products (category_id, manufacturer_id, shop_product_id);
CREATE INDEX shop_products_category_created
    ON shop_products (category_id, created_on, shop_product_id);
CREATE INDEX shop_products_category_price ON shop_products (category_id, price, shop_product_id);
CREATE INDEX shop_products_category_name
    ON shop_products (category_id, product_name_fold, shop_product_id);
CREATE INDEX shop_orders_user_key ON shop_orders (user_id, shop_order_id);
CREATE INDEX shop_orders_user_total ON shop_orders (user_id, order_total, shop_order_id);
CREATE INDEX shop_orders_status_key ON shop_orders (order_state_id, shop_order_id);
CREATE INDEX shop_orders_status_total ON shop_orders (order_state_id, order_total, shop_order_id);
CREATE INDEX shop_orders_status_payment
    ON shop_orders (order_state_id, orderpayment_type, created_on, shop_order_id);
CREATE INDEX shop_orders_payment_key ON shop_orders (orderpayment_type, shop_order_id);

-- A copy that only sorts has the first 255 characters, and any other at most 750: as many as an index
-- takes on every engine, with two keys.
UPDATE shop_products SET product_name_fold = left(product_name_fold, 750)
WHERE char_length(product_name_fold) > 750;
UPDATE shop_products SET main_image_fold = left(main_image_fold, 255)
WHERE char_length(main_image_fold) > 255;
UPDATE shop_orderhistories SET comment_fold = left(comment_fold, 255)
WHERE char_length(comment_fold) > 255;
CREATE INDEX shop_products_image ON shop_products (main_image_fold, shop_product_id);

-- How many records there are of each 4,096 keys, and of each day; see the other counters for slots.
CREATE TABLE shop_product_blocks (
    block bigint NOT NULL,
    slot  smallint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (block, slot)
) WITH (fillfactor = 50);
CREATE TABLE shop_order_blocks (
    block bigint NOT NULL,
    slot  smallint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (block, slot)
) WITH (fillfactor = 50);
CREATE TABLE shop_address_blocks (
    block bigint NOT NULL,
    slot  smallint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (block, slot)
) WITH (fillfactor = 50);
CREATE TABLE shop_product_counts_by_day (
    day  varchar(10) COLLATE "C" NOT NULL,
    slot smallint NOT NULL,
    n    bigint NOT NULL,
    PRIMARY KEY (day, slot)
) WITH (fillfactor = 50);
CREATE TABLE shop_address_counts_by_zone (
    country_id bigint NOT NULL,
    zone_id    bigint NOT NULL,
    slot       smallint NOT NULL,
    n          bigint NOT NULL,
    PRIMARY KEY (country_id, zone_id, slot)
) WITH (fillfactor = 50);

INSERT INTO shop_product_blocks SELECT shop_product_id >> 12, 0, count(*) FROM shop_products GROUP BY 1;
INSERT INTO shop_order_blocks SELECT shop_order_id >> 12, 0, count(*) FROM shop_orders GROUP BY 1;
INSERT INTO shop_address_blocks SELECT shop_address_id >> 12, 0, count(*) FROM shop_addresses GROUP BY 1;
INSERT INTO shop_product_counts_by_day
SELECT to_char(created_on, 'YYYY-MM-DD'), 0, count(*) FROM shop_products GROUP BY 1;
INSERT INTO shop_address_counts_by_zone
SELECT coalesce(country_id, 0), coalesce(zone_id, 0), 0, count(*) FROM shop_addresses GROUP BY 1, 2;

CREATE FUNCTION shop_products_steps() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := pg_backend_pid() % 16;
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        INSERT INTO shop_product_blocks AS kept
        SELECT OLD.shop_product_id >> 12, mine, -1 WHERE TG_OP = 'DELETE'
        UNION ALL
        SELECT NEW.shop_product_id >> 12, mine, 1 WHERE TG_OP = 'INSERT'
        ON CONFLICT (block, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR OLD.created_on::date <> NEW.created_on::date THEN
        INSERT INTO shop_product_counts_by_day AS kept
        SELECT to_char(OLD.created_on, 'YYYY-MM-DD'), mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT to_char(NEW.created_on, 'YYYY-MM-DD'), mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1
        ON CONFLICT (day, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_products_steps AFTER INSERT OR DELETE OR UPDATE OF created_on
    ON shop_products FOR EACH ROW EXECUTE FUNCTION shop_products_steps();

CREATE FUNCTION shop_orders_steps() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := pg_backend_pid() % 16;
BEGIN
    INSERT INTO shop_order_blocks AS kept
    SELECT OLD.shop_order_id >> 12, mine, -1 WHERE TG_OP = 'DELETE'
    UNION ALL
    SELECT NEW.shop_order_id >> 12, mine, 1 WHERE TG_OP = 'INSERT'
    ON CONFLICT (block, slot) DO UPDATE SET n = kept.n + excluded.n;
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_orders_steps AFTER INSERT OR DELETE
    ON shop_orders FOR EACH ROW EXECUTE FUNCTION shop_orders_steps();

CREATE FUNCTION shop_addresses_steps() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := pg_backend_pid() % 16;
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        INSERT INTO shop_address_blocks AS kept
        SELECT OLD.shop_address_id >> 12, mine, -1 WHERE TG_OP = 'DELETE'
        UNION ALL
        SELECT NEW.shop_address_id >> 12, mine, 1 WHERE TG_OP = 'INSERT'
        ON CONFLICT (block, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE'
        OR (OLD.country_id, OLD.zone_id) IS DISTINCT FROM (NEW.country_id, NEW.zone_id)
    THEN
        INSERT INTO shop_address_counts_by_zone AS kept
        SELECT coalesce(OLD.country_id, 0), coalesce(OLD.zone_id, 0), mine, -1
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT coalesce(NEW.country_id, 0), coalesce(NEW.zone_id, 0), mine, 1
        WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (country_id, zone_id, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_addresses_steps AFTER INSERT OR DELETE OR UPDATE OF country_id, zone_id
    ON shop_addresses FOR EACH ROW EXECUTE FUNCTION shop_addresses_steps();
