"""For how long an org keeps what is over, and pruning by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fairhold.cli import desk, options
from fairhold.cli.options import By, Database, Json, examples
from fairhold.cli.words import clean, columns, count

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.keeping.pruning import Pruned
    from fairhold.library import Fairhold
    from fairhold.retention_commands import Retention

app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="For how long names and messages are kept.",
    epilog=examples("fairhold retention set --people 365d --messages 90d", "fairhold retention show"),
)

Org = Annotated[str, typer.Option("--org", metavar="ORG", help="The org whose policy it is.")]
_EVER: Final = 2**62
_LENGTH: Final = "so many days (365d), or never"


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="retention")
    parent.command(
        epilog=examples(
            "fairhold prune --dry-run", "fairhold prune", "fairhold prune --older-than 365d --dry-run"
        )
    )(prune)


@app.command(epilog=examples("fairhold retention show"))
def show(org: Org = "default", database: Database = None, as_json: Json = False) -> None:
    """Show for how long."""
    desk.serve(database, as_json, lambda hf: hf.for_org(org).retention(), _said)


@app.command("set", epilog=examples("fairhold retention set --people 365d --messages never"))
def set_retention(
    people: Annotated[
        str | None,
        typer.Option("--people", metavar="DAYS", help=f"Names, contacts and answers: {_LENGTH}."),
    ] = None,
    messages: Annotated[
        str | None, typer.Option("--messages", metavar="DAYS", help=f"What messages said: {_LENGTH}.")
    ] = None,
    org: Org = "default",
    staff: By = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Say for how long; what is not said stays."""
    said: dict[str, int | None] = {}
    if people is not None:
        said["people_days"] = _days(people, "--people")
    if messages is not None:
        said["messages_days"] = _days(messages, "--messages")

    async def ask(hf: Fairhold) -> Retention | Refusal:
        ours = hf.for_org(org)
        now = await ours.retention()
        kept: dict[str, int | None] = {
            "people_days": now.people_days,
            "messages_days": now.messages_days,
            **said,
        }
        return await ours.set_retention(**kept, by=options.member(staff))

    desk.serve(database, as_json, ask, _said)


def _days(text: str, option: str) -> int | None:
    if text == "never":
        return None
    length = options.seconds(text, option) or 0
    if not length or length % 86_400:
        raise options.bad(option, f"{text!r} is not so many days, such as 365d, or never.")
    return length // 86_400


async def _said(hf: Fairhold, it: Retention) -> str:
    rows = [
        ("Names, contacts and answers", _kept(it.people_days, "after a booking is over")),
        ("What messages said", _kept(it.messages_days, "after they were made")),
    ]
    if it.by:
        rows.append(("Said by", clean(it.by)))
    return columns(rows)


def _kept(days: int | None, since: str) -> str:
    return "kept for ever" if days is None else f"{count(days, 'day')} {since}"


def prune(
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="LENGTH",
            help="Over for so long (90d, 24h at least), whatever policies say; of the org default.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count; change nothing.")] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Forget names and contacts of what is long over.

    Without a length, of every org what its policy says (see fairhold retention); fairhold serve does that
    every day. With one, of the org default alone. A booking is over when it has ended, or when what it is for
    has begun. Its row stays, without the person's name, contacts and answers; the id that they booked with
    stays, for the log tells of it (see fairhold person erase). Messages that were dealt with lose what they
    say; with a length, old idempotency keys of all orgs go, too.
    """
    age = options.seconds(older_than, "--older-than") if older_than is not None else None

    async def ask(hf: Fairhold) -> dict[str, Pruned] | Pruned | Refusal:
        return await _by_policies(hf, dry_run) if age is None else await hf.prune(age, dry_run=dry_run)

    async def said(hf: Fairhold, found: Any) -> str:
        if age is not None:
            return _counts(found)
        if not found:
            return "No org has said for how long: fairhold retention set --people 365d"
        return "\n".join(f"{clean(org)}: {_counts(it)}" for org, it in found.items())

    desk.serve(database, as_json, ask, said)


async def _by_policies(hf: Fairhold, dry_run: bool) -> dict[str, Pruned]:
    from fairhold.core.refusals import Refusal
    from fairhold.keeping.keeper import orgs_to_prune

    found: dict[str, Pruned] = {}
    for org in await orgs_to_prune(hf, since=_EVER):
        pruned = await hf.for_org(org).prune(dry_run=dry_run)
        assert not isinstance(pruned, Refusal)
        found[org] = pruned
    return found


def _counts(it: Pruned) -> str:
    would = "Would prune" if it.dry_run else "Pruned"
    keys = count(it.idempotency_keys, "idempotency key")
    return f"{would} {count(it.bookings, 'booking')}, {count(it.messages, 'message')} and {keys}."
