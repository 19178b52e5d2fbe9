-- The key with which the hosts of a site sign the cookies of devices on which users have signed in. It is
-- created when it is needed first; see `identity/devices.rs`.
ALTER TABLE host_state ADD COLUMN IF NOT EXISTS device_key VARBINARY(64) CHECK (length(device_key) = 64);

-- Failed sign-ins are counted for more than names and addresses.
ALTER TABLE host_sign_in_failures MODIFY COLUMN kind VARCHAR(16) NOT NULL
    CHECK (kind IN ('name', 'address', 'client', 'device', 'session'));
