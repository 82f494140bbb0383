"""Why you are where you are: every decision about a booking, in plain sentences with stable codes.

Law: what is said comes from the log alone, but for the last step, `why_free`: why somebody in line does not
get a seat that is free now. Nothing happened there, so nothing was logged. A step's code and reason never
change their names; its sentence may be put better.

    codes    joined held confirmed completed offered told delayed not_reached reachable promoted claimed
             declined lapsed extended changed expired cancelled closed moved put_back demoted passed_over
    reasons  of passed_over: had_turn cooldown does_not_fit wants_other not_eligible quiet_hours unreachable
             attempts_used_up; among_others, where so many were passed over that not all are named; and of a
             seat that is free now: others_asked
             of closed: attempts_used_up pool_closed pool_cancelled pool_started demoted
             of declined and lapsed: stay back leave attempts_used_up; of claimed and demoted: part
             of promoted: held confirmed; of put_back: held confirmed waiting; of offered: staff
             of confirmed: waiting; of expired: not_confirmed
             of not_reached: no_channel no_contact dead_contact channel_down
             of changed, where it is about nothing else: told_by_staff told_by_channels
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from fairhold.core import events as e
from fairhold.core.commands import is_staff
from fairhold.core.model import (
    CLOSED,
    CONFIRMED,
    HELD,
    NOT_REACHED,
    WAITING,
    Group,
    Instant,
    Length,
    Wants,
)
from fairhold.core.policy import Policy

Logged = tuple[Instant, str, e.Event]


class Step(NamedTuple):
    """One thing that happened to a booking: when, by whom, what, why, and all of it in a sentence.

    `facts` are the figures in the sentence, for who says it in other words or another language.
    """

    at: Instant
    by: str
    code: str
    reason: str
    sentence: str
    facts: Mapping[str, Any] = {}


@dataclass(slots=True)
class _Known:
    """What the log has told of the booking so far: enough to know its group and its place."""

    number: int
    policy: Policy
    state: str = ""
    quota: str = ""
    quantity: int = 0
    round: int = 0
    wants: Wants | None = None
    place: int = 0
    attempts: int = 0
    is_unreachable: bool = False

    def group(self) -> dict[str, Any]:
        wants = self.wants.key if self.wants is not None else ""
        key = f"{NOT_REACHED}{wants}" if self.is_unreachable else wants
        return Group(self.quota, self.quantity, self.round, key)._asdict()


def explain(number: int, log: Iterable[Logged], policy: Policy) -> list[Step]:
    """The steps of one booking, from the pool's log or from that part of it which concerns the booking."""
    known, steps = _Known(number, policy), list[Step]()
    for at, by, event in log:
        if getattr(event, "booking", None) == number or getattr(event, "part", None) == number:
            code, reason, sentence = _TELL[type(event)](known, event, by)
            steps.append(Step(at, by, code, reason, sentence, _facts(known, event)))
        elif isinstance(event, e.Respread):
            known.place = dict(event.places).get(number, known.place)
        elif known.state == WAITING and (reason := _passed_over(known, event)):
            sentence = _passed_sentence(known, event, reason)
            facts = {"to": type(event).__name__.lower(), **_facts(known, None)}
            steps.append(Step(at, by, "passed_over", reason, sentence, facts))
    return steps


def _facts(known: _Known, event: e.Event | None) -> dict[str, Any]:
    """What the sentence speaks of: seats, units, positions, lengths in seconds, and the reason of staff."""
    names = ("position", "was", "priority", "units", "quantity", "why", "details")
    facts = {name: value for name in names if (value := getattr(event, name, None))}
    ends = getattr(event, "expires_at", None)
    if event is not None and ends is not None:
        facts["window_s"] = (ends - event.at) // 1000
    return {
        "seats": known.quantity,
        "attempts": known.attempts,
        "cooldown_s": known.policy.cooldown // 1000,
        **facts,
    }


