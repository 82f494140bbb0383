"""The auditor's own books: what the log says, entry by entry, in plain dictionaries.

Written from the glossary, not from the rules: nothing here is shared with the core.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from sim.records import Entry

TAKING = ("offered", "held", "confirmed")


@dataclass(slots=True)
class Place:
    """A booking as the log tells of it."""

    party: str
    quota: str
    quantity: int
    state: str
    place: int = 0
    units: tuple[str, ...] = ()
    offer: int | None = None
    # How many seats the live offer is for.
    offered: int = 0
    offers: int = 0
    wants: Any = None
    whole: bool = True
    # Whether it was said to be confirmed, be it while it waited.
    confirmed: bool = False

    @property
    def taken(self) -> int:
        if self.state == "offered":
            return self.offered
        return self.quantity if self.state in TAKING else 0


@dataclass(slots=True)
class Ledger:
    pool: int
    sizes: dict[str, int | None] = field(default_factory=dict)
    by_units: set[str] = field(default_factory=set)
    open_size: int = 0
    units: dict[str, str] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    # Openings that staff have given up to whoever comes, by their quota.
    openings: dict[int, str] = field(default_factory=dict)
    freed: set[int] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def read(self, entry: Entry) -> None:
        facts = json.loads(entry.body)
        take = getattr(self, f"_{entry.kind}", None)
        if take is None:
            self.say("log_tells_all", entry, f"nobody knows what {entry.kind} is")
            return
        take(entry, facts)

    def say(self, promise: str, entry: Entry, sentence: str) -> None:
        self.wrong.append(f"{promise}: entry {entry.seq} ({entry.kind}): {sentence}")

    # What the line and the room look like.

    def line(self) -> list[int]:
        waiting = [(it.place, number) for number, it in self.places.items() if it.state == "waiting"]
        return [number for _, number in sorted(waiting)]

    def check_room(self, entry: Entry) -> None:
        """No seat is given twice. A quota of units is held to its units alone: some are past, or closed."""
        numbered = 0
        for quota, size in self.sizes.items():
            if quota in self.by_units or size is None:
                continue
            used = sum(it.taken for it in self.places.values() if it.quota == quota)
            numbered += max(0, used - size)
        if numbered > self.open_size:
            self.say(
                "no_oversell", entry, f"{numbered} beyond the quotas, and the open share is {self.open_size}"
            )
        taken = [unit for it in self.places.values() if it.state in TAKING for unit in it.units]
        if len(taken) != len(set(taken)):
            twice = sorted({unit for unit in taken if taken.count(unit) > 1})
            self.say("no_oversell", entry, f"given twice: {', '.join(twice)}")

    def check_position(self, entry: Entry, number: int, position: int | None) -> None:
        line = self.line()
        here = line.index(number) + 1 if number in line else None
        if position is not None and here is not None and here != position:
            self.say("contiguous", entry, f"said to be number {position} in line, and is {here}")

    # Entries, each by its name in the log.

    def _PoolCreated(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        pool = facts["pool"]
        self.sizes = {quota["key"]: quota["size"] for quota in pool["quotas"]}
        self.by_units = {quota["key"] for quota in pool["quotas"] if quota.get("by_units")}
        self.open_size = pool["open_size"]

    _PoolChanged = _PoolCreated

    def _UnitsAdded(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        for unit in facts["units"]:
            self.units[unit["label"]] = unit["quota"]

    def _UnitClosed(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self.units.pop(facts["label"], None)

    def _begin(self, entry: Entry, facts: dict[str, Any], state: str) -> int:
        number = facts["booking"]
        if number in self.places:
            self.say("log_tells_all", entry, f"booking {number} begins twice")
        made = Place(facts["party"], facts["quota"], facts["quantity"], state, facts["place"])
        self.places[number] = made
        return int(number)

    def _Joined(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._check_alone(entry, facts["party"])
        number = self._begin(entry, facts, "waiting")
        self.places[number].wants, self.places[number].confirmed = facts["wants"], facts["confirmed"]
        self.check_position(entry, number, facts["position"])

    def _check_alone(self, entry: Entry, party: str) -> None:
        for other in self.places.values():
            if other.party == party and other.state in ("waiting", "offered"):
                self.say("one_place_in_line", entry, f"{party} waits already")

    def _Held(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._check_nobody_jumped(entry, facts)
        number = self._begin(entry, facts, "confirmed" if facts["confirmed"] else "held")
        self.places[number].units, self.places[number].confirmed = tuple(facts["units"]), facts["confirmed"]
        self.check_room(entry)

    def _check_nobody_jumped(self, entry: Entry, facts: dict[str, Any]) -> None:
        """A newcomer gets no room past somebody who never had a chance and asked for no more of the same."""
        freed = any(self.openings[opening] == facts["quota"] for opening in self.freed)
        if entry.by.startswith("staff") or freed:
            return
        for number, it in self.places.items():
            same = it.quota == facts["quota"] and it.quantity <= facts["quantity"] and it.wants is None
            if it.state == "waiting" and same and not it.offers and not facts["units"]:
                self.say("nobody_jumps", entry, f"{facts['party']} got room past booking {number}")

    def _known(self, entry: Entry, facts: dict[str, Any], *states: str) -> Place:
        found = self.places.get(facts["booking"])
        if found is None:
            self.say("log_tells_all", entry, "no such booking")
            return Place("", next(iter(self.sizes)), 0, "")
        if states and found.state not in states:
            self.say("log_tells_all", entry, f"it was {found.state}, which cannot be")
        return found

    def _Promoted(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts, "waiting")
        self.check_position(entry, facts["booking"], facts["position"])
        ahead = self.line()[: max(0, facts["position"] - 1)]
        for number in ahead:
            other = self.places[number]
            if other.quota == it.quota and other.quantity <= it.quantity and other.wants is None:
                self.say("nobody_jumps", entry, f"booking {number} stood before it and wants no more")
        self._check_stays_confirmed(entry, it, facts["state"])
        it.state, it.units, it.confirmed = (
            facts["state"],
            tuple(facts["units"]),
            facts["state"] == "confirmed",
        )
        self.check_room(entry)

    def _check_stays_confirmed(self, entry: Entry, it: Place, state: str) -> None:
        if it.confirmed and state != "confirmed":
            self.say("nothing_lost", entry, "it was confirmed, and has to confirm")

    def _Offered(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts, "waiting")
        if it.offer is not None:
            self.say("one_live_offer", entry, "it has one")
        self.check_position(entry, facts["booking"], facts["position"])
        it.state, it.offer, it.offered = "offered", facts["seq"], facts["quantity"]
        it.offers += 1
        it.units = tuple(facts["units"])
        self.check_room(entry)

    def _answered(self, entry: Entry, facts: dict[str, Any]) -> Place:
        it = self._known(entry, facts, "offered")
        if it.offer != facts["seq"]:
            self.say("one_live_offer", entry, f"answers offer {facts['seq']}, and {it.offer} is the live one")
        it.offer, it.offered = None, 0
        return it

    def _Claimed(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._answered(entry, facts)
        units = tuple(facts["units"])
        self._check_stays_confirmed(entry, it, facts["state"])
        if facts["part"] is None:
            it.state, it.quantity, it.units = facts["state"], facts["quantity"], units or it.units
        else:
            part = Place(it.party, it.quota, facts["quantity"], facts["state"], it.place, units, whole=False)
            self.places[facts["part"]] = part
            it.state, it.units, it.offers = "waiting", (), 0
            it.quantity -= facts["quantity"]
        self.check_room(entry)

    def _Declined(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._answered(entry, facts)
        it.state, it.place, it.units = facts["state"], facts["place"], ()

    _Lapsed = _Declined

    def _Confirmed(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts, "held", "waiting")
        it.state, it.confirmed = "confirmed" if it.state == "held" else it.state, True

    def _Extended(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._known(entry, facts, "held")

    def _BookingChanged(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._known(entry, facts)

    def _ended(self, entry: Entry, facts: dict[str, Any], state: str) -> None:
        it = self._known(entry, facts, "waiting", *TAKING)
        self.check_position(entry, facts["booking"], facts["position"])
        it.state, it.units, it.offer, it.offered = state, (), None, 0

    def _Expired(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        if self._known(entry, facts).confirmed:
            self.say("nothing_lost", entry, "it was confirmed, and expires all the same")
        self._ended(entry, facts, "expired")

    def _Cancelled(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._ended(entry, facts, "cancelled")

    def _Closed(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._ended(entry, facts, "closed")

    def _Moved(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts, "waiting")
        self.check_position(entry, facts["booking"], facts["was"])
        it.place = facts["place"]
        self.check_position(entry, facts["booking"], facts["position"])

    def _PutBack(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts, "expired", "cancelled", "closed", "declined")
        if facts["state"] == "waiting":
            self._check_alone(entry, it.party)
        it.state, it.place, it.units, it.offers = facts["state"], facts["place"], tuple(facts["units"]), 0
        self.check_position(entry, facts["booking"], facts["position"])
        self.check_room(entry)

    def _Respread(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        before = self.line()
        for number, place in facts["places"]:
            self.places[number].place = place
        if self.line() != before:
            self.say("contiguous", entry, "the line has another order than before")

    def _Demoted(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts)
        if facts["part"] is not None:
            self.places[facts["part"]].state = "closed"
            self.places[facts["part"]].units = ()
            it.quantity += facts["quantity"]
        else:
            it.units, it.offer, it.offered = (), None, 0
        it.state, it.place = "waiting", facts["place"]
        self.check_position(entry, facts["booking"], facts["position"])

    def _OpeningStarted(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self.openings[facts["opening"]] = facts["quota"]

    def _OpeningEnded(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        (self.freed.add if facts["how"] == "freed" else self.freed.discard)(facts["opening"])

    def _nothing(self, entry: Entry, facts: dict[str, Any]) -> None:
        pass

    _RoundStarted = _OpeningReduced = _HandedBack = _Erased = _nothing
