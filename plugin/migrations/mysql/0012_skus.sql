-- Whether a SKU is free is asked before it is written. The index that keeps SKUs unique knows no empty
-- ones, so its column is another one.

CREATE INDEX shop_variants_sku ON shop_variants (sku_fold);
