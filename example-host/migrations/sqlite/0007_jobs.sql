-- The jobs of extensions: which host runs one, until when that is assured unless it is renewed, when
-- the last run ended, and whether the next one is to begin at once. Moments are milliseconds since
-- 1970 by the clock of the database.
CREATE TABLE host_jobs (
    extension TEXT NOT NULL,
    name TEXT NOT NULL,
    holder TEXT NOT NULL DEFAULT '',
    held_until INTEGER NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0,
    woken INTEGER NOT NULL DEFAULT 0 CHECK (woken IN (0, 1)),
    PRIMARY KEY (extension, name)
) STRICT;
