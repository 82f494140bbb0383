"""High availability, tried out: `python3 dev.py ha`.

Three machines (PostgreSQL under Patroni, with etcd) and two nodes of Fairhold, all on this one; a crowd of
clients; and everything that can happen to them, one after the other. At the end a judge looks at all of it.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

import httpx2

from drills.ha import report
from drills.ha.cluster import Cluster
from drills.ha.control import lose_commits
from drills.ha.crowd import Crowd
from drills.ha.judge import judge_all
from drills.ha.nodes import Node, create_key
from drills.ha.programs import give
from drills.ha.report import Row, Run
from drills.ha.scenarios import CALM_S, SCENARIOS, Scenario, Stage
from testbed.postgres import memory


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 dev.py ha", description=__doc__)
    names = [it.name for it in SCENARIOS]
    parser.add_argument("--only", choices=names, action="append", help="play this scenario alone")
    parser.add_argument("--times", type=int, default=1, help="play all of it so often")
    parser.add_argument("--keep", action="store_true", help="keep the logs also if all is well")
    parser.add_argument(
        "--control",
        action="store_true",
        help="without a synchronous standby: commits are lost, and the judge must see it",
    )
    said = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    chosen = [it for it in SCENARIOS if not said.only or it.name in said.only]
    if said.control:
        return _run(lose_commits, said.keep)
    runs: list[Run] = []
    for number in range(said.times):
        report.say(f"run {number + 1} of {said.times}")
        failed = _run(lambda directory: _drill(directory, chosen, runs), said.keep)
        if not said.only:
            report.keep_evidence(runs)
        if failed:
            return failed
    return 0


def _run(work: Callable[[Path], Coroutine[None, None, int]], keep: bool) -> int:
    directory = give(Path(tempfile.mkdtemp(prefix="fairhold-ha-", dir=memory())))
    failed = 1
    try:
        failed = int(asyncio.run(work(directory)))
        return failed
    finally:
        if not keep:
            # Of a run that failed the logs stay; what the machines had on their disks is large, and no news.
            gone = [it for it in directory.iterdir() if it.is_dir()] if failed else [directory]
            for path in gone:
                shutil.rmtree(path, ignore_errors=True)
        if keep or failed:
            report.say(f"the logs are in {directory}")


async def _drill(directory: Path, chosen: list[Scenario], runs: list[Run]) -> int:
    begun = time.monotonic()
    cluster = Cluster(directory)
    nodes = [Node(f"node-{name}", cluster.url, directory) for name in "ab"]
    web = httpx2.AsyncClient(timeout=5, trust_env=False)
    crowds: list[Crowd] = []
    rows: list[Row] = []
    try:
        await cluster.start()
        for node in nodes:
            await node.start(web)
        key = await create_key(cluster.url)
        report.say(f"three machines and two nodes are up after {time.monotonic() - begun:.0f} s")
        for scenario in chosen:
            crowd = Crowd(scenario.name, nodes, key)
            crowds.append(crowd)
            rows.append(await _play(scenario, Stage(cluster, nodes, web, crowd, directory)))
            report.say_row(rows[-1])
        wrong = await judge_all(cluster, nodes, crowds)
    finally:
        for node in nodes:
            await node.end()
        await web.aclose()
        await cluster.end()
    runs.append(Run(rows, wrong))
    return report.verdict(runs[-1], time.monotonic() - begun)


async def _play(scenario: Scenario, stage: Stage) -> Row:
    """A little calm, the blow, until all is well again."""
    crowd = stage.crowd
    await crowd.start()
    await asyncio.sleep(CALM_S)
    struck = time.monotonic()
    await scenario.play(stage)
    carried_on = time.monotonic()
    await stage.all_well()
    well = time.monotonic()
    await stage.both_carry_on()
    await crowd.stop()
    return Row.of(scenario, crowd, struck, carried_on - struck, well - struck)


if __name__ == "__main__":
    sys.exit(main())
