"""Three machines as one database: who leads, who confirms, and whether all is well."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import httpx2

from drills.ha.machines import Machine
from drills.ha.programs import find_programs

T = TypeVar("T")
MACHINES = 3
PATIENCE_S = 120.0
LEASE_S = 120
_LEFT = "SELECT count(*) FROM fairhold_outbox WHERE state <> 'sent'"
# How far each machine has come, and with what its log ends.
_END_OF_LOG = "SELECT count(*), coalesce(string_agg(last, ',' ORDER BY pool_id), '') FROM "
_END_OF_LOG += (
    "(SELECT pool_id, encode((array_agg(hash ORDER BY seq DESC))[1], 'hex') AS last FROM "
    "fairhold_log GROUP BY 1) l"
)
# Who has been silent in a transaction that has locked pools.
_STUCK = "SELECT a.pid FROM pg_stat_activity AS a JOIN pg_locks AS l ON l.pid = a.pid "
_STUCK += "WHERE a.application_name = 'fairhold' AND a.state = 'idle in transaction' "
_STUCK += "AND a.state_change < clock_timestamp() - interval '0.3 s' "
_STUCK += "AND l.relation = 'fairhold_pools'::regclass AND l.mode IN ('RowShareLock', 'RowExclusiveLock')"


class Stuck(Exception):
    """The cluster did not get to where it should."""


class Cluster:
    def __init__(self, directory: Path, *, synchronous: bool = True) -> None:
        programs = find_programs(directory)
        self.machines = [
            Machine(number, programs, directory, synchronous=synchronous) for number in range(MACHINES)
        ]
        self._synchronous = synchronous
        self._web = httpx2.AsyncClient(timeout=2, trust_env=False)

    @property
    def url(self) -> str:
        """The address as Fairhold is given it: all hosts, in whatever order."""
        hosts = ",".join(f"127.0.0.1:{machine.to_clients.port}" for machine in self.machines)
        return f"postgresql://postgres@{hosts}/postgres"

    async def start(self) -> None:
        for machine in self.machines:
            await machine.lay_wires(self.machines)
        for machine in self.machines:
            machine.start_etcd(self.machines)
        await until(self._etcd_is_ready, "an etcd that has agreed on itself")
        # The first one makes the database; the others copy it.
        self.machines[0].start_patroni()
        await until(self.leader, "a first leader")
        for machine in self.machines[1:]:
            machine.start_patroni()
        await until(self.is_well, "all three")

    async def _etcd_is_ready(self) -> bool:
        """Patroni ends if it asks before the members have agreed on their version."""
        for machine in self.machines:
            try:
                answer = await self._web.get(f"http://127.0.0.1:{machine.etcd_port}/version")
                if not answer.json()["etcdcluster"][0].isdigit():
                    return False
            except (httpx2.HTTPError, ValueError, LookupError):
                return False
        return True

    async def end(self) -> None:
        await self._web.aclose()
        for machine in self.machines:
            await machine.end()

    async def leader(self, besides: Machine | None = None) -> Machine | None:
        """Who leads, as any of the others tells: one of whom that is known beforehand is not asked."""
        for machine in self.machines:
            if machine is besides:
                continue
            for member in await self._members(machine):
                if member["role"] == "leader" and member["state"] == "running":
                    found = self._named(member["name"])
                    return None if found is besides else found
        return None

    async def must_lead(self) -> Machine:
        return await until(self.leader, "a leader")

    async def standby(self) -> Machine:
        """The one that confirms commits."""

        async def confirming() -> Machine | None:
            members = await self._members(await self.must_lead())
            return next((self._named(it["name"]) for it in members if it["role"] == "sync_standby"), None)

        return await until(confirming, "a synchronous standby")

    async def is_well(self) -> bool:
        """Whether one leads, the others follow closely, and one of them confirms: every machine says so."""
        timelines = set()
        for machine in self.machines:
            members = await self._members(machine)
            roles = sorted(it["role"] for it in members)
            wanted = ["leader", "replica", "sync_standby" if self._synchronous else "replica"]
            if roles != wanted or any(it["state"] not in ("running", "streaming") for it in members):
                return False
            # The others only tell what a machine said of itself when it was last heard of.
            itself = await self.page(machine, "patroni")
            if itself.get("state") != "running":
                return False
            timelines.add(itself.get("timeline") or itself.get("replication_state"))
        return len(timelines - {"streaming"}) <= 1

    async def switch_over(self, leader: Machine, to: Machine) -> None:
        said = {"leader": leader.name, "candidate": to.name}
        address = f"http://127.0.0.1:{leader.api_port}/switchover"
        answer = await self._web.post(address, json=said, timeout=60)
        if answer.status_code != 200:
            raise Stuck(f"Patroni does not switch over: {answer.text}")

    async def has_stuck_transaction(self) -> bool:
        """Whether somebody keeps a pool locked in silence: a node that runs never does for so long."""
        return bool(await self.ask(await self.must_lead(), _STUCK))

    async def all_told(self) -> bool:
        """Whether every message leaves the outbox, in the end."""

        async def none_left() -> bool:
            return bool((await self.ask(await self.must_lead(), _LEFT))[0][0] == 0)

        try:
            return await until(none_left, "an empty outbox", LEASE_S + 30)
        except Stuck:
            return False

    async def same_everywhere(self) -> str | None:
        """Once all have caught up: what all three machines say of the log, or None if they differ."""

        async def agreed() -> str | None:
            try:
                said = {str(await self.ask(machine, _END_OF_LOG)) for machine in self.machines}
            except (OSError, asyncpg.PostgresError):
                return None
            return said.pop() if len(said) == 1 else None

        try:
            return await until(agreed, "the same log everywhere", 30)
        except Stuck:
            return None

    async def ask(self, machine: Machine, query: str) -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(
            f"postgresql://postgres@127.0.0.1:{machine.postgres_port}/postgres", timeout=10
        )
        try:
            return [tuple(row) for row in await connection.fetch(query, timeout=30)]
        finally:
            connection.terminate()

    async def _members(self, machine: Machine) -> list[dict[str, Any]]:
        return list((await self.page(machine, "cluster")).get("members", []))

    async def page(self, machine: Machine, page: str) -> dict[str, Any]:
        """What the Patroni of a machine says; nothing if it does not."""
        try:
            return dict((await self._web.get(f"http://127.0.0.1:{machine.api_port}/{page}")).json())
        except (httpx2.HTTPError, ValueError):
            return {}

    def _named(self, name: str) -> Machine:
        return next(machine for machine in self.machines if machine.name == name)


async def until(fact: Callable[[], Awaitable[T | None]], what: str, patience_s: float = PATIENCE_S) -> T:
    """What this answers, once that is true. Raises Stuck."""
    give_up_at = time.monotonic() + patience_s
    while time.monotonic() < give_up_at:
        if found := await fact():
            return found
        await asyncio.sleep(0.2)
    raise Stuck(f"for {patience_s:.0f} s there was not: {what}")
