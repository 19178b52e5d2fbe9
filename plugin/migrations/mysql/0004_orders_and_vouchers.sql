-- Orders with their items and histories, vouchers with their ledgers.

CREATE TABLE shop_orders (
    shop_order_id           bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_id                varchar(64) NOT NULL CHECK (order_id <> ''),
    order_id_fold           varchar(192) NOT NULL,
    user_id                 bigint NOT NULL DEFAULT 0 CHECK (user_id >= 0),
    user_email              varchar(254) NOT NULL,
    user_email_fold         varchar(762) NOT NULL,
    order_state_id          bigint NOT NULL REFERENCES shop_orderstatuses (shop_orderstatus_id),
    order_total             decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_total >= 0),
    orderpayment_type       varchar(255) NOT NULL DEFAULT '',
    orderpayment_type_fold  varchar(765) NOT NULL DEFAULT '',
    currency_code           varchar(3) NOT NULL
                            REFERENCES shop_currencies (currency_code),
    billing_first_name      varchar(255) NOT NULL DEFAULT '',
    billing_first_name_fold varchar(765) NOT NULL DEFAULT '',
    billing_last_name       varchar(255) NOT NULL DEFAULT '',
    billing_last_name_fold  varchar(765) NOT NULL DEFAULT '',
    -- Both names as they are searched: either alone, or one after the other.
    billing_name            varchar(1531) GENERATED ALWAYS AS
                            (concat(billing_first_name_fold, ' ', billing_last_name_fold)) STORED,
    created_on              datetime NOT NULL,
    order_subtotal          decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_subtotal >= 0),
    order_tax               decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_tax >= 0),
    order_shipping          decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_shipping >= 0),
    order_shipping_tax      decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_shipping_tax >= 0),
    order_discount          decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_discount >= 0),
    order_surcharge         decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_surcharge >= 0),
    order_fees              decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_fees >= 0),
    order_credit            decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_credit >= 0),
    order_refund            decimal(17, 5) NOT NULL DEFAULT 0 CHECK (order_refund >= 0),
    transaction_id          varchar(255) NOT NULL DEFAULT '',
    transaction_status      varchar(255) NOT NULL DEFAULT '',
    currency_value          decimal(18, 8) NOT NULL CHECK (currency_value > 0),
    customer_note           mediumtext NOT NULL DEFAULT ('')
                            CHECK (char_length(customer_note) <= 65535),
    customer_language       varchar(32) NOT NULL DEFAULT '',
    is_shippable            smallint NOT NULL DEFAULT 0 CHECK (is_shippable IN (0, 1)),
    invoice_prefix          varchar(32) NOT NULL DEFAULT '',
    modified_on             datetime NOT NULL
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_orders__order_id ON shop_orders (order_id);
CREATE INDEX shop_orders_reference_fold ON shop_orders (order_id_fold);
CREATE INDEX shop_orders_user ON shop_orders (user_id, created_on);
CREATE INDEX shop_orders_user_status
    ON shop_orders (user_id, order_state_id, created_on);
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
    shop_orderitem_id             bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_key                     bigint NOT NULL
                                  REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    orderitem_sku                 varchar(255) NOT NULL DEFAULT '',
    orderitem_sku_fold            varchar(765) NOT NULL DEFAULT '',
    orderitem_name                varchar(255) NOT NULL DEFAULT '',
    orderitem_name_fold           varchar(765) NOT NULL DEFAULT '',
    orderitem_quantity            integer NOT NULL DEFAULT 1 CHECK (orderitem_quantity >= 1),
    orderitem_finalprice          decimal(17, 5) NOT NULL DEFAULT 0
                                  CHECK (orderitem_finalprice >= 0),
    orderitem_tax                 decimal(17, 5) NOT NULL DEFAULT 0 CHECK (orderitem_tax >= 0),
    product_id                    bigint,
    variant_id                    bigint,
    orderitem_attributes          mediumtext NOT NULL DEFAULT ('{}'),
    orderitem_price               decimal(17, 5) NOT NULL DEFAULT 0 CHECK (orderitem_price >= 0),
    orderitem_option_price        decimal(17, 5) NOT NULL DEFAULT 0
                                  CHECK (orderitem_option_price >= 0),
    orderitem_finalprice_with_tax decimal(17, 5) NOT NULL DEFAULT 0
                                  CHECK (orderitem_finalprice_with_tax >= 0),
    orderitem_discount            decimal(17, 5) NOT NULL DEFAULT 0
                                  CHECK (orderitem_discount >= 0),
    orderitem_weight              decimal(17, 5) CHECK (orderitem_weight >= 0),
    created_on                    datetime NOT NULL
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_orderitems_order ON shop_orderitems (order_key);

