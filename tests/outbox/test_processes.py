"""Real processes on one database: each message goes out once, and whoever dies leaves it to the others."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from fairhold import Fairhold, granted
from fairhold.outbox import Outbox
from fairhold.outbox.loop import HANDS_MAX
from tests.database import SECRET, ask
from tests.notifiers.servers import MailServer
from tests.outbox.conftest import settings_for
from tests.patience import PATIENCE_S, until

ROOT = Path(__file__).parents[2]


class Process:
    """One process that runs `tests.outbox.process`."""

    def __init__(self, task: str, url: str, smtp: str) -> None:
        command = [sys.executable, "-m", "tests.outbox.process", task, url, smtp]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def hear(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == word

    def say(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def processes(*started: Process) -> Iterator[tuple[Process, ...]]:
    try:
        for process in started:
            process.hear("ready")
        yield started
    finally:
        for process in started:
            process.end()


async def sign_up(hf: Fairhold, pool: str, count: int) -> None:
    granted(await hf.create_pool(pool, preset="event_signup", quotas={"main": 0}))
    parties = [{"id": f"p{n}", "contacts": {"email": f"p{n}@example.org"}} for n in range(count)]
    await asyncio.gather(*(hf.book(pool, party) for party in parties))


async def test_two_processes_send_each_message_once(database_url: str, mail: MailServer) -> None:
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
        for pool in ("a", "b", "c"):
            await sign_up(hf, pool, 60)
        with processes(*(Process("send", database_url, mail.url) for _ in range(2))) as both:
            for process in both:
                process.say()
            await until(lambda: len(mail.letters) >= 180)
            # What is left to the next look must not come a second time.
            await asyncio.sleep(0.5)
    assert Counter(mail.ids()).most_common(1)[0][1] == 1
    assert len(mail.letters) == 180


@pytest.mark.guarantee("two-workers", "Two that do not take what they send, send it twice.", control=True)
async def test_without_taking_two_processes_would_send_twice(database_url: str, mail: MailServer) -> None:
    """The negative control: two that do not take what they send do send it twice."""
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
        one, two = (Outbox(hf, settings_for(mail), lease=0) for _ in range(2))
        # Each takes all five. Who comes last may see that the other was faster, but not every time.
        for number in count(1):
            await sign_up(hf, f"round-{number}", 5)
            taken = [(outbox, row) for outbox in (one, two) for row in await outbox._take(HANDS_MAX)]
            assert len(taken) >= 10
            await asyncio.gather(*(outbox._send(outbox._hf.store.reader(), row) for outbox, row in taken))
            if len(mail.letters) > 5 * number:
                break
            assert number < 20, "whoever came last was always too late"
        for outbox in (one, two):
            await outbox.close()


async def test_who_is_killed_after_sending_leaves_a_repeat_with_the_same_id(
    database_url: str, mail: MailServer
) -> None:
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
        await sign_up(hf, "a", 1)
        with processes(Process("die", database_url, mail.url)) as (dying,):
            dying.say()
            assert await asyncio.to_thread(dying.process.wait, PATIENCE_S) == -9
        assert len(mail.letters) == 1

        async def is_said(state: str, attempts: int) -> bool:
            return await ask(database_url, "SELECT state, attempts FROM fairhold_outbox") == [
                (state, attempts)
            ]

        assert await is_said("pending", 1)
        with processes(Process("send", database_url, mail.url)) as (other,):
            other.say()
            await until(lambda: is_said("sent", 2))
    assert len(mail.letters) == 2
    assert len(set(mail.ids())) == 1


async def test_a_commit_wakes_the_outbox_here_and_elsewhere(
    database_url: str, mail: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for the next look, which would never come."""
    monkeypatch.setattr("fairhold.outbox.loop._LOOK_S", 3_600.0)
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
        with processes(Process("send", database_url, mail.url)) as (elsewhere,):
            elsewhere.say()
            elsewhere.hear("started")
            await asyncio.sleep(0.5)
            await sign_up(hf, "a", 1)
            await until(lambda: len(mail.letters) == 1)
        here = Outbox(hf, settings_for(mail))
        await here.start()
        await asyncio.sleep(0.1)
        await sign_up(hf, "b", 1)
        await until(lambda: len(mail.letters) == 2)
        await here.close()
