-- Orders of persons who were erased, whose names and addresses are kept until a day, because invoices must have them.
-- The person is known by a keyed hash of the address, which only the host can compute, and by the key of the user.
CREATE TABLE shop_erasures (
    order_key  bigint NOT NULL PRIMARY KEY,
    -- YYYY-MM-DD.
    due_on     varchar(10) NOT NULL,
    email_hash varchar(128) NOT NULL DEFAULT '',
    user_id    bigint NOT NULL DEFAULT 0,
    FOREIGN KEY (order_key) REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_erasures_due ON shop_erasures (due_on);
CREATE INDEX shop_erasures_email ON shop_erasures (email_hash);
CREATE INDEX shop_erasures_user ON shop_erasures (user_id);
