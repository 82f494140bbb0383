"""A seeded simulator: many parties, staff and nodes over one database, with everything going wrong.

    python3 dev.py sim              one seed after another, for a minute
    python3 dev.py sim 42           this seed again, with what the nodes write to their logs
    python3 dev.py sim --seconds 3600 --store postgres

People ask, nodes die, commits fail before and after, clocks jump, messages are lost and doubled. When the
dust has settled, an auditor who has seen only requests, answers, messages and the log judges the eight
promises. It shares no code with the rules. On SQLite time is virtual and a seed replays exactly, to the last
interleaving; on PostgreSQL the same is asked, and the server says in which order.
"""
