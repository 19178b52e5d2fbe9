-- What follows from records by rules that no description has. Each object is compared with what the
-- database has noted at every start, and replaced where it differs: see `src/sql/derived.rs`. A statement
-- begins with CREATE at the beginning of a line.

-- The parent of a category is another one, or 0, the top, which is no record: a foreign key cannot say so.
CREATE TRIGGER shop_categories_parent_of_new BEFORE INSERT ON shop_categories
WHEN NEW.parent_id <> 0
    AND NOT EXISTS (SELECT 1 FROM shop_categories WHERE id = NEW.parent_id)
BEGIN
    SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed');
END;
CREATE TRIGGER shop_categories_parent_of_moved BEFORE UPDATE OF parent_id ON shop_categories
WHEN NEW.parent_id <> 0
    AND NOT EXISTS (SELECT 1 FROM shop_categories WHERE id = NEW.parent_id)
BEGIN
    SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed');
END;
CREATE TRIGGER shop_categories_children BEFORE DELETE ON shop_categories
WHEN EXISTS (SELECT 1 FROM shop_categories WHERE parent_id = OLD.id)
BEGIN
    SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed');
END;

-- The master variant is the product as it is sold: its sku, price, upc and stock management are
-- the product's, whoever writes them.
CREATE TRIGGER shop_products_master_of_new AFTER INSERT ON shop_products
BEGIN
    INSERT INTO shop_variants
        (product_id, is_master, isdefault_variant, sku, sku_fold, price, upc, manage_stock,
        price_follows_product)
    VALUES (NEW.shop_product_id, 1, 1, NEW.sku, NEW.sku_fold, NEW.price, NEW.upc,
        NEW.manage_stock, 1);
END;
CREATE TRIGGER shop_products_master AFTER UPDATE OF sku, sku_fold, price, upc, manage_stock
ON shop_products
WHEN (OLD.sku, OLD.sku_fold, OLD.price, OLD.upc, OLD.manage_stock)
    IS NOT (NEW.sku, NEW.sku_fold, NEW.price, NEW.upc, NEW.manage_stock)
BEGIN
    UPDATE shop_variants
    SET version = version + 1, sku = NEW.sku, sku_fold = NEW.sku_fold, price = NEW.price,
        upc = NEW.upc, manage_stock = NEW.manage_stock
    WHERE product_id = NEW.shop_product_id AND is_master = 1;
END;

-- What other variants have of their product: the price unless they have one of their own, and the limits by
-- which a stock is judged. The product has the range of their prices. With a plus, the index on all masters is not
-- used in place of that on the product.
CREATE TRIGGER shop_products_followed AFTER UPDATE OF price, min_out_qty, notify_qty ON shop_products
WHEN NEW.variant_count > 0
    AND (OLD.price, OLD.min_out_qty, OLD.notify_qty)
        IS NOT (NEW.price, NEW.min_out_qty, NEW.notify_qty)
BEGIN
    UPDATE shop_variants SET version = version + 1, price = NEW.price
    WHERE product_id = NEW.shop_product_id AND +is_master = 0 AND price_follows_product = 1
        AND price <> NEW.price;
    UPDATE shop_variants SET min_out_qty = NEW.min_out_qty, notify_qty = NEW.notify_qty
    WHERE product_id = NEW.shop_product_id AND +is_master = 0
        AND (min_out_qty, notify_qty) IS NOT (NEW.min_out_qty, NEW.notify_qty);
    UPDATE shop_products
    SET price_from = (SELECT min(price) FROM shop_variants
            WHERE product_id = NEW.shop_product_id AND +is_master = 0),
        price_to = (SELECT max(price) FROM shop_variants
            WHERE product_id = NEW.shop_product_id AND +is_master = 0)
    WHERE shop_product_id = NEW.shop_product_id AND OLD.price <> NEW.price;
END;

-- A ledger is only ever added to. That of a voucher goes with its voucher, and its texts are replaced when a person is
-- erased.
CREATE TRIGGER shop_inventory_ledger_changed BEFORE UPDATE ON shop_inventory_ledger
BEGIN
    SELECT RAISE(ABORT, 'entries of a ledger cannot be changed');
END;
CREATE TRIGGER shop_inventory_ledger_removed BEFORE DELETE ON shop_inventory_ledger
BEGIN
    SELECT RAISE(ABORT, 'entries of a ledger cannot be removed');
END;
CREATE TRIGGER shop_voucher_ledger_changed BEFORE UPDATE ON shop_voucher_ledger
WHEN NEW.note <> '' OR NEW.reason <> 'erased'
    OR (OLD.entry_id, OLD.voucher_id, OLD.adjustment_type, OLD.amount, OLD.balance_before, OLD.balance_after,
        OLD.user_id, OLD.created_on, OLD.token_name, OLD.request_id)
    IS NOT (NEW.entry_id, NEW.voucher_id, NEW.adjustment_type, NEW.amount, NEW.balance_before, NEW.balance_after,
        NEW.user_id, NEW.created_on, NEW.token_name, NEW.request_id)
BEGIN
    SELECT RAISE(ABORT, 'entries of a ledger cannot be changed');
END;
CREATE TRIGGER shop_voucher_ledger_removed BEFORE DELETE ON shop_voucher_ledger
WHEN EXISTS (SELECT 1 FROM shop_vouchers WHERE shop_voucher_id = OLD.voucher_id)
BEGIN
    SELECT RAISE(ABORT, 'entries of a ledger cannot be removed');
END;
