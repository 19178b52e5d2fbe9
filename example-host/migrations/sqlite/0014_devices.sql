-- The key with which the hosts of a site sign the cookies of devices on which users have signed in. It is
-- created when it is needed first; see `identity/devices.rs`.
ALTER TABLE host_state ADD COLUMN device_key BLOB CHECK (length(device_key) = 64);

-- Failed sign-ins are counted for more than names and addresses. A check cannot be changed, so the table is
-- made anew.
CREATE TABLE host_sign_in_failures_after (
    kind TEXT NOT NULL CHECK (kind IN ('name', 'address', 'client', 'device', 'session')),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    failures INTEGER NOT NULL,
    last_on INTEGER NOT NULL,
    PRIMARY KEY (kind, hash)
) STRICT;
INSERT INTO host_sign_in_failures_after (kind, hash, failures, last_on)
    SELECT kind, hash, failures, last_on FROM host_sign_in_failures;
DROP TABLE host_sign_in_failures;
ALTER TABLE host_sign_in_failures_after RENAME TO host_sign_in_failures;
CREATE INDEX host_sign_in_failures_by_time ON host_sign_in_failures (kind, last_on);
