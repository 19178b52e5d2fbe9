-- Entries of the audit trail about users, groups, rules, tokens, extensions and parameters are lasting: they
-- are kept for a number of days, however many other entries are written meanwhile. They have a chain of
-- their own, so that the entries of each chain are still removed at its oldest end only, and both can be
-- verified. host_audit_chain and host_audit_head go on as the chain of all other entries, with the lasting
-- ones from before this migration.
CREATE TABLE host_audit_lasting_chain (
    id BIGINT NOT NULL PRIMARY KEY,
    previous BIGINT NOT NULL,
    hash BYTEA NOT NULL CHECK (length(hash) = 32)
);

-- Its columns are those of host_audit_head. No entry is from before this chain.
CREATE TABLE host_audit_lasting_head (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    last_id BIGINT NOT NULL,
    last_hash BYTEA NOT NULL CHECK (length(last_hash) = 32),
    anchor_id BIGINT NOT NULL,
    anchor_hash BYTEA NOT NULL CHECK (length(anchor_hash) = 32),
    unchained_id BIGINT NOT NULL
);
INSERT INTO host_audit_lasting_head (id, last_id, last_hash, anchor_id, anchor_hash, unchained_id)
    VALUES (1, 0, decode(repeat('00', 32), 'hex'), 0, decode(repeat('00', 32), 'hex'), 0);
