"""What happened and why: the log of a pool, and the explanation of one booking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairhold.cli import desk, tell
from fairhold.cli.narrate import QUIET, Narrator, names_in, numbers_in
from fairhold.cli.options import Booking, Database, Json, Limit, Pool, examples
from fairhold.cli.words import clean, columns, style

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold
    from fairhold.records import LogEntry
    from fairhold.shapes import Explanation

_TONES = {"good": ("green",), "bad": ("red",), "ask": ("yellow",), "plain": ()}


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("fairhold log yoga", "fairhold log yoga --after 100 --json"))(log)
    app.command(epilog=examples("fairhold explain K7PM2X"))(explain)


def log(
    pool: Pool,
    after: Annotated[
        int, typer.Option("--after", min=0, metavar="NUMBER", help="Go on behind this entry.")
    ] = 0,
    limit: Limit = 100,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is there only for replaying the log.")
    ] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Show what happened in a pool, in order, and by whom."""

    async def said(hf: Fairhold, entries: list[LogEntry]) -> str:
        return await told(hf, pool, entries, everything) if entries else "Nothing has happened yet."

    async def ask(hf: Fairhold) -> list[LogEntry] | Refusal:
        from fairhold.core.refusals import Refusal
        from fairhold.records import shown_entry

        found = await hf.log(pool, after=after, limit=limit)
        return found if isinstance(found, Refusal) or not as_json else [shown_entry(it) for it in found]

    desk.serve(database, as_json, ask, said)


async def told(hf: Fairhold, pool: str, entries: list[LogEntry], everything: bool) -> str:
    """The log as a table: number, time, by whom, what."""
    times = await tell.times_of(hf, pool)
    narrator = Narrator(
        await names_in(hf, pool, numbers_in(entry.facts for entry in entries)),
        await tell.openings_of(hf, pool),
    )
    rows = []
    for entry in entries:
        it = narrator.tell(entry.event, entry.facts, entry.by)
        if everything or entry.event not in QUIET:
            at = style(times.full(entry.at), "dim")
            rows.append((entry.seq, at, clean(entry.by), style(it.alone, *_TONES[it.tone])))
    return columns(rows, right=[0]) or "Nothing to tell."


def explain(booking: Booking, database: Database = None, as_json: Json = False) -> None:
    """Say why a booking is where it is.

    Every decision about it, with its reason, from the first request on.
    """

    async def said(hf: Fairhold, steps: list[Explanation]) -> str:
        from fairhold.core.refusals import Refusal

        found = await hf.booking(booking)
        assert not isinstance(found, Refusal)
        times = await tell.times_of(hf, found.pool)
        rows = [(style(times.full(step.at), "dim"), clean(step.sentence)) for step in steps]
        return f"{await tell.standing(hf, found)}\n\n{columns(rows)}"

    desk.serve(database, as_json, lambda hf: hf.explain(booking), said)
