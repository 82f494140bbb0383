"""The stories of the demo: they tell what the log tells, fit a terminal, and leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairhold.cli.demo import NAMES
from fairhold.cli.words import width_of
from tests.cli.conftest import Command
from tests.patience import PATIENCE_S, wait_until


def test_all_stories_are_told_and_every_promise_holds(fairhold: Command, tmp_path: Path) -> None:
    result = fairhold("demo", "--stories", TMPDIR=str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [name for name in NAMES if any(name in line for line in lines)] == list(NAMES)
    assert max(map(width_of, lines)) <= 80
    assert lines[-1].startswith("verify: all promises hold")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("story", "facts"),
    [
        (
            "class_waitlist",
            [
                "Olga cancels → Ann is offered 1 seat (24 h to claim)",
                "round 2 begins (main)",
                "Ann claims 1 seat",
            ],
        ),
        ("course_section", ["Cyd joins the line as #1, priority 10", "Bea claims 1 seat: confirmed"]),
        ("checkout", ["Requested: 10, Available: 2", "The hold of Bea runs out", "Booking hold has expired"]),
        ("event_signup", ["Eve moves up from #1: confirmed", "would happen: Olga moves up"]),
        ("last_minute", ["passing over Dan (wants something else)", "5 pm goes back to staff: 3 offered"]),
    ],
)
def test_a_story_tells_what_its_document_promises(fairhold: Command, story: str, facts: list[str]) -> None:
    result = fairhold("demo", "--story", story)
    assert result.returncode == 0
    told = " ".join(result.stdout.split())
    assert [fact for fact in facts if fact not in told] == []
    assert "Why?" in told


def test_the_log_of_a_story_comes_as_json(fairhold: Command) -> None:
    found = json.loads(fairhold("demo", "--story", "last_minute", "--json").stdout)
    [story] = found["stories"]
    assert story["story"] == "last_minute"
    assert story["whole"] is True
    assert {"Offered", "Declined", "Lapsed", "HandedBack"} <= {entry["event"] for entry in story["log"]}


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is not a signal there")
def test_stories_that_are_stopped_leave_nothing_behind(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "fairhold", "demo", "--stories"]
    # Where the tests run in the background Ctrl-C is ignored, and a process would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        words,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Half of what the stories say does not fit in there: they cannot come to their end by themselves.
        pipesize=4096,
    )
    signal.signal(signal.SIGINT, before)
    wait_until(lambda: list(tmp_path.glob("*/*.db")))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert said == b""
    assert list(tmp_path.iterdir()) == []
