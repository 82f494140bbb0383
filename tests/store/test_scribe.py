"""The scribe does one thing after the other, goes on by itself, and never with what stands on nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from fairhold.store.sqlite.scribe import Scribe, Sheet
from tests.patience import PATIENCE_S


@pytest.fixture
async def scribe() -> AsyncIterator[Scribe]:
    scribe = Scribe()
    scribe.start()
    yield scribe
    scribe.close()


class Slow:
    """Work that takes until it is told to go on."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.go_on = threading.Event()

    def __call__(self) -> str:
        assert self.go_on.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        return "slow"


async def test_work_is_done_in_order_and_told_of(scribe: Scribe) -> None:
    slow, done = Slow(), list[str]()
    first = scribe.hand_over(slow)
    second = scribe.hand_over(lambda: done.append("second"))
    assert not done
    slow.go_on.set()
    assert await first.done == "slow"
    await second.done
    assert done == ["second"]


async def test_what_fails_fails_for_who_waits_and_for_nobody_else(scribe: Scribe) -> None:
    slow = Slow(ValueError("no"))
    first, second = scribe.hand_over(slow), scribe.hand_over(lambda: "fine")
    slow.go_on.set()
    with pytest.raises(ValueError, match="no"):
        await first.done
    assert await second.done == "fine"


async def test_it_goes_on_with_what_is_lined_up_before_anybody_has_heard(scribe: Scribe) -> None:
    slow, began = Slow(), threading.Event()
    first = scribe.hand_over(slow)
    second = scribe.line_up(began.set, behind=first)
    assert second is not None
    slow.go_on.set()
    # Nobody gives the event loop a turn meanwhile.
    assert began.wait(PATIENCE_S)
    assert not first.done.done()
    await asyncio.gather(first.done, second.done)


async def begins_behind_a_failure(scribe: Scribe) -> bool:
    """Whether what is lined up behind something that fails is done."""
    slow, began = Slow(ValueError("no")), list[int]()
    first = scribe.hand_over(slow)
    second = scribe.line_up(lambda: began.append(1), behind=first)
    assert second is not None
    slow.go_on.set()
    with pytest.raises(ValueError, match="no"):
        await first.done
    # Whatever it has begun is over when it comes to this.
    await scribe.hand_over(int).done
    assert second.has_started is bool(began)
    return bool(began)


async def test_what_stands_on_something_that_failed_is_not_begun(scribe: Scribe) -> None:
    assert not await begins_behind_a_failure(scribe)


async def test_control_without_regard_for_the_one_before(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    do = Scribe._do

    def go_on_whatever_happens(self: Scribe, sheet: Sheet) -> Sheet | None:
        following = do(self, sheet) or sheet.following
        if following is not None and not following.has_started:
            following.start()
        return following

    monkeypatch.setattr(Scribe, "_do", go_on_whatever_happens)
    assert await begins_behind_a_failure(scribe)


async def test_nothing_is_lined_up_behind_what_is_over(scribe: Scribe) -> None:
    first = scribe.hand_over(int)
    first.wait()
    assert scribe.line_up(int, behind=first) is None


async def test_a_chain_goes_on_and_on(scribe: Scribe) -> None:
    slow = Slow()
    sheet: Sheet | None = scribe.hand_over(slow)
    done: list[int] = []
    last = sheet
    for number in range(50):
        assert last is not None
        last = scribe.line_up(lambda number=number: done.append(number), behind=last)
    slow.go_on.set()
    assert last is not None
    await last.done
    assert done == list(range(50))


async def test_who_has_gone_away_is_not_told(scribe: Scribe) -> None:
    slow = Slow()
    sheet = scribe.hand_over(slow)
    sheet.done.cancel()
    slow.go_on.set()
    sheet.wait()
    assert await scribe.hand_over(lambda: "and on").done == "and on"


async def test_closing_finishes_what_was_handed_over() -> None:
    scribe, done, before = Scribe(), list[int](), set(threading.enumerate())
    scribe.start()
    for number in range(20):
        scribe.hand_over(lambda number=number: done.append(number))
    scribe.close()
    assert done == list(range(20))
    assert set(threading.enumerate()) == before
    scribe.close()
    with pytest.raises(RuntimeError, match="gone"):
        scribe.hand_over(int)


def test_a_program_that_forgets_to_close_ends_and_nothing_is_cut_off(tmp_path: Path) -> None:
    program = """
        import asyncio, pathlib, sys, time
        from fairhold.store.sqlite.scribe import Scribe

        def work():
            time.sleep(0.3)
            pathlib.Path(sys.argv[1]).write_text("done")

        async def main():
            scribe = Scribe()
            scribe.start()
            scribe.hand_over(work)

        asyncio.run(main())
    """
    file = tmp_path / "file"
    subprocess.run([sys.executable, "-c", dedent(program), str(file)], check=True, timeout=PATIENCE_S)
    assert file.read_text() == "done"


def test_a_scribe_is_forgotten_with_its_loop() -> None:
    """An event loop that is closed has nobody left to tell."""
    slow, scribe = Slow(), Scribe()

    async def hand_over() -> Any:
        scribe.start()
        return scribe.hand_over(slow)

    sheet = asyncio.run(hand_over())
    slow.go_on.set()
    scribe.close()
    assert sheet.is_over
