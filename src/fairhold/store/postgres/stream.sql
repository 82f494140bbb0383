-- What changed, in an order that can be resumed. A mark is a number of a transaction. Transactions end in any
-- order, so only marks below those of all that still run are read: nothing can slip in below them any more.

-- name: stream_horizon
-- Everything with a smaller mark has happened, and nothing with a smaller one will come.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint;

-- name: stream_after
-- The changes of one org after a cursor.
SELECT mark, pool_id, seq_before, seq FROM fairhold_stream
WHERE org = $1 AND (mark, pool_id, seq) > ($2, $3, $4)
    AND mark < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
ORDER BY mark, pool_id, seq LIMIT $5;

-- name: stream_news
-- Which orgs have changes after a cursor, and up to where.
SELECT org, mark, pool_id, seq FROM fairhold_stream
WHERE (mark, pool_id, seq) > ($1, $2, $3) AND mark < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
ORDER BY mark, pool_id, seq LIMIT $4;

-- name: forget_stream
-- Forget some changes of before an instant; a row for each.
DELETE FROM fairhold_stream AS s USING (SELECT pool_id, seq FROM fairhold_stream ORDER BY mark, pool_id, seq LIMIT $2) AS oldest
WHERE s.pool_id = oldest.pool_id AND s.seq = oldest.seq AND s.at < $1 RETURNING 1;

-- name: forget_foreign_stream
-- A database that was restored from a dump has marks of the server it came from, which may lie ahead of ours:
-- they would hold everything back that comes after them.
DELETE FROM fairhold_stream WHERE mark >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
