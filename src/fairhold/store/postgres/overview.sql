-- Named queries for what staff see of a pool, or of all of them, at once.

-- name: needs_openings
-- What was handed back in an org's pools, the oldest first.
SELECT o.pool_id, o.number, o.quota, o.unit, o.opened_at, o.state, o.tries, o.quantity, o.note
FROM fairhold_pools AS p JOIN fairhold_openings AS o ON o.pool_id = p.id
WHERE p.org = $1 AND o.state IN ('open', 'freed', 'handed_back') AND o.state = 'handed_back'
ORDER BY o.opened_at, o.pool_id, o.number LIMIT $2;

-- name: needs_holds
-- The holds of an org's pools that end between two instants, the next first.
SELECT b.pool_id, b.number FROM fairhold_pools AS p JOIN fairhold_bookings AS b ON b.pool_id = p.id
WHERE p.org = $1 AND b.state = 'held' AND b.expires_at IS NOT NULL AND b.expires_at > $2 AND b.expires_at <= $3
ORDER BY b.expires_at, b.pool_id, b.number LIMIT $4;

-- name: needs_holds_count
-- How many holds of an org's pools end between two instants; more than so many are not counted.
SELECT count(*) FROM (
    SELECT 1 FROM fairhold_pools AS p JOIN fairhold_bookings AS b ON b.pool_id = p.id
    WHERE p.org = $1 AND b.state = 'held' AND b.expires_at IS NOT NULL AND b.expires_at > $2 AND b.expires_at <= $3
    LIMIT $4) AS found;

-- name: read_next_to_end
-- The bookings of a pool in a state that has a deadline, those that end first.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND expires_at IS NOT NULL AND state = $2
ORDER BY expires_at, number LIMIT $3;

-- name: quota_states
-- How many seats of each quota are offered and held: both have a deadline, by which they are found.
SELECT quota, state, sum(CASE WHEN state = 'offered' THEN offer_quantity ELSE quantity END)::bigint
FROM fairhold_bookings
WHERE pool_id = $1 AND expires_at IS NOT NULL AND state IN ('offered', 'held') GROUP BY quota, state;

-- name: read_bookings_before
-- The bookings of a pool before a number, the newest first.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND number < $2 AND ($3::text IS NULL OR state = $3::text)
ORDER BY number DESC LIMIT $4;

-- name: read_outbox_before
-- What was put into a pool's outbox before a message, the newest first.
SELECT pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error
FROM fairhold_outbox WHERE pool_id = $1 AND (seq, part) < ($2, $3) ORDER BY seq DESC, part DESC LIMIT $4;

-- name: org_changes
-- How much has happened in all pools of an org: while it stays, nothing has changed.
SELECT coalesce(sum(log_seq), 0)::bigint FROM fairhold_pools WHERE org = $1;

-- name: pools_lately
-- The pools of an org, with how many bookings each has had; those with the latest news first.
SELECT id, numbers FROM fairhold_pools WHERE org = $1 ORDER BY updated_at DESC, id;

-- name: latest_pools
-- The pools of an org, those with the latest news first. No index is kept for the order, which every booking
-- would pay for.
SELECT id, org, key, config, due_at, round, numbers, log_seq, created_at, updated_at FROM fairhold_pools
WHERE org = $1 ORDER BY updated_at DESC, id LIMIT $2 OFFSET $3;

-- name: search_parties
-- The parties in which some patterns occur, of bookings of some pools between two numbers.
SELECT pool_id, number, party FROM fairhold_bookings
WHERE pool_id = ANY($1::bigint[]) AND number > $2 AND number <= $3
    AND party ILIKE $4 AND party ILIKE $5 AND party ILIKE $6;

-- name: messages_by_key
SELECT pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (pool, s, p)
JOIN fairhold_outbox ON pool_id = x.pool AND seq = x.s AND part = x.p;

-- name: deliveries_by_key
-- How some messages fared at each of their targets.
SELECT d.pool_id, d.seq, d.part, d.target, d.state, d.attempts, d.at, d.error
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (pool, s, p)
JOIN fairhold_deliveries AS d ON d.pool_id = x.pool AND d.seq = x.s AND d.part = x.p ORDER BY d.target;

-- name: dismissals_by_key
-- Who has put some messages away, and when.
SELECT d.pool_id, d.seq, d.part, d.by, d.at
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (pool, s, p)
JOIN fairhold_dismissals AS d ON d.pool_id = x.pool AND d.seq = x.s AND d.part = x.p;

-- name: closed_units
-- The units of a pool that staff have closed, the latest first.
SELECT label, quota, ordinal, starts_at, attributes, closed, NULL::bigint FROM fairhold_units
WHERE pool_id = $1 AND closed ORDER BY ordinal DESC LIMIT $2;

-- name: needs_reach
-- Those in line of an org whom no offer can reach, the first to come first.
SELECT b.pool_id, b.number FROM fairhold_pools AS p JOIN fairhold_bookings AS b ON b.pool_id = p.id
WHERE p.org = $1 AND b.reach <> '' AND b.reach <> 'staff' AND b.state = 'waiting'
ORDER BY b.pool_id, b.number LIMIT $2;

-- name: needs_telling
-- The live offers of an org of which staff tell the party, and no channel has, those that end first.
SELECT o.pool_id, o.booking FROM fairhold_pools AS p JOIN fairhold_offers AS o ON o.pool_id = p.id
WHERE p.org = $1 AND o.outcome IS NULL AND o.told = 'staff' AND o.expires_at > $2
ORDER BY o.expires_at, o.pool_id, o.booking LIMIT $3;

-- name: needs_letters
-- The letters that no channel could carry, nobody has dismissed, and that tell people what was done without them.
SELECT o.pool_id, o.seq, o.part, o.kind, o.recipient, o.booking, o.facts, o.created_at, o.state, o.due_at,
    o.attempts, o.error
FROM fairhold_pools AS p JOIN fairhold_outbox AS o ON o.pool_id = p.id
WHERE p.org = $1 AND o.state = 'not_sent' AND o.kind IN ('promoted', 'put_back', 'demoted')
    AND NOT EXISTS (
        SELECT 1 FROM fairhold_dismissals AS d WHERE d.pool_id = o.pool_id AND d.seq = o.seq AND d.part = o.part
    )
ORDER BY o.pool_id, o.seq, o.part LIMIT $2;

-- name: needs_places
-- The letters of a place that was given by itself and is held, or was until its time was over, and that have not come:
-- no channel took them so far, or ever will, and nobody has dismissed them.
SELECT o.pool_id, o.seq, o.part, o.kind, o.recipient, o.booking, o.facts, o.created_at, o.state, o.due_at,
    o.attempts, o.error
FROM fairhold_pools AS p JOIN fairhold_outbox AS o ON o.pool_id = p.id
JOIN fairhold_bookings AS b ON b.pool_id = o.pool_id AND b.number = o.booking
WHERE p.org = $1 AND o.kind = 'promoted'
    AND (o.state = 'dead' OR o.state = 'not_sent' OR (o.state = 'pending' AND o.error <> ''))
    AND (b.state = 'held' OR b.state = 'expired') AND b.held_at = o.created_at
    AND NOT EXISTS (
        SELECT 1 FROM fairhold_dismissals AS d WHERE d.pool_id = o.pool_id AND d.seq = o.seq AND d.part = o.part
    )
ORDER BY o.pool_id, o.seq, o.part LIMIT $2;
