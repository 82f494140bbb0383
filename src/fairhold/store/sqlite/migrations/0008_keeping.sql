-- Attempts at a password that failed of late, by account, address, and both: a keyed hash of whose, and when all of
-- them will be forgiven.
CREATE TABLE sign_in_attempts (
    name TEXT NOT NULL PRIMARY KEY,
    full_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX attempt_age ON sign_in_attempts (full_at);

-- Dead letters that staff have put away. The message and its deliveries stay as they are.
CREATE TABLE dismissals (
    pool_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    by TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (pool_id, seq, part)
) STRICT, WITHOUT ROWID;

-- For how many days an org keeps what is over: nothing said is for ever. And when that was last seen to.
CREATE TABLE retention (
    org TEXT NOT NULL PRIMARY KEY,
    people_days INTEGER,
    messages_days INTEGER,
    by TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    pruned_at INTEGER,
    CONSTRAINT retention_days CHECK (people_days >= 1 AND messages_days >= 1)
) STRICT, WITHOUT ROWID;
