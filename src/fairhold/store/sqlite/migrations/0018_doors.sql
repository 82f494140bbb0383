-- The door that a booking came by, and whether its party can be told of an offer; messages that were not sent.

ALTER TABLE bookings ADD COLUMN door TEXT NOT NULL DEFAULT 'library';
ALTER TABLE bookings ADD COLUMN reach TEXT NOT NULL DEFAULT '';
CREATE INDEX booking_reach ON bookings (pool_id, number) WHERE reach <> '';

-- A check can only be changed with its table.
DROP INDEX one_live_offer;
ALTER TABLE offers RENAME TO offers_before;
CREATE TABLE offers (
    pool_id INTEGER NOT NULL,
    booking INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    openings TEXT NOT NULL,
    quantity INTEGER NOT NULL,
    units TEXT NOT NULL,
    offered_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    outcome TEXT,
    answered_at INTEGER,
    part INTEGER,
    -- Whether its party was told: empty until a channel has tried, then delayed or told.
    told TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (pool_id, booking, seq),
    CONSTRAINT offer_outcome CHECK (outcome = 'claimed' OR outcome = 'declined' OR outcome = 'lapsed'
        OR outcome = 'withdrawn' OR outcome = 'unreachable')
) STRICT, WITHOUT ROWID;
INSERT INTO offers (pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome, answered_at, part)
SELECT pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome, answered_at, part
FROM offers_before;
DROP TABLE offers_before;
CREATE UNIQUE INDEX one_live_offer ON offers (pool_id, booking) WHERE outcome IS NULL;

DROP INDEX outbox_due;
DROP INDEX outbox_of_pool;
DROP INDEX outbox_dead;
DROP INDEX outbox_urgent;
DROP INDEX outbox_about;
ALTER TABLE outbox RENAME TO outbox_before;
CREATE TABLE outbox (
    pool_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    kind TEXT NOT NULL,
    recipient TEXT NOT NULL,
    booking INTEGER,
    facts TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    CONSTRAINT told_once PRIMARY KEY (pool_id, seq, part),
    CONSTRAINT outbox_state CHECK (state = 'pending' OR state = 'sent' OR state = 'dead'
        OR state = 'not_sent' OR state = 'dropped')
) STRICT, WITHOUT ROWID;
INSERT INTO outbox (pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error)
SELECT pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error
FROM outbox_before;
DROP TABLE outbox_before;
CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 'pending';
CREATE INDEX outbox_of_pool ON outbox (pool_id, due_at, seq, part) WHERE state = 'pending';
CREATE INDEX outbox_dead ON outbox (pool_id, seq, part) WHERE state = 'dead';
CREATE INDEX outbox_not_sent ON outbox (pool_id, seq, part)
    WHERE state = 'not_sent' AND (kind = 'promoted' OR kind = 'put_back' OR kind = 'demoted');
CREATE INDEX outbox_urgent ON outbox (pool_id, due_at, seq, part)
    WHERE state = 'pending' AND (kind = 'offer' OR kind = 'promoted' OR kind = 'hold_ending');
CREATE INDEX outbox_about ON outbox (pool_id, booking) WHERE state = 'pending';
