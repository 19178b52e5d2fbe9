-- Everything that the host keeps about a site. Case-folded copies stand beside what is looked up
-- without regard to case, because no two databases fold alike.

CREATE TABLE host_state (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    -- Grows with every administrative change, so that running processes notice it.
    revision INTEGER NOT NULL,
    demo_filled INTEGER NOT NULL CHECK (demo_filled IN (0, 1)),
    quick_start_finished INTEGER NOT NULL CHECK (quick_start_finished IN (0, 1))
) STRICT;

INSERT INTO host_state (id, revision, demo_filled, quick_start_finished) VALUES (1, 1, 0, 0);

-- AUTOINCREMENT: the number of a removed user is never given to another one, because records of
-- the store still name it.
CREATE TABLE host_users (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    username TEXT NOT NULL,
    username_fold TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    email_fold TEXT NOT NULL UNIQUE,
    password_hash TEXT,
    blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked IN (0, 1)),
    created_on TEXT NOT NULL
) STRICT;

CREATE TABLE host_groups (
    id INTEGER NOT NULL PRIMARY KEY,
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

CREATE TABLE host_user_groups (
    user_id INTEGER NOT NULL REFERENCES host_users (id) ON DELETE CASCADE,
    group_id INTEGER NOT NULL REFERENCES host_groups (id),
    PRIMARY KEY (user_id, group_id)
) STRICT;

CREATE TABLE host_assets (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    parent_id INTEGER REFERENCES host_assets (id)
) STRICT;

INSERT INTO host_assets (id, name, title, parent_id) VALUES (1, 'root', 'The whole site', NULL);

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

-- Only the hash of a token is kept; the key is the user, because each has one at most.
CREATE TABLE host_tokens (
    user_id INTEGER NOT NULL PRIMARY KEY REFERENCES host_users (id) ON DELETE CASCADE,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_on TEXT NOT NULL
) STRICT;

CREATE TABLE host_extensions (
    name TEXT NOT NULL PRIMARY KEY,
    version TEXT NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    built_in INTEGER NOT NULL CHECK (built_in IN (0, 1))
) STRICT;

-- The text of a JSON value, only where the site has set one.
CREATE TABLE host_parameters (
    extension TEXT NOT NULL REFERENCES host_extensions (name),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (extension, name)
) STRICT;
