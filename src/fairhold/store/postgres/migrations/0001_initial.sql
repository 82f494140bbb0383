-- The schema of Fairhold on PostgreSQL. Instants are milliseconds since 1970 UTC; texts of JSON are
-- written by Fairhold alone. Constraints carry the names of the promises they keep.

CREATE TABLE fairhold_schema (
    version BIGINT NOT NULL PRIMARY KEY,
    applied_at BIGINT NOT NULL
);

CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE pools (
    id BIGINT NOT NULL PRIMARY KEY,
    org TEXT NOT NULL,
    key TEXT NOT NULL,
    config TEXT NOT NULL,
    version BIGINT NOT NULL,
    status TEXT NOT NULL,
    open_size BIGINT NOT NULL,
    overflow BIGINT NOT NULL,
    numbers BIGINT NOT NULL,
    arrivals BIGINT NOT NULL,
    openings_made BIGINT NOT NULL,
    units_made BIGINT NOT NULL,
    round BIGINT NOT NULL,
    first_place BIGINT NOT NULL,
    last_place BIGINT NOT NULL,
    due_at BIGINT,
    log_seq BIGINT NOT NULL,
    log_hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT pool_key_once UNIQUE (org, key),
    CONSTRAINT no_oversell CHECK (overflow >= 0 AND overflow <= open_size),
    CONSTRAINT pool_status CHECK (status IN ('open', 'paused', 'closed', 'cancelled'))
);

CREATE INDEX pool_due ON pools (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE quotas (
    pool_id BIGINT NOT NULL,
    key TEXT NOT NULL,
    size BIGINT,
    used BIGINT NOT NULL,
    waiting BIGINT NOT NULL,
    offered BIGINT NOT NULL,
    aside BIGINT NOT NULL,
    PRIMARY KEY (pool_id, key),
    CONSTRAINT quota_counts CHECK (used >= 0 AND waiting >= 0 AND offered >= 0 AND aside >= 0)
);

CREATE TABLE units (
    pool_id BIGINT NOT NULL,
    label TEXT NOT NULL,
    quota TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    starts_at BIGINT,
    attributes TEXT NOT NULL,
    closed BOOLEAN NOT NULL,
    PRIMARY KEY (pool_id, label)
);

CREATE INDEX unit_order ON units (pool_id, ordinal);

-- A unit that is taken stands here once: a second taker is refused by the key itself.
CREATE TABLE takings (
    pool_id BIGINT NOT NULL,
    label TEXT NOT NULL,
    booking BIGINT NOT NULL,
    CONSTRAINT no_oversell_unit PRIMARY KEY (pool_id, label)
);

CREATE TABLE bookings (
    pool_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    reference TEXT NOT NULL,
    party_id TEXT NOT NULL,
    party TEXT NOT NULL,
    answers TEXT NOT NULL,
    quota TEXT NOT NULL,
    quantity BIGINT NOT NULL,
    state TEXT NOT NULL,
    place BIGINT NOT NULL,
    arrival BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    position BIGINT,
    wants TEXT,
    wants_key TEXT NOT NULL,
    asked_price TEXT,
    price TEXT,
    units TEXT NOT NULL,
    offer_seq BIGINT NOT NULL,
    offer_quantity BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    round BIGINT NOT NULL,
    offered_at BIGINT,
    held_at BIGINT,
    expires_at BIGINT,
    confirmed_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    split_from BIGINT,
    PRIMARY KEY (pool_id, number),
    CONSTRAINT booking_state CHECK (
        state IN ('waiting', 'offered', 'held', 'confirmed', 'declined', 'expired', 'cancelled', 'closed')
    ),
    CONSTRAINT booking_quantity CHECK (quantity > 0),
    CONSTRAINT booking_deadline CHECK (
        CASE
            WHEN state IN ('offered', 'held') THEN expires_at IS NOT NULL
            WHEN state = 'waiting' THEN TRUE
            ELSE expires_at IS NULL
        END
    ),
    CONSTRAINT booking_offer CHECK ((state = 'offered') = (offer_quantity > 0))
);

CREATE UNIQUE INDEX one_place_in_line ON bookings (pool_id, party_id) WHERE state IN ('waiting', 'offered');
CREATE INDEX booking_holds ON bookings (pool_id, party_id) WHERE state = 'held';
CREATE UNIQUE INDEX line_order ON bookings (pool_id, place) WHERE state = 'waiting';
CREATE INDEX line_groups ON bookings (pool_id, quota, quantity, round, wants_key, place) WHERE state = 'waiting';
CREATE INDEX booking_due ON bookings (pool_id, expires_at) WHERE expires_at IS NOT NULL;

-- How many wait at places from `low` up to the next block's `low`.
CREATE TABLE line_blocks (
    pool_id BIGINT NOT NULL,
    low BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (pool_id, low),
    CONSTRAINT block_count CHECK (count >= 0)
);

CREATE TABLE offers (
    pool_id BIGINT NOT NULL,
    booking BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    openings TEXT NOT NULL,
    quantity BIGINT NOT NULL,
    units TEXT NOT NULL,
    offered_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    outcome TEXT,
    answered_at BIGINT,
    part BIGINT,
    PRIMARY KEY (pool_id, booking, seq),
    CONSTRAINT offer_outcome CHECK (outcome IN ('claimed', 'declined', 'lapsed', 'withdrawn'))
);

CREATE UNIQUE INDEX one_live_offer ON offers (pool_id, booking) WHERE outcome IS NULL;

CREATE TABLE openings (
    pool_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    quota TEXT NOT NULL,
    unit TEXT,
    opened_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    tries BIGINT NOT NULL,
    quantity BIGINT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (pool_id, number)
);

CREATE INDEX opening_live ON openings (pool_id) WHERE state IN ('open', 'freed', 'handed_back');

-- Who was offered which opening.
CREATE TABLE tries (
    pool_id BIGINT NOT NULL,
    opening BIGINT NOT NULL,
    booking BIGINT NOT NULL,
    PRIMARY KEY (pool_id, opening, booking)
);

CREATE TABLE log (
    pool_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    booking BIGINT,
    by TEXT NOT NULL,
    body TEXT NOT NULL,
    digest BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (pool_id, seq)
);

CREATE INDEX log_booking ON log (pool_id, booking, seq) WHERE booking IS NOT NULL;

CREATE TABLE outbox (
    pool_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    part BIGINT NOT NULL,
    kind TEXT NOT NULL,
    recipient TEXT NOT NULL,
    booking BIGINT,
    facts TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    error TEXT NOT NULL,
    CONSTRAINT told_once PRIMARY KEY (pool_id, seq, part),
    CONSTRAINT outbox_state CHECK (state IN ('pending', 'sent', 'dead'))
);

CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 'pending';

CREATE TABLE requests (
    org TEXT NOT NULL,
    key TEXT NOT NULL,
    digest BYTEA NOT NULL,
    answer TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, key)
);

-- Keys come in the order of time, so a few bytes for each hundred pages are index enough to find the old ones.
CREATE INDEX request_age ON requests USING brin (created_at);
