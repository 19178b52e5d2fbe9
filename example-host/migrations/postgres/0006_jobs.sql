-- The jobs of extensions: which host runs one, until when that is assured unless it is renewed, when
-- the last run ended, and whether the next one is to begin at once. Moments are milliseconds since
-- 1970 by the clock of the database.
CREATE TABLE host_jobs (
    extension TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    holder TEXT NOT NULL DEFAULT '',
    held_until BIGINT NOT NULL DEFAULT 0,
    ended BIGINT NOT NULL DEFAULT 0,
    woken BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (extension, name)
);
