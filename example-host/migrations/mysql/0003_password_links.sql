-- The links by which users choose a password: after they have forgotten theirs, or as those who are invited. Each is
-- good once. Only the hash of what it contains is kept.
CREATE TABLE IF NOT EXISTS host_password_links (
    hash VARBINARY(32) NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    user_id BIGINT NOT NULL,
    kind VARCHAR(16) NOT NULL CHECK (kind IN ('reset', 'invitation')),
    ends_on DATETIME NOT NULL,
    FOREIGN KEY (user_id) REFERENCES host_users (id) ON DELETE CASCADE
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- For whom, by a hash, links were asked for in the last hour, in milliseconds since 1970 by the clock of the database.
CREATE TABLE IF NOT EXISTS host_password_requests (
    kind VARCHAR(16) NOT NULL CHECK (kind IN ('user', 'network')),
    hash VARBINARY(32) NOT NULL CHECK (length(hash) = 32),
    asked_on BIGINT NOT NULL,
    PRIMARY KEY (kind, hash, asked_on),
    INDEX host_password_requests_by_time (asked_on)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
