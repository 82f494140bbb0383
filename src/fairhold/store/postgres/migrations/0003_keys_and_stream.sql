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
