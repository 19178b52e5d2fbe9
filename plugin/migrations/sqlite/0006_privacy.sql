-- Orders of persons who were erased, whose names and addresses are kept until a day, because invoices must have them.
-- The person is known by a keyed hash of the address, which only the host can compute, and by the key of the user.
CREATE TABLE shop_erasures (
    order_key  INTEGER NOT NULL PRIMARY KEY REFERENCES shop_orders (shop_order_id) ON DELETE CASCADE,
    -- YYYY-MM-DD.
    due_on     TEXT NOT NULL CHECK (length(due_on) = 10),
    email_hash TEXT NOT NULL DEFAULT '' CHECK (length(email_hash) <= 128),
    user_id    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX shop_erasures_due ON shop_erasures (due_on);
CREATE INDEX shop_erasures_email ON shop_erasures (email_hash);
CREATE INDEX shop_erasures_user ON shop_erasures (user_id);