def _passed_over(known: _Known, event: e.Event) -> str:
    """Why the booking was passed over when somebody else was found, or nobody was; empty if it was not."""
    if not isinstance(event, e.Offered | e.Promoted | e.HandedBack):
        return ""
    before, group = isinstance(event, e.HandedBack) or known.place < event.place, known.group()
    for skip in event.skipped:
        if skip.get("booking") == known.number or (before and skip.get("group") == group):
            return str(skip["reason"])
    # Who stood before and is not named was passed over for a reason of which there are more than are named.
    more = [skip["reason"] for skip in _unnamed(known, event)] if before else []
    return more[0] if len(more) == 1 else "among_others" if more else ""


def _unnamed(known: _Known, event: Any) -> list[Mapping[str, Any]]:
    """How many others of the booking's quota were passed over without being named, for each reason."""
    return [skip for skip in event.skipped if "more" in skip and skip.get("quota") == known.quota]


def _passed_sentence(known: _Known, event: e.Event, reason: str) -> str:
    if isinstance(event, e.HandedBack):
        what = "A free seat went back to staff"
    elif isinstance(event, e.Promoted):
        what = "A seat went to someone behind you"
    else:
        what = "A seat was offered to someone behind you"
    cooldown = span(known.policy.cooldown)
    because = {
        "had_turn": "you had had your turn",
        "cooldown": f"you had been offered one less than {cooldown} ago",
        "does_not_fit": f"it was not enough for your party of {known.quantity}",
        "wants_other": "it was not what you want",
        "not_eligible": "it was not open to you",
        "attempts_used_up": "your attempts were used up",
        "quiet_hours": "it would have begun before your quiet hours end",
        "unreachable": "nobody could tell you of it",
        "among_others": f"you are one of {_count(known, event)} who were passed over and are not named",
    }
    return f"{what}: {because.get(reason, reason)}."


def _count(known: _Known, event: e.Event) -> int:
    return sum(int(skip["more"]) for skip in _unnamed(known, event))


# What each event means for the booking that it is about: code, reason, sentence. Each notes what it tells.

Told = tuple[str, str, str]


def _joined(known: _Known, event: e.Joined, by: str) -> Told:
    known.state, known.quota, known.quantity = WAITING, event.quota, event.quantity
    known.place, known.wants = event.place, event.wants
    priority = f" Your priority is {event.priority}." if event.priority else ""
    confirm = ""
    if event.expires_at is not None:
        confirm = f" You had {span(event.expires_at - event.at)} to confirm."
    elif event.confirmed:
        confirm = " There is nothing to confirm."
    return "joined", "", f"You joined the line as #{event.position}.{priority}{confirm}"


def _held(known: _Known, event: e.Held, by: str) -> Told:
    known.quota, known.quantity, known.place = event.quota, event.quantity, event.place
    known.state = CONFIRMED if event.confirmed else HELD
    what = _seats(event.quantity, event.units)
    if event.confirmed or event.expires_at is None:
        return "confirmed", "", f"You were given {what}."
    return "held", "", f"You got {what}, held for {span(event.expires_at - event.at)}."


def _promoted(known: _Known, event: e.Promoted, by: str) -> Told:
    known.state = event.state
    what = _seats(known.quantity, event.units)
    hold = "" if event.expires_at is None else f", held for {span(event.expires_at - event.at)}"
    got = ". Staff gave you" if is_staff(by) else " when room became free: you got"
    return "promoted", event.state, f"You were #{event.position}{got} {what}{hold}."


def _offered(known: _Known, event: e.Offered, by: str) -> Told:
    known.state, known.round, known.place = "offered", event.round, event.place or known.place
    known.attempts += 1
    what, window = _seats(event.quantity, event.units), span(event.expires_at - event.at)
    if event.why:
        tell = " No letter reaches you, so they tell you themselves." if known.is_unreachable else ""
        return "offered", "staff", f"Staff offered you {what} for {window} ({event.why}).{tell}"
    return "offered", "", f"You were #{event.position} and were offered {what} for {window}."


