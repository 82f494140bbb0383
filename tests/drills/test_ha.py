"""What the drill of high availability goes by, without its machines: wires, judge and report."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from drills.ha import report
from drills.ha.crowd import Crowd, Try
from drills.ha.judge import CALM, judge_answers
from drills.ha.nodes import Node
from drills.ha.report import Row, Run
from drills.ha.scenarios import SCENARIOS
from drills.ha.wires import Wire
from fairhold.http.problems import STATUSES
from sim.records import Asked
from tests.patience import until

THE_END = b"the end"
# So long nothing comes through: what gets past a wire on this machine does so in a moment.
SILENCE_S = 0.3


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """To somebody who says everything again in large letters."""

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while said := await reader.readline():
            writer.write(said.upper())
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    wire = Wire(server.sockets[0].getsockname()[1])
    await wire.open()
    yield wire
    await wire.close()
    server.close()


class Caller:
    """Somebody at the other end, and what they hear."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines: list[bytes] = []
        self.writer = writer
        self._listening = asyncio.create_task(self._listen(reader))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            self.lines.append(line)
        self.lines.append(THE_END)


async def called(wire: Wire) -> Caller:
    return Caller(*await asyncio.open_connection("127.0.0.1", wire.port))


async def test_a_wire_that_is_cut_says_nothing_and_loses_nothing(wire: Wire) -> None:
    ann = await called(wire)
    ann.writer.write(b"before\n")
    await until(lambda: ann.lines == [b"BEFORE\n"])
    wire.cut()
    ann.writer.write(b"meanwhile\n")
    # Nor does one get through who comes now: it is connected, and nothing comes of it.
    bea = await called(wire)
    bea.writer.write(b"late\n")
    await asyncio.sleep(SILENCE_S)
    assert (ann.lines, bea.lines) == ([b"BEFORE\n"], [])
    wire.mend()
    await until(lambda: (ann.lines, bea.lines) == ([b"BEFORE\n", b"MEANWHILE\n"], [b"LATE\n"]))
    for caller in (ann, bea):
        caller.writer.write_eof()
        await until(lambda caller=caller: caller.lines[-1] == THE_END)
        caller.writer.close()


async def test_the_end_of_a_connection_takes_the_wire_too(wire: Wire) -> None:
    ann = await called(wire)
    ann.writer.write(b"a\n")
    await until(lambda: ann.lines == [b"A\n"])
    wire.cut()
    ann.writer.write_eof()
    await asyncio.sleep(SILENCE_S)
    assert ann.lines == [b"A\n"]
    wire.mend()
    await until(lambda: ann.lines == [b"A\n", THE_END])
    ann.writer.close()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node("node-a", "postgresql://nowhere", tmp_path)


def crowd_of(node: Node, *tries: Try) -> Crowd:
    crowd = Crowd("killed", [node], "fh_x", pools=["yoga"])
    crowd.tries += tries
    return crowd


def one(node: Node, status: int, code: str = "", *, may_retry: bool = False, at: float = 10.0) -> Try:
    return Try("yoga", node, at, at + 1, status, code, may_retry)


def test_what_people_may_be_told_is_left_alone(node: Node) -> None:
    node.away.append((10.5, 12.0))
    tries = [one(node, 201), one(node, 503, "unavailable", may_retry=True), one(node, 0, "ReadError")]
    tries += [one(node, STATUSES[code], code) for code in CALM]
    assert judge_answers(crowd_of(node, *tries)) == []
    assert STATUSES.keys() >= CALM


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (500, "failed", "500 failed"),
        (502, "", "502 "),
        (503, "unavailable", "503 without Retry-After"),
        (404, "unknown", "404 unknown"),
        (422, "invalid", "422 invalid"),
        (401, "unauthenticated", "401 unauthenticated"),
        (0, "ReadTimeout", "ReadTimeout at node-a, which ran"),
    ],
)
def test_what_nobody_may_be_told_is_seen(node: Node, status: int, code: str, said: str) -> None:
    """Also a connection that is lost while its node runs, before and after it was away."""
    node.away.append((20.0, 30.0))
    (wrong,) = judge_answers(crowd_of(node, one(node, status, code), one(node, status, code)))
    assert wrong.startswith(f"killed: {said}")
    assert wrong.endswith("(2 times)")
    looking = crowd_of(node)
    looking.looks.append(one(node, status, code))
    assert judge_answers(looking)


def test_a_node_tells_what_it_told_and_what_went_wrong_with_it(node: Node, tmp_path: Path) -> None:
    lines: list[Any] = [
        {"level": "warning", "message": "message p1:2:0 (offer) was not sent: it goes to the log"},
        {"level": "error", "message": "a commit's outcome stays unknown"},
        {"level": "error", "message": "a request failed", "trace": "Traceback\nKeyError: 'x'"},
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (tmp_path / "node-a.log").write_text(text + "\nSegmentation fault\n")
    assert node.told() == {("p1:2:0", "offer")}
    assert node.faults() == [
        "node-a says: a request failed KeyError: 'x'",
        "node-a wrote no line of its log: Segmentation fault",
    ]


def test_a_row_adds_up_what_was_seen(node: Node, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    tries = [one(node, 201, at=0), one(node, 0, "ReadError", at=2), one(node, 503, "outcome_unknown", at=3)]
    tries += [
        one(node, 503, "unavailable", at=4),
        one(node, 409, "not_enough_room", at=12),
        one(node, 201, at=13),
    ]
    crowd = crowd_of(node, *tries)
    for number, answers in enumerate(([{"id": "b1"}], [{"code": "not_enough_room", "id": None}], [])):
        crowd.asked.append(Asked(number, "book", "yoga", {}, f"k{number}", answers=list(answers)))
    row = Row.of(SCENARIOS[0], crowd, 1.5, 12.0, 20.0)
    assert (row.silence_s, row.well_s, row.slowest_s) == (12.0, 20.0, 1.0)
    assert (row.answered, row.granted) == (2, 1)
    assert (row.not_now, row.unknown, row.lost_connections) == (2, 1, 1)
    kept: dict[str, Any] = {}
    monkeypatch.setattr(report, "record", lambda name, command, **said: kept.update(said, name=name))
    report.say_row(row)
    assert report.verdict(Run([row], []), 60) == 0
    assert "Nothing answered is lost" in capsys.readouterr().out
    report.keep_evidence([Run([row], []), Run([row], [])])
    assert (kept["name"], kept["passed"], kept["figures"]["runs in a row"]) == ("ha", True, 2)
    assert kept["figures"]["answers lost"] == 0
    wrong = Run([row], ["no_oversell: entry 7 (Held): given twice: A1"])
    assert report.verdict(wrong, 60) == 1
    assert "WRONG: no_oversell: entry 7" in capsys.readouterr().out
    report.keep_evidence([wrong])
    assert not kept["passed"]
    assert (kept["figures"]["answers lost"], kept["figures"]["seats given twice"]) == (0, 1)


def test_every_scenario_is_there_once() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names) >= 8
    assert {"cut-off", "cut-from-etcd"} <= set(names)
