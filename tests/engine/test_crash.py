"""kill -9 before and after every step of the writing transaction: all of it happened, or nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.ids import pool_number
from tests.database import SECRET
from tests.engine.crasher import PARTIES
from tests.engine.looking import Picture, bookings, look, wrong
from tests.engine.processes import ROOT
from tests.engine.staging import outcome
from tests.verified import assert_verified

NEVER = 10**6
DONE = {"Olga": "cancelled", "Ann": "offered", "Bea": "waiting", "Zoe": "waiting"}
NOTHING = {"Olga": "confirmed", "Ann": "waiting", "Bea": "waiting"}


class Crasher:
    """Runs tasks of `tests.engine.crasher`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(
        self, url: str, pool: str, olga: str, step: int, when: str, *, together: bool = True
    ) -> tuple[list[str], int]:
        """The steps it took, "answered" if it came so far, and how it ended."""
        task = {"url": url, "pool": pool, "olga": olga, "step": step, "when": when, "together": together}
        return self._do(task)

    def hold_ahead(self, url: str, pool: str, step: int, when: str) -> tuple[list[str], int]:
        return self._do({"url": url, "pool": pool, "step": step, "when": when})

    def _do(self, task: dict[str, Any]) -> tuple[list[str], int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        said = []
        while not (line := self._process.stdout.readline().strip()).startswith("ended"):
            assert line or self._process.poll() is None
            said.append(line.removeprefix("step "))
        return said, int(line.removeprefix("ended "))


@contextmanager
def crashing() -> Iterator[Crasher]:
    command = [sys.executable, "-m", "tests.engine.crasher"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Crasher(process)
        finally:
            process.kill()


async def prepare(hf: Fairhold, pool: str) -> str:
    """Olga has the one seat; Ann and Bea wait for it."""
    granted(await hf.create_pool(pool, quotas={"main": 1}, preset="course_section"))
    olga = granted(await hf.book(pool, "Olga", confirmed=True, by="staff"))
    for party in ("Ann", "Bea"):
        granted(await hf.book(pool, party))
    return olga.id


def states(picture: Picture, pool_id: int | None) -> dict[str, str]:
    """Who is where in a pool; somebody who is there twice is a failure of its own."""
    found = [booking for booking in bookings(picture) if booking.pool_id == pool_id]
    assert len({booking.party for booking in found}) == len(found)
    return {booking.party: booking.state for booking in found}


@pytest.mark.guarantee(
    "killed.whole",
    "Killed before and after each single statement of the writing transaction, in turn: all is there, "
    "or nothing; the same keys then finish it.",
)
async def test_whenever_the_process_dies_all_or_nothing_has_happened(database_url: str) -> None:
    with crashing() as crasher:
        async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
            steps, ended = crasher.run(database_url, "first", await prepare(hf, "first"), NEVER, "")
            assert ended == 0
            assert steps.pop() == "answered"
            assert (steps[0], steps[-1]) == ("begin", "commit")
            assert {"rows lock_pools", "many update_bookings", "many insert_log"} <= set(steps)

            # After one step is before the next, so each moment between two steps is tried once.
            await crash_and_try_again(hf, crasher, database_url, 1, "before", last=False)
            for step, name in enumerate(steps, 1):
                await crash_and_try_again(hf, crasher, database_url, step, "after", last=name == "commit")
            await crash_and_try_again(hf, crasher, database_url, len(steps), "before", last=True)
    await assert_verified(database_url)


async def crash_and_try_again(
    hf: Fairhold, crasher: Crasher, url: str, step: int, when: str, *, last: bool
) -> None:
    name = f"pool-{step}-{when}"
    olga = await prepare(hf, name)
    pool_id = pool_number(granted(await hf.pool(name)).id)

    said, ended = crasher.run(url, name, olga, step, when)

    assert ended == -signal.SIGKILL
    assert "answered" not in said
    picture = await look(url)
    assert wrong(picture) == []
    assert states(picture, pool_id) == (DONE if last and when == "after" else NOTHING), f"{when} {said[-1]}"

    # The caller, who was not told anything, asks again with the same keys.
    for _ in range(2):
        zoe = await hf.book(name, "Zoe", idempotency_key=f"{name} book")
        gone = await hf.cancel(olga, idempotency_key=f"{name} cancel")
        assert (outcome(zoe), outcome(gone)) == ("waiting", "cancelled")
    assert states(await look(url), pool_id) == DONE


async def test_whenever_the_process_dies_what_was_decided_ahead_is_whole_or_not(
    database_url: str,
) -> None:
    with crashing() as crasher:
        async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
            granted(await hf.create_pool("first", quotas={"main": 9}, preset="checkout"))
            steps, ended = crasher.hold_ahead(database_url, "first", NEVER, "")
            assert (steps.pop(), ended) == ("answered", 0)
            if hf.store.dialect == "postgres":
                assert steps == ["begin", "finish"]
            else:
                assert (*steps[:2], steps[-1]) == ("begin", "rows lock_pools", "commit")
            # After one step is before the next, so each moment between two steps is tried once.
            moments = [(1, "before"), *((step, "after") for step in range(1, len(steps) + 1))]
            for step, when in [*moments, (len(steps), "before")]:
                pool = f"pool-{step}-{when}"
                made = granted(await hf.create_pool(pool, quotas={"main": 9}, preset="checkout"))
                said, ended = crasher.hold_ahead(database_url, pool, step, when)
                assert (ended, "answered" in said) == (-signal.SIGKILL, False)
                picture = await look(database_url)
                assert wrong(picture) == []
                there = {"Olga", *PARTIES} if (step, when) == moments[-1] else {"Olga"}
                assert states(picture, pool_number(made.id)).keys() == there, f"{when} {said[-1]}"
                for party in (*PARTIES, *PARTIES):
                    again = await hf.book(pool, party, idempotency_key=f"{pool} {party}")
                    assert outcome(again) == "held"
                assert len(states(await look(database_url), pool_number(made.id))) == 3
    await assert_verified(database_url)


@pytest.mark.guarantee(
    "killed",
    "Killed between operations of SQLite that write a batch, it kept nothing of it.",
)
async def test_wherever_sqlite_is_killed_within_a_batch_nothing_is_left(sqlite_url: str) -> None:
    with crashing() as crasher:
        async with Fairhold.open(sqlite_url, secret=SECRET, ticker=False) as hf:
            killed = 0
            for operations in (1, 50, 100, 200, 300, 450, 600, 100_000):
                pool = f"pool-{operations}"
                made = granted(await hf.create_pool(pool, quotas={"main": 9}, preset="checkout"))
                said, ended = crasher.hold_ahead(sqlite_url, pool, operations, "within")
                killed += ended == -signal.SIGKILL
                assert (ended == 0) is ("answered" in said)
                picture = await look(sqlite_url)
                assert wrong(picture) == []
                there = {"Olga"} if ended else {"Olga", *PARTIES}
                assert states(picture, pool_number(made.id)).keys() == there
            assert 5 <= killed < 8, "some are cut off, and the last is not"
    await assert_verified(sqlite_url)


@pytest.mark.guarantee(
    "killed",
    "A kill between statements that commit one by one leaves half a booking, and the check sees it.",
    control=True,
)
async def test_control_statements_that_commit_one_by_one_are_caught_half_done(sqlite_url: str) -> None:
    found = []
    with crashing() as crasher:
        async with Fairhold.open(sqlite_url, secret=SECRET, ticker=False) as hf:
            for step in range(1, 25):
                olga = await prepare(hf, f"pool-{step}")
                _, ended = crasher.run(sqlite_url, f"pool-{step}", olga, step, "after", together=False)
                found.append(wrong(await look(sqlite_url)))
                if ended == 0 or found[-1]:
                    break
    assert found[-1] != []
