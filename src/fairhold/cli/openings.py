"""What needs staff: openings that nobody took, with the decision, and people whom nothing reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fairhold.cli import desk, options, tell
from fairhold.cli.options import Database, Json, Key, Pool, Staff, examples
from fairhold.cli.reach import why_not_reached
from fairhold.cli.words import clean, columns, count, name_of

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold
    from fairhold.overview import Unreached
    from fairhold.shapes import Booking, PoolState

_DONE = {
    "again": "is offered to the line again",
    "free": "is free for whoever comes",
    "close": "is closed",
}
_MEND: Final = (
    "Mend what is missing, such as: fairhold change BOOKING --email ADDRESS\n"
    "Or call them, and offer a seat with: fairhold offer BOOKING"
)
_SEND: Final = (
    "Call them; or send what is no longer tried again with: fairhold message replay MESSAGE\n"
    "Give them more time with: fairhold extend BOOKING, or, once it is over, fairhold put-back BOOKING"
)
_ANSWER: Final = (
    "Answer for them: fairhold booking BOOKING says how to claim, fairhold decline BOOKING says no."
)


def register(app: typer.Typer) -> None:
    app.command("needs-you", epilog=examples("fairhold needs-you", "fairhold needs-you salon --json"))(
        needs_you
    )
    app.command(
        epilog=examples("fairhold resolve salon 3 again", "fairhold resolve salon 3 close --staff Olga")
    )(resolve)


def needs_you(
    pool: Annotated[
        str | None, typer.Argument(metavar="POOL", help="The pool's key or id; all if not said.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also the openings that are still being offered.")
    ] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """List what waits for staff.

    Seats that nobody took, people to tell of an offer, people in line whom no offer reaches, and those who
    could not be told what became of their booking.
    """

    async def ask(hf: Fairhold) -> dict[str, Any] | Refusal:
        from msgspec.structs import asdict

        from fairhold.core.refusals import Refusal

        pools = await tell.all_pools(hf) if pool is None else [await hf.pool(pool)]
        keys, openings = dict[str, str](), list[dict[str, Any]]()
        for state in pools:
            if isinstance(state, Refusal):
                return state
            found = await hf.openings(state.id)
            if isinstance(found, Refusal):
                return found
            keys[state.id] = state.key
            listed = [it for it in found if every or it.state == "handed_back"]
            openings += [{"pool": state.key, **asdict(it)} for it in listed]
        needs = await hf.needs()
        return {
            "openings": openings,
            "to_tell": [it for it in needs.to_tell if it.pool in keys],
            "passed_over": [it for it in needs.passed_over if it.pool in keys],
            "unreached": [it for it in needs.unreached if it.pool in keys],
        }

    async def said(hf: Fairhold, needs: dict[str, Any]) -> str:
        parts = [
            await _openings(hf, needs["openings"], every),
            await _to_tell(hf, needs["to_tell"]),
            await _passed_over(hf, needs["passed_over"]),
            _unreached(needs["unreached"]),
        ]
        return "\n\n".join(filter(None, parts)) or "Nothing needs you."

    desk.serve(database, as_json, ask, said)


async def _openings(hf: Fairhold, openings: list[dict[str, Any]], every: bool) -> str:
    rows = []
    for it in openings:
        times = await tell.times_of(hf, it["pool"])
        what = clean(it["unit"]) if it["unit"] else f"{count(it['quantity'], 'seat')} of {clean(it['quota'])}"
        since = times.moment(it["opened_at"], zone=False)
        state = it["state"].replace("_", " ") if every else ""
        note = it["note"] or count(it["tries"], "offer")
        rows.append((it["pool"], it["number"], what, state, f"free since {since}", clean(note)))
    if not rows:
        return ""
    table = columns(rows, ("pool", "opening", "what", "state", "", ""))
    return table + "\n\nDecide with: fairhold resolve POOL OPENING again|free|close"


async def _to_tell(hf: Fairhold, offered: list[Booking]) -> str:
    """Name those who have an offer of which staff tell them: until when, and where one can call them."""
    pools = {it.id: it.key for it in await tell.all_pools(hf)}
    rows = []
    for it in offered:
        times = await tell.times_of(hf, it.pool)
        until = times.moment(it.expires_at) if it.expires_at else ""
        contacts = clean(", ".join(it.party.contacts.values()))
        rows.append((pools[it.pool], name_of(it.party), it.reference, f"offered until {until}", contacts))
    if not rows:
        return ""
    return "\n".join(["You tell them of these offers:", columns(rows), "", _ANSWER])


async def _passed_over(hf: Fairhold, waiting: list[Booking]) -> str:
    """Name those in line whom no offer can reach: why, and where one can call them."""
    pools = {it.id: it.key for it in await tell.all_pools(hf)}
    rows = [
        (
            pools[it.pool],
            f"#{it.position}",
            name_of(it.party),
            it.reference,
            why_not_reached(it),
            clean(", ".join(it.party.contacts.values())),
        )
        for it in waiting
    ]
    if not rows:
        return ""
    head = "In line, and cannot be told of an offer:"
    return "\n".join([head, columns(rows), "", _MEND])


def _unreached(letters: list[Unreached]) -> str:
    """Name those who were not told what became of their booking."""
    rows = [
        (it.message.id, name_of(it.booking.party), it.booking.reference, *_fate(it), clean(it.message.error))
        for it in letters
        if it.booking is not None
    ]
    if not rows:
        return ""
    head = "Do not know what became of their booking:"
    return "\n".join([head, columns(rows), "", _SEND])


def _fate(it: Unreached) -> tuple[str, str]:
    """Say of what a letter tells, with how its booking stands, and whether it is still tried."""
    assert it.booking is not None
    is_tried = "still tried" if it.message.state == "pending" else it.message.state.replace("_", " ")
    return f"{it.message.kind}: {it.booking.state}", is_tried


def resolve(
    pool: Pool,
    opening: Annotated[int, typer.Argument(metavar="OPENING", help="Its number, from needs-you.")],
    action: Annotated[
        str,
        typer.Argument(
            metavar="again|free|close", help="Offer it again, leave it to whoever comes, or close it."
        ),
    ],
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Decide on a handed-back opening. To give it to someone: fairhold book POOL PARTY --opening OPENING."""
    if action not in _DONE:
        raise options.bad("again|free|close", f"{action!r} is none of again, free and close.")

    async def said(hf: Fairhold, state: PoolState) -> str:
        return f"Opening {opening} of {state.key} {_DONE[action]}."

    asked: dict[str, Any] = {"by": options.member(staff), "idempotency_key": idempotency_key}
    desk.serve(database, as_json, lambda hf: hf.resolve(pool, opening, action, **asked), said)
