-- What `fairhold verify` reads, in one snapshot, on SQLite. The same names stand in ../postgres/verify.sql.
-- Queries named every_… are streamed: a pool may have more rows than there is memory.

-- name: verify_pool
SELECT org, key, config, version, status, open_size, overflow, numbers, arrivals, openings_made, units_made,
    round, first_place, last_place, due_at, log_seq, log_hash, updated_at
FROM fairhold_pools WHERE id = ?1;

-- name: every_pool
SELECT id, numbers FROM fairhold_pools ORDER BY id;

-- name: every_entry
SELECT seq, at, kind, booking, by, body, digest, hash FROM fairhold_log WHERE pool_id = ?1 ORDER BY seq;

-- name: put_back
-- Up to which entry of the log a booking that was put back goes on.
SELECT booking, max(seq) FROM fairhold_log WHERE pool_id = ?1 AND kind = 'PutBack' GROUP BY booking;

-- name: every_message
SELECT seq, part, kind, recipient, booking, state, attempts FROM fairhold_outbox WHERE pool_id = ?1 ORDER BY seq, part;

-- name: every_booking
SELECT {booking}, wants_key FROM fairhold_bookings WHERE pool_id = ?1 ORDER BY number;

-- name: every_live_offer
SELECT o.pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome, answered_at, part, told
FROM fairhold_offers AS o WHERE o.pool_id = ?1 AND outcome IS NULL ORDER BY booking, seq;

-- name: offers_of_bookings
SELECT o.pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome, answered_at, part, told
FROM json_each(?2) AS b JOIN fairhold_offers AS o ON o.pool_id = ?1 AND o.booking = b.value ORDER BY booking, seq;

-- name: offers_without_booking
SELECT o.booking, o.seq FROM fairhold_offers AS o
LEFT JOIN fairhold_bookings AS b ON b.pool_id = o.pool_id AND b.number = o.booking
WHERE o.pool_id = ?1 AND b.number IS NULL ORDER BY o.booking, o.seq LIMIT ?2;

-- name: every_unit
SELECT label, quota, ordinal, starts_at, attributes, closed, NULL FROM fairhold_units WHERE pool_id = ?1 ORDER BY ordinal;

-- name: every_taking
SELECT label, booking FROM fairhold_takings WHERE pool_id = ?1 ORDER BY label, booking;

-- name: every_opening
SELECT number, quota, unit, opened_at, state, tries, quantity, note FROM fairhold_openings
WHERE pool_id = ?1 ORDER BY number;

-- name: every_try
SELECT opening, booking FROM fairhold_tries WHERE pool_id = ?1 ORDER BY opening, booking;

-- name: every_quota
SELECT key, size, used, waiting, offered, aside, round FROM fairhold_quotas WHERE pool_id = ?1 ORDER BY key;

-- name: every_block
SELECT low, count FROM fairhold_line_blocks WHERE pool_id = ?1 ORDER BY low;

-- name: every_request
SELECT org, key, answer FROM fairhold_requests ORDER BY org, key;

-- name: rows_without_pool
-- What is left of pools that are gone, by table. Each table is leapt along from pool to pool, and only what is left
-- is counted: so it takes as long as there are pools, not rows.
WITH RECURSIVE
in_bookings (id) AS (
    SELECT min(pool_id) FROM fairhold_bookings
    UNION ALL SELECT (SELECT min(pool_id) FROM fairhold_bookings WHERE pool_id > in_bookings.id) FROM in_bookings WHERE id IS NOT NULL
),
in_quotas (id) AS (
    SELECT min(pool_id) FROM fairhold_quotas
    UNION ALL SELECT (SELECT min(pool_id) FROM fairhold_quotas WHERE pool_id > in_quotas.id) FROM in_quotas WHERE id IS NOT NULL
),
in_units (id) AS (
    SELECT min(pool_id) FROM fairhold_units
    UNION ALL SELECT (SELECT min(pool_id) FROM fairhold_units WHERE pool_id > in_units.id) FROM in_units WHERE id IS NOT NULL
),
in_takings (id) AS (
    SELECT min(pool_id) FROM fairhold_takings
    UNION ALL SELECT (SELECT min(pool_id) FROM fairhold_takings WHERE pool_id > in_takings.id) FROM in_takings WHERE id IS NOT NULL
),
in_offers (id) AS (
    SELECT min(pool_id) FROM fairhold_offers
    UNION ALL SELECT (SELECT min(pool_id) FROM fairhold_offers WHERE pool_id > in_offers.id) FROM in_offers WHERE id IS NOT NULL
),
in_openings (id) AS (
    SELECT min(pool_id) FROM fairhold_openings
    UNION ALL SELECT (SELECT min(pool_id) FROM fairhold_openings WHERE pool_id > in_openings.id) FROM in_openings WHERE id IS NOT NULL
),
in_log (id) AS (
    SELECT min(pool_id) FROM fairhold_log
    UNION ALL SELECT (SELECT min(pool_id) FROM fairhold_log WHERE pool_id > in_log.id) FROM in_log WHERE id IS NOT NULL
),
in_outbox (id) AS (
    SELECT min(pool_id) FROM fairhold_outbox
    UNION ALL SELECT (SELECT min(pool_id) FROM fairhold_outbox WHERE pool_id > in_outbox.id) FROM in_outbox WHERE id IS NOT NULL
)
SELECT t.name, t.id, t.count FROM (
    SELECT 'bookings' AS name, id, (SELECT count(*) FROM fairhold_bookings WHERE pool_id = in_bookings.id) AS count FROM in_bookings
        WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fairhold_pools AS p WHERE p.id = in_bookings.id)
    UNION ALL SELECT 'quotas', id, (SELECT count(*) FROM fairhold_quotas WHERE pool_id = in_quotas.id) FROM in_quotas
        WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fairhold_pools AS p WHERE p.id = in_quotas.id)
    UNION ALL SELECT 'units', id, (SELECT count(*) FROM fairhold_units WHERE pool_id = in_units.id) FROM in_units
        WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fairhold_pools AS p WHERE p.id = in_units.id)
    UNION ALL SELECT 'takings', id, (SELECT count(*) FROM fairhold_takings WHERE pool_id = in_takings.id) FROM in_takings
        WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fairhold_pools AS p WHERE p.id = in_takings.id)
    UNION ALL SELECT 'offers', id, (SELECT count(*) FROM fairhold_offers WHERE pool_id = in_offers.id) FROM in_offers
        WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fairhold_pools AS p WHERE p.id = in_offers.id)
    UNION ALL SELECT 'openings', id, (SELECT count(*) FROM fairhold_openings WHERE pool_id = in_openings.id) FROM in_openings
        WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fairhold_pools AS p WHERE p.id = in_openings.id)
    UNION ALL SELECT 'log', id, (SELECT count(*) FROM fairhold_log WHERE pool_id = in_log.id) FROM in_log
        WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fairhold_pools AS p WHERE p.id = in_log.id)
    UNION ALL SELECT 'outbox', id, (SELECT count(*) FROM fairhold_outbox WHERE pool_id = in_outbox.id) FROM in_outbox
        WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fairhold_pools AS p WHERE p.id = in_outbox.id)
) AS t ORDER BY t.id, t.name;
