-- Named queries of the SQLite store. The same names stand in ../postgres/queries.sql. Lists come in as
-- JSON arrays, because SQLite has no arrays; statements on many rows run once for each. {booking} stands for the
-- columns named so below.

-- columns: booking
fairhold_bookings.pool_id, number, reference, party_id, party, quota, quantity, state, place, arrival, priority, position,
    wants, asked_price, price, units, offer_seq, offer_quantity, attempts, round, offered_at, held_at, expires_at,
    confirmed_at, created_at, updated_at, split_from, answers, door, reach;

-- Locking and loading ----------------------------------------------------------------------------------

-- name: lock_pools
-- The pools as they are. On SQLite the one writer has locked everything already.
SELECT id, version, status, numbers, arrivals, openings_made, units_made, round, first_place, last_place,
    due_at, log_seq, log_hash, updated_at
FROM fairhold_pools WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id;

-- name: look_at_pools
-- The pools as they are, without a lock.
SELECT id, version, status, numbers, arrivals, openings_made, units_made, round, first_place, last_place,
    due_at, log_seq, log_hash, updated_at
FROM fairhold_pools WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id;

-- name: wait_for_pools
-- The same, waiting for whoever holds them.
SELECT id FROM fairhold_pools WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id;

-- name: pool_configs
SELECT id, version, config FROM fairhold_pools WHERE id IN (SELECT value FROM json_each(?1));

-- name: tallies
SELECT pool_id, key, used, waiting, offered, aside, round FROM fairhold_quotas
WHERE pool_id IN (SELECT value FROM json_each(?1));

-- name: bookings_by_number
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND number IN (SELECT value FROM json_each(?2));

-- name: bookings_of_parties
-- The bookings of a party that are still to be decided: in line, offered or held.
SELECT {booking}
FROM fairhold_bookings INDEXED BY fairhold_one_place_in_line
WHERE pool_id = ?1 AND party_id IN (SELECT value FROM json_each(?2)) AND state IN ('waiting', 'offered')
UNION ALL
SELECT {booking}
FROM fairhold_bookings INDEXED BY fairhold_booking_holds
WHERE pool_id = ?1 AND party_id IN (SELECT value FROM json_each(?2)) AND state = 'held';

-- name: log_of_bookings
-- Those entries of the log about some bookings that are of these kinds, in order.
SELECT kind, body FROM fairhold_log WHERE pool_id = ?1 AND booking IN (SELECT value FROM json_each(?2)) AND kind IN (SELECT value FROM json_each(?3)) ORDER BY seq;

-- name: bookings_due
-- What is due in a pool, the first to fall due first, and one row more to tell what comes after.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND expires_at IS NOT NULL AND expires_at <= ?2
ORDER BY expires_at, number LIMIT ?3;

-- name: due_after
-- The first deadline after an instant.
SELECT min(expires_at) FROM fairhold_bookings WHERE pool_id = ?1 AND expires_at IS NOT NULL AND expires_at > ?2;

-- name: bookings_taking
-- The first to arrive of those who take room in a quota.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND quota = ?2 AND (state = 'offered' OR state = 'held' OR state = 'confirmed')
ORDER BY arrival, number LIMIT ?3;

-- name: line_end
-- The last in line, from the back.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND state = 'waiting' ORDER BY place DESC LIMIT ?2;

-- name: bookings_behind
-- The next in line behind a place.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND state = 'waiting' AND place > ?2 ORDER BY place LIMIT ?3;

-- name: offered_behind
-- The next behind a place who have a live offer, and keep their places.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND state = 'offered' AND place > ?2 ORDER BY place LIMIT ?3;

-- name: bookings_offered
-- Those with a live offer, who keep their places.
SELECT {booking}
FROM fairhold_bookings INDEXED BY fairhold_booking_due
WHERE pool_id = ?1 AND expires_at IS NOT NULL AND state = 'offered' LIMIT ?2;

-- name: takers
-- Of those who take room in some quotas: first the offers, then the others, of each the latest to arrive.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND (state = 'offered' OR state = 'held' OR state = 'confirmed')
    AND quota IN (SELECT value FROM json_each(?2))
ORDER BY state = 'offered' DESC, arrival DESC, number DESC LIMIT ?3;

