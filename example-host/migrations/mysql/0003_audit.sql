-- Who has changed what. No row refers to another table: users, groups and records go, and what they
-- have done stays. Nothing of what a request carried is kept.
CREATE TABLE IF NOT EXISTS host_audit (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    done_on DATETIME NOT NULL,
    -- 0 where nobody had signed in, as on the command line.
    user_id BIGINT NOT NULL,
    -- As it was then.
    username VARCHAR(150) NOT NULL,
    username_fold VARCHAR(450) NOT NULL,
    -- What the user has shown: which session or token, by the beginning of its hash.
    means VARCHAR(64) NOT NULL,
    origin VARCHAR(32) NOT NULL,
    method VARCHAR(16) NOT NULL,
    route VARCHAR(150) NOT NULL,
    what TEXT NOT NULL,
    record_type VARCHAR(64) NOT NULL,
    record_id VARCHAR(150) NOT NULL,
    status BIGINT NOT NULL,
    request_id VARCHAR(64) NOT NULL,
    INDEX host_audit_by_time (done_on, id),
    INDEX host_audit_by_user (username_fold, done_on, id),
    INDEX host_audit_by_origin (origin, done_on, id),
    INDEX host_audit_by_type (record_type, done_on, id),
    INDEX host_audit_by_record (record_id, done_on, id),
    INDEX host_audit_by_request (request_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
