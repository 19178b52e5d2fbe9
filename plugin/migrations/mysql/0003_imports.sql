-- Imports: what was imported, by whom, and how far it has come. Each transaction of an import notes its own lines.
CREATE TABLE shop_imports (
    shop_import_id  bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    record_type     varchar(64) NOT NULL,
    mode            varchar(16) NOT NULL,
    key_field       varchar(64) NOT NULL,
    dry_run         int NOT NULL DEFAULT 0 CHECK (dry_run IN (0, 1)),
    state           varchar(16) NOT NULL,
    lines_read      bigint NOT NULL DEFAULT 0,
    created         bigint NOT NULL DEFAULT 0,
    updated         bigint NOT NULL DEFAULT 0,
    unchanged       bigint NOT NULL DEFAULT 0,
    failed          bigint NOT NULL DEFAULT 0,
    -- The last line of the file whose outcome is committed, and the SHA-256 of the file up to its end.
    committed_lines bigint NOT NULL DEFAULT 0,
    sha256          varchar(64) NOT NULL DEFAULT '',
    -- Why it was interrupted.
    reason          mediumtext NOT NULL DEFAULT (''),
    user_id         bigint NOT NULL DEFAULT 0,
    token_name      varchar(255) NOT NULL DEFAULT '',
    request_id      varchar(64) NOT NULL DEFAULT '',
    created_on      datetime NOT NULL,
    -- The latest sign of life.
    seen_on         datetime NOT NULL,
    ended_on        datetime,
    -- The key that the client has given it, and what the same import has in common with it.
    idempotency_key varchar(255) NOT NULL DEFAULT '',
    fingerprint     varchar(255) NOT NULL DEFAULT '',
    -- Counts the programs that have gone on with it: the earlier ones give up.
    run             bigint NOT NULL DEFAULT 0
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_imports_key ON shop_imports (user_id, idempotency_key);

-- What was wrong with the lines of an import that failed.
CREATE TABLE shop_import_faults (
    shop_import_fault_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    import_id   bigint NOT NULL ,
    record_type varchar(64) NOT NULL,
    line        bigint NOT NULL,
    record_key  varchar(255) NOT NULL,
    errors      mediumtext NOT NULL DEFAULT ('[]') CHECK (json_valid(errors)),
    FOREIGN KEY (import_id) REFERENCES shop_imports (shop_import_id) ON DELETE CASCADE
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_import_faults_import ON shop_import_faults (import_id, shop_import_fault_id);
