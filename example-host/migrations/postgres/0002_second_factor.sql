-- The second factors of users: the key of the device that makes codes, encrypted under the key of secrets. A code is
-- good once, so the step of the last one is kept. `epoch` grows when all sessions of the user end; with it end the
-- browsers that were trusted.
CREATE TABLE host_second_factors (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES host_users (id) ON DELETE CASCADE,
    sealed TEXT NOT NULL,
    last_step BIGINT NOT NULL,
    epoch BIGINT NOT NULL DEFAULT 0,
    created_on TIMESTAMP NOT NULL
);

-- The codes that take the place of a lost device, each of them once. Only their hashes are kept.
CREATE TABLE host_recovery_codes (
    hash BYTEA NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    user_id BIGINT NOT NULL REFERENCES host_users (id) ON DELETE CASCADE
);
CREATE INDEX host_recovery_codes_by_user ON host_recovery_codes (user_id);

-- The groups whose users, like those of the groups below, need a second factor.
CREATE TABLE host_second_factor_groups (
    group_id BIGINT NOT NULL PRIMARY KEY REFERENCES host_groups (id) ON DELETE CASCADE
);

-- Wrong codes are counted, too.
ALTER TABLE host_sign_in_failures
    DROP CONSTRAINT host_sign_in_failures_kind_check,
    ADD CONSTRAINT host_sign_in_failures_kind_check
        CHECK (kind IN ('name', 'address', 'client', 'device', 'session', 'code'));
