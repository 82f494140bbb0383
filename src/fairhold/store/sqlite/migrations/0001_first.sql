-- The schema of Fairhold on SQLite. Instants are milliseconds since 1970 UTC; texts of JSON are written by
-- Fairhold alone. Every name begins with fairhold_, so that the tables can stand beside a program's own. A
-- constraint that keeps a promise carries its name.
--
-- Until the first release this file is edited in place: its digest stands in fairhold_schema, and a database that
-- another edition of it has made is refused.

CREATE TABLE fairhold_schema (
    version INTEGER NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE fairhold_secrets (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE fairhold_pools (
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
    CONSTRAINT fairhold_pool_key_once UNIQUE (org, key),
    CONSTRAINT fairhold_no_oversell CHECK (overflow >= 0 AND overflow <= open_size),
    CONSTRAINT fairhold_pool_status CHECK (status IN ('open', 'paused', 'closed', 'cancelled'))
) STRICT;

CREATE INDEX fairhold_pool_due ON fairhold_pools (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE fairhold_quotas (
    pool_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    size INTEGER,
    used INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    offered INTEGER NOT NULL,
    aside INTEGER NOT NULL,
    round INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (pool_id, key),
    CONSTRAINT fairhold_quota_counts CHECK (used >= 0 AND waiting >= 0 AND offered >= 0 AND aside >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE fairhold_units (
    pool_id INTEGER NOT NULL,
    label TEXT NOT NULL,
    quota TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    starts_at INTEGER,
    attributes TEXT NOT NULL,
    closed INTEGER NOT NULL,
    PRIMARY KEY (pool_id, label),
    CONSTRAINT fairhold_unit_closed CHECK (closed IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX fairhold_unit_order ON fairhold_units (pool_id, ordinal);

-- A unit that is taken stands here once: a second taker is refused by the key itself.
CREATE TABLE fairhold_takings (
    pool_id INTEGER NOT NULL,
    label TEXT NOT NULL,
    booking INTEGER NOT NULL,
    CONSTRAINT fairhold_no_oversell_unit PRIMARY KEY (pool_id, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE fairhold_bookings (
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
    CONSTRAINT fairhold_booking_state CHECK (
        state = 'waiting' OR state = 'offered' OR state = 'held' OR state = 'confirmed' OR state = 'declined'
        OR state = 'expired' OR state = 'cancelled' OR state = 'closed'
    ),
    CONSTRAINT fairhold_booking_quantity CHECK (quantity > 0),
    CONSTRAINT fairhold_booking_deadline CHECK (
        CASE
            WHEN state IN ('offered', 'held') THEN expires_at IS NOT NULL
            WHEN state = 'waiting' THEN 1
            ELSE expires_at IS NULL
        END
    ),
    CONSTRAINT fairhold_booking_offer CHECK ((state = 'offered') = (offer_quantity > 0))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX fairhold_one_place_in_line ON fairhold_bookings (party_id, pool_id) WHERE state IN ('waiting', 'offered');
CREATE INDEX fairhold_booking_holds ON fairhold_bookings (party_id, pool_id) WHERE state = 'held';
CREATE INDEX fairhold_booking_past ON fairhold_bookings (party_id, pool_id)
    WHERE state = 'confirmed' OR state = 'declined' OR state = 'expired' OR state = 'cancelled' OR state = 'closed';
CREATE UNIQUE INDEX fairhold_line_order ON fairhold_bookings (pool_id, place) WHERE state = 'waiting';
CREATE INDEX fairhold_offered_order ON fairhold_bookings (pool_id, place) WHERE state = 'offered';
CREATE INDEX fairhold_line_groups ON fairhold_bookings (pool_id, quota, quantity, round, wants_key, place) WHERE state = 'waiting';
CREATE INDEX fairhold_booking_sources ON fairhold_bookings (source) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX fairhold_booking_public_holds ON fairhold_bookings (party_id) WHERE source IS NOT NULL AND state = 'held';
CREATE INDEX fairhold_booking_reach ON fairhold_bookings (pool_id, number) WHERE reach <> '';
CREATE INDEX fairhold_booking_due ON fairhold_bookings (pool_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX fairhold_booking_taken ON fairhold_bookings (quota, pool_id, arrival, number)
    WHERE state = 'offered' OR state = 'held' OR state = 'confirmed';

-- How many wait at places from `low` up to the next block's `low`.
CREATE TABLE fairhold_line_blocks (
    pool_id INTEGER NOT NULL,
    low INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (pool_id, low),
    CONSTRAINT fairhold_block_count CHECK (count >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE fairhold_offers (
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
    CONSTRAINT fairhold_offer_outcome CHECK (outcome = 'claimed' OR outcome = 'declined' OR outcome = 'lapsed'
        OR outcome = 'withdrawn' OR outcome = 'unreachable')
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX fairhold_one_live_offer ON fairhold_offers (pool_id, booking) WHERE outcome IS NULL;
CREATE INDEX fairhold_offers_to_tell ON fairhold_offers (pool_id, expires_at, booking)
    WHERE outcome IS NULL AND told = 'staff';

CREATE TABLE fairhold_openings (
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

CREATE INDEX fairhold_opening_live ON fairhold_openings (pool_id)
    WHERE state = 'open' OR state = 'freed' OR state = 'handed_back';

-- Who was offered which opening.
CREATE TABLE fairhold_tries (
    pool_id INTEGER NOT NULL,
    opening INTEGER NOT NULL,
    booking INTEGER NOT NULL,
    PRIMARY KEY (pool_id, opening, booking)
) STRICT, WITHOUT ROWID;

CREATE TABLE fairhold_log (
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

CREATE INDEX fairhold_log_booking ON fairhold_log (pool_id, booking, seq) WHERE booking IS NOT NULL;

CREATE TABLE fairhold_outbox (
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
    CONSTRAINT fairhold_told_once PRIMARY KEY (pool_id, seq, part),
    CONSTRAINT fairhold_outbox_state CHECK (state = 'pending' OR state = 'sent' OR state = 'dead'
        OR state = 'not_sent' OR state = 'dropped')
) STRICT, WITHOUT ROWID;

CREATE INDEX fairhold_outbox_due ON fairhold_outbox (due_at) WHERE state = 'pending';
CREATE INDEX fairhold_outbox_of_pool ON fairhold_outbox (pool_id, due_at, seq, part) WHERE state = 'pending';
CREATE INDEX fairhold_outbox_dead ON fairhold_outbox (pool_id, seq, part) WHERE state = 'dead';
CREATE INDEX fairhold_outbox_not_sent ON fairhold_outbox (pool_id, seq, part)
    WHERE state = 'not_sent' AND (kind = 'promoted' OR kind = 'put_back' OR kind = 'demoted');
CREATE INDEX fairhold_outbox_places ON fairhold_outbox (pool_id, seq, part)
    WHERE kind = 'promoted' AND (state = 'dead' OR state = 'not_sent' OR (state = 'pending' AND error <> ''));
CREATE INDEX fairhold_outbox_urgent ON fairhold_outbox (pool_id, due_at, seq, part)
    WHERE state = 'pending' AND (kind = 'offer' OR kind = 'promoted' OR kind = 'hold_ending');
CREATE INDEX fairhold_outbox_about ON fairhold_outbox (pool_id, booking) WHERE state = 'pending';

-- A message at one target: the party's e-mail or phone, a webhook, a contact of staff. No address stands here.
CREATE TABLE fairhold_deliveries (
    pool_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    target TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (pool_id, seq, part, target),
    CONSTRAINT fairhold_delivery_state CHECK (state = 'pending' OR state = 'sent' OR state = 'dead')
) STRICT, WITHOUT ROWID;

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
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (org, kind, language, part),
    CONSTRAINT fairhold_template_part CHECK (part IN ('subject', 'body', 'sms'))
) STRICT, WITHOUT ROWID;

-- Its secret is derived from the id, as the tokens of links are; a new generation makes a new one.
CREATE TABLE fairhold_webhooks (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    payload TEXT NOT NULL,
    kinds TEXT NOT NULL,
    generation INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT fairhold_webhook_payload CHECK (payload IN ('full', 'thin'))
) STRICT, WITHOUT ROWID;

CREATE TABLE fairhold_staff_contacts (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    notifier TEXT NOT NULL,
    address TEXT NOT NULL,
    locale TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT fairhold_contact_notifier CHECK (notifier IN ('email', 'sms', 'apprise'))
) STRICT, WITHOUT ROWID;

CREATE TABLE fairhold_requests (
    org TEXT NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    answer TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, key)
) STRICT;

-- Keys of the HTTP service: only a hash of each is kept.
CREATE TABLE fairhold_api_keys (
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
    CONSTRAINT fairhold_key_once UNIQUE (digest),
    CONSTRAINT fairhold_key_request_once UNIQUE (org, request),
    CONSTRAINT fairhold_key_role CHECK (role IN ('admin', 'staff', 'read', 'public'))
) STRICT;

CREATE INDEX fairhold_key_org ON fairhold_api_keys (org, id);

-- Which stretch of which pool's log came with which transaction, in an order that nothing can slip into later.
CREATE TABLE fairhold_stream (
    mark INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    org TEXT NOT NULL,
    pool_id INTEGER NOT NULL,
    seq_before INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX fairhold_stream_order ON fairhold_stream (org, mark, pool_id, seq);

CREATE TRIGGER fairhold_stream_pool_made AFTER INSERT ON fairhold_pools BEGIN
    INSERT INTO fairhold_stream (org, pool_id, seq_before, seq, at)
    VALUES (new.org, new.id, 0, new.log_seq, new.updated_at);
END;

CREATE TRIGGER fairhold_stream_pool_changed AFTER UPDATE OF log_seq ON fairhold_pools WHEN new.log_seq > old.log_seq BEGIN
    INSERT INTO fairhold_stream (org, pool_id, seq_before, seq, at)
    VALUES (new.org, new.id, old.log_seq, new.log_seq, new.updated_at);
END;

-- Whose web sites may show an org's pages in a frame.
CREATE TABLE fairhold_embed_origins (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT fairhold_origin_once UNIQUE (org, origin)
) STRICT, WITHOUT ROWID;

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
    invitation INTEGER NOT NULL,
    invited_until INTEGER,
    created_at INTEGER NOT NULL,
    signed_in_at INTEGER,
    CONSTRAINT fairhold_member_email_once UNIQUE (org, email),
    CONSTRAINT fairhold_member_name_once UNIQUE (org, name),
    CONSTRAINT fairhold_member_role CHECK (role IN ('admin', 'staff', 'read'))
) STRICT;

CREATE INDEX fairhold_member_org ON fairhold_members (org, id);

-- Who is signed in: only a hash of what the browser has is kept.
CREATE TABLE fairhold_sessions (
    digest BLOB NOT NULL PRIMARY KEY,
    member TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;

CREATE INDEX fairhold_session_of_member ON fairhold_sessions (member);
CREATE INDEX fairhold_session_made ON fairhold_sessions (created_at);

-- Passkeys of members: what they prove themselves with instead of a password. The public half is here, the other
-- never leaves their device.
CREATE TABLE fairhold_passkeys (
    id TEXT NOT NULL PRIMARY KEY,
    member TEXT NOT NULL,
    credential BLOB NOT NULL,
    public_key BLOB NOT NULL,
    sign_count INTEGER NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER,
    CONSTRAINT fairhold_passkey_once UNIQUE (credential)
) STRICT;

CREATE INDEX fairhold_passkey_of_member ON fairhold_passkeys (member, id);

-- What a passkey was asked to sign, by its hash: once, within minutes, on whichever node. Nobody is known yet where
-- the member is empty.
CREATE TABLE fairhold_challenges (
    digest BLOB NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL,
    member TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT fairhold_challenge_purpose CHECK (purpose IN ('add', 'sign_in'))
) STRICT;

CREATE INDEX fairhold_challenge_over ON fairhold_challenges (expires_at);

-- Who a member is at an identity provider: its own name for them, which it gives to nobody else.
CREATE TABLE fairhold_identities (
    org TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    member TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, issuer, subject),
    CONSTRAINT fairhold_one_identity UNIQUE (member, issuer)
) STRICT, WITHOUT ROWID;

-- Keeping the database in order --------------------------------------------------------------------------

-- Attempts at a password that failed of late, by account, address, and both: a keyed hash of whose, and when all of
-- them will be forgiven.
CREATE TABLE fairhold_sign_in_attempts (
    name TEXT NOT NULL PRIMARY KEY,
    full_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX fairhold_attempt_age ON fairhold_sign_in_attempts (full_at);

-- Dead letters that staff have put away. The message and its deliveries stay as they are.
CREATE TABLE fairhold_dismissals (
    pool_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    by TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (pool_id, seq, part)
) STRICT, WITHOUT ROWID;

-- For how many days an org keeps what is over: nothing said is for ever. And when that was last seen to.
CREATE TABLE fairhold_retention (
    org TEXT NOT NULL PRIMARY KEY,
    people_days INTEGER,
    messages_days INTEGER,
    by TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    pruned_at INTEGER,
    CONSTRAINT fairhold_retention_days CHECK (people_days >= 1 AND messages_days >= 1)
) STRICT, WITHOUT ROWID;
