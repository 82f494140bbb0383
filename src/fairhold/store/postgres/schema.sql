-- The whole schema on PostgreSQL, to be read: what the migrations add up to. A test compares the two, so a new
-- migration changes this file too. Members and their ways in are in schema_accounts.sql.
--
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
    round BIGINT NOT NULL DEFAULT 1,
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
    -- Where it came from, if a public key made it: a keyed hash of the address, while it is to be decided.
    source TEXT,
    -- The door that it came by, and who tells its party of offers if not the channels: staff, or nobody can.
    door TEXT NOT NULL DEFAULT 'library',
    reach TEXT NOT NULL DEFAULT '',
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

CREATE UNIQUE INDEX one_place_in_line ON bookings (party_id, pool_id) WHERE state IN ('waiting', 'offered');
CREATE INDEX booking_holds ON bookings (party_id, pool_id) WHERE state = 'held';
CREATE INDEX booking_past ON bookings (party_id, pool_id)
    WHERE state IN ('confirmed', 'declined', 'expired', 'cancelled', 'closed');
CREATE UNIQUE INDEX line_order ON bookings (pool_id, place) WHERE state = 'waiting';
CREATE INDEX offered_order ON bookings (pool_id, place) WHERE state = 'offered';
CREATE INDEX line_groups ON bookings (pool_id, quota, quantity, round, wants_key, place) WHERE state = 'waiting';
CREATE INDEX booking_sources ON bookings (source) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX booking_public_holds ON bookings (party_id) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX booking_reach ON bookings (pool_id, number) WHERE reach <> '';
CREATE INDEX booking_due ON bookings (pool_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX booking_taken ON bookings (quota, pool_id, arrival, number)
    WHERE state IN ('offered', 'held', 'confirmed');

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
    -- Whether its party was told: empty until a channel has tried, then delayed or told; staff if they tell it.
    told TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (pool_id, booking, seq),
    CONSTRAINT offer_outcome CHECK (
        outcome IN ('claimed', 'declined', 'lapsed', 'withdrawn', 'unreachable')
    )
);

CREATE UNIQUE INDEX one_live_offer ON offers (pool_id, booking) WHERE outcome IS NULL;
CREATE INDEX offers_to_tell ON offers (pool_id, expires_at, booking) WHERE outcome IS NULL AND told = 'staff';

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
    CONSTRAINT outbox_state CHECK (state IN ('pending', 'sent', 'dead', 'not_sent', 'dropped'))
);

CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 'pending';
CREATE INDEX outbox_of_pool ON outbox (pool_id, due_at, seq, part) WHERE state = 'pending';
CREATE INDEX outbox_dead ON outbox (pool_id, seq, part) WHERE state = 'dead';
CREATE INDEX outbox_not_sent ON outbox (pool_id, seq, part)
    WHERE state = 'not_sent' AND kind IN ('promoted', 'put_back', 'demoted');
CREATE INDEX outbox_places ON outbox (pool_id, seq, part)
    WHERE kind = 'promoted' AND (state = 'dead' OR state = 'not_sent' OR (state = 'pending' AND error <> ''));
CREATE INDEX outbox_urgent ON outbox (pool_id, due_at, seq, part)
    WHERE state = 'pending' AND kind IN ('offer', 'promoted', 'hold_ending');
CREATE INDEX outbox_about ON outbox (pool_id, booking) WHERE state = 'pending';

-- A message at one target: the party's e-mail or phone, a webhook, a contact of staff. No address stands here.
CREATE TABLE deliveries (
    pool_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    part BIGINT NOT NULL,
    target TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    at BIGINT NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (pool_id, seq, part, target),
    CONSTRAINT delivery_state CHECK (state IN ('pending', 'sent', 'dead'))
);

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
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (org, kind, language, part),
    CONSTRAINT template_part CHECK (part IN ('subject', 'body', 'sms'))
);

-- Its secret is derived from the id, as the tokens of links are; a new generation makes a new one.
CREATE TABLE webhooks (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    payload TEXT NOT NULL,
    kinds TEXT NOT NULL,
    generation BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT webhook_payload CHECK (payload IN ('full', 'thin'))
);

CREATE TABLE staff_contacts (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    notifier TEXT NOT NULL,
    address TEXT NOT NULL,
    locale TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT contact_notifier CHECK (notifier IN ('email', 'sms', 'apprise'))
);

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

-- Keys of the HTTP service: only a hash of each is kept.
CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    org TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    digest BYTEA NOT NULL,
    hint TEXT NOT NULL,
    request TEXT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    CONSTRAINT key_once UNIQUE (digest),
    CONSTRAINT key_request_once UNIQUE (org, request),
    CONSTRAINT key_role CHECK (role IN ('admin', 'staff', 'read', 'public'))
);

CREATE INDEX key_org ON api_keys (org, id);

-- Which stretch of which pool's log came with which transaction, in an order that nothing can slip into later:
-- a mark is the number of its transaction, or of a later one that changed the pool before it.
CREATE TABLE stream (
    mark BIGINT NOT NULL,
    org TEXT NOT NULL,
    pool_id BIGINT NOT NULL,
    seq_before BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (pool_id, seq)
);

CREATE INDEX stream_order ON stream (org, mark, pool_id, seq);
CREATE INDEX stream_marks ON stream (mark, pool_id, seq);

CREATE OR REPLACE FUNCTION fairhold_stream() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stream (mark, org, pool_id, seq_before, seq, at)
    VALUES (
        greatest(
            pg_current_xact_id()::text::bigint,
            (SELECT s.mark FROM stream AS s WHERE s.pool_id = new.id ORDER BY s.seq DESC LIMIT 1)
        ),
        new.org, new.id, coalesce(old.log_seq, 0), new.log_seq, new.updated_at
    );
    RETURN NULL;
END
$$;

CREATE TRIGGER stream_pool_made AFTER INSERT ON pools FOR EACH ROW EXECUTE FUNCTION fairhold_stream();

CREATE TRIGGER stream_pool_changed AFTER UPDATE OF log_seq ON pools FOR EACH ROW
WHEN (new.log_seq > old.log_seq) EXECUTE FUNCTION fairhold_stream();

-- Whose web sites may show an org's pages in a frame.
CREATE TABLE embed_origins (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT origin_once UNIQUE (org, origin)
);
