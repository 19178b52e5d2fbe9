-- What of the objects that follow from descriptions this database has: a number and a digest of all, which
-- are noted last, and each with its digest and the statement that removes it.
ALTER TABLE shop_meta
    ADD COLUMN derived_number bigint NOT NULL DEFAULT 0,
    ADD COLUMN derived_digest varchar(64) COLLATE "C" NOT NULL DEFAULT '';
CREATE TABLE shop_derived (
    name   varchar(128) COLLATE "C" NOT NULL PRIMARY KEY,
    digest varchar(64) COLLATE "C" NOT NULL,
    remove varchar(255) COLLATE "C" NOT NULL
);
