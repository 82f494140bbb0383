"""Crash under load: the real service, many clients, and kill -9 at random moments.

    python3 dev.py crash                              fifty kills on each store
    python3 dev.py crash --times 5 --store postgres   a shorter look
    python3 dev.py crash --seed 7                     other dice

Clients sign up, confirm, cancel, extend, answer offers from their mail; staff move people and change sizes.
Each request has an idempotency key and is repeated until it is answered. Mail and webhooks arrive at real
receivers. Nodes are killed while all of this goes on, and on PostgreSQL the database server, too. After each
kill, and at the end, a checker that shares no code with the service judges what clients were told and what
arrived against the tables.
"""
