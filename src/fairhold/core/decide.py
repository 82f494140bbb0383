"""The door. Every command, from people, staff and timers alike, is decided here, always in one order:

    expire what is due → obey the command → fill what is free

Law: a decision is a function of the view, the command and `now`. A refusal changes nothing, though
what was due has expired all the same: that is a fact, whoever came by to notice it. At both ends nothing is
oversold; that no unit is given twice, the view sees to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core import obey, pools, staff
from fairhold.core.book import book
from fairhold.core.fill import fill
from fairhold.core.line import position_of
from fairhold.core.model import CHANNEL_DOWN, CONFIRMED, HELD, OFFERED, WAITING, Booking, Instant, Offer
from fairhold.core.openings import end_openings
from fairhold.core.put_back import put_back
from fairhold.core.refusals import Refusal, unknown
from fairhold.core.room import overflow
from fairhold.core.view import View
from fairhold.core.work import Decision, Done, Work

# So many bookings of a closed pool are ended in one decision; the next tick goes on. A store brings 200 at a
# time (its DUE_MAX), so this is for a view that knows more, of what was decided before. See decision 11.
WIND_DOWN_MAX: Final = 500


def decide(view: View, command: c.Command, now: Instant) -> Decision:
    """What comes of a command. The view is changed accordingly: take it back if the answer is not used."""
    work = Work(view, now, command.by)
    if isinstance(command, c.CreatePool):
        answer = pools.create_pool(work, command)
        return Decision(work.entries, work.messages, answer)
    if not view.entered:
        # Once for all decisions on a view: each leaves it as it wants to find it.
        assert overflow(view, aside=False) <= view.pool.open_size, "no_oversell"
        view.entered = True
    if view.due_at is not None and view.due_at <= now:
        expire(work)
        # It may have begun meanwhile: then nobody in line is asked or answered as if it had not.
        wind_down(work)
    if isinstance(command, c.Tick) and _line_is_late(view, now):
        # So much is due that it comes in pieces: nobody is promoted who may be past the deadline, too. Only a
        # tick meets such a view, for where more is due than was loaded a batch sends one before any command.
        return Decision(work.entries, work.messages, Done())
    if isinstance(command, c.Fill):
        fill(work, command.steps)
        answer = Done()
    else:
        answer = _OBEY[type(command)](work, command)
        fill(work)
    if view.pool.status != "open" or view.pool.starts_at is not None:
        # This command may have closed it; or there is somebody in line now who must be ended when it starts.
        wind_down(work)
    if view.openings:
        end_openings(work)
    assert overflow(view, aside=False) <= view.pool.open_size, "no_oversell"
    return Decision(work.entries, work.messages, answer)


def expire(work: Work) -> None:
    """End what is due, in the order in which it fell due."""
    view, now = work.view, work.now
    timed = [(b.expires_at, b.number, b) for b in view.bookings.values() if b.expires_at is not None]
    # From here on the next deadline is the first after now, of what is loaded and of what is not. To wake for
    # the start or the end of a cooldown is asked for again by `wind_down` and `fill`.
    view.due_at = view.later_due_at
    for at, _, _ in timed:
        if at > now:
            view.wake(at)
    for _, _, booking in sorted(late for late in timed if late[0] <= now):
        if booking.state == OFFERED and obey.was_never_told(view, booking):
            obey.end_untold(work, booking, CHANNEL_DOWN, by="clock")
        elif booking.state == OFFERED:
            obey.end_offer(work, booking, lapsed=True)
        else:
            work.emit(e.Expired(now, booking.number, position_of(view, booking)), by="clock")
            work.tell("lapsed", booking.number, was=booking.state, units=list(booking.units))


def _line_is_late(view: View, now: Instant) -> bool:
    """Whether there may be somebody in line whose deadline has passed, and who was not loaded yet."""
    more_due = view.later_due_at is not None and view.later_due_at <= now
    return more_due and view.pool.policy.promotion == "auto"


def wind_down(work: Work) -> None:
    """End the line once a pool is closed or started, and everything of a cancelled one; each is told."""
    view, pool = work.view, work.view.pool
    why = pool.over(work.now)
    ending = (WAITING, OFFERED, HELD, CONFIRMED) if why == "cancelled" else (WAITING, OFFERED)
    if not _any_left(view, ending):
        return
    if why is None:
        if pool.starts_at is not None:
            view.wake(pool.starts_at)
        return
    view.require("in_play", ending)
    left = sorted((b for b in view.bookings.values() if b.state in ending), key=lambda b: b.place)
    in_line = [b for b in left if b.state == WAITING]
    ended = [b for b in left if b.state != WAITING][:WIND_DOWN_MAX]
    for booking in ended:
        work.emit(e.Closed(work.now, booking.number, f"pool_{why}"), by="rule")
    # From the back, so that nobody moves up meanwhile: each keeps the position that was its last.
    while in_line and len(ended) < WIND_DOWN_MAX:
        at = position_of(view, in_line[-1])
        if at != view.waiting:
            # Somebody behind was not loaded: first those.
            break
        work.emit(e.Closed(work.now, in_line[-1].number, f"pool_{why}", at), by="rule")
        ended.append(in_line.pop())
    # But the first in line are told first.
    for booking in sorted(ended, key=lambda b: b.place):
        work.tell("cancelled", booking.number, why=f"pool_{why}", units=list(booking.units))
    if _any_left(view, ending):
        view.wake(work.now)


def _any_left(view: View, states: tuple[str, ...]) -> bool:
    used = any(tally.used for tally in view.tallies.values()) if HELD in states else view.offers_live
    return bool(used or view.waiting)


Rule = Callable[[Work, Any], Done | Refusal]


def _of_booking(rule: Callable[[Work, Any, Booking], Done | Refusal]) -> Rule:
    """A rule about one booking, which is refused as unknown if there is none."""

    def obeyed(work: Work, command: Any) -> Done | Refusal:
        booking = work.view.bookings.get(command.booking)
        return rule(work, command, booking) if booking else unknown("booking", command.booking)

    return obeyed


def _of_offer(rule: Callable[[Work, Any, Booking, Offer], Done | Refusal]) -> Rule:
    """A rule about one offer, which is refused as unknown if there is none."""

    def obeyed(work: Work, command: Any) -> Done | Refusal:
        booking = work.view.bookings.get(command.booking)
        offer = work.view.offers.get((command.booking, command.seq))
        return rule(work, command, booking, offer) if booking and offer else unknown("offer", command.seq)

    return obeyed


_OBEY: Final[Mapping[type[c.Command], Rule]] = {
    c.Book: book,
    c.Confirm: _of_booking(obey.confirm),
    c.Cancel: _of_booking(obey.cancel),
    c.Extend: _of_booking(obey.extend),
    c.Claim: _of_offer(obey.claim),
    c.Decline: _of_booking(obey.decline),
    c.Unreachable: _of_offer(obey.unreachable),
    c.NoteTold: _of_booking(obey.note_told),
    c.NoteDelayed: _of_offer(obey.note_delayed),
    c.NoteReachable: _of_booking(obey.note_reachable),
    c.ChangeBooking: _of_booking(obey.change_booking),
    c.ChangePool: pools.change_pool,
    c.AddUnits: pools.add_units,
    c.CloseUnit: pools.close_unit,
    c.GiveOffer: _of_booking(staff.offer),
    c.Move: _of_booking(staff.move),
    c.PutBack: _of_booking(put_back),
    c.Resolve: staff.resolve,
    c.Tick: lambda work, command: Done(),
}
