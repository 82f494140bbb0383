"""The figures that staff watch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli import desk, tell
from holdfast.cli.options import Database, Json, examples
from holdfast.cli.words import clean, columns, count, style

if TYPE_CHECKING:
    from holdfast.core.refusals import Refusal
    from holdfast.library import Holdfast

_HOLDS = ("active_holds", "expired_holds", "total_held_seats", "holds_expiring_soon")
_LABELS = (
    ("active holds", ""),
    ("expired holds", "past their time, not yet released"),
    ("held seats", ""),
    ("expiring soon", "within 5 minutes"),
)


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("holdfast stats flight-7", "holdfast stats --json"))(stats)


def stats(
    pool: Annotated[
        str | None, typer.Argument(metavar="POOL", help="The pool's key or id; all if not said.")
    ] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Show the figures of a pool, or of all together.

    Holds first, as staff watch them; then bookings by state, the line, offers by outcome, and room by quota.
    """

    async def ask(hf: Holdfast) -> dict[str, Any] | Refusal:
        return await hf.stats(pool) if pool is not None else await _all(hf)

    desk.serve(database, as_json, ask, _said)


async def _all(hf: Holdfast) -> dict[str, Any]:
    """The sums over all pools."""
    total: dict[str, Any] = dict.fromkeys((*_HOLDS, "waiting", "offers_live"), 0)
    states: Counter[str] = Counter()
    offers: Counter[str] = Counter()
    pools = await tell.all_pools(hf)
    for state in pools:
        found = await hf.stats(state.key)
        assert isinstance(found, dict)
        for name in total:
            total[name] += found[name]
        states.update(found["bookings"])
        offers.update(found["offers"])
    return {"pools": len(pools), **total, "bookings": dict(states), "offers": dict(offers)}


async def _said(hf: Holdfast, found: dict[str, Any]) -> str:
    rows = [
        (name, f"{found[key]:,}", style(note, "dim"))
        for key, (name, note) in zip(_HOLDS, _LABELS, strict=True)
    ]
    rows += [("in line", f"{found['waiting']:,}", ""), ("live offers", f"{found['offers_live']:,}", "")]
    if "pools" in found:
        rows.insert(0, ("pools", f"{found['pools']:,}", ""))
    parts = [columns(rows, right=[1])]
    if found["bookings"]:
        parts.append(_counted("bookings", found["bookings"]))
    if found["offers"]:
        parts.append(_counted("offers", found["offers"]))
    if quotas := found.get("quotas"):
        free = [
            (
                clean(key),
                f"{it['used']:,} taken",
                "unlimited" if it["room"] is None else f"{it['room']:,} free",
            )
            for key, it in quotas.items()
        ]
        parts.append(columns(free, right=[1, 2]))
    return "\n\n".join(parts)


def _counted(name: str, counts: dict[str, int]) -> str:
    listed = ", ".join(
        f"{number:,} {state}" for state, number in sorted(counts.items(), key=lambda it: -it[1])
    )
    return f"{count(sum(counts.values()), name.removesuffix('s'))}: {listed}"
