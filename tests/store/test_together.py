"""A batch that is written at once: all of it arrives as it is, or nothing does."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from fairhold import Fairhold, granted
from fairhold.config import make_store
from fairhold.ids import booking_number, pool_number
from fairhold.store.base import Seen, Write
from fairhold.store.blocks import LATE, counting_newcomers
from fairhold.store.rows import text
from fairhold.store.sqlite.together import EXACTLY
from fairhold.store.writer import Writer
from tests.database import SECRET, START, ask

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


@pytest.fixture(params=["sqlite", "sqlite on one core", "postgres"])
def database_url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where there is no core to write beside us, SQLite takes a statement after the other."""
    cores = 1 if "one core" in request.param else 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    return str(request.getfixturevalue(f"{request.param.split()[0]}_url"))


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 9}))
        granted(await hf.book("hall", "Olga"))
        yield hf


async def seen_of(hf: Fairhold, pool: str = "hall", **more: Any) -> Seen:
    """The pool's log as it ends now."""
    pool_id = pool_number(granted(await hf.pool(pool)).id)
    assert pool_id is not None
    (row,) = await hf.store.reader().rows("lock_pools", [pool_id])
    return Seen({pool_id: bytes(row[12])}, **more)


def request(key: str, answer: str = "refusal {}") -> tuple[Any, ...]:
    return ("default", key, DIGEST, answer, START)


async def keys(url: str) -> set[str]:
    return {row[0] for row in await ask(url, "SELECT key FROM fairhold_requests")}


async def finish(hf: Fairhold, seen: Seen, *writes: Write) -> bool:
    tx = await hf.store.begin(to_finish=True)
    try:
        return await tx.finish(hf.store.put_together(seen, writes))
    finally:
        await tx.rollback()


def test_sqlite_knows_all_that_a_batch_may_write() -> None:
    """In its order: who leaves a place goes before who takes it."""
    at_the_end = counting_newcomers([(1, [1], 0), (2, [1], LATE)])
    known = [(name, exact) for name, _, exact in [*Writer().all_writes([]), *at_the_end]]
    assert list(EXACTLY.items()) == known


async def test_there_must_be_a_core_to_write_beside_us(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cores in (1, 2):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, there=cores: set(range(there)), raising=False)
        assert make_store(sqlite_url).is_beside is (cores > 1)


async def test_every_value_arrives_as_it_is(hf: Fairhold, database_url: str) -> None:
    rows = [request(key, f"refusal {text(key)}") for key in ODD]
    assert await finish(hf, await seen_of(hf), Write("insert_requests", rows))
    found = await ask(database_url, "SELECT org, key, digest, answer, created_at FROM fairhold_requests")
    assert {(*row[:2], bytes(row[2]), *row[3:]) for row in found} == set(rows)


async def test_each_hash_stands_in_its_own_row(hf: Fairhold, database_url: str) -> None:
    seen = await seen_of(hf)
    (pool_id,) = seen.hashes
    rows = [
        (pool_id, seq, START, "Held", None if seq % 2 else seq, "party", "{}", bytes([seq]) * 32, DIGEST)
        for seq in range(10, 60)
    ]
    assert await finish(hf, seen, Write("insert_log", rows))
    query = (
        "SELECT pool_id, seq, at, kind, booking, by, body, digest, hash FROM fairhold_log "
        "WHERE seq >= 10 ORDER BY seq"
    )
    found = await ask(database_url, query)
    assert [(*row[:7], bytes(row[7]), bytes(row[8])) for row in found] == rows


async def test_nothing_is_written_on_a_log_that_ends_otherwise(hf: Fairhold, database_url: str) -> None:
    seen = await seen_of(hf)
    granted(await hf.book("hall", "Ann"))
    assert not await finish(hf, seen, Write("insert_requests", [request("late")]))
    assert await keys(database_url) == set()
    assert await finish(hf, await seen_of(hf), Write("insert_requests", [request("in time")]))
    assert await keys(database_url) == {"in time"}


@pytest.mark.parametrize(
    ("parties", "live"),
    [(["Olga"], 1), (["Wim"], 1), (["Ann"], 0), (["Olga", "Wim", "Ann"], 2), (["Gus", "Ann"], 0)],
)
async def test_nothing_is_written_if_somebody_has_another_number_of_bookings(
    hf: Fairhold, database_url: str, parties: list[str], live: int
) -> None:
    """Olga holds a seat, Wim waits for one, Gus has given his back."""
    granted(await hf.create_pool("class", preset="class_waitlist", quotas={"main": 1}))
    gus = granted(await hf.book("class", "Gus"))
    granted(await hf.cancel(gus.id))
    granted(await hf.book("class", "Olga"))
    granted(await hf.book("class", "Wim"))
    (pool_id,) = (await seen_of(hf, "class")).hashes
    asked = [(pool_id, party) for party in parties]
    for wrong in {0, 1, 2, 3} - {live}:
        seen = await seen_of(hf, "class", parties=asked, live=wrong)
        assert not await finish(hf, seen, Write("insert_requests", [request("wrong")]))
    seen = await seen_of(hf, "class", parties=asked, live=live)
    assert await finish(hf, seen, Write("insert_requests", [request("right")]))
    assert await keys(database_url) == {"right"}


async def test_nothing_is_written_if_a_row_that_must_be_there_is_not(hf: Fairhold, database_url: str) -> None:
    (olga,) = granted(await hf.bookings("hall"))
    named = booking_number(olga.id)
    assert named is not None
    seen = await seen_of(hf)
    details = [(*named, "{}", "{}", None, "", ""), (named[0], 99, "{}", "{}", None, "", "")]
    writes = (Write("insert_requests", [request("one")]), Write("change_details", details, exact=True))
    assert not await finish(hf, seen, *writes)
    assert await keys(database_url) == set()
    assert granted(await hf.booking(olga.id)).party.id == "Olga"


async def test_a_row_that_may_not_be_takes_all_others_along(hf: Fairhold, database_url: str) -> None:
    rows = [request("one"), request("two"), request("one")]
    with pytest.raises(Exception, match=r"(?i)unique"):
        await finish(hf, await seen_of(hf), Write("insert_requests", rows))
    assert await keys(database_url) == set()
    granted(await hf.book("hall", "Ann"))
