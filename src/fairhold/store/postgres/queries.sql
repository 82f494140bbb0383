-- Named queries of the PostgreSQL store. The same names stand in ../sqlite/queries.sql. Lists come in as
-- arrays; bulk statements take one array for each column, as a literal (see bulk.py).
-- {booking} stands for the columns named so below.

-- columns: booking
fairhold_bookings.pool_id, number, reference, party_id, party, quota, quantity, state, place, arrival, priority, position,
    wants, asked_price, price, units, offer_seq, offer_quantity, attempts, round, offered_at, held_at, expires_at,
    confirmed_at, created_at, updated_at, split_from, answers, door, reach;

-- Locking and loading ----------------------------------------------------------------------------------

-- name: lock_pools
-- The pools as they are, locked in the order of their ids. One that is locked from outside is passed over.
SELECT id, version, status, numbers, arrivals, openings_made, units_made, round, first_place, last_place,
    due_at, log_seq, log_hash, updated_at
FROM fairhold_pools WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: look_at_pools
-- The pools as they are, without a lock.
SELECT id, version, status, numbers, arrivals, openings_made, units_made, round, first_place, last_place,
    due_at, log_seq, log_hash, updated_at
FROM fairhold_pools WHERE id = ANY($1) ORDER BY id;

-- name: wait_for_pools
-- The same, waiting for whoever holds them.
SELECT id FROM fairhold_pools WHERE id = ANY($1) ORDER BY id FOR UPDATE;

-- name: pool_configs
SELECT id, version, config FROM fairhold_pools WHERE id = ANY($1);

-- name: tallies
SELECT pool_id, key, used, waiting, offered, aside, round FROM fairhold_quotas
WHERE pool_id = ANY($1);

-- name: bookings_by_number
SELECT {booking}
FROM unnest($1::bigint[], $2::bigint[]) AS x (pool, n) JOIN fairhold_bookings ON pool_id = pool AND number = n;

-- name: bookings_of_parties
-- The bookings of a party that are still to be decided: in line, offered or held. LATERAL and LIMIT make the
-- planner look each party up by index, also when its statistics are of an empty table.
SELECT found.* FROM unnest($1::bigint[], $2::text[]) AS x (pool, who) CROSS JOIN LATERAL (
    (SELECT {booking}
    FROM fairhold_bookings WHERE pool_id = x.pool AND party_id = x.who AND state IN ('waiting', 'offered') LIMIT 2)
    UNION ALL
    (SELECT {booking}
    FROM fairhold_bookings WHERE pool_id = x.pool AND party_id = x.who AND state = 'held' LIMIT 1000)
) AS found;

-- name: log_of_bookings
-- Those entries of the log about some bookings that are of these kinds, in order.
SELECT kind, body FROM fairhold_log WHERE pool_id = $1 AND booking = ANY ($2::bigint[]) AND kind = ANY ($3::text[]) ORDER BY seq;

-- name: bookings_due
-- What is due in a pool, the first to fall due first, and one row more to tell what comes after.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND expires_at IS NOT NULL AND expires_at <= $2
ORDER BY expires_at, number LIMIT $3;

-- name: due_after
-- The first deadline after an instant.
SELECT min(expires_at) FROM fairhold_bookings WHERE pool_id = $1 AND expires_at IS NOT NULL AND expires_at > $2;

-- name: bookings_taking
-- The first to arrive of those who take room in a quota.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND quota = $2 AND state IN ('offered', 'held', 'confirmed')
ORDER BY arrival, number LIMIT $3;

-- name: line_end
-- The last in line, from the back.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND state = 'waiting' ORDER BY place DESC LIMIT $2;

-- name: bookings_behind
-- The next in line behind a place.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND state = 'waiting' AND place > $2 ORDER BY place LIMIT $3;

-- name: offered_behind
-- The next behind a place who have a live offer, and keep their places.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND state = 'offered' AND place > $2 ORDER BY place LIMIT $3;

-- name: bookings_offered
-- Those with a live offer, who keep their places. The order tells PostgreSQL which index to go along.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND expires_at IS NOT NULL AND state = 'offered' ORDER BY expires_at LIMIT $2;

