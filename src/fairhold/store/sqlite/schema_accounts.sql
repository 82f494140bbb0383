-- The part of the schema (see schema.sql) that is about members of staff and their ways in.

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

-- Passkeys of members: what they prove themselves with instead of a password. The public half is here, the other
-- never leaves their device.
CREATE TABLE passkeys (
    id TEXT NOT NULL PRIMARY KEY,
    member TEXT NOT NULL,
    credential BLOB NOT NULL,
    public_key BLOB NOT NULL,
    sign_count INTEGER NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER,
    CONSTRAINT passkey_once UNIQUE (credential)
) STRICT;

CREATE INDEX passkey_of_member ON passkeys (member, id);

-- What a passkey was asked to sign, by its hash: once, within minutes, on whichever node. Nobody is known yet where
-- the member is empty.
CREATE TABLE challenges (
    digest BLOB NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL,
    member TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT challenge_purpose CHECK (purpose IN ('add', 'sign_in'))
) STRICT;

CREATE INDEX challenge_over ON challenges (expires_at);

-- Who a member is at an identity provider: its own name for them, which it gives to nobody else.
CREATE TABLE identities (
    org TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    member TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org, issuer, subject),
    CONSTRAINT one_identity UNIQUE (member, issuer)
) STRICT, WITHOUT ROWID;
