"""A run of the HA drill that gets stuck keeps what tells why."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drills.ha import __main__ as drill
from drills.ha.cluster import Stuck
from drills.ha.crowd import Crowd, Try
from drills.ha.nodes import Node
from drills.ha.scenarios import Stage
from drills.ha.stacks import tasks_now
from tests.database import ask
from tests.patience import until

WAITS = """
import asyncio, pathlib, sys
from drills.ha.stacks import tell_when_asked
async def wait_for_good():
    # Said when it waits already: asked before that, it would tell of nothing.
    asyncio.get_running_loop().call_soon(lambda: print("ready", flush=True))
    await asyncio.Event().wait()
tell_when_asked(pathlib.Path(sys.argv[1]).open("a"))
asyncio.run(wait_for_good())
"""


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node("node-a", "postgresql://nowhere", tmp_path)


def stage_of(node: Node, cluster: Any, directory: Path) -> Stage:
    crowd = Crowd("killed", [node], "fh_x", pools=["yoga"])
    crowd.tries.append(Try("yoga", node, 0.0, 1.0, 503, "unavailable", True))
    return Stage(cluster, [node], None, crowd, directory)  # type: ignore[arg-type]


async def test_what_everybody_was_doing_is_written_down(
    node: Node, tmp_path: Path, postgres_url: str
) -> None:
    """One machine answers, of the other neither Patroni nor PostgreSQL does."""
    there, frozen = SimpleNamespace(name="n0"), SimpleNamespace(name="n1")

    async def page(machine: Any, name: str) -> dict[str, Any]:
        return {"members": ["n0"]} if machine is there else {}

    async def asked(machine: Any, query: str) -> list[tuple[Any, ...]]:
        if machine is frozen:
            raise TimeoutError
        return await ask(postgres_url, query)

    stage = stage_of(node, SimpleNamespace(machines=[there, frozen], page=page, ask=asked), tmp_path)

    async def never() -> bool:
        return False

    with pytest.raises(Stuck, match=r"there was not: rain; .* is in .*/stuck.json"):
        await stage.until(never, "rain", 0.1)
    said = json.loads((tmp_path / "stuck.json").read_text())
    assert said["why"] == "for 0 s there was not: rain"
    (answers,) = said["answers, by how many seconds ago they began"].values()
    assert answers[0].endswith("1 times 503 unavailable")
    assert any("test_what_everybody_was_doing" in line for line in said["clients"])
    assert said["n0"]["patroni"] == {"members": ["n0"]}
    assert any("pg_stat_activity" in it["query"] for it in said["n0"]["activity"])
    assert said["n1"]["activity"] == ["TimeoutError()"]


def test_a_process_tells_what_its_tasks_wait_for(tmp_path: Path) -> None:
    told = tmp_path / "stacks"
    with subprocess.Popen([sys.executable, "-c", WAITS, str(told)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            os.kill(process.pid, signal.SIGUSR1)
            asyncio.run(_until_told(told))
        finally:
            process.kill()
    text = told.read_text()
    assert "most recent call first" in text
    assert "wait_for_good\n" in text
    assert "Event.wait" in text


async def _until_told(told: Path) -> None:
    await until(lambda: "Event.wait" in told.read_text())


async def test_a_task_is_shown_down_to_where_it_waits() -> None:
    bell = asyncio.Event()

    async def inner() -> None:
        await bell.wait()

    task = asyncio.create_task(inner(), name="Ann's")
    await asyncio.sleep(0)
    shown = tasks_now(asyncio.get_running_loop())
    bell.set()
    await task
    assert "task Ann's" in shown
    assert shown.index("inner") < shown.index("Event.wait")


async def test_a_node_that_ended_by_itself_is_not_waited_for(node: Node, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    process.wait()
    node._process = process
    stage = stage_of(node, SimpleNamespace(machines=[]), tmp_path)
    with pytest.raises(Stuck, match="node-a has ended by itself, with 3"):
        await stage.both_carry_on()


async def test_a_client_that_ended_by_itself_is_told_of(node: Node, tmp_path: Path) -> None:
    async def fail() -> None:
        raise ValueError("no JSON")

    stage = stage_of(node, SimpleNamespace(machines=[]), tmp_path)
    stage.crowd.tasks.append(asyncio.create_task(fail()))
    await asyncio.sleep(0)
    with pytest.raises(Stuck, match="no JSON"):
        await stage.both_carry_on()


@pytest.mark.parametrize("how", ["well", "wrong", "stuck"])
def test_the_logs_of_a_run_that_failed_are_kept(how: str, capsys: pytest.CaptureFixture[str]) -> None:
    used: list[Path] = []

    async def work(directory: Path) -> int:
        used.append(directory)
        (directory / "postgres-0").mkdir()
        (directory / "etcd-0.log").write_text("a line")
        if how == "stuck":
            raise Stuck("for 90 s there was not: rain")
        return int(how == "wrong")

    try:
        assert drill._run(work, keep=False) == (how == "wrong")
    except Stuck:
        assert how == "stuck"
    (directory,) = used
    kept = [it.name for it in directory.iterdir()] if directory.exists() else []
    shutil.rmtree(directory, ignore_errors=True)
    # The logs alone: what the machines had on their disks is large.
    assert kept == ([] if how == "well" else ["etcd-0.log"])
    assert (str(directory) in capsys.readouterr().out) == (how != "well")
