-- The links by which users choose a password: after they have forgotten theirs, or as those who are invited. Each is
-- good once. Only the hash of what it contains is kept.
CREATE TABLE host_password_links (
    hash BYTEA NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    user_id BIGINT NOT NULL REFERENCES host_users (id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('reset', 'invitation')),
    ends_on TIMESTAMP NOT NULL
);
CREATE INDEX host_password_links_by_user ON host_password_links (user_id);

-- For whom, by a hash, links were asked for in the last hour, in milliseconds since 1970 by the clock of the database.
CREATE TABLE host_password_requests (
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('user', 'network')),
    hash BYTEA NOT NULL CHECK (length(hash) = 32),
    asked_on BIGINT NOT NULL,
    PRIMARY KEY (kind, hash, asked_on)
);
CREATE INDEX host_password_requests_by_time ON host_password_requests (asked_on);
