-- Named queries of what is sent, on PostgreSQL. The same names stand in ../sqlite/outbox.sql.

-- name: next_message
SELECT min(due_at) FROM fairhold_outbox WHERE state = 'pending';

-- name: pools_of_due_messages
-- The pool of each of the messages that are due, the longest overdue first.
SELECT pool_id FROM fairhold_outbox WHERE state = 'pending' AND due_at <= $1 ORDER BY due_at LIMIT $2;

-- name: pools_with_messages
-- The pools from behind one of them that have a message due, found by leaping from pool to pool.
WITH RECURSIVE leap (pool_id, due_at) AS (
    SELECT * FROM (
        SELECT pool_id, due_at FROM fairhold_outbox WHERE state = 'pending' AND pool_id > $2
        ORDER BY pool_id, due_at LIMIT 1
    ) AS first
    UNION ALL
    SELECT n.pool_id, n.due_at FROM leap CROSS JOIN LATERAL (
        SELECT o.pool_id, o.due_at FROM fairhold_outbox AS o WHERE o.state = 'pending' AND o.pool_id > leap.pool_id
        ORDER BY o.pool_id, o.due_at LIMIT 1
    ) AS n
)
SELECT pool_id FROM leap WHERE due_at <= $1 LIMIT $3;

-- columns: taken
-- A message in hand, as the outbox reads it.
o.pool_id, o.seq, o.part, o.kind, o.recipient, o.booking, o.facts, o.created_at, o.attempts;

-- name: take_messages
-- Take some messages of each pool: until then nobody else does. What another process is taking is passed over.
UPDATE fairhold_outbox AS o SET due_at = t.until, attempts = o.attempts + 1
FROM (
    SELECT found.pool_id, found.seq, found.part, x.until
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS x (pool, now, until, most)
    CROSS JOIN LATERAL (
        SELECT w.pool_id, w.seq, w.part FROM fairhold_outbox AS w
        WHERE w.pool_id = x.pool AND w.state = 'pending' AND w.due_at <= x.now
        ORDER BY w.due_at, w.seq, w.part LIMIT x.most FOR UPDATE SKIP LOCKED
    ) AS found
) AS t
WHERE o.pool_id = t.pool_id AND o.seq = t.seq AND o.part = t.part
RETURNING {taken};

-- name: take_urgent
-- The same of those that cannot wait.
UPDATE fairhold_outbox AS o SET due_at = t.until, attempts = o.attempts + 1
FROM (
    SELECT found.pool_id, found.seq, found.part, x.until
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS x (pool, now, until, most)
    CROSS JOIN LATERAL (
        SELECT w.pool_id, w.seq, w.part FROM fairhold_outbox AS w
        WHERE w.pool_id = x.pool AND w.state = 'pending' AND w.kind IN ('offer', 'promoted', 'hold_ending')
            AND w.due_at <= x.now
        ORDER BY w.due_at, w.seq, w.part LIMIT x.most FOR UPDATE SKIP LOCKED
    ) AS found
) AS t
WHERE o.pool_id = t.pool_id AND o.seq = t.seq AND o.part = t.part
RETURNING {taken};

-- name: take_earlier
-- Take what is due about a booking and happened no later than a message about it that was taken.
UPDATE fairhold_outbox AS o SET due_at = t.until, attempts = o.attempts + 1
FROM (
    SELECT found.pool_id, found.seq, found.part, x.until
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS x (pool, now, until, about, last)
    CROSS JOIN LATERAL (
        SELECT w.pool_id, w.seq, w.part FROM fairhold_outbox AS w
        WHERE w.pool_id = x.pool AND w.state = 'pending' AND w.booking = x.about AND w.due_at <= x.now AND w.seq <= x.last
        FOR UPDATE SKIP LOCKED
    ) AS found
) AS t
WHERE o.pool_id = t.pool_id AND o.seq = t.seq AND o.part = t.part
RETURNING {taken};

-- name: mark_messages
-- Say how a try went, unless somebody has taken the message anew meanwhile.
UPDATE fairhold_outbox AS o SET state = v5, due_at = v6, error = v7
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[])
    AS x (v1, v2, v3, v4, v5, v6, v7)
WHERE o.pool_id = v1 AND o.seq = v2 AND o.part = v3 AND o.attempts = v4 AND o.state = 'pending';

-- name: note_deliveries
INSERT INTO fairhold_deliveries (pool_id, seq, part, target, state, attempts, at, error)
SELECT v1, v2, v3, v4, v5, 1, v6, v7
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[])
    AS x (v1, v2, v3, v4, v5, v6, v7)
ON CONFLICT (pool_id, seq, part, target) DO UPDATE SET state = excluded.state,
    attempts = fairhold_deliveries.attempts + 1, at = excluded.at, error = excluded.error;

-- name: deliveries_of
SELECT d.target, d.state, d.attempts, d.at, d.error FROM fairhold_deliveries AS d
WHERE d.pool_id = $1 AND d.seq = $2 AND d.part = $3 ORDER BY d.target;

-- name: deliveries_of_messages
-- LATERAL and LIMIT make the planner look each message up by index, also when the table is still empty.
SELECT found.* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (pool, s, p) CROSS JOIN LATERAL (
    SELECT d.pool_id, d.seq, d.part, d.target, d.state FROM fairhold_deliveries AS d
    WHERE d.pool_id = x.pool AND d.seq = x.s AND d.part = x.p LIMIT 1000
) AS found;

