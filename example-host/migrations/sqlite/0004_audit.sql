-- Who has changed what. No row refers to another table: users, groups and records go, and what they
-- have done stays. Nothing of what a request carried is kept.
CREATE TABLE host_audit (
    id INTEGER NOT NULL PRIMARY KEY,
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
    request_id TEXT NOT NULL
) STRICT;

CREATE INDEX host_audit_by_time ON host_audit (done_on, id);
CREATE INDEX host_audit_by_user ON host_audit (username_fold, done_on, id);
CREATE INDEX host_audit_by_origin ON host_audit (origin, done_on, id);
CREATE INDEX host_audit_by_type ON host_audit (record_type, done_on, id);
CREATE INDEX host_audit_by_record ON host_audit (record_id, done_on, id);
CREATE INDEX host_audit_by_request ON host_audit (request_id);
