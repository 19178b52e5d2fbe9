-- The keys of writes, with their answers: a write that is sent again under its key is not done again,
-- but answered as it was. A row is written in the transaction of its write. The body is compressed, as
-- text in base64.

CREATE TABLE shop_keys (
    shop_key_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL,
    idempotency_key TEXT NOT NULL,
    -- The SHA-256 of the request, in hexadecimal.
    fingerprint     TEXT NOT NULL,
    created_on      TEXT NOT NULL,
    status          INTEGER NOT NULL,
    location        TEXT NOT NULL,
    etag            TEXT NOT NULL,
    body            TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX shop_keys__user_id__idempotency_key ON shop_keys (user_id, idempotency_key);
