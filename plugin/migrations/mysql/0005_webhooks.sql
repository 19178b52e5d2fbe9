-- Webhooks: addresses that get what changes in the store. Each is a place in the feed of changes: nothing is written
-- for an event that arrives. All numbers of moments are seconds since 1970 by the clock of the database.
CREATE TABLE shop_webhooks (
    shop_webhook_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    url             varchar(2048) NOT NULL,
    description     varchar(255) NOT NULL DEFAULT '',
    -- The types and the events, separated by commas; empty is all.
    types           varchar(4096) NOT NULL DEFAULT '',
    events          varchar(255) NOT NULL DEFAULT '',
    payload         varchar(16) NOT NULL,
    enabled         int NOT NULL CHECK (enabled IN (0, 1)),
    -- Whose rights it has, and the scopes of the token; empty is no limit.
    user_id         bigint NOT NULL DEFAULT 0,
    scopes          mediumtext NOT NULL DEFAULT (''),
    created_on      datetime NOT NULL,
    modified_on     datetime NOT NULL,
    version         bigint NOT NULL DEFAULT 1
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- What only the store knows of each: how far it has come, and its secrets. Clients change the webhook, and its sender
-- this, which does not count in the version.
CREATE TABLE shop_webhook_places (
    webhook_id      bigint NOT NULL PRIMARY KEY,
    state           varchar(16) NOT NULL,
    disabled_reason varchar(16) NOT NULL DEFAULT '',
    -- The secret, and the one before until its end, as the host has encrypted them.
    sealed          mediumtext NOT NULL DEFAULT (''),
    former_sealed   mediumtext NOT NULL DEFAULT (''),
    former_until    bigint NOT NULL DEFAULT 0,
    -- The place in the feed up to which everything is sent, or noted to be sent again.
    feed            varchar(16) NOT NULL,
    place           bigint NOT NULL,
    -- How often it has failed since the last success, and since when; 0 is not.
    failures        bigint NOT NULL DEFAULT 0,
    failing_since   bigint NOT NULL DEFAULT 0,
    -- Before this moment nothing is sent.
    resume_at       bigint NOT NULL DEFAULT 0,
    -- How many mails its user got since then.
    mails           int NOT NULL DEFAULT 0,
    last_success_on datetime,
    last_failure_on datetime,
    last_failure    varchar(255) NOT NULL DEFAULT '',
    FOREIGN KEY (webhook_id) REFERENCES shop_webhooks (shop_webhook_id) ON DELETE CASCADE
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- Events that have failed: a newer one of the same record takes the place of an older one.
CREATE TABLE shop_webhook_retries (
    webhook_id bigint NOT NULL,
    kind       varchar(64) NOT NULL,
    record     bigint NOT NULL,
    seq        bigint NOT NULL,
    event      varchar(16) NOT NULL,
    attempts   bigint NOT NULL,
    -- When it is tried again; 0 once it is given up.
    due_at     bigint NOT NULL,
    PRIMARY KEY (webhook_id, kind, record),
    FOREIGN KEY (webhook_id) REFERENCES shop_webhooks (shop_webhook_id) ON DELETE CASCADE
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- What was sent in the last days, and what came of it.
CREATE TABLE shop_webhook_deliveries (
    shop_webhook_delivery_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    webhook_id               bigint NOT NULL,
    event                    varchar(80) NOT NULL,
    record_type              varchar(64) NOT NULL,
    record_id                bigint,
    attempt                  bigint NOT NULL,
    status                   bigint,
    duration_ms              bigint NOT NULL,
    error                    varchar(16),
    attempted_on             datetime NOT NULL,
    next_attempt_on          datetime,
    FOREIGN KEY (webhook_id) REFERENCES shop_webhooks (shop_webhook_id) ON DELETE CASCADE
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE INDEX shop_webhook_deliveries_of ON shop_webhook_deliveries (webhook_id, shop_webhook_delivery_id);
CREATE INDEX shop_webhook_deliveries_on ON shop_webhook_deliveries (attempted_on, shop_webhook_delivery_id);

-- Whether a queued change has made the record, and the place at which a record came to be; 0 is not known.
ALTER TABLE shop_change_queue ADD COLUMN created int NOT NULL DEFAULT 0;
ALTER TABLE shop_changes ADD COLUMN created bigint NOT NULL DEFAULT 0;