CREATE TABLE shop_orderhistories (
    shop_orderhistory_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_key            bigint NOT NULL
                         REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    order_state_id       bigint NOT NULL REFERENCES shop_orderstatuses (shop_orderstatus_id),
    comment              mediumtext NOT NULL DEFAULT ('')
                         CHECK (char_length(comment) <= 65535),
    comment_fold         mediumtext NOT NULL DEFAULT (''),
    notify_customer      smallint NOT NULL DEFAULT 0 CHECK (notify_customer IN (0, 1)),
    created_by           bigint NOT NULL DEFAULT 0,
    created_on           datetime NOT NULL
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_orderhistories_order ON shop_orderhistories (order_key);
CREATE INDEX shop_orderhistories_status ON shop_orderhistories (order_state_id);

CREATE TABLE shop_vouchers (
    shop_voucher_id   bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    voucher_code      varchar(255) NOT NULL CHECK (voucher_code <> ''),
    voucher_code_fold varchar(765) NOT NULL,
    voucher_type      varchar(64) NOT NULL DEFAULT 'giftcard',
    voucher_type_fold varchar(192) NOT NULL DEFAULT 'giftcard',
    email_to          varchar(254) NOT NULL DEFAULT '',
    email_to_fold     varchar(762) NOT NULL DEFAULT '',
    voucher_value     decimal(17, 5) NOT NULL CHECK (voucher_value >= 0),
    enabled           smallint NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    created_on        datetime NOT NULL,
    order_id          varchar(64) NOT NULL DEFAULT '',
    subject           varchar(255) NOT NULL DEFAULT '',
    valid_from        datetime,
    valid_to          datetime,
    CHECK (valid_from <= valid_to)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_vouchers__voucher_code_fold ON shop_vouchers (voucher_code_fold);
CREATE INDEX shop_vouchers_email ON shop_vouchers (email_to_fold);
CREATE INDEX shop_vouchers_order ON shop_vouchers (order_id);
CREATE INDEX shop_vouchers_created ON shop_vouchers (created_on);

-- What was added to or taken from a voucher. Rows are only ever added.
CREATE TABLE shop_voucher_ledger (
    entry_id        bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    voucher_id      bigint NOT NULL REFERENCES shop_vouchers (shop_voucher_id) ON DELETE CASCADE,
    adjustment_type varchar(16) NOT NULL
                    CHECK (adjustment_type IN ('credit', 'debit', 'correction', 'order')),
    amount          decimal(17, 5) NOT NULL CHECK (amount <> 0),
    balance_before  decimal(17, 5) NOT NULL CHECK (balance_before >= 0),
    balance_after   decimal(17, 5) NOT NULL CHECK (balance_after >= 0),
    reason          varchar(255) NOT NULL,
    note            mediumtext NOT NULL DEFAULT ('') CHECK (char_length(note) <= 65535),
    user_id         bigint NOT NULL,
    created_on      datetime NOT NULL,
    CHECK (balance_after = balance_before + amount)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_voucher_ledger_voucher ON shop_voucher_ledger (voucher_id, amount);
