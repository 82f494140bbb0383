"""A batch is written in one transaction: all of it arrives as it is, or nothing does.

PostgreSQL takes it as one statement, SQLite statement by statement.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import pytest

from fairhold import Fairhold, granted
from fairhold.engine.batch import Batch, Overtaken
from fairhold.ids import booking_number, pool_number
from fairhold.store.base import Write
from fairhold.store.loaded import Memory
from fairhold.store.loader import Loader
from fairhold.store.rows import text
from fairhold.store.writer import StaleWrite, Writer
from tests.database import SECRET, START, ask
from tests.engine.staging import nodes, outcome, without_conditions, without_keys, without_lock

DIGEST: Final = bytes(range(32))
ODD: Final = (
    'she said "no"',
    "back\\slash and /",
    "two\nlines\tand a tab",
    "é ß 漢字 🎟 \u202e",
    '{"json": [1, null, "two"]}',
    "NULL",
    "{}",
    "[]",
    "it's; -- 'quoted'",
    "\x1e between \x1d",
    "$[0]",
)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 9}))
        granted(await hf.book("hall", "Olga"))
        yield hf


class GivenWriter(Writer):
    """A writer of what it is given."""

    def __init__(self, writes: Sequence[Write]) -> None:
        super().__init__()
        self._given = list(writes)

    def is_plain(self, pools: object) -> bool:
        return True

    def plain_writes(self, pools: object) -> list[Write]:
        return self._given


async def decided(hf: Fairhold, *writes: Write, pool: str = "hall") -> Batch:
    """Return a batch that is decided on the pool's log as it ends now."""
    pool_id = pool_number(granted(await hf.pool(pool)).id)
    assert pool_id is not None
    batch = Batch([], hf.store, Memory(), hf.clock, SECRET)
    batch.pools = await Loader(hf.store.reader(), Memory(), hf.clock).load({pool_id: []})
    batch.pools[pool_id].log_seq += 1
    batch.writer = GivenWriter(writes)
    batch._statement = batch._as_statement()
    assert (batch._statement is None) is (hf.store.dialect == "sqlite")
    return batch


async def written(batch: Batch) -> bool:
    """Write a batch; True if nothing kept it from being written."""
    try:
        await batch.append()
    except (Overtaken, StaleWrite):
        return False
    return True


def request(key: str, answer: str = "refusal {}") -> tuple[Any, ...]:
    return ("default", key, DIGEST, answer, START)


def requests(*keys: str) -> Write:
    return Write("insert_requests", [request(key) for key in keys])


async def keys(url: str) -> set[str]:
    return {row[0] for row in await ask(url, "SELECT key FROM fairhold_requests")}


async def test_every_value_arrives_as_it_is(hf: Fairhold, database_url: str) -> None:
    rows = [request(key, f"refusal {text(key)}") for key in ODD]
    assert await written(await decided(hf, Write("insert_requests", rows)))
    found = await ask(database_url, "SELECT org, key, digest, answer, created_at FROM fairhold_requests")
    assert {(*row[:2], bytes(row[2]), *row[3:]) for row in found} == set(rows)


async def test_each_hash_stands_in_its_own_row(hf: Fairhold, database_url: str) -> None:
    pool_id = pool_number(granted(await hf.pool("hall")).id)
    rows = [
        (pool_id, seq, START, "Held", None if seq % 2 else seq, "party", "{}", bytes([seq]) * 32, DIGEST)
        for seq in range(10, 60)
    ]
    assert await written(await decided(hf, Write("insert_log", rows)))
    query = (
        "SELECT pool_id, seq, at, kind, booking, by, body, digest, hash FROM fairhold_log "
        "WHERE seq >= 10 ORDER BY seq"
    )
    found = await ask(database_url, query)
    assert [(*row[:7], bytes(row[7]), bytes(row[8])) for row in found] == rows


async def test_nothing_is_written_on_a_log_that_ends_otherwise(hf: Fairhold, database_url: str) -> None:
    late = await decided(hf, requests("late"))
    granted(await hf.book("hall", "Ann"))
    assert not await written(late)
    assert await keys(database_url) == set()
    assert await written(await decided(hf, requests("in time")))
    assert await keys(database_url) == {"in time"}


async def in_flight_when_the_same_party_books_elsewhere(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], int]:
    """Return what Ann is told at a node whose booking waits while she books at another, and her seats."""
    async with nodes(url, 2) as (one, two):
        granted(await one.create_pool("gig", preset="checkout", quotas={"main": 9}))
        append, elsewhere = Batch.append, list[Any]()

        async def book_elsewhere_first(self: Batch) -> None:
            if not elsewhere:
                elsewhere.append(None)
                elsewhere[0] = await two.book("gig", "Ann")
            await append(self)

        monkeypatch.setattr(Batch, "append", book_elsewhere_first)
        here = await one.book("gig", "Ann")
        return [outcome(elsewhere[0]), outcome(here)], len(granted(await one.bookings("gig")))


async def test_nothing_is_written_if_a_party_has_booked_elsewhere_meanwhile(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever books changes the log, so that nobody need count the bookings of parties."""
    told, seats = await in_flight_when_the_same_party_books_elsewhere(database_url, monkeypatch)
    assert (told, seats) == (["held", "already_holding"], 1)


async def test_control_whatever_the_log_a_party_books_twice(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Fairhold.open(database_url, secret=SECRET, ticker=False):
        pass
    without_lock(monkeypatch, database_url)
    without_conditions(monkeypatch, database_url)
    await without_keys(database_url)
    told, seats = await in_flight_when_the_same_party_books_elsewhere(database_url, monkeypatch)
    assert (told, seats) == (["held", "held"], 2)


async def test_nothing_is_written_if_a_row_that_must_be_there_is_not(hf: Fairhold, database_url: str) -> None:
    (olga,) = granted(await hf.bookings("hall"))
    named = booking_number(olga.id)
    assert named is not None
    details = [(*named, "{}", "{}", None, "", ""), (named[0], 99, "{}", "{}", None, "", "")]
    assert not await written(await decided(hf, requests("one"), Write("change_details", details, exact=True)))
    assert await keys(database_url) == set()
    assert granted(await hf.booking(olga.id)).party.id == "Olga"


async def test_a_row_that_may_not_be_takes_all_others_along(hf: Fairhold, database_url: str) -> None:
    with pytest.raises(Exception, match=r"(?i)unique"):
        await written(await decided(hf, requests("one", "two", "one")))
    assert await keys(database_url) == set()
    granted(await hf.book("hall", "Ann"))
