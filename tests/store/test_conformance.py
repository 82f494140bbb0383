"""What the engine may rely on in a store, whichever it is: transactions, what readers see, counts, lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from fairhold.config import make_store
from fairhold.store.base import Store
from tests.database import START, ask
from tests.patience import PATIENCE_S

REQUEST = ("org", "key", b"\x00digest\xff", '{"a": "é"}', START)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    store = make_store(database_url)
    await store.open()
    await store.migrate(START)
    yield store
    await store.close()


async def kept(store: Store) -> list[tuple[object, ...]]:
    rows = await store.reader().each("requests_by_key", [("org", "key")])
    return [(org, key, bytes(digest), answer) for org, key, digest, answer in rows]


async def test_to_look_for_nothing_finds_nothing(store: Store) -> None:
    tx = await store.begin()
    async with store.snapshot() as snapshot:
        for reader in (tx, store.reader(), store.scout(), snapshot):
            assert list(await reader.each("requests_by_key", [])) == []
    await tx.rollback()


async def test_what_is_committed_is_kept_and_what_is_not_never_was(store: Store) -> None:
    tx = await store.begin()
    assert await tx.many("insert_requests", [REQUEST]) == 1
    await tx.rollback()
    assert await kept(store) == []
    tx = await store.begin()
    await tx.many("insert_requests", [REQUEST])
    assert len(await tx.each("requests_by_key", [("org", "key")])) == 1, "it sees its own rows"
    assert await kept(store) == [], "and nobody else does"
    await tx.commit()
    await tx.rollback()
    assert await kept(store) == [REQUEST[:4]], "rolling back what is committed does nothing"


async def test_writers_take_turns(store: Store) -> None:
    """A second transaction begins when the first is over, however that ended."""
    first = await store.begin()
    second = asyncio.create_task(store.begin())
    await asyncio.sleep(0.05)
    assert not second.done()
    await first.rollback()
    tx = await asyncio.wait_for(second, PATIENCE_S)
    await tx.commit()
    await (await asyncio.wait_for(store.begin(), PATIENCE_S)).rollback()


async def test_a_statement_that_fails_leaves_the_store_usable(store: Store) -> None:
    tx = await store.begin()
    await tx.many("insert_requests", [REQUEST])
    with pytest.raises(Exception, match=r"(?i)unique"):
        await tx.many("insert_requests", [REQUEST])
    await tx.rollback()
    assert await kept(store) == []
    tx = await store.begin()
    await tx.many("insert_requests", [REQUEST])
    await tx.commit()
    assert len(await kept(store)) == 1


async def test_bulk_statements_say_how_many_rows_they_changed(store: Store) -> None:
    """By that count the engine knows that a booking was as it had seen it."""
    tx = await store.begin()
    await tx.many("insert_blocks", [(7, -5, 0), (8, -5, 0)])
    assert await tx.many("change_block", [(7, 0, 1), (8, 0, 2)]) == 2
    assert await tx.many("step_out", [(7, 1, 1), (7, 2, 2)]) == 0
    await tx.commit()


async def test_lists_of_keys_find_what_is_there_and_nothing_else(store: Store) -> None:
    tx = await store.begin()
    await tx.many("insert_requests", [("org", f"key {n}", b"d", "a", n) for n in range(100)])
    await tx.commit()
    wanted = [("org", f"key {n}") for n in range(0, 200, 2)] + [("other", "key 1")]
    found = await store.reader().each("requests_by_key", wanted)
    assert sorted(row[1] for row in found) == sorted(f"key {n}" for n in range(0, 100, 2))
    assert list(await store.reader().rows("pool_configs", [1, 2, 3])) == []


async def test_a_snapshot_sees_one_state_however_long_it_looks(store: Store) -> None:
    async with store.snapshot() as snapshot:
        assert list(await snapshot.each("requests_by_key", [("org", "key")])) == []
        tx = await store.begin()
        await tx.many("insert_requests", [REQUEST])
        await tx.commit()
        assert list(await snapshot.each("requests_by_key", [("org", "key")])) == []
    assert len(await kept(store)) == 1


async def test_the_lowest_and_the_highest_number_are_kept(store: Store, database_url: str) -> None:
    tx = await store.begin()
    await tx.many("insert_blocks", [(2**62, -(2**63), 2**63 - 1)])
    await tx.commit()
    found = await ask(database_url, "SELECT pool_id, low, count FROM fairhold_line_blocks")
    assert found == [(2**62, -(2**63), 2**63 - 1)]
