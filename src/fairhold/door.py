"""The way to the lane, shared by all of the library's methods: from what callers say to an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from copy import copy
from threading import get_ident
from typing import Any, Final, Self, TypeVar, cast

from fairhold import command_words, ids, inputs, tokens, upkeep
from fairhold.answers import Answer, digest_of
from fairhold.clock import Clock
from fairhold.core import commands as c
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal, unknown
from fairhold.engine.engine import Engine
from fairhold.engine.jobs import Job
from fairhold.engine.limits import Source
from fairhold.engine.ticker import Ticker
from fairhold.errors import Misused, NotRehearsed
from fairhold.orgs import as_org, named_org
from fairhold.reads import Reads
from fairhold.shapes import Booking, Outcome
from fairhold.store.base import Store

_GIVE_UP_S: Final = 10.0
_POOLS_MAX: Final = 20_000

T = TypeVar("T")

# The dry run that goes on here, in whatever task it has begun.
_dry_run_here: ContextVar[object] = ContextVar("fairhold_dry_run", default=None)


class _ToRead:
    """A store without a way to write."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name == "begin":
            raise NotRehearsed("There is no dry run of this")
        return getattr(self._store, name)


class _Home:
    """Where a Fairhold is at home, as all its handles share it: the thread of its loop, where it last ran.

    To ask for the thread costs next to nothing, to ask for the loop is a call of the system.
    """

    __slots__ = ("dry_runs", "thread")

    def __init__(self) -> None:
        self.thread = get_ident()
        # Those that go on.
        self.dry_runs: set[object] = set()


