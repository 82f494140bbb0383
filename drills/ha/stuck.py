"""What is kept of a run that got stuck: what everybody was doing when a wait was given up."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import asyncpg

from drills.ha.cluster import Cluster
from drills.ha.crowd import Crowd
from drills.ha.machines import Machine
from drills.ha.nodes import Node
from drills.ha.stacks import tasks_now

_SPAN_S = 10
_TOLD_IN_S = 1.0
_QUERIES = {
    "activity": "SELECT row_to_json(a) FROM pg_stat_activity AS a WHERE backend_type = 'client backend'",
    "waiting for locks": "SELECT row_to_json(l) FROM pg_locks AS l WHERE NOT granted",
    "senders": "SELECT row_to_json(r) FROM pg_stat_replication AS r",
}


async def write_down(why: str, directory: Path, cluster: Cluster, nodes: list[Node], crowd: Crowd) -> Path:
    """Everything that tells why, and where it is kept; nobody has been ended, thawed or mended yet."""
    now = time.monotonic()
    for node in nodes:
        node.ask_for_stacks()
    said: dict[str, Any] = {
        "why": why,
        "load": os.getloadavg(),
        "answers, by how many seconds ago they began": _answers(crowd, now),
        "clients": tasks_now(asyncio.get_running_loop()).splitlines(),
    }
    # All at once: one that is frozen keeps nobody from telling how it is just now.
    told = await asyncio.gather(*(_machine(cluster, machine) for machine in cluster.machines))
    said |= {machine.name: it for machine, it in zip(cluster.machines, told, strict=True)}
    await asyncio.sleep(_TOLD_IN_S)
    path = directory / "stuck.json"
    path.write_text(json.dumps(said, indent=1, default=str))
    return path


def _answers(crowd: Crowd, now: float) -> dict[str, list[str]]:
    """What each node has answered, in spans of time."""
    spans: dict[str, Counter[tuple[int, str]]] = {}
    for it in [*crowd.tries, *crowd.looks]:
        ago = int((now - it.begun) // _SPAN_S) * _SPAN_S
        spans.setdefault(it.node.name, Counter())[ago, f"{it.status} {it.code}"] += 1
    return {
        name: [f"{ago} s: {count} times {what}" for (ago, what), count in sorted(counts.items())]
        for name, counts in spans.items()
    }


async def _machine(cluster: Cluster, machine: Machine) -> dict[str, Any]:
    said: dict[str, Any] = {name: await _asked(cluster, machine, query) for name, query in _QUERIES.items()}
    return said | {"patroni": await cluster.page(machine, "cluster")}


async def _asked(cluster: Cluster, machine: Machine, query: str) -> list[Any]:
    """One that is frozen or gone says nothing."""
    try:
        return [json.loads(row[0]) for row in await cluster.ask(machine, query)]
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return [repr(error)]
