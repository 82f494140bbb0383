"""Joins, leaves, moves, answers and fills at once: in every committed state the line is 1..n, in order."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.store import writer
from tests.database import SECRET
from tests.engine import worker
from tests.engine.looking import after_every_commit, events, look, watching, wrong
from tests.engine.processes import Worker, run_together
from tests.engine.staging import nodes, without_conditions, without_keys, without_lock
from tests.verified import assert_verified, verified

STAYING = {"after_lapse": "stay", "after_decline": "back", "attempts_max": None}


async def prepare(hf: Fairhold) -> None:
    """Two seats, both taken, and thirty in line, a third of them with priority."""
    rules = [{"when": {"tag": "member"}, "add": 1}]
    policy = {**STAYING, "priority_rules": rules}
    granted(await hf.create_pool("hall", quotas={"main": 2}, preset="course_section", policy=policy))
    for number in range(2):
        granted(await hf.book("hall", f"in-{number}", confirmed=True, by="staff"))
    for number in range(30):
        tags = ["member"] if number % 3 == 0 else []
        granted(await hf.book("hall", {"id": f"wait-{number}", "tags": tags}))


async def storm_of_tasks(url: str, nodes_count: int = 1, rounds: int = 60) -> tuple[list[str], Counter[str]]:
    """A storm on one or more nodes of this process, with a picture after every commit of the first."""
    async with nodes(url, nodes_count) as running:
        await prepare(running[0])
        async with after_every_commit(url, running[0].store) as watch:
            storms = (worker.storm(node, "hall", seed, rounds) for seed, node in enumerate(running))
            seen = await asyncio.gather(*storms, return_exceptions=True)
    failed = [f"{type(error).__name__}: {error}" for error in seen if isinstance(error, BaseException)]
    done = sum((counter for counter in seen if isinstance(counter, Counter)), Counter[str]())
    assert watch.pictures > rounds / 4
    return watch.complaints + failed, done


async def test_positions_are_exact_after_every_commit(database_url: str) -> None:
    complaints, done = await storm_of_tasks(database_url)
    assert complaints == []
    assert {"book waiting", "cancel cancelled", "move waiting"} <= set(done)
    await assert_verified(database_url)


async def test_positions_are_exact_with_two_nodes_at_work(database_url: str) -> None:
    complaints, _ = await storm_of_tasks(database_url, nodes_count=2, rounds=40)
    assert complaints == []
    await assert_verified(database_url)


def test_positions_are_exact_with_three_processes_at_work(database_url: str) -> None:
    async def begin() -> None:
        async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
            await prepare(hf)

    asyncio.run(begin())
    details: dict[str, Any] = {"pool": "hall", "rounds": 60}
    workers = [Worker("storm", database_url, seed=seed, **details) for seed in range(10, 13)]
    with watching(database_url) as watch:
        found = run_together(*workers)

    assert watch.complaints == []
    assert watch.pictures > 10
    done = sum((Counter(seen) for seen in found), Counter())
    assert done.total() == 180
    kinds = Counter(kind for kind, _, _ in events(asyncio.run(look(database_url))))
    assert min(kinds[kind] for kind in ("Joined", "Cancelled", "Moved", "Offered", "Claimed")) > 0
    asyncio.run(assert_verified(database_url))


@pytest.mark.tampered
async def test_control_blocks_that_are_not_kept_are_seen(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def keep_nothing(*_: Any) -> None:
        pass

    monkeypatch.setattr(writer, "change_blocks", keep_nothing)
    complaints, _ = await storm_of_tasks(database_url, rounds=4)
    assert any(complaint.startswith("the blocks") for complaint in complaints)


@pytest.mark.tampered
async def test_control_two_nodes_without_lock_conditions_and_keys_tangle_the_line(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nodes(database_url, 1) as (hf,):
        await prepare(hf)
    without_lock(monkeypatch, database_url)
    without_conditions(monkeypatch, database_url)
    await without_keys(database_url)
    # On a busy machine two storms may pass each other by.
    for first in range(0, 40, 4):
        async with nodes(database_url) as running:
            storms = (worker.storm(node, "hall", first + seed, 40) for seed, node in enumerate(running))
            await asyncio.gather(*storms, return_exceptions=True)
        if wrong(await look(database_url)):
            break
    assert wrong(await look(database_url)) != []
    assert not (await verified(database_url)).whole