-- name: line_groups
-- The groups of a line: each distinct (quota, quantity, round, wants), found by leaping from one to the next.
-- SQLite does not use the index for a comparison of rows here, so the leap is made column by column.
WITH RECURSIVE leap (quota, quantity, round, wants_key) AS (
    SELECT * FROM (
        SELECT quota, quantity, round, wants_key FROM fairhold_bookings INDEXED BY fairhold_line_groups
        WHERE pool_id = ?1 AND state = 'waiting'
        ORDER BY quota, quantity, round, wants_key LIMIT 1
    )
    UNION ALL
    SELECT b.quota, b.quantity, b.round, b.wants_key FROM leap JOIN fairhold_bookings AS b
    ON b.pool_id = ?1 AND b.number = coalesce(
        (SELECT n.number FROM fairhold_bookings AS n INDEXED BY fairhold_line_groups
        WHERE n.pool_id = ?1 AND n.state = 'waiting' AND n.quota = leap.quota
            AND n.quantity = leap.quantity AND n.round = leap.round AND n.wants_key > leap.wants_key
        ORDER BY n.wants_key LIMIT 1),
        (SELECT n.number FROM fairhold_bookings AS n INDEXED BY fairhold_line_groups
        WHERE n.pool_id = ?1 AND n.state = 'waiting' AND n.quota = leap.quota
            AND n.quantity = leap.quantity AND n.round > leap.round
        ORDER BY n.round, n.wants_key LIMIT 1),
        (SELECT n.number FROM fairhold_bookings AS n INDEXED BY fairhold_line_groups
        WHERE n.pool_id = ?1 AND n.state = 'waiting' AND n.quota = leap.quota AND n.quantity > leap.quantity
        ORDER BY n.quantity, n.round, n.wants_key LIMIT 1),
        (SELECT n.number FROM fairhold_bookings AS n INDEXED BY fairhold_line_groups
        WHERE n.pool_id = ?1 AND n.state = 'waiting' AND n.quota > leap.quota
        ORDER BY n.quota, n.quantity, n.round, n.wants_key LIMIT 1))
)
SELECT quota, quantity, round, wants_key FROM leap LIMIT ?2;

-- name: group_members
-- The next members of one group, in the order of the line.
SELECT {booking}
FROM fairhold_bookings WHERE pool_id = ?1 AND state = 'waiting'
    AND quota = ?2 AND quantity = ?3 AND round = ?4 AND wants_key = ?5 AND place > ?6
ORDER BY place LIMIT ?7;

-- name: line_prefix
-- The first places of the line.
SELECT place FROM fairhold_bookings WHERE pool_id = ?1 AND state = 'waiting' ORDER BY place LIMIT ?2;

-- name: waiting_before
-- How many wait before each of some places: whole blocks, and the rest of one block. Who is in the same block as
-- another is counted from there, so that a crowd that looks where it stands goes through each block once.
WITH asked AS (
    SELECT x.place, (SELECT max(b.low) FROM fairhold_line_blocks AS b WHERE b.pool_id = ?1 AND b.low <= x.place) AS low
    FROM (SELECT value AS place FROM json_each(?2)) AS x
), stretches AS (
    SELECT place, low, coalesce(lag(place) OVER (PARTITION BY low ORDER BY place), low) AS since FROM asked
), counted AS (
    SELECT s.place, s.low, (SELECT count(*) FROM fairhold_bookings AS w WHERE w.pool_id = ?1 AND w.state = 'waiting'
        AND w.place >= s.since AND w.place < s.place) AS here
    FROM stretches AS s
), blocks AS (
    SELECT d.low, (SELECT coalesce(sum(b.count), 0) FROM fairhold_line_blocks AS b WHERE b.pool_id = ?1 AND b.low < d.low)
        AS before
    FROM (SELECT DISTINCT low FROM asked) AS d
)
SELECT ?1, c.place, b.before + sum(c.here) OVER (PARTITION BY c.low ORDER BY c.place)
FROM counted AS c JOIN blocks AS b ON b.low = c.low;

-- name: units
-- All units of a pool, with who has them; the free ones first, where there are more than can be looked at.
SELECT u.label, u.quota, u.ordinal, u.starts_at, u.attributes, u.closed, t.booking
FROM fairhold_units AS u LEFT JOIN fairhold_takings AS t ON t.pool_id = u.pool_id AND t.label = u.label
WHERE u.pool_id = ?1 AND NOT u.closed ORDER BY t.booking IS NOT NULL, u.ordinal LIMIT ?2;

-- name: units_by_label
SELECT u.label, u.quota, u.ordinal, u.starts_at, u.attributes, u.closed, t.booking
FROM fairhold_units AS u LEFT JOIN fairhold_takings AS t ON t.pool_id = u.pool_id AND t.label = u.label
WHERE u.pool_id = ?1 AND u.label IN (SELECT value FROM json_each(?2));

