-- What a client has called its request, beside what the host calls it.
ALTER TABLE host_audit ADD COLUMN client_request_id TEXT COLLATE "C";
CREATE INDEX host_audit_by_client_request ON host_audit (client_request_id);
