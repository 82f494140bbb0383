"""Answers in words: a booking, what a command would do, a line of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhold.cli.narrate import QUIET, Narrator, names_in, numbers_in
from fairhold.cli.reach import door_of, reach_note, reach_of
from fairhold.cli.words import Times, columns, count, name_of, price, seats, style

if TYPE_CHECKING:
    from fairhold.library import Fairhold
    from fairhold.shapes import Booking, Outcome, PoolState

_MESSAGES = {
    "offer": "an offer",
    "promoted": "a place",
    "confirmed": "the confirmation",
    "joined": "a place in line",
    "lapsed": "that the time is over",
    "cancelled": "the cancellation",
    "demoted": "that the place is lost",
    "put_back": "that the booking is put back",
    "attempts_used_up": "that no attempts are left",
    "handed_back": "that it came back",
    "hold_ending": "that the hold is about to end",
    "unreachable": "that somebody could not be reached",
}


async def times_of(hf: Fairhold, pool: str) -> Times:
    """How to show instants of a pool."""
    from fairhold.clock import to_datetime

    pool_id = await hf.reads.pool_id(pool, hf.org)
    zone = (await hf.reads.view(pool_id)).pool.time_zone if pool_id is not None else "UTC"
    return Times(zone, to_datetime(hf.clock.now()))


async def all_pools(hf: Fairhold) -> list[PoolState]:
    """Every pool, page by page."""
    from fairhold import ids
    from fairhold.reads import PAGE_MAX

    found: list[PoolState] = []
    while page := await hf.reads.pools(hf.org, ids.pool_number(found[-1].id) or 0 if found else -1, PAGE_MAX):
        found += page
        if len(page) < PAGE_MAX:
            break
    return found


async def zone_of(hf: Fairhold, pool: str) -> str:
    return (await times_of(hf, pool)).zone.key


async def booking(hf: Fairhold, b: Booking) -> str:
    """One line: where it stands, until when, and its reference."""
    sentence = await standing(hf, b)
    lines = [f"{sentence} Reference {style(b.reference, 'bold')}"]
    if b.state == "offered" and b.offer is not None:
        lines.append(f"Claim with: fairhold claim {b.offer.token}")
    return "\n".join(lines)


async def whole_booking(hf: Fairhold, b: Booking) -> str:
    """Where it stands, how it came, and who tells its party of offers."""
    how = ". ".join(text[:1].upper() + text[1:] for text in (door_of(b), reach_of(b)) if text)
    return f"{await booking(hf, b)}\n{how}."


async def standing(hf: Fairhold, b: Booking) -> str:
    """Where a booking stands, as a sentence."""
    times, who = await times_of(hf, b.pool), name_of(b.party)
    what = f"{seats(b.quantity, b.units)} " if b.quantity > 1 or b.units else ""
    until = f"until {times.moment(b.expires_at)} ({times.left(b.expires_at)})" if b.expires_at else ""
    cost = f", {price(b.total)}" if b.total else ""
    if b.state == "held":
        return f"Held {what}for {who} {until}{cost}."
    if b.state == "confirmed":
        return f"Confirmed {what}for {who}{cost}."
    if b.state == "offered":
        offered = f"{seats(b.offer.quantity if b.offer else b.quantity, b.units)} "
        return f"Offered {offered}to {who} {until}{cost}."
    if b.state == "waiting":
        if b.confirmed_at:
            until = ", confirmed"
        elif until:
            until = f", to be confirmed {until}"
        return f"{who} is #{b.position} in line{f' for {what.strip()}' if what else ''}{until}."
    was = f", was #{b.position} in line" if b.position else ""
    return f"{b.state.capitalize()}: {seats(b.quantity)} for {who}{was}."


async def outcome(hf: Fairhold, pool: str, it: Outcome, *, dry_run: bool) -> str:
    """What happened or would happen, and who is told. The refusal of a dry run is the desk's to say."""
    from fairhold import ids

    pool_id = await hf.reads.pool_id(pool, hf.org)
    names = await names_in(hf, pool, numbers_in(it.events))
    for event in it.events:
        if event["event"] in ("Joined", "Held"):
            names[event["booking"]] = event["party"]
    narrator = Narrator(names, await openings_of(hf, pool))
    lines = []
    for event in it.events:
        told = narrator.tell(event["event"], event, event["by"])
        if event["event"] not in QUIET:
            lines.append(f"  {told.sentence}")
    if not lines and it.answer is not None:
        return ""
    if not lines:
        lines = ["  nothing"]
    head = "Would happen:" if dry_run else "Happened:"
    text = "\n".join([head, *lines])
    told_to = []
    for message in it.messages:
        key = message["booking"]
        number = ids.booking_number(key) if isinstance(key, str) and pool_id is not None else None
        who = "staff" if message["to"] == "staff" else names.get(key if number else "", "someone")
        told_to.append(f"  {who}: {_MESSAGES.get(message['kind'], message['kind'])}")
    if told_to:
        text += "\n" + "\n".join(["Would be told:" if dry_run else "Will be told:", *told_to])
    return text


async def openings_of(hf: Fairhold, pool: str) -> dict[int, str]:
    """The units of a pool's live openings, by number."""
    pool_id = await hf.reads.pool_id(pool, hf.org)
    found = await hf.reads.openings(pool_id) if pool_id is not None else []
    return {opening.number: opening.unit for opening in found if opening.unit}


async def people(hf: Fairhold, pool: str, bookings: list[Booking]) -> str:
    """Bookings as a table."""
    times = await times_of(hf, pool)
    quotas = {b.quota for b in bookings}
    rows = [
        (
            f"#{b.position}" if b.state == "waiting" else "",
            name_of(b.party),
            b.state,
            seats(b.quantity, b.units),
            b.quota if len(quotas) > 1 else "",
            times.left(b.expires_at) if b.expires_at else "",
            "confirmed" if b.state == "waiting" and b.confirmed_at else "",
            count(b.attempts, "offer") if b.attempts else "",
            reach_note(b),
            f"since {times.moment(b.created_at, zone=False)}",
            b.reference,
        )
        for b in bookings
    ]
    return columns(rows)
