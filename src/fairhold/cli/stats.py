"""The figures that staff watch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from fairhold.cli import desk
from fairhold.cli.options import Database, Json, examples
from fairhold.cli.words import clean, columns, count, style

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold
    from fairhold.records import Stats, Totals


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("fairhold stats flight-7", "fairhold stats --json"))(stats)


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

    async def ask(hf: Fairhold) -> Stats | Totals | Refusal:
        return await hf.stats(pool) if pool is not None else await hf.totals()

    desk.serve(database, as_json, ask, _said)


async def _said(hf: Fairhold, found: Stats | Totals) -> str:
    from fairhold.alarm import said
    from fairhold.records import Stats, Totals

    rows = [
        ("active holds", found.active_holds, ""),
        ("expired holds", found.expired_holds, "past their time, not yet released"),
        ("held seats", found.total_held_seats, ""),
        ("expiring soon", found.holds_expiring_soon, "within 5 minutes"),
        ("in line", found.waiting, ""),
        ("live offers", found.offers_live, ""),
    ]
    if isinstance(found, Totals):
        rows.insert(0, ("pools", found.pools, ""))
    parts = [columns([(name, f"{number:,}", style(note, "dim")) for name, number, note in rows], right=[1])]
    if found.clock_ahead_s:
        parts.insert(0, style(f"The clock is wrong: {said(found.clock_ahead_s)}.", "red"))
    if found.bookings:
        parts.append(_counted("bookings", found.bookings))
    if found.offers:
        parts.append(_counted("offers", found.offers))
    if isinstance(found, Stats):
        free = [
            (
                clean(key),
                f"{quota.used:,} taken",
                "unlimited" if quota.room is None else f"{quota.room:,} free",
            )
            for key, quota in found.quotas.items()
        ]
        parts.append(columns(free, right=[1, 2]))
    return "\n\n".join(parts)


def _counted(name: str, counts: Mapping[str, int]) -> str:
    listed = ", ".join(
        f"{number:,} {state}" for state, number in sorted(counts.items(), key=lambda it: -it[1])
    )
    return f"{count(sum(counts.values()), name.removesuffix('s'))}: {listed}"
