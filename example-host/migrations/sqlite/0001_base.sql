-- Everything that the host keeps about a site. Case-folded copies stand beside what is looked up without regard
-- to case, because no two databases fold alike.

-- The site itself, in its only row. device_key signs the cookies of devices on which users have signed in;
-- it is created when it is needed first, see `identity/devices.rs`.
CREATE TABLE host_state (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    -- Grows with every administrative change, so that running processes notice it.
    revision INTEGER NOT NULL,
    demo_filled INTEGER NOT NULL CHECK (demo_filled IN (0, 1)),
    quick_start_finished INTEGER NOT NULL CHECK (quick_start_finished IN (0, 1)),
    copying INTEGER NOT NULL DEFAULT 0 CHECK (copying IN (0, 1)),
    device_key BLOB CHECK (length(device_key) = 64)
) STRICT;
INSERT INTO host_state (id, revision, demo_filled, quick_start_finished) VALUES (1, 1, 0, 0);

-- Users. search_fold is what a search looks through: the folded name to sign in with, the name and the
-- e-mail address. AUTOINCREMENT never gives the number of a removed user to another one, because records
-- of extensions still name it.
CREATE TABLE host_users (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    username TEXT NOT NULL,
    username_fold TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    email_fold TEXT NOT NULL UNIQUE,
    password_hash TEXT,
    blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked IN (0, 1)),
    created_on TEXT NOT NULL,
    search_fold TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX host_users_by_state ON host_users (blocked, username_fold);

-- The tree of groups. AUTOINCREMENT never gives the number of a removed group to another one, because a
-- form that is still open means the one before.
CREATE TABLE host_groups (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    title_fold TEXT NOT NULL UNIQUE,
    parent_id INTEGER REFERENCES host_groups (id)
) STRICT;
INSERT INTO host_groups (id, title, title_fold, parent_id) VALUES
    (1, 'Public', 'public', NULL),
    (2, 'Registered', 'registered', 1),
    (3, 'Manager', 'manager', 1),
    (4, 'Administrator', 'administrator', 3),
    (5, 'Super Users', 'super users', 1);

-- Which users are in which groups.
CREATE TABLE host_user_groups (
    user_id INTEGER NOT NULL REFERENCES host_users (id) ON DELETE CASCADE,
    group_id INTEGER NOT NULL REFERENCES host_groups (id),
    PRIMARY KEY (user_id, group_id)
) STRICT;
CREATE INDEX host_user_groups_by_group ON host_user_groups (group_id);

-- The tree of what permissions apply to.
CREATE TABLE host_assets (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    parent_id INTEGER REFERENCES host_assets (id)
) STRICT;
INSERT INTO host_assets (id, name, title, parent_id) VALUES (1, 'root', 'The whole site', NULL);

-- The rules that allow or deny a group an action on an asset.
CREATE TABLE host_rules (
    asset_id INTEGER NOT NULL REFERENCES host_assets (id),
    group_id INTEGER NOT NULL REFERENCES host_groups (id),
    action TEXT NOT NULL,
    allowed INTEGER NOT NULL CHECK (allowed IN (0, 1)),
    PRIMARY KEY (asset_id, group_id, action)
) STRICT;
INSERT INTO host_rules (asset_id, group_id, action, allowed) VALUES
    (1, 2, 'core.login.api', 1),
    (1, 3, 'core.login.api', 1),
    (1, 4, 'core.manage', 1),
    (1, 5, 'core.admin', 1);

-- The tokens of users, with their limits. AUTOINCREMENT never gives the number of a revoked token to
-- another one, because extensions may have noted it.
CREATE TABLE host_api_tokens (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES host_users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_fold TEXT NOT NULL,
    -- Separated by spaces. NULL: whatever the user may do.
    scopes TEXT,
    -- Separated by spaces. NULL: any address.
    addresses TEXT,
    -- Requests a minute. NULL: any number.
    rate INTEGER CHECK (rate > 0),
    -- When it was created, or rotated last.
    created_on TEXT NOT NULL,
    expires_on TEXT,
    -- How many days before the end its user was reminded last; 0 for not yet.
    reminded INTEGER NOT NULL DEFAULT 0,
    UNIQUE (user_id, name_fold)
) STRICT;
CREATE INDEX host_api_tokens_by_end ON host_api_tokens (expires_on) WHERE expires_on IS NOT NULL;
CREATE INDEX host_api_tokens_by_age ON host_api_tokens (created_on);

-- The secrets of tokens: more than one while a token is rotated. Only the hash of a secret is kept.
CREATE TABLE host_api_token_secrets (
    hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    token_id INTEGER NOT NULL REFERENCES host_api_tokens (id) ON DELETE CASCADE,
    -- When the overlap of a rotation ends; NULL for the newest secret.
    ends_on TEXT
) STRICT;
CREATE INDEX host_api_token_secrets_by_token ON host_api_token_secrets (token_id);

-- When a token was last used, to the minute, and from which address.
CREATE TABLE host_api_token_uses (
    token_id INTEGER NOT NULL PRIMARY KEY REFERENCES host_api_tokens (id) ON DELETE CASCADE,
    used_on TEXT NOT NULL,
    address TEXT
) STRICT;

-- How many requests were sent with a token in a minute, counted since 1970, on all hosts.
CREATE TABLE host_api_token_rates (
    token_id INTEGER NOT NULL REFERENCES host_api_tokens (id) ON DELETE CASCADE,
    minute INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (token_id, minute)
) STRICT;