-- name: openings_live
SELECT number, quota, unit, opened_at, state, tries, quantity, note FROM fairhold_openings INDEXED BY fairhold_opening_live
WHERE pool_id = ?1 AND (state = 'open' OR state = 'freed' OR state = 'handed_back') ORDER BY number;

-- name: tries_of
SELECT opening, booking FROM fairhold_tries WHERE pool_id = ?1 AND opening IN (SELECT value FROM json_each(?2));

-- name: offers_by_key
SELECT pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome, answered_at, part, told
FROM fairhold_offers WHERE pool_id = ?1 AND booking = ?2 AND seq = ?3;

-- name: requests_by_key
SELECT org, key, digest, answer FROM fairhold_requests WHERE org = ?1 AND key IN (SELECT value FROM json_each(?2));

-- name: due_pools
-- The pools with something due, the longest overdue first.
SELECT id FROM fairhold_pools WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?2;

-- name: next_due
SELECT min(due_at) FROM fairhold_pools WHERE due_at IS NOT NULL;

-- Writing ----------------------------------------------------------------------------------------------

-- name: insert_pool
INSERT INTO fairhold_pools (id, org, key, config, version, status, open_size, overflow, numbers, arrivals, openings_made,
    units_made, round, first_place, last_place, due_at, log_seq, log_hash, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20);

-- name: insert_blocks
INSERT INTO fairhold_line_blocks (pool_id, low, count) VALUES (?1, ?2, ?3);

-- name: update_config
UPDATE fairhold_pools SET config = ?2, version = ?3, status = ?4, open_size = ?5, overflow = ?6 WHERE id = ?1;

-- name: update_pools
-- Conditional on the last entry of the log that the decisions were made on.
UPDATE fairhold_pools SET overflow = ?2, numbers = ?3, arrivals = ?4, openings_made = ?5, units_made = ?6, round = ?7,
    first_place = ?8, last_place = ?9, due_at = ?10, log_seq = ?11, log_hash = ?12, updated_at = ?13
WHERE id = ?1 AND log_hash = ?14;

-- name: upsert_quotas
INSERT INTO fairhold_quotas (pool_id, key, size, used, waiting, offered, aside, round)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (pool_id, key) DO UPDATE SET size = excluded.size, used = excluded.used,
    waiting = excluded.waiting, offered = excluded.offered, aside = excluded.aside, round = excluded.round;

-- name: insert_bookings
INSERT INTO fairhold_bookings (pool_id, number, reference, party_id, party, answers, quota, quantity, state, place, arrival,
    priority, position, wants, wants_key, asked_price, price, units, offer_seq, offer_quantity, attempts, round,
    offered_at, held_at, expires_at, confirmed_at, created_at, updated_at, split_from, source, door, reach)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
    ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32);

-- name: insert_holds
-- New bookings that got room at once: they never stood in line and were never asked.
INSERT INTO fairhold_bookings (pool_id, number, reference, party_id, party, answers, quota, quantity, state, place, arrival,
    priority, position, wants, wants_key, asked_price, price, units, offer_seq, offer_quantity, attempts, round,
    offered_at, held_at, expires_at, confirmed_at, created_at, updated_at, split_from, source, door, reach)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, NULL, NULL, '', ?12, ?12, ?13, 0, 0, 0, 0,
    NULL, ?14, ?15, ?16, ?14, ?14, NULL, ?17, ?18, '');

-- name: update_bookings
-- Conditional on the state and offer that the decision was made on, whatever else the code believes. Where it
-- came from is forgotten once it is decided.
UPDATE fairhold_bookings SET quantity = ?5, state = ?6, place = ?7, arrival = ?8, position = ?9, price = ?10, units = ?11,
    offer_seq = ?12, offer_quantity = ?13, attempts = ?14, round = ?15, offered_at = ?16, held_at = ?17,
    expires_at = ?18, confirmed_at = ?19, updated_at = ?20,
    source = CASE WHEN ?6 = 'waiting' OR ?6 = 'offered' OR ?6 = 'held' THEN source END
WHERE pool_id = ?1 AND number = ?2 AND state = ?3 AND offer_seq = ?4;

-- name: step_out
-- Give bookings of the line places that nobody else can have, until they get their new ones.
UPDATE fairhold_bookings SET place = ?3 WHERE pool_id = ?1 AND number = ?2;

-- name: change_details
-- What parties say of themselves, the price of seats that are waited for again, and how a party is told of
-- offers: with that goes the group in which it stands in line.
UPDATE fairhold_bookings SET party = ?3, answers = ?4, asked_price = ?5, reach = ?6, wants_key = ?7
WHERE pool_id = ?1 AND number = ?2;

-- name: insert_offers
INSERT INTO fairhold_offers (pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome,
    answered_at, part, told)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);

