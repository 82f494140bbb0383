"""One seed: make pools, let the cast act while faults strike, let it settle, and have it audited."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from fairhold import ids
from fairhold.clock import TestClock
from fairhold.errors import FairholdError
from fairhold.library import Fairhold
from fairhold.shapes import Booking
from sim.auditor import audit
from sim.cast import Cast
from sim.faults import Carrier, Faults
from sim.loop import VirtualLoop, owned_tasks
from sim.node import Node
from sim.pools import START, make_pools
from sim.records import Carried, Entry

LOG = "SELECT pool_id, seq, at, kind, booking, by, body, digest, hash FROM fairhold_log ORDER BY pool_id, seq"
NUMBERS = "SELECT pool_id, number, reference FROM fairhold_bookings"


@dataclass(slots=True)
class Outcome:
    seed: int
    wrong: list[str] = field(default_factory=list)
    commands: int = 0
    entries: int = 0
    messages: int = 0
    kills: int = 0
    faults: Counter[str] = field(default_factory=Counter)


def run_seed(seed: int, steps: int = 300, postgres: str | None = None) -> Outcome:
    """Play a seed. On SQLite in made-up time, the same every time; on PostgreSQL in real time."""
    loop = asyncio.new_event_loop() if postgres else VirtualLoop()
    loop.set_task_factory(owned_tasks)  # type: ignore[arg-type]
    try:
        with _database(postgres) as url, _seeded(seed):
            return loop.run_until_complete(_play(url, seed, steps))
    finally:
        loop.close()


@contextmanager
def _database(postgres: str | None) -> Iterator[str]:
    if postgres:
        yield postgres
        return
    memory = Path("/dev/shm")  # nothing here shall outlive the run
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield f"sqlite:///{folder}/sim.db"


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Ids of pools are random; here they follow from the seed."""
    dice = random.Random(seed + 1)
    made, ids.new_pool_id = ids.new_pool_id, lambda: dice.getrandbits(62)
    try:
        yield
    finally:
        ids.new_pool_id = made


async def _play(url: str, seed: int, steps: int) -> Outcome:
    dice = random.Random(seed)
    clock, outcome = TestClock(START), Outcome(seed)
    pace = 1.0 if url.startswith("sqlite:") else 0.01
    faults = Faults(random.Random(seed + 2), 0.0, pace)
    carrier = Carrier(faults)
    nodes = [Node(f"node {n}", url, clock, faults, carrier) for n in range(dice.choice([1, 2, 3]))]
    for node in nodes:
        await node.start()
    pools, names = await make_pools(nodes[0].hf, dice)
    cast = Cast(dice, nodes, pools, clock, pace)
    faults.share = dice.choice([0.0, 0.005, 0.02, 0.05])
    faults.commit_s = dice.choice([0.0, 0.001, 0.02])
    try:
        for _ in range(steps):
            outcome.kills += await _chaos(cast, nodes, dice)
            await _time_passes(nodes, clock, dice)
            cast.links = _links(carrier, names)
            if dice.random() < 0.1:
                await cast.reopen()
        faults.share = 0.0
        await _settle(cast, nodes, clock)
        shown = await show(nodes[0].hf, pools, url)
        entries = await read_log(url)
        carried = [Carried(it.id, it.kind, it.address) for it in carrier.tried]
        outcome.wrong += cast.wrong + audit(entries, cast.asked, carried, shown)
        outcome.entries = len(entries)
    finally:
        for node in nodes:
            if node.up:
                await node.stop()
    outcome.commands = sum(len(it.answers) + it.unanswered for it in cast.asked)
    outcome.messages = len(carrier.tried)
    outcome.faults = faults.count
    return outcome


async def _chaos(cast: Cast, nodes: list[Node], dice: random.Random) -> int:
    """Some act at once, and maybe a node dies meanwhile; how many did."""
    crowd = [asyncio.ensure_future(cast.act()) for _ in range(dice.choice([1, 1, 2, 5, 12, 30]))]
    if dice.random() < 0.04:
        crowd.append(asyncio.ensure_future(cast.rush()))
    killed = 0
    if dice.random() < 0.04 and (up := [node for node in nodes if node.up]):
        await asyncio.sleep(dice.choice([0, 0.0005, 0.01]))
        await dice.choice(up).kill()
        killed = 1
    for node in nodes:
        if not node.up and dice.random() < 0.6:
            await node.start()
    await asyncio.gather(*crowd)
    return killed


async def _time_passes(nodes: list[Node], clock: TestClock, dice: random.Random) -> None:
    """Timers fire late, doubled or not at all; clocks of nodes are off, and set right or wrong."""
    clock.move_to(clock.now() + 1000 * dice.choice([0, 0, 1, 30, 61, 600, 3_700]))
    for node in nodes:
        if dice.random() < 0.05:
            node.clock.off = dice.choice([0, -3_600_000, 5_000, 60_000])
        if node.up and node.hf is not None and dice.random() < 0.5:
            with suppress(FairholdError, TimeoutError):
                await node.ask(node.hf.tick(), 60)
        if node.up and dice.random() < 0.5:
            await node.send_due()


def _links(carrier: Carrier, names: dict[str, str]) -> list[tuple[str, str]]:
    """The links in the letters that arrived, each with its pool."""
    letters = [it for it in carrier.delivered[-60:] if it.kind == "offer" and "/o/" in it.text]
    return [(names[it.id.rsplit("-", 2)[0]], it.text.split("/o/")[1].split()[0]) for it in letters]


async def _settle(cast: Cast, nodes: list[Node], clock: TestClock) -> None:
    """Nothing fails any more: everybody gets an answer, and what is due is done and told."""
    for node in nodes:
        node.clock.off = 0
        if not node.up:
            await node.start()
    await cast.settle()
    for _ in range(60):
        # Whoever died with a message in hand leaves it for two minutes.
        clock.move_to(clock.now() + 150_000)
        for node in nodes:
            assert node.hf is not None
            await node.hf.tick()
            await node.send_due()


async def show(hf: Fairhold | None, pools: Iterable[str], url: str) -> dict[int, dict[str, Any]]:
    """What the service says of each pool; and the numbers of its bookings, as the tables have them."""
    assert hf is not None
    numbers = {(pool_id, reference): number for pool_id, number, reference in await _rows(url, NUMBERS)}
    found = {}
    for key in pools:
        pool_id = await hf.reads.pool_id(key, hf.org)
        assert pool_id is not None
        bookings, after = [], 0
        while page := await hf.reads.bookings(pool_id, None, None, after, 1_000):
            bookings += page
            after += len(page)
        line: list[Booking] = []
        while page := await hf.reads.line(pool_id, len(line), 1_000):
            line += page
        found[pool_id] = {
            "key": key,
            "name": ids.pool_text(pool_id),
            "bookings": msgspec.to_builtins(bookings),
            "line": msgspec.to_builtins(line),
            "numbers": {it.id: numbers[pool_id, it.reference] for it in bookings},
        }
    return found


async def read_log(url: str) -> list[Entry]:
    return [Entry(*row) for row in await _rows(url, LOG)]


async def _rows(url: str, query: str) -> list[tuple[Any, ...]]:
    if url.startswith("sqlite:"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            return file.execute(query).fetchall()
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(query)]
    finally:
        await connection.close()
