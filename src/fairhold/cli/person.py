"""One person: hand out all that is known about them, or forget them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk, options
from fairhold.cli.options import Database, DryRun, Json, Staff, examples
from fairhold.cli.words import count

if TYPE_CHECKING:
    from fairhold.keeping_commands import Erasure
    from fairhold.library import Fairhold

app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Hand out what is known about a person, or forget them.",
    epilog=examples("fairhold person export ann", "fairhold person erase ann --dry-run"),
)

Party = Annotated[
    str,
    typer.Argument(
        metavar="PARTY", help="The id that the person has booked with, over all pools of the org default."
    ),
]


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="person")


@app.command(epilog=examples("fairhold person export ann > ann.json"))
def export(party: Party, database: Database = None, as_json: Json = False) -> None:
    """Write all that is known about a person, as JSON.

    Bookings with names, contacts and answers, every decision about them, what the log says, and messages.
    """

    async def said(hf: Fairhold, record: Any) -> str:
        return desk.encoded(record)

    desk.serve(database, as_json, lambda hf: hf.export_person(party), said)


@app.command(
    epilog=examples("fairhold person erase ann --dry-run", "fairhold person erase ann --yes --staff Olga")
)
def erase(
    party: Party,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Cancel first what still waits for an answer or for room.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking back.")] = False,
    dry_run: DryRun = False,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Forget a person, over all pools. It cannot be taken back.

    Names, contacts, tags, attributes and answers go, and the id that names them; so does what staff have
    written about their bookings. Counts stay, and fairhold verify still passes.
    """
    if not yes and not dry_run:
        if not sys.stdin.isatty():
            raise options.bad("--yes", "This cannot be taken back: say --yes, or look first with --dry-run.")
        typer.confirm(f"Forget {party!r}? It cannot be taken back.", abort=True, err=True)
    asked: dict[str, Any] = {"cancel": cancel, "dry_run": dry_run, "by": options.member(staff)}

    async def said(hf: Fairhold, it: Erasure) -> str:
        would = "Would forget" if it.dry_run else "Forgot"
        where = f"{count(it.bookings, 'booking')} in {count(it.pools, 'pool')}"
        log = count(it.entries, "log entry", "log entries")
        return f"{would} the person of {where}; {log} redacted, {count(it.messages, 'message')} emptied."

    desk.serve(database, as_json, lambda hf: hf.erase_person(party, **asked), said)
