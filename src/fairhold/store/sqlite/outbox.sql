-- Named queries of what is sent, on SQLite. The same names stand in ../postgres/outbox.sql.

-- name: next_message
SELECT min(due_at) FROM fairhold_outbox WHERE state = 'pending';

-- name: pools_of_due_messages
-- The pool of each of the messages that are due, the longest overdue first.
SELECT pool_id FROM fairhold_outbox WHERE state = 'pending' AND due_at <= ?1 ORDER BY due_at LIMIT ?2;

-- name: pools_with_messages
-- The pools from behind one of them that have a message due, found by leaping from pool to pool.
-- SQLite has no LATERAL, so the leap looks twice for the next.
WITH RECURSIVE leap (pool_id, due_at) AS (
    SELECT * FROM (
        SELECT pool_id, due_at FROM fairhold_outbox INDEXED BY fairhold_outbox_of_pool WHERE state = 'pending' AND pool_id > ?2
        ORDER BY pool_id, due_at LIMIT 1
    )
    UNION ALL
    SELECT (SELECT o.pool_id FROM fairhold_outbox AS o INDEXED BY fairhold_outbox_of_pool
            WHERE o.state = 'pending' AND o.pool_id > leap.pool_id ORDER BY o.pool_id, o.due_at LIMIT 1),
        (SELECT o.due_at FROM fairhold_outbox AS o INDEXED BY fairhold_outbox_of_pool
            WHERE o.state = 'pending' AND o.pool_id > leap.pool_id ORDER BY o.pool_id, o.due_at LIMIT 1)
    FROM leap WHERE leap.pool_id IS NOT NULL
)
SELECT pool_id FROM leap WHERE due_at <= ?1 LIMIT ?3;

-- columns: taken
-- A message in hand, as the outbox reads it.
pool_id, seq, part, kind, recipient, booking, facts, created_at, attempts;

-- name: take_messages
-- Take some messages of a pool: until then nobody else does. There is one writer, so no lock is needed.
UPDATE fairhold_outbox SET due_at = ?3, attempts = attempts + 1
WHERE (pool_id, seq, part) IN (
    SELECT w.pool_id, w.seq, w.part FROM fairhold_outbox AS w INDEXED BY fairhold_outbox_of_pool
    WHERE w.pool_id = ?1 AND w.state = 'pending' AND w.due_at <= ?2
    ORDER BY w.due_at, w.seq, w.part LIMIT ?4
)
RETURNING {taken};

-- name: take_urgent
-- The same of those that cannot wait.
UPDATE fairhold_outbox SET due_at = ?3, attempts = attempts + 1
WHERE (pool_id, seq, part) IN (
    SELECT w.pool_id, w.seq, w.part FROM fairhold_outbox AS w INDEXED BY fairhold_outbox_urgent
    WHERE w.pool_id = ?1 AND w.state = 'pending'
        AND (w.kind = 'offer' OR w.kind = 'promoted' OR w.kind = 'hold_ending') AND w.due_at <= ?2
    ORDER BY w.due_at, w.seq, w.part LIMIT ?4
)
RETURNING {taken};

-- name: take_earlier
-- Take what is due about a booking and happened no later than a message about it that was taken.
UPDATE fairhold_outbox SET due_at = ?3, attempts = attempts + 1
WHERE (pool_id, seq, part) IN (
    SELECT w.pool_id, w.seq, w.part FROM fairhold_outbox AS w INDEXED BY fairhold_outbox_about
    WHERE w.pool_id = ?1 AND w.state = 'pending' AND w.booking = ?4 AND w.due_at <= ?2 AND w.seq <= ?5
)
RETURNING {taken};

-- name: mark_messages
-- Say how a try went, unless somebody has taken the message anew meanwhile.
UPDATE fairhold_outbox SET state = ?5, due_at = ?6, error = ?7
WHERE pool_id = ?1 AND seq = ?2 AND part = ?3 AND attempts = ?4 AND state = 'pending';

-- name: note_deliveries
INSERT INTO fairhold_deliveries (pool_id, seq, part, target, state, attempts, at, error)
VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7)
ON CONFLICT (pool_id, seq, part, target) DO UPDATE SET state = excluded.state,
    attempts = attempts + 1, at = excluded.at, error = excluded.error;

-- name: deliveries_of
SELECT d.target, d.state, d.attempts, d.at, d.error FROM fairhold_deliveries AS d
WHERE d.pool_id = ?1 AND d.seq = ?2 AND d.part = ?3 ORDER BY d.target;

-- name: deliveries_of_messages
SELECT pool_id, seq, part, target, state FROM fairhold_deliveries WHERE pool_id = ?1 AND seq = ?2 AND part = ?3;

-- name: read_message
SELECT pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error
FROM fairhold_outbox WHERE pool_id = ?1 AND seq = ?2 AND part = ?3;

-- name: read_dead
-- The dead letters of an org's pools that nobody has dismissed, pool by pool.
SELECT o.pool_id, o.seq, o.part, o.kind, o.recipient, o.booking, o.facts, o.created_at, o.state, o.due_at,
    o.attempts, o.error
