-- What sending needs: the outbox by pool, so that each is served in turn; how each message fared at each address;
-- the words an org has put in place of ours; where an org and its staff want to be told.

CREATE INDEX outbox_of_pool ON outbox (pool_id, due_at, seq, part) WHERE state = 'pending';
CREATE INDEX outbox_dead ON outbox (pool_id, seq, part) WHERE state = 'dead';

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
    CONSTRAINT delivery_state CHECK (state IN ('pending', 'sent', 'dead'))
) STRICT, WITHOUT ROWID;

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
