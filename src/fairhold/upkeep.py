"""What is tidied beside the lane, in transactions of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from fairhold.core.model import Instant
from fairhold.engine.jobs import PARK_MAX_S
from fairhold.errors import Busy
from fairhold.store.base import Store, Transaction

T = TypeVar("T")

FORGET_MAX: Final = 1_000
_KEEP_S: Final = 10.0


async def keep(
    store: Store, pool_id: int, work: Callable[[Transaction], Awaitable[T]], *, dry_run: bool
) -> T:
    """Do some work of keeping in a transaction of its own, under the pool's lock; or rehearse it.

    If its outcome stays unknown it can be done again: what is forgotten already is not found any more.
    """
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + _KEEP_S
    while True:
        tx = await store.begin()
        try:
            # One that is locked from outside is not waited for: the whole lane would wait, too.
            if await tx.rows("lock_pools", [pool_id]):
                done = await work(tx)
                if not dry_run:
                    await tx.commit()
                return done
        finally:
            await tx.rollback()
        if loop.time() >= give_up_at:
            raise Busy("the pool has been held from outside for too long")
        await asyncio.sleep(PARK_MAX_S)


async def forget_requests(store: Store, before: Instant) -> None:
    """Forget the idempotency keys of before an instant."""
    await _forget_by("forget_requests", store, before)


async def forget_changes(store: Store, before: Instant) -> None:
    """Forget which changes came before an instant: nobody can go on from there any more."""
    await _forget_by("forget_stream", store, before)


async def _forget_by(query: str, store: Store, before: Instant) -> None:
    """A few at a time, so that nobody waits long."""
    forgotten = FORGET_MAX
    while forgotten == FORGET_MAX:
        tx = await store.begin(beside=True)
        try:
            forgotten = len(await tx.rows(query, before, FORGET_MAX))
            await tx.commit()
        finally:
            await tx.rollback()
        await asyncio.sleep(0)
