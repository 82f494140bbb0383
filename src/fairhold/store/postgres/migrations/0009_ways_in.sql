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
