"""A second pair of eyes: whole pictures of a database, each of one instant, and what is wrong in them.

Nothing here uses the engine's own sums or queries: bookings are counted and sorted, the chain is hashed.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from typing import Any, Final, NamedTuple

from tests.database import Ask, asking, dialect_of

TAKES_ROOM: Final = ("offered", "held", "confirmed")
GENESIS: Final = bytes(32)


class Picture(NamedTuple):
    """All pools of a database at one instant."""

    pools: list[tuple[Any, ...]]
    quotas: list[tuple[Any, ...]]
    bookings: list[tuple[Any, ...]]
    blocks: list[tuple[Any, ...]]
    offers: list[tuple[Any, ...]]
    log: list[tuple[Any, ...]]
    outbox: list[tuple[Any, ...]]


class Booking(NamedTuple):
    pool_id: int
    number: int
    party: str
    quota: str
    quantity: int
    state: str
    place: int
    position: int | None
    offer_seq: int
    offer_quantity: int
    expires_at: int | None

    @property
    def seats(self) -> int:
        return self.offer_quantity if self.state == "offered" else self.quantity


_LOOKS: Final = (
    "SELECT id, open_size, log_seq, log_hash, due_at FROM fairhold_pools ORDER BY id",
    "SELECT pool_id, key, size, used, waiting, offered, aside FROM fairhold_quotas",
    """SELECT pool_id, number, party_id, quota, quantity, state, place, position, offer_seq, offer_quantity,
        expires_at FROM fairhold_bookings ORDER BY pool_id, number""",
    "SELECT pool_id, low, count FROM fairhold_line_blocks ORDER BY pool_id, low",
    "SELECT pool_id, booking, seq, outcome FROM fairhold_offers",
    "SELECT pool_id, seq, kind, booking, digest, hash, at FROM fairhold_log ORDER BY pool_id, seq",
    "SELECT pool_id, seq, part, kind, booking FROM fairhold_outbox",
)


async def take_picture(run: Ask, dialect: str) -> Picture:
    """Everything as of one instant, whatever is being committed meanwhile."""
    await run("BEGIN" if dialect == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        return Picture(*[await run(statement) for statement in _LOOKS])
    finally:
        await run("COMMIT")


async def look(url: str) -> Picture:
    async with asking(url) as run:
        return await take_picture(run, dialect_of(url))


def look_now(url: str) -> Picture:
    """The same for callers without an event loop."""
    return asyncio.run(look(url))


def bookings(picture: Picture, *states: str) -> list[Booking]:
    found = [Booking(*row) for row in picture.bookings]
    return [booking for booking in found if not states or booking.state in states]


def events(picture: Picture, *kinds: str) -> list[tuple[Any, ...]]:
    """(kind, booking, at) of the log's entries, in order."""
    return [(row[2], row[3], row[6]) for row in picture.log if not kinds or row[2] in kinds]


def wrong(picture: Picture) -> list[str]:
    """What is not as promised."""
    return [
        complaint
        for check in (oversold, miscounted, doubled, out_of_line, broken_chain, untold, overlooked)
        for complaint in check(picture)
    ]


def oversold(picture: Picture) -> list[str]:
    used: Counter[tuple[int, str]] = Counter()
    for booking in bookings(picture, *TAKES_ROOM):
        used[booking.pool_id, booking.quota] += booking.seats
    overflow: Counter[int] = Counter()
    for pool_id, key, size, *_ in picture.quotas:
        if size is not None:
            overflow[pool_id] += max(0, used[pool_id, key] - size)
    return [
        f"{overflow[id_]} seats too many" for id_, open_size, *_ in picture.pools if overflow[id_] > open_size
    ]


def miscounted(picture: Picture) -> list[str]:
    """A tally says what its bookings add up to."""
    counted: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for booking in bookings(picture, "waiting", *TAKES_ROOM):
        tally = counted[booking.pool_id, booking.quota]
        tally[0] += booking.seats if booking.state in TAKES_ROOM else 0
        tally[1] += booking.state == "waiting"
        tally[2] += booking.state == "offered"
    return [
        f"quota {key} says {[used, waiting, offered]}, its bookings {counted[pool_id, key]}"
        for pool_id, key, _, used, waiting, offered, _ in picture.quotas
        if [used, waiting, offered] != counted[pool_id, key]
    ]


def doubled(picture: Picture) -> list[str]:
    """An offered booking has one live offer, a party one place in line, an offer one claim."""
    live = Counter((pool_id, booking) for pool_id, booking, _, outcome in picture.offers if outcome is None)
    offered = Counter((booking.pool_id, booking.number) for booking in bookings(picture, "offered"))
    found = [] if live == offered else [f"offers {live} are live, bookings {offered} are offered"]
    places = Counter((b.pool_id, b.party) for b in bookings(picture, "waiting", "offered"))
    found += [f"{party} stands in line {count} times" for (_, party), count in places.items() if count > 1]
    ends = Counter((row[0], row[2], row[3]) for row in picture.log if row[2] == "Claimed")
    return found + [f"{key} is in the log {count} times" for key, count in ends.items() if count > 1]


