-- The chain of the audit trail: each entry has a SHA-256 hash over the hash of the entry before it and all
-- of its own columns, so that an entry that was changed, removed or inserted afterwards is found. The
-- hashes are in a table of their own, because others read host_audit, whose columns stay as they are.
-- `previous` is the entry before, so that one whose hash was removed with it is known to be missing.
--
-- host_audit_head has the newest entry of the chain, after which the next one is appended; the last entry
-- that was removed because the trail is bounded, after which the oldest one is checked (the anchor); and
-- the last entry from before there was a chain.

-- AUTOINCREMENT: the key of a removed entry is never given to another one, as on the other engines, so
-- that keys are in the order of the chain whatever was removed. A table cannot be given it afterwards, so
-- this one is made anew.
ALTER TABLE host_audit RENAME TO host_audit_before;
CREATE TABLE host_audit (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    done_on TEXT NOT NULL,
    -- 0 where nobody had signed in, as on the command line.
    user_id INTEGER NOT NULL,
    -- As it was then.
    username TEXT NOT NULL,
    username_fold TEXT NOT NULL,
    -- What the user has shown: which session or token, by the beginning of its hash.
    means TEXT NOT NULL,
    origin TEXT NOT NULL,
    method TEXT NOT NULL,
    route TEXT NOT NULL,
    what TEXT NOT NULL,
    record_type TEXT NOT NULL,
    record_id TEXT NOT NULL,
    status INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    client_request_id TEXT
) STRICT;
INSERT INTO host_audit SELECT id, done_on, user_id, username, username_fold, means, origin, method, route,
    what, record_type, record_id, status, request_id, client_request_id FROM host_audit_before ORDER BY id;
DROP TABLE host_audit_before;
CREATE INDEX host_audit_by_time ON host_audit (done_on, id);
CREATE INDEX host_audit_by_user ON host_audit (username_fold, done_on, id);
CREATE INDEX host_audit_by_origin ON host_audit (origin, done_on, id);
CREATE INDEX host_audit_by_type ON host_audit (record_type, done_on, id);
CREATE INDEX host_audit_by_record ON host_audit (record_id, done_on, id);
CREATE INDEX host_audit_by_request ON host_audit (request_id);
CREATE INDEX host_audit_by_client_request ON host_audit (client_request_id);

CREATE TABLE host_audit_chain (
    id INTEGER NOT NULL PRIMARY KEY,
    previous INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE TABLE host_audit_head (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    last_id INTEGER NOT NULL,
    last_hash BLOB NOT NULL CHECK (length(last_hash) = 32),
    anchor_id INTEGER NOT NULL,
    anchor_hash BLOB NOT NULL CHECK (length(anchor_hash) = 32),
    unchained_id INTEGER NOT NULL
) STRICT;
INSERT INTO host_audit_head (id, last_id, last_hash, anchor_id, anchor_hash, unchained_id)
    SELECT 1, coalesce(max(id), 0), zeroblob(32), coalesce(max(id), 0), zeroblob(32), coalesce(max(id), 0)
    FROM host_audit;
