"""Server-sent events: bookings and pools of an org as they change, wherever the change was made.

One watcher per process looks for news, at once when this process commits and a few times a second for what
others commit, and only while somebody watches. A stream holds no buffer: it reads from its cursor on when its
client takes more. A client that takes nothing for too long is dropped, and resumes by its Last-Event-ID.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.changes import KEPT, BookingChange, Changes, Cursor, PoolChange
from holdfast.http.limits import slow_down
from holdfast.http.operations import READERS, Call, Operation, Query
from holdfast.http.problems import Problem
from holdfast.http.showing import shown

if TYPE_CHECKING:
    from holdfast.library import Holdfast

log = logging.getLogger("holdfast.http")

_LOOK_S: Final = 0.25
_BEAT_S: Final = 15.0
# When those may come again for whom there is no room.
_LATER_S: Final = 30
# So that a pool on fire does not make a stream read it more often than anybody can look.
_REST_S: Final = 0.02
_FORGET_S: Final = 600.0

_encoder = msgspec.json.Encoder()


class Watcher:
    """Knows which orgs have news, and rings for those who wait."""

    def __init__(self, hf: Holdfast) -> None:
        self.changes = Changes(hf)
        self.streams = 0
        # Those who look at a page: counted apart, so that however many they are, staff can still watch.
        self.onlookers = 0
        self._hf = hf
        self._bells: dict[str, asyncio.Event] = {}
        self._woken = asyncio.Event()
        self._closing = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await self.changes.forget_foreign()
        self._tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._forget())]

    async def close(self) -> None:
        self.end_streams()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def end_streams(self) -> None:
        """Let every stream end; their clients resume elsewhere."""
        self._closing.set()
        for bell in self._bells.values():
            bell.set()

    @property
    def _watched(self) -> bool:
        return bool(self.streams or self.onlookers)

    @property
    def closing(self) -> bool:
        return self._closing.is_set()

    def wake(self) -> None:
        """This process has committed something."""
        self._woken.set()

    def ring(self, org: str) -> None:
        """Whoever watches an org has something to look at."""
        if bell := self._bells.get(org):
            bell.set()

    def bell(self, org: str) -> asyncio.Event:
        """Rings at the next news of an org. Take it before looking, so that nothing comes in between."""
        bell = self._bells.get(org)
        if bell is None or bell.is_set():
            bell = self._bells[org] = asyncio.Event()
        if self.closing:
            bell.set()
        return bell

    async def _watch(self) -> None:
        cursor: Cursor | None = None
        while True:
            if not self._watched:
                cursor = None
            # Before the look: what is committed while it goes on is looked for again.
            self._woken.clear()
            try:
                cursor = await self._look(cursor)
            except Exception as error:  # noqa: BLE001  # without this nobody would hear what others commit
                log.warning("streams wait for the database: %s", error)
                await asyncio.sleep(1)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S if self._watched else None):
                    await self._woken.wait()

    async def _look(self, cursor: Cursor | None) -> Cursor | None:
        if not self._watched:
            return None
        if cursor is None:
            # Whoever began to watch before this may have missed a ring: all look once.
            cursor, orgs = await self.changes.now(), set(self._bells)
        else:
            orgs, cursor = await self.changes.orgs_after(cursor)
        for org in orgs:
            self.ring(org)
        return cursor

    async def _forget(self) -> None:
        while True:
            await asyncio.sleep(_FORGET_S)
            try:
                await self.changes.forget(self._hf.clock.now() - KEPT)
            except Exception as error:  # noqa: BLE001  # it is forgotten the next time
                log.warning("old changes could not be forgotten: %s", error)


class StreamQuery(Query, frozen=True):
    """Of which pool; without it, of all."""

    pool: str | UnsetType = UNSET


async def stream(call: Call) -> AsyncIterator[bytes]:
    """Check everything that can be refused, then hand out the stream."""
    watcher, pool_id = call.service.watcher, None
    if call.query.pool is not UNSET:
        pool_id = await call.hf.reads.pool_id(call.query.pool, call.access.org)
        if pool_id is None:
            raise Problem("unknown", f"There is no pool {call.query.pool!r} here.", "pool")
    if watcher.streams >= call.service.settings.streams_max:
        raise slow_down(_LATER_S)
    cursor, resumed = await watcher.changes.now(), True
    if call.last_event_id:
        asked = Cursor.of(call.last_event_id)
        resumed = asked is not None and await watcher.changes.can_resume(asked)
        cursor = asked if asked is not None and resumed else cursor
    return _told(call, watcher, cursor, pool_id, resumed)


async def _told(
    call: Call, watcher: Watcher, cursor: Cursor, pool_id: int | None, resumed: bool
) -> AsyncIterator[bytes]:
    doorkeeper, time = call.service.doorkeeper, asyncio.get_running_loop().time
    if watcher.streams >= call.service.settings.streams_max:
        # So many have asked at once that all were let in before the first of them was counted.
        yield f"retry: {_LATER_S}000\n\n".encode()
        return
    watcher.streams += 1
    watcher.wake()
    try:
        yield b"retry: 1000\n" + _message("ready" if resumed else "reset", b"{}", cursor)
        while not watcher.closing:
            bell = watcher.bell(call.access.org)
            news = await watcher.changes.after(call.access.org, cursor, pool_id)
            # A key that is revoked and a session that ends see nothing more.
            if not await doorkeeper.still_admits(call.access, time()):
                return
            if news.cursor != cursor:
                cursor = news.cursor
                yield _page(call, news.changes, cursor)
                await asyncio.sleep(_REST_S)
                continue
            try:
                async with asyncio.timeout(_BEAT_S):
                    await bell.wait()
            except TimeoutError:
                yield b": still here\n\n"
    finally:
        watcher.streams -= 1


def _page(call: Call, changes: list[BookingChange | PoolChange], cursor: Cursor) -> bytes:
    """Some messages, of which the last has the cursor: a client that missed one of them gets all again."""
    told = []
    for change in changes:
        if isinstance(change, BookingChange):
            change = BookingChange(change.pool, shown(change.booking, call), change.changes)
        told.append(
            _message("booking" if isinstance(change, BookingChange) else "pool", _encoder.encode(change))
        )
    if not told:
        return _message("passed", b"{}", cursor)
    told[-1] = f"id: {cursor}\n".encode() + told[-1]
    return b"".join(told)


def _message(event: str, data: bytes, cursor: Cursor | None = None) -> bytes:
    id_line = f"id: {cursor}\n" if cursor else ""
    return f"{id_line}event: {event}\ndata: ".encode() + data + b"\n\n"


class StreamShape(msgspec.Struct):
    """The data of the messages `booking` and `pool`; `ready` begins a stream, `reset` says: read anew."""

    booking: BookingChange | None = None
    pool: PoolChange | None = None


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/stream",
        "stream",
        "Bookings and pools as they change, as server-sent events; resumed by Last-Event-ID",
        stream,
        READERS,
        StreamShape,
        query=StreamQuery,
        codes=("unknown",),
        tag="stream",
        media_type="text/event-stream",
    ),
)
