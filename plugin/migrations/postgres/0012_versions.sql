-- Versions: how often a record was changed, so that a client can refuse to overwrite the change of
-- another one. A new record has the version 1, and so has each that is there already. The statement
-- that changes a row also says `version = version + 1`.

ALTER TABLE shop_countries ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_zones ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_currencies ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_orderstatuses ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_manufacturers ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_coupons ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_methods ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_taxprofiles ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_taxrates ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_categories ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_products ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_variants ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_addresses ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_orders ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_orderitems ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_orderhistories ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE shop_vouchers ADD COLUMN version bigint NOT NULL DEFAULT 1;

-- A change of a product is one of its master variant too, where that shows it.
CREATE OR REPLACE FUNCTION shop_products_master() RETURNS trigger LANGUAGE plpgsql AS $$
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