-- name: takers
-- Of those who take room in some quotas: first the offers, then the others, of each the latest to arrive.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND state IN ('offered', 'held', 'confirmed') AND quota = ANY($2)
ORDER BY state = 'offered' DESC, arrival DESC, number DESC LIMIT $3;

-- name: line_groups
-- The groups of a line: each distinct (quota, quantity, round, wants), found by leaping from one to the next.
WITH RECURSIVE leap (quota, quantity, round, wants_key) AS (
    SELECT * FROM (
        SELECT quota, quantity, round, wants_key FROM fairhold_bookings
        WHERE pool_id = $1 AND state = 'waiting'
        ORDER BY quota, quantity, round, wants_key LIMIT 1
    ) AS first
    UNION ALL
    SELECT b.quota, b.quantity, b.round, b.wants_key FROM leap CROSS JOIN LATERAL (
        SELECT n.quota, n.quantity, n.round, n.wants_key FROM fairhold_bookings AS n
        WHERE n.pool_id = $1 AND n.state = 'waiting'
            AND (n.quota, n.quantity, n.round, n.wants_key)
                > (leap.quota, leap.quantity, leap.round, leap.wants_key)
        ORDER BY n.quota, n.quantity, n.round, n.wants_key LIMIT 1
    ) AS b
)
SELECT quota, quantity, round, wants_key FROM leap LIMIT $2;

-- name: group_members
-- The next members of one group, in the order of the line. Said as a range of the index line_groups, whose
-- order no other index has.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = $1 AND state = 'waiting'
    AND (quota, quantity, round, wants_key, place) > ($2, $3, $4, $5, $6)
    AND (quota, quantity, round, wants_key) <= ($2, $3, $4, $5)
ORDER BY quota, quantity, round, wants_key, place LIMIT $7;

-- name: line_prefix
-- The first places of the line.
SELECT place FROM fairhold_bookings WHERE pool_id = $1 AND state = 'waiting' ORDER BY place LIMIT $2;

-- name: waiting_before
-- How many wait before each of some places: whole blocks, and the rest of one block. Who is in the same block as
-- another is counted from there, so that a crowd that looks where it stands goes through each block once. The
-- order tells PostgreSQL which index to go along.
WITH asked AS (
    SELECT x.pool, x.place,
        (SELECT max(b.low) FROM fairhold_line_blocks AS b WHERE b.pool_id = x.pool AND b.low <= x.place) AS low
    FROM unnest($1::bigint[], $2::bigint[]) AS x (pool, place)
), stretches AS (
    SELECT pool, place, low, coalesce(lag(place) OVER (PARTITION BY pool, low ORDER BY place), low) AS since
    FROM asked
), counted AS (
    SELECT s.pool, s.place, s.low, (SELECT count(*) FROM (SELECT 1 FROM fairhold_bookings AS w WHERE w.pool_id = s.pool
        AND w.state = 'waiting' AND w.place >= s.since AND w.place < s.place ORDER BY w.place) AS x) AS here
    FROM stretches AS s
), blocks AS (
    SELECT d.pool, d.low, (SELECT coalesce(sum(b.count), 0) FROM fairhold_line_blocks AS b
        WHERE b.pool_id = d.pool AND b.low < d.low) AS before
    FROM (SELECT DISTINCT pool, low FROM asked) AS d
)
SELECT c.pool, c.place, (b.before + sum(c.here) OVER (PARTITION BY c.pool, c.low ORDER BY c.place))::bigint
FROM counted AS c JOIN blocks AS b ON b.pool = c.pool AND b.low = c.low;

-- name: units
-- All units of a pool, with who has them; the free ones first, where there are more than can be looked at.
SELECT u.label, u.quota, u.ordinal, u.starts_at, u.attributes, u.closed, t.booking
FROM fairhold_units AS u LEFT JOIN fairhold_takings AS t ON t.pool_id = u.pool_id AND t.label = u.label
WHERE u.pool_id = $1 AND NOT u.closed ORDER BY t.booking IS NOT NULL, u.ordinal LIMIT $2;

