"""Whose web sites may show the sign-up pages in a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairhold.cli import desk, options
from fairhold.cli.options import Database, Json, examples
from fairhold.cli.words import clean, columns

if TYPE_CHECKING:
    from fairhold.library import Fairhold
    from fairhold.origin_commands import Origin

app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Let web sites show the sign-up pages.",
    epilog=examples("fairhold origin allow https://example.org", "fairhold origin list"),
)

Named = Annotated[str, typer.Argument(metavar="ORIGIN", help="A scheme and a host: https://example.org.")]


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="origin")


@app.command(epilog=examples("fairhold origin allow https://example.org"))
def allow(origin: Named, database: Database = None, as_json: Json = False) -> None:
    """Let a web site show the pages."""

    async def said(hf: Fairhold, it: Origin) -> str:
        return f"{clean(it.origin)} may show the pages ({it.id})."

    desk.serve(database, as_json, lambda hf: hf.allow_origin(origin), said)


@app.command("list", epilog=examples("fairhold origin list"))
def list_origins(database: Database = None, as_json: Json = False) -> None:
    """List the web sites that may."""

    async def said(hf: Fairhold, found: list[Origin]) -> str:
        rows = [(it.id, clean(it.origin)) for it in found]
        return columns(rows) if rows else "No web site may show the pages in a frame."

    desk.serve(database, as_json, lambda hf: hf.origins(), said)


@app.command(epilog=examples("fairhold origin remove https://example.org"))
def remove(origin: Named, database: Database = None, as_json: Json = False) -> None:
    """Let it no more, by the origin or its id."""

    async def said(hf: Fairhold, it: Origin) -> str:
        return f"{clean(it.origin)} may show the pages no more."

    desk.serve(database, as_json, lambda hf: hf.remove_origin(origin), said)
