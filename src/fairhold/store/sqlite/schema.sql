-- The whole schema on SQLite, to be read: what the migrations add up to. A test compares the two, so a new
-- migration changes this file too. Members and their ways in are in schema_accounts.sql.
--
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
    round INTEGER NOT NULL DEFAULT 1,
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
    -- Where it came from, if a public key made it: a keyed hash of the address, while it is to be decided.
    source TEXT,
    -- The door that it came by, and who tells its party of offers if not the channels: staff, or nobody can.
    door TEXT NOT NULL DEFAULT 'library',
    reach TEXT NOT NULL DEFAULT '',
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

CREATE UNIQUE INDEX one_place_in_line ON bookings (party_id, pool_id) WHERE state IN ('waiting', 'offered');
CREATE INDEX booking_holds ON bookings (party_id, pool_id) WHERE state = 'held';
CREATE INDEX booking_past ON bookings (party_id, pool_id)
    WHERE state = 'confirmed' OR state = 'declined' OR state = 'expired' OR state = 'cancelled' OR state = 'closed';
CREATE UNIQUE INDEX line_order ON bookings (pool_id, place) WHERE state = 'waiting';
CREATE INDEX offered_order ON bookings (pool_id, place) WHERE state = 'offered';
CREATE INDEX line_groups ON bookings (pool_id, quota, quantity, round, wants_key, place) WHERE state = 'waiting';
CREATE INDEX booking_sources ON bookings (source) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX booking_public_holds ON bookings (party_id) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX booking_reach ON bookings (pool_id, number) WHERE reach <> '';
CREATE INDEX booking_due ON bookings (pool_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX booking_taken ON bookings (quota, pool_id, arrival, number)
    WHERE state = 'offered' OR state = 'held' OR state = 'confirmed';

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
    -- Whether its party was told: empty until a channel has tried, then delayed or told; staff if they tell it.
    told TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (pool_id, booking, seq),
    CONSTRAINT offer_outcome CHECK (outcome = 'claimed' OR outcome = 'declined' OR outcome = 'lapsed'
        OR outcome = 'withdrawn' OR outcome = 'unreachable')
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX one_live_offer ON offers (pool_id, booking) WHERE outcome IS NULL;
CREATE INDEX offers_to_tell ON offers (pool_id, expires_at, booking) WHERE outcome IS NULL AND told = 'staff';

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

CREATE INDEX opening_live ON openings (pool_id)
    WHERE state = 'open' OR state = 'freed' OR state = 'handed_back';

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
    CONSTRAINT outbox_state CHECK (state = 'pending' OR state = 'sent' OR state = 'dead'
        OR state = 'not_sent' OR state = 'dropped')
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 'pending';
CREATE INDEX outbox_of_pool ON outbox (pool_id, due_at, seq, part) WHERE state = 'pending';
CREATE INDEX outbox_dead ON outbox (pool_id, seq, part) WHERE state = 'dead';
CREATE INDEX outbox_not_sent ON outbox (pool_id, seq, part)
    WHERE state = 'not_sent' AND (kind = 'promoted' OR kind = 'put_back' OR kind = 'demoted');
CREATE INDEX outbox_places ON outbox (pool_id, seq, part)
    WHERE kind = 'promoted' AND (state = 'dead' OR state = 'not_sent' OR (state = 'pending' AND error <> ''));
CREATE INDEX outbox_urgent ON outbox (pool_id, due_at, seq, part)
    WHERE state = 'pending' AND (kind = 'offer' OR kind = 'promoted' OR kind = 'hold_ending');
CREATE INDEX outbox_about ON outbox (pool_id, booking) WHERE state = 'pending';

-- A message at one target: the party's e-mail or phone, a webhook, a contact of staff. No address stands here.
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

-- What was sent to a webhook, the latest last.
CREATE INDEX delivery_of_webhook ON deliveries (target, at, pool_id, seq, part) WHERE target LIKE 'webhook:%';

-- What an org says in its own words: one part (subject, body, sms) of one kind of message in one language.
CREATE TABLE templates (
    org TEXT NOT NULL,
    kind TEXT NOT NULL,
    language TEXT NOT NULL,
    part TEXT NOT NULL,
    text TEXT NOT NULL,
    by TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (org, kind, language, part),
    CONSTRAINT template_part CHECK (part IN ('subject', 'body', 'sms'))
) STRICT, WITHOUT ROWID;

-- Its secret is derived from the id, as the tokens of links are; a new generation makes a new one.
CREATE TABLE webhooks (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    payload TEXT NOT NULL,
    kinds TEXT NOT NULL,
    generation INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT webhook_payload CHECK (payload IN ('full', 'thin'))
) STRICT, WITHOUT ROWID;

CREATE TABLE staff_contacts (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    notifier TEXT NOT NULL,
    address TEXT NOT NULL,
    locale TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT contact_notifier CHECK (notifier IN ('email', 'sms', 'apprise'))
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
    org TEXT NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    answer TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, key)
) STRICT;


-- Keys of the HTTP service: only a hash of each is kept.
CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    org TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    digest BLOB NOT NULL,
    hint TEXT NOT NULL,
    request TEXT,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER,
    CONSTRAINT key_once UNIQUE (digest),
    CONSTRAINT key_request_once UNIQUE (org, request),
    CONSTRAINT key_role CHECK (role IN ('admin', 'staff', 'read', 'public'))
) STRICT;

CREATE INDEX key_org ON api_keys (org, id);

-- Which stretch of which pool's log came with which transaction, in an order that nothing can slip into later.
CREATE TABLE stream (
    mark INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    org TEXT NOT NULL,
    pool_id INTEGER NOT NULL,
    seq_before INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX stream_order ON stream (org, mark, pool_id, seq);

CREATE TRIGGER stream_pool_made AFTER INSERT ON pools BEGIN
    INSERT INTO stream (org, pool_id, seq_before, seq, at)
    VALUES (new.org, new.id, 0, new.log_seq, new.updated_at);
END;

CREATE TRIGGER stream_pool_changed AFTER UPDATE OF log_seq ON pools WHEN new.log_seq > old.log_seq BEGIN
    INSERT INTO stream (org, pool_id, seq_before, seq, at)
    VALUES (new.org, new.id, old.log_seq, new.log_seq, new.updated_at);
END;

-- Whose web sites may show an org's pages in a frame.
CREATE TABLE embed_origins (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT origin_once UNIQUE (org, origin)
) STRICT, WITHOUT ROWID;