-- name: units_by_label
SELECT u.label, u.quota, u.ordinal, u.starts_at, u.attributes, u.closed, t.booking
FROM fairhold_units AS u LEFT JOIN fairhold_takings AS t ON t.pool_id = u.pool_id AND t.label = u.label
WHERE u.pool_id = $1 AND u.label = ANY($2);

-- name: openings_live
SELECT number, quota, unit, opened_at, state, tries, quantity, note FROM fairhold_openings
WHERE pool_id = $1 AND state IN ('open', 'freed', 'handed_back') ORDER BY number;

-- name: tries_of
SELECT opening, booking FROM fairhold_tries WHERE pool_id = $1 AND opening = ANY($2);

-- name: offers_by_key
SELECT o.pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome, answered_at, part, told
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (p, b, s)
JOIN fairhold_offers AS o ON o.pool_id = p AND o.booking = b AND o.seq = s;

-- name: requests_by_key
SELECT org, r.key, digest, answer FROM unnest($1::text[], $2::text[]) AS x (o, k) JOIN fairhold_requests AS r ON r.org = o AND r.key = k;

-- name: due_pools
-- The pools with something due, the longest overdue first.
SELECT id FROM fairhold_pools WHERE due_at IS NOT NULL AND due_at <= $1 ORDER BY due_at LIMIT $2;

-- name: next_due
SELECT min(due_at) FROM fairhold_pools WHERE due_at IS NOT NULL;

-- Writing ----------------------------------------------------------------------------------------------

-- name: insert_pool
INSERT INTO fairhold_pools (id, org, key, config, version, status, open_size, overflow, numbers, arrivals, openings_made,
    units_made, round, first_place, last_place, due_at, log_seq, log_hash, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20);

-- name: insert_blocks
INSERT INTO fairhold_line_blocks (pool_id, low, count) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]);

-- name: update_config
UPDATE fairhold_pools SET config = $2, version = $3, status = $4, open_size = $5, overflow = $6 WHERE id = $1;

-- name: update_pools
-- Conditional on the last entry of the log that the decisions were made on.
UPDATE fairhold_pools SET overflow = v2, numbers = v3, arrivals = v4, openings_made = v5, units_made = v6, round = v7,
    first_place = v8, last_place = v9, due_at = v10, log_seq = v11, log_hash = v12, updated_at = v13
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[], $13::bigint[], $14::bytea[])
    AS x (v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14)
WHERE fairhold_pools.id = v1 AND fairhold_pools.log_hash = v14;

-- name: upsert_quotas
INSERT INTO fairhold_quotas (pool_id, key, size, used, waiting, offered, aside, round)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
ON CONFLICT (pool_id, key) DO UPDATE SET size = excluded.size, used = excluded.used,
    waiting = excluded.waiting, offered = excluded.offered, aside = excluded.aside, round = excluded.round;

-- name: insert_bookings
INSERT INTO fairhold_bookings (pool_id, number, reference, party_id, party, answers, quota, quantity, state, place, arrival,
    priority, position, wants, wants_key, asked_price, price, units, offer_seq, offer_quantity, attempts, round,
    offered_at, held_at, expires_at, confirmed_at, created_at, updated_at, split_from, source, door, reach)
SELECT * FROM unnest(
    $1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::json[], $6::json[], $7::text[], $8::bigint[],
    $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::json[], $15::text[],
    $16::json[], $17::json[], $18::json[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[],
    $23::bigint[], $24::bigint[], $25::bigint[], $26::bigint[], $27::bigint[], $28::bigint[], $29::bigint[],
    $30::text[], $31::text[], $32::text[]);

-- name: insert_holds
-- New bookings that got room at once: they never stood in line and were never asked.
INSERT INTO fairhold_bookings (pool_id, number, reference, party_id, party, answers, quota, quantity, state, place, arrival,
    priority, position, wants, wants_key, asked_price, price, units, offer_seq, offer_quantity, attempts, round,
    offered_at, held_at, expires_at, confirmed_at, created_at, updated_at, split_from, source, door, reach)
SELECT v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, 0, NULL, NULL, '', v12, v12, v13, 0, 0, 0, 0,
    NULL, v14, v15, v16, v14, v14, NULL, v17, v18, ''
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::json[], $6::json[], $7::text[], $8::bigint[],
    $9::text[], $10::bigint[], $11::bigint[], $12::json[], $13::json[], $14::bigint[], $15::bigint[], $16::bigint[],
    $17::text[], $18::text[])
    AS x (v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18);

