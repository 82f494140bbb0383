"""API keys of the HTTP service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairhold.cli import desk, options
from fairhold.cli.options import Database, Json, examples
from fairhold.cli.words import clean, columns

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.keys import ApiKey, Keys
    from fairhold.library import Fairhold

app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keys of the HTTP service: make, list, revoke.",
    epilog=examples("fairhold key create --role admin --name ops"),
)

Org = Annotated[str, typer.Option("--org", metavar="ORG", help="The org that the key belongs to.")]


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="key")


@app.command(
    epilog=examples(
        "fairhold key create --role admin --name ops",
        "fairhold key create --role public --name 'web site' --org salon",
    )
)
def create(
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="What it may do: admin, staff, read or public.")
    ],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="What to call it; the log keeps the name.")
    ],
    org: Org = "default",
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Make a key. It is printed once, alone on the last line; only its hash is kept."""

    async def ask(hf: Fairhold) -> ApiKey | Refusal:
        return await _keys(hf).create(org, role, name)

    async def told(hf: Fairhold, key: ApiKey) -> str:
        return f"Made the {key.role} key {clean(key.name)} of {key.org}. It is shown only now:\n{key.secret}"

    desk.serve(database, as_json, ask, told, create=True)


@app.command("list", epilog=examples("fairhold key list --org salon"))
def every(org: Org = "default", database: Database = None, as_json: Json = False) -> None:
    """List the keys of an org."""

    async def ask(hf: Fairhold) -> list[ApiKey]:
        found: list[ApiKey] = []
        while page := await _keys(hf).page(org, found[-1].id if found else "", 1_000):
            found += page
        return found

    async def told(hf: Fairhold, found: list[ApiKey]) -> str:
        rows = [
            (key.id, key.role, clean(key.name), key.hint, _moment(key.created_at), _used(key), _revoked(key))
            for key in found
        ]
        heads = ("id", "role", "name", "ends with", "made", "last used", "")
        return columns(rows, heads) or f"{org} has no keys."

    desk.serve(database, as_json, ask, told)


@app.command(epilog=examples("fairhold key revoke k0123456789abcdef"))
def revoke(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, as `key list` shows it.")],
    org: Org = "default",
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Revoke a key, for good. Running services notice within seconds."""

    async def ask(hf: Fairhold) -> ApiKey | Refusal:
        return await _keys(hf).revoke(org, key)

    async def told(hf: Fairhold, found: ApiKey) -> str:
        return f"Revoked the {found.role} key {clean(found.name)}."

    desk.serve(database, as_json, ask, told)


def _keys(hf: Fairhold) -> Keys:
    from fairhold.keys import Keys

    return Keys(hf.store, hf.clock, hf.secret)


def _moment(at: object) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else ""


def _used(key: ApiKey) -> str:
    return _moment(key.last_used_at) or "never"


def _revoked(key: ApiKey) -> str:
    return "revoked" if key.revoked_at else ""
