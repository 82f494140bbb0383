"""Less room than is taken: who goes, and where to.

Law: seats that were set aside go first, then offers, which are nobody's seat yet, then the latest to arrive.
Who loses its seat goes to the head of the line; where there is none, its booking ends.
"""

from __future__ import annotations

from fairhold.core import events as e
from fairhold.core import line
from fairhold.core.model import KEEPS_PLACE, OFFERED, TAKES_ROOM, WAITING, Booking, Instant, Pool
from fairhold.core.obey import signup_ends
from fairhold.core.openings import take_aside
from fairhold.core.view import View
from fairhold.core.work import Work


def has_line(pool: Pool, now: Instant) -> bool:
    """Whether there is a line that who loses its seat can go to."""
    return pool.policy.promotion is not None and pool.over(now) is None


def losers(view: View, pool: Pool) -> list[Booking]:
    """Who must go, in quotas that are over their new size: first offers, then the latest to arrive."""
    used = {quota.key: view.tallies[quota.key].used for quota in pool.quotas if quota.key in view.tallies}
    sizes = {q.key: q.size for q in pool.quotas if q.size is not None and not q.by_units and q.key in used}

    def excess() -> int:
        return sum(max(0, used[key] - size) for key, size in sizes.items()) - pool.open_size

    if excess() <= 0:
        return []
    over = {key for key, size in sizes.items() if used[key] > size}
    view.require("takers", (tuple(sorted(over)), excess()))
    going: list[Booking] = []
    takers = [b for b in view.bookings.values() if b.quota in over and b.state in TAKES_ROOM]
    for booking in sorted(takers, key=lambda b: (b.state != OFFERED, -b.arrival, -b.number)):
        if excess() <= 0:
            break
        if used[booking.quota] > sizes[booking.quota]:
            used[booking.quota] -= booking.offer_quantity or booking.quantity
            going.append(booking)
    return going


def cut_aside(work: Work, pool: Pool) -> None:
    """Seats that were set aside are the first to go: those that have no room any more where they had it.

    With 3 seats, 1 taken and 2 aside, a size of 2 leaves 1 aside; and what had overflowed into the open share
    may stay there as long as that is large enough.
    """
    view = work.view
    # By quota, the seats that may stay aside, its own and those it had of the open share; and what is over.
    left, over = dict[str, int](), dict[str, int]()
    for quota in pool.quotas:
        tally, old = view.tallies.get(quota.key), view.pool.quota(quota.key)
        if tally is not None and quota.size is not None and not quota.by_units:
            own = old.size if old is not None and old.size is not None else quota.size
            overflowed = max(0, tally.used + tally.aside - own)
            left[quota.key] = max(0, min(tally.aside, quota.size + overflowed - tally.used))
            over[quota.key] = max(0, tally.used + left[quota.key] - quota.size)
    # The open share may have shrunk, too.
    excess = sum(over.values()) - pool.open_size
    for key in left:
        cut = max(0, min(excess, left[key], over[key]))
        left[key], excess = left[key] - cut, excess - cut
    aside = [o for o in view.openings.values() if o.state == "handed_back" and o.quota in left]
    for opening in sorted(aside, key=lambda o: -o.number):
        going = view.tallies[opening.quota].aside - left[opening.quota]
        if going > 0:
            take_aside(work, opening, min(going, opening.quantity), "closed")


def demote(work: Work, booking: Booking, pool: Pool) -> None:
    """Take a booking's room away: it waits again, alone or with the rest of its party, or it ends.

    What it waits for, and whether it can, is by the rules of the pool as it is about to be.
    """
    view = work.view
    others = [other for other in view.of_party(booking.party.id) if other.number != booking.number]
    in_line = [other for other in others if other.state in KEEPS_PLACE]
    rest = next((o for o in in_line if o.number == booking.split_from and o.state == WAITING), None)
    if rest is None and (in_line or not has_line(pool, work.now)):
        # One place in line is all a party may have, and this party has one; or there is no line to go to.
        work.emit(e.Closed(work.now, booking.number, "demoted"))
        work.tell("demoted", booking.number, position=None, units=list(booking.units))
        return
    # Who was only offered room has kept its place.
    place = booking.place if booking.state == OFFERED else line.place_at_front(view)
    position = line.position(view, place)
    if rest is not None:
        part = (booking.number, booking.quantity)
        event = e.Demoted(work.now, rest.number, place, position, rest.expires_at, *part, booking.price)
    else:
        confirmed = booking.confirmed_at is not None
        ends = signup_ends(pool.policy, booking.expires_at, confirmed=confirmed)
        # A price is locked with the seat, and an offer is nobody's seat yet.
        price = booking.price if booking.state != OFFERED else None
        event = e.Demoted(work.now, booking.number, place, position, ends, asked_price=price)
    work.emit(event)
    work.tell("demoted", event.booking, position=position)
