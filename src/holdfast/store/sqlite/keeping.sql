-- Named queries of keeping a database in order, on SQLite.

-- name: database_now
-- What the database's clock says, to compare. On SQLite it is the machine's own.
SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER);

-- name: pulse
-- SQLite needs none: a file cannot go silent.
SELECT 1;
