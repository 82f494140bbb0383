"""What can be asked about pools: their rules, units, line, log and figures, and their openings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhold import inputs
from fairhold.client.asking import Asking
from fairhold.core.refusals import Refusal
from fairhold.http.operations import Page
from fairhold.http.stats import OrgStats
from fairhold.http.units import UnitShape
from fairhold.numbers import Numbers
from fairhold.records import LogEntry, Opening, Stats
from fairhold.shapes import Booking, Outcome, PoolState

Key = str | None


class PoolMethods(Asking):
    """Pools, and what is in them."""

    async def create_pool(
        self,
        key: str,
        /,
        *,
        quotas: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        preset: str | None = None,
        idempotency_key: Key = None,
        **fields: Any,
    ) -> PoolState | Refusal:
        """Make a pool.

        `quotas` is a mapping of key to size (None is unlimited) or to a list of labels, whose units it then
        has; or a list of objects with key, title, size or units, and eligible (a condition). More fields:
        policy, title, opens_at, closes_at, starts_at, time_zone, price, open_size, questions, attributes,
        page and status.
        """
        body = {
            "key": key,
            "quotas": inputs.as_list(quotas),
            **({"preset": preset} if preset else {}),
            **fields,
        }
        return await self._ask(PoolState, "POST", "/v1/pools", body, idempotency_key=idempotency_key)

    async def change_pool(
        self, pool: str, /, *, dry_run: bool = False, idempotency_key: Key = None, **fields: Any
    ) -> PoolState | Outcome | Refusal:
        """Change a pool's fields, its policy among them, or with `sizes` those of its quotas by key.

        What is not said stays. `allow_demotion` lets people lose their place; a dry run says who would.
        """
        if "quotas" in fields:
            fields["quotas"] = inputs.as_list(fields["quotas"])
        kind: Any = Outcome if dry_run else PoolState
        query = {"dry_run": "true"} if dry_run else None
        path = "/v1/pools/{pool}"
        return await self._ask(
            kind, "PATCH", path, fields, query=query, idempotency_key=idempotency_key, pool=pool
        )

    async def pool(self, pool: str) -> PoolState | Refusal:
        """A pool, by its id or key."""
        return await self._ask(PoolState, "GET", "/v1/pools/{pool}", pool=pool)

    async def pools(self, *, cursor: str = "", limit: int = 100) -> Page[PoolState] | Refusal:
        """The pools of the org; a public key sees the open ones."""
        return await self._ask(Page[PoolState], "GET", "/v1/pools", query={"cursor": cursor, "limit": limit})

    async def add_units(
        self, pool: str, units: Sequence[Mapping[str, Any] | str], *, idempotency_key: Key = None
    ) -> PoolState | Refusal:
        """Open more units."""
        path = "/v1/pools/{pool}/units"
        return await self._ask(
            PoolState, "POST", path, {"units": units}, idempotency_key=idempotency_key, pool=pool
        )

    async def units(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[UnitShape] | Refusal:
        """The units that are open, in order, each with the booking that has it."""
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[UnitShape], "GET", "/v1/pools/{pool}/units", query=query, pool=pool)

    async def close_unit(self, pool: str, label: str, *, idempotency_key: Key = None) -> PoolState | Refusal:
        """Take a free unit away."""
        path = "/v1/pools/{pool}/units/{label}"
        return await self._ask(
            PoolState, "DELETE", path, idempotency_key=idempotency_key, pool=pool, label=label
        )

    async def fill(
        self, pool: str, steps: int | None = None, *, idempotency_key: Key = None
    ) -> Outcome | Refusal:
        """Give free room to the line; normally it happens by itself."""
        path = "/v1/pools/{pool}/fill"
        return await self._ask(
            Outcome, "POST", path, {"steps": steps}, idempotency_key=idempotency_key, pool=pool
        )

    async def line(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[Booking] | Refusal:
        """The line in order, with positions."""
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[Booking], "GET", "/v1/pools/{pool}/line", query=query, pool=pool)

    async def log(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[LogEntry] | Refusal:
        """Everything that happened, in order."""
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[LogEntry], "GET", "/v1/pools/{pool}/log", query=query, pool=pool)

    async def history(
        self,
        pool: str,
        *,
        topic: str | None = None,
        actor: str | None = None,
        unit: str | None = None,
        cursor: str = "",
        limit: int = 50,
    ) -> Page[LogEntry] | Refusal:
        """What happened, the newest first; a page may hold nothing and still be followed by another."""
        query = {"topic": topic, "actor": actor, "unit": unit, "cursor": cursor, "limit": limit}
        return await self._ask(Page[LogEntry], "GET", "/v1/pools/{pool}/history", query=query, pool=pool)

    async def numbers(self, pool: str, *, days: int = 14) -> Numbers | Refusal:
        """What the last days of a pool add up to."""
        path = "/v1/pools/{pool}/numbers"
        return await self._ask(Numbers, "GET", path, query={"days": days}, pool=pool)

    async def stats(self, pool: str) -> Stats | Refusal:
        """The figures of a pool."""
        return await self._ask(Stats, "GET", "/v1/pools/{pool}/stats", pool=pool)

    async def org_stats(self) -> OrgStats | Refusal:
        """The figures of the org, over all its pools."""
        return await self._ask(OrgStats, "GET", "/v1/stats")

    async def openings(self, pool: str) -> Page[Opening] | Refusal:
        """Room that came free: what is being offered, and what was handed back to staff."""
        return await self._ask(Page[Opening], "GET", "/v1/pools/{pool}/openings", pool=pool)

    async def resolve(
        self, pool: str, opening: int, action: str, *, idempotency_key: Key = None
    ) -> PoolState | Refusal:
        """Decide on an opening that was handed back: "again", "free" or "close"."""
        path = "/v1/pools/{pool}/openings/{opening}/resolve"
        body, number = {"action": action}, f"{opening}"
        return await self._ask(
            PoolState, "POST", path, body, idempotency_key=idempotency_key, pool=pool, opening=number
        )