class Door:
    """One open database of one org, with its lane and its ticker."""

    def __init__(self, store: Store, clock: Clock, secret: str, org: str) -> None:
        self._store = store
        self.clock = clock
        self.org = org
        self.secret = secret
        self.reads = Reads(store, clock, secret)
        self.ticker = Ticker(store, clock, self._tick, self._forget)
        self.engine = Engine(store, clock, secret, self.ticker.due)
        # Pools that were looked up before, by org and name; and whose pools are known. All orgs share both.
        self._pools: dict[tuple[str, str], int] = {}
        self._owned: set[tuple[str, int]] = set()
        self._rehearses = False
        self._home = _Home()

    @property
    def store(self) -> Store:
        """The database; without a way to write in a dry run, also for who asks another handle there."""
        if self._rehearses or (self._home.dry_runs and self._leaves_dry_run()):
            return cast(Store, _ToRead(self._store))
        return self._store

    def for_org(self, org: str) -> Self:
        """The same open database, lane and ticker, as another org sees it. Raises SettingsWrong."""
        return as_org(self, named_org(org))

    @asynccontextmanager
    async def at_one_moment(self) -> AsyncIterator[Self]:
        """The same database with all that is read of one committed state, for what must agree with itself."""
        async with self.reads.at_one_moment() as reads:
            frozen = copy(self)
            frozen.reads = reads
            yield frozen

    async def dry_run(self, ask: Callable[[Self], Awaitable[object]]) -> Outcome | Refusal:
        """What any command would do, without doing it: `await hf.dry_run(lambda hf: hf.cancel(booking))`.

        The answer tells what would happen and who would be told; nothing is written. It is for commands about
        pools, bookings and persons; of wording, webhooks, contacts, origins and retention there is none.
        """
        rehearsal, this = copy(self), object()
        rehearsal._rehearses = True
        self._home.dry_runs.add(this)
        before = _dry_run_here.set(this)
        try:
            return cast("Outcome | Refusal", await ask(rehearsal))
        except NotRehearsed as error:
            return Refusal("not_possible", f"{error}.")
        finally:
            _dry_run_here.reset(before)
            self._home.dry_runs.discard(this)

    def _leaves_dry_run(self) -> bool:
        """Whether this is asked in a dry run, and is not the handle that it was given."""
        return not self._rehearses and _dry_run_here.get() in self._home.dry_runs

    def _must_be_at_home(self) -> None:
        """Nothing is done in another event loop, nor really in a dry run. Raises Misused."""
        self._must_be_in_its_loop()
        if self._leaves_dry_run():
            raise Misused("this would really be done: in a dry run, ask the Fairhold that it hands over")

    def _must_be_in_its_loop(self) -> None:
        if asyncio.get_running_loop() is not self.engine.loop:
            raise Misused("this Fairhold belongs to another event loop: open one here, or use open_sync")
        self._home.thread = get_ident()

    async def submit(
        self,
        pool_id: int,
        command: c.Command,
        key: str | None = None,
        *,
        digest: bytes | None = None,
        dry_run: bool = False,
        source: Source | None = None,
    ) -> Answer:
        home = self._home
        if home.dry_runs or home.thread != get_ident():
            self._must_be_at_home()
        try:
            command_words.said(command)
            if key is not None:
                inputs.text(key, "idempotency_key", 255, empty=False)
        except inputs.Bad as bad:
            return bad.refusal
        dry_run = dry_run or self._rehearses
        # A dry run looks at what is kept under its key, and keeps nothing there itself.
        if key is not None:
            digest = digest or digest_of(pool_id, command)
        loop = self.engine.loop
        future, give_up_at = loop.create_future(), loop.time() + _GIVE_UP_S
        job = Job(pool_id, command, future, self.org, key, digest or b"", dry_run, source, give_up_at)
        self.engine.queue.submit(job)
        job.note = self.engine.observer.accepted(command)
        answer: Answer = await future
        return answer

    async def _tick(self, pool_id: int) -> object:
        return await self.submit(pool_id, c.Tick())

    async def _forget(self, before: Instant) -> None:
        await upkeep.forget_requests(self.engine.store, before)
        await upkeep.forget_changes(self.engine.store, before)

    def _known_pool(self, name: object) -> int | None:
        """The pool of this name, if it was looked up before."""
        return self._pools.get((self.org, name)) if isinstance(name, str) else None

    async def _pool_id(self, name: object) -> int | None:
        if not isinstance(name, str):
            return None
        self._must_be_in_its_loop()
        known = self._pools.get((self.org, name))
        if known is None:
            known = await self.reads.pool_id(name, self.org)
            if known is not None:
                if len(self._pools) >= _POOLS_MAX:
                    self._pools.clear()
                self._pools[self.org, name] = known
                self._remember(known)
        return known

    def _remember(self, pool_id: int) -> None:
        """This pool is of this org."""
        if len(self._owned) >= _POOLS_MAX:
            self._owned.clear()
        self._owned.add((self.org, pool_id))

    async def _on_pool(self, pool: str, command: c.Command, key: str | None = None) -> Answer:
        pool_id = await self._pool_id(pool)
        return unknown("pool", pool) if pool_id is None else await self.submit(pool_id, command, key)

    async def _on_booking(
        self, booking: str, make: Callable[[int], c.Command], key: str | None = None
    ) -> Booking | Refusal:
        named = await self._key(booking)
        if isinstance(named, Refusal):
            return named
        return cast("Booking | Refusal", await self.submit(named[0], make(named[1]), key))

    async def _key(self, booking: str) -> tuple[int, int] | Refusal:
        """The (pool, number) of a booking of this org's."""
        named = ids.booking_number(booking)
        if named is not None and (self.org, named[0]) in self._owned:
            return named
        self._must_be_in_its_loop()
        found = await self.reads.booking_key(booking, self.org)
        if not isinstance(found, Refusal):
            self._remember(found[0])
        return found

    async def _is_ours(self, pool_id: int) -> bool:
        return (self.org, pool_id) in self._owned or await self._pool_id(ids.pool_text(pool_id)) is not None

    async def _on_offer(
        self, token: str, make: Callable[[int, int], c.Command], key: str | None = None
    ) -> Booking | Refusal:
        found = tokens.offer_of_token(self.secret, token)
        if found is None or not await self._is_ours(found[0]):
            return Refusal("unknown", "This link is not one of ours, or not whole.", "token")
        pool_id, number, seq = found
        return cast("Booking | Refusal", await self.submit(pool_id, make(number, seq), key))

    async def _read(
        self, pool: str, read: Callable[[int], Awaitable[T]], *, after: int = 0, limit: int = 1
    ) -> T | Refusal:
        try:
            inputs.whole(after, "after", most=2**63 - 1)
            inputs.whole(limit, "limit", 1)
        except inputs.Bad as bad:
            return bad.refusal
        pool_id = await self._pool_id(pool)
        return unknown("pool", pool) if pool_id is None else await read(pool_id)
