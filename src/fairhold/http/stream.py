"""Server-sent events: bookings and pools of an org as they change, wherever the change was made.

One watcher per process looks for news, at once when this process commits and a few times a second for what
others commit, and only while somebody watches. A stream holds no buffer: it reads from its cursor on when its
client takes more; those who are at the same place read, and are told, the same piece of memory. A client that
takes nothing for too long is dropped, and resumes by its Last-Event-ID.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET, UnsetType

from fairhold.changes import BookingChange, Changes, Cursor, News, PoolChange
from fairhold.http.limits import slow_down
from fairhold.http.operations import READERS, Call, Operation, Query
from fairhold.http.problems import Problem
from fairhold.http.showing import shown
from fairhold.http.streaming import COME_LATER, LATER_S
from fairhold.http.together import Bell, Together

if TYPE_CHECKING:
    from fairhold.library import Fairhold

log = logging.getLogger("fairhold.http")

_LOOK_S: Final = 0.25
_BEAT_S: Final = 15.0
# So that a pool on fire does not make streams read it more often than anybody can look.
_REST_S: Final = 0.02
# Who begins to watch while nothing happens begins where others did, up to so long ago.
_START_S: Final = 60.0
# Who is a little behind is told what others were told; who is far behind reads again.
_RECENT_MAX: Final = 32

_encoder = msgspec.json.Encoder()

Place = tuple[str, tuple[int, int, int], int | None]
"""Whose, after what, of which pool."""


class Watcher:
    """Knows which orgs have news, and rings for those who wait."""

    def __init__(self, hf: Fairhold) -> None:
        self.changes = Changes(hf)
        self.streams = 0
        # Those who look at a page: counted apart, so that however many they are, staff can still watch.
        self.onlookers = 0
        self._hf = hf
        self.together = Together()
        self._bells: dict[str, Bell] = {}
        self._recent: OrderedDict[Place, Piece] = OrderedDict()
        self._starts: dict[str, tuple[Cursor, Bell, float]] = {}
        self._woken = asyncio.Event()
        self._closing = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await self.changes.forget_foreign()
        self._tasks = [asyncio.create_task(it()) for it in (self._watch, self._beat)]

    async def close(self) -> None:
        self.end_streams()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def end_streams(self) -> None:
        """Let every stream end; their clients resume elsewhere."""
        self._closing.set()
        for bell in self._bells.values():
            bell.ring()

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
        if bell := self._bells.pop(org, None):
            bell.ring()

    def bell(self, org: str) -> Bell:
        """Rings at the next news of an org."""
        bell = self._bells.get(org)
        if bell is None:
            bell = self._bells[org] = Bell()
        if self.closing:
            bell.ring()
        return bell

    async def start_of(self, org: str) -> Cursor:
        """The cursor to begin with. While nothing happens it is the same for all, so they stay together."""
        now = asyncio.get_running_loop().time()
        known = self._starts.get(org)
        if known is None or known[1].rung or known[2] < now or not self._watched:
            bell = self.bell(org)
            cursor = await self.together.ask("now", self.changes.now)
            known = self._starts[org] = (cursor, bell, now + _START_S)
        return known[0]

    async def piece_after(self, org: str, cursor: Cursor, pool_id: int | None) -> Piece:
        """What is new after a cursor: read once for all who are there."""
        place = (org, cursor[:3], pool_id)
        if (known := self._recent.get(place)) is not None:
            return known
        return await self.together.ask(place, lambda: self._read(place))

    async def _read(self, place: Place) -> Piece:
        org, cursor, pool_id = place
        bell = self.bell(org)
        piece = Piece(await self.changes.after(org, Cursor(*cursor, 0), pool_id), bell)
        # What came after a place stays true; that nothing came does not.
        if piece.news.cursor[:3] != cursor:
            self._recent[place] = piece
            if len(self._recent) > _RECENT_MAX:
                self._recent.popitem(last=False)
        return piece

    async def _watch(self) -> None:
        cursor: Cursor | None = None
        while True:
            # What is committed from here on may not be seen by this look.
            self._woken.clear()
            if not self._watched:
                cursor = None
                self._starts.clear()
            try:
                before, cursor = cursor, await self._look(cursor)
                if before != cursor:
                    await asyncio.sleep(_REST_S)
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

    async def _beat(self) -> None:
        """One clock for all: ten thousand timers weigh something."""
        while True:
            await asyncio.sleep(_BEAT_S)
            # Names in it may have been erased since.
            self._recent.clear()
            for bell in self._bells.values():
                bell.beat()


class Piece:
    """What is new at some place, for all who are there; and the bell that rings when there is more."""

    __slots__ = ("_told", "bell", "news")

    def __init__(self, news: News, bell: Bell) -> None:
        self.news = news
        self.bell = bell
        self._told: dict[bool, bytes] = {}

    def told(self, call: Call) -> bytes:
        """As messages; staff may see more of it than others."""
        found = self._told.get(call.is_staff)
        if found is None:
            found = self._told[call.is_staff] = _page(call, self.news.changes, self.news.cursor)
        return found


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
        raise slow_down(LATER_S)
    asked = Cursor.of(call.last_event_id) if call.last_event_id else None
    if asked is not None and not await watcher.changes.can_resume(asked):
        asked = None
    resumed = asked is not None or not call.last_event_id
    cursor = asked or await watcher.start_of(call.access.org)
    return _told(call, watcher, cursor, pool_id, resumed)


async def _told(
    call: Call, watcher: Watcher, cursor: Cursor, pool_id: int | None, resumed: bool
) -> AsyncIterator[bytes]:
    doorkeeper, time = call.service.doorkeeper, asyncio.get_running_loop().time
    if watcher.streams >= call.service.settings.streams_max:
        yield COME_LATER
        return
    watcher.streams += 1
    watcher.wake()
    try:
        yield b"retry: 1000\n" + _message("ready" if resumed else "reset", b"{}", cursor)
        while not watcher.closing:
            piece = await watcher.piece_after(call.access.org, cursor, pool_id)
            # A key that is revoked and a session that ends see nothing more.
            if not await doorkeeper.still_admits(call.access, time()):
                return
            if piece.news.cursor[:3] != cursor[:3]:
                cursor = piece.news.cursor
                yield piece.told(call)
            if piece.news.more:
                continue
            if not await piece.bell.wait():
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