def _claimed(known: _Known, event: e.Claimed, by: str) -> Told:
    what = _seats(event.quantity, event.units)
    if event.part is not None and event.part != known.number:
        known.state, known.round = WAITING, 0
        known.quantity -= event.quantity
        rest = _seats(known.quantity)
        return "claimed", "part", f"You accepted {what}, and stayed in line for {rest} more."
    known.state, known.quantity = event.state, event.quantity
    pay = f", held for {span(event.expires_at - event.at)}" if event.expires_at is not None else ""
    return "claimed", "", f"You accepted {what}{pay}."


def _declined(known: _Known, event: e.Declined, by: str) -> Told:
    reason, then = _after(known, event)
    return "declined", reason, f"You declined the offer. {then}"


def _lapsed(known: _Known, event: e.Lapsed, by: str) -> Told:
    reason, then = _after(known, event)
    return "lapsed", reason, f"The offer ended without an answer. {then}"


def _not_reached(known: _Known, event: e.NotReached, by: str) -> Told:
    known.state, known.round, known.attempts = WAITING, event.round, known.attempts - 1
    known.is_unreachable = True
    because = {
        "no_channel": "Nothing here could send you the offer",
        "no_contact": "There was no address to send you the offer to",
        "dead_contact": "The offer could not be delivered to you",
        "channel_down": "The offer could not be sent to you in time",
    }
    kept = "You kept your place in line, and it does not count as an offer."
    return "not_reached", event.reason, f"{because.get(event.reason, event.reason)}. {kept}"


def _told(known: _Known, event: e.Told, by: str) -> Told:
    was, known.is_unreachable = known.is_unreachable, False
    if event.seq is None and was:
        return "reachable", "", "You can be reached again."
    return "told", "", "The offer was sent to you."


def _delayed(known: _Known, event: e.Delayed, by: str) -> Told:
    return "delayed", "", "The offer could not be sent to you yet."


def _reachable(known: _Known, event: e.Reachable, by: str) -> Told:
    known.is_unreachable = False
    return "reachable", "", "You can be reached again."


def _completed(known: _Known, event: e.Completed, by: str) -> Told:
    return "completed", "", "You completed your signup and kept your place in line. Staff confirm it."


def _after(known: _Known, event: e.Declined | e.Lapsed) -> tuple[str, str]:
    same_place = event.place == known.place
    known.state, known.place = event.state, event.place
    if event.state == CLOSED:
        tries = "the only try" if known.attempts == 1 else f"the last of {known.attempts} tries"
        return "attempts_used_up", f"It was {tries}, so your place was closed."
    if event.state != WAITING:
        return "leave", "You left the line."
    if same_place:
        return "stay", "You kept your place in line."
    return "back", "You went to the end of the line."


def _confirmed(known: _Known, event: e.Confirmed, by: str) -> Told:
    if known.state == WAITING:
        who = "Staff confirmed it, and you" if is_staff(by) else "You confirmed, and"
        return "confirmed", "waiting", f"{who} kept your place in line."
    known.state = CONFIRMED
    return "confirmed", "", f"{_who(by)} confirmed it."


def _extended(known: _Known, event: e.Extended, by: str) -> Told:
    left = span(event.expires_at - event.at)
    return "extended", "", f"{_who(by)} extended the hold: {left} were left."


def _changed(known: _Known, event: e.BookingChanged, by: str) -> Told:
    if set(event.details) & {"contacts", "told_by_staff", "told_by_channels"}:
        known.is_unreachable = False
    reason = event.details[0] if len(event.details) == 1 else ""
    if reason == "told_by_staff":
        return "changed", reason, "From now on staff tell you of offers themselves."
    if reason == "told_by_channels":
        return "changed", reason, "Letters tell you of offers again."
    return "changed", "", f"{_who(by)} changed your details: {', '.join(event.details)}."


