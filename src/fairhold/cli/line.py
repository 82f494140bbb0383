"""The line: look at it, offer out of turn, move somebody, put somebody back, fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk, options, tell
from fairhold.cli.options import (
    Booking,
    Database,
    DryRun,
    Json,
    Key,
    Limit,
    Opening,
    Pool,
    Staff,
    Why,
    examples,
)

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold
    from fairhold.shapes import Booking as Row
    from fairhold.shapes import Outcome


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("fairhold line yoga", "fairhold line yoga --after 100 --limit 50"))(line)
    app.command(
        epilog=examples(
            'fairhold offer K7PM2X --why "came to the desk" --staff Olga',
            "fairhold offer K7PM2X --opening 3",
        )
    )(offer)
    app.command(
        epilog=examples(
            'fairhold move K7PM2X front --why "our mistake" --staff Olga',
            "fairhold move K7PM2X --after M3XQ9T",
        )
    )(move)
    app.command(
        epilog=examples(
            'fairhold put-back K7PM2X --why "cancelled by mistake" --staff Olga',
            "fairhold put-back K7PM2X --dry-run",
        )
    )(put_back)
    app.command(epilog=examples("fairhold fill yoga", "fairhold fill yoga --steps 1"))(fill)


def line(
    pool: Pool,
    after: Annotated[
        int, typer.Option("--after", min=0, metavar="POSITION", help="Go on behind this position.")
    ] = 0,
    limit: Limit = 100,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Show who waits, in order, and who has an offer."""

    async def said(hf: Fairhold, waiting: list[Row]) -> str:
        offered: Any = [] if after else await hf.bookings(pool, state="offered", limit=limit)
        return (
            await tell.people(hf, pool, [*offered, *waiting]) if offered or waiting else "Nobody is in line."
        )

    desk.serve(database, as_json, lambda hf: hf.line(pool, after=after, limit=limit), said)


def offer(
    booking: Booking,
    opening: Opening = None,
    why: Why = "",
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Offer free room to one waiting booking now, out of turn."""
    asked: dict[str, Any] = {"why": why, "by": options.member(staff), "idempotency_key": idempotency_key}
    asked["opening"] = opening
    desk.serve(database, as_json, lambda hf: hf.offer(booking, **asked), tell.booking)


def move(
    booking: Booking,
    to: Annotated[
        str | None, typer.Argument(metavar="front|back", help="Where to.  [default: front]")
    ] = None,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="BOOKING", help="Right behind this other booking instead."),
    ] = None,
    why: Why = "",
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Move a waiting booking within the line."""
    if to not in (None, "front", "back"):
        raise options.bad("front|back", f"{to!r} is neither front nor back.")
    if to and after:
        raise options.bad("--after", "Say front, back or --after, not two of them.")
    asked: dict[str, Any] = {"why": why, "by": options.member(staff), "idempotency_key": idempotency_key}
    asked["after"] = after
    desk.serve(database, as_json, lambda hf: hf.move(booking, to or "front", **asked), tell.booking)


def put_back(
    booking: Booking,
    why: Why = "",
    dry_run: DryRun = False,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Undo the end of a booking. It gets its seats again if they are free, or waits where it did."""
    asked: dict[str, Any] = {"why": why, "by": options.member(staff), "idempotency_key": idempotency_key}

    async def ask(hf: Fairhold) -> Any:
        if dry_run:
            return await hf.dry_run(lambda rehearsal: rehearsal.put_back(booking, **asked))
        return await hf.put_back(booking, **asked)

    async def said(hf: Fairhold, answer: Any) -> str:
        if not dry_run:
            return await tell.booking(hf, answer)
        found: Any = await hf.booking(booking)
        return await tell.outcome(hf, found.pool, answer, dry_run=True)

    desk.serve(database, as_json, ask, said)


def fill(
    pool: Pool,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, metavar="NUMBER", help="Stop after so many steps.")
    ] = None,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Give free room to the line. It happens by itself; this says what there was to do."""

    async def ask(hf: Fairhold) -> Outcome | Refusal:
        return await hf.fill(pool, steps, by=options.member(staff), idempotency_key=idempotency_key)

    async def said(hf: Fairhold, outcome: Outcome) -> str:
        return await tell.outcome(hf, pool, outcome, dry_run=False)

    desk.serve(database, as_json, ask, said)
