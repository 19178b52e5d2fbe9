-- SKUs and codes have no white space at their ends any more: nobody sees it there, and look-ups do not send
-- it. Those that have some lose it, unless another record has the same value without it. Of several that
-- would become equal, the first loses it, and the others stay as they are.

CREATE TABLE shop_white (space TEXT NOT NULL) STRICT;
INSERT INTO shop_white VALUES (char(
    9, 10, 11, 12, 13, 32, 133, 160, 5760,
    8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202,
    8232, 8233, 8239, 8287, 12288
));

CREATE TABLE shop_trimmed (
    kind         TEXT NOT NULL,
    record       INTEGER NOT NULL,
    -- The product of a master variant.
    owner        INTEGER,
    becomes      TEXT NOT NULL,
    becomes_fold TEXT NOT NULL,
    PRIMARY KEY (kind, record)
) STRICT;

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'variants', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY becomes_fold ORDER BY record) AS place FROM (
        SELECT shop_variant_id AS record, CASE is_master WHEN 1 THEN product_id END AS owner,
            trim(sku, space) AS becomes,
            trim(sku_fold, space) AS becomes_fold
        FROM shop_variants JOIN shop_white ON sku <> trim(sku, space)
    ) trimmed
) changed
WHERE becomes = '' OR (place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_variants other WHERE other.sku_fold = changed.becomes_fold AND other.sku_fold <> ''
));

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'orders', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY becomes ORDER BY record) AS place FROM (
        SELECT shop_order_id AS record, NULL AS owner,
            trim(order_id, space) AS becomes,
            trim(order_id_fold, space) AS becomes_fold
        FROM shop_orders JOIN shop_white ON order_id <> trim(order_id, space)
    ) trimmed
) changed
WHERE becomes <> '' AND place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_orders other WHERE other.order_id = changed.becomes
);

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'vouchers', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY becomes_fold ORDER BY record) AS place FROM (
        SELECT shop_voucher_id AS record, NULL AS owner,
            trim(voucher_code, space) AS becomes,
            trim(voucher_code_fold, space) AS becomes_fold
        FROM shop_vouchers JOIN shop_white ON voucher_code <> trim(voucher_code, space)
    ) trimmed
) changed
WHERE becomes <> '' AND place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_vouchers other WHERE other.voucher_code_fold = changed.becomes_fold
);

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'zones', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY country_id, becomes ORDER BY record) AS place FROM (
        SELECT shop_zone_id AS record, NULL AS owner, country_id,
            trim(zone_code, space) AS becomes,
            trim(zone_code_fold, space) AS becomes_fold
        FROM shop_zones JOIN shop_white ON zone_code <> trim(zone_code, space)
    ) trimmed
) changed
WHERE becomes <> '' AND place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_zones other WHERE other.zone_code = changed.becomes AND other.country_id = changed.country_id
);

-- A trigger changes the master variant with its product.
UPDATE shop_products SET version = version + 1, sku = becomes, sku_fold = becomes_fold
FROM shop_trimmed WHERE kind = 'variants' AND owner = shop_product_id;

UPDATE shop_variants SET version = version + 1, sku = becomes, sku_fold = becomes_fold
FROM shop_trimmed WHERE kind = 'variants' AND record = shop_variant_id AND owner IS NULL;

-- Vouchers refer to their order by its reference.
UPDATE shop_vouchers SET version = shop_vouchers.version + 1, order_id = becomes
FROM shop_orders JOIN shop_trimmed ON kind = 'orders' AND record = shop_order_id
WHERE shop_orders.order_id = shop_vouchers.order_id;

UPDATE shop_orders SET version = version + 1, order_id = becomes, order_id_fold = becomes_fold
FROM shop_trimmed WHERE kind = 'orders' AND record = shop_order_id;

UPDATE shop_vouchers SET version = version + 1, voucher_code = becomes, voucher_code_fold = becomes_fold
FROM shop_trimmed WHERE kind = 'vouchers' AND record = shop_voucher_id;

UPDATE shop_zones SET version = version + 1, zone_code = becomes, zone_code_fold = becomes_fold
FROM shop_trimmed WHERE kind = 'zones' AND record = shop_zone_id;

DROP TABLE shop_trimmed;
DROP TABLE shop_white;
