-- Variants beside the master of their product: each has options, by which it differs from the others, and a
-- stock of its own. The master stands for the product as a whole, whose row has the stock of a product without
-- others.

-- How many variants a product has beside its master, and whether has_options was 1 before it had any.
ALTER TABLE shop_products ADD COLUMN variant_count integer NOT NULL DEFAULT 0 CHECK (variant_count >= 0);
ALTER TABLE shop_products ADD COLUMN had_options smallint NOT NULL DEFAULT 0 CHECK (had_options IN (0, 1));

ALTER TABLE shop_variants ADD COLUMN options json NOT NULL DEFAULT '{}';
-- A digest of the options in any case and order; unset for a master.
ALTER TABLE shop_variants ADD COLUMN options_key varchar(64) COLLATE "C";
-- The stock; unset for a master.
ALTER TABLE shop_variants ADD COLUMN quantity bigint CHECK (quantity >= 0);
ALTER TABLE shop_variants ADD COLUMN price_follows_product smallint NOT NULL DEFAULT 0
    CHECK (price_follows_product IN (0, 1));
-- The limits of the product's stock record, by which the stock of a variant is judged as well.
ALTER TABLE shop_variants ADD COLUMN min_out_qty numeric(17, 5);
ALTER TABLE shop_variants ADD COLUMN notify_qty numeric(17, 5);
CREATE UNIQUE INDEX shop_variants__options_key ON shop_variants (product_id, options_key);
CREATE INDEX shop_variants_quantity ON shop_variants (quantity, product_id, shop_variant_id) WHERE is_master = 0;
CREATE INDEX shop_variants_price ON shop_variants (price NULLS FIRST, shop_variant_id);
CREATE INDEX shop_variants_sku ON shop_variants (sku_fold, shop_variant_id);
CREATE INDEX shop_variants_masters ON shop_variants (is_master, shop_variant_id);
CREATE INDEX shop_variants_manage_stock ON shop_variants (manage_stock, shop_variant_id);
CREATE INDEX shop_variants_availability ON shop_variants (availability, shop_variant_id);
CREATE INDEX shop_variants_sold ON shop_variants (sold, shop_variant_id);
CREATE INDEX shop_variants_default ON shop_variants (isdefault_variant, shop_variant_id);
UPDATE shop_variants SET price_follows_product = is_master;

-- Without the extension, search has no index; see 0001_base.sql.
DO $$
BEGIN
    CREATE INDEX shop_variants_sku_trigrams ON shop_variants USING gin (sku_fold gin_trgm_ops);
EXCEPTION WHEN undefined_object THEN
    RAISE WARNING 'search has no index, because pg_trgm cannot be used: %', SQLERRM;
END;
$$;

-- The variant whose stock moves; unset where it is that of the product.
ALTER TABLE shop_inventory_ledger ADD COLUMN variant_id bigint;
CREATE INDEX shop_inventory_ledger_variant ON shop_inventory_ledger (variant_id, entry_id)
    WHERE variant_id IS NOT NULL;

-- How many pieces of an item were ordered although they were not in stock; unset for none, and whether mails
-- mention them.
ALTER TABLE shop_orderitems ADD COLUMN backordered bigint CHECK (backordered > 0);
ALTER TABLE shop_orderitems ADD COLUMN backorder_in_mail smallint NOT NULL DEFAULT 0
    CHECK (backorder_in_mail IN (0, 1));

-- The last key of a variant that is counted in slot 0.
ALTER TABLE shop_slots ADD COLUMN variants bigint NOT NULL DEFAULT 0;

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
SELECT shop_product_id, sku, -quantity, quantity, 0, 'moved to a variant', date_trunc('second', now() AT TIME ZONE 'UTC')
FROM shop_products WHERE variant_count > 0 AND quantity > 0;
INSERT INTO shop_inventory_ledger
    (product_id, variant_id, sku, quantity_delta, quantity_before, quantity_after, reason, created_on)
SELECT product_id, shop_variant_id, sku, quantity, 0, quantity, 'moved to a variant', date_trunc('second', now() AT TIME ZONE 'UTC')
FROM shop_variants WHERE quantity > 0;
