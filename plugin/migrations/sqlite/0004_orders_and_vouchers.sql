-- Orders with their items and histories, vouchers with their ledgers.

CREATE TABLE shop_orders (
    shop_order_id           INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id                TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 64),
    order_id_fold           TEXT NOT NULL,
    user_id                 INTEGER NOT NULL DEFAULT 0 CHECK (user_id >= 0),
    user_email              TEXT NOT NULL CHECK (length(user_email) <= 254),
    user_email_fold         TEXT NOT NULL,
    order_state_id          INTEGER NOT NULL REFERENCES shop_orderstatuses (shop_orderstatus_id),
    order_total             INTEGER NOT NULL DEFAULT 0 CHECK (order_total >= 0),
    orderpayment_type       TEXT NOT NULL DEFAULT '' CHECK (length(orderpayment_type) <= 255),
    orderpayment_type_fold  TEXT NOT NULL DEFAULT '',
    currency_code           TEXT NOT NULL REFERENCES shop_currencies (currency_code),
    billing_first_name      TEXT NOT NULL DEFAULT '' CHECK (length(billing_first_name) <= 255),
    billing_first_name_fold TEXT NOT NULL DEFAULT '',
    billing_last_name       TEXT NOT NULL DEFAULT '' CHECK (length(billing_last_name) <= 255),
    billing_last_name_fold  TEXT NOT NULL DEFAULT '',
    -- Both names as they are searched: either alone, or one after the other.
    billing_name            TEXT NOT NULL GENERATED ALWAYS AS
                            (billing_first_name_fold || ' ' || billing_last_name_fold) STORED,
    created_on              TEXT NOT NULL,
    order_subtotal          INTEGER NOT NULL DEFAULT 0 CHECK (order_subtotal >= 0),
    order_tax               INTEGER NOT NULL DEFAULT 0 CHECK (order_tax >= 0),
    order_shipping          INTEGER NOT NULL DEFAULT 0 CHECK (order_shipping >= 0),
    order_shipping_tax      INTEGER NOT NULL DEFAULT 0 CHECK (order_shipping_tax >= 0),
    order_discount          INTEGER NOT NULL DEFAULT 0 CHECK (order_discount >= 0),
    order_surcharge         INTEGER NOT NULL DEFAULT 0 CHECK (order_surcharge >= 0),
    order_fees              INTEGER NOT NULL DEFAULT 0 CHECK (order_fees >= 0),
    order_credit            INTEGER NOT NULL DEFAULT 0 CHECK (order_credit >= 0),
    order_refund            INTEGER NOT NULL DEFAULT 0 CHECK (order_refund >= 0),
    transaction_id          TEXT NOT NULL DEFAULT '' CHECK (length(transaction_id) <= 255),
    transaction_status      TEXT NOT NULL DEFAULT '' CHECK (length(transaction_status) <= 255),
    currency_value          INTEGER NOT NULL CHECK (currency_value > 0),
    customer_note           TEXT NOT NULL DEFAULT '' CHECK (length(customer_note) <= 65535),
    customer_language       TEXT NOT NULL DEFAULT '' CHECK (length(customer_language) <= 32),
    is_shippable            INTEGER NOT NULL DEFAULT 0 CHECK (is_shippable IN (0, 1)),
    invoice_prefix          TEXT NOT NULL DEFAULT '' CHECK (length(invoice_prefix) <= 32),
    modified_on             TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX shop_orders_reference ON shop_orders (order_id);
CREATE INDEX shop_orders_reference_fold ON shop_orders (order_id_fold);
CREATE INDEX shop_orders_user ON shop_orders (user_id, created_on);
CREATE INDEX shop_orders_user_status ON shop_orders (user_id, order_state_id, created_on);
CREATE INDEX shop_orders_email ON shop_orders (user_email_fold);
CREATE INDEX shop_orders_status ON shop_orders (order_state_id, created_on);
CREATE INDEX shop_orders_total ON shop_orders (order_total);
CREATE INDEX shop_orders_payment ON shop_orders (orderpayment_type, created_on);
CREATE INDEX shop_orders_payment_fold ON shop_orders (orderpayment_type_fold);
CREATE INDEX shop_orders_currency ON shop_orders (currency_code);
CREATE INDEX shop_orders_first_name ON shop_orders (billing_first_name_fold);
CREATE INDEX shop_orders_last_name ON shop_orders (billing_last_name_fold);
CREATE INDEX shop_orders_created ON shop_orders (created_on);

