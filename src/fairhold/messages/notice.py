"""One message with all that its wording may want to know: the pool, the booking, whom it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from fairhold import ids, tokens
from fairhold.core.model import Booking, Instant, Pool
from fairhold.core.reference import number_of
from fairhold.store import rows
from fairhold.store.base import Reader, Row

# No more digits than any database can keep.
_KEY: Final = re.compile(r"(p[0-9a-z]{13})-([0-9]{1,18})-([0-9]{1,9})", re.ASCII)


class Key(NamedTuple):
    """A message's place in the outbox, which is its name for ever."""

    pool_id: int
    seq: int
    part: int

    @property
    def text(self) -> str:
        """The stable id that receivers see."""
        return f"{ids.pool_text(self.pool_id)}-{self.seq}-{self.part}"


def key_of(text: object) -> Key | None:
    """The key of a message's id; None if it is no such id."""
    found = _KEY.fullmatch(text) if isinstance(text, str) else None
    pool_id = ids.pool_number(found[1]) if found else None
    if found is None or pool_id is None:
        return None
    return Key(pool_id, int(found[2]), int(found[3]))


@dataclass(frozen=True, slots=True)
class Notice:
    """A message of the outbox, and what it is about."""

    key: Key
    kind: str
    to: str
    pool: Pool
    booking: Booking | None
    facts: Mapping[str, Any]
    created_at: Instant
    starts_at: Instant | None = None
    links: Mapping[str, str] = field(default_factory=dict)


def links_of(
    pool_id: int, booking: Booking, facts: Mapping[str, Any], base_url: str, secret: str
) -> dict[str, str]:
    """The addresses in a message: the booking's page, and the offer's if it brings one. Nothing is stored."""
    base, name = base_url.rstrip("/"), ids.booking_text(pool_id, booking.number)
    links = {"booking": f"{base}/b/{tokens.edit_token(secret, name)}"}
    if "seq" in facts:
        links["offer"] = f"{base}/o/{tokens.offer_token(secret, name, facts['seq'])}"
        links["decline"] = links["offer"] + "#decline"
    return links


async def gather(reader: Reader, row: Row, base_url: str, secret: str) -> Notice:
    """Look up what a message is about, as it is now: names and contacts are in the booking alone."""
    pool_id, seq, part, kind, to, number, facts_text, created_at = row[:8]
    facts = rows.mapping_of(facts_text)
    config = await reader.rows("pool_configs", [pool_id])
    pool = rows.pool_of(config[0][2])
    if number is None and "reference" in facts:
        number = number_of(pool_id, facts["reference"])
    booking = await _booking(reader, pool_id, number)
    links = (
        links_of(pool_id, booking, facts, base_url, secret) if booking is not None and to == "party" else {}
    )
    units = facts.get("units") or ([facts["unit"]] if facts.get("unit") else [])
    starts_at = await _starts_at(reader, pool, units)
    return Notice(Key(pool_id, seq, part), kind, to, pool, booking, facts, created_at, starts_at, links)


async def _booking(reader: Reader, pool_id: int, number: int | None) -> Booking | None:
    if number is None:
        return None
    found = await reader.each("bookings_by_number", [(pool_id, number)])
    return rows.booking_of(found[0]) if found else None


async def _starts_at(reader: Reader, pool: Pool, labels: Sequence[str]) -> Instant | None:
    """When what is booked begins: the first of its units, or the pool."""
    found = await reader.rows("units_by_label", pool.id, list(labels)) if labels else ()
    starts = [unit.starts_at for row in found if (unit := rows.unit_of(row)).starts_at is not None]
    return min(starts) if starts else pool.starts_at
