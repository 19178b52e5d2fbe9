-- Refunds: what of an order was given back, and what undid that. The order and its items have the sums of those that
-- count, so that nothing is given back twice.
CREATE TABLE shop_orderrefunds (
    shop_orderrefund_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_key       bigint NOT NULL REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    -- The sum, the tax in it, and the part of it that belongs to the shipping. They are negative in a reversal.
    amount          decimal(17, 5) NOT NULL,
    tax_amount      decimal(17, 5) NOT NULL,
    shipping_amount decimal(17, 5) NOT NULL,
    currency_code   varchar(3) NOT NULL,
    reason          varchar(255) NOT NULL,
    reference       varchar(255) NOT NULL DEFAULT '',
    transaction_id  varchar(255) NOT NULL DEFAULT '',
    comment         mediumtext NOT NULL DEFAULT ('') CHECK (char_length(comment) <= 65535),
    -- The refund that it undoes, whether it is undone itself, and whether it undoes another one.
    reverses        bigint,
    reversed        smallint NOT NULL DEFAULT 0 CHECK (reversed IN (0, 1)),
    is_reversal     smallint NOT NULL DEFAULT 0 CHECK (is_reversal IN (0, 1)),
    -- What it has of each item, with amounts in units of 10^-5.
    items           mediumtext NOT NULL,
    request_id      varchar(64) NOT NULL DEFAULT '',
    created_by      bigint NOT NULL DEFAULT 0,
    created_on      datetime NOT NULL,
    version         bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_orderrefunds_order ON shop_orderrefunds (order_key);
CREATE INDEX shop_orderrefunds_request ON shop_orderrefunds (request_id);

-- What refunds have of the order: their sum, and the shipping with the tax in it.
ALTER TABLE shop_orders ADD COLUMN refunded decimal(17, 5) NOT NULL DEFAULT 0 CHECK (refunded >= 0);
ALTER TABLE shop_orders ADD COLUMN refunded_shipping decimal(17, 5) NOT NULL DEFAULT 0 CHECK (refunded_shipping >= 0);
ALTER TABLE shop_orders ADD COLUMN refunded_shipping_tax decimal(17, 5) NOT NULL DEFAULT 0
    CHECK (refunded_shipping_tax >= 0);

-- What they have of an item: pieces, money, the tax in it, and what the pieces cost.
ALTER TABLE shop_orderitems ADD COLUMN refunded_quantity integer NOT NULL DEFAULT 0
    CHECK (refunded_quantity BETWEEN 0 AND orderitem_quantity);
ALTER TABLE shop_orderitems ADD COLUMN refunded_amount decimal(17, 5) NOT NULL DEFAULT 0 CHECK (refunded_amount >= 0);
ALTER TABLE shop_orderitems ADD COLUMN refunded_tax decimal(17, 5) NOT NULL DEFAULT 0 CHECK (refunded_tax >= 0);
ALTER TABLE shop_orderitems ADD COLUMN refunded_share decimal(17, 5) NOT NULL DEFAULT 0 CHECK (refunded_share >= 0);

-- The last key of a refund that is counted in slot 0.
ALTER TABLE shop_slots ADD COLUMN orderrefunds bigint NOT NULL DEFAULT 0;
