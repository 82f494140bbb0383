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
    invitation BIGINT NOT NULL,
    invited_until BIGINT,
    created_at BIGINT NOT NULL,
    signed_in_at BIGINT,
    CONSTRAINT member_email_once UNIQUE (org, email),
    CONSTRAINT member_name_once UNIQUE (org, name),
    CONSTRAINT member_role CHECK (role IN ('admin', 'staff', 'read'))
);

CREATE INDEX member_org ON members (org, id);

-- Who is signed in: only a hash of what the browser has is kept.
CREATE TABLE sessions (
    digest BYTEA NOT NULL PRIMARY KEY,
    member TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    ended_at BIGINT
);

CREATE INDEX session_of_member ON sessions (member);
CREATE INDEX session_made ON sessions (created_at);

-- Passkeys of members: what they prove themselves with instead of a password. The public half is here, the other
-- never leaves their device.
CREATE TABLE passkeys (
    id TEXT NOT NULL PRIMARY KEY,
    member TEXT NOT NULL,
    credential BYTEA NOT NULL,
    public_key BYTEA NOT NULL,
    sign_count BIGINT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT,
    CONSTRAINT passkey_once UNIQUE (credential)
);

CREATE INDEX passkey_of_member ON passkeys (member, id);

-- What a passkey was asked to sign, by its hash: once, within minutes, on whichever node. Nobody is known yet where
-- the member is empty.
CREATE TABLE challenges (
    digest BYTEA NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL,
    member TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT challenge_purpose CHECK (purpose IN ('add', 'sign_in'))
);

CREATE INDEX challenge_over ON challenges (expires_at);

-- Who a member is at an identity provider: its own name for them, which it gives to nobody else.
CREATE TABLE identities (
    org TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    member TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org, issuer, subject),
    CONSTRAINT one_identity UNIQUE (member, issuer)
);
