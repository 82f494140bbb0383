"""The bookings of a pool, or its line, as CSV: of one committed state, so that positions fit together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from fairhold import ids
from fairhold.clock import to_text
from fairhold.core.model import WAITING, Booking, Instant
from fairhold.keeping import table
from fairhold.store import rows
from fairhold.store.base import Row, Store

WHAT: Final = ("bookings", "line")
HEADS: Final = (
    "reference",
    "state",
    "position",
    "party_id",
    "name",
    "email",
    "phone",
    "contacts",
    "tags",
    "attributes",
    "locale",
    "quota",
    "quantity",
    "units",
    "price_amount",
    "price_currency",
    "created_at",
    "confirmed_at",
    "expires_at",
    "updated_at",
    "answers",
    "id",
)
_LOWEST: Final = -(2**63)
_ALL: Final = 2**31 - 1


async def export_csv(store: Store, pool_id: int, what: str) -> str:
    """The line in order, or all bookings, the oldest first.

    It is read and written page by page: whoever else asks is answered in between.
    """
    positions: dict[int, int] = {}
    written = [table.lines([HEADS])]
    async with store.snapshot(long=True) as snapshot:
        async for page in snapshot.stream("read_line", pool_id, _LOWEST, _ALL):
            positions.update((row[1], position) for position, row in enumerate(page, len(positions) + 1))
            if what == "line":
                written.append(table.lines(_rows(pool_id, page, positions)))
        if what == "bookings":
            pages = snapshot.stream("read_bookings", pool_id, 0, None, None, _ALL)
            written += [table.lines(_rows(pool_id, page, positions)) async for page in pages]
    return "".join(written)


def _rows(pool_id: int, found: Sequence[Row], positions: dict[int, int]) -> Iterator[tuple[Any, ...]]:
    for b in map(rows.booking_of, found):
        others = {kind: said for kind, said in b.party.contacts.items() if kind not in ("email", "phone")}
        yield (
            b.reference,
            b.state,
            positions.get(b.number) if b.state == WAITING else b.position,
            b.party.id,
            b.party.name,
            b.party.contacts.get("email"),
            b.party.contacts.get("phone"),
            rows.text(others) if others else "",
            listed(b.party.tags),
            rows.text(b.party.attributes) if b.party.attributes else "",
            b.party.locale,
            b.quota,
            b.quantity,
            listed(b.units),
            b.price.amount if b.price else "",
            b.price.currency if b.price else "",
            *(_instant(at) for at in _instants(b)),
            rows.text(b.answers) if b.answers else "",
            ids.booking_text(pool_id, b.number),
        )


def _instants(b: Booking) -> tuple[Instant | None, ...]:
    return (b.created_at, b.confirmed_at, b.expires_at, b.updated_at)


def _instant(at: Instant | None) -> str:
    """To the second."""
    return "" if at is None else to_text(at - at % 1000)


def listed(words: Sequence[str]) -> str:
    """Words with semicolons between them; as JSON where one of them has a semicolon itself."""
    plain = not any(";" in word or word != word.strip() or word.startswith("[") for word in words)
    return ";".join(words) if plain else rows.text(words)
