"""Things that happen while somebody reads: right after any of the queries that a read is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairhold import Booking, Fairhold, granted

SEATS = 90
QUOTAS = ("main", "chairs")

Read = Callable[[], Awaitable[Any]]


class Meanwhile:
    """A full pool with a line, in which people give their seats back just while somebody reads."""

    def __init__(self, hf: Fairhold) -> None:
        self._hf = hf
        self._left = 0
        self._seated: list[Booking] = []
        self.waiting: list[Booking] = []

    async def crowd(self, *, waiting: int) -> None:
        """A pool with numbers, units and an open share: all of it is taken, and others wait."""
        hf = self._hf
        quotas = [{"key": "main", "size": 1}, {"key": "chairs", "units": [str(n) for n in range(SEATS)]}]
        made = await hf.create_pool("gig", preset="course_section", quotas=quotas, open_size=SEATS - 1)
        granted(made)
        asked = [hf.book("gig", f"{quota} {n}", quota=quota) for n in range(SEATS) for quota in QUOTAS]
        seated = [granted(it) for it in await asyncio.gather(*asked)]
        self._seated = [granted(it) for it in await asyncio.gather(*[hf.confirm(it.id) for it in seated])]
        asked = [hf.book("gig", f"waiting {n}", quota=QUOTAS[n % 2]) for n in range(waiting)]
        self.waiting = [granted(it) for it in await asyncio.gather(*asked)]

    async def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Count the queries, whichever way they take to the database."""
        async with self._hf.store.snapshot() as snapshot:
            kinds = {type(snapshot), type(self._hf.store.reader())}
        for kind in kinds:
            for name in {"rows", "each"} & set(vars(kind)):
                patch.setattr(kind, name, self._watched(getattr(kind, name)))

    def _watched(self, plain: Any) -> Any:
        async def asked(reader: Any, *values: Any) -> Any:
            found = await plain(reader, *values)
            self._left -= 1
            if self._left == 0:
                await self.one_leaves()
            return found

        return asked

    async def one_leaves(self) -> None:
        """One of each kind gives the seat back, and the next in line is asked."""
        for _ in QUOTAS:
            granted(await self._hf.cancel(self._seated.pop().id))

    async def between(self, read: Read) -> list[tuple[Any, Any, Any]]:
        """What a read answers before something happens, while it does, and afterwards; for each query."""
        found: list[tuple[Any, Any, Any]] = []
        while True:
            before = await read()
            self._left = len(found) + 1
            seen = await read()
            happened, self._left = self._left <= 0, 0
            if not happened:
                return found
            after = await read()
            assert before != after, "what happens must be seen by what is read"
            found.append((before, seen, after))
