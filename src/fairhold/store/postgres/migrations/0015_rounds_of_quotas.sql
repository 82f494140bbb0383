-- A round is a pass along the line of one quota; until now all quotas of a pool began one together.
ALTER TABLE quotas ADD COLUMN round BIGINT NOT NULL DEFAULT 1;
UPDATE quotas SET round = (SELECT p.round FROM pools AS p WHERE p.id = quotas.pool_id)
WHERE EXISTS (SELECT 1 FROM pools AS p WHERE p.id = quotas.pool_id AND p.round > 1);
