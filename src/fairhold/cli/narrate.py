"""The log, told: each event as a short sentence about the people in it, with the reason where it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fairhold.cli.reach import WHY
from fairhold.cli.words import clean, count, length, listed, price, seats
from fairhold.core.commands import is_staff

if TYPE_CHECKING:
    from fairhold.library import Fairhold

Facts = Mapping[str, Any]

# What is there for replaying the log, and tells people nothing that the other events do not.
QUIET: Final = frozenset({"PoolCreated", "OpeningStarted", "OpeningEnded", "Respread"})
_REASONS: Final = {
    "had_turn": "had a turn",
    "cooldown": "was asked too recently",
    "does_not_fit": "needs more seats",
    "wants_other": "wants something else",
    "not_eligible": "is not eligible",
    "attempts_used_up": "has no attempts left",
    "quiet_hours": "is asleep until it is too late",
    "unreachable": "cannot be told of an offer",
}
_GROUPS: Final = {
    "had_turn": "those who had a turn",
    "does_not_fit": "those who need more seats",
    "wants_other": "those who want something else",
    "unreachable": "those who cannot be told of an offer",
}


_OPENINGS: Final = ("the ", "staff ", "letters ", "unit", "round ", "places ", "room ")


class Told(NamedTuple):
    """A sentence without its full stop, and its tone: good, bad, ask or plain."""

    sentence: str
    tone: str = "plain"

    @property
    def alone(self) -> str:
        """The sentence as it stands by itself; what begins with a name begins as the name does."""
        opening = self.sentence.startswith(_OPENINGS)
        return self.sentence[:1].upper() + self.sentence[1:] if opening else self.sentence


async def names_in(hf: Fairhold, pool: str, numbers: Iterable[int]) -> dict[int | str, str]:
    """What to call some bookings of a pool, by their numbers and by their ids."""
    from fairhold import ids
    from fairhold.cli.words import name_of
    from fairhold.store import rows

    wanted = sorted(set(numbers))
    pool_id = await hf.reads.pool_id(pool, hf.org)
    if not wanted or pool_id is None:
        return {}
    found = await hf.store.reader().each("bookings_by_number", [(pool_id, number) for number in wanted])
    names: dict[int | str, str] = {}
    for booking in map(rows.booking_of, found):
        names[booking.number] = names[ids.booking_text(pool_id, booking.number)] = name_of(booking.party)
    return names


def numbers_in(entries: Iterable[Facts]) -> set[int]:
    """The numbers of the bookings that some events speak of."""
    from fairhold import ids

    found: set[int] = set()
    for facts in entries:
        skipped = [skip.get("booking") for skip in facts.get("skipped", ())]
        for name in (facts.get("booking"), facts.get("part"), *skipped):
            key = ids.booking_number(name) if isinstance(name, str) else None
            found |= {key[1]} if key else {name} if isinstance(name, int) else set()
    return found


class Narrator:
    """Tells events of one pool, with people by their names and openings by their units."""

    def __init__(self, names: Mapping[int | str, str], openings: Mapping[int, str] | None = None) -> None:
        self.names = names
        self.openings = dict(openings or {})
        # The pool's status as far as it was told.
        self.status = ""

    def tell(self, kind: str, facts: Facts, by: str = "") -> Told:
        if kind == "OpeningStarted" and facts.get("unit"):
            self.openings[facts["opening"]] = facts["unit"]
        return _TELL[kind](self, facts, by)

    def who(self, facts: Facts) -> str:
        name = facts["booking"]
        return self.names.get(name) or clean(str(facts.get("party") or f"booking {name}"))

    def passed_over(self, facts: Facts) -> str:
        """Who was passed over, and why."""
        groups: dict[str, list[str]] = {}
        for skip in facts.get("skipped", ()):
            if "booking" in skip:
                name = self.names.get(skip["booking"], f"booking {skip['booking']}")
                groups.setdefault(str(skip["reason"]), []).append(name)
            elif "group" in skip:
                groups.setdefault(f"group {skip['reason']}", [])
            else:
                groups[f"and {skip['more']} more"] = []
        told = []
        for reason, names in groups.items():
            if names:
                told.append(f"{listed(names)} ({_REASONS.get(reason, reason)})")
            else:
                told.append(_GROUPS.get(reason.removeprefix("group "), reason))
        return f", passing over {listed(told)}" if told else ""


def _why(facts: Facts) -> str:
    return f" ({clean(facts['why'])})" if facts.get("why") else ""


def _window(facts: Facts) -> str:
    return length((facts["expires_at"] - facts["at"]) / 1000)


def _joined(n: Narrator, facts: Facts, by: str) -> Told:
    many = f" for {count(facts['quantity'], 'seat')}" if facts["quantity"] > 1 else ""
    first = f", priority {facts['priority']}" if facts.get("priority") else ""
    done = ", confirmed" if facts.get("confirmed") else ""
    return Told(f"{n.who(facts)} joins the line{many} as #{facts['position']}{first}{done}")


def _held(n: Narrator, facts: Facts, by: str) -> Told:
    got = f"{n.who(facts)} gets {seats(facts['quantity'], facts['units'])}"
    cost = price(facts.get("price"))
    each = f" at {cost}{' each' if facts['quantity'] > 1 else ''}" if cost else ""
    if facts.get("confirmed") or not facts.get("expires_at"):
        return Told(f"{got}{each}, confirmed", "good")
    return Told(f"{got}{each}, held for {_window(facts)}")


def _promoted(n: Narrator, facts: Facts, by: str) -> Told:
    got = f" and gets {seats(1, facts['units'])}" if facts["units"] else ""
    how = f"held for {_window(facts)}" if facts.get("expires_at") else "confirmed"
    return Told(
        f"{n.who(facts)} moves up from #{facts['position']}{got}: {how}{n.passed_over(facts)}", "good"
    )


def _offered(n: Narrator, facts: Facts, by: str) -> Told:
    what = seats(facts["quantity"], facts["units"])
    sentence = f"{n.who(facts)} is offered {what} ({_window(facts)} to claim)"
    return Told(f"{sentence}{_why(facts)}{n.passed_over(facts)}", "ask")


def _claimed(n: Narrator, facts: Facts, by: str) -> Told:
    what = seats(facts["quantity"], facts["units"])
    how = "confirmed" if facts["state"] == "confirmed" else f"held for {_window(facts)}"
    if facts.get("part") is None:
        return Told(f"{n.who(facts)} claims {what}: {how}", "good")
    return Told(f"{n.who(facts)} claims {what}: {how}; for the rest the place in line stays", "good")


def _declined(n: Narrator, facts: Facts, by: str) -> Told:
    return Told(f"{n.who(facts)} declines and {_then(facts)}", "bad")


def _lapsed(n: Narrator, facts: Facts, by: str) -> Told:
    return Told(f"{n.who(facts)} did not answer in time and {_then(facts)}", "bad")


def _not_reached(n: Narrator, facts: Facts, by: str) -> Told:
    why = WHY.get(facts["reason"], clean(facts["reason"]))
    return Told(f"{n.who(facts)} cannot be told of the offer ({why}): it does not count", "bad")


def _told(n: Narrator, facts: Facts, by: str) -> Told:
    if facts.get("seq") is None:
        return _reachable(n, facts, by)
    return Told(f"the offer to {n.who(facts)} is sent")


def _reachable(n: Narrator, facts: Facts, by: str) -> Told:
    return Told(f"{n.who(facts)} can be told of offers again")


def _then(facts: Facts) -> str:
    then = {"waiting": "stays in line", "closed": "has no attempts left: the booking is closed"}
    return then.get(facts["state"], "leaves the line")


def _confirmed(n: Narrator, facts: Facts, by: str) -> Told:
    return Told(f"staff confirm {n.who(facts)}" if is_staff(by) else f"{n.who(facts)} confirms", "good")


def _extended(n: Narrator, facts: Facts, by: str) -> Told:
    return Told(f"the hold of {n.who(facts)} is extended: {_window(facts)} left")


def _details(n: Narrator, facts: Facts, by: str) -> Told:
    if tuple(facts["details"]) == ("told_by_staff",):
        return Told(f"staff tell {n.who(facts)} of offers themselves")
    if tuple(facts["details"]) == ("told_by_channels",):
        return Told(f"letters tell {n.who(facts)} of offers again")
    return Told(f"{listed(facts['details'])} of {n.who(facts)} changed")


def _expired(n: Narrator, facts: Facts, by: str) -> Told:
    if facts.get("position") is not None:
        return Told(
            f"{n.who(facts)} did not confirm in time and leaves the line (was #{facts['position']})", "bad"
        )
    return Told(f"the hold of {n.who(facts)} runs out", "bad")


def _cancelled(n: Narrator, facts: Facts, by: str) -> Told:
    if is_staff(by):
        return Told(f"staff cancel the booking of {n.who(facts)}{_why(facts)}", "bad")
    if facts.get("position") is not None:
        return Told(f"{n.who(facts)} leaves the line (was #{facts['position']}){_why(facts)}", "bad")
    return Told(f"{n.who(facts)} cancels{_why(facts)}", "bad")


def _closed(n: Narrator, facts: Facts, by: str) -> Told:
    because = {
        "attempts_used_up": "no attempts are left",
        "pool_closed": "the pool is closed",
        "pool_cancelled": "the pool is cancelled",
        "pool_started": "it has started",
        "demoted": "there is less room, and no place in line to go to",
    }
    return Told(
        f"the booking of {n.who(facts)} ends: {because.get(facts['why'], clean(facts['why']))}", "bad"
    )


def _moved(n: Narrator, facts: Facts, by: str) -> Told:
    return Told(f"staff move {n.who(facts)} from #{facts['was']} to #{facts['position']}{_why(facts)}")


def _put_back(n: Narrator, facts: Facts, by: str) -> Told:
    if facts["state"] == "waiting":
        return Told(f"staff put {n.who(facts)} back in line: #{facts['position']}{_why(facts)}")
    what = listed([clean(unit) for unit in facts["units"]]) if facts["units"] else "the place"
    return Told(f"staff give {n.who(facts)} {what} again: {facts['state']}{_why(facts)}", "good")


def _demoted(n: Narrator, facts: Facts, by: str) -> Told:
    return Told(f"{n.who(facts)} loses the place, as there is less room: #{facts['position']} in line", "bad")


def _handed_back(n: Narrator, facts: Facts, by: str) -> Told:
    unit = n.openings.get(facts["opening"])
    verb = "go" if not unit and facts["quantity"] > 1 else "goes"
    sentence = (
        f"{clean(unit or count(facts['quantity'], 'seat'))} {verb} back to staff: {clean(facts['note'])}"
    )
    return Told(sentence if "took it" in sentence else f"{sentence}{n.passed_over(facts)}", "bad")


def _round(n: Narrator, facts: Facts, by: str) -> Told:
    where = f" ({clean(facts['quota'])})" if facts.get("quota") else ""
    return Told(f"round {facts['round']} begins{where}: everyone has had a turn")


def _opening_ended(n: Narrator, facts: Facts, by: str) -> Told:
    how = {"again": "to be offered again", "freed": "free for everyone"}.get(facts["how"], facts["how"])
    return Told(f"{clean(n.openings.get(facts['opening']) or 'the opening')} is {how}")


def _changed(n: Narrator, facts: Facts, by: str) -> Told:
    pool = facts.get("pool")
    if pool is None:
        return Told(f"the pool is changed{_why(facts)}")
    was, n.status = n.status, pool["status"]
    if pool["status"] != "open" and pool["status"] != was:
        return Told(f"the pool is {pool['status']}{_why(facts)}")
    if was not in ("", "open") and pool["status"] == "open":
        return Told(f"the pool is open again{_why(facts)}")
    sizes = [f"{clean(quota['key'])} {_size(quota)}" for quota in pool["quotas"] if not quota["by_units"]]
    sizes += [f"open {pool['open_size']}"] if pool["open_size"] else []
    return Told(f"the pool is changed{f' ({listed(sizes)})' if sizes else ''}{_why(facts)}")


def _size(quota: Facts) -> str:
    return "unlimited" if quota["size"] is None else str(quota["size"])


def _created(n: Narrator, facts: Facts, by: str) -> Told:
    return Told("the pool is made")


def _units_added(n: Narrator, facts: Facts, by: str) -> Told:
    labels = [clean(unit["label"]) for unit in facts["units"]]
    if len(labels) > 6:
        labels = [*labels[:3], f"{len(labels) - 3} more"]
    several = len(labels) > 1
    return Told(f"{'units' if several else 'unit'} {listed(labels)} {'are' if several else 'is'} opened")


def _erased(n: Narrator, facts: Facts, by: str) -> Told:
    whose = count(len(facts["bookings"]), "booking")
    redacted = count(len(facts["entries"]), "entry", "entries")
    return Told(f"the person behind {whose} is forgotten ({redacted} redacted)")


_TELL: Final[Mapping[str, Callable[[Narrator, Facts, str], Told]]] = {
    "PoolCreated": _created,
    "PoolChanged": _changed,
    "UnitsAdded": _units_added,
    "Erased": _erased,
    "UnitClosed": lambda n, facts, by: Told(f"unit {clean(facts['label'])} is closed"),
    "Joined": _joined,
    "Held": _held,
    "Promoted": _promoted,
    "Offered": _offered,
    "Claimed": _claimed,
    "Declined": _declined,
    "Lapsed": _lapsed,
    "NotReached": _not_reached,
    "Told": _told,
    "Delayed": lambda n, facts, by: Told(f"the offer to {n.who(facts)} cannot be sent yet"),
    "Reachable": _reachable,
    "Confirmed": _confirmed,
    "Completed": lambda n, facts, by: Told(f"{n.who(facts)} has filled in everything", "good"),
    "Extended": _extended,
    "BookingChanged": _details,
    "Expired": _expired,
    "Cancelled": _cancelled,
    "Closed": _closed,
    "Moved": _moved,
    "PutBack": _put_back,
    "Respread": lambda n, facts, by: Told("places in line are spread out; the order stays"),
    "Demoted": _demoted,
    "RoundStarted": _round,
    "OpeningStarted": lambda n, facts, by: Told(
        f"{clean(facts.get('unit') or 'room in ' + facts['quota'])} is free"
    ),
    "OpeningReduced": lambda n, facts, by: Told(f"{count(facts['quantity'], 'seat')} stay with staff"),
    "OpeningEnded": _opening_ended,
    "HandedBack": _handed_back,
}