-- name: update_bookings
-- Conditional on the state and offer that the decision was made on, whatever else the code believes. Where it
-- came from is forgotten once it is decided.
UPDATE fairhold_bookings SET quantity = v5, state = v6, place = v7, arrival = v8, position = v9, price = v10, units = v11,
    offer_seq = v12, offer_quantity = v13, attempts = v14, round = v15, offered_at = v16, held_at = v17,
    expires_at = v18, confirmed_at = v19, updated_at = v20,
    source = CASE WHEN v6 IN ('waiting', 'offered', 'held') THEN source END
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::json[], $11::json[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[])
    AS x (v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18, v19, v20)
WHERE fairhold_bookings.pool_id = v1 AND fairhold_bookings.number = v2 AND fairhold_bookings.state = v3 AND fairhold_bookings.offer_seq = v4;

-- name: step_out
-- Give bookings of the line places that nobody else can have, until they get their new ones.
UPDATE fairhold_bookings SET place = v3 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (v1, v2, v3)
WHERE fairhold_bookings.pool_id = v1 AND fairhold_bookings.number = v2;

-- name: change_details
-- What parties say of themselves, the price of seats that are waited for again, and how a party is told of
-- offers: with that goes the group in which it stands in line.
UPDATE fairhold_bookings SET party = v3, answers = v4, asked_price = v5, reach = v6, wants_key = v7
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    AS x (v1, v2, v3, v4, v5, v6, v7)
WHERE fairhold_bookings.pool_id = v1 AND fairhold_bookings.number = v2;

-- name: insert_offers
INSERT INTO fairhold_offers (pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome,
    answered_at, part, told)
SELECT * FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
    $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::text[]);

-- name: answer_offers
-- Conditional on its being live and, if it is claimed, within its window, whatever else the code believes. Where
-- the outcome is null it goes on, and all that is new is whether its party was told.
UPDATE fairhold_offers SET outcome = v4, answered_at = v5, part = v6, told = v7
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[])
    AS x (v1, v2, v3, v4, v5, v6, v7)
WHERE fairhold_offers.pool_id = v1 AND fairhold_offers.booking = v2 AND fairhold_offers.seq = v3 AND fairhold_offers.outcome IS NULL
    AND (v4 IS NULL OR v4 <> 'claimed' OR fairhold_offers.expires_at > v5);

-- name: upsert_openings
INSERT INTO fairhold_openings (pool_id, number, quota, unit, opened_at, state, tries, quantity, note)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::text[])
ON CONFLICT (pool_id, number) DO UPDATE SET state = excluded.state, tries = excluded.tries,
    quantity = excluded.quantity, note = excluded.note;

-- name: insert_tries
INSERT INTO fairhold_tries (pool_id, opening, booking)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) ON CONFLICT DO NOTHING;

-- name: delete_tries
DELETE FROM fairhold_tries AS t USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (v1, v2, v3)
WHERE t.pool_id = v1 AND t.opening = v2 AND t.booking = v3;

-- name: upsert_units
INSERT INTO fairhold_units (pool_id, label, quota, ordinal, starts_at, attributes, closed)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[])
ON CONFLICT (pool_id, label) DO UPDATE SET quota = excluded.quota, ordinal = excluded.ordinal,
    starts_at = excluded.starts_at, attributes = excluded.attributes, closed = excluded.closed;

-- name: delete_takings
DELETE FROM fairhold_takings AS t USING unnest($1::bigint[], $2::text[], $3::bigint[]) AS x (v1, v2, v3)
WHERE t.pool_id = v1 AND t.label = v2 AND t.booking = v3;

