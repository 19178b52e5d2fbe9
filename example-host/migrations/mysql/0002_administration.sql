-- What the pages of the administration need. Every statement finds what an earlier run, which was
-- cut off, has done.

-- What a search for users looks through: the folded name to sign in with, name and e-mail. Until
-- here a user's name was the one to sign in with.
SET @there = (SELECT count(*) FROM information_schema.columns WHERE table_schema = DATABASE()
    AND table_name = 'host_users' AND column_name = 'search_fold');
SET @addition = IF(@there > 0, 'DO 0',
    'ALTER TABLE host_users ADD COLUMN search_fold VARCHAR(1664) NOT NULL DEFAULT '''',
        ADD INDEX host_users_by_state (blocked, username_fold)');
PREPARE addition FROM @addition;
EXECUTE addition;
DEALLOCATE PREPARE addition;
UPDATE host_users SET search_fold = CONCAT(username_fold, ' ', email_fold);

-- When a token was last used, to the minute. Gone with the token.
CREATE TABLE IF NOT EXISTS host_token_uses (
    user_id BIGINT NOT NULL PRIMARY KEY,
    used_on DATETIME NOT NULL,
    FOREIGN KEY (user_id) REFERENCES host_tokens (user_id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who has signed in. Only the hash of what the browser keeps is kept.
CREATE TABLE IF NOT EXISTS host_sessions (
    hash VARBINARY(32) NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    user_id BIGINT NOT NULL,
    address VARCHAR(64) NOT NULL,
    created_on DATETIME NOT NULL,
    used_on DATETIME NOT NULL,
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
