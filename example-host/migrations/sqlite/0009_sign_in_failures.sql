-- The failed sign-ins to the administration, which all hosts of a site count together: for each name and
-- each address, by its hash, how many there were and when the last one was, in milliseconds since 1970 by
-- the clock of the database. The table is bounded; see `identity/failures.rs`.
CREATE TABLE host_sign_in_failures (
    kind TEXT NOT NULL CHECK (kind IN ('name', 'address')),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    failures INTEGER NOT NULL,
    last_on INTEGER NOT NULL,
    PRIMARY KEY (kind, hash)
) STRICT;
CREATE INDEX host_sign_in_failures_by_time ON host_sign_in_failures (kind, last_on);
