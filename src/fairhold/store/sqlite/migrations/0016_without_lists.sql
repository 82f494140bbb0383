-- Lists of three and more in checks and partial indexes become ORs: for such a list SQLite fills a table of its own
-- at every row that is written, which costs as much as the row. A check can only be changed with its table.

DROP INDEX one_place_in_line;
DROP INDEX booking_holds;
DROP INDEX booking_past;
DROP INDEX line_order;
DROP INDEX line_groups;
DROP INDEX booking_sources;
DROP INDEX booking_public_holds;
DROP INDEX booking_due;
DROP INDEX booking_taken;
ALTER TABLE bookings RENAME TO bookings_before;
CREATE TABLE bookings (
    pool_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    reference TEXT NOT NULL,
    party_id TEXT NOT NULL,
    party TEXT NOT NULL,
    answers TEXT NOT NULL,
    quota TEXT NOT NULL,
    quantity INTEGER NOT NULL,
    state TEXT NOT NULL,
    place INTEGER NOT NULL,
    arrival INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    position INTEGER,
    wants TEXT,
    wants_key TEXT NOT NULL,
    asked_price TEXT,
    price TEXT,
    units TEXT NOT NULL,
    offer_seq INTEGER NOT NULL,
    offer_quantity INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    round INTEGER NOT NULL,
    offered_at INTEGER,
    held_at INTEGER,
    expires_at INTEGER,
    confirmed_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    split_from INTEGER,
    -- Where it came from, if a public key made it: a keyed hash of the address, while it is to be decided.
    source TEXT,
    PRIMARY KEY (pool_id, number),
    CONSTRAINT booking_state CHECK (
        state = 'waiting' OR state = 'offered' OR state = 'held' OR state = 'confirmed' OR state = 'declined'
        OR state = 'expired' OR state = 'cancelled' OR state = 'closed'
    ),
    CONSTRAINT booking_quantity CHECK (quantity > 0),
    CONSTRAINT booking_deadline CHECK (
        CASE
            WHEN state IN ('offered', 'held') THEN expires_at IS NOT NULL
            WHEN state = 'waiting' THEN 1
            ELSE expires_at IS NULL
        END
    ),
    CONSTRAINT booking_offer CHECK ((state = 'offered') = (offer_quantity > 0))
) STRICT, WITHOUT ROWID;
INSERT INTO bookings (
    pool_id, number, reference, party_id, party, answers, quota, quantity, state, place, arrival, priority,
    position, wants, wants_key, asked_price, price, units, offer_seq, offer_quantity, attempts, round,
    offered_at, held_at, expires_at, confirmed_at, created_at, updated_at, split_from, source
)
SELECT
    pool_id, number, reference, party_id, party, answers, quota, quantity, state, place, arrival, priority,
    position, wants, wants_key, asked_price, price, units, offer_seq, offer_quantity, attempts, round,
    offered_at, held_at, expires_at, confirmed_at, created_at, updated_at, split_from, source
FROM bookings_before;
DROP TABLE bookings_before;
CREATE UNIQUE INDEX one_place_in_line ON bookings (party_id, pool_id) WHERE state IN ('waiting', 'offered');
CREATE INDEX booking_holds ON bookings (party_id, pool_id) WHERE state = 'held';
CREATE INDEX booking_past ON bookings (party_id, pool_id)
    WHERE state = 'confirmed' OR state = 'declined' OR state = 'expired' OR state = 'cancelled' OR state = 'closed';
CREATE UNIQUE INDEX line_order ON bookings (pool_id, place) WHERE state = 'waiting';
CREATE INDEX line_groups ON bookings (pool_id, quota, quantity, round, wants_key, place) WHERE state = 'waiting';
CREATE INDEX booking_sources ON bookings (source) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX booking_public_holds ON bookings (party_id) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX booking_due ON bookings (pool_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX booking_taken ON bookings (quota, pool_id, arrival, number)
    WHERE state = 'offered' OR state = 'held' OR state = 'confirmed';

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
    PRIMARY KEY (pool_id, booking, seq),
    CONSTRAINT offer_outcome CHECK (
        outcome = 'claimed' OR outcome = 'declined' OR outcome = 'lapsed' OR outcome = 'withdrawn'
    )
) STRICT, WITHOUT ROWID;
INSERT INTO offers (
    pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome, answered_at, part
)
SELECT
    pool_id, booking, seq, openings, quantity, units, offered_at, expires_at, outcome, answered_at, part
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
    CONSTRAINT outbox_state CHECK (state = 'pending' OR state = 'sent' OR state = 'dead')
) STRICT, WITHOUT ROWID;
INSERT INTO outbox (
    pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error
)
SELECT
    pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error
FROM outbox_before;
DROP TABLE outbox_before;
CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 'pending';
CREATE INDEX outbox_of_pool ON outbox (pool_id, due_at, seq, part) WHERE state = 'pending';
CREATE INDEX outbox_dead ON outbox (pool_id, seq, part) WHERE state = 'dead';
CREATE INDEX outbox_urgent ON outbox (pool_id, due_at, seq, part)
    WHERE state = 'pending' AND (kind = 'offer' OR kind = 'promoted' OR kind = 'hold_ending');
CREATE INDEX outbox_about ON outbox (pool_id, booking) WHERE state = 'pending';

DROP INDEX delivery_of_webhook;
ALTER TABLE deliveries RENAME TO deliveries_before;
CREATE TABLE deliveries (
    pool_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    target TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (pool_id, seq, part, target),
    CONSTRAINT delivery_state CHECK (state = 'pending' OR state = 'sent' OR state = 'dead')
) STRICT, WITHOUT ROWID;
INSERT INTO deliveries (
    pool_id, seq, part, target, state, attempts, at, error
)
SELECT
    pool_id, seq, part, target, state, attempts, at, error
FROM deliveries_before;
DROP TABLE deliveries_before;
CREATE INDEX delivery_of_webhook ON deliveries (target, at, pool_id, seq, part) WHERE target LIKE 'webhook:%';

DROP INDEX opening_live;
CREATE INDEX opening_live ON openings (pool_id)
    WHERE state = 'open' OR state = 'freed' OR state = 'handed_back';
