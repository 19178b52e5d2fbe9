-- The jobs of extensions: which host runs one, until when that is assured unless it is renewed, when
-- the last run ended, and whether the next one is to begin at once. Moments are milliseconds since
-- 1970 by the clock of the database.
CREATE TABLE IF NOT EXISTS host_jobs (
    extension VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    holder VARCHAR(64) NOT NULL DEFAULT '',
    held_until BIGINT NOT NULL DEFAULT 0,
    ended BIGINT NOT NULL DEFAULT 0,
    woken BOOLEAN NOT NULL DEFAULT FALSE CHECK (woken IN (0, 1)),
    PRIMARY KEY (extension, name)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
