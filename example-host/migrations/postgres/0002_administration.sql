-- What the pages of the administration need.

-- What a search for users looks through: the folded name to sign in with, name and e-mail. Until
-- here a user's name was the one to sign in with.
ALTER TABLE host_users ADD COLUMN search_fold TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE host_users SET search_fold = username_fold || ' ' || email_fold;

CREATE INDEX host_users_by_state ON host_users (blocked, username_fold);
CREATE INDEX host_user_groups_by_group ON host_user_groups (group_id);

-- When a token was last used, to the minute. Gone with the token.
CREATE TABLE host_token_uses (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES host_tokens (user_id) ON DELETE CASCADE,
    used_on TIMESTAMP NOT NULL
);

-- Who has signed in. Only the hash of what the browser keeps is kept.
CREATE TABLE host_sessions (
    hash BYTEA NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    user_id BIGINT NOT NULL REFERENCES host_users (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    created_on TIMESTAMP NOT NULL,
    used_on TIMESTAMP NOT NULL
);

CREATE INDEX host_sessions_by_user ON host_sessions (user_id);
