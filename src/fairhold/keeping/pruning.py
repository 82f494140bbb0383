"""Pruning: what is over for long loses the people's names, contacts and answers, and keys are forgotten.

Law: nothing is pruned that a promise rests on. Rows stay, for the log tells of each of them and `verify`
compares; what the log does not know of a person is what goes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from fairhold.core.model import Instant, Party
from fairhold.store import rows
from fairhold.store.base import Store, Transaction

# So many bookings are looked at in one transaction, so that nobody waits long.
_PAGE: Final = 500


class Pruned(msgspec.Struct, frozen=True):
    """How many bookings lost their names, messages what they said, and idempotency keys were forgotten."""

    bookings: int
    messages: int
    idempotency_keys: int
    dry_run: bool = False


class Before(NamedTuple):
    """What was over before these instants is pruned: of people, and of messages; None prunes nothing."""

    people: Instant | None
    messages: Instant | None


class Page(NamedTuple):
    """How much was pruned of some bookings of a pool, and where to go on, if there are more."""

    bookings: int
    messages: int
    after: int | None


async def prune_page(tx: Transaction, pool_id: int, before: Before, after: int) -> Page:
    """Prune some bookings of a pool that is locked; behind the last of them, its messages too."""
    bookings = 0
    if before.people is not None:
        pool = rows.pool_of((await tx.rows("read_pool", pool_id))[0][3])
        all_over = pool.starts_at is not None and pool.starts_at < before.people
        found = await tx.rows("bookings_over", pool_id, after, before.people, all_over, _PAGE)
        bookings = await _strip(tx, pool_id, [(row[0], row[1], row[2]) for row in found])
        if len(found) == _PAGE:
            return Page(bookings, 0, found[-1][0])
    return Page(bookings, await _empty(tx, pool_id, before.messages), None)


async def _empty(tx: Transaction, pool_id: int, before: Instant | None) -> int:
    """Messages lose what they say, and deliveries what a server said; how many messages said anything."""
    if before is None:
        return 0
    await tx.run("prune_deliveries", pool_id, before)
    return len(await tx.rows("prune_messages", pool_id, before))


async def _strip(tx: Transaction, pool_id: int, found: list[tuple[int, str, str]]) -> int:
    """Take names, contacts and answers from bookings; how many had any."""
    stripped = []
    for number, text, answers in found:
        party = rows.party_of(text)
        bare = Party(party.id, tags=party.tags, attributes=party.attributes)
        if party != bare or answers != "{}":
            stripped.append((pool_id, number, party.id, rows.text(bare), "{}"))
    if stripped:
        await tx.many("forget_party", stripped)
    return len(stripped)


async def prune_keys(store: Store, before: Instant) -> int:
    """How many idempotency keys there are of before an instant."""
    return int((await store.reader().rows("count_old_requests", before))[0][0])
