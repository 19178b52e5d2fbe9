-- Several tokens for each user, with limits, and the secrets of each: more than one while a token is
-- rotated. Until here a user had one token, which is now the one called default. Every statement finds what
-- an earlier run, which was cut off, has done.

-- AUTO_INCREMENT: the number of a revoked token is never given to another one, because extensions may have
-- noted it.
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
    -- Or rotated.
    created_on DATETIME NOT NULL,
    expires_on DATETIME,
    -- How many days before the end its user was reminded last; 0 for not yet.
    reminded BIGINT NOT NULL DEFAULT 0,
    UNIQUE (user_id, name_fold),
    KEY host_api_tokens_by_end (expires_on),
    KEY host_api_tokens_by_age (created_on),
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Only the hash of a secret is kept.
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

-- The table of before is the last to go, so whatever is not in the new ones is still in it.
SET @there = (SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE()
    AND table_name = 'host_tokens');
SET @tokens = IF(@there = 0, 'DO 0',
    'INSERT IGNORE INTO host_api_tokens (user_id, name, name_fold, created_on)
        SELECT user_id, ''default'', ''default'', created_on FROM host_tokens');
PREPARE tokens FROM @tokens;
EXECUTE tokens;
DEALLOCATE PREPARE tokens;
SET @secrets = IF(@there = 0, 'DO 0',
    'INSERT IGNORE INTO host_api_token_secrets (hash, token_id)
        SELECT b.hash, t.id FROM host_tokens b JOIN host_api_tokens t ON t.user_id = b.user_id');
PREPARE secrets FROM @secrets;
EXECUTE secrets;
DEALLOCATE PREPARE secrets;
SET @there = (SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE()
    AND table_name = 'host_token_uses');
SET @uses = IF(@there = 0, 'DO 0',
    'INSERT IGNORE INTO host_api_token_uses (token_id, used_on)
        SELECT t.id, u.used_on FROM host_token_uses u JOIN host_api_tokens t ON t.user_id = u.user_id');
PREPARE uses FROM @uses;
EXECUTE uses;
DEALLOCATE PREPARE uses;
DROP TABLE IF EXISTS host_token_uses;
DROP TABLE IF EXISTS host_tokens;
