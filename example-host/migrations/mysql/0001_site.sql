-- Everything that the host keeps about a site. Case-folded copies stand beside what is looked up
-- without regard to case, because no two databases fold alike; what is unique or sorted is compared
-- by its code points, because no two databases collate alike.
--
-- This engine commits each statement that makes a table. A migration that was cut off is run again,
-- so every statement finds what an earlier run has done.

CREATE TABLE IF NOT EXISTS host_state (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    -- Grows with every administrative change, so that running processes notice it.
    revision BIGINT NOT NULL,
    demo_filled BOOLEAN NOT NULL CHECK (demo_filled IN (0, 1)),
    quick_start_finished BOOLEAN NOT NULL CHECK (quick_start_finished IN (0, 1)),
    -- Set while a site is being copied into this database: half a site must not be served.
    copying BOOLEAN NOT NULL DEFAULT FALSE CHECK (copying IN (0, 1))
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO host_state (id, revision, demo_filled, quick_start_finished)
VALUES (1, 1, FALSE, FALSE);

-- AUTO_INCREMENT: the number of a removed user is never given to another one, because records of
-- the store still name it. Folding may make three characters of one.
CREATE TABLE IF NOT EXISTS host_users (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    username VARCHAR(150) NOT NULL,
    username_fold VARCHAR(450) NOT NULL UNIQUE,
    name VARCHAR(150) NOT NULL,
    email VARCHAR(254) NOT NULL,
    email_fold VARCHAR(762) NOT NULL UNIQUE,
    password_hash VARCHAR(255),
    blocked BOOLEAN NOT NULL DEFAULT FALSE CHECK (blocked IN (0, 1)),
    created_on DATETIME NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

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

CREATE TABLE IF NOT EXISTS host_user_groups (
    user_id BIGINT NOT NULL,
    group_id BIGINT NOT NULL,
    PRIMARY KEY (user_id, group_id),
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE,
    FOREIGN KEY (group_id) REFERENCES host_groups (id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS host_assets (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(255) NOT NULL UNIQUE,
    title VARCHAR(255) NOT NULL,
    parent_id BIGINT,
    FOREIGN KEY (parent_id) REFERENCES host_assets (id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO host_assets (id, name, title, parent_id)
VALUES (1, 'root', 'The whole site', NULL);

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

-- Only the hash of a token is kept; the key is the user, because each has one at most.
CREATE TABLE IF NOT EXISTS host_tokens (
    user_id BIGINT NOT NULL PRIMARY KEY,
    hash VARBINARY(32) NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_on DATETIME NOT NULL,
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS host_extensions (
    name VARCHAR(255) NOT NULL PRIMARY KEY,
    version VARCHAR(255) NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT TRUE CHECK (enabled IN (0, 1)),
    built_in BOOLEAN NOT NULL CHECK (built_in IN (0, 1))
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The text of a JSON value, only where the site has set one.
CREATE TABLE IF NOT EXISTS host_parameters (
    extension VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    value LONGTEXT NOT NULL,
    PRIMARY KEY (extension, name),
    FOREIGN KEY (extension) REFERENCES host_extensions (name)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
