"""One history, three ways: on the bare core, on SQLite and on PostgreSQL. All answers, rows and hashes agree.

The commands are those of the core's own random histories. What is loaded at a time, and the blocks of the
line, are made tiny: so a decision made on little, asking for more as it goes, is compared with one that sees
the whole pool.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test

from fairhold.answers import answer_of
from fairhold.core import commands as c
from fairhold.core.decide import decide
from fairhold.core.model import Pool
from fairhold.core.view import View
from fairhold.core.work import Decision
from fairhold.engine.batch import Batch, Flight
from fairhold.engine.jobs import Job
from fairhold.store import blocks, loaded, loader, rows
from fairhold.store.base import Reader
from fairhold.store.writer import GENESIS, entry_digest
from fairhold.sync import SyncFairhold, open_sync
from testbed.postgres import fresh_database
from tests.core.drawn import any_pool, attributes, requests, starts
from tests.core.history import START, History
from tests.core.test_promises import Histories
from tests.database import SECRET, asking

OF_POOL = {
    "log": "seq",
    "bookings": "number",
    "quotas": "key",
    "units": "label",
    "takings": "label",
    "offers": "booking, seq",
    "openings": "number",
    "tries": "opening, booking",
    "outbox": "seq, part",
    "line_blocks": "low",
}

Rows = list[tuple[Any, ...]]

# So many at most are asked before the first is answered: one is written, one is decided, and one waits.
IN_FLIGHT = 3


class HandClock:
    """A clock that can be set back, because every history begins at the same instant."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> int:
        return self.at


class Mirrored(History):
    """A pool on the bare core, and the same pool on two databases."""

    numbers = count(1)

    def __init__(self, mirrors: list[SyncFairhold], pool: Pool, units: tuple[dict[str, Any], ...]) -> None:
        number = next(self.numbers)
        self.mirrors = mirrors
        self.now, self.view, self.log = START, View(), []
        self.agreed = True
        self.asked: list[tuple[c.Command, Any, list[Any]]] = []
        self.chain: Rows = []
        self.told: Rows = []
        self.do(c.CreatePool(replace(pool, id=number, org="default", key=f"pool-{number}"), units))

    def do(self, command: c.Command) -> Decision:
        # Those who ask at one instant may be decided on top of each other; a clock that moves on waits.
        if len(self.asked) == IN_FLIGHT or (self.asked and self.now != self.mirrors[0].hf.clock.now()):
            self.hear()
        view = self.view
        view.savepoint()
        decision = decide(view, command, self.now)
        pool = command.pool if isinstance(command, c.CreatePool) else view.pool
        self.note(pool.id, decision)
        answer = answer_of(view, command, decision, self.now, SECRET)
        for mirror in self.mirrors:
            mirror.hf.clock.at = self.now  # type: ignore[attr-defined]
        jobs = [mirror.run(asked(mirror, pool.id, command)) for mirror in self.mirrors]
        self.asked.append((command, answer, jobs))
        return decision

    def hear(self) -> None:
        """Compare the answers that have not been waited for with those of the core."""
        listed, self.asked = self.asked, []
        for command, answer, jobs in listed:
            for mirror, job in zip(self.mirrors, jobs, strict=True):
                found = mirror.run(answered(job))
                self.agreed = self.agreed and found == answer
                assert found == answer, f"{mirror.hf.store.dialect} answers {command} differently"

    def note(self, pool_id: int, decision: Decision) -> None:
        for event, by in decision.entries:
            self.log.append((event, by))  # type: ignore[arg-type]
            kind, body, last = (
                type(event).__name__,
                rows.text(event),
                self.chain[-1][8] if self.chain else GENESIS,
            )
            digest = entry_digest(pool_id, len(self.log), event.at, kind, by, body)
            head, booking = hashlib.sha256(last + digest).digest(), getattr(event, "booking", None)
            self.chain.append((pool_id, len(self.log), event.at, kind, booking, by, body, digest, head))
        for part, message in enumerate(decision.messages):
            at, facts = self.now, rows.text(message.facts)
            told = (pool_id, len(self.log), part, message.kind, message.to, message.booking, facts)
            due_at = at if message.due_at is None else message.due_at
            self.told.append((*told, at, "pending", due_at, 0, ""))

    def compare(self) -> None:
        """The rows of both databases with each other, and with what the core has in mind."""
        self.hear()
        if self.view.pool is None or not self.agreed:
            return
        for mirror in self.mirrors:
            engine = mirror.hf.engine
            assert engine.batches_ahead == engine.batches, (
                "a batch was not written, though nobody was quicker"
            )
        found = [mirror.run(read(mirror, self.view.pool.id)) for mirror in self.mirrors]
        for table in OF_POOL:
            assert found[0][table] == found[1][table], f"the databases differ in {table}"
        for table, expected in self.expected().items():
            assert found[0][table] == expected, f"the databases differ from the core in {table}"

    def expected(self) -> dict[str, Rows]:
        view, pool_id = self.view, self.view.pool.id
        return {
            "log": self.chain,
            "outbox": self.told,
            "bookings": [rows.inserted(pool_id, b) for _, b in sorted(view.bookings.items())],
            "units": [tuple(map(plain, rows.unit_row(pool_id, u))) for _, u in sorted(view.units.items())],
            "takings": [(pool_id, u.label, u.booking) for _, u in sorted(view.units.items()) if u.booking],
            "offers": [rows.offer_row(pool_id, offer) for _, offer in sorted(view.offers.items())],
            "openings": [(pool_id, *opening) for _, opening in sorted(view.openings.items())],
            "tries": [(pool_id, *key) for key, had in sorted(view.tried.items()) if had],
            "pools": [
                (view.due_at, view.round, view.numbers, view.arrivals, len(self.chain), self.chain[-1][8])
            ],
        }


