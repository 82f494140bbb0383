-- What changed, in an order that can be resumed. One writer at a time makes that order plain here; see the
-- PostgreSQL dialect for why a horizon is needed there.

-- name: stream_horizon
-- Everything with a smaller mark has happened, and nothing with a smaller one will come.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'fairhold_stream'), 0) + 1;

-- name: stream_after
-- The changes of one org after a cursor.
SELECT mark, pool_id, seq_before, seq FROM fairhold_stream
WHERE org = ?1 AND (mark, pool_id, seq) > (?2, ?3, ?4) ORDER BY mark, pool_id, seq LIMIT ?5;

-- name: stream_news
-- Which orgs have changes after a cursor, and up to where.
SELECT org, mark, pool_id, seq FROM fairhold_stream
WHERE (mark, pool_id, seq) > (?1, ?2, ?3) ORDER BY mark, pool_id, seq LIMIT ?4;

-- name: forget_stream
-- Forget some changes of before an instant; a row for each.
DELETE FROM fairhold_stream WHERE mark IN (SELECT mark FROM fairhold_stream ORDER BY mark LIMIT ?2) AND at < ?1 RETURNING 1;

-- name: forget_foreign_stream
-- Only PostgreSQL can have marks of another server; see there.
DELETE FROM fairhold_stream WHERE mark < 0;
