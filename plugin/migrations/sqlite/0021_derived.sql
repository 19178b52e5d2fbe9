-- What of the objects that follow from descriptions this database has: a number and a digest of all, which
-- are noted last, and each with its digest and the statement that removes it.
ALTER TABLE shop_meta ADD COLUMN derived_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE shop_meta ADD COLUMN derived_digest TEXT NOT NULL DEFAULT '';
CREATE TABLE shop_derived (
    name   TEXT NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    remove TEXT NOT NULL
) STRICT, WITHOUT ROWID;
