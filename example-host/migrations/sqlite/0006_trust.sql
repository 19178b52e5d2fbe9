-- When whoever has signed in has entered their password last: not yet, for those who have signed in
-- before there was this column.
ALTER TABLE host_sessions ADD COLUMN confirmed_on TEXT NOT NULL DEFAULT '1970-01-01T00:00:00';

-- AUTOINCREMENT: the number of a removed group is never given to another one, because whoever has
-- noted it, as a form that is still open does, means the one before. A table cannot be given it
-- afterwards, so this one is made anew; what refers to its rows finds them again at the end.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE host_groups_before AS SELECT id, title, title_fold, parent_id FROM host_groups;
DROP TABLE host_groups;
CREATE TABLE host_groups (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    title_fold TEXT NOT NULL UNIQUE,
    parent_id INTEGER REFERENCES host_groups (id)
) STRICT;
INSERT INTO host_groups (id, title, title_fold, parent_id)
    SELECT id, title, title_fold, parent_id FROM host_groups_before ORDER BY id;
DROP TABLE host_groups_before;
