-- Whether an extension keeps its tables in a database of its own. Without that address it is not started,
-- because it would create empty tables in the host's database.
ALTER TABLE host_extensions ADD COLUMN own_database INTEGER NOT NULL DEFAULT 0 CHECK (own_database IN (0, 1));
