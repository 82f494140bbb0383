-- A whole batch as one statement, which is a transaction of its own: one way to the server and back. bulk.py puts
-- these pieces together.

-- part: batch
-- The pools are locked in the order of their ids; one that is locked from outside counts as changed.
WITH seen AS (
    SELECT * FROM unnest($1::bigint[], $2::bytea[]) AS s (id, hash)
), locked AS MATERIALIZED (
    SELECT id, log_hash FROM fairhold_pools WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED
){parts}
SELECT (
    SELECT 1 / (count(*) = $3::bigint)::int FROM locked JOIN seen ON seen.id = locked.id AND seen.hash = log_hash
){counts};

-- part: batch_write
{name} AS ({query} RETURNING 1);

-- part: batch_read
{name} AS ({query});

-- part: batch_exact
(SELECT 1 / (count(*) = ${wanted}::bigint)::int FROM {name});

-- part: batch_count
(SELECT count(*) FROM {name});
