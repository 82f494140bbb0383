"""Looking at pools: one with its rules, or all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from fairhold.cli import desk, tell
from fairhold.cli.options import Database, Json, Limit, Pool, examples
from fairhold.cli.rules import describe
from fairhold.cli.words import clean, columns, count, price, style

if TYPE_CHECKING:
    from fairhold.library import Fairhold
    from fairhold.shapes import PoolState


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("fairhold pool show yoga"))(show)
    app.command("list", epilog=examples("fairhold pool list", "fairhold pool list --json"))(listing)


def room_of(pool: PoolState) -> str:
    parts = []
    for quota in pool.quotas:
        name = f"{clean(quota.key)} " if len(pool.quotas) > 1 else ""
        kind = "unit" if quota.by_units else "seat"
        parts.append(name + ("unlimited" if quota.size is None else count(quota.size, kind)))
    return ", ".join(parts) + (f", open to all {pool.open_size}" if pool.open_size else "")


def show(pool: Pool, database: Database = None, as_json: Json = False) -> None:
    """Show a pool: how full it is, and its rules."""
    desk.serve(database, as_json, lambda hf: hf.pool(pool), _shown)


async def _shown(hf: Fairhold, pool: PoolState) -> str:
    times = await tell.times_of(hf, pool.id)
    title = "" if pool.title == pool.key else f"  {clean(pool.title)}"
    lines = [f"{style(pool.key, 'bold')}{title}  ({pool.status})", ""]
    heads = ("quota", "size", "taken", "free", "in line", "set aside")
    rows = [
        (
            clean(quota.key),
            "unlimited" if quota.size is None else quota.size,
            quota.used,
            "unlimited" if quota.room is None else quota.room,
            quota.waiting,
            quota.set_aside or "",
        )
        for quota in pool.quotas
    ]
    lines += [columns(rows, heads, right=range(1, 6)), ""]
    facts = [
        ("open to all", pool.open_size or ""),
        ("offers", f"{pool.offers_live} live" if pool.offers_live else ""),
        ("price", price(pool.price)),
        *((name, times.moment(at)) for name, at in _instants(pool)),
        ("time zone", pool.time_zone if pool.time_zone != "UTC" else ""),
        *describe(pool.policy),
        ("id", pool.id),
    ]
    return "\n".join([*lines, columns([fact for fact in facts if fact[1]])])


def _instants(pool: PoolState) -> list[tuple[str, Any]]:
    named = (("opens", pool.opens_at), ("closes", pool.closes_at), ("starts", pool.starts_at))
    return [(name, at) for name, at in named if at is not None]


def listing(
    limit: Limit = 100,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """List pools with their room, the latest if there are too many."""

    async def said(hf: Fairhold, pools: list[PoolState]) -> str:
        rows = [
            (
                style(pool.key, "bold"),
                clean(pool.title) if pool.title != pool.key else "",
                pool.status,
                f"{sum(quota.used for quota in pool.quotas):,} taken",
                f"{pool.waiting:,} in line" if pool.waiting else "",
                room_of(pool),
            )
            for pool in sorted(pools, key=lambda pool: pool.key)
        ]
        return columns(rows) if rows else "No pools yet. Make one with: fairhold pool create"

    desk.serve(database, as_json, lambda hf: hf.latest_pools(limit=limit), said)
