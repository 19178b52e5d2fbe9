-- Every change of a quantity in stock is an entry of a ledger, with who made it and why. The entries of a
-- product remain after it, so they have its SKU of the time. The quantities that are there already begin
-- the ledger.

CREATE TABLE shop_inventory_ledger (
    entry_id        bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id      bigint NOT NULL,
    sku             varchar(255) NOT NULL,
    quantity_delta  int NOT NULL CHECK (quantity_delta <> 0),
    quantity_before int NOT NULL CHECK (quantity_before >= 0),
    quantity_after  int NOT NULL CHECK (quantity_after >= 0),
    reason          varchar(255) NOT NULL,
    reference       varchar(255) NOT NULL DEFAULT '',
    user_id         bigint NOT NULL DEFAULT 0,
    token_name      varchar(255) NOT NULL DEFAULT '',
    request_id      varchar(64),
    created_on      datetime NOT NULL,
    CHECK (quantity_after = quantity_before + quantity_delta)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_inventory_ledger_product ON shop_inventory_ledger (product_id, entry_id);
CREATE INDEX shop_inventory_ledger_request ON shop_inventory_ledger (request_id);

INSERT INTO shop_inventory_ledger
    (product_id, sku, quantity_delta, quantity_before, quantity_after, reason, created_on)
SELECT shop_product_id, sku, quantity, 0, quantity, 'opening stock', utc_timestamp()
FROM shop_products WHERE quantity <> 0 ORDER BY shop_product_id;

ALTER TABLE shop_voucher_ledger
    ADD COLUMN token_name varchar(255) NOT NULL DEFAULT '',
    ADD COLUMN request_id varchar(64);
CREATE INDEX shop_voucher_ledger_request ON shop_voucher_ledger (request_id);
CREATE INDEX shop_voucher_ledger_entries ON shop_voucher_ledger (voucher_id, entry_id);

-- Whether the order took its items out of the stock when it was made.
ALTER TABLE shop_orderitems ADD COLUMN take_stock smallint NOT NULL DEFAULT 0
    CHECK (take_stock IN (0, 1));

-- A ledger is only ever added to. That of a voucher goes with its voucher: a cascade fires no trigger.
CREATE TRIGGER shop_inventory_ledger_changed BEFORE UPDATE ON shop_inventory_ledger FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'entries of a ledger cannot be changed';

CREATE TRIGGER shop_inventory_ledger_removed BEFORE DELETE ON shop_inventory_ledger FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'entries of a ledger cannot be removed';

CREATE TRIGGER shop_voucher_ledger_changed BEFORE UPDATE ON shop_voucher_ledger FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'entries of a ledger cannot be changed';

CREATE TRIGGER shop_voucher_ledger_removed BEFORE DELETE ON shop_voucher_ledger FOR EACH ROW
IF EXISTS (SELECT 1 FROM shop_vouchers WHERE shop_voucher_id = OLD.voucher_id) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'entries of a ledger cannot be removed';
END IF;
