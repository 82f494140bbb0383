"""Messages for later, in however many pools, cost those that are due nothing."""

from __future__ import annotations

from typing import Any

from fairhold import Fairhold, granted
from fairhold.outbox import Outbox
from fairhold.outbox import loop as loops
from tests.database import START, ask, opened
from tests.outbox.conftest import Post

WORK = 50


async def with_messages_for_later(url: str, pools: int) -> None:
    """A reminder that is to be sent in a year, in each of so many pools."""
    columns = (
        "pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error"
    )
    values = f"n, 1, 0, 'hold_ending', 'party', 1, '{{}}', 0, 'pending', {START + 10**10}, 0, ''"
    numbers = f"WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {pools})"
    await ask(url, f"INSERT INTO fairhold_outbox ({columns}) {numbers} SELECT {values} FROM c")


async def work_of_taking(hf: Fairhold) -> int:
    """How often SQLite has counted so many steps while the outbox looked what to send."""
    reader: Any = hf.store.reader()
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    reader._connection.set_progress_handler(count, WORK)
    assert len(await Outbox(hf)._take(loops.HANDS_MAX)) == 1
    reader._connection.set_progress_handler(None, 0)
    return steps


async def test_pools_with_messages_for_later_are_not_looked_at(sqlite_url: str) -> None:
    async with opened(sqlite_url) as hf:
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}))
        work = []
        for pools in (10, 5_000):
            await with_messages_for_later(sqlite_url, pools)
            granted(await hf.confirm(granted(await hf.book("gig", f"ann {pools}")).id))
            work.append(await work_of_taking(hf))
            await ask(sqlite_url, "DELETE FROM fairhold_outbox")
        assert work[1] <= 2 * work[0] + 2, work


async def test_few_are_sent_in_turn_as_many_are(post: Post, monkeypatch: Any) -> None:
    """Whether the pools are known from what is due, or found by leaping."""
    pools = [f"gig-{n}" for n in range(6)]
    for pool in pools:
        granted(await post.hf.create_pool(pool, preset="checkout", quotas={"main": 99}))
    orders = []
    for due_max in (1_000, 1):
        monkeypatch.setattr(loops, "_DUE_MAX", due_max)
        for pool in pools:
            for n in range(4):
                granted(await post.hf.confirm((await post.book(pool, f"N{n}{due_max}")).id))
        taken, outbox = [], Outbox(post.hf)
        while found := await outbox._take(4):
            taken.append([row[0] for row in found])
        assert sum(map(len, taken)) == 24
        assert all(len(set(pools)) >= min(4, len(pools)) for pools in taken[:3]), "each its turn"
        orders.append(taken)
    assert orders[0] == orders[1]
