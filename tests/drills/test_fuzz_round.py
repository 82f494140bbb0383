"""The fuzz in short: a round on each store, some commands, and what its judge must not let pass."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from drills import one_node
from drills.fuzz import commands, rounds
from drills.fuzz.judge import Judge
from drills.fuzz.wire import Answer, Asked, Wire
from tests.database import dialect_of

REQUESTS, COMMANDS, THOUGHTS = 300, 60, 40
NOT_NOW = {"type": "/docs#unavailable", "title": "No", "status": 503, "code": "unavailable", "detail": "No."}


def test_a_round_finds_nothing_wrong(database_url: str) -> None:
    store = dialect_of(database_url)
    done = rounds.play(store, 1, 0, REQUESTS, url=database_url, tell=False, thoughts=THOUGHTS)
    assert done.judge.faults == []
    assert done.requests == REQUESTS
    assert done.malformed == REQUESTS // rounds.MALFORMED_EVERY
    # Much of it gets somewhere: what is refused at the door tries nothing behind it.
    assert sum(done.judge.granted.values()) > REQUESTS / 5


def test_commands_find_nothing_wrong(database_url: str) -> None:
    done = commands.run(1, COMMANDS, dialect_of(database_url), url=database_url, thoughts=THOUGHTS)
    assert done.faults == []
    assert done.runs == COMMANDS
    assert {0, 1, 2} <= set(done.codes) <= set(commands.CODES)


class Moody(Wire):
    """Not available for so many times, and then it is."""

    def __init__(self, times: int) -> None:
        super().__init__(0)
        self.left = times

    async def ask(self, asked: Asked) -> Answer:
        self.left -= 1
        return (
            not_now() if self.left >= 0 else Answer(200, {b"content-type": b"application/json"}, b"{}", 0.1)
        )


def not_now() -> Answer:
    headers = {b"content-type": b"application/problem+json", b"retry-after": b"0"}
    return Answer(503, headers, json.dumps(NOT_NOW).encode(), 0.1)


@pytest.mark.parametrize(("times", "faults"), [(0, 0), (1, 1)])
def test_not_now_is_no_fault_and_never_is_one(times: int, faults: int) -> None:
    """What is asked again alone must be answered: else it is not the moment, but what was asked."""
    judge = Judge("http://127.0.0.1:1")
    judge.judge(1, Asked("GET /v1/pools", b"GET", b"/v1/pools"), not_now())
    assert judge.faults == []
    asyncio.run(rounds.ask_again(Moody(times), judge))
    assert len(judge.faults) == faults
    assert all(fault.again.startswith("curl ") for fault in judge.faults)


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def where_it_hangs():
    print("hanging", file=sys.stderr, flush=True)
    time.sleep(600)
where_it_hangs()
"""


def test_a_service_that_does_not_stop_tells_where_it_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_node, "STOP_S", 0.2)
    monkeypatch.setattr(one_node.Node, "is_ready", lambda it: "hanging" in it.log())
    node = one_node.Node("sqlite://", tmp_path / "service.log")
    monkeypatch.setattr(node, "_command", [sys.executable, "-c", STUBBORN])
    node.start()
    assert node.stop() == -signal.SIGABRT
    assert "in where_it_hangs" in node.log()
