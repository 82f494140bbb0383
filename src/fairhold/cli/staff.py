"""Members of staff, who sign in to the service."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk, options
from fairhold.cli.options import Database, Json, examples
from fairhold.cli.words import clean, columns, count

if TYPE_CHECKING:
    from fairhold.accounts.members import Member, Members
    from fairhold.accounts.passkeys import Passkey
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold

app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Members of staff, who sign in.",
    epilog=examples("fairhold staff add olga@example.org --name Olga --role admin"),
)

Org = Annotated[str, typer.Option("--org", metavar="ORG", help="The org that they belong to.")]
Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The e-mail that they sign in with.")]
Role = Annotated[str, typer.Option("--role", metavar="ROLE", help="What they may do: admin, staff or read.")]
Ask = Annotated[
    bool, typer.Option("--password", help="Ask for their password, or read it from what is piped in.")
]


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="staff")


@app.command(
    epilog=examples(
        "fairhold staff add olga@example.org --name Olga --role admin",
        "fairhold staff add eve@example.org --name Eve --role read --password",
    )
)
def add(
    email: Email,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="What to call them; the log keeps the name.")
    ],
    role: Role = "staff",
    password: Ask = False,
    org: Org = "default",
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Add a member of staff, the first admin too.

    Their invitation is printed once, alone on the last line: with it they choose a password within three
    days. With --password they have the one that you say, and no invitation.
    """
    chosen = _password() if password else None

    async def ask(hf: Fairhold) -> Member | Refusal:
        from fairhold.core.refusals import Refusal

        if chosen is not None and (wrong := _wrong(chosen, email, name)):
            return wrong
        made = await _members(hf).add(org, email, name, role)
        if isinstance(made, Refusal) or chosen is None:
            return made
        return await _with_password(hf, org, email, chosen)

    desk.serve(database, as_json, ask, _invited, create=True)


@app.command("list", epilog=examples("fairhold staff list --org salon"))
def every(org: Org = "default", database: Database = None, as_json: Json = False) -> None:
    """List the members of staff of an org."""

    async def ask(hf: Fairhold) -> list[Member]:
        found: list[Member] = []
        while page := await _members(hf).page(org, found[-1].id if found else "", 1_000):
            found += page
        return found

    async def told(hf: Fairhold, found: list[Member]) -> str:
        rows = [(clean(it.email), clean(it.name), it.role, it.state, _seen(it)) for it in found]
        return columns(rows, ("e-mail", "name", "role", "", "signed in")) or f"{org} has no members of staff."

    desk.serve(database, as_json, ask, told)


