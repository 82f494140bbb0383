"""What goes wrong at the seams: the database's, and the notifiers'."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fairhold.errors import OutcomeUnknown, Unavailable
from fairhold.notifiers.base import Outgoing, Permanent, Temporary
from fairhold.store.base import (
    BatchStatement,
    LogHeads,
    News,
    Reader,
    Row,
    Snapshot,
    Store,
    Transaction,
    Write,
)


class Faults:
    """Decides by dice what fails, and counts it."""

    def __init__(self, dice: random.Random, share: float, pace: float = 1.0) -> None:
        self.dice = dice
        self.share = share
        # Where time is real, a slow disk is slow for hundredths of a second only.
        self.pace = pace
        # How long every commit takes: meanwhile others gather, and are decided ahead.
        self.commit_s = 0.0
        self.count: Counter[str] = Counter()

    def strikes(self, what: str, weight: float = 1.0) -> bool:
        if self.dice.random() >= self.share * weight:
            return False
        self.count[what] += 1
        return True

    async def dawdle(self) -> None:
        """A slow disk, a slow line: others get ahead."""
        if self.strikes("delay", 2.0):
            await asyncio.sleep(self.pace * self.dice.choice([0, 0.001, 0.05, 3.0]))


class FaultyStore:
    """A database that fails now and then; once `dead` it answers nobody any more."""

    def __init__(self, inner: Store, faults: Faults) -> None:
        self.inner = inner
        self.dialect = inner.dialect
        self.faults = faults
        self.dead = False

    async def alive(self) -> None:
        if self.dead:
            # Who is killed neither fails nor goes on.
            await asyncio.get_running_loop().create_future()

    async def begin(self, *, beside: bool = False) -> Transaction:
        await self.alive()
        await self.faults.dawdle()
        if self.faults.strikes("begin refused"):
            raise Unavailable("made up: the database is away")
        await self.alive()
        tx = await self.inner.begin(beside=beside)
        if self.dead:
            await tx.rollback()
            await self.alive()
        return FaultyTransaction(self, tx)

    def batch_statement(self, heads: LogHeads, writes: Sequence[Write]) -> BatchStatement | None:
        return self.inner.batch_statement(heads, writes)

    def reader(self) -> Reader:
        return FaultyReader(self, self.inner.reader())

    def scout(self) -> Reader:
        return FaultyReader(self, self.inner.scout())

    @asynccontextmanager
    async def snapshot(self, *, long: bool = False) -> AsyncIterator[Snapshot]:
        async with self.inner.snapshot(long=long) as found:
            yield FaultySnapshot(self, found)

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def wipe(self) -> None:
        await self.inner.wipe()

    async def migrate(self, now: int) -> list[str]:
        return await self.inner.migrate(now)

    async def pending(self) -> list[str]:
        return await self.inner.pending()

    async def listen(self, woken: Callable[[], None], about: News | None = None) -> None:
        await self.inner.listen(woken, about)


class FaultyReader:
    def __init__(self, store: FaultyStore, inner: Reader) -> None:
        self._store = store
        self._inner = inner

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        await self._may_fail()
        return await self._inner.rows(name, *values)

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        await self._may_fail()
        return await self._inner.each(name, keys)

    async def _may_fail(self) -> None:
        await self._store.alive()
        await self._store.faults.dawdle()
        if self._store.faults.strikes("read failed", 0.3):
            raise Unavailable("made up: the connection was lost")
        await self._store.alive()


class FaultySnapshot(FaultyReader):
    def __init__(self, store: FaultyStore, inner: Snapshot) -> None:
        super().__init__(store, inner)
        self._whole = inner

    def stream(self, name: str, *values: Any) -> AsyncIterator[Sequence[Row]]:
        return self._whole.stream(name, *values)


class FaultyTransaction:
    """Loses its connection between any two statements, and above all around the commit."""

    def __init__(self, store: FaultyStore, inner: Transaction) -> None:
        self._store = store
        self._inner = inner

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        await self._may_break()
        return await self._inner.rows(name, *values)

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        await self._may_break()
        return await self._inner.each(name, keys)

    async def run(self, name: str, *values: Any) -> None:
        await self._may_break()
        await self._inner.run(name, *values)

    async def many(self, name: str, rows: Sequence[Row]) -> int:
        await self._may_break()
        return await self._inner.many(name, rows)

    async def finish(self, batch: BatchStatement) -> bool:
        await self._before()
        if not await self._inner.finish(batch):
            return False
        await self._after()
        return True

    async def commit(self) -> None:
        await self._before()
        await self._inner.commit()
        await self._after()

    async def rollback(self) -> None:
        if not self._store.dead:
            await self._inner.rollback()

    async def _may_break(self) -> None:
        await self._store.alive()
        if self._store.faults.strikes("statement failed", 0.2):
            await self._inner.rollback()
            raise Unavailable("made up: the connection was lost in a transaction")

    async def _before(self) -> None:
        await self._store.alive()
        faults = self._store.faults
        if faults.commit_s:
            await asyncio.sleep(faults.pace * faults.commit_s)
            await self._store.alive()
        if faults.strikes("commit refused"):
            await self._inner.rollback()
            raise Unavailable("made up: the disk is full")
        if faults.strikes("commit unknown, not done"):
            await self._inner.rollback()
            raise OutcomeUnknown("made up: the connection was lost before the commit")

    async def _after(self) -> None:
        await self._store.alive()
        if self._store.faults.strikes("commit unknown, done"):
            raise OutcomeUnknown("made up: the connection was lost after the commit")
        await self._store.faults.dawdle()
        await self._store.alive()


class Carrier:
    """Hands messages over, or loses them; keeps a record of what came to it and what it delivered."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.tried: list[Outgoing] = []
        self.delivered: list[Outgoing] = []

    async def send(self, message: Outgoing) -> None:
        self.tried.append(message)
        await self._faults.dawdle()
        if self._faults.strikes("message refused for good", 0.5):
            raise Permanent("made up: no such address")
        if self._faults.strikes("message lost"):
            raise Temporary("made up: try again later")
        self.delivered.append(message)
        if self._faults.strikes("message doubled"):
            raise Temporary("made up: it was delivered, and nobody knows")
