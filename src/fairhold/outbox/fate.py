"""What becomes of a message after a try: how it is written down, and what the rules hear of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairhold.core import commands as c
from fairhold.core.model import (
    CHANNEL_DOWN,
    DEAD_CONTACT,
    OFFERED,
    PAGE,
    UNREACHABLE,
    WAITING,
    Instant,
)
from fairhold.messages.notice import Key, Notice
from fairhold.outbox.backoff import ATTEMPTS_MAX, delay
from fairhold.outbox.deliver import Try
from fairhold.store.base import Row


class Fate(NamedTuple):
    """How a try went, as the rows of a message and of its deliveries say it."""

    message: Row
    deliveries: Sequence[Row]


def fate_of(tried: Try, now: Instant, roll: float) -> Fate:
    """Return what is written down of a try."""
    attempts = tried.attempts
    if tried.nobody is not None and _waits_for_its_letter(tried.notice):
        return Fate(_message(tried.key, attempts, "pending", tried.nobody.sentence, now, roll), ())
    if tried.nobody is not None:
        return Fate((*tried.key, attempts, "not_sent", now, tried.nobody.sentence), ())
    if tried.is_dropped and (tried.has_other_way or not tried.before):
        return Fate((*tried.key, attempts, "dropped", now, ""), ())
    counted = min(attempts, ATTEMPTS_MAX - 1) if _is_never_given_up(tried.notice, now) else attempts
    here = [(it, _given_up_at_last(it.state, counted)) for it in tried.deliveries]
    states = {state for _, state in here} | set(tried.before.values())
    # Sent, when all were told; dead, when somebody never will be and the rest are settled.
    state = "pending" if "pending" in states else "dead" if "dead" in states else "sent"
    error = "; ".join(f"{it.target.name}: {it.error}" for it in tried.deliveries if it.error)
    if state == "dead" and _waits_for_another_way(tried):
        state = "pending"
        error = error or "; ".join(f"{name}: given up" for name in sorted(tried.before))
    rows = [(*tried.key, it.target.name, told, now, it.error) for it, told in here]
    return Fate(_message(tried.key, attempts, state, error, now, roll), rows)


def fate_of_failure(key: Key, attempts: int, error: Exception, now: Instant, roll: float) -> Fate:
    """Return what is written down where even the try failed: it comes again, and is given up in the end."""
    said = f"{type(error).__name__}: {error}"
    return Fate(_message(key, attempts, _given_up_at_last("pending", attempts), said, now, roll), ())


def news_of(tried: Try) -> c.Command | None:
    """Return the command by which the rules hear how a message fared, if they need to."""
    notice, booking = tried.notice, tried.notice.booking
    if notice.to != "party" or booking is None:
        return None
    if notice.kind != "offer":
        again = booking.reach in UNREACHABLE and tried.reached_party
        return c.NoteTold(booking.number) if again else None
    seq = notice.facts["seq"]
    if tried.has_other_way and _waits_for_its_letter(notice):
        return c.NoteReachable(booking.number)
    if tried.carried:
        return c.NoteTold(booking.number, seq)
    if tried.delayed:
        return c.NoteDelayed(booking.number, seq)
    nobody = tried.given_up
    if nobody is None or (nobody.reason != DEAD_CONTACT and booking.door != PAGE):
        # Whoever let them in, but at a page, tells them: also where a program was told once, and is gone.
        return None
    tried_at = booking.party.contacts
    return c.Unreachable(booking.number, seq, nobody.reason, nobody.sentence, contacts=tried_at)


def _message(key: Key, attempts: int, state: str, error: str, now: Instant, roll: float) -> Row:
    due_at = now + delay(attempts, roll) if state == "pending" else now
    return (*key, attempts, state, due_at, error)


def _is_never_given_up(notice: Notice, now: Instant) -> bool:
    """Return True for an offer that can still be answered, or that no channel took in time.

    In the second case offers pass its party over until a letter to it is taken, and that may be this one.
    """
    booking = notice.booking
    if notice.kind != "offer" or booking is None:
        return False
    # Offered still, though the window is over: the rules are about to say so.
    runs = booking.state == OFFERED or bool(notice.facts.get("expires_at", 0) > now)
    return runs or _waits_for_its_letter(notice)


def _waits_for_its_letter(notice: Notice) -> bool:
    """Return True if a letter brings an offer that no channel took in time, and its party is passed over."""
    booking = notice.booking
    if notice.kind != "offer" or booking is None:
        return False
    return booking.state == WAITING and booking.reach == CHANNEL_DOWN


def _waits_for_another_way(tried: Try) -> bool:
    """Return True if every target has given up an offer, and its party is passed over for it or about to be.

    Such a letter is looked at again and again: a mail server that is set up or a program that is added later
    is a target that has not been tried, and reaches the party. Those that have given up are not asked again.
    """
    booking, news = tried.notice.booking, news_of(tried)
    if booking is None or _waits_for_its_letter(tried.notice):
        return booking is not None
    ends = isinstance(news, c.Unreachable) and news.reason == CHANNEL_DOWN and news.seq == booking.offer_seq
    return ends and booking.state == OFFERED


def _given_up_at_last(state: str, attempts: int) -> str:
    return "dead" if state == "pending" and attempts >= ATTEMPTS_MAX else state
