"""Forgetting a person: names, contacts and answers go; counts stay, and the log's chain stays whole.

Law: an entry of the log that names the person is redacted, never deleted. Its stored digest, which the chain
is made of, stays; and a new entry, `Erased`, vouches for what stands there since. So `verify` can tell a
redaction from a forgery. All of one pool is done in one transaction, under the pool's lock. Answers that are
kept under idempotency keys name nobody: who asks again is told what the booking's row says.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from fairhold.core.events import Closed, Erased
from fairhold.core.model import ERASED, HELD, OFFERED, WAITING, Booking, Instant, Party
from fairhold.store import rows
from fairhold.store.base import Row, Transaction
from fairhold.store.writer import entry_digest

BOOKINGS_MAX: Final = 1_000_000
# Who is in one of these states is still to be answered, and so cannot be nobody.
OPEN: Final = frozenset({WAITING, OFFERED, HELD})


class Forgotten(NamedTuple):
    """What was forgotten in one pool; or the bookings that keep it from being done."""

    bookings: int = 0
    entries: int = 0
    messages: int = 0
    still_open: tuple[int, ...] = ()


async def forget_in_pool(
    tx: Transaction, pool_id: int, org: str, party: str, now: Instant, by: str, *, even_open: bool = False
) -> Forgotten:
    """Forget a party in one pool that is locked; `even_open` is for counting, in a dry run."""
    seq, head, updated_at = (await tx.rows("log_end", pool_id))[0]
    theirs = [tuple(row) for row in await tx.rows("bookings_of_person", org, party) if row[0] == pool_id]
    bookings = [rows.booking_of(row) for row in await tx.each("bookings_by_number", theirs)]
    still_open = tuple(b.number for b in bookings if b.state in OPEN)
    if still_open and not even_open:
        return Forgotten(still_open=still_open)
    if not bookings:
        return Forgotten()
    nobody = Party(f"{ERASED}{secrets.token_hex(8)}")
    entries = await _redact_log(tx, pool_id, bookings, nobody.id)
    numbers = tuple(b.number for b in bookings)
    values = (nobody.id, rows.text(nobody), "{}")
    await tx.many("forget_party", [(pool_id, number, *values) for number in numbers])
    messages = await tx.rows("empty_messages", pool_id, list(numbers))
    await tx.run("dismiss_emptied", pool_id, list(numbers), by, now)
    await tx.run("empty_deliveries", pool_id, list(numbers))
    event = Erased(max(now, updated_at), nobody.id, numbers, entries)
    await _append(tx, pool_id, seq + 1, bytes(head), event, by)
    return Forgotten(len(bookings), len(entries), len(messages))


async def _redact_log(
    tx: Transaction, pool_id: int, bookings: Sequence[Booking], nobody: str
) -> tuple[tuple[int, str], ...]:
    """Redact what names the person or was said about them; the entries, each with its new digest."""
    redacted: list[tuple[int, str, str]] = []
    for booking in bookings:
        for row in await tx.rows("read_log_of", pool_id, booking.number, BOOKINGS_MAX):
            body = _redacted(row, nobody)
            if body != row[5]:
                seq, at, kind, _, by, *_ = row
                redacted.append((seq, body, entry_digest(pool_id, seq, at, kind, by, body).hex()))
    if redacted:
        await tx.many("redact_entries", [(pool_id, seq, body) for seq, body, _ in redacted])
    return tuple((seq, digest) for seq, _, digest in redacted)


def _redacted(row: Row, nobody: str) -> str:
    event: Any = rows.event_of(row[2], row[5])
    if hasattr(event, "party"):
        event.party, event.tags, event.attributes = nobody, (), {}
    # Why a booking was closed is a word of the rules; what else is said of it, people have typed.
    if getattr(event, "why", "") and not isinstance(event, Closed):
        event.why = ""
    return rows.text(event)


async def _append(tx: Transaction, pool_id: int, seq: int, head: bytes, event: Erased, by: str) -> None:
    """Chain the entry that vouches for the redactions to the pool's log."""
    kind, body = type(event).__name__, rows.text(event)
    digest = entry_digest(pool_id, seq, event.at, kind, by, body)
    chained = hashlib.sha256(head + digest).digest()
    await tx.many("insert_log", [(pool_id, seq, event.at, kind, None, by, body, digest, chained)])
    await tx.run("move_log_end", pool_id, seq, chained, event.at)
