-- SKUs and codes have no white space at their ends any more: nobody sees it there, and look-ups do not send
-- it. Those that have some lose it, unless another record has the same value without it. Of several that
-- would become equal, the first loses it, and the others stay as they are.

CREATE FUNCTION shop_trim(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT btrim(value, E'\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680'
        '\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a'
        '\u2028\u2029\u202f\u205f\u3000')
$$;

CREATE TABLE shop_trimmed (
    kind         varchar(32) NOT NULL,
    record       bigint NOT NULL,
    -- The product of a master variant.
    owner        bigint,
    becomes      varchar(255) COLLATE "C" NOT NULL,
    becomes_fold varchar(765) COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, record)
);

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'variants', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY becomes_fold ORDER BY record) AS place FROM (
        SELECT shop_variant_id AS record, CASE is_master WHEN 1 THEN product_id END AS owner,
            shop_trim(sku) AS becomes,
            shop_trim(sku_fold) AS becomes_fold
        FROM shop_variants WHERE sku <> shop_trim(sku)
    ) trimmed
) changed
WHERE becomes = '' OR (place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_variants other WHERE other.sku_fold = changed.becomes_fold AND other.sku_fold <> ''
));

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'orders', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY becomes ORDER BY record) AS place FROM (
        SELECT shop_order_id AS record, NULL::bigint AS owner,
            shop_trim(order_id) AS becomes,
            shop_trim(order_id_fold) AS becomes_fold
        FROM shop_orders WHERE order_id <> shop_trim(order_id)
    ) trimmed
) changed
WHERE becomes <> '' AND place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_orders other WHERE other.order_id = changed.becomes
);

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'vouchers', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY becomes_fold ORDER BY record) AS place FROM (
        SELECT shop_voucher_id AS record, NULL::bigint AS owner,
            shop_trim(voucher_code) AS becomes,
            shop_trim(voucher_code_fold) AS becomes_fold
        FROM shop_vouchers WHERE voucher_code <> shop_trim(voucher_code)
    ) trimmed
) changed
WHERE becomes <> '' AND place = 1 AND NOT EXISTS (
    SELECT 1 FROM shop_vouchers other WHERE other.voucher_code_fold = changed.becomes_fold
);

INSERT INTO shop_trimmed (kind, record, owner, becomes, becomes_fold)
SELECT 'zones', record, owner, becomes, becomes_fold FROM (
    SELECT trimmed.*, row_number() OVER (PARTITION BY country_id, becomes ORDER BY record) AS place FROM (
        SELECT shop_zone_id AS record, NULL::bigint AS owner, country_id,
            shop_trim(zone_code) AS becomes,
            shop_trim(zone_code_fold) AS becomes_fold
        FROM shop_zones WHERE zone_code <> shop_trim(zone_code)
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
DROP FUNCTION shop_trim(text);
