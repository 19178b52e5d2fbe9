-- The key with which the hosts of a site sign the cookies of devices on which users have signed in. It is
-- created when it is needed first; see `identity/devices.rs`.
ALTER TABLE host_state ADD COLUMN device_key BYTEA CHECK (length(device_key) = 64);

-- Failed sign-ins are counted for more than names and addresses.
ALTER TABLE host_sign_in_failures DROP CONSTRAINT host_sign_in_failures_kind_check;
ALTER TABLE host_sign_in_failures ADD CONSTRAINT host_sign_in_failures_kind_check
    CHECK (kind IN ('name', 'address', 'client', 'device', 'session'));
