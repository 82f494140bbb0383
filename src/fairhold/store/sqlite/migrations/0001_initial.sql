-- The schema of Fairhold on SQLite. Instants are milliseconds since 1970 UTC; texts of JSON are
-- written by Fairhold alone. Constraints carry the names of the promises they keep.

CREATE TABLE fairhold_schema (
    version INTEGER NOT NULL PRIMARY KEY,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE pools (
    id INTEGER NOT NULL PRIMARY KEY,
    org TEXT NOT NULL,
    key TEXT NOT NULL,
    config TEXT NOT NULL,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    open_size INTEGER NOT NULL,
    overflow INTEGER NOT NULL,
    numbers INTEGER NOT NULL,
    arrivals INTEGER NOT NULL,
    openings_made INTEGER NOT NULL,
    units_made INTEGER NOT NULL,
    round INTEGER NOT NULL,
    first_place INTEGER NOT NULL,
    last_place INTEGER NOT NULL,
    due_at INTEGER,
    log_seq INTEGER NOT NULL,
    log_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT pool_key_once UNIQUE (org, key),
    CONSTRAINT no_oversell CHECK (overflow >= 0 AND overflow <= open_size),
    CONSTRAINT pool_status CHECK (status IN ('open', 'paused', 'closed', 'cancelled'))
) STRICT;

CREATE INDEX pool_due ON pools (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE quotas (
    pool_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    size INTEGER,
    used INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    offered INTEGER NOT NULL,
    aside INTEGER NOT NULL,
    PRIMARY KEY (pool_id, key),
    CONSTRAINT quota_counts CHECK (used >= 0 AND waiting >= 0 AND offered >= 0 AND aside >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE units (
    pool_id INTEGER NOT NULL,
    label TEXT NOT NULL,
    quota TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    starts_at INTEGER,
    attributes TEXT NOT NULL,
    closed INTEGER NOT NULL,
    PRIMARY KEY (pool_id, label),
    CONSTRAINT unit_closed CHECK (closed IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX unit_order ON units (pool_id, ordinal);

-- A unit that is taken stands here once: a second taker is refused by the key itself.
CREATE TABLE takings (
    pool_id INTEGER NOT NULL,
    label TEXT NOT NULL,
    booking INTEGER NOT NULL,
    CONSTRAINT no_oversell_unit PRIMARY KEY (pool_id, label)
) STRICT, WITHOUT ROWID;

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
    PRIMARY KEY (pool_id, number),
    CONSTRAINT booking_state CHECK (
        state IN ('waiting', 'offered', 'held', 'confirmed', 'declined', 'expired', 'cancelled', 'closed')
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

CREATE UNIQUE INDEX one_place_in_line ON bookings (pool_id, party_id) WHERE state IN ('waiting', 'offered');
CREATE INDEX booking_holds ON bookings (pool_id, party_id) WHERE state = 'held';
CREATE UNIQUE INDEX line_order ON bookings (pool_id, place) WHERE state = 'waiting';
CREATE INDEX line_groups ON bookings (pool_id, quota, quantity, round, wants_key, place) WHERE state = 'waiting';
CREATE INDEX booking_due ON bookings (pool_id, expires_at) WHERE expires_at IS NOT NULL;

-- How many wait at places from `low` up to the next block's `low`.
CREATE TABLE line_blocks (
    pool_id INTEGER NOT NULL,
    low INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (pool_id, low),
    CONSTRAINT block_count CHECK (count >= 0)
) STRICT, WITHOUT ROWID;

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
    CONSTRAINT offer_outcome CHECK (outcome IN ('claimed', 'declined', 'lapsed', 'withdrawn'))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX one_live_offer ON offers (pool_id, booking) WHERE outcome IS NULL;

CREATE TABLE openings (
    pool_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    quota TEXT NOT NULL,
    unit TEXT,
    opened_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    tries INTEGER NOT NULL,
    quantity INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (pool_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX opening_live ON openings (pool_id) WHERE state IN ('open', 'freed', 'handed_back');

-- Who was offered which opening.
CREATE TABLE tries (
    pool_id INTEGER NOT NULL,
    opening INTEGER NOT NULL,
    booking INTEGER NOT NULL,
    PRIMARY KEY (pool_id, opening, booking)
) STRICT, WITHOUT ROWID;

CREATE TABLE log (
    pool_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    booking INTEGER,
    by TEXT NOT NULL,
    body TEXT NOT NULL,
    digest BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (pool_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_booking ON log (pool_id, booking, seq) WHERE booking IS NOT NULL;

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
    CONSTRAINT outbox_state CHECK (state IN ('pending', 'sent', 'dead'))
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 'pending';

CREATE TABLE requests (
    org TEXT NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    answer TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, key)
) STRICT;