-- name: insert_takings
INSERT INTO fairhold_takings (pool_id, label, booking)
SELECT * FROM unnest(
    $1::bigint[], $2::text[], $3::bigint[]);

-- name: insert_log
INSERT INTO fairhold_log (pool_id, seq, at, kind, booking, by, body, digest, hash)
SELECT * FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::json[],
    $8::bytea[], $9::bytea[]);

-- name: insert_outbox
INSERT INTO fairhold_outbox (pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error)
SELECT pool, seq, part, kind, recipient, booking, facts, at, 'pending', due_at, 0, ''
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::json[],
    $8::bigint[], $9::bigint[]) AS x (pool, seq, part, kind, recipient, booking, facts, at, due_at);

-- name: insert_requests
INSERT INTO fairhold_requests (org, key, digest, answer, created_at)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::bytea[], $4::json[], $5::bigint[]);

-- name: change_block
-- Count more or fewer in the blocks that some places are in.
UPDATE fairhold_line_blocks AS b SET count = b.count + d.delta
FROM (
    SELECT v1 AS pool_id, block.low AS low, sum(v3)::bigint AS delta
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (v1, v2, v3) CROSS JOIN LATERAL (
        SELECT low FROM fairhold_line_blocks WHERE pool_id = v1 AND low <= v2 ORDER BY low DESC LIMIT 1) AS block
    GROUP BY v1, block.low
) AS d
WHERE b.pool_id = d.pool_id AND b.low = d.low;

-- name: blocks_out_of_shape
-- Of the blocks that some places are in, those that have grown too long or too short.
SELECT DISTINCT x.pool, b.low, b.count FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
    AS x (pool, place, long, short)
CROSS JOIN LATERAL (
    SELECT low, count FROM fairhold_line_blocks WHERE pool_id = x.pool AND low <= x.place ORDER BY low DESC LIMIT 1) AS b
WHERE b.count > x.long OR b.count < x.short;

-- name: block_before
SELECT low, count FROM fairhold_line_blocks WHERE pool_id = $1 AND low < $2 ORDER BY low DESC LIMIT 1;

-- name: block_middle
-- The place of the waiting booking that stands so far into a block.
SELECT place FROM fairhold_bookings WHERE pool_id = $1 AND state = 'waiting' AND place >= $2
ORDER BY place LIMIT 1 OFFSET $3;

-- name: set_block
UPDATE fairhold_line_blocks SET count = $3 WHERE pool_id = $1 AND low = $2;

-- name: delete_block
DELETE FROM fairhold_line_blocks WHERE pool_id = $1 AND low = $2;

-- name: notify
-- Tell other processes that the next due time has changed or messages wait; delivered when the transaction commits.
SELECT pg_notify('fairhold:' || {schema}, what) FROM unnest($1::text[]) AS x (what);

-- name: channel
-- Return the channel that `notify` speaks on. Channels are shared by a database, so its name has the schema.
SELECT 'fairhold:' || {schema};

-- name: forget_requests
-- Forget some idempotency keys of before an instant; a row for each.
DELETE FROM fairhold_requests WHERE ctid = ANY (ARRAY (SELECT ctid FROM fairhold_requests WHERE created_at < $1 LIMIT $2))
RETURNING 1;

-- name: get_secret
SELECT value FROM fairhold_secrets WHERE name = $1;

-- name: put_secret
INSERT INTO fairhold_secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: durable_commits
-- A commit waits for the disk, where it would not by default. What more a server does, such as waiting for its
-- standby, stays as it is.
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';

-- name: timeline
-- On which timeline a server that leads writes: every promotion begins a new one. A file of the log is named for it.
SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;

-- Schema -----------------------------------------------------------------------------------------------

-- name: tables
SELECT tablename::text FROM pg_tables WHERE schemaname = {schema};

-- name: migrations_applied
SELECT version, digest FROM fairhold_schema ORDER BY version;

-- name: insert_migration
INSERT INTO fairhold_schema (version, digest, applied_at) VALUES ($1, $2, $3);

-- name: migration_lock
SELECT pg_advisory_xact_lock($1);
