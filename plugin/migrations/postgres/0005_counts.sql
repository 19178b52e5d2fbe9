-- Kept counts, so that the total of a list costs the same in a large store as in a small one. Each
-- table has rows for each combination of values that occurs; triggers keep them in the same
-- transaction as the write. 0 and '' stand for an unset value.
--
-- One row for a combination would make writers wait for one another until each has committed.
-- There are sixteen, its slots, and a connection writes to one of them: the count is their sum, and
-- a slot may be below zero.

CREATE TABLE shop_product_counts (
    has_stock    smallint NOT NULL,
    enabled      smallint NOT NULL,
    visibility   smallint NOT NULL,
    product_type varchar(64) COLLATE "C" NOT NULL,
    slot         smallint NOT NULL,
    n            bigint NOT NULL,
    PRIMARY KEY (has_stock, enabled, visibility, product_type, slot)
) WITH (fillfactor = 50);

CREATE TABLE shop_product_counts_by_manufacturer (
    manufacturer_id bigint NOT NULL,
    enabled         smallint NOT NULL,
    slot            smallint NOT NULL,
    n               bigint NOT NULL,
    PRIMARY KEY (manufacturer_id, enabled, slot)
) WITH (fillfactor = 50);

CREATE TABLE shop_product_counts_by_category (
    category_id bigint NOT NULL,
    enabled     smallint NOT NULL,
    slot        smallint NOT NULL,
    n           bigint NOT NULL,
    PRIMARY KEY (category_id, enabled, slot)
) WITH (fillfactor = 50);

CREATE TABLE shop_order_counts (
    order_state_id    bigint NOT NULL,
    orderpayment_type varchar(255) COLLATE "C" NOT NULL,
    currency_code     varchar(3) COLLATE "C" NOT NULL,
    slot              smallint NOT NULL,
    n                 bigint NOT NULL,
    PRIMARY KEY (order_state_id, orderpayment_type, currency_code, slot)
) WITH (fillfactor = 50);

CREATE TABLE shop_order_counts_by_user (
    user_id        bigint NOT NULL,
    order_state_id bigint NOT NULL,
    slot           smallint NOT NULL,
    n              bigint NOT NULL,
    PRIMARY KEY (user_id, order_state_id, slot)
) WITH (fillfactor = 50);

CREATE TABLE shop_order_counts_by_day (
    day            varchar(10) COLLATE "C" NOT NULL,
    order_state_id bigint NOT NULL,
    slot           smallint NOT NULL,
    n              bigint NOT NULL,
    PRIMARY KEY (day, order_state_id, slot)
) WITH (fillfactor = 50);

CREATE TABLE shop_address_counts (
    country_id bigint NOT NULL,
    slot       smallint NOT NULL,
    n          bigint NOT NULL,
    PRIMARY KEY (country_id, slot)
) WITH (fillfactor = 50);

-- The counters are always written in the same order, and so are the rows of each, so that two
-- writers on one slot wait for one another instead of each for the other.

CREATE FUNCTION shop_products_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := pg_backend_pid() % 16;
BEGIN
    IF TG_OP <> 'UPDATE' OR (OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type)
        IS DISTINCT FROM (NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type)
    THEN
        INSERT INTO shop_product_counts AS kept
        SELECT OLD.has_stock, OLD.enabled, OLD.visibility, OLD.product_type, mine, -1
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT NEW.has_stock, NEW.enabled, NEW.visibility, NEW.product_type, mine, 1
        WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2, 3, 4
        ON CONFLICT (has_stock, enabled, visibility, product_type, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR (OLD.manufacturer_id, OLD.enabled)
        IS DISTINCT FROM (NEW.manufacturer_id, NEW.enabled)
    THEN
        INSERT INTO shop_product_counts_by_manufacturer AS kept
        SELECT coalesce(OLD.manufacturer_id, 0), OLD.enabled, mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT coalesce(NEW.manufacturer_id, 0), NEW.enabled, mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (manufacturer_id, enabled, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR (OLD.category_id, OLD.enabled)
        IS DISTINCT FROM (NEW.category_id, NEW.enabled)
    THEN
        INSERT INTO shop_product_counts_by_category AS kept
        SELECT coalesce(OLD.category_id, 0), OLD.enabled, mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT coalesce(NEW.category_id, 0), NEW.enabled, mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (category_id, enabled, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_products_count
    AFTER INSERT OR DELETE
    OR UPDATE OF has_stock, enabled, visibility, product_type, manufacturer_id, category_id
    ON shop_products FOR EACH ROW EXECUTE FUNCTION shop_products_count();

CREATE FUNCTION shop_orders_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := pg_backend_pid() % 16;
BEGIN
    IF TG_OP <> 'UPDATE' OR (OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code)
        IS DISTINCT FROM (NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code)
    THEN
        INSERT INTO shop_order_counts AS kept
        SELECT OLD.order_state_id, OLD.orderpayment_type, OLD.currency_code, mine, -1
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT NEW.order_state_id, NEW.orderpayment_type, NEW.currency_code, mine, 1
        WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2, 3
        ON CONFLICT (order_state_id, orderpayment_type, currency_code, slot)
        DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR (OLD.user_id, OLD.order_state_id)
        IS DISTINCT FROM (NEW.user_id, NEW.order_state_id)
    THEN
        INSERT INTO shop_order_counts_by_user AS kept
        SELECT OLD.user_id, OLD.order_state_id, mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT NEW.user_id, NEW.order_state_id, mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (user_id, order_state_id, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    IF TG_OP <> 'UPDATE' OR (OLD.created_on::date, OLD.order_state_id)
        IS DISTINCT FROM (NEW.created_on::date, NEW.order_state_id)
    THEN
        INSERT INTO shop_order_counts_by_day AS kept
        SELECT to_char(OLD.created_on, 'YYYY-MM-DD'), OLD.order_state_id, mine, -1
        WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT to_char(NEW.created_on, 'YYYY-MM-DD'), NEW.order_state_id, mine, 1
        WHERE TG_OP <> 'DELETE'
        ORDER BY 1, 2
        ON CONFLICT (day, order_state_id, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_orders_count
    AFTER INSERT OR DELETE
    OR UPDATE OF order_state_id, orderpayment_type, currency_code, user_id, created_on
    ON shop_orders FOR EACH ROW EXECUTE FUNCTION shop_orders_count();

CREATE FUNCTION shop_addresses_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := pg_backend_pid() % 16;
BEGIN
    IF TG_OP <> 'UPDATE' OR OLD.country_id IS DISTINCT FROM NEW.country_id THEN
        INSERT INTO shop_address_counts AS kept
        SELECT coalesce(OLD.country_id, 0), mine, -1 WHERE TG_OP <> 'INSERT'
        UNION ALL
        SELECT coalesce(NEW.country_id, 0), mine, 1 WHERE TG_OP <> 'DELETE'
        ORDER BY 1
        ON CONFLICT (country_id, slot) DO UPDATE SET n = kept.n + excluded.n;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_addresses_count
    AFTER INSERT OR DELETE OR UPDATE OF country_id
    ON shop_addresses FOR EACH ROW EXECUTE FUNCTION shop_addresses_count();