CREATE TABLE shop_orderitems (
    shop_orderitem_id             INTEGER PRIMARY KEY AUTOINCREMENT,
    order_key                     INTEGER NOT NULL
                                  REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    orderitem_sku                 TEXT NOT NULL DEFAULT '' CHECK (length(orderitem_sku) <= 255),
    orderitem_sku_fold            TEXT NOT NULL DEFAULT '',
    orderitem_name                TEXT NOT NULL DEFAULT '' CHECK (length(orderitem_name) <= 255),
    orderitem_name_fold           TEXT NOT NULL DEFAULT '',
    orderitem_quantity            INTEGER NOT NULL DEFAULT 1 CHECK (orderitem_quantity >= 1),
    orderitem_finalprice          INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_finalprice >= 0),
    orderitem_tax                 INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_tax >= 0),
    product_id                    INTEGER,
    variant_id                    INTEGER,
    orderitem_attributes          TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(orderitem_attributes)),
    orderitem_price               INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_price >= 0),
    orderitem_option_price        INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_option_price >= 0),
    orderitem_finalprice_with_tax INTEGER NOT NULL DEFAULT 0
                                  CHECK (orderitem_finalprice_with_tax >= 0),
    orderitem_discount            INTEGER NOT NULL DEFAULT 0 CHECK (orderitem_discount >= 0),
    orderitem_weight              INTEGER CHECK (orderitem_weight >= 0),
    created_on                    TEXT NOT NULL
) STRICT;
CREATE INDEX shop_orderitems_order ON shop_orderitems (order_key);

CREATE TABLE shop_orderhistories (
    shop_orderhistory_id INTEGER PRIMARY KEY AUTOINCREMENT,
    order_key            INTEGER NOT NULL
                         REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    order_state_id       INTEGER NOT NULL REFERENCES shop_orderstatuses (shop_orderstatus_id),
    comment              TEXT NOT NULL DEFAULT '' CHECK (length(comment) <= 65535),
    comment_fold         TEXT NOT NULL DEFAULT '',
    notify_customer      INTEGER NOT NULL DEFAULT 0 CHECK (notify_customer IN (0, 1)),
    created_by           INTEGER NOT NULL DEFAULT 0,
    created_on           TEXT NOT NULL
) STRICT;
CREATE INDEX shop_orderhistories_order ON shop_orderhistories (order_key);
CREATE INDEX shop_orderhistories_status ON shop_orderhistories (order_state_id);

CREATE TABLE shop_vouchers (
    shop_voucher_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    voucher_code      TEXT NOT NULL CHECK (length(voucher_code) BETWEEN 1 AND 255),
    voucher_code_fold TEXT NOT NULL,
    voucher_type      TEXT NOT NULL DEFAULT 'giftcard' CHECK (length(voucher_type) <= 64),
    voucher_type_fold TEXT NOT NULL DEFAULT 'giftcard',
    email_to          TEXT NOT NULL DEFAULT '' CHECK (length(email_to) <= 254),
    email_to_fold     TEXT NOT NULL DEFAULT '',
    voucher_value     INTEGER NOT NULL CHECK (voucher_value >= 0),
    enabled           INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    created_on        TEXT NOT NULL,
    order_id          TEXT NOT NULL DEFAULT '' CHECK (length(order_id) <= 64),
    subject           TEXT NOT NULL DEFAULT '' CHECK (length(subject) <= 255),
    valid_from        TEXT,
    valid_to          TEXT,
    CHECK (valid_from <= valid_to)
) STRICT;
CREATE UNIQUE INDEX shop_vouchers_code ON shop_vouchers (voucher_code_fold);
CREATE INDEX shop_vouchers_email ON shop_vouchers (email_to_fold);
CREATE INDEX shop_vouchers_order ON shop_vouchers (order_id);
CREATE INDEX shop_vouchers_created ON shop_vouchers (created_on);

-- What was added to or taken from a voucher. Rows are only ever added.
CREATE TABLE shop_voucher_ledger (
    entry_id        INTEGER PRIMARY KEY AUTOINCREMENT,
    voucher_id      INTEGER NOT NULL
                    REFERENCES shop_vouchers (shop_voucher_id) ON DELETE CASCADE,
    adjustment_type TEXT NOT NULL
                    CHECK (adjustment_type IN ('credit', 'debit', 'correction', 'order')),
    amount          INTEGER NOT NULL CHECK (amount <> 0),
    balance_before  INTEGER NOT NULL CHECK (balance_before >= 0),
    balance_after   INTEGER NOT NULL CHECK (balance_after >= 0),
    reason          TEXT NOT NULL CHECK (length(reason) <= 255),
    note            TEXT NOT NULL DEFAULT '' CHECK (length(note) <= 65535),
    user_id         INTEGER NOT NULL,
    created_on      TEXT NOT NULL,
    CHECK (balance_after = balance_before + amount)
) STRICT;
CREATE INDEX shop_voucher_ledger_voucher ON shop_voucher_ledger (voucher_id, amount);
