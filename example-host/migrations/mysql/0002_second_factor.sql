-- The second factors of users: the key of the device that makes codes, encrypted under the key of secrets. A code is
-- good once, so the step of the last one is kept. `epoch` grows when all sessions of the user end; with it end the
-- browsers that were trusted.
CREATE TABLE IF NOT EXISTS host_second_factors (
    user_id BIGINT NOT NULL PRIMARY KEY,
    sealed TEXT NOT NULL,
    last_step BIGINT NOT NULL,
    epoch BIGINT NOT NULL DEFAULT 0,
    created_on DATETIME NOT NULL,
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The codes that take the place of a lost device, each of them once. Only their hashes are kept.
CREATE TABLE IF NOT EXISTS host_recovery_codes (
    hash VARBINARY(32) NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    user_id BIGINT NOT NULL,
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The groups whose users, like those of the groups below, need a second factor.
CREATE TABLE IF NOT EXISTS host_second_factor_groups (
    group_id BIGINT NOT NULL PRIMARY KEY,
    FOREIGN KEY (group_id) REFERENCES host_groups (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Wrong codes are counted, too. What was counted before is forgotten within an hour anyway.
DROP TABLE IF EXISTS host_sign_in_failures;
CREATE TABLE host_sign_in_failures (
    kind VARCHAR(16) NOT NULL CHECK (kind IN ('name', 'address', 'client', 'device', 'session', 'code')),
    hash VARBINARY(32) NOT NULL CHECK (length(hash) = 32),
    failures BIGINT NOT NULL,
    last_on BIGINT NOT NULL,
    PRIMARY KEY (kind, hash),
    INDEX host_sign_in_failures_by_time (kind, last_on)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
