-- What a client has called its request, beside what the host calls it. Every statement finds what an
-- earlier run, which was cut off, has done.
SET @there = (SELECT count(*) FROM information_schema.columns WHERE table_schema = DATABASE()
    AND table_name = 'host_audit' AND column_name = 'client_request_id');
SET @addition = IF(@there > 0, 'DO 0',
    'ALTER TABLE host_audit ADD COLUMN client_request_id VARCHAR(64),
        ADD INDEX host_audit_by_client_request (client_request_id)');
PREPARE addition FROM @addition;
EXECUTE addition;
DEALLOCATE PREPARE addition;
