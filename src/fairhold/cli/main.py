"""`fairhold`: the commands, and how a wrong one is answered in a single line."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from fairhold.cli import (
    backup,
    booking,
    demo,
    details,
    files,
    history,
    key,
    line,
    maintenance,
    messages,
    openings,
    origin,
    overview,
    person,
    pool,
    receivers,
    retention,
    serve,
    staff,
    stats,
    units,
    verify,
)
from fairhold.cli.menu import Menu
from fairhold.cli.options import Database, Json, examples

app = typer.Typer(
    name="fairhold",
    cls=Menu,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Gives out scarce seats fairly: holds, waitlists, offers, and proof that no seat was given twice.",
    epilog=examples(
        "fairhold demo",
        "fairhold pool create yoga --preset class_waitlist --size 12",
        "fairhold book yoga ann --name Ann",
        "fairhold line yoga",
        "fairhold explain K7PM2X",
    )
    + "\n\n\b\nExit codes:\n  0 yes · 1 refused · 2 asked wrongly · 3 the database cannot be used",
)


def _version(wanted: bool) -> None:
    if wanted:
        from fairhold import __version__

        print(f"fairhold {__version__}")
        raise typer.Exit


@app.callback()
def fairhold(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    pass


for part in (
    demo,
    serve,
    key,
    staff,
    pool,
    booking,
    details,
    line,
    openings,
    history,
    stats,
    messages,
    receivers,
    origin,
    files,
    person,
    maintenance,
    retention,
    backup,
    verify,
):
    part.register(app)
for part in (overview, units):
    part.register(pool.app)


def main() -> None:
    """Run a command. A wrong one gets one clear line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = app(prog_name="fairhold", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough. Nothing more can be said, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except typer.Abort:
        code = 130
    except Exception as error:  # noqa: BLE001  # what is not a wrong command is raised again
        code = _complain(error)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(error: Exception) -> int:
    """One line for a wrong command; the exceptions of Typer say so by their way of formatting themselves."""
    formatted = getattr(error, "format_message", None)
    if formatted is None:
        raise error
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "fairhold"
    if type(error).__name__ == "NoArgsIsHelpError":
        print(formatted())
        return 0
    from fairhold.addresses import without_login

    message = " ".join(map(without_login, formatted().split()))
    print(f"{path}: {message.rstrip('.')} (see: {path} --help)", file=sys.stderr)
    return 2
