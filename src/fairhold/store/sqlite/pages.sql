-- Named queries for what pages need beside the rest.

-- name: origins_of
SELECT id, origin, created_at FROM fairhold_embed_origins WHERE org = ?1 ORDER BY origin;

-- name: put_origin
-- The first time counts: allowed twice is allowed once.
INSERT INTO fairhold_embed_origins (org, id, origin, created_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (org, origin) DO UPDATE SET origin = excluded.origin RETURNING id, origin, created_at;

-- name: drop_origin
DELETE FROM fairhold_embed_origins WHERE org = ?1 AND id = ?2 RETURNING 1;
