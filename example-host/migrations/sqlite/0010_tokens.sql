-- Several tokens for each user, with limits, and the secrets of each: more than one while a token is
-- rotated. Until here a user had one token, which is now the one called default.

-- AUTOINCREMENT: the number of a revoked token is never given to another one, because extensions may have
-- noted it.
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
    -- Or rotated.
    created_on TEXT NOT NULL,
    expires_on TEXT,
    -- How many days before the end its user was reminded last; 0 for not yet.
    reminded INTEGER NOT NULL DEFAULT 0,
    UNIQUE (user_id, name_fold)
) STRICT;

CREATE INDEX host_api_tokens_by_end ON host_api_tokens (expires_on) WHERE expires_on IS NOT NULL;
CREATE INDEX host_api_tokens_by_age ON host_api_tokens (created_on);

-- Only the hash of a secret is kept.
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

INSERT INTO host_api_tokens (user_id, name, name_fold, created_on)
    SELECT user_id, 'default', 'default', created_on FROM host_tokens;
INSERT INTO host_api_token_secrets (hash, token_id)
    SELECT b.hash, t.id FROM host_tokens b JOIN host_api_tokens t ON t.user_id = b.user_id;
INSERT INTO host_api_token_uses (token_id, used_on)
    SELECT t.id, u.used_on FROM host_token_uses u JOIN host_api_tokens t ON t.user_id = u.user_id;
DROP TABLE host_token_uses;
DROP TABLE host_tokens;
