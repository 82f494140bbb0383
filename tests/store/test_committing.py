"""The thread that commits does one thing after the other, to its end, whoever still waits for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from fairhold.store.sqlite.committing import CommitThread
from tests.patience import PATIENCE_S


@pytest.fixture
async def commits() -> AsyncIterator[CommitThread]:
    commits = CommitThread()
    commits.start()
    yield commits
    commits.close()


def doing(work: Callable[[], Any]) -> Any:
    """Return a connection whose one statement is this work, and its row what comes of it."""

    def execute(statement: str) -> Any:
        row = work()
        return SimpleNamespace(fetchone=lambda: row)

    return SimpleNamespace(execute=execute)


class Slow:
    """Work that takes until it is told to go on."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.began, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.began.set()
        assert self.go_on.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        return "slow"

    def go_on_soon(self) -> None:
        threading.Timer(0.1, self.go_on.set).start()


def run(commits: CommitThread, work: Callable[[], Any]) -> asyncio.Task[Any]:
    return asyncio.create_task(commits.run(doing(work), "COMMIT"))


async def test_work_is_done_in_order_and_told_of(commits: CommitThread) -> None:
    slow, done = Slow(), list[str]()
    first, second = run(commits, slow), run(commits, lambda: done.append("second"))
    await asyncio.sleep(0.05)
    assert slow.began.is_set()
    assert not done
    slow.go_on.set()
    assert await first == "slow"
    await second
    assert done == ["second"]


async def test_what_fails_fails_for_who_waits_and_for_nobody_else(commits: CommitThread) -> None:
    slow = Slow(ValueError("no"))
    first, second = run(commits, slow), run(commits, lambda: "fine")
    await asyncio.sleep(0)
    slow.go_on.set()
    with pytest.raises(ValueError, match="no"):
        await first
    assert await second == "fine"


@pytest.mark.parametrize("error", [None, ValueError("no")])
async def test_who_goes_away_leaves_once_it_is_done(commits: CommitThread, error: Exception | None) -> None:
    """Whoever has the connection next would commit what is not theirs."""
    slow, ended = Slow(error), list[bool]()
    task = run(commits, slow)
    await asyncio.sleep(0.05)

    async def wait_for_it() -> None:
        try:
            await task
        finally:
            ended.append(slow.go_on.is_set())

    waiting = asyncio.create_task(wait_for_it())
    await asyncio.sleep(0)
    waiting.cancel()
    slow.go_on_soon()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == [True]
    assert await run(commits, lambda: "and on") == "and on"


async def test_closing_finishes_what_was_handed_over() -> None:
    commits, done, before = CommitThread(), list[int](), set(threading.enumerate())
    commits.start()
    tasks = [run(commits, lambda number=number: done.append(number)) for number in range(20)]
    await asyncio.sleep(0)
    commits.close()
    assert done == list(range(20))
    assert set(threading.enumerate()) == before
    await asyncio.gather(*tasks)
    commits.close()
    with pytest.raises(RuntimeError, match="shutdown"):
        await commits.run(doing(int), "COMMIT")


def test_a_program_that_forgets_to_close_ends_and_nothing_is_cut_off(tmp_path: Path) -> None:
    program = """
        import asyncio, pathlib, sys, time
        from types import SimpleNamespace
        from fairhold.store.sqlite.committing import CommitThread

        def work(statement):
            time.sleep(0.3)
            pathlib.Path(sys.argv[1]).write_text("done")
            return SimpleNamespace(fetchone=lambda: None)

        async def main():
            commits = CommitThread()
            commits.start()
            asyncio.create_task(commits.run(SimpleNamespace(execute=work), "COMMIT"))
            await asyncio.sleep(0.05)

        asyncio.run(main())
    """
    file = tmp_path / "file"
    subprocess.run([sys.executable, "-c", dedent(program), str(file)], check=True, timeout=PATIENCE_S)
    assert file.read_text() == "done"


def test_what_was_begun_is_over_when_its_loop_is_closed() -> None:
    """An event loop that is closed has nobody left to tell."""
    slow, commits = Slow(), CommitThread()

    async def begin() -> None:
        commits.start()
        run(commits, slow)
        await asyncio.sleep(0.05)
        slow.go_on_soon()

    asyncio.run(begin())
    assert slow.go_on.is_set()
    commits.close()
