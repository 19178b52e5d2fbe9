-- SKUs and codes have no white space at their ends any more: nobody sees it there, and look-ups do not send
-- it. Those that have some lose it, unless another record has the same value without it. Of several that
-- would become equal, the first loses it, and the others stay as they are.

-- A temporary table, because creating another one would commit what has been done so far.
CREATE TEMPORARY TABLE shop_trimmed (
    kind         varchar(32) NOT NULL,
    record       bigint NOT NULL,
    -- The product of a master variant.
    owner        bigint,
    becomes      varchar(255) NOT NULL,
    becomes_fold varchar(765) NOT NULL,
    PRIMARY KEY (kind, record)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'variants', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY becomes_fold ORDER BY record) AS place FROM (
        SELECT shop_variant_id AS record, CASE is_master WHEN 1 THEN product_id END AS owner,
            regexp_replace(sku, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '') AS becomes,
            regexp_replace(sku_fold, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '') AS becomes_fold
        FROM shop_variants WHERE sku <> regexp_replace(sku, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '')
    ) trimmed
) changed
WHERE becomes = '' OR (place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_variants other WHERE other.sku_fold = changed.becomes_fold AND other.sku_fold <> ''
));

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'orders', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY becomes ORDER BY record) AS place FROM (
        SELECT shop_order_id AS record, NULL AS owner,
            regexp_replace(order_id, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '') AS becomes,
            regexp_replace(order_id_fold, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '') AS becomes_fold
        FROM shop_orders WHERE order_id <> regexp_replace(order_id, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '')
    ) trimmed
) changed
WHERE becomes <> '' AND place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_orders other WHERE other.order_id = changed.becomes
);

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'vouchers', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY becomes_fold ORDER BY record) AS place FROM (
        SELECT shop_voucher_id AS record, NULL AS owner,
            regexp_replace(voucher_code, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '') AS becomes,
            regexp_replace(voucher_code_fold, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '') AS becomes_fold
        FROM shop_vouchers WHERE voucher_code <> regexp_replace(voucher_code, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '')
    ) trimmed
) changed
WHERE becomes <> '' AND place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_vouchers other WHERE other.voucher_code_fold = changed.becomes_fold
);

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'zones', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY country_id, becomes ORDER BY record) AS place FROM (
        SELECT shop_zone_id AS record, NULL AS owner, country_id,
            regexp_replace(zone_code, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '') AS becomes,
            regexp_replace(zone_code_fold, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '') AS becomes_fold
        FROM shop_zones WHERE zone_code <> regexp_replace(zone_code, '(*UCP)^[\\s\\x85]+|[\\s\\x85]+\\z', '')
    ) trimmed
) changed
WHERE becomes <> '' AND place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_zones other WHERE other.zone_code = changed.becomes AND other.country_id = changed.country_id
);

-- A trigger changes the master variant with its product.
UPDATE shop_products JOIN shop_trimmed ON kind = 'variants' AND owner = shop_product_id
SET version = version + 1, sku = becomes, sku_fold = becomes_fold;

UPDATE shop_variants JOIN shop_trimmed ON kind = 'variants' AND record = shop_variant_id AND owner IS NULL
SET version = version + 1, sku = becomes, sku_fold = becomes_fold;

-- Vouchers refer to their order by its reference.
UPDATE shop_vouchers JOIN shop_orders ON shop_orders.order_id = shop_vouchers.order_id
JOIN shop_trimmed ON kind = 'orders' AND record = shop_order_id
SET shop_vouchers.version = shop_vouchers.version + 1, shop_vouchers.order_id = becomes;

UPDATE shop_orders JOIN shop_trimmed ON kind = 'orders' AND record = shop_order_id
SET version = version + 1, order_id = becomes, order_id_fold = becomes_fold;

UPDATE shop_vouchers JOIN shop_trimmed ON kind = 'vouchers' AND record = shop_voucher_id
SET version = version + 1, voucher_code = becomes, voucher_code_fold = becomes_fold;

UPDATE shop_zones JOIN shop_trimmed ON kind = 'zones' AND record = shop_zone_id
SET version = version + 1, zone_code = becomes, zone_code_fold = becomes_fold;

DROP TEMPORARY TABLE shop_trimmed;
