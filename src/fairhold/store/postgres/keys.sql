-- name: key_by_digest
SELECT id, org, role, name FROM fairhold_api_keys WHERE digest = $1 AND revoked_at IS NULL;

-- name: key_is_good
SELECT id FROM fairhold_api_keys WHERE id = $1 AND revoked_at IS NULL;

-- name: key_by_request
SELECT id, org, name, role, hint, created_at, last_used_at, revoked_at FROM fairhold_api_keys WHERE org = $1 AND request = $2;

-- name: read_keys
SELECT id, org, name, role, hint, created_at, last_used_at, revoked_at FROM fairhold_api_keys
WHERE org = $1 AND id > $2 ORDER BY id LIMIT $3;

-- name: any_key
SELECT id FROM fairhold_api_keys WHERE revoked_at IS NULL LIMIT 1;

-- name: insert_key
INSERT INTO fairhold_api_keys (id, org, name, role, digest, hint, request, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: revoke_key
-- The first time counts.
UPDATE fairhold_api_keys SET revoked_at = coalesce(revoked_at, $3) WHERE org = $1 AND id = $2
RETURNING id, org, name, role, hint, created_at, last_used_at, revoked_at;

-- name: touch_keys
UPDATE fairhold_api_keys AS k SET last_used_at = greatest(k.last_used_at, x.at)
FROM unnest($1::text[], $2::bigint[]) AS x (id, at) WHERE k.id = x.id;

-- name: org_stats
-- What all pools of an org add up to: pools, waiting, live offers, seats taken, live holds, seats held.
WITH mine AS (SELECT id FROM fairhold_pools WHERE org = $1),
tallies AS (
    SELECT coalesce(sum(q.waiting), 0)::bigint AS waiting, coalesce(sum(q.offered), 0)::bigint AS offered,
        coalesce(sum(q.used), 0)::bigint AS used
    FROM mine JOIN fairhold_quotas AS q ON q.pool_id = mine.id
),
holds AS (
    SELECT count(*) AS live, coalesce(sum(b.quantity), 0)::bigint AS seats
    FROM mine JOIN fairhold_bookings AS b ON b.pool_id = mine.id
    WHERE b.expires_at IS NOT NULL AND b.expires_at > $2 AND b.state = 'held'
)
SELECT (SELECT count(*) FROM mine), t.waiting, t.offered, t.used, h.live, h.seats FROM tallies AS t, holds AS h;

-- name: standing_figures
-- Over all orgs: live holds, bookings in line, the longest line, live offers, how late the next due is,
-- messages that are due, how late the first of them is.
SELECT
    (SELECT count(*) FROM fairhold_pools AS p JOIN fairhold_bookings AS b ON b.pool_id = p.id
        WHERE b.expires_at IS NOT NULL AND b.expires_at > $1 AND b.state = 'held'),
    (SELECT coalesce(sum(waiting), 0)::bigint FROM fairhold_quotas),
    (SELECT coalesce(max(n), 0)::bigint FROM (SELECT sum(waiting) AS n FROM fairhold_quotas GROUP BY pool_id) AS lines),
    (SELECT coalesce(sum(offered), 0)::bigint FROM fairhold_quotas),
    coalesce($1 - (SELECT min(due_at) FROM fairhold_pools WHERE due_at IS NOT NULL), 0)::bigint,
    (SELECT count(*) FROM fairhold_outbox WHERE state = 'pending'),
    coalesce($1 - (SELECT min(due_at) FROM fairhold_outbox WHERE state = 'pending'), 0)::bigint;