def out_of_line(picture: Picture) -> list[str]:
    """Positions by blocks are 1..n in the order of places; the departed know the position they left from."""
    found = []
    lines: defaultdict[int, list[int]] = defaultdict(list)
    for booking in bookings(picture, "waiting"):
        lines[booking.pool_id].append(booking.place)
    blocks: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for pool_id, low, count in picture.blocks:
        blocks[pool_id].append((low, count))
    for pool_id, *_ in picture.pools:
        positions = [_position(place, lines[pool_id], blocks[pool_id]) for place in sorted(lines[pool_id])]
        if positions != list(range(1, len(positions) + 1)):
            found.append(f"the positions in line are {positions}")
        if sum(count for _, count in blocks[pool_id]) != len(positions):
            found.append(f"the blocks {blocks[pool_id]} hold {len(positions)}")
    return found


def _position(place: int, line: list[int], blocks: list[tuple[int, int]]) -> int:
    low = max(low for low, _ in blocks if low <= place)
    before = sum(count for other, count in blocks if other < low)
    return before + sum(low <= other <= place for other in line)


def broken_chain(picture: Picture) -> list[str]:
    """Every entry follows from the one before, and the pool knows the last."""
    heads = {pool[0]: (pool[2], bytes(pool[3])) for pool in picture.pools}
    chains: dict[int, tuple[int, bytes]] = {}
    found = []
    for pool_id, seq, kind, _, digest, hash_, _ in picture.log:
        last_seq, last = chains.get(pool_id, (0, GENESIS))
        if seq != last_seq + 1 or bytes(hash_) != hashlib.sha256(last + bytes(digest)).digest():
            found.append(f"the log breaks at {seq}, {kind}")
        chains[pool_id] = (seq, bytes(hash_))
    return found if found or chains == heads else [f"the pools say {heads}, the log {chains}"]


def untold(picture: Picture) -> list[str]:
    """Who joined or was offered something is told so, once."""
    kinds = {"Joined": "joined", "Offered": "offer"}
    due = Counter((row[0], kinds[row[2]], row[3]) for row in picture.log if row[2] in kinds)
    told = Counter((pool_id, kind, b) for pool_id, _, _, kind, b in picture.outbox if kind in kinds.values())
    return [] if due == told else [f"told {told - due} too often, {due - told} too seldom"]


def overlooked(picture: Picture) -> list[str]:
    """A pool is due no later than its first deadline."""
    found = []
    for pool_id, _, _, _, due_at in picture.pools:
        ends = [b.expires_at for b in bookings(picture) if b.pool_id == pool_id and b.expires_at is not None]
        if ends and (due_at is None or due_at > min(ends)):
            found.append(f"due at {due_at}, though something ends at {min(ends)}")
    return found


def went_back(pictures: list[Picture]) -> list[str]:
    """From one picture to the next, the log only grows."""
    return [
        "an entry of the log has changed"
        for one, other in pairwise(pictures)
        if dict.fromkeys(one.log).keys() - dict.fromkeys(other.log).keys()
    ]


class Watch:
    """What a watcher has seen so far."""

    def __init__(self) -> None:
        self.pictures = 0
        self.complaints: list[str] = []
        self._last: Picture | None = None

    def see(self, picture: Picture) -> None:
        self.pictures += 1
        self.complaints += wrong(picture)
        if self._last is not None:
            self.complaints += went_back([self._last, picture])
        self._last = picture


@contextmanager
def watching(url: str) -> Iterator[Watch]:
    """Take pictures all the while, from a thread and a connection of its own, and one at the end."""
    watch, ended = Watch(), threading.Event()

    async def take_pictures() -> None:
        async with asking(url) as run:
            while not ended.is_set():
                watch.see(await take_picture(run, dialect_of(url)))
                await asyncio.sleep(0.002)
            watch.see(await take_picture(run, dialect_of(url)))

    thread = threading.Thread(target=lambda: asyncio.run(take_pictures()), name="watcher")
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()


@asynccontextmanager
async def after_every_commit(url: str, store: Any) -> AsyncIterator[Watch]:
    """Take a picture after each commit of a store, before its next transaction begins."""
    watch, begin = Watch(), store.begin
    async with asking(url) as run:

        async def begin_watched(**how: Any) -> Any:
            # The engine begins one transaction after another: what the last one committed is there now.
            watch.see(await take_picture(run, dialect_of(url)))
            return await begin(**how)

        store.begin = begin_watched
        try:
            yield watch
        finally:
            store.begin = begin
            watch.see(await take_picture(run, dialect_of(url)))
