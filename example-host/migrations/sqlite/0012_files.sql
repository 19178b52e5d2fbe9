-- Whether an extension keeps its tables in a file beside this one. While that file is missing the site is not
-- opened, because the extension would create an empty one.
ALTER TABLE host_extensions ADD COLUMN has_file INTEGER NOT NULL DEFAULT 0 CHECK (has_file IN (0, 1));
