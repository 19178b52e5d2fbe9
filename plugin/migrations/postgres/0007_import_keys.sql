-- An import has its key for itself, also where two programs begin it at the same moment.
UPDATE shop_imports SET idempotency_key = '' WHERE idempotency_key <> '' AND EXISTS
    (SELECT 1 FROM shop_imports later WHERE later.user_id = shop_imports.user_id
     AND later.idempotency_key = shop_imports.idempotency_key
     AND later.shop_import_id > shop_imports.shop_import_id);
DROP INDEX shop_imports_key;
CREATE UNIQUE INDEX shop_imports_key ON shop_imports (user_id, idempotency_key) WHERE idempotency_key <> '';
