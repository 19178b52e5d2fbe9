-- What follows from records by rules that no description has. Each object is compared with what the
-- database has noted at every start, and replaced where it differs: see `src/sql/derived.rs`. A statement
-- begins with CREATE at the beginning of a line.

-- The master variant is the product as it is sold: its sku, price, upc and stock management are
-- the product's, whoever writes them.
CREATE FUNCTION shop_products_master_of_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop_variants
        (product_id, is_master, isdefault_variant, sku, sku_fold, price, upc, manage_stock,
        price_follows_product)
    VALUES (NEW.shop_product_id, 1, 1, NEW.sku, NEW.sku_fold, NEW.price, NEW.upc,
        NEW.manage_stock, 1);
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_products_master_of_new AFTER INSERT ON shop_products
    FOR EACH ROW EXECUTE FUNCTION shop_products_master_of_new();
CREATE FUNCTION shop_products_master() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE shop_variants
    SET version = version + 1, sku = NEW.sku, sku_fold = NEW.sku_fold, price = NEW.price,
        upc = NEW.upc, manage_stock = NEW.manage_stock
    WHERE product_id = NEW.shop_product_id AND is_master = 1
        AND (sku, sku_fold, price, upc, manage_stock)
            IS DISTINCT FROM (NEW.sku, NEW.sku_fold, NEW.price, NEW.upc, NEW.manage_stock);
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_products_master AFTER UPDATE OF sku, sku_fold, price, upc, manage_stock
    ON shop_products FOR EACH ROW EXECUTE FUNCTION shop_products_master();

-- What other variants have of their product: the price unless they have one of their own, and the limits by
-- which a stock is judged. The product has the range of their prices.
CREATE FUNCTION shop_products_followed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE shop_variants SET version = version + 1, price = NEW.price
    WHERE product_id = NEW.shop_product_id AND is_master = 0 AND price_follows_product = 1
        AND price <> NEW.price;
    UPDATE shop_variants SET min_out_qty = NEW.min_out_qty, notify_qty = NEW.notify_qty
    WHERE product_id = NEW.shop_product_id AND is_master = 0
        AND (min_out_qty, notify_qty) IS DISTINCT FROM (NEW.min_out_qty, NEW.notify_qty);
    IF OLD.price <> NEW.price THEN
        UPDATE shop_products SET (price_from, price_to) =
            (SELECT min(price), max(price) FROM shop_variants
            WHERE product_id = NEW.shop_product_id AND is_master = 0)
        WHERE shop_product_id = NEW.shop_product_id;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER shop_products_followed AFTER UPDATE OF price, min_out_qty, notify_qty
    ON shop_products FOR EACH ROW
    WHEN (NEW.variant_count > 0)
    EXECUTE FUNCTION shop_products_followed();

-- A ledger is only ever added to. That of a voucher goes with its voucher, and its texts are replaced when a person is
-- erased.
CREATE FUNCTION shop_ledger_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries of a ledger can be neither changed nor removed';
END;
$$;
CREATE FUNCTION shop_voucher_ledger_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM shop_vouchers WHERE shop_voucher_id = OLD.voucher_id) THEN
        RAISE EXCEPTION 'entries of a ledger can be neither changed nor removed';
    END IF;
    RETURN OLD;
END;
$$;
CREATE TRIGGER shop_inventory_ledger_changed BEFORE UPDATE ON shop_inventory_ledger FOR EACH ROW
    EXECUTE FUNCTION shop_ledger_kept();
CREATE TRIGGER shop_inventory_ledger_removed BEFORE DELETE ON shop_inventory_ledger FOR EACH ROW
    EXECUTE FUNCTION shop_ledger_kept();
CREATE TRIGGER shop_voucher_ledger_changed BEFORE UPDATE ON shop_voucher_ledger FOR EACH ROW
    WHEN (NEW.note <> '' OR NEW.reason <> 'erased'
        OR (OLD.entry_id, OLD.voucher_id, OLD.adjustment_type, OLD.amount, OLD.balance_before, OLD.balance_after,
            OLD.user_id, OLD.created_on, OLD.token_name, OLD.request_id)
        IS DISTINCT FROM (NEW.entry_id, NEW.voucher_id, NEW.adjustment_type, NEW.amount, NEW.balance_before,
            NEW.balance_after, NEW.user_id, NEW.created_on, NEW.token_name, NEW.request_id))
    EXECUTE FUNCTION shop_ledger_kept();
CREATE TRIGGER shop_voucher_ledger_removed BEFORE DELETE ON shop_voucher_ledger FOR EACH ROW
    EXECUTE FUNCTION shop_voucher_ledger_kept();
