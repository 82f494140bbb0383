"""The database itself: bring it up to date, and release what is past its time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk
from fairhold.cli.narrate import Narrator, names_in, numbers_in
from fairhold.cli.options import Database, DryRun, Json, examples
from fairhold.cli.tell import openings_of
from fairhold.cli.words import clean, columns, count

if TYPE_CHECKING:
    from fairhold.library import Fairhold


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("fairhold migrate --database postgresql://localhost/fairhold"))(migrate)
    app.command(
        "release-expired",
        epilog=examples("fairhold release-expired", "fairhold release-expired --dry-run -v"),
    )(release_expired)


def migrate(database: Database = None, as_json: Json = False) -> None:
    """Set up a database, or bring it up to date."""
    import asyncio

    from fairhold.clock import SystemClock
    from fairhold.config import database_schema, database_url, make_store
    from fairhold.errors import ExtraMissing, FairholdError, SettingsWrong

    async def bring() -> list[str]:
        store = make_store(database_url(database), database_schema(), beside_others=True)
        await store.open()
        try:
            return await store.migrate(SystemClock().now())
        finally:
            await store.close()

    try:
        applied = asyncio.run(bring())
    except (ExtraMissing, SettingsWrong) as error:
        desk.fail(str(error), desk.WRONG)
    except FairholdError as error:
        desk.fail(str(error), desk.UNAVAILABLE)
    if as_json:
        desk.say(desk.encoded({"applied": applied}))
    elif applied:
        desk.say("Applied: " + ", ".join(applied))
    else:
        desk.say("The database is up to date.")


def release_expired(
    dry_run: DryRun = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="List each, and who got the room.")
    ] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Expire what is past its time, now.

    Holds and offers end, and what becomes free goes to the line. A running Fairhold does this by itself, on
    time. Without one, run this every minute.
    """

    async def ask(hf: Fairhold) -> dict[str, Any]:
        from fairhold.release import release_expired

        return await release_expired(hf, dry_run=dry_run)

    async def said(hf: Fairhold, found: dict[str, Any]) -> str:
        would = "would be " if dry_run else ""
        lines = await _each(hf, found) if verbose and found["pools"] else []
        head = f"{count(found['holds_expired'], 'hold')} {would}expired, "
        head += f"{count(found['seats_released'], 'seat')} {would}released."
        if found["offers_lapsed"]:
            head += f" {count(found['offers_lapsed'], 'offer')} {would}lapsed."
        if found["signups_expired"]:
            head += f" {count(found['signups_expired'], 'unconfirmed signup')} {would}expired."
        return "\n".join([*lines, head])

    desk.serve(database, as_json, ask, said)


async def _each(hf: Fairhold, found: dict[str, Any]) -> list[str]:
    rows = []
    for pool in found["pools"]:
        names = await names_in(hf, pool["pool"], numbers_in(pool["events"]))
        narrator = Narrator(names, await openings_of(hf, pool["pool"]))
        for event in pool["events"]:
            told = narrator.tell(event["event"], event, event["by"])
            if event["event"] not in ("OpeningStarted", "OpeningEnded"):
                rows.append((clean(pool["pool"]), told.sentence))
    return [columns(rows)]
