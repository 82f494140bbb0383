"""The judge: nothing answered is lost, nothing given twice, and nobody was told worse than "not now".

It looks at what the clients were told, at the log, at what Fairhold finds itself (`fairhold verify`), and at
each machine. What the log says is judged by the simulator's auditor, who shares nothing with the core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from drills.ha.cluster import Cluster
from drills.ha.crowd import PATIENCE_S, Crowd, Try
from drills.ha.nodes import Node, run_fairhold
from fairhold.library import Fairhold
from sim.auditor import audit
from sim.records import Carried
from sim.run import read_log, show

# What people may be told in all calm; anything else is a fault, of the service or of this drill.
CALM = {
    "not_enough_room",
    "already_holding",
    "already_waiting",
    "hold_expired",
    "offer_taken",
    "offer_expired",
    "offer_withdrawn",
    "offer_answered",
    "not_possible",
    "idempotency_in_flight",
}


def judge_answers(crowd: Crowd) -> list[str]:
    """What the clients of one scenario should not have been told."""
    wrong = Counter(fault for it in [*crowd.tries, *crowd.looks] if (fault := _fault_of(it)))
    return [f"{crowd.scenario}: {fault} ({count} times)" for fault, count in wrong.items()]


def _fault_of(it: Try) -> str | None:
    if it.status == 0:
        if it.node.was_away(it.begun, it.ended):
            return None
        return (
            f"{it.code} at {it.node.name}, which ran, after {it.ended - it.begun:.0f} s of {PATIENCE_S:.0f}"
        )
    if it.status == 503:
        return None if it.may_retry else "503 without Retry-After"
    if it.status >= 500:
        return f"{it.status} {it.code}"
    return None if it.status < 400 or it.code in CALM else f"{it.status} {it.code}"


async def judge_all(cluster: Cluster, nodes: Sequence[Node], crowds: Sequence[Crowd]) -> list[str]:
    """Everything that is wrong in the end."""
    wrong = [fault for crowd in crowds for fault in judge_answers(crowd)]
    wrong += [fault for node in nodes for fault in node.faults()]
    # Whoever died with a message in hand leaves it for two minutes.
    if not await cluster.all_told():
        wrong.append("told_once: messages were left in the outbox")
    if await cluster.same_everywhere() is None:
        wrong.append("the machines do not have the same log")
    code, said = await run_fairhold(cluster.url, "verify")
    if code:
        wrong.append(f"fairhold verify: {said}")
    leader = await cluster.must_lead()
    url = f"postgresql://postgres@127.0.0.1:{leader.postgres_port}/postgres"
    pools = [pool for crowd in crowds for pool in crowd.pools]
    async with Fairhold.open(url, secret="a look from outside", ticker=False) as hf:
        shown = await show(hf, pools, url)
    asked = [it for crowd in crowds for it in crowd.asked]
    carried = [Carried(name, kind, "") for node in nodes for name, kind in sorted(node.told())]
    return wrong + audit(await read_log(url), asked, carried, shown)
