-- Everything of a batch in one statement, which is a transaction of its own: SQLite works on it without asking
-- Python for anything, so that the next batch is decided meanwhile. A statement that inserts into one table only
-- becomes one that writes to many by a view whose columns are lists of rows, and whose trigger writes them. Both
-- belong to the connection, not to the database. The pieces are put together in together.py.

-- part: together
CREATE TEMP VIEW IF NOT EXISTS together ({columns}) AS SELECT {nothing};

-- part: together_trigger
CREATE TEMP TRIGGER IF NOT EXISTS write_together INSTEAD OF INSERT ON together BEGIN {steps}; END;

-- part: together_seen
-- The logs must end as the decisions took for granted.
SELECT RAISE(ABORT, 'overtaken') WHERE json_array_length(NEW.pools) <> (
    SELECT count(*) FROM json_each(NEW.pools) AS s
    CROSS JOIN fairhold_pools AS p ON p.id = s.value AND p.log_hash = substr(NEW.pools_bytes, 1 + 32 * s.key, 32)
);

-- part: together_live
-- And parties have as many bookings that are still to be decided. They come as lists by pool.
SELECT RAISE(ABORT, 'overtaken') WHERE NEW.live <> (
    SELECT count(*) FROM json_each(NEW.parties) AS s CROSS JOIN json_each(s.value) AS p
    CROSS JOIN fairhold_bookings AS b INDEXED BY fairhold_one_place_in_line
        ON b.pool_id = CAST(s.key AS INTEGER) AND b.party_id = p.value AND b.state IN ('waiting', 'offered')
) + (
    SELECT count(*) FROM json_each(NEW.parties) AS s CROSS JOIN json_each(s.value) AS p
    CROSS JOIN fairhold_bookings AS b INDEXED BY fairhold_booking_holds
        ON b.pool_id = CAST(s.key AS INTEGER) AND b.party_id = p.value AND b.state = 'held'
);

-- part: rows_of
-- The rows of a list. The limit, which is none, keeps the query as it is: otherwise it would become a part of the
-- one around it, and each value of a row would have the whole row written out as JSON again.
(SELECT key, value FROM json_each(NEW.{name}) LIMIT -1 OFFSET 0);

-- part: together_insert
-- A plain insert: all rows at once.
{insert} SELECT {values} FROM {rows} WHERE true {conflict};

-- part: together_each
-- Any other statement: a row at a time, in their order.
INSERT INTO each_of_{name} SELECT {values} FROM {rows};

-- part: each_view
CREATE TEMP VIEW IF NOT EXISTS each_of_{name} ({columns}) AS SELECT {nothing};

-- part: each_trigger
CREATE TEMP TRIGGER IF NOT EXISTS write_each_of_{name} INSTEAD OF INSERT ON each_of_{name} BEGIN {query}; {then} END;

-- part: each_exactly
-- It must have found what the decision was made on.
SELECT RAISE(ABORT, 'overtaken') WHERE changes() = 0;

-- part: value_of_row
json_extract(value, '$[{at}]');

-- part: hash_of_row
substr(NEW.{name}_bytes, {first} + {step} * key, {length});

-- part: write_together
-- Only what there is to write: what is not named is nothing.
INSERT INTO together ({columns}) VALUES ({values});
