"""`fairhold verify`: checks every promise on a live database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairhold.cli import desk
from fairhold.cli.options import Database, Json, examples
from fairhold.cli.words import clean

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold
    from fairhold.verify import Report


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("fairhold verify", "fairhold verify --pool yoga --json"))(verify)


def verify(
    database: Database = None,
    pool: Annotated[
        str | None, typer.Option("--pool", metavar="POOL", help="Check this pool alone, by its key or id.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every promise on a live database.

    It says what is wrong and where: no seat given twice, one place in line each, positions without a gap,
    nobody passed over, every message in the outbox, and a log that nobody has tampered with and that
    tells all. Exit code 1 if anything is wrong.
    """
    from fairhold.core.refusals import Refusal

    async def work(hf: Fairhold) -> Report | Refusal:
        from fairhold.core.refusals import unknown
        from fairhold.verify import verify as check

        pool_id = await hf.reads.pool_id(pool, hf.org) if pool is not None else None
        if pool is not None and pool_id is None:
            return unknown("pool", pool)
        return await check(hf.store, None if pool_id is None else [pool_id])

    report = desk.run(database, work)
    if isinstance(report, Refusal):
        desk.refuse(report, as_json)
    if as_json:
        desk.say(desk.encoded(report))
    else:
        desk.say("\n".join(clean(line) for line in str(report).splitlines()))
    if not report.whole:
        raise typer.Exit(desk.REFUSED)
