-- Everything that the host keeps about a site. Case-folded copies stand beside what is looked up without regard
-- to case, because no two databases fold alike; folding may make three characters of one. What is unique or
-- sorted is compared by its code points, because no two databases collate alike.
--
-- This engine commits each statement that makes a table. A migration that was cut off is run again, so every
-- statement finds what an earlier run has done.

-- The site itself, in its only row. device_key signs the cookies of devices on which users have signed in;
-- it is created when it is needed first, see `identity/devices.rs`.
CREATE TABLE IF NOT EXISTS host_state (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    -- Grows with every administrative change, so that running processes notice it.
    revision BIGINT NOT NULL,
    demo_filled BOOLEAN NOT NULL CHECK (demo_filled IN (0, 1)),
    quick_start_finished BOOLEAN NOT NULL CHECK (quick_start_finished IN (0, 1)),
    -- Set while a site is being copied into this database: half a site must not be served.
    copying BOOLEAN NOT NULL DEFAULT FALSE CHECK (copying IN (0, 1)),
    device_key VARBINARY(64) CHECK (length(device_key) = 64)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO host_state (id, revision, demo_filled, quick_start_finished)
VALUES (1, 1, FALSE, FALSE);

-- Users. search_fold is what a search looks through: the folded name to sign in with, the name and the
-- e-mail address. AUTO_INCREMENT never gives the number of a removed user to another one, because records
-- of extensions still name it.
CREATE TABLE IF NOT EXISTS host_users (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    username VARCHAR(150) NOT NULL,
    username_fold VARCHAR(450) NOT NULL UNIQUE,
    name VARCHAR(150) NOT NULL,
    email VARCHAR(254) NOT NULL,
    email_fold VARCHAR(762) NOT NULL UNIQUE,
    password_hash VARCHAR(255),
    blocked BOOLEAN NOT NULL DEFAULT FALSE CHECK (blocked IN (0, 1)),
    created_on DATETIME NOT NULL,
    search_fold VARCHAR(1664) NOT NULL DEFAULT '',
    INDEX host_users_by_state (blocked, username_fold)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The tree of groups. AUTO_INCREMENT never gives the number of a removed group to another one, because a
-- form that is still open means the one before.
CREATE TABLE IF NOT EXISTS host_groups (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    title VARCHAR(150) NOT NULL,
    title_fold VARCHAR(450) NOT NULL UNIQUE,
    parent_id BIGINT,
    FOREIGN KEY (parent_id) REFERENCES host_groups (id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO host_groups (id, title, title_fold, parent_id) VALUES
    (1, 'Public', 'public', NULL),
    (2, 'Registered', 'registered', 1),
    (3, 'Manager', 'manager', 1),
    (4, 'Administrator', 'administrator', 3),
    (5, 'Super Users', 'super users', 1);

-- Which users are in which groups.
CREATE TABLE IF NOT EXISTS host_user_groups (
    user_id BIGINT NOT NULL,
    group_id BIGINT NOT NULL,
    PRIMARY KEY (user_id, group_id),
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE,
    FOREIGN KEY (group_id) REFERENCES host_groups (id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The tree of what permissions apply to.
CREATE TABLE IF NOT EXISTS host_assets (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(255) NOT NULL UNIQUE,
    title VARCHAR(255) NOT NULL,
    parent_id BIGINT,
    FOREIGN KEY (parent_id) REFERENCES host_assets (id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO host_assets (id, name, title, parent_id)
VALUES (1, 'root', 'The whole site', NULL);

-- The rules that allow or deny a group an action on an asset.
CREATE TABLE IF NOT EXISTS host_rules (
    asset_id BIGINT NOT NULL,
    group_id BIGINT NOT NULL,
    action VARCHAR(255) NOT NULL,
    allowed BOOLEAN NOT NULL CHECK (allowed IN (0, 1)),
    PRIMARY KEY (asset_id, group_id, action),
    FOREIGN KEY (asset_id) REFERENCES host_assets (id),
    FOREIGN KEY (group_id) REFERENCES host_groups (id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO host_rules (asset_id, group_id, action, allowed) VALUES
    (1, 2, 'core.login.api', TRUE),
    (1, 3, 'core.login.api', TRUE),
    (1, 4, 'core.manage', TRUE),
    (1, 5, 'core.admin', TRUE);

-- The tokens of users, with their limits. AUTO_INCREMENT never gives the number of a revoked token to
-- another one, because extensions may have noted it.
CREATE TABLE IF NOT EXISTS host_api_tokens (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id BIGINT NOT NULL,
    name VARCHAR(150) NOT NULL,
    name_fold VARCHAR(450) NOT NULL,
    -- Separated by spaces. NULL: whatever the user may do.
    scopes MEDIUMTEXT,
    -- Separated by spaces. NULL: any address.
    addresses TEXT,
    -- Requests a minute. NULL: any number.
    rate BIGINT CHECK (rate > 0),
    -- When it was created, or rotated last.
    created_on DATETIME NOT NULL,
    expires_on DATETIME,
    -- How many days before the end its user was reminded last; 0 for not yet.
    reminded BIGINT NOT NULL DEFAULT 0,
    UNIQUE (user_id, name_fold),
    KEY host_api_tokens_by_end (expires_on),
    KEY host_api_tokens_by_age (created_on),
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The secrets of tokens: more than one while a token is rotated. Only the hash of a secret is kept.
CREATE TABLE IF NOT EXISTS host_api_token_secrets (
    hash VARBINARY(32) NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    token_id BIGINT NOT NULL,
    -- When the overlap of a rotation ends; NULL for the newest secret.
    ends_on DATETIME,
    KEY host_api_token_secrets_by_token (token_id),
    FOREIGN KEY (token_id) REFERENCES host_api_tokens (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- When a token was last used, to the minute, and from which address.
CREATE TABLE IF NOT EXISTS host_api_token_uses (
    token_id BIGINT NOT NULL PRIMARY KEY,
    used_on DATETIME NOT NULL,
    address VARCHAR(64),
    FOREIGN KEY (token_id) REFERENCES host_api_tokens (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How many requests were sent with a token in a minute, counted since 1970, on all hosts.
CREATE TABLE IF NOT EXISTS host_api_token_rates (
    token_id BIGINT NOT NULL,
    minute BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (token_id, minute),
    FOREIGN KEY (token_id) REFERENCES host_api_tokens (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who has signed in to the administration, and when they have entered their password last. Only the hash
-- of what the browser keeps is kept.
CREATE TABLE IF NOT EXISTS host_sessions (
    hash VARBINARY(32) NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    user_id BIGINT NOT NULL,
    address VARCHAR(64) NOT NULL,
    created_on DATETIME NOT NULL,
    used_on DATETIME NOT NULL,
    confirmed_on DATETIME NOT NULL DEFAULT '1970-01-01 00:00:00',
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The failed sign-ins to the administration, which all hosts of a site count together: for each name,
-- address and so on, by its hash, how many there were and when the last one was, in milliseconds since
-- 1970 by the clock of the database. The table is bounded; see `identity/failures.rs`.
CREATE TABLE IF NOT EXISTS host_sign_in_failures (
    kind VARCHAR(16) NOT NULL CHECK (kind IN ('name', 'address', 'client', 'device', 'session')),
    hash VARBINARY(32) NOT NULL CHECK (length(hash) = 32),
    failures BIGINT NOT NULL,
    last_on BIGINT NOT NULL,
    PRIMARY KEY (kind, hash),
    INDEX host_sign_in_failures_by_time (kind, last_on)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Extensions. Without the address of its own database, and while its file beside this one is missing, an
-- extension is not started, because it would create empty tables.
CREATE TABLE IF NOT EXISTS host_extensions (
    name VARCHAR(255) NOT NULL PRIMARY KEY,
    version VARCHAR(255) NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT TRUE CHECK (enabled IN (0, 1)),
    built_in BOOLEAN NOT NULL CHECK (built_in IN (0, 1)),
    own_database BOOLEAN NOT NULL DEFAULT FALSE CHECK (own_database IN (0, 1))
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The parameters of extensions: the text of a JSON value, only where the site has set one.
CREATE TABLE IF NOT EXISTS host_parameters (
    extension VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    value LONGTEXT NOT NULL,
    PRIMARY KEY (extension, name),
    FOREIGN KEY (extension) REFERENCES host_extensions (name)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The jobs of extensions: which host runs one, until when that is assured unless it is renewed, when the
-- last run ended, and whether the next one is to begin at once. Moments are milliseconds since 1970 by the
-- clock of the database.
CREATE TABLE IF NOT EXISTS host_jobs (
    extension VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    holder VARCHAR(64) NOT NULL DEFAULT '',
    held_until BIGINT NOT NULL DEFAULT 0,
    ended BIGINT NOT NULL DEFAULT 0,
    woken BOOLEAN NOT NULL DEFAULT FALSE CHECK (woken IN (0, 1)),
    PRIMARY KEY (extension, name)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The audit trail: who has changed what. No row refers to another table: users, groups and records go, and
-- what they have done stays. Nothing of what a request carried is kept.
CREATE TABLE IF NOT EXISTS host_audit (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    done_on DATETIME NOT NULL,
    -- 0 where nobody had signed in, as on the command line.
    user_id BIGINT NOT NULL,
    -- As it was then.
    username VARCHAR(150) NOT NULL,
    username_fold VARCHAR(450) NOT NULL,
    -- What the user has shown: which session or token, by the beginning of its hash.
    means VARCHAR(64) NOT NULL,
    origin VARCHAR(32) NOT NULL,
    method VARCHAR(16) NOT NULL,
    route VARCHAR(150) NOT NULL,
    what TEXT NOT NULL,
    record_type VARCHAR(64) NOT NULL,
    record_id VARCHAR(150) NOT NULL,
    status BIGINT NOT NULL,
    request_id VARCHAR(64) NOT NULL,
    client_request_id VARCHAR(64),
    INDEX host_audit_by_time (done_on, id),
    INDEX host_audit_by_user (username_fold, done_on, id),
    INDEX host_audit_by_origin (origin, done_on, id),
    INDEX host_audit_by_type (record_type, done_on, id),
    INDEX host_audit_by_record (record_id, done_on, id),
    INDEX host_audit_by_request (request_id),
    INDEX host_audit_by_client_request (client_request_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The chain of the audit trail: each entry has a SHA-256 hash over the hash of the entry before it and all
-- of its own columns, so that an entry that was changed, removed or inserted afterwards is found. The
-- hashes are in a table of their own, because others read host_audit. `previous` is the entry before, so
-- that one whose hash was removed with it is known to be missing.
CREATE TABLE IF NOT EXISTS host_audit_chain (
    id BIGINT NOT NULL PRIMARY KEY,
    previous BIGINT NOT NULL,
    hash VARBINARY(32) NOT NULL CHECK (length(hash) = 32)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The newest entry of the chain, after which the next one is appended; the last entry that was removed
-- because the trail is bounded, after which the oldest one is checked (the anchor); and the last entry
-- without a chain.
CREATE TABLE IF NOT EXISTS host_audit_head (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    last_id BIGINT NOT NULL,
    last_hash VARBINARY(32) NOT NULL CHECK (length(last_hash) = 32),
    anchor_id BIGINT NOT NULL,
    anchor_hash VARBINARY(32) NOT NULL CHECK (length(anchor_hash) = 32),
    unchained_id BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO host_audit_head (id, last_id, last_hash, anchor_id, anchor_hash, unchained_id)
    VALUES (1, 0, unhex(repeat('00', 32)), 0, unhex(repeat('00', 32)), 0);

-- The chain of lasting entries: those about users, groups, rules, tokens, extensions and parameters are
-- kept for a number of days, however many others are written meanwhile. They have a chain of their own, so
-- that the entries of each chain are removed at its oldest end only.
CREATE TABLE IF NOT EXISTS host_audit_lasting_chain (
    id BIGINT NOT NULL PRIMARY KEY,
    previous BIGINT NOT NULL,
    hash VARBINARY(32) NOT NULL CHECK (length(hash) = 32)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The head of that chain, like host_audit_head.
CREATE TABLE IF NOT EXISTS host_audit_lasting_head (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    last_id BIGINT NOT NULL,
    last_hash VARBINARY(32) NOT NULL CHECK (length(last_hash) = 32),
    anchor_id BIGINT NOT NULL,
    anchor_hash VARBINARY(32) NOT NULL CHECK (length(anchor_hash) = 32),
    unchained_id BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO host_audit_lasting_head (id, last_id, last_hash, anchor_id, anchor_hash, unchained_id)
    VALUES (1, 0, unhex(repeat('00', 32)), 0, unhex(repeat('00', 32)), 0);
