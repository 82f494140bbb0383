-- Messages that cannot wait, before the others of their pool; and what is to be told about a booking before them.
CREATE INDEX outbox_urgent ON outbox (pool_id, due_at, seq, part)
    WHERE state = 'pending' AND kind IN ('offer', 'promoted', 'hold_ending');
CREATE INDEX outbox_about ON outbox (pool_id, booking) WHERE state = 'pending';
