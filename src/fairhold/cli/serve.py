"""Run the HTTP service."""

from __future__ import annotations

from typing import Annotated

import typer

from fairhold.cli import desk
from fairhold.cli.options import Database, examples


def register(app: typer.Typer) -> None:
    app.command(
        epilog=examples(
            "fairhold serve --database sqlite:///seats.db",
            "fairhold serve --host 0.0.0.0 --port 80 --database postgresql://localhost/fairhold",
            "fairhold serve --share-port --database postgresql://localhost/fairhold",
        )
    )(serve)


def serve(
    host: Annotated[
        str, typer.Option("--host", envvar="FAIRHOLD_HOST", help="Address to listen at.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", envvar="FAIRHOLD_PORT", min=0, max=65535, help="Port to listen at.")
    ] = 8000,
    share_port: Annotated[
        bool,
        typer.Option(
            "--share-port",
            envvar="FAIRHOLD_SHARE_PORT",
            help="Let several processes on one PostgreSQL listen at this port (Linux).",
        ),
    ] = False,
    database: Database = None,
    test_clock: Annotated[
        bool,
        typer.Option(
            "--test-clock",
            envvar="FAIRHOLD_TEST_CLOCK",
            help="For tests: time stands still until POST /v1/clock moves it.",
        ),
    ] = False,
) -> None:
    """Serve the API over HTTP, until told to stop.

    An empty database is set up. While the database cannot be reached, requests are answered with 503, and
    /readyz says so. More settings, all of them environment variables, are in docs/howto/http.md.
    """
    from fairhold.errors import ExtraMissing, FairholdError, SettingsWrong
    from fairhold.extras import needs

    try:
        with needs("server", "the service"):
            from fairhold.http.serve import run
            from fairhold.http.settings import Settings
        run(
            Settings.read(
                database=database, host=host, port=port, share_port=share_port, test_clock=test_clock
            )
        )
    except (ExtraMissing, SettingsWrong) as error:
        desk.fail(str(error), desk.WRONG)
    except FairholdError as error:
        desk.fail(str(error), desk.UNAVAILABLE)
