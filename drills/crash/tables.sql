-- What the checker reads behind the service's back, all of one moment. Plain enough for both databases.

-- name: pools
SELECT id, key FROM fairhold_pools;

-- name: log
SELECT pool_id, seq, at, kind, booking, by, body, digest, hash FROM fairhold_log ORDER BY pool_id, seq;

-- name: bookings
SELECT pool_id, number, reference, party_id, quota, quantity, state, place FROM fairhold_bookings
ORDER BY pool_id, number;

-- name: outbox
SELECT pool_id, seq, part, kind, recipient, state FROM fairhold_outbox;

-- name: requests
SELECT key FROM fairhold_requests;
