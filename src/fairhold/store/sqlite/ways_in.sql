-- Named queries of passkeys and identities, on SQLite. The same names stand in ../postgres/ways_in.sql.

-- columns: passkey
p.id, p.name, p.created_at, p.used_at;

-- name: put_challenge
INSERT INTO fairhold_challenges (digest, purpose, member, expires_at) VALUES (?1, ?2, ?3, ?4);

-- name: take_challenge
-- It is gone with this, whatever comes of it: of two who answer it, one does.
DELETE FROM fairhold_challenges WHERE digest = ?1 AND purpose = ?2 AND member = ?3 AND expires_at > ?4 RETURNING 1;

-- name: forget_challenges
DELETE FROM fairhold_challenges WHERE expires_at <= ?1 RETURNING 1;

-- name: put_passkey
-- Only while the member is there.
INSERT INTO fairhold_passkeys (id, member, credential, public_key, sign_count, name, created_at)
SELECT ?1, m.id, ?3, ?4, ?5, ?6, ?7 FROM fairhold_members AS m WHERE m.id = ?2
RETURNING 1;

-- name: passkeys_of_member
SELECT {passkey}, p.credential FROM fairhold_passkeys AS p WHERE p.member = ?1 ORDER BY p.created_at, p.id;

-- name: passkey_by_credential
-- With what it is checked by behind the member's columns.
SELECT {member}, p.id, p.public_key, p.sign_count FROM fairhold_passkeys AS p JOIN fairhold_members AS m ON m.id = p.member
WHERE p.credential = ?1;

-- name: drop_passkey
DELETE FROM fairhold_passkeys WHERE member = ?1 AND id = ?2 RETURNING 1;

-- name: drop_passkeys
DELETE FROM fairhold_passkeys WHERE member = ?1 RETURNING 1;

-- name: start_session_by_passkey
-- Only with a passkey that is still theirs. The member is locked before the passkey, as where both are removed.
INSERT INTO fairhold_sessions (digest, member, created_at, used_at)
SELECT ?1, m.id, ?4, ?4 FROM fairhold_members AS m JOIN fairhold_passkeys AS p ON p.member = m.id WHERE m.id = ?2 AND p.id = ?3
RETURNING 1;

-- name: use_passkey
-- Only if its counter is what was looked at: the same signature cannot come in twice.
UPDATE fairhold_passkeys SET sign_count = ?3, used_at = ?4 WHERE id = ?1 AND sign_count = ?2 RETURNING 1;

-- name: member_by_identity
SELECT {member} FROM fairhold_identities AS i JOIN fairhold_members AS m ON m.id = i.member
WHERE i.org = ?1 AND i.issuer = ?2 AND i.subject = ?3;

-- name: subject_of_member
SELECT i.subject FROM fairhold_identities AS i WHERE i.member = ?1 AND i.issuer = ?2;

-- name: put_identity
INSERT INTO fairhold_identities (org, issuer, subject, member, created_at) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: drop_identities
DELETE FROM fairhold_identities WHERE member = ?1 RETURNING 1;

-- name: start_session_by_identity
-- Only while the provider's account is still theirs.
INSERT INTO fairhold_sessions (digest, member, created_at, used_at)
SELECT ?1, m.id, ?5, ?5 FROM fairhold_members AS m JOIN fairhold_identities AS i ON i.member = m.id
WHERE m.id = ?2 AND i.issuer = ?3 AND i.subject = ?4
RETURNING 1;
