-- Named queries of keeping a database in order, on PostgreSQL.

-- name: database_now
-- What the database's clock says, to compare. On PostgreSQL it is the server's.
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- name: latest_change
-- Up to when the pools have come.
SELECT max(updated_at) FROM fairhold_pools;

-- name: pulse
-- Asked now and then of a connection that only listens.
SELECT 1;

-- name: log_end
-- Where a pool's log ends.
SELECT log_seq, log_hash, updated_at FROM fairhold_pools WHERE id = $1;

-- name: bookings_of_person
-- In all pools of an org. Said for each index apart.
SELECT b.pool_id, b.number FROM fairhold_bookings AS b
WHERE b.party_id = $2 AND state IN ('waiting', 'offered')
    AND (SELECT org FROM fairhold_pools WHERE id = b.pool_id) = $1
UNION ALL
SELECT b.pool_id, b.number FROM fairhold_bookings AS b
WHERE b.party_id = $2 AND state = 'held'
    AND (SELECT org FROM fairhold_pools WHERE id = b.pool_id) = $1
UNION ALL
SELECT b.pool_id, b.number FROM fairhold_bookings AS b
WHERE b.party_id = $2 AND state IN ('confirmed', 'declined', 'expired', 'cancelled', 'closed')
    AND (SELECT org FROM fairhold_pools WHERE id = b.pool_id) = $1
ORDER BY 1, 2;

-- name: forget_party
-- Put nobody in the place of a booking's party.
UPDATE fairhold_bookings SET party_id = v3, party = v4, answers = v5, source = NULL
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS x (v1, v2, v3, v4, v5)
WHERE fairhold_bookings.pool_id = v1 AND fairhold_bookings.number = v2;

-- name: redact_entries
-- The body alone: the digest, of which the chain is made, stays.
UPDATE fairhold_log SET body = v3 FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS x (v1, v2, v3)
WHERE fairhold_log.pool_id = v1 AND fairhold_log.seq = v2;

-- name: empty_messages
-- Messages about some bookings lose what they say; those still to be sent cannot be sent any more.
UPDATE fairhold_outbox SET facts = '{}', error = '', state = CASE state WHEN 'pending' THEN 'dead' ELSE state END
WHERE pool_id = $1 AND booking = ANY($2::bigint[]) RETURNING 1;

-- name: dismiss_emptied
-- Nobody can do anything about a dead letter that says nothing any more.
INSERT INTO fairhold_dismissals (pool_id, seq, part, by, at)
SELECT o.pool_id, o.seq, o.part, $3::text, $4::bigint FROM fairhold_outbox AS o
WHERE o.pool_id = $1 AND o.booking = ANY($2::bigint[]) AND (o.state = 'dead' OR o.state = 'not_sent')
ON CONFLICT (pool_id, seq, part) DO NOTHING;

-- name: empty_deliveries
-- What a server said of somebody it did not take goes, too.
UPDATE fairhold_deliveries SET error = '' WHERE pool_id = $1 AND error <> '' AND (seq, part) IN (
    SELECT o.seq, o.part FROM fairhold_outbox AS o WHERE o.pool_id = $1 AND o.booking = ANY($2::bigint[])
);

-- name: move_log_end
UPDATE fairhold_pools SET log_seq = $2, log_hash = $3, updated_at = $4 WHERE id = $1;

-- name: messages_about
SELECT pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error
FROM fairhold_outbox WHERE pool_id = $1 AND booking = $2 ORDER BY seq, part;

-- name: bookings_over
-- Bookings that ended before an instant, or whose units have all begun by then; or all, where all is over.
SELECT number, party, answers FROM fairhold_bookings WHERE pool_id = $1 AND number > $2
    AND ((state NOT IN ('waiting', 'offered', 'held', 'confirmed') AND updated_at < $3)
        OR $4::boolean
        OR (state = 'confirmed' AND units <> '[]' AND NOT EXISTS (
            SELECT 1 FROM jsonb_array_elements_text(fairhold_bookings.units::jsonb) AS l (value)
            JOIN fairhold_units AS u ON u.pool_id = fairhold_bookings.pool_id AND u.label = l.value
            WHERE u.starts_at IS NULL OR u.starts_at >= $3)))
ORDER BY number LIMIT $5;

-- name: prune_messages
-- Messages that were dealt with before an instant lose what they say.
UPDATE fairhold_outbox SET facts = '{}', error = ''
WHERE pool_id = $1 AND state <> 'pending' AND created_at < $2 AND (facts <> '{}' OR error <> '')
RETURNING 1;

-- name: prune_deliveries
-- What a server said of somebody it did not take.
UPDATE fairhold_deliveries SET error = '' WHERE pool_id = $1 AND state <> 'pending' AND at < $2 AND error <> '';

-- name: read_retention
SELECT people_days, messages_days, by, updated_at, pruned_at FROM fairhold_retention WHERE org = $1;

-- name: put_retention
INSERT INTO fairhold_retention (org, people_days, messages_days, by, updated_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (org) DO UPDATE SET people_days = excluded.people_days, messages_days = excluded.messages_days,
    by = excluded.by, updated_at = excluded.updated_at, pruned_at = NULL;

-- name: orgs_to_prune
-- Orgs that have a policy, and for which it was not seen to since an instant.
SELECT org FROM fairhold_retention WHERE (people_days IS NOT NULL OR messages_days IS NOT NULL)
    AND (pruned_at IS NULL OR pruned_at <= $1) ORDER BY org;

-- name: claim_pruning
-- Of several processes that would see to it, one does.
UPDATE fairhold_retention SET pruned_at = $2 WHERE org = $1 AND (pruned_at IS NULL OR pruned_at <= $3) RETURNING 1;

-- name: count_old_requests
SELECT count(*) FROM fairhold_requests WHERE created_at < $1;
