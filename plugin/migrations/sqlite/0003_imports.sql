-- Imports: what was imported, by whom, and how far it has come. Each transaction of an import notes its own lines.
CREATE TABLE shop_imports (
    shop_import_id  INTEGER PRIMARY KEY AUTOINCREMENT,
    record_type     TEXT NOT NULL,
    mode            TEXT NOT NULL,
    key_field       TEXT NOT NULL,
    dry_run         INTEGER NOT NULL DEFAULT 0 CHECK (dry_run IN (0, 1)),
    state           TEXT NOT NULL,
    lines_read      INTEGER NOT NULL DEFAULT 0,
    created         INTEGER NOT NULL DEFAULT 0,
    updated         INTEGER NOT NULL DEFAULT 0,
    unchanged       INTEGER NOT NULL DEFAULT 0,
    failed          INTEGER NOT NULL DEFAULT 0,
    -- The last line of the file whose outcome is committed, and the SHA-256 of the file up to its end.
    committed_lines INTEGER NOT NULL DEFAULT 0,
    sha256          TEXT NOT NULL DEFAULT '',
    -- Why it was interrupted.
    reason          TEXT NOT NULL DEFAULT '',
    user_id         INTEGER NOT NULL DEFAULT 0,
    token_name      TEXT NOT NULL DEFAULT '',
    request_id      TEXT NOT NULL DEFAULT '',
    created_on      TEXT NOT NULL,
    -- The latest sign of life.
    seen_on         TEXT NOT NULL,
    ended_on        TEXT,
    -- The key that the client has given it, and what the same import has in common with it.
    idempotency_key TEXT NOT NULL DEFAULT '',
    fingerprint     TEXT NOT NULL DEFAULT '',
    -- Counts the programs that have gone on with it: the earlier ones give up.
    run             INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX shop_imports_key ON shop_imports (user_id, idempotency_key) WHERE idempotency_key <> '';

-- What was wrong with the lines of an import that failed.
CREATE TABLE shop_import_faults (
    shop_import_fault_id INTEGER PRIMARY KEY AUTOINCREMENT,
    import_id   INTEGER NOT NULL REFERENCES shop_imports ON DELETE CASCADE,
    record_type TEXT NOT NULL,
    line        INTEGER NOT NULL,
    record_key  TEXT NOT NULL,
    errors      TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(errors))
);
CREATE INDEX shop_import_faults_import ON shop_import_faults (import_id, shop_import_fault_id);
