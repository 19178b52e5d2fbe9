-- The chain of the audit trail: each entry has a SHA-256 hash over the hash of the entry before it and all
-- of its own columns, so that an entry that was changed, removed or inserted afterwards is found. The
-- hashes are in a table of their own, because others read host_audit, whose columns stay as they are.
-- `previous` is the entry before, so that one whose hash was removed with it is known to be missing.
--
-- host_audit_head has the newest entry of the chain, after which the next one is appended; the last entry
-- that was removed because the trail is bounded, after which the oldest one is checked (the anchor); and
-- the last entry from before there was a chain.
CREATE TABLE IF NOT EXISTS host_audit_chain (
    id BIGINT NOT NULL PRIMARY KEY,
    previous BIGINT NOT NULL,
    hash VARBINARY(32) NOT NULL CHECK (length(hash) = 32)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS host_audit_head (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    last_id BIGINT NOT NULL,
    last_hash VARBINARY(32) NOT NULL CHECK (length(last_hash) = 32),
    anchor_id BIGINT NOT NULL,
    anchor_hash VARBINARY(32) NOT NULL CHECK (length(anchor_hash) = 32),
    unchained_id BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO host_audit_head (id, last_id, last_hash, anchor_id, anchor_hash, unchained_id)
    SELECT 1, coalesce(max(id), 0), unhex(repeat('00', 32)), coalesce(max(id), 0),
        unhex(repeat('00', 32)), coalesce(max(id), 0)
    FROM host_audit;
