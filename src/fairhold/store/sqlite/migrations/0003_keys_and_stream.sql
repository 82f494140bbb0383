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
