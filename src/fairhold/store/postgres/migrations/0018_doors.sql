-- The door that a booking came by, and whether its party can be told of an offer; messages that were not sent.

ALTER TABLE bookings ADD COLUMN door TEXT NOT NULL DEFAULT 'library';
ALTER TABLE bookings ADD COLUMN reach TEXT NOT NULL DEFAULT '';
CREATE INDEX booking_reach ON bookings (pool_id, number) WHERE reach <> '';
ALTER TABLE offers ADD COLUMN told TEXT NOT NULL DEFAULT '';
ALTER TABLE offers DROP CONSTRAINT offer_outcome;
ALTER TABLE offers ADD CONSTRAINT offer_outcome CHECK (
    outcome IN ('claimed', 'declined', 'lapsed', 'withdrawn', 'unreachable')
);
ALTER TABLE outbox DROP CONSTRAINT outbox_state;
ALTER TABLE outbox ADD CONSTRAINT outbox_state CHECK (
    state IN ('pending', 'sent', 'dead', 'not_sent', 'dropped')
);
CREATE INDEX outbox_not_sent ON outbox (pool_id, seq, part)
    WHERE state = 'not_sent' AND kind IN ('promoted', 'put_back', 'demoted');
