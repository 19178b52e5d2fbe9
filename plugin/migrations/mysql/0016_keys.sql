-- The keys of writes, with their answers: a write that is sent again under its key is not done again,
-- but answered as it was. A row is written in the transaction of its write. The body is compressed, as
-- text in base64.
-- Other transactions with the key wait for the row, which is there before its answer.

CREATE TABLE shop_keys (
    shop_key_id     bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id         bigint NOT NULL,
    idempotency_key varchar(255) NOT NULL,
    -- The SHA-256 of the request, in hexadecimal.
    fingerprint     varchar(64) NOT NULL,
    created_on      datetime NOT NULL,
    status          smallint NOT NULL DEFAULT 0,
    location        varchar(2048) NOT NULL DEFAULT '',
    etag            varchar(64) NOT NULL DEFAULT '',
    body            mediumtext NOT NULL DEFAULT ('')
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE UNIQUE INDEX shop_keys__user_id__idempotency_key ON shop_keys (user_id, idempotency_key);
