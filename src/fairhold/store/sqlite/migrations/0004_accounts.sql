-- Members of staff, each of one org. A password is kept as Argon2 has it; an invitation's token is derived from
-- the id and the number of the invitation, as the tokens of links are.
CREATE TABLE members (
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
    CONSTRAINT member_email_once UNIQUE (org, email),
    CONSTRAINT member_name_once UNIQUE (org, name),
    CONSTRAINT member_role CHECK (role IN ('admin', 'staff', 'read'))
) STRICT;

CREATE INDEX member_org ON members (org, id);

-- Who is signed in: only a hash of what the browser has is kept.
CREATE TABLE sessions (
    digest BLOB NOT NULL PRIMARY KEY,
    member TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;

CREATE INDEX session_of_member ON sessions (member);
CREATE INDEX session_made ON sessions (created_at);
