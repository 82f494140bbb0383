-- The schema of Fairhold on PostgreSQL. Instants are milliseconds since 1970 UTC; texts of JSON are written by
-- Fairhold alone. Every name begins with fairhold_, so that the tables can stand beside a program's own. A
-- constraint that keeps a promise carries its name.
--
-- Until the first release this file is edited in place: its digest stands in fairhold_schema, and a database that
-- another edition of it has made is refused.

CREATE TABLE fairhold_schema (
    version BIGINT NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    applied_at BIGINT NOT NULL
);

CREATE TABLE fairhold_secrets (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE fairhold_pools (
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
    CONSTRAINT fairhold_pool_key_once UNIQUE (org, key),
    CONSTRAINT fairhold_no_oversell CHECK (overflow >= 0 AND overflow <= open_size),
    CONSTRAINT fairhold_pool_status CHECK (status IN ('open', 'paused', 'closed', 'cancelled'))
);

CREATE INDEX fairhold_pool_due ON fairhold_pools (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE fairhold_quotas (
    pool_id BIGINT NOT NULL,
    key TEXT NOT NULL,
    size BIGINT,
    used BIGINT NOT NULL,
    waiting BIGINT NOT NULL,
    offered BIGINT NOT NULL,
    aside BIGINT NOT NULL,
    round BIGINT NOT NULL DEFAULT 1,
    PRIMARY KEY (pool_id, key),
    CONSTRAINT fairhold_quota_counts CHECK (used >= 0 AND waiting >= 0 AND offered >= 0 AND aside >= 0)
);

CREATE TABLE fairhold_units (
    pool_id BIGINT NOT NULL,
    label TEXT NOT NULL,
    quota TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    starts_at BIGINT,
    attributes TEXT NOT NULL,
    closed BOOLEAN NOT NULL,
    PRIMARY KEY (pool_id, label)
);

CREATE INDEX fairhold_unit_order ON fairhold_units (pool_id, ordinal);

-- A unit that is taken stands here once: a second taker is refused by the key itself.
CREATE TABLE fairhold_takings (
    pool_id BIGINT NOT NULL,
    label TEXT NOT NULL,
    booking BIGINT NOT NULL,
    CONSTRAINT fairhold_no_oversell_unit PRIMARY KEY (pool_id, label)
);

CREATE TABLE fairhold_bookings (
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
    CONSTRAINT fairhold_booking_state CHECK (
        state IN ('waiting', 'offered', 'held', 'confirmed', 'declined', 'expired', 'cancelled', 'closed')
    ),
    CONSTRAINT fairhold_booking_quantity CHECK (quantity > 0),
    CONSTRAINT fairhold_booking_deadline CHECK (
        CASE
            WHEN state IN ('offered', 'held') THEN expires_at IS NOT NULL
            WHEN state = 'waiting' THEN TRUE
            ELSE expires_at IS NULL
        END
    ),
    CONSTRAINT fairhold_booking_offer CHECK ((state = 'offered') = (offer_quantity > 0))
);

CREATE UNIQUE INDEX fairhold_one_place_in_line ON fairhold_bookings (party_id, pool_id) WHERE state IN ('waiting', 'offered');
CREATE INDEX fairhold_booking_holds ON fairhold_bookings (party_id, pool_id) WHERE state = 'held';
CREATE INDEX fairhold_booking_past ON fairhold_bookings (party_id, pool_id)
    WHERE state IN ('confirmed', 'declined', 'expired', 'cancelled', 'closed');
CREATE UNIQUE INDEX fairhold_line_order ON fairhold_bookings (pool_id, place) WHERE state = 'waiting';
CREATE INDEX fairhold_offered_order ON fairhold_bookings (pool_id, place) WHERE state = 'offered';
CREATE INDEX fairhold_line_groups ON fairhold_bookings (pool_id, quota, quantity, round, wants_key, place) WHERE state = 'waiting';
CREATE INDEX fairhold_booking_sources ON fairhold_bookings (source) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX fairhold_booking_public_holds ON fairhold_bookings (party_id) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX fairhold_booking_reach ON fairhold_bookings (pool_id, number) WHERE reach <> '';
CREATE INDEX fairhold_booking_due ON fairhold_bookings (pool_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX fairhold_booking_taken ON fairhold_bookings (quota, pool_id, arrival, number)
    WHERE state IN ('offered', 'held', 'confirmed');

-- How many wait at places from `low` up to the next block's `low`.
CREATE TABLE fairhold_line_blocks (
    pool_id BIGINT NOT NULL,
    low BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (pool_id, low),
    CONSTRAINT fairhold_block_count CHECK (count >= 0)
);

CREATE TABLE fairhold_offers (
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
    CONSTRAINT fairhold_offer_outcome CHECK (
        outcome IN ('claimed', 'declined', 'lapsed', 'withdrawn', 'unreachable')
    )
);

CREATE UNIQUE INDEX fairhold_one_live_offer ON fairhold_offers (pool_id, booking) WHERE outcome IS NULL;
CREATE INDEX fairhold_offers_to_tell ON fairhold_offers (pool_id, expires_at, booking)
    WHERE outcome IS NULL AND told = 'staff';

CREATE TABLE fairhold_openings (
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

CREATE INDEX fairhold_opening_live ON fairhold_openings (pool_id) WHERE state IN ('open', 'freed', 'handed_back');

-- Who was offered which opening.
CREATE TABLE fairhold_tries (
    pool_id BIGINT NOT NULL,
    opening BIGINT NOT NULL,
    booking BIGINT NOT NULL,
    PRIMARY KEY (pool_id, opening, booking)
);

CREATE TABLE fairhold_log (
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

CREATE INDEX fairhold_log_booking ON fairhold_log (pool_id, booking, seq) WHERE booking IS NOT NULL;

CREATE TABLE fairhold_outbox (
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
    CONSTRAINT fairhold_told_once PRIMARY KEY (pool_id, seq, part),
    CONSTRAINT fairhold_outbox_state CHECK (state IN ('pending', 'sent', 'dead', 'not_sent', 'dropped'))
);

CREATE INDEX fairhold_outbox_due ON fairhold_outbox (due_at) WHERE state = 'pending';
CREATE INDEX fairhold_outbox_of_pool ON fairhold_outbox (pool_id, due_at, seq, part) WHERE state = 'pending';
CREATE INDEX fairhold_outbox_dead ON fairhold_outbox (pool_id, seq, part) WHERE state = 'dead';
CREATE INDEX fairhold_outbox_not_sent ON fairhold_outbox (pool_id, seq, part)
    WHERE state = 'not_sent' AND kind IN ('promoted', 'put_back', 'demoted');
CREATE INDEX fairhold_outbox_places ON fairhold_outbox (pool_id, seq, part)
    WHERE kind = 'promoted' AND (state = 'dead' OR state = 'not_sent' OR (state = 'pending' AND error <> ''));
CREATE INDEX fairhold_outbox_urgent ON fairhold_outbox (pool_id, due_at, seq, part)
    WHERE state = 'pending' AND kind IN ('offer', 'promoted', 'hold_ending');
CREATE INDEX fairhold_outbox_about ON fairhold_outbox (pool_id, booking) WHERE state = 'pending';

-- A message at one target: the party's e-mail or phone, a webhook, a contact of staff. No address stands here.
CREATE TABLE fairhold_deliveries (
    pool_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    part BIGINT NOT NULL,
    target TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    at BIGINT NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (pool_id, seq, part, target),
    CONSTRAINT fairhold_delivery_state CHECK (state IN ('pending', 'sent', 'dead'))
);

-- What was sent to a webhook, the latest last.
CREATE INDEX fairhold_delivery_of_webhook ON fairhold_deliveries (target, at, pool_id, seq, part) WHERE target LIKE 'webhook:%';

-- What an org says in its own words: one part (subject, body, sms) of one kind of message in one language.
CREATE TABLE fairhold_templates (
    org TEXT NOT NULL,
    kind TEXT NOT NULL,
    language TEXT NOT NULL,
    part TEXT NOT NULL,
    text TEXT NOT NULL,
    by TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (org, kind, language, part),
    CONSTRAINT fairhold_template_part CHECK (part IN ('subject', 'body', 'sms'))
);

-- Its secret is derived from the id, as the tokens of links are; a new generation makes a new one.
CREATE TABLE fairhold_webhooks (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    payload TEXT NOT NULL,
    kinds TEXT NOT NULL,
    generation BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT fairhold_webhook_payload CHECK (payload IN ('full', 'thin'))
);

CREATE TABLE fairhold_staff_contacts (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    notifier TEXT NOT NULL,
    address TEXT NOT NULL,
    locale TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT fairhold_contact_notifier CHECK (notifier IN ('email', 'sms', 'apprise'))
);

CREATE TABLE fairhold_requests (
    org TEXT NOT NULL,
    key TEXT NOT NULL,
    digest BYTEA NOT NULL,
    answer TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, key)
);

-- Keys come in the order of time, so a few bytes for each hundred pages are index enough to find the old ones.
CREATE INDEX fairhold_request_age ON fairhold_requests USING brin (created_at);

-- Keys of the HTTP service: only a hash of each is kept.
CREATE TABLE fairhold_api_keys (
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
    CONSTRAINT fairhold_key_once UNIQUE (digest),
    CONSTRAINT fairhold_key_request_once UNIQUE (org, request),
    CONSTRAINT fairhold_key_role CHECK (role IN ('admin', 'staff', 'read', 'public'))
);

CREATE INDEX fairhold_key_org ON fairhold_api_keys (org, id);

-- Which stretch of which pool's log came with which transaction, in an order that nothing can slip into later:
-- a mark is the number of its transaction, or of a later one that changed the pool before it.
CREATE TABLE fairhold_stream (
    mark BIGINT NOT NULL,
    org TEXT NOT NULL,
    pool_id BIGINT NOT NULL,
    seq_before BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (pool_id, seq)
);

CREATE INDEX fairhold_stream_order ON fairhold_stream (org, mark, pool_id, seq);
CREATE INDEX fairhold_stream_marks ON fairhold_stream (mark, pool_id, seq);

CREATE FUNCTION fairhold_note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fairhold_stream (mark, org, pool_id, seq_before, seq, at)
    VALUES (
        greatest(
            pg_current_xact_id()::text::bigint,
            (SELECT s.mark FROM fairhold_stream AS s WHERE s.pool_id = new.id ORDER BY s.seq DESC LIMIT 1)
        ),
        new.org, new.id, coalesce(old.log_seq, 0), new.log_seq, new.updated_at
    );
    RETURN NULL;
END
$$;

CREATE TRIGGER fairhold_stream_pool_made AFTER INSERT ON fairhold_pools FOR EACH ROW EXECUTE FUNCTION fairhold_note_change();

CREATE TRIGGER fairhold_stream_pool_changed AFTER UPDATE OF log_seq ON fairhold_pools FOR EACH ROW
WHEN (new.log_seq > old.log_seq) EXECUTE FUNCTION fairhold_note_change();

-- Whose web sites may show an org's pages in a frame.
CREATE TABLE fairhold_embed_origins (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT fairhold_origin_once UNIQUE (org, origin)
);

-- Members of staff and their ways in ---------------------------------------------------------------------

-- Members of staff, each of one org. A password is kept as Argon2 has it; an invitation's token is derived from
-- the id and the number of the invitation, as the tokens of links are.
CREATE TABLE fairhold_members (
    id TEXT NOT NULL PRIMARY KEY,
    org TEXT NOT NULL,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    password TEXT,
    invitation BIGINT NOT NULL,
    invited_until BIGINT,
    created_at BIGINT NOT NULL,
    signed_in_at BIGINT,
    CONSTRAINT fairhold_member_email_once UNIQUE (org, email),
    CONSTRAINT fairhold_member_name_once UNIQUE (org, name),
    CONSTRAINT fairhold_member_role CHECK (role IN ('admin', 'staff', 'read'))
);

CREATE INDEX fairhold_member_org ON fairhold_members (org, id);

-- Who is signed in: only a hash of what the browser has is kept.
CREATE TABLE fairhold_sessions (
    digest BYTEA NOT NULL PRIMARY KEY,
    member TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    ended_at BIGINT
);

CREATE INDEX fairhold_session_of_member ON fairhold_sessions (member);
CREATE INDEX fairhold_session_made ON fairhold_sessions (created_at);

-- Passkeys of members: what they prove themselves with instead of a password. The public half is here, the other
-- never leaves their device.
CREATE TABLE fairhold_passkeys (
    id TEXT NOT NULL PRIMARY KEY,
    member TEXT NOT NULL,
    credential BYTEA NOT NULL,
    public_key BYTEA NOT NULL,
    sign_count BIGINT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT,
    CONSTRAINT fairhold_passkey_once UNIQUE (credential)
);

CREATE INDEX fairhold_passkey_of_member ON fairhold_passkeys (member, id);

-- What a passkey was asked to sign, by its hash: once, within minutes, on whichever node. Nobody is known yet where
-- the member is empty.
CREATE TABLE fairhold_challenges (
    digest BYTEA NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL,
    member TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT fairhold_challenge_purpose CHECK (purpose IN ('add', 'sign_in'))
);

CREATE INDEX fairhold_challenge_over ON fairhold_challenges (expires_at);

-- Who a member is at an identity provider: its own name for them, which it gives to nobody else.
CREATE TABLE fairhold_identities (
    org TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    member TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, issuer, subject),
    CONSTRAINT fairhold_one_identity UNIQUE (member, issuer)
);

-- Keeping the database in order --------------------------------------------------------------------------

-- Attempts at a password that failed of late, by account, address, and both: a keyed hash of whose, and when all of
-- them will be forgiven.
CREATE TABLE fairhold_sign_in_attempts (
    name TEXT NOT NULL PRIMARY KEY,
    full_at BIGINT NOT NULL
);

CREATE INDEX fairhold_attempt_age ON fairhold_sign_in_attempts (full_at);

-- Dead letters that staff have put away. The message and its deliveries stay as they are.
CREATE TABLE fairhold_dismissals (
    pool_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    part BIGINT NOT NULL,
    by TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (pool_id, seq, part)
);

-- For how many days an org keeps what is over: nothing said is for ever. And when that was last seen to.
CREATE TABLE fairhold_retention (
    org TEXT NOT NULL PRIMARY KEY,
    people_days BIGINT,
    messages_days BIGINT,
    by TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    pruned_at BIGINT,
    CONSTRAINT fairhold_retention_days CHECK (people_days >= 1 AND messages_days >= 1)
);