-- name: answer_offers
-- Conditional on its being live and, if it is claimed, within its window, whatever else the code believes. Where
-- the outcome is null it goes on, and all that is new is whether its party was told.
UPDATE fairhold_offers SET outcome = ?4, answered_at = ?5, part = ?6, told = ?7
WHERE pool_id = ?1 AND booking = ?2 AND seq = ?3 AND outcome IS NULL
    AND (?4 IS NULL OR ?4 <> 'claimed' OR expires_at > ?5);

-- name: upsert_openings
INSERT INTO fairhold_openings (pool_id, number, quota, unit, opened_at, state, tries, quantity, note)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (pool_id, number) DO UPDATE SET state = excluded.state, tries = excluded.tries,
    quantity = excluded.quantity, note = excluded.note;

-- name: insert_tries
INSERT INTO fairhold_tries (pool_id, opening, booking) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING;

-- name: delete_tries
DELETE FROM fairhold_tries WHERE pool_id = ?1 AND opening = ?2 AND booking = ?3;

-- name: upsert_units
INSERT INTO fairhold_units (pool_id, label, quota, ordinal, starts_at, attributes, closed)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (pool_id, label) DO UPDATE SET quota = excluded.quota, ordinal = excluded.ordinal,
    starts_at = excluded.starts_at, attributes = excluded.attributes, closed = excluded.closed;

-- name: delete_takings
DELETE FROM fairhold_takings WHERE pool_id = ?1 AND label = ?2 AND booking = ?3;

-- name: insert_takings
INSERT INTO fairhold_takings (pool_id, label, booking) VALUES (?1, ?2, ?3);

-- name: insert_log
INSERT INTO fairhold_log (pool_id, seq, at, kind, booking, by, body, digest, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: insert_outbox
INSERT INTO fairhold_outbox (pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'pending', ?9, 0, '');

-- name: insert_requests
INSERT INTO fairhold_requests (org, key, digest, answer, created_at) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: change_block
-- Count one more or one fewer in the block that a place is in.
UPDATE fairhold_line_blocks SET count = count + ?3 WHERE pool_id = ?1 AND low = (
    SELECT max(low) FROM fairhold_line_blocks WHERE pool_id = ?1 AND low <= ?2);

-- name: blocks_out_of_shape
-- Of the blocks that some places are in, those that have grown too long or too short.
SELECT ?1, low, count FROM (
    SELECT low, count FROM fairhold_line_blocks WHERE pool_id = ?1 AND low <= ?2 ORDER BY low DESC LIMIT 1)
WHERE count > ?3 OR count < ?4;

-- name: block_before
SELECT low, count FROM fairhold_line_blocks WHERE pool_id = ?1 AND low < ?2 ORDER BY low DESC LIMIT 1;

-- name: block_middle
-- The place of the waiting booking that stands so far into a block.
SELECT place FROM fairhold_bookings WHERE pool_id = ?1 AND state = 'waiting' AND place >= ?2
ORDER BY place LIMIT 1 OFFSET ?3;

-- name: set_block
UPDATE fairhold_line_blocks SET count = ?3 WHERE pool_id = ?1 AND low = ?2;

-- name: delete_block
DELETE FROM fairhold_line_blocks WHERE pool_id = ?1 AND low = ?2;

-- name: notify
-- Tell other processes that the next due time has changed. SQLite has no such channel, so they look by
-- themselves, and this does nothing.
DELETE FROM fairhold_secrets WHERE name = ?1 AND 0;

-- name: forget_requests
-- Forget some idempotency keys of before an instant; a row for each. The oldest rows come first.
DELETE FROM fairhold_requests WHERE rowid IN (SELECT rowid FROM fairhold_requests ORDER BY rowid LIMIT ?2) AND created_at < ?1
RETURNING 1;

-- name: get_secret
SELECT value FROM fairhold_secrets WHERE name = ?1;

-- name: put_secret
INSERT INTO fairhold_secrets (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING;

-- name: durable_commits
-- A commit waits for the disk.
PRAGMA synchronous = FULL;

-- name: timeline
-- A file has one writer and is never promoted.
SELECT 1;

-- Schema -----------------------------------------------------------------------------------------------

-- name: tables
SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%';

-- name: migrations_applied
SELECT version, digest FROM fairhold_schema ORDER BY version;

-- name: insert_migration
INSERT INTO fairhold_schema (version, digest, applied_at) VALUES (?1, ?2, ?3);

-- name: channel
-- SQLite has none.
SELECT '';

-- name: migration_lock
-- On SQLite the one writer is lock enough.
SELECT ?1;
