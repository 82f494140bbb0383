"""Bookings: book, confirm, cancel, extend, claim, decline, and looking at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk, options, tell
from fairhold.cli.options import (
    Booking,
    Database,
    DryRun,
    Json,
    Key,
    Limit,
    Opening,
    Pool,
    Staff,
    Why,
    examples,
)

if TYPE_CHECKING:
    from fairhold import shapes
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold


def register(app: typer.Typer) -> None:
    app.command(
        epilog=examples(
            "fairhold book flight-7 ann --name Ann --quantity 2 --quota economy",
            "fairhold book flight-7 ann --unit 12A,12B --price 150.00EUR",
            "fairhold book salon bea --name Bea --from 2026-03-07T13:00Z --until 2026-03-07T17:00Z",
            "fairhold book yoga dan --if-full refuse --dry-run",
        )
    )(book)
    app.command(epilog=examples("fairhold confirm K7PM2X"))(confirm)
    app.command(epilog=examples('fairhold cancel K7PM2X --why "ill"', "fairhold cancel K7PM2X --staff Olga"))(
        cancel
    )
    app.command(epilog=examples("fairhold extend K7PM2X", "fairhold extend K7PM2X 30m --staff Olga"))(extend)
    app.command(epilog=examples("fairhold claim K7PM2X", "fairhold claim K7PM2X --quantity 1"))(claim)
    app.command(epilog=examples("fairhold decline K7PM2X"))(decline)
    app.command("booking", epilog=examples("fairhold booking K7PM2X"))(show)
    app.command("bookings", epilog=examples("fairhold bookings yoga --state confirmed"))(listing)


Offer = Annotated[
    str,
    typer.Argument(
        metavar="OFFER", help="The offer's token; or the booking's reference, for its live offer."
    ),
]


def book(
    pool: Pool,
    party: Annotated[str, typer.Argument(metavar="PARTY", help="Who asks: an id of your choosing.")],
    quantity: Annotated[
        int | None,
        typer.Option("--quantity", "-n", min=1, metavar="SEATS", help="How many seats.  [default: 1]"),
    ] = None,
    quota: Annotated[
        str | None,
        typer.Option("--quota", metavar="QUOTA", help="Which share of the pool, if it has several."),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option("--unit", metavar="LABEL", help="These units: 12A, or 12A,12B. Repeatable."),
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What to call the party.")] = "",
    email: Annotated[str | None, typer.Option("--email", metavar="ADDRESS", help="Where to write.")] = None,
    phone: Annotated[str | None, typer.Option("--phone", metavar="NUMBER", help="Where to text.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag that rules look at. Repeatable.")
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option("--attribute", metavar="KEY=VALUE", help="What rules look at. Repeatable."),
    ] = None,
    wants: Annotated[
        str | None,
        typer.Option("--wants", metavar="JSON", help="The units that would do: a condition on attributes."),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Only units that start then or later: 2026-03-07T14:00Z."
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Only units that start then or earlier."),
    ] = None,
    if_full: Annotated[
        str | None, typer.Option("--if-full", metavar="refuse|wait", help="What to do when nothing is free.")
    ] = None,
    price: Annotated[
        str | None,
        typer.Option("--price", metavar="PRICE", help="The price per seat to lock, such as 150.00EUR."),
    ] = None,
    confirmed: Annotated[bool, typer.Option("--confirmed", help="Confirm at once, without a hold.")] = False,
    opening: Opening = None,
    idempotency_key: Key = None,
    dry_run: DryRun = False,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Ask for seats, or a place in line.

    Seats are held when there is room that nobody in line could use. Else there is a place in line, or a
    refusal where the pool has no line.
    """
    units = options.labels(unit)
    contacts = {kind: text for kind, text in (("email", email), ("phone", phone)) if text}
    who = {
        "id": party,
        "name": name,
        "contacts": contacts,
        "tags": tag or [],
        "attributes": options.pairs(attribute, "--attribute", options.plain),
    }
    asked: dict[str, Any] = {
        "quota": quota,
        "units": units,
        "if_full": if_full,
        "price": options.price(price),
        "wants": _wants(wants, from_, until),
        "opening": opening,
        "confirmed": confirmed,
        "by": options.person(staff),
        "idempotency_key": idempotency_key,
    }

    async def said(hf: Fairhold, answer: shapes.Booking | shapes.Outcome) -> str:
        from fairhold.shapes import Outcome

        if isinstance(answer, Outcome):
            return await tell.outcome(hf, pool, answer, dry_run=True)
        return await tell.booking(hf, answer)

    async def ask(hf: Fairhold) -> shapes.Booking | shapes.Outcome | Refusal:
        if asked["wants"]:
            asked["wants"] = options.in_zone(asked["wants"], await tell.zone_of(hf, pool))
        many = quantity or len(units) or 1
        if dry_run:
            return await hf.dry_run(lambda rehearsal: rehearsal.book(pool, who, many, **asked))
        return await hf.book(pool, who, many, **asked)

    desk.serve(database, as_json, ask, said)


