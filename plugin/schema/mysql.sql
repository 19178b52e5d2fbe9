-- What follows from records by rules that no description has. Each object is compared with what the
-- database has noted at every start, and replaced where it differs: see `src/sql/derived.rs`. A statement
-- begins with CREATE at the beginning of a line.

-- The master variant is the product as it is sold: its sku, price, upc and stock management are
-- the product's, whoever writes them.
CREATE TRIGGER shop_products_master_of_new AFTER INSERT ON shop_products FOR EACH ROW
INSERT INTO shop_variants
    (product_id, is_master, isdefault_variant, sku, sku_fold, price, upc, manage_stock,
    price_follows_product)
VALUES (NEW.shop_product_id, 1, 1, NEW.sku, NEW.sku_fold, NEW.price, NEW.upc, NEW.manage_stock, 1);
CREATE TRIGGER shop_products_master AFTER UPDATE ON shop_products FOR EACH ROW
IF (OLD.sku, OLD.sku_fold, OLD.price, OLD.upc, OLD.manage_stock)
    <> (NEW.sku, NEW.sku_fold, NEW.price, NEW.upc, NEW.manage_stock)
THEN
    UPDATE shop_variants
    SET version = version + 1, sku = NEW.sku, sku_fold = NEW.sku_fold, price = NEW.price,
        upc = NEW.upc, manage_stock = NEW.manage_stock
    WHERE product_id = NEW.shop_product_id AND is_master = 1;
END IF;

-- What other variants have of their product: the price unless they have one of their own, and the limits by
-- which a stock is judged.
CREATE TRIGGER shop_products_followed AFTER UPDATE ON shop_products FOR EACH ROW
IF NEW.variant_count > 0 AND NOT (OLD.price, OLD.min_out_qty, OLD.notify_qty)
    <=> (NEW.price, NEW.min_out_qty, NEW.notify_qty)
THEN
    UPDATE shop_variants SET version = version + 1, price = NEW.price
    WHERE product_id = NEW.shop_product_id AND is_master = 0 AND price_follows_product = 1
        AND price <> NEW.price;
    UPDATE shop_variants SET min_out_qty = NEW.min_out_qty, notify_qty = NEW.notify_qty
    WHERE product_id = NEW.shop_product_id AND is_master = 0
        AND NOT (min_out_qty, notify_qty) <=> (NEW.min_out_qty, NEW.notify_qty);
END IF;

-- The range of their prices. A table that changes cannot be changed again by what follows from it, so that the range
-- is found before those that follow have the new price.
CREATE TRIGGER shop_products_range BEFORE UPDATE ON shop_products FOR EACH ROW
IF NEW.variant_count > 0 AND OLD.price <> NEW.price THEN
    SET NEW.price_from = (SELECT min(IF(price_follows_product = 1, NEW.price, price)) FROM shop_variants
            WHERE product_id = NEW.shop_product_id AND +is_master = 0),
        NEW.price_to = (SELECT max(IF(price_follows_product = 1, NEW.price, price)) FROM shop_variants
            WHERE product_id = NEW.shop_product_id AND +is_master = 0);
END IF;

-- A ledger is only ever added to. That of a voucher goes with its voucher: a cascade fires no trigger. Its texts are
-- replaced when a person is erased.
CREATE TRIGGER shop_inventory_ledger_changed BEFORE UPDATE ON shop_inventory_ledger FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'entries of a ledger cannot be changed';

CREATE TRIGGER shop_inventory_ledger_removed BEFORE DELETE ON shop_inventory_ledger FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'entries of a ledger cannot be removed';

CREATE TRIGGER shop_voucher_ledger_changed BEFORE UPDATE ON shop_voucher_ledger FOR EACH ROW
IF NEW.note <> '' OR NEW.reason <> 'erased'
    OR NOT (OLD.entry_id, OLD.voucher_id, OLD.adjustment_type, OLD.amount, OLD.balance_before, OLD.balance_after,
        OLD.user_id, OLD.created_on, OLD.token_name, OLD.request_id)
    <=> (NEW.entry_id, NEW.voucher_id, NEW.adjustment_type, NEW.amount, NEW.balance_before, NEW.balance_after,
        NEW.user_id, NEW.created_on, NEW.token_name, NEW.request_id)
THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'entries of a ledger cannot be changed';
END IF;

CREATE TRIGGER shop_voucher_ledger_removed BEFORE DELETE ON shop_voucher_ledger FOR EACH ROW
IF EXISTS (SELECT 1 FROM shop_vouchers WHERE shop_voucher_id = OLD.voucher_id) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'entries of a ledger cannot be removed';
END IF;
