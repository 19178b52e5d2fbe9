-- When whoever has signed in has entered their password last: not yet, for those who have signed in
-- before there was this column.
ALTER TABLE host_sessions
    ADD COLUMN confirmed_on TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00';
