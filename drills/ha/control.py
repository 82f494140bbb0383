"""The negative control: without a synchronous standby answers are lost, and the judge must see it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2

from drills.ha import report
from drills.ha.cluster import Cluster
from drills.ha.crowd import Crowd
from drills.ha.judge import judge_all
from drills.ha.nodes import Node, create_key
from drills.ha.scenarios import Stage, kill_primary

BEHIND_S = 3.0


async def lose_commits(directory: Path) -> int:
    """The standbys fall behind by a few seconds, and then the primary dies."""
    cluster = Cluster(directory, synchronous=False)
    nodes = [Node(f"node-{name}", cluster.url, directory) for name in "ab"]
    web = httpx2.AsyncClient(timeout=5, trust_env=False)
    try:
        await cluster.start()
        for node in nodes:
            await node.start(web)
        key = await create_key(cluster.url)
        crowd = Crowd("control", nodes, key)
        stage = Stage(cluster, nodes, web, crowd, directory)
        await crowd.start()
        await asyncio.sleep(BEHIND_S)
        leader = await cluster.must_lead()
        leader.cut(leader.to_machines)
        await asyncio.sleep(BEHIND_S)
        await kill_primary(stage)
        leader.mend()
        await stage.all_well()
        await crowd.stop()
        wrong = await judge_all(cluster, nodes, [crowd])
    finally:
        for node in nodes:
            await node.end()
        await web.aclose()
        await cluster.end()
    lost = [fault for fault in wrong if fault.startswith("nothing_lost")]
    report.say(f"without a synchronous standby the judge finds {len(lost)} answers lost, such as:")
    for fault in lost[:3]:
        report.say(f"  {fault}")
    return 0 if lost else 1
