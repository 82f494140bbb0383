-- Named queries of members and their sessions, on SQLite. The same names stand in ../postgres/accounts.sql.

-- columns: member
m.id, m.org, m.email, m.name, m.role, m.password IS NOT NULL, m.created_at, m.signed_in_at, m.invited_until, m.invitation;

-- name: member_by_email
SELECT {member}, m.password FROM fairhold_members AS m WHERE m.org = ?1 AND m.email = ?2;

-- name: member_by_name
SELECT {member} FROM fairhold_members AS m WHERE m.org = ?1 AND m.name = ?2;

-- name: member_by_id
SELECT {member}, m.password FROM fairhold_members AS m WHERE m.id = ?1;

-- name: read_members
SELECT {member} FROM fairhold_members AS m WHERE m.org = ?1 AND m.id > ?2 ORDER BY m.id LIMIT ?3;

-- name: lock_admins
-- The admins of an org. There is one writer, so no lock is needed.
SELECT m.id FROM fairhold_members AS m WHERE m.org = ?1 AND m.role = 'admin' ORDER BY m.id;

-- name: put_member
INSERT INTO fairhold_members (id, org, email, name, role, invitation, invited_until, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7);

-- name: change_member
UPDATE fairhold_members SET email = ?3, name = ?4, role = ?5 WHERE org = ?1 AND id = ?2;

-- name: invite_member
UPDATE fairhold_members SET invitation = invitation + 1, invited_until = ?3 WHERE org = ?1 AND id = ?2;

-- name: drop_member
DELETE FROM fairhold_members WHERE org = ?1 AND id = ?2 RETURNING 1;

-- name: accept_invitation
-- Only while it is open: of two who accept at once, one does.
UPDATE fairhold_members SET password = ?4, invited_until = NULL
WHERE id = ?1 AND invitation = ?2 AND invited_until > ?3 RETURNING 1;

-- name: change_password
-- Only if it still is what it was when it was looked at. An open invitation ends with it.
UPDATE fairhold_members SET password = ?3, invited_until = NULL WHERE id = ?1 AND password IS ?2 RETURNING 1;

-- name: start_session
-- Only with the password that was looked at: it may have been changed meanwhile, and all sessions ended.
INSERT INTO fairhold_sessions (digest, member, created_at, used_at)
SELECT ?1, m.id, ?4, ?4 FROM fairhold_members AS m WHERE m.id = ?2 AND m.password = ?3
RETURNING 1;

-- name: note_sign_in
UPDATE fairhold_members SET signed_in_at = ?2 WHERE id = ?1;

-- name: session_by_digest
-- With the session's own instants behind the member's columns.
SELECT {member}, s.created_at, s.used_at, s.ended_at FROM fairhold_sessions AS s JOIN fairhold_members AS m ON m.id = s.member
WHERE s.digest = ?1;

-- name: end_session
UPDATE fairhold_sessions SET ended_at = ?2 WHERE digest = ?1 AND ended_at IS NULL RETURNING 1;

-- name: end_sessions
-- All sessions of a member, but for one.
UPDATE fairhold_sessions SET ended_at = ?3 WHERE member = ?1 AND digest <> ?2 AND ended_at IS NULL RETURNING 1;

-- name: drop_sessions
DELETE FROM fairhold_sessions WHERE member = ?1 RETURNING 1;

-- name: touch_sessions
UPDATE fairhold_sessions SET used_at = max(used_at, ?2) WHERE digest = ?1;

-- name: forget_sessions
-- Those that began before an instant are over by now, whatever they say.
DELETE FROM fairhold_sessions WHERE created_at < ?1 RETURNING 1;

-- name: take_attempt
-- One more that is to be forgiven: a row if there is one left, nothing if there are too many by now.
INSERT INTO fairhold_sign_in_attempts (name, full_at) VALUES (?1, ?2 + ?3)
ON CONFLICT (name) DO UPDATE SET full_at = max(full_at, ?2) + ?3
WHERE max(full_at, ?2) + ?3 <= ?2 + ?4
RETURNING full_at;

-- name: read_attempt
SELECT full_at FROM fairhold_sign_in_attempts WHERE name = ?1;

-- name: give_back_attempt
UPDATE fairhold_sign_in_attempts SET full_at = full_at - ?2 WHERE name = ?1;

-- name: forget_attempts
-- What is forgiven.
DELETE FROM fairhold_sign_in_attempts WHERE name IN (SELECT a.name FROM fairhold_sign_in_attempts AS a WHERE a.full_at < ?1 LIMIT ?2);
