-- The letters that tell of a place and have not come are found without looking at all others.

CREATE INDEX outbox_places ON outbox (pool_id, seq, part)
    WHERE kind = 'promoted' AND (state = 'dead' OR state = 'not_sent' OR (state = 'pending' AND error <> ''));
