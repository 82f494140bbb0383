"""What a party says of itself, and who tells it of offers: changed at the desk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk, options, tell
from fairhold.cli.options import Booking, Database, Json, Key, Staff, examples

if TYPE_CHECKING:
    from fairhold import shapes
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold


def register(app: typer.Typer) -> None:
    app.command(
        epilog=examples(
            "fairhold change K7PM2X --email ann@example.org",
            "fairhold change K7PM2X --phone ''",
            "fairhold change K7PM2X --told-by-staff --staff Olga",
        )
    )(change)


def change(
    booking: Booking,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What to call the party.")
    ] = None,
    email: Annotated[
        str | None, typer.Option("--email", metavar="ADDRESS", help="Where to write; empty: nowhere.")
    ] = None,
    phone: Annotated[
        str | None, typer.Option("--phone", metavar="NUMBER", help="Where to text; empty: nowhere.")
    ] = None,
    locale: Annotated[
        str | None, typer.Option("--locale", metavar="CODE", help="The language to write in: en, fi, de.")
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option("--answer", metavar="KEY=VALUE", help="The answer to a question. Repeatable."),
    ] = None,
    told_by_staff: Annotated[
        bool | None,
        typer.Option(
            "--told-by-staff/--told-by-letters",
            help="Whether you tell this party of offers yourself, whatever letters can do.",
        ),
    ] = None,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Change the details of a booking.

    That is the name, the contacts and the answers of its party, and who tells it of offers.
    """
    contacts = {kind: text for kind, text in (("email", email), ("phone", phone)) if text is not None}
    answers = options.pairs(answer, "--answer", options.plain)
    said: dict[str, Any] = {"name": name, "locale": locale, "told_by_staff": told_by_staff}
    if not contacts and not answers and all(it is None for it in said.values()):
        raise typer.BadParameter("Say what to change, such as --email ann@example.org.")

    async def ask(hf: Fairhold) -> shapes.Booking | Refusal:
        from fairhold.core.refusals import Refusal

        found = await hf.booking(booking)
        if isinstance(found, Refusal):
            return found
        if contacts:
            kept = {**found.party.contacts, **contacts}
            said["contacts"] = {kind: address for kind, address in kept.items() if address}
        if answers:
            said["answers"] = {**found.answers, **answers}
        return await hf.change_booking(
            found.id, **said, by=options.person(staff), idempotency_key=idempotency_key
        )

    desk.serve(database, as_json, ask, tell.whole_booking)
