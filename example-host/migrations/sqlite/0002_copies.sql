-- Set while a site is being copied into this database: half a site must not be served.
ALTER TABLE host_state ADD COLUMN copying INTEGER NOT NULL DEFAULT 0 CHECK (copying IN (0, 1));
