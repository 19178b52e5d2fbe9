-- Refunds: what of an order was given back, and what undid that. The order and its items have the sums of those that
-- count, so that nothing is given back twice.
CREATE TABLE shop_orderrefunds (
    shop_orderrefund_id INTEGER PRIMARY KEY AUTOINCREMENT,
    order_key       INTEGER NOT NULL REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    -- The sum, the tax in it, and the part of it that belongs to the shipping. They are negative in a reversal.
    amount          INTEGER NOT NULL,
    tax_amount      INTEGER NOT NULL,
    shipping_amount INTEGER NOT NULL,
    currency_code   TEXT NOT NULL CHECK (length(currency_code) <= 3),
    reason          TEXT NOT NULL CHECK (length(reason) <= 255),
    reference       TEXT NOT NULL DEFAULT '' CHECK (length(reference) <= 255),
    transaction_id  TEXT NOT NULL DEFAULT '' CHECK (length(transaction_id) <= 255),
    comment         TEXT NOT NULL DEFAULT '' CHECK (length(comment) <= 65535),
    -- The refund that it undoes, whether it is undone itself, and whether it undoes another one.
    reverses        INTEGER,
    reversed        INTEGER NOT NULL DEFAULT 0 CHECK (reversed IN (0, 1)),
    is_reversal     INTEGER NOT NULL DEFAULT 0 CHECK (is_reversal IN (0, 1)),
    -- What it has of each item, with amounts in units of 10^-5.
    items           TEXT NOT NULL CHECK (json_valid(items)),
    request_id      TEXT NOT NULL DEFAULT '' CHECK (length(request_id) <= 64),
    created_by      INTEGER NOT NULL DEFAULT 0,
    created_on      TEXT NOT NULL,
    version         INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX shop_orderrefunds_order ON shop_orderrefunds (order_key);
CREATE INDEX shop_orderrefunds_request ON shop_orderrefunds (request_id);

-- What refunds have of the order: their sum, and the shipping with the tax in it.
ALTER TABLE shop_orders ADD COLUMN refunded INTEGER NOT NULL DEFAULT 0 CHECK (refunded >= 0);
ALTER TABLE shop_orders ADD COLUMN refunded_shipping INTEGER NOT NULL DEFAULT 0 CHECK (refunded_shipping >= 0);
ALTER TABLE shop_orders ADD COLUMN refunded_shipping_tax INTEGER NOT NULL DEFAULT 0
    CHECK (refunded_shipping_tax >= 0);

-- What they have of an item: pieces, money, the tax in it, and what the pieces cost.
ALTER TABLE shop_orderitems ADD COLUMN refunded_quantity INTEGER NOT NULL DEFAULT 0
    CHECK (refunded_quantity BETWEEN 0 AND orderitem_quantity);
ALTER TABLE shop_orderitems ADD COLUMN refunded_amount INTEGER NOT NULL DEFAULT 0 CHECK (refunded_amount >= 0);
ALTER TABLE shop_orderitems ADD COLUMN refunded_tax INTEGER NOT NULL DEFAULT 0 CHECK (refunded_tax >= 0);
ALTER TABLE shop_orderitems ADD COLUMN refunded_share INTEGER NOT NULL DEFAULT 0 CHECK (refunded_share >= 0);