FROM fairhold_pools AS p JOIN fairhold_outbox AS o INDEXED BY fairhold_outbox_dead ON o.pool_id = p.id
WHERE p.org = ?1 AND o.state = 'dead' AND NOT EXISTS (
        SELECT 1 FROM fairhold_dismissals AS d WHERE d.pool_id = o.pool_id AND d.seq = o.seq AND d.part = o.part
    ) AND (o.pool_id, o.seq, o.part) > (?2, ?3, ?4)
ORDER BY o.pool_id, o.seq, o.part LIMIT ?5;

-- name: dismissal_of
SELECT by, at FROM fairhold_dismissals WHERE pool_id = ?1 AND seq = ?2 AND part = ?3;

-- name: dismiss_message
-- Put a dead letter away. It stays what it is; done twice, the first counts.
INSERT INTO fairhold_dismissals (pool_id, seq, part, by, at)
SELECT o.pool_id, o.seq, o.part, ?4, ?5 FROM fairhold_outbox AS o
WHERE o.pool_id = ?1 AND o.seq = ?2 AND o.part = ?3 AND (o.state = 'dead' OR o.state = 'not_sent')
ON CONFLICT (pool_id, seq, part) DO NOTHING RETURNING 1;

-- name: recall_message
-- What is sent again is put away no more.
DELETE FROM fairhold_dismissals WHERE pool_id = ?1 AND seq = ?2 AND part = ?3;

-- name: replay_message
-- What it said must still be known: without it, it would say something else.
UPDATE fairhold_outbox SET state = 'pending', due_at = ?4, attempts = 0, error = ''
WHERE pool_id = ?1 AND seq = ?2 AND part = ?3 AND (state = 'dead' OR state = 'not_sent') AND facts <> '{}'
RETURNING 1;

-- name: replay_deliveries
UPDATE fairhold_deliveries SET state = 'pending'
WHERE pool_id = ?1 AND seq = ?2 AND part = ?3 AND state = 'dead';

-- name: deliveries_to
-- What was sent to one webhook, the latest first, from behind one of them.
SELECT d.pool_id, d.seq, d.part, o.kind, o.booking, d.state, d.attempts, d.at, d.error, o.created_at
FROM fairhold_deliveries AS d JOIN fairhold_outbox AS o ON o.pool_id = d.pool_id AND o.seq = d.seq AND o.part = d.part
WHERE d.target = ?1 AND d.target LIKE 'webhook:%' AND (d.at, d.pool_id, d.seq, d.part) < (?2, ?3, ?4, ?5)
ORDER BY d.at DESC, d.pool_id DESC, d.seq DESC, d.part DESC LIMIT ?6;

-- name: replay_delivery
UPDATE fairhold_deliveries SET state = 'pending'
WHERE pool_id = ?1 AND seq = ?2 AND part = ?3 AND target = ?4 RETURNING 1;

-- name: resend_message
-- Have a message gone through again; who was told, or given up, is not told again.
UPDATE fairhold_outbox SET state = 'pending', due_at = ?4, attempts = 0, error = ''
WHERE pool_id = ?1 AND seq = ?2 AND part = ?3 AND state <> 'pending' AND facts <> '{}' RETURNING 1;

-- name: not_reached
-- Those in line behind a booking who could not be told of an offer for want of a channel or a contact, and their orgs.
SELECT {booking}, (SELECT p.org FROM fairhold_pools AS p WHERE p.id = fairhold_bookings.pool_id)
FROM fairhold_bookings
WHERE reach <> '' AND reach IN ('no_channel', 'no_contact') AND state = 'waiting'
    AND (pool_id, number) > (?1, ?2)
ORDER BY pool_id, number LIMIT ?3;

-- name: templates_of
SELECT kind, language, part, text, by, updated_at FROM fairhold_templates WHERE org = ?1 ORDER BY kind, language, part;

-- name: put_template
INSERT INTO fairhold_templates (org, kind, language, part, text, by, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (org, kind, language, part) DO UPDATE SET text = excluded.text, by = excluded.by,
    updated_at = excluded.updated_at;

-- name: drop_template
DELETE FROM fairhold_templates WHERE org = ?1 AND kind = ?2 AND language = ?3 AND part = ?4 RETURNING 1;

-- name: webhooks_of
SELECT id, url, payload, kinds, generation, created_at FROM fairhold_webhooks WHERE org = ?1 ORDER BY created_at, id;

-- name: put_webhook
INSERT INTO fairhold_webhooks (org, id, url, payload, kinds, generation, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (org, id) DO UPDATE SET url = excluded.url, payload = excluded.payload, kinds = excluded.kinds,
    generation = excluded.generation;

-- name: drop_webhook
DELETE FROM fairhold_webhooks WHERE org = ?1 AND id = ?2 RETURNING 1;

-- name: contacts_of
SELECT id, notifier, address, locale, created_at FROM fairhold_staff_contacts WHERE org = ?1 ORDER BY created_at, id;

-- name: put_contact
INSERT INTO fairhold_staff_contacts (org, id, notifier, address, locale, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: drop_contact
DELETE FROM fairhold_staff_contacts WHERE org = ?1 AND id = ?2 RETURNING 1;
