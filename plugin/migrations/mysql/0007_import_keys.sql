-- An import has its key for itself, also where two programs begin it at the same moment.
UPDATE shop_imports earlier JOIN shop_imports later ON later.user_id = earlier.user_id
    AND later.idempotency_key = earlier.idempotency_key AND later.shop_import_id > earlier.shop_import_id
SET earlier.idempotency_key = '' WHERE earlier.idempotency_key <> '';
ALTER TABLE shop_imports
    ADD COLUMN key_taken varchar(255) GENERATED ALWAYS AS (nullif(idempotency_key, '')) STORED;
CREATE UNIQUE INDEX shop_imports__key_taken ON shop_imports (user_id, key_taken);
