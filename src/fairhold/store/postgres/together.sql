-- Several bulk statements in one, which is a transaction of its own: one way to the server and back. The pieces
-- are put together in bulk.py.

-- part: together
-- The pools are locked in the order of their ids; one that is locked from outside counts as changed.
WITH seen AS (
    SELECT * FROM unnest($1::bigint[], $2::bytea[]) AS s (id, hash)
), locked AS MATERIALIZED (
    SELECT id, log_hash FROM fairhold_pools WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED
), {parts}
SELECT (
    SELECT 1 / (count(*) = $3::bigint)::int FROM locked JOIN seen ON seen.id = locked.id AND seen.hash = log_hash
), {counts};

-- part: together_part
{name} AS ({query} RETURNING 1);

-- part: together_read
{name} AS ({query});

-- part: together_exact
(SELECT 1 / ({counted} = ${wanted}::bigint)::int FROM {name});

-- part: together_count
(SELECT count(*) FROM {name});
