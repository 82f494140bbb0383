"""Schemathesis: a program that knows nothing but the OpenAPI document, and believes not a word of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from random import Random

from drills.fuzz.alive import Alive
from drills.fuzz.judge import Fault, Judge
from drills.fuzz.rounds import Done, judge_the_end
from drills.fuzz.state import State
from drills.one_node import Node, node

_NAMES = "pool booking token label opening key member message webhook party contact kind language part origin"


def play(store: str, seed: int, examples: int) -> Done:
    """Have it ask, with what is really there in the paths, and judge the end as after any round."""
    with node(store, "--test-clock") as (it, sink, keys):
        done = Done(Judge(it.base))
        with tempfile.TemporaryDirectory(prefix="fairhold-fuzz-") as place:
            before = _requests(it)
            code, said = _run(it, keys, Path(place), seed, examples)
            done.requests = _requests(it) - before
        if code:
            done.judge.faults.append(Fault("schemathesis", said[-6_000:], ""))
        done.letters = sink.letters
        judge_the_end(it, done)
    return done


def _run(it: Node, keys: dict[str, str], place: Path, seed: int, examples: int) -> tuple[int, str]:
    alive, dice = Alive(), Random(seed)
    state = State(it, keys, alive)
    document = asyncio.run(_prepared(state))
    (place / "openapi.json").write_text(json.dumps(document))
    lines = [f'"path.{name}" = {json.dumps(alive.one(name, dice))}' for name in _NAMES.split()]
    (place / "schemathesis.toml").write_text("[parameters]\n" + "\n".join(lines) + "\n")
    command = [str(Path(sys.executable).parent / "schemathesis"), "--config-file", "schemathesis.toml", "run"]
    command += ["openapi.json", "--url", it.base, "-H", f"Authorization: Bearer {keys['admin']}"]
    command += ["--checks", "all", "--exclude-checks", "positive_data_acceptance", "--seed", str(seed)]
    # Who has a key has no session, and what it may revoke is its own key.
    command += ["--exclude-tag", "session", "--phases", "coverage,fuzzing", "--no-color"]
    command += ["--max-examples", str(examples)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


async def _prepared(state: State) -> object:
    await state.furnish()
    document = await state.document()
    state.close()
    return document


def _requests(it: Node) -> int:
    """How many requests the service has answered, as it counts them itself."""
    with urllib.request.urlopen(f"{it.base}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    counted = [line.rpartition(" ")[2] for line in lines if line.startswith("fairhold_requests_total")]
    return int(sum(map(float, counted)))
