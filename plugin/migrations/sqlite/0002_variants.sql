-- Variants beside the master of their product: each has options, by which it differs from the others, and a
-- stock of its own. The master stands for the product as a whole, whose row has the stock of a product without
-- others.

-- How many variants a product has beside its master, and whether has_options was 1 before it had any.
ALTER TABLE shop_products ADD COLUMN variant_count INTEGER NOT NULL DEFAULT 0 CHECK (variant_count >= 0);
ALTER TABLE shop_products ADD COLUMN had_options INTEGER NOT NULL DEFAULT 0 CHECK (had_options IN (0, 1));

ALTER TABLE shop_variants ADD COLUMN options TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(options));
-- A digest of the options in any case and order; unset for a master.
ALTER TABLE shop_variants ADD COLUMN options_key TEXT;
-- The stock; unset for a master.
ALTER TABLE shop_variants ADD COLUMN quantity INTEGER CHECK (quantity >= 0);
ALTER TABLE shop_variants ADD COLUMN price_follows_product INTEGER NOT NULL DEFAULT 0
    CHECK (price_follows_product IN (0, 1));
-- The limits of the product's stock record, by which the stock of a variant is judged as well.
ALTER TABLE shop_variants ADD COLUMN min_out_qty INTEGER;
ALTER TABLE shop_variants ADD COLUMN notify_qty INTEGER;
CREATE UNIQUE INDEX shop_variants__options_key ON shop_variants (product_id, options_key);
CREATE INDEX shop_variants_quantity ON shop_variants (is_master, quantity, product_id);
CREATE INDEX shop_variants_price ON shop_variants (price);
CREATE INDEX shop_variants_by_sku ON shop_variants (sku_fold);
CREATE INDEX shop_variants_masters ON shop_variants (is_master);
CREATE INDEX shop_variants_manage_stock ON shop_variants (manage_stock);
CREATE INDEX shop_variants_availability ON shop_variants (availability);
CREATE INDEX shop_variants_sold ON shop_variants (sold);
CREATE INDEX shop_variants_default ON shop_variants (isdefault_variant);
UPDATE shop_variants SET price_follows_product = is_master;

-- The variant whose stock moves; unset where it is that of the product.
ALTER TABLE shop_inventory_ledger ADD COLUMN variant_id INTEGER;
CREATE INDEX shop_inventory_ledger_variant ON shop_inventory_ledger (variant_id)
    WHERE variant_id IS NOT NULL;

-- How many pieces of an item were ordered although they were not in stock; unset for none, and whether mails
-- mention them.
ALTER TABLE shop_orderitems ADD COLUMN backordered INTEGER CHECK (backordered > 0);
ALTER TABLE shop_orderitems ADD COLUMN backorder_in_mail INTEGER NOT NULL DEFAULT 0
    CHECK (backorder_in_mail IN (0, 1));

-- A product that has others already gives its stock to the first one.
UPDATE shop_products SET had_options = has_options, variant_count =
    (SELECT count(*) FROM shop_variants WHERE product_id = shop_product_id AND is_master = 0);
UPDATE shop_products SET has_options = 1 WHERE variant_count > 0;
UPDATE shop_variants SET quantity = 0 WHERE is_master = 0;
UPDATE shop_variants SET quantity =
    (SELECT quantity FROM shop_products WHERE shop_product_id = product_id)
WHERE shop_variant_id IN (SELECT first FROM
    (SELECT min(shop_variant_id) AS first FROM shop_variants WHERE is_master = 0 GROUP BY product_id) firsts);
INSERT INTO shop_inventory_ledger
    (product_id, sku, quantity_delta, quantity_before, quantity_after, reason, created_on)
SELECT shop_product_id, sku, -quantity, quantity, 0, 'moved to a variant', strftime('%Y-%m-%dT%H:%M:%S', 'now')
FROM shop_products WHERE variant_count > 0 AND quantity > 0;
INSERT INTO shop_inventory_ledger
    (product_id, variant_id, sku, quantity_delta, quantity_before, quantity_after, reason, created_on)
SELECT product_id, shop_variant_id, sku, quantity, 0, quantity, 'moved to a variant', strftime('%Y-%m-%dT%H:%M:%S', 'now')
FROM shop_variants WHERE quantity > 0;
