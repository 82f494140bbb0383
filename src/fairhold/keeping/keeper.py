"""The keeper: beside the service, it prunes once a day what the orgs' policies say.

Any number of processes may run one: who claims an org's day in the database does it. One that dies meanwhile
leaves the rest to the next day, for what is pruned already is not found any more.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from fairhold.clock import TestClock
from fairhold.core.refusals import Refusal
from fairhold.keeping.pruning import Pruned
from fairhold.library import Fairhold
from fairhold.orgs import as_org
from fairhold.store.base import writing

log = logging.getLogger("fairhold")

_DAY: Final = 24 * 3_600_000
_LOOK_S: Final = 300.0
# A clock that is moved by hand may be a day on at any moment.
_LOOK_AT_TEST_CLOCK_S: Final = 0.5


class Keeper:
    """A component of the service."""

    def __init__(self, hf: Fairhold) -> None:
        self._hf = hf
        self._look_s = _LOOK_AT_TEST_CLOCK_S if isinstance(hf.clock, TestClock) else _LOOK_S
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="fairhold-keeper")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await prune_due(self._hf)
            except Exception as error:  # noqa: BLE001  # it is tried again, and must not end this task
                log.warning("what is kept too long could not be pruned: %s", error)
            await asyncio.sleep(self._look_s)


async def prune_due(hf: Fairhold) -> dict[str, Pruned]:
    """Prune for every org whose policy was not seen to for a day, and that nobody else sees to."""
    done: dict[str, Pruned] = {}
    for org in await orgs_to_prune(hf, hf.clock.now() - _DAY):
        if await _claimed(hf, org):
            pruned = await as_org(hf, org).prune()
            assert not isinstance(pruned, Refusal)
            done[org] = pruned
            facts = {"org": org, "bookings": pruned.bookings, "messages": pruned.messages}
            log.info("pruned by policy", extra=facts)
    return done


async def orgs_to_prune(hf: Fairhold, since: int) -> list[str]:
    """The orgs that have a policy, and for which it was not seen to since an instant."""
    return [row[0] for row in await hf.store.reader().rows("orgs_to_prune", since)]


async def _claimed(hf: Fairhold, org: str) -> bool:
    now = hf.clock.now()
    async with writing(hf.store) as tx:
        mine = await tx.rows("claim_pruning", org, now, now - _DAY)
        await tx.commit()
    return bool(mine)
