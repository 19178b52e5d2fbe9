-- When whoever has signed in has entered their password last: not yet, for those who have signed in
-- before there was this column. Finds what an earlier run, which was cut off, has done.
SET @there = (SELECT count(*) FROM information_schema.columns WHERE table_schema = DATABASE()
    AND table_name = 'host_sessions' AND column_name = 'confirmed_on');
SET @addition = IF(@there > 0, 'DO 0',
    'ALTER TABLE host_sessions
        ADD COLUMN confirmed_on DATETIME NOT NULL DEFAULT ''1970-01-01 00:00:00''');
PREPARE addition FROM @addition;
EXECUTE addition;
DEALLOCATE PREPARE addition;
