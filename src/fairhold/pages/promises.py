"""What a page may promise somebody: who makes a booking final, and how whoever waits hears of their turn."""

from __future__ import annotations

from typing import Final, NamedTuple

from fairhold import ids
from fairhold.core.model import (
    BY_STAFF,
    CHANNEL_DOWN,
    CONFIRMED,
    DEAD_CONTACT,
    NO_CHANNEL,
    NO_CONTACT,
    PAGE,
    TAKES_ROOM,
    WAITING,
    Price,
    confirmed_by_staff,
)
from fairhold.pages.calls import Call
from fairhold.reads import Reads
from fairhold.shapes import Booking, PoolState, total_of
from fairhold.store import rows

# How whoever waits hears of their turn, where an offer can reach them: a letter says so, or only the page.
LETTER: Final = "letter"
LOOK: Final = "page"

# Why no offer can reach somebody, where they mend it themselves in the form.
THEIRS_TO_MEND: Final = frozenset({NO_CONTACT, DEAD_CONTACT})


class Terms(NamedTuple):
    """On what terms a booking becomes final: by whom, and what is to be paid for it, if anything."""

    by_staff: bool
    total: Price | None


async def terms_of(reads: Reads, pool: PoolState, booking: Booking) -> Terms:
    """Return the terms of a booking: see `core.obey.staff_confirm`."""
    confirm_by, price = pool.policy["confirm_by"], booking.price
    if booking.state not in TAKES_ROOM:
        if confirm_by != "party" and price is None and booking.state == WAITING:
            # The price that somebody in line has agreed to is not shown before there is room.
            key = ids.booking_number(booking.id)
            assert key is not None
            (row,) = await reads.reader().each("bookings_by_number", [key])
            price = rows.booking_of(row).asked_price
        price = price or pool.price
    total = total_of(price, booking.quantity) if price is not None and price.amount else None
    return Terms(confirmed_by_staff(confirm_by, price), total)


def yes_settles(pool: PoolState, booking: Booking, *, by_staff: bool) -> bool:
    """Return True if a claim makes the booking final; else its place is held first."""
    return booking.confirmed_at is not None or (pool.policy["claim_to"] == CONFIRMED and not by_staff)


async def way_to_tell(call: Call, pool: PoolState, booking: Booking) -> str:
    """Say how a party in line hears of its turn: LETTER, LOOK, BY_STAFF; or why no offer can reach it.

    Who came by a page has letters alone to hear from. Without them an offer would end at once, and the page
    says so before. For all others whoever let them in sees to it.
    """
    offers = pool.policy["promotion"] == "offer"
    if offers and booking.reach == CHANNEL_DOWN and not booking.party.contacts:
        # A program took no offer: an address is a way besides it, and theirs to give.
        return NO_CONTACT
    if booking.reach == BY_STAFF or (offers and booking.reach in (DEAD_CONTACT, CHANNEL_DOWN)):
        return booking.reach
    if await call.can_tell(booking.party.contacts):
        # A program may be told of the offer; who gave no address gets no letter all the same.
        return LETTER if booking.party.contacts else LOOK
    if not offers or (booking.door != PAGE and not booking.reach):
        return LOOK
    # Where there is a channel, what is missing is a contact that it leads to.
    return NO_CONTACT if await call.can_tell() else NO_CHANNEL
