-- Webhooks: addresses that get what changes in the store. Each is a place in the feed of changes: nothing is written
-- for an event that arrives. All numbers of moments are seconds since 1970 by the clock of the database.
CREATE TABLE shop_webhooks (
    shop_webhook_id INTEGER PRIMARY KEY AUTOINCREMENT,
    url             TEXT NOT NULL,
    description     TEXT NOT NULL DEFAULT '',
    -- The types and the events, separated by commas; empty is all.
    types           TEXT NOT NULL DEFAULT '',
    events          TEXT NOT NULL DEFAULT '',
    payload         TEXT NOT NULL,
    enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    -- Whose rights it has, and the scopes of the token; empty is no limit.
    user_id         INTEGER NOT NULL DEFAULT 0,
    scopes          TEXT NOT NULL DEFAULT '',
    created_on      TEXT NOT NULL,
    modified_on     TEXT NOT NULL,
    version         INTEGER NOT NULL DEFAULT 1
) STRICT;

-- What only the store knows of each: how far it has come, and its secrets. Clients change the webhook, and its sender
-- this, which does not count in the version.
CREATE TABLE shop_webhook_places (
    webhook_id      INTEGER PRIMARY KEY REFERENCES shop_webhooks ON DELETE CASCADE,
    state           TEXT NOT NULL,
    disabled_reason TEXT NOT NULL DEFAULT '',
    -- The secret, and the one before until its end, as the host has encrypted them.
    sealed          TEXT NOT NULL DEFAULT '',
    former_sealed   TEXT NOT NULL DEFAULT '',
    former_until    INTEGER NOT NULL DEFAULT 0,
    -- The place in the feed up to which everything is sent, or noted to be sent again.
    feed            TEXT NOT NULL,
    place           INTEGER NOT NULL,
    -- How often it has failed since the last success, and since when; 0 is not.
    failures        INTEGER NOT NULL DEFAULT 0,
    failing_since   INTEGER NOT NULL DEFAULT 0,
    -- Before this moment nothing is sent.
    resume_at       INTEGER NOT NULL DEFAULT 0,
    -- How many mails its user got since then.
    mails           INTEGER NOT NULL DEFAULT 0,
    last_success_on TEXT,
    last_failure_on TEXT,
    last_failure    TEXT NOT NULL DEFAULT ''
) STRICT;

-- Events that have failed: a newer one of the same record takes the place of an older one.
CREATE TABLE shop_webhook_retries (
    webhook_id INTEGER NOT NULL REFERENCES shop_webhooks ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    record     INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    event      TEXT NOT NULL,
    attempts   INTEGER NOT NULL,
    -- When it is tried again; 0 once it is given up.
    due_at     INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, kind, record)
) STRICT, WITHOUT ROWID;

-- What was sent in the last days, and what came of it.
CREATE TABLE shop_webhook_deliveries (
    shop_webhook_delivery_id INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id               INTEGER NOT NULL REFERENCES shop_webhooks ON DELETE CASCADE,
    event                    TEXT NOT NULL,
    record_type              TEXT NOT NULL,
    record_id                INTEGER,
    attempt                  INTEGER NOT NULL,
    status                   INTEGER,
    duration_ms              INTEGER NOT NULL,
    error                    TEXT,
    attempted_on             TEXT NOT NULL,
    next_attempt_on          TEXT
) STRICT;
CREATE INDEX shop_webhook_deliveries_of ON shop_webhook_deliveries (webhook_id, shop_webhook_delivery_id);
CREATE INDEX shop_webhook_deliveries_on ON shop_webhook_deliveries (attempted_on, shop_webhook_delivery_id);

-- Whether a queued change has made the record, and the place at which a record came to be; 0 is not known.
ALTER TABLE shop_change_queue ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
ALTER TABLE shop_changes ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