-- Who has signed in to the administration, and when they have entered their password last. Only the hash
-- of what the browser keeps is kept.
CREATE TABLE host_sessions (
    hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    user_id INTEGER NOT NULL REFERENCES host_users (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    created_on TEXT NOT NULL,
    used_on TEXT NOT NULL,
    confirmed_on TEXT NOT NULL DEFAULT '1970-01-01T00:00:00'
) STRICT;
CREATE INDEX host_sessions_by_user ON host_sessions (user_id);

-- The failed sign-ins to the administration, which all hosts of a site count together: for each name,
-- address and so on, by its hash, how many there were and when the last one was, in milliseconds since
-- 1970 by the clock of the database. The table is bounded; see `identity/failures.rs`.
CREATE TABLE host_sign_in_failures (
    kind TEXT NOT NULL CHECK (kind IN ('name', 'address', 'client', 'device', 'session')),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    failures INTEGER NOT NULL,
    last_on INTEGER NOT NULL,
    PRIMARY KEY (kind, hash)
) STRICT;
CREATE INDEX host_sign_in_failures_by_time ON host_sign_in_failures (kind, last_on);

-- Extensions. Without the address of its own database, and while its file beside this one is missing, an
-- extension is not started, because it would create empty tables.
CREATE TABLE host_extensions (
    name TEXT NOT NULL PRIMARY KEY,
    version TEXT NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    built_in INTEGER NOT NULL CHECK (built_in IN (0, 1)),
    own_database INTEGER NOT NULL DEFAULT 0 CHECK (own_database IN (0, 1)),
    has_file INTEGER NOT NULL DEFAULT 0 CHECK (has_file IN (0, 1))
) STRICT;

-- The parameters of extensions: the text of a JSON value, only where the site has set one.
CREATE TABLE host_parameters (
    extension TEXT NOT NULL REFERENCES host_extensions (name),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (extension, name)
) STRICT;

-- The jobs of extensions: which host runs one, until when that is assured unless it is renewed, when the
-- last run ended, and whether the next one is to begin at once. Moments are milliseconds since 1970 by the
-- clock of the database.
CREATE TABLE host_jobs (
    extension TEXT NOT NULL,
    name TEXT NOT NULL,
    holder TEXT NOT NULL DEFAULT '',
    held_until INTEGER NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0,
    woken INTEGER NOT NULL DEFAULT 0 CHECK (woken IN (0, 1)),
    PRIMARY KEY (extension, name)
) STRICT;

-- The audit trail: who has changed what. No row refers to another table: users, groups and records go, and
-- what they have done stays. Nothing of what a request carried is kept.
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
CREATE INDEX host_audit_by_time ON host_audit (done_on, id);
CREATE INDEX host_audit_by_user ON host_audit (username_fold, done_on, id);
CREATE INDEX host_audit_by_origin ON host_audit (origin, done_on, id);
CREATE INDEX host_audit_by_type ON host_audit (record_type, done_on, id);
CREATE INDEX host_audit_by_record ON host_audit (record_id, done_on, id);
CREATE INDEX host_audit_by_request ON host_audit (request_id);
CREATE INDEX host_audit_by_client_request ON host_audit (client_request_id);

-- The chain of the audit trail: each entry has a SHA-256 hash over the hash of the entry before it and all
-- of its own columns, so that an entry that was changed, removed or inserted afterwards is found. The
-- hashes are in a table of their own, because others read host_audit. `previous` is the entry before, so
-- that one whose hash was removed with it is known to be missing.
CREATE TABLE host_audit_chain (
    id INTEGER NOT NULL PRIMARY KEY,
    previous INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- The newest entry of the chain, after which the next one is appended; the last entry that was removed
-- because the trail is bounded, after which the oldest one is checked (the anchor); and the last entry
-- without a chain.
CREATE TABLE host_audit_head (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    last_id INTEGER NOT NULL,
    last_hash BLOB NOT NULL CHECK (length(last_hash) = 32),
    anchor_id INTEGER NOT NULL,
    anchor_hash BLOB NOT NULL CHECK (length(anchor_hash) = 32),
    unchained_id INTEGER NOT NULL
) STRICT;
INSERT INTO host_audit_head (id, last_id, last_hash, anchor_id, anchor_hash, unchained_id)
    VALUES (1, 0, zeroblob(32), 0, zeroblob(32), 0);

-- The chain of lasting entries: those about users, groups, rules, tokens, extensions and parameters are
-- kept for a number of days, however many others are written meanwhile. They have a chain of their own, so
-- that the entries of each chain are removed at its oldest end only.
CREATE TABLE host_audit_lasting_chain (
    id INTEGER NOT NULL PRIMARY KEY,
    previous INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- The head of that chain, like host_audit_head.
CREATE TABLE host_audit_lasting_head (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    last_id INTEGER NOT NULL,
    last_hash BLOB NOT NULL CHECK (length(last_hash) = 32),
    anchor_id INTEGER NOT NULL,
    anchor_hash BLOB NOT NULL CHECK (length(anchor_hash) = 32),
    unchained_id INTEGER NOT NULL
) STRICT;
INSERT INTO host_audit_lasting_head (id, last_id, last_hash, anchor_id, anchor_hash, unchained_id)
    VALUES (1, 0, zeroblob(32), 0, zeroblob(32), 0);
