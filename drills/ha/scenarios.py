"""What happens to the cluster and to the nodes, one thing after the other, while the crowd goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx2

from drills.ha.cluster import PATIENCE_S, Cluster, Stuck, until
from drills.ha.crowd import Crowd
from drills.ha.machines import Machine
from drills.ha.nodes import Node
from drills.ha.stuck import write_down

T = TypeVar("T")
CALM_S = 3.0
# Longer than the server lets anybody be silent in a transaction.
FROZEN_S = 6.0
CATCHES_MAX = 60


@dataclass
class Stage:
    """Where a scenario plays."""

    cluster: Cluster
    nodes: list[Node]
    web: httpx2.AsyncClient
    crowd: Crowd
    directory: Path

    async def led_by_another(self, old: Machine) -> None:
        await self.until(lambda: self.cluster.leader(old), "a new leader")

    async def both_carry_on(self, patience_s: float = 90) -> None:
        """Both nodes carry out what is begun from now on."""
        now = time.monotonic()

        async def carried_on() -> bool:
            self.crowd.must_go_on()
            for node in self.nodes:
                node.must_run()
            return all(self.crowd.answered_since(node, now) >= 20 for node in self.nodes)

        await self.until(carried_on, "nodes that carry on", patience_s)

    async def all_well(self) -> None:
        await self.until(self.cluster.is_well, "a whole cluster")

    async def until(
        self, fact: Callable[[], Awaitable[T | None]], what: str, patience_s: float = PATIENCE_S
    ) -> T:
        """As it is done everywhere; but what keeps it is written down, before anybody is thawed or ended."""
        try:
            return await until(fact, what, patience_s)
        except Stuck as error:
            kept = await write_down(str(error), self.directory, self.cluster, self.nodes, self.crowd)
            raise Stuck(f"{error}; what everybody was doing is in {kept}, and beside it") from error


async def switch_over(stage: Stage) -> None:
    leader, standby = await stage.cluster.must_lead(), await stage.cluster.standby()
    await stage.cluster.switch_over(leader, standby)
    await stage.led_by_another(leader)
    await stage.both_carry_on()


async def kill_postgres(stage: Stage) -> None:
    """Patroni starts it again where it was."""
    leader = await stage.cluster.must_lead()
    await leader.kill_postgres()
    await stage.both_carry_on()


async def kill_primary(stage: Stage) -> None:
    leader = await stage.cluster.must_lead()
    await leader.kill()
    await stage.led_by_another(leader)
    await stage.both_carry_on()
    leader.start_etcd(stage.cluster.machines)
    leader.start_patroni()


async def freeze_primary(stage: Stage) -> None:
    """It answers nothing, and then wakes up and believes that it leads."""
    leader = await stage.cluster.must_lead()
    leader.freeze()
    try:
        await stage.led_by_another(leader)
        await stage.both_carry_on()
    finally:
        leader.thaw()


async def cut_primary_from_etcd(stage: Stage) -> None:
    """Clients and standbys still reach it, and it must step down all the same before another leads."""
    leader = await stage.cluster.must_lead()
    leader.cut(*leader.to_etcd)
    try:
        await stage.led_by_another(leader)
        await stage.both_carry_on()
    finally:
        leader.mend()


async def cut_primary_off(stage: Stage) -> None:
    """From etcd, from the other machines and from the nodes: whoever talks with it hears nothing more.

    Its own etcd goes on with the others, but nobody here can ask it.
    """
    leader = await stage.cluster.must_lead()
    leader.cut()
    try:
        await stage.led_by_another(leader)
        await stage.both_carry_on()
    finally:
        leader.mend()


async def kill_standby(stage: Stage) -> None:
    """The one that confirms: commits wait until the other is asked instead."""
    standby = await stage.cluster.standby()
    await standby.kill()
    await stage.both_carry_on()
    standby.start_etcd(stage.cluster.machines)
    standby.start_patroni()


async def freeze_standby(stage: Stage) -> None:
    standby = await stage.cluster.standby()
    standby.freeze()
    try:
        await stage.both_carry_on()
    finally:
        standby.thaw()


async def freeze_node(stage: Stage) -> None:
    """A node of Fairhold, in the middle of a transaction: what it has locked must come free."""
    node, other = stage.nodes
    for _ in range(CATCHES_MAX):
        node.freeze()
        await asyncio.sleep(0.5)
        if await stage.cluster.has_stuck_transaction():
            break
        node.thaw()
        await asyncio.sleep(0.1)
    else:
        raise Stuck(f"{CATCHES_MAX} times the node was frozen, and never in a transaction")
    now = time.monotonic()

    async def other_carries_on() -> bool:
        return all(
            any(
                it.node is other and it.pool == pool and it.begun > now and 0 < it.status < 500
                for it in tries
            )
            for pool in stage.crowd.pools
        )

    try:
        tries = stage.crowd.tries
        await stage.until(other_carries_on, "answers of the other node in every pool")
        await asyncio.sleep(max(0.0, now + FROZEN_S - time.monotonic()))
    finally:
        node.thaw()
    await stage.both_carry_on()


async def kill_node(stage: Stage) -> None:
    node = stage.nodes[0]
    node.kill()
    await asyncio.sleep(2)
    await node.start(stage.web)
    await stage.both_carry_on()


@dataclass(frozen=True)
class Scenario:
    name: str
    what: str
    play: Callable[[Stage], Awaitable[None]]


SCENARIOS = [
    Scenario("kill-node", "Fairhold node killed (-9)", kill_node),
    Scenario("freeze-node", "Fairhold node frozen while it holds a lock", freeze_node),
    Scenario("kill-standby", "machine of the synchronous standby killed (-9)", kill_standby),
    Scenario("freeze-standby", "machine of the synchronous standby frozen", freeze_standby),
    Scenario("kill-primary", "whole machine of the primary killed (-9)", kill_primary),
    Scenario("freeze-primary", "whole machine of the primary frozen", freeze_primary),
    Scenario("cut-from-etcd", "primary cut off from etcd alone", cut_primary_from_etcd),
    Scenario("cut-off", "primary cut off from everybody, silently", cut_primary_off),
    Scenario("kill-postgres", "PostgreSQL of the primary killed (-9)", kill_postgres),
    Scenario("switchover", "switchover by Patroni", switch_over),
]
