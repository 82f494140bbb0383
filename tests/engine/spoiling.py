"""Statements that spoil rows behind the library's back."""

from __future__ import annotations

from typing import Final


def of(pool: str) -> str:
    return f"pool_id = (SELECT id FROM fairhold_pools WHERE key = '{pool}')"


def unguarded(table: str) -> list[str]:
    """A table without its keys and constraints."""
    return [
        f"CREATE TABLE copied AS SELECT * FROM {table}",
        f"DROP TABLE {table}",
        f"ALTER TABLE copied RENAME TO {table}",
    ]


ENTRY: Final = f"INSERT INTO fairhold_log SELECT pool_id, seq + 1, at, kind, booking, by, body, digest, hash \
FROM fairhold_log WHERE {of('yoga')} AND seq = 8"
OUTBOX: Final = (
    "(pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error)"
)
MESSAGE: Final = (
    f"INSERT INTO fairhold_outbox {OUTBOX} SELECT pool_id, {{}}, kind, recipient, booking, facts, \
created_at, state, due_at, attempts, error FROM fairhold_outbox WHERE {of('yoga')} AND kind = 'offer'"
)
OFFERS: Final = "(pool_id, booking, seq, openings, quantity, units, offered_at, expires_at)"
OFFER: Final = (
    f"INSERT INTO fairhold_offers {OFFERS} SELECT pool_id, {{}}, openings, quantity, units, offered_at, \
expires_at FROM fairhold_offers WHERE {of('yoga')}"
)