-- name: read_message
SELECT pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error
FROM fairhold_outbox WHERE pool_id = $1 AND seq = $2 AND part = $3;

-- name: read_dead
-- The dead letters of an org's pools that nobody has dismissed, pool by pool.
SELECT o.pool_id, o.seq, o.part, o.kind, o.recipient, o.booking, o.facts, o.created_at, o.state, o.due_at,
    o.attempts, o.error
FROM fairhold_pools AS p JOIN fairhold_outbox AS o ON o.pool_id = p.id
WHERE p.org = $1 AND o.state = 'dead' AND NOT EXISTS (
        SELECT 1 FROM fairhold_dismissals AS d WHERE d.pool_id = o.pool_id AND d.seq = o.seq AND d.part = o.part
    ) AND (o.pool_id, o.seq, o.part) > ($2, $3, $4)
ORDER BY o.pool_id, o.seq, o.part LIMIT $5;

-- name: dismissal_of
SELECT by, at FROM fairhold_dismissals WHERE pool_id = $1 AND seq = $2 AND part = $3;

-- name: dismiss_message
-- Put a dead letter away. It stays what it is; done twice, the first counts.
INSERT INTO fairhold_dismissals (pool_id, seq, part, by, at)
SELECT o.pool_id, o.seq, o.part, $4::text, $5::bigint FROM fairhold_outbox AS o
WHERE o.pool_id = $1 AND o.seq = $2 AND o.part = $3 AND (o.state = 'dead' OR o.state = 'not_sent')
ON CONFLICT (pool_id, seq, part) DO NOTHING RETURNING 1;

-- name: recall_message
-- What is sent again is put away no more.
DELETE FROM fairhold_dismissals WHERE pool_id = $1 AND seq = $2 AND part = $3;

-- name: replay_message
-- What it said must still be known: without it, it would say something else.
UPDATE fairhold_outbox SET state = 'pending', due_at = $4, attempts = 0, error = ''
WHERE pool_id = $1 AND seq = $2 AND part = $3 AND (state = 'dead' OR state = 'not_sent') AND facts <> '{}'
RETURNING 1;

-- name: replay_deliveries
UPDATE fairhold_deliveries SET state = 'pending'
WHERE pool_id = $1 AND seq = $2 AND part = $3 AND state = 'dead';

-- name: deliveries_to
-- What was sent to one webhook, the latest first, from behind one of them.
SELECT d.pool_id, d.seq, d.part, o.kind, o.booking, d.state, d.attempts, d.at, d.error, o.created_at
FROM fairhold_deliveries AS d JOIN fairhold_outbox AS o ON o.pool_id = d.pool_id AND o.seq = d.seq AND o.part = d.part
WHERE d.target = $1 AND d.target LIKE 'webhook:%' AND (d.at, d.pool_id, d.seq, d.part) < ($2, $3, $4, $5)
ORDER BY d.at DESC, d.pool_id DESC, d.seq DESC, d.part DESC LIMIT $6;

-- name: replay_delivery
UPDATE fairhold_deliveries SET state = 'pending'
WHERE pool_id = $1 AND seq = $2 AND part = $3 AND target = $4 RETURNING 1;

-- name: resend_message
-- Have a message gone through again; who was told, or given up, is not told again.
UPDATE fairhold_outbox SET state = 'pending', due_at = $4, attempts = 0, error = ''
WHERE pool_id = $1 AND seq = $2 AND part = $3 AND state <> 'pending' AND facts <> '{}' RETURNING 1;

-- name: not_reached
-- Those in line behind a booking who could not be told of an offer for want of a channel or a contact, and their orgs.
SELECT {booking}, (SELECT p.org FROM fairhold_pools AS p WHERE p.id = fairhold_bookings.pool_id)
FROM fairhold_bookings
WHERE reach <> '' AND reach IN ('no_channel', 'no_contact') AND state = 'waiting'
    AND (pool_id, number) > ($1::bigint, $2::bigint)
ORDER BY pool_id, number LIMIT $3;

-- name: templates_of
SELECT kind, language, part, text, by, updated_at FROM fairhold_templates WHERE org = $1 ORDER BY kind, language, part;

-- name: put_template
INSERT INTO fairhold_templates (org, kind, language, part, text, by, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (org, kind, language, part) DO UPDATE SET text = excluded.text, by = excluded.by,
    updated_at = excluded.updated_at;

-- name: drop_template
DELETE FROM fairhold_templates WHERE org = $1 AND kind = $2 AND language = $3 AND part = $4 RETURNING 1;

-- name: webhooks_of
SELECT id, url, payload, kinds, generation, created_at FROM fairhold_webhooks WHERE org = $1 ORDER BY created_at, id;

-- name: put_webhook
INSERT INTO fairhold_webhooks (org, id, url, payload, kinds, generation, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (org, id) DO UPDATE SET url = excluded.url, payload = excluded.payload, kinds = excluded.kinds,
    generation = excluded.generation;

-- name: drop_webhook
DELETE FROM fairhold_webhooks WHERE org = $1 AND id = $2 RETURNING 1;

-- name: contacts_of
SELECT id, notifier, address, locale, created_at FROM fairhold_staff_contacts WHERE org = $1 ORDER BY created_at, id;

-- name: put_contact
INSERT INTO fairhold_staff_contacts (org, id, notifier, address, locale, created_at) VALUES ($1, $2, $3, $4, $5, $6);

-- name: drop_contact
DELETE FROM fairhold_staff_contacts WHERE org = $1 AND id = $2 RETURNING 1;
