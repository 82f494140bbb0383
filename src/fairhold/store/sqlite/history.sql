-- Named queries for looking back: the log from its end, and the figures that are made of it.

-- name: log_before
-- A pool's log from before an entry, the newest first.
SELECT seq, at, kind, booking, by, body, digest, hash FROM fairhold_log
WHERE pool_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3;

-- name: log_with_quantities
-- The newest entries of a pool's log, each with the quantity that its booking has now.
SELECT l.seq, l.at, l.kind, l.booking, l.body, b.quantity FROM fairhold_log AS l
LEFT JOIN fairhold_bookings AS b ON b.pool_id = l.pool_id AND b.number = l.booking
WHERE l.pool_id = ?1 ORDER BY l.seq DESC LIMIT ?2;