@app.command(epilog=examples("fairhold staff role eve@example.org admin"))
def role(
    email: Email,
    role: Annotated[str, typer.Argument(metavar="admin|staff|read", help="What they may do from now on.")],
    org: Org = "default",
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Change what a member of staff may do."""

    async def told(hf: Fairhold, it: Member) -> str:
        return f"{clean(it.name)} has the role {it.role}."

    asked = _of(org, email, lambda members, it: members.change(org, it.id, role=role))
    desk.serve(database, as_json, asked, told)


@app.command(epilog=examples("fairhold staff invite eve@example.org"))
def invite(
    email: Email,
    password: Ask = False,
    org: Org = "default",
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Invite a member of staff anew, to choose a password.

    The invitation is alone on the last line; their password stays until they take it. With --password they
    have the one that you say, and are signed out everywhere.
    """
    chosen = _password() if password else None

    if chosen is not None:
        desk.serve(database, as_json, lambda hf: _with_password(hf, org, email, chosen), _invited)
    else:
        asked = _of(org, email, lambda members, it: members.invite(org, it.id))
        desk.serve(database, as_json, asked, _invited)


@app.command(epilog=examples("fairhold staff sign-out eve@example.org"))
def sign_out(email: Email, org: Org = "default", database: Database = None, as_json: Json = False) -> None:
    """Sign a member of staff out everywhere. Running services notice within seconds."""

    async def told(hf: Fairhold, ended: int) -> str:
        return f"{count(ended, 'session')} ended."

    desk.serve(database, as_json, _of(org, email, lambda members, it: members.sign_out(org, it.id)), told)


@app.command(epilog=examples("fairhold staff passkeys eve@example.org"))
def passkeys(email: Email, org: Org = "default", database: Database = None, as_json: Json = False) -> None:
    """List the passkeys that a member of staff can sign in with."""

    async def ask(hf: Fairhold) -> list[Passkey] | Refusal:
        from fairhold.accounts.passkeys import passkeys_of
        from fairhold.core.refusals import Refusal

        found = await _members(hf).by_email(org, email)
        return found if isinstance(found, Refusal) else await passkeys_of(hf.store, found.id)

    async def told(hf: Fairhold, found: list[Passkey]) -> str:
        rows = [(it.id, clean(it.name), _moment(it.created_at), _last(it.used_at)) for it in found]
        return columns(rows, ("passkey", "name", "made", "last used")) or f"{clean(email)} has no passkeys."

    desk.serve(database, as_json, ask, told)


@app.command(epilog=examples("fairhold staff remove-passkey eve@example.org k0123456789abcdef"))
def remove_passkey(
    email: Email,
    passkey: Annotated[str, typer.Argument(metavar="PASSKEY", help="Its id, as `staff passkeys` lists it.")],
    org: Org = "default",
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Remove a passkey of a member of staff.

    Their sessions stay. If the device is lost, sign them out as well: `fairhold staff sign-out`.
    """

    async def ask(hf: Fairhold) -> str | Refusal:
        from fairhold.accounts.passkeys import remove_passkey
        from fairhold.core.refusals import Refusal

        found = await _members(hf).by_email(org, email)
        return found if isinstance(found, Refusal) else await remove_passkey(hf.store, found.id, passkey)

    async def told(hf: Fairhold, removed: str) -> str:
        return f"Removed {removed}: nobody signs in with it any more."

    desk.serve(database, as_json, ask, told)


@app.command(epilog=examples("fairhold staff remove eve@example.org"))
def remove(email: Email, org: Org = "default", database: Database = None, as_json: Json = False) -> None:
    """Remove a member of staff. The log keeps the name."""

    async def told(hf: Fairhold, member: str) -> str:
        return f"Removed {clean(email)}."

    desk.serve(database, as_json, _of(org, email, lambda members, it: members.remove(org, it.id)), told)


def _members(hf: Fairhold) -> Members:
    from fairhold.accounts.members import Members

    return Members(hf.store, hf.clock, hf.secret)


def _of(org: str, email: str, act: Callable[[Members, Member], Awaitable[Any]]) -> desk.Ask:
    """Something asked of the member with this e-mail."""

    async def ask(hf: Fairhold) -> Any:
        from fairhold.core.refusals import Refusal

        found = await _members(hf).by_email(org, email)
        return found if isinstance(found, Refusal) else await act(_members(hf), found)

    return ask


def _password() -> str:
    """The password, asked for twice at a terminal so that a slip is noticed."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return password


def _wrong(password: str, *known: str) -> Refusal | None:
    from fairhold import inputs
    from fairhold.accounts.passwords import checked

    try:
        checked(password, "password", *known)
    except inputs.Bad as bad:
        return bad.refusal
    return None


async def _with_password(hf: Fairhold, org: str, email: str, password: str) -> Member | Refusal:
    from fairhold.accounts.passwords import Passwords

    return await _members(hf).set_password(org, email, password, Passwords())


async def _invited(hf: Fairhold, it: Member) -> str:
    told = f"{clean(it.name)} ({clean(it.email)}) has the role {it.role} in {it.org}"
    if it.invitation is None:
        return f"{told}, and a password to sign in with."
    until = _moment(it.invitation.expires_at)
    return f"{told}. With this they choose a password until {until} UTC:\n{it.invitation.token}"


def _seen(member: Member) -> str:
    return _last(member.signed_in_at)


def _last(at: datetime | None) -> str:
    return _moment(at) if at else "never"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"
