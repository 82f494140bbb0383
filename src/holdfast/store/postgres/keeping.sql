-- Named queries of keeping a database in order, on PostgreSQL.

-- name: database_now
-- What the database's clock says, to compare. On PostgreSQL it is the server's.
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- name: pulse
-- Asked now and then of a connection that only listens.
SELECT 1;
