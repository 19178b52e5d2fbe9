-- Locks that hold between the nodes of a cluster. A node knows nothing of the locks of another one,
-- but of two transactions that have changed the same row on two nodes, one is refused when it
-- commits. So whoever takes a turn at a row for the sake of what stands elsewhere changes it.

ALTER TABLE shop_meta ADD COLUMN turn bigint NOT NULL DEFAULT 0;
ALTER TABLE shop_orders ADD COLUMN turn bigint NOT NULL DEFAULT 0;
ALTER TABLE shop_vouchers ADD COLUMN turn bigint NOT NULL DEFAULT 0;
