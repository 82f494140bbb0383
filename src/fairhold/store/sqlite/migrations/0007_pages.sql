-- Whose web sites may show an org's pages in a frame.
CREATE TABLE embed_origins (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, id),
    CONSTRAINT origin_once UNIQUE (org, origin)
) STRICT, WITHOUT ROWID;
