-- Named queries for reading what is committed. {booking} stands for the columns named so in queries.sql.

-- name: find_pool
SELECT id FROM fairhold_pools WHERE org = ?1 AND key = ?2;

-- name: pool_org
SELECT org FROM fairhold_pools WHERE id = ?1;

-- name: read_pools
SELECT id, org, key, config, due_at, round, numbers, log_seq, created_at, updated_at FROM fairhold_pools
WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?3;

-- name: read_pool
SELECT id, org, key, config, due_at, round, numbers, log_seq, created_at, updated_at FROM fairhold_pools WHERE id = ?1;

-- name: read_pool_now
-- The same with its tallies: a row for each quota.
SELECT p.id, p.org, p.key, p.config, p.due_at, p.round, p.numbers, p.log_seq, p.created_at, p.updated_at,
    q.pool_id, q.key, q.used, q.waiting, q.offered, q.aside, q.round
FROM fairhold_pools AS p JOIN fairhold_quotas AS q ON q.pool_id = p.id WHERE p.id = ?1;

-- name: pools_at
SELECT id, org, key, config, due_at, round, numbers, log_seq, created_at, updated_at FROM fairhold_pools
WHERE id IN (SELECT value FROM json_each(?1));

-- name: units_at
-- All units of some pools, each behind its pool, with who has them.
SELECT u.pool_id, u.label, u.quota, u.ordinal, u.starts_at, u.attributes, u.closed, t.booking
FROM fairhold_units AS u LEFT JOIN fairhold_takings AS t ON t.pool_id = u.pool_id AND t.label = u.label
WHERE u.pool_id IN (SELECT value FROM json_each(?1)) AND NOT u.closed ORDER BY u.pool_id, u.ordinal;

-- name: openings_at
-- The openings of some pools that go on or wait for staff, each behind its pool.
SELECT pool_id, number, quota, unit, opened_at, state, tries, quantity, note FROM fairhold_openings INDEXED BY fairhold_opening_live
WHERE pool_id IN (SELECT value FROM json_each(?1)) AND (state = 'open' OR state = 'freed' OR state = 'handed_back')
ORDER BY pool_id, number;

-- name: pools_of_org
-- The pools of an org, with how many bookings each has had.
SELECT id, numbers FROM fairhold_pools WHERE org = ?1;

-- name: last_taken
-- Those who came last of who has seats in a quota, the last first, with their seats.
SELECT number, CASE WHEN state = 'offered' THEN offer_quantity ELSE quantity END
FROM fairhold_bookings WHERE pool_id = ?1 AND quota = ?2 AND (state = 'offered' OR state = 'held' OR state = 'confirmed')
ORDER BY arrival DESC, number DESC LIMIT ?3;

-- name: read_line
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND state = 'waiting' AND place > ?2 ORDER BY place LIMIT ?3;

-- name: line_place_at
-- The place of the booking at a position, counted from 0.
SELECT place FROM fairhold_bookings WHERE pool_id = ?1 AND state = 'waiting' ORDER BY place LIMIT 1 OFFSET ?2;

-- name: position_of
-- The position of one booking: whole blocks before its own, and its rank in that.
WITH mine AS MATERIALIZED (
    SELECT state, place, position, (
        SELECT low FROM fairhold_line_blocks WHERE pool_id = ?1 AND low <= fairhold_bookings.place ORDER BY low DESC LIMIT 1) AS low
    FROM fairhold_bookings WHERE pool_id = ?1 AND number = ?2)
SELECT CASE WHEN state <> 'waiting' THEN position ELSE
    (SELECT coalesce(sum(count), 0) FROM fairhold_line_blocks WHERE pool_id = ?1 AND low < mine.low)
    + (SELECT count(*) FROM fairhold_bookings AS w WHERE w.pool_id = ?1 AND w.state = 'waiting'
        AND w.place >= mine.low AND w.place <= mine.place) END
FROM mine;

-- name: read_bookings
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND number > ?2
    AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR party_id = ?4)
ORDER BY number LIMIT ?5;

-- name: read_log
SELECT seq, at, kind, booking, by, body, digest, hash FROM fairhold_log
WHERE pool_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3;

-- name: read_log_of
SELECT seq, at, kind, booking, by, body, digest, hash FROM fairhold_log INDEXED BY fairhold_log_booking
WHERE pool_id = ?1 AND booking = ?2 AND booking IS NOT NULL ORDER BY seq LIMIT ?3;

-- name: read_log_kinds
SELECT seq, at, kind, booking, by, body, digest, hash FROM fairhold_log
WHERE pool_id = ?1 AND seq > ?2 AND kind IN (SELECT value FROM json_each(?3)) ORDER BY seq LIMIT ?4;

-- name: log_hash_at
SELECT hash FROM fairhold_log WHERE pool_id = ?1 AND seq = ?2;

-- name: read_outbox
SELECT pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error
FROM fairhold_outbox WHERE pool_id = ?1 AND (seq, part) > (?2, ?3) ORDER BY seq, part LIMIT ?4;

-- name: count_states
SELECT state, count(*), coalesce(sum(CASE WHEN state = 'offered' THEN offer_quantity ELSE quantity END), 0)
FROM fairhold_bookings WHERE pool_id = ?1 GROUP BY state;

-- name: count_holds
-- Live holds, holds past their time, held seats, holds that end before an instant.
SELECT
    coalesce(sum(CASE WHEN expires_at > ?2 THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN expires_at <= ?2 THEN 1 ELSE 0 END), 0),
    coalesce(sum(quantity), 0),
    coalesce(sum(CASE WHEN expires_at > ?2 AND expires_at <= ?3 THEN 1 ELSE 0 END), 0)
FROM fairhold_bookings INDEXED BY fairhold_booking_due WHERE pool_id = ?1 AND expires_at IS NOT NULL AND state = 'held';

-- name: count_offers
SELECT coalesce(outcome, 'live'), count(*) FROM fairhold_offers WHERE pool_id = ?1 GROUP BY outcome;

-- name: overdue_bookings
SELECT b.pool_id, b.number, b.expires_at FROM fairhold_pools AS p JOIN fairhold_bookings AS b ON b.pool_id = p.id
WHERE p.due_at <= ?1 AND b.expires_at IS NOT NULL AND b.expires_at <= ?1 ORDER BY b.expires_at LIMIT ?2;

-- name: all_pool_ids
SELECT id FROM fairhold_pools ORDER BY id;