def _expired(known: _Known, event: e.Expired, by: str) -> Told:
    was, known.state = known.state, "expired"
    if was == WAITING:
        sentence = f"You had not confirmed in time and left the line, as #{event.position}."
        return "expired", "not_confirmed", sentence
    return "expired", "", "The hold ended without being confirmed."


def _cancelled(known: _Known, event: e.Cancelled, by: str) -> Told:
    was, known.state = known.state, "cancelled"
    why = f" ({event.why})" if event.why else ""
    where = f", as #{event.position}" if was == WAITING and event.position else ""
    what = f"left the line{where}" if was == WAITING and by == "party" else "cancelled it"
    return "cancelled", "", f"{_who(by)} {what}{why}."


def _closed(known: _Known, event: e.Closed, by: str) -> Told:
    known.state = CLOSED
    because = {
        "attempts_used_up": "Your attempts were used up, so your place was closed.",
        "pool_closed": "The line was closed.",
        "pool_cancelled": "It was called off.",
        "pool_started": "It has started, so the line was closed.",
        "demoted": "There was less room, and no place in line to go to: your booking ended.",
    }
    return "closed", event.why, because.get(event.why, f"It was closed: {event.why}.")


def _moved(known: _Known, event: e.Moved, by: str) -> Told:
    known.place = event.place
    why = f" ({event.why})" if event.why else ""
    return "moved", "", f"{_who(by)} moved you from #{event.was} to #{event.position}{why}."


def _put_back(known: _Known, event: e.PutBack, by: str) -> Told:
    known.state, known.place = event.state, event.place
    why = f" ({event.why})" if event.why else ""
    if event.state == WAITING:
        known.round = known.attempts = 0
        return "put_back", WAITING, f"Staff put you back in line, as #{event.position}{why}."
    hold = "" if event.expires_at is None else f", held for {span(event.expires_at - event.at)}"
    what = _seats(known.quantity, event.units)
    return "put_back", event.state, f"Staff gave you {what} again{hold}{why}."


def _demoted(known: _Known, event: e.Demoted, by: str) -> Told:
    if event.part == known.number:
        known.state = CLOSED
        sentence = f"There was less room: you wait for it together with the rest, as #{event.position}."
        return "demoted", "part", sentence
    known.state, known.place, known.round, known.attempts = WAITING, event.place, 0, 0
    known.quantity += event.quantity
    return "demoted", "", f"There was less room: you went back to the line, as #{event.position}."


_TELL: Final[Mapping[type[Any], Callable[[_Known, Any, str], Told]]] = {
    e.Joined: _joined,
    e.Held: _held,
    e.Promoted: _promoted,
    e.Offered: _offered,
    e.Claimed: _claimed,
    e.Declined: _declined,
    e.Lapsed: _lapsed,
    e.NotReached: _not_reached,
    e.Told: _told,
    e.Delayed: _delayed,
    e.Reachable: _reachable,
    e.Confirmed: _confirmed,
    e.Completed: _completed,
    e.Extended: _extended,
    e.BookingChanged: _changed,
    e.Expired: _expired,
    e.Cancelled: _cancelled,
    e.Closed: _closed,
    e.Moved: _moved,
    e.PutBack: _put_back,
    e.Demoted: _demoted,
}


def span(length: Length) -> str:
    """A length in words: 24 h, 1 h 30 min, 10 min, 45 s."""
    seconds = max(0, length) // 1000
    parts = ((seconds // 3600, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 s"


def _seats(quantity: int, units: tuple[str, ...] = ()) -> str:
    if units:
        return ", ".join(units[:-1]) + (" and " if len(units) > 1 else "") + units[-1]
    return "a seat" if quantity == 1 else f"{quantity} seats"


def _who(by: str) -> str:
    return "Staff" if is_staff(by) else "You"
