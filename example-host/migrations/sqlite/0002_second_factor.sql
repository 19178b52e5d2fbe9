-- The second factors of users: the key of the device that makes codes, encrypted under the key of secrets. A code is
-- good once, so the step of the last one is kept. `epoch` grows when all sessions of the user end; with it end the
-- browsers that were trusted.
CREATE TABLE host_second_factors (
    user_id INTEGER NOT NULL PRIMARY KEY REFERENCES host_users (id) ON DELETE CASCADE,
    sealed TEXT NOT NULL,
    last_step INTEGER NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    created_on TEXT NOT NULL
) STRICT;

-- The codes that take the place of a lost device, each of them once. Only their hashes are kept.
CREATE TABLE host_recovery_codes (
    hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    user_id INTEGER NOT NULL REFERENCES host_users (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX host_recovery_codes_by_user ON host_recovery_codes (user_id);

-- The groups whose users, like those of the groups below, need a second factor.
CREATE TABLE host_second_factor_groups (
    group_id INTEGER NOT NULL PRIMARY KEY REFERENCES host_groups (id) ON DELETE CASCADE
) STRICT;

-- Wrong codes are counted, too. What was counted before is forgotten within an hour anyway.
DROP TABLE host_sign_in_failures;
CREATE TABLE host_sign_in_failures (
    kind TEXT NOT NULL CHECK (kind IN ('name', 'address', 'client', 'device', 'session', 'code')),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    failures INTEGER NOT NULL,
    last_on INTEGER NOT NULL,
    PRIMARY KEY (kind, hash)
) STRICT;
CREATE INDEX host_sign_in_failures_by_time ON host_sign_in_failures (kind, last_on);
