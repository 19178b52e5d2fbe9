-- Whether an extension keeps its tables in a database of its own. Without that address it is not started,
-- because it would create empty tables in the host's database.
ALTER TABLE host_extensions ADD COLUMN IF NOT EXISTS own_database BOOLEAN NOT NULL DEFAULT FALSE CHECK (own_database IN (0, 1));
