-- Every change of a quantity in stock is an entry of a ledger, with who made it and why. The entries of a
-- product remain after it, so they have its SKU of the time. The quantities that are there already begin
-- the ledger.

CREATE TABLE shop_inventory_ledger (
    entry_id        INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id      INTEGER NOT NULL,
    sku             TEXT NOT NULL CHECK (length(sku) <= 255),
    quantity_delta  INTEGER NOT NULL CHECK (quantity_delta <> 0),
    quantity_before INTEGER NOT NULL CHECK (quantity_before >= 0),
    quantity_after  INTEGER NOT NULL CHECK (quantity_after >= 0),
    reason          TEXT NOT NULL CHECK (length(reason) <= 255),
    reference       TEXT NOT NULL DEFAULT '' CHECK (length(reference) <= 255),
    user_id         INTEGER NOT NULL DEFAULT 0,
    token_name      TEXT NOT NULL DEFAULT '' CHECK (length(token_name) <= 255),
    request_id      TEXT,
    created_on      TEXT NOT NULL,
    CHECK (quantity_after = quantity_before + quantity_delta)
) STRICT;
CREATE INDEX shop_inventory_ledger_product ON shop_inventory_ledger (product_id);
CREATE INDEX shop_inventory_ledger_request ON shop_inventory_ledger (request_id) WHERE request_id IS NOT NULL;

INSERT INTO shop_inventory_ledger
    (product_id, sku, quantity_delta, quantity_before, quantity_after, reason, created_on)
SELECT shop_product_id, sku, quantity, 0, quantity, 'opening stock', strftime('%Y-%m-%dT%H:%M:%S', 'now')
FROM shop_products WHERE quantity <> 0 ORDER BY shop_product_id;

ALTER TABLE shop_voucher_ledger ADD COLUMN token_name TEXT NOT NULL DEFAULT ''
    CHECK (length(token_name) <= 255);
ALTER TABLE shop_voucher_ledger ADD COLUMN request_id TEXT;
CREATE INDEX shop_voucher_ledger_request ON shop_voucher_ledger (request_id)
    WHERE request_id IS NOT NULL;
CREATE INDEX shop_voucher_ledger_entries ON shop_voucher_ledger (voucher_id);

-- Whether the order took its items out of the stock when it was made.
ALTER TABLE shop_orderitems ADD COLUMN take_stock INTEGER NOT NULL DEFAULT 0
    CHECK (take_stock IN (0, 1));

-- A ledger is only ever added to. That of a voucher goes with its voucher.
CREATE TRIGGER shop_inventory_ledger_changed BEFORE UPDATE ON shop_inventory_ledger
BEGIN
    SELECT RAISE(ABORT, 'entries of a ledger cannot be changed');
END;
CREATE TRIGGER shop_inventory_ledger_removed BEFORE DELETE ON shop_inventory_ledger
BEGIN
    SELECT RAISE(ABORT, 'entries of a ledger cannot be removed');
END;
CREATE TRIGGER shop_voucher_ledger_changed BEFORE UPDATE ON shop_voucher_ledger
BEGIN
    SELECT RAISE(ABORT, 'entries of a ledger cannot be changed');
END;
CREATE TRIGGER shop_voucher_ledger_removed BEFORE DELETE ON shop_voucher_ledger
WHEN EXISTS (SELECT 1 FROM shop_vouchers WHERE shop_voucher_id = OLD.voucher_id)
BEGIN
    SELECT RAISE(ABORT, 'entries of a ledger cannot be removed');
END;