async def asked(mirror: SyncFairhold, pool_id: int, command: c.Command) -> Job:
    """Ask the engine itself, past what the library checks, and wait until a batch has it, or a moment."""
    job = Job(pool_id, command, asyncio.get_running_loop().create_future(), "default")
    mirror.hf.engine.queue.submit(job)
    for _ in range(3):
        await asyncio.sleep(0)
    return job


async def answered(job: Job) -> Any:
    return await job.future


async def read(mirror: SyncFairhold, pool_id: int) -> dict[str, Rows]:
    url = URLS[mirror.hf.store.dialect]
    async with asking(url) as ask:
        of_pool = "due_at, round, numbers, arrivals, log_seq, log_hash"
        found = {"pools": await ask(f"SELECT {of_pool} FROM fairhold_pools WHERE id = {pool_id}")}
        for table, order in OF_POOL.items():
            listed = await ask(f"SELECT * FROM fairhold_{table} WHERE pool_id = {pool_id} ORDER BY {order}")
            found[table] = [tuple(map(plain, row)) for row in listed]
    return found


def plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


URLS: dict[str, str] = {}


@pytest.fixture
def mirrors(sqlite_url: str, postgres_server_url: str) -> Iterator[list[SyncFairhold]]:
    with fresh_database(postgres_server_url) as postgres_url:
        URLS.update(sqlite=sqlite_url, postgres=postgres_url)
        options: dict[str, Any] = {"secret": SECRET, "ticker": False}
        with (
            open_sync(sqlite_url, clock=HandClock(), **options) as one,
            open_sync(postgres_url, clock=HandClock(), **options) as other,
        ):
            one.hf.store.begin = slow_to_begin(one.hf.store.begin)  # type: ignore[method-assign]
            yield [one, other]


def slow_to_begin(begin: Any) -> Any:
    """Make a file in memory about as slow as a server, so that the next command is asked meanwhile."""

    async def begin_slowly(**how: Any) -> Any:
        await asyncio.sleep(0.002)
        return await begin(**how)

    return begin_slowly


@pytest.fixture(params=["remembering", "forgetful"])
def little_at_a_time(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.param == "forgetful":
        monkeypatch.setattr(loaded.Memory, "standing", lambda *_: None)
    monkeypatch.setattr(loader, "_HEADS", 1)
    monkeypatch.setattr(loader, "_MORE", 2)
    monkeypatch.setattr(loader, "_UNITS_MAX", 2)
    monkeypatch.setattr(blocks, "LONG", 4)
    monkeypatch.setattr(blocks, "SHORT", 2)
    monkeypatch.setattr(blocks, "MERGED_MAX", 3)


@pytest.fixture
def in_flight(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many batches were decided on top of one that was being written then, by database."""
    counts, decide = Counter[str](), Batch.decide

    async def counted(batch: Batch, reader: Reader, before: Flight | None = None) -> None:
        being_written = before is not None and not before.written.done()
        await decide(batch, reader, before)
        counts[batch._store.dialect] += being_written

    monkeypatch.setattr(Batch, "decide", counted)
    return counts


def test_both_databases_and_the_bare_core_agree(
    mirrors: list[SyncFairhold], little_at_a_time: None, in_flight: Counter[str]
) -> None:
    class Same(Histories):
        @initialize(
            pool=any_pool(),
            units=st.lists(st.tuples(attributes, starts), max_size=4),
            crowd=st.lists(requests, max_size=10),
        )
        def create(self, pool: Pool, units: list[Any], crowd: list[Any]) -> None:
            keys = [quota.key for quota in pool.quotas if quota.by_units]
            self.made = 0
            self.history = Mirrored(mirrors, pool, self.units_for(keys[0], units) if keys else ())
            for request in crowd:
                self.ask(*request)

        def teardown(self) -> None:
            if hasattr(self, "history"):
                self.history.compare()

    run_state_machine_as_test(Same, settings=settings(max_examples=40, stateful_step_count=40))
    assert min(in_flight[dialect] for dialect in URLS) > 100