def _wants(condition: str | None, from_: str | None, until: str | None) -> dict[str, Any] | None:
    wants = {
        "attributes": options.mapping(condition, "--wants"),
        "from_at": options.instant(from_, "--from"),
        "until_at": options.instant(until, "--until"),
    }
    given = {name: value for name, value in wants.items() if value is not None}
    return given or None


def confirm(
    booking: Booking,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Make a held booking final.

    A signup that still waits is confirmed too, and keeps its place in line.
    """
    by = options.person(staff)
    desk.serve(
        database,
        as_json,
        lambda hf: hf.confirm(booking, by=by, idempotency_key=idempotency_key),
        tell.booking,
    )


def cancel(
    booking: Booking,
    why: Why = "",
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Give a booking back, or leave the line."""
    asked: dict[str, Any] = {"why": why, "by": options.person(staff), "idempotency_key": idempotency_key}
    desk.serve(database, as_json, lambda hf: hf.cancel(booking, **asked), tell.booking)


def extend(
    booking: Booking,
    window: Annotated[
        str | None,
        typer.Argument(metavar="LENGTH", help="By how much: 15m, 1h30m. One hold window if not said."),
    ] = None,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Give a hold more time. The policy's total lifetime does not bind staff."""
    seconds, by = options.seconds(window, "LENGTH"), options.person(staff)
    desk.serve(
        database,
        as_json,
        lambda hf: hf.extend(booking, seconds, by=by, idempotency_key=idempotency_key),
        tell.booking,
    )


def claim(
    offer: Offer,
    quantity: Annotated[
        int | None,
        typer.Option(
            "--quantity", "-n", min=1, metavar="SEATS", help="Take only so many, where the policy allows it."
        ),
    ] = None,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Take what was offered."""

    async def ask(hf: Fairhold) -> shapes.Booking | Refusal:
        from fairhold.core.refusals import Refusal

        token = await _live_token(hf, offer)
        if isinstance(token, Refusal):
            return token
        return await hf.claim(token, quantity, by=options.person(staff), idempotency_key=idempotency_key)

    desk.serve(database, as_json, ask, tell.booking)


async def _live_token(hf: Fairhold, offer: str) -> str | Refusal:
    """The token as given, or that of a booking's live offer."""
    from fairhold.core.refusals import Refusal

    if "." in offer:
        return offer
    found = await hf.booking(offer, secret=True)
    if isinstance(found, Refusal):
        return found
    if found.offer is None:
        facts = {"booking": found.id, "state": found.state}
        return Refusal("not_possible", f"A booking that is {found.state} has no offer to claim.", None, facts)
    return found.offer.token


def decline(
    offer: Offer,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Say no to an offer. The next in turn gets it at once."""
    by = options.person(staff)
    desk.serve(
        database, as_json, lambda hf: hf.decline(offer, by=by, idempotency_key=idempotency_key), tell.booking
    )


def show(booking: Booking, database: Database = None, as_json: Json = False) -> None:
    """Show one booking.

    With the door that it came by, and who tells its party of offers if letters do not.
    """
    desk.serve(database, as_json, lambda hf: hf.booking(booking, secret=True), tell.whole_booking)


def listing(
    pool: Pool,
    state: Annotated[
        str | None,
        typer.Option(
            "--state", metavar="STATE", help="Only these: waiting, offered, held, confirmed, cancelled, …"
        ),
    ] = None,
    party: Annotated[str | None, typer.Option("--party", metavar="PARTY", help="Only this party's.")] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="BOOKING", help="Go on behind this one.")
    ] = None,
    limit: Limit = 100,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """List a pool's bookings, the oldest first."""

    async def ask(hf: Fairhold) -> list[shapes.Booking] | Refusal:
        return await hf.bookings(pool, state=state, party=party, after=after or 0, limit=limit)

    async def said(hf: Fairhold, found: list[shapes.Booking]) -> str:
        return await tell.people(hf, pool, found) if found else "No bookings."

    desk.serve(database, as_json, ask, said)
