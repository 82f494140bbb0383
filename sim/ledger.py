"""The auditor's own books: what the log says, entry by entry, and what of it cannot be.

Written from the glossary, not from the rules: nothing here is shared with the core.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sim import fairness
from sim.records import Entry
from sim.standing import TAKING, Opening, Place, Standing, Unit, is_past

# What ends by itself does so when its time is over; anything else must have happened before.
_AT_THE_END = ("Expired", "Lapsed")


@dataclass(slots=True)
class Ledger(Standing):
    # What each booking ever was, and each version of the pool: what somebody may have been answered.
    history: defaultdict[int, set[tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(set))
    versions: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def read(self, entry: Entry) -> None:
        facts = json.loads(entry.body)
        take = getattr(self, f"_{entry.kind}", None)
        if take is None:
            self.say("log_tells_all", entry, f"nobody knows what {entry.kind} is")
            return
        self._check_in_time(entry, facts)
        take(entry, facts)
        for number in (facts.get("booking"), facts.get("part")):
            if it := self.places.get(number):
                self.history[number].add((entry.at, it.state, it.quantity, it.units, it.expires_at))

    def say(self, promise: str, entry: Entry, sentence: str) -> None:
        self.wrong.append(f"{promise}: entry {entry.seq} ({entry.kind}): {sentence}")

    def end(self, entry: Entry, *, settled: bool) -> None:
        """The log ends with this entry: nobody waits for what is free, and nothing is left that was due."""
        for number in fairness.waiting_in_vain(self, entry.at):
            self.say("nobody_jumps", entry, f"booking {number} waits, though there is room for it")
        for number, it in self.places.items() if settled else ():
            if it.expires_at is not None and it.expires_at <= entry.at:
                self.say("deadlines_kept", entry, f"booking {number} is {it.state} beyond its time")

    # What must hold whenever something is given.

    def _check_in_time(self, entry: Entry, facts: dict[str, Any]) -> None:
        it = self.places.get(facts.get("booking", 0))
        if it is None:
            return
        ends = it.expires_at
        if entry.kind == "NotReached" and entry.by == "clock":
            if ends is None or entry.at < ends:
                self.say("deadlines_kept", entry, f"it had time until {ends}")
        elif entry.kind not in _AT_THE_END:
            if ends is not None and entry.at >= ends:
                self.say("deadlines_kept", entry, f"its time was over at {ends}")
        elif ends is None or entry.at < ends:
            self.say("deadlines_kept", entry, f"it had time until {ends}")
        elif entry.kind == "Lapsed" and it.delayed == it.offer and it.told != (facts["booking"], it.offer):
            self.say("nothing_lost", entry, "no channel had taken the letter about this offer")

    def check_room(self, entry: Entry, *, aside: bool = False) -> None:
        """No seat is given twice; `aside`: nor what was set aside for staff."""
        over = self.overflow(aside=aside)
        if over > self.open_size:
            self.say(
                "no_oversell", entry, f"{over} beyond the quotas, and the open share is {self.open_size}"
            )
        taken = [unit for it in self.places.values() if it.state in TAKING for unit in it.units]
        if len(taken) != len(set(taken)):
            twice = sorted({unit for unit in taken if taken.count(unit) > 1})
            self.say("no_oversell", entry, f"given twice: {', '.join(twice)}")

    def _check_units(self, entry: Entry, quota: str, seats: int, units: Sequence[str]) -> None:
        """What is made of units is given unit by unit, and each is known, open and of that quota."""
        if len(units) != (seats if quota in self.by_units else 0):
            self.say("no_oversell", entry, f"{seats} seats of {quota} are {list(units)}")
        aside = {it.unit for it in self.openings.values() if it.state == "handed_back"}
        for label in units:
            unit = self.units.get(label)
            if unit is None or unit.quota != quota or is_past(unit.starts_at, entry.at) or label in aside:
                self.say("no_oversell", entry, f"unit {label} cannot be given: {unit}")

    def check_position(self, entry: Entry, number: int, position: int | None) -> None:
        line = self.line()
        here = line.index(number) + 1 if number in line else None
        if position is not None and here is not None and here != position:
            self.say("contiguous", entry, f"said to be number {position} in line, and is {here}")

    def _check_turn(self, entry: Entry, facts: dict[str, Any], quantity: int) -> None:
        """What the rules give goes to the first who can have it. Staff may give it to whom they like."""
        number, units = facts["booking"], facts["units"]
        if entry.by != "rule" or number not in self.places:
            return
        for other in fairness.passed_over(self, number, quantity, units, entry.at):
            self.say("nobody_jumps", entry, f"booking {other} stood before it, and could have had it")
        if fairness.is_out_of_turn(self, number, units, entry.at):
            self.say("nobody_jumps", entry, "it was not its turn")

    # Entries, each by its name in the log.

    def _PoolCreated(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        pool = facts["pool"]
        self.sizes = {quota["key"]: quota["size"] for quota in pool["quotas"]}
        self.by_units = {quota["key"] for quota in pool["quotas"] if quota.get("by_units")}
        self.eligible = {quota["key"]: quota["eligible"] for quota in pool["quotas"]}
        self.open_size, self.status = pool["open_size"], pool["status"]
        self.starts_at, self.policy = pool["starts_at"], pool["policy"]
        now = max(self.rounds.values(), default=1)
        self.rounds = {key: self.rounds.get(key, now) for key in self.sizes}
        sizes = {key: size for key, size in self.sizes.items() if key not in self.by_units}
        self.versions[pool["version"]] = (sizes, self.open_size, self.status)

    def _PoolChanged(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._PoolCreated(entry, facts)
        self.check_room(entry)

    def _UnitsAdded(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        for unit in facts["units"]:
            self.units[unit["label"]] = Unit(unit["quota"], unit["starts_at"], unit["attributes"])

    def _UnitClosed(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self.units.pop(facts["label"], None)
        if any(facts["label"] in it.units for it in self.places.values()):
            self.say("no_oversell", entry, "somebody has it")

    def _begin(self, entry: Entry, facts: dict[str, Any], state: str) -> int:
        number = facts["booking"]
        if number in self.places:
            self.say("log_tells_all", entry, f"booking {number} begins twice")
        made = Place(facts["party"], facts["quota"], facts["quantity"], state, facts["place"])
        made.expires_at, made.confirmed = facts["expires_at"], facts["confirmed"]
        made.eligible = self.eligible.get(made.quota)
        self.places[number] = made
        return int(number)

    def _Joined(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._check_alone(entry, facts["party"])
        number = self._begin(entry, facts, "waiting")
        self.places[number].wants = facts["wants"]
        self.check_position(entry, number, facts["position"])

    def _check_alone(self, entry: Entry, party: str) -> None:
        for other in self.places.values():
            if other.party == party and other.state in ("waiting", "offered"):
                self.say("one_place_in_line", entry, f"{party} waits already")

    def _Held(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        asked = (facts["quota"], facts["quantity"], facts["units"])
        for number in () if entry.by.startswith("staff") else fairness.jumped(self, *asked, entry.at):
            self.say("nobody_jumps", entry, f"{facts['party']} got room past booking {number}")
        self._check_units(entry, *asked)
        number = self._begin(entry, facts, "confirmed" if facts["confirmed"] else "held")
        self.places[number].units = tuple(facts["units"])
        self.check_room(entry, aside=True)

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
        self._check_turn(entry, facts, it.quantity)
        self._check_units(entry, it.quota, it.quantity, facts["units"])
        self._check_stays_confirmed(entry, it, facts["state"])
        it.state, it.units, it.expires_at = facts["state"], tuple(facts["units"]), facts["expires_at"]
        it.confirmed = facts["state"] == "confirmed"
        self.check_room(entry, aside=True)

    def _check_stays_confirmed(self, entry: Entry, it: Place, state: str) -> None:
        if it.confirmed and state != "confirmed":
            self.say("nothing_lost", entry, "it was confirmed, and has to confirm")

    def _Offered(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts, "waiting")
        if it.offer is not None or facts["seq"] != it.last_offer + 1:
            self.say("one_live_offer", entry, f"it has {it.offer}, the last one was {it.last_offer}")
        self.check_position(entry, facts["booking"], facts["position"])
        self._check_turn(entry, facts, facts["quantity"])
        self._check_units(entry, it.quota, facts["quantity"], facts["units"])
        if facts["expires_at"] <= entry.at:
            self.say("deadlines_kept", entry, "its time is over before it begins")
        it.state, it.offer, it.offered = "offered", facts["seq"], facts["quantity"]
        it.offers, it.offered_at, it.round = it.offers + 1, entry.at, facts["round"]
        it.units, it.expires_at, it.last_offer = tuple(facts["units"]), facts["expires_at"], facts["seq"]
        if it.reach and facts["why"]:
            it.reach = "staff"
        it.openings = facts["openings"]
        for number in facts["openings"]:
            opening = self._opening(entry, number)
            opening.tries += 1
            opening.asked.add(facts["booking"])
        self.check_room(entry, aside=True)

    def _answered(self, entry: Entry, facts: dict[str, Any]) -> Place:
        it = self._known(entry, facts, "offered")
        if it.offer != facts["seq"]:
            self.say("one_live_offer", entry, f"answers offer {facts['seq']}, and {it.offer} is the live one")
        it.offer, it.offered, it.expires_at = None, 0, None
        return it

    def _Claimed(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._answered(entry, facts)
        units, confirmed = tuple(facts["units"]), facts["state"] == "confirmed"
        self._check_units(entry, it.quota, facts["quantity"], units)
        if not set(units) <= set(it.units):
            self.say("one_live_offer", entry, f"{it.units} were offered, and {units} are claimed")
        self._check_stays_confirmed(entry, it, facts["state"])
        if (opening := self.openings.get(facts["opening"])) is not None:
            opening.tries -= 1
        got = it
        if facts["part"] is not None:
            got = Place(it.party, it.quota, 0, "", it.place, whole=False, eligible=it.eligible)
            self.places[facts["part"]] = got
            it.state, it.units, it.quantity = "waiting", (), it.quantity - facts["quantity"]
            self._ask_anew(facts["booking"], it)
        got.state, got.quantity, got.units = facts["state"], facts["quantity"], units
        got.expires_at, got.confirmed = facts["expires_at"], confirmed
        self.check_room(entry)

    def _ask_anew(self, number: int, it: Place) -> None:
        """Who goes on waiting through no fault of its own does so as if never asked."""
        it.offers, it.offered_at, it.round = 0, None, 0
        for opening in self.openings.values():
            opening.asked.discard(number)

    def _Declined(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._answered(entry, facts)
        it.state, it.place, it.units = facts["state"], facts["place"], ()

    _Lapsed = _Declined

    def _NotReached(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        number = facts["booking"]
        if (it := self.places.get(number)) is not None and it.told == (number, facts["seq"]):
            self.say("nothing_lost", entry, "its party was told of the offer, and it ends as untold")
        it = self._answered(entry, facts)
        if facts["round"] >= self.rounds[it.quota] and self.policy["turns"] == "round":
            self.say("nobody_jumps", entry, "an offer that nobody heard of has used up its turn")
        it.state, it.units, it.offers, it.offered_at = "waiting", (), it.offers - 1, None
        it.round, it.reach = facts["round"], facts["reason"]
        for name in it.openings:
            if (opening := self.openings.get(name)) is not None:
                opening.asked.discard(number)
                opening.tries -= 1

    def _Told(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts)
        it.reach = it.reach if it.reach == "staff" else ""
        if facts["seq"] is not None:
            it.told = (facts["booking"], facts["seq"])

    def _Delayed(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._known(entry, facts, "offered").delayed = facts["seq"]

    def _Reachable(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._known(entry, facts).reach = ""

    def _Completed(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._known(entry, facts, "waiting").expires_at = None

    def _Confirmed(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts, "held", "waiting")
        it.state, it.confirmed = "confirmed" if it.state == "held" else it.state, True
        it.expires_at = None

    def _Extended(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._known(entry, facts, "held").expires_at = facts["expires_at"]

    def _BookingChanged(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts, "waiting", *TAKING)
        if "told_by_staff" in facts["details"]:
            it.reach = "staff"
        elif {"contacts", "told_by_channels"} & set(facts["details"]):
            it.reach = ""

    def _ended(self, entry: Entry, facts: dict[str, Any], state: str) -> None:
        it = self._known(entry, facts, "waiting", *TAKING)
        self.check_position(entry, facts["booking"], facts["position"])
        it.state, it.units, it.offer, it.offered, it.expires_at = state, (), None, 0, None

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
        else:
            self._check_units(entry, it.quota, it.quantity, facts["units"])
        it.state, it.place, it.units = facts["state"], facts["place"], tuple(facts["units"])
        it.expires_at = facts["expires_at"]
        self._ask_anew(facts["booking"], it)
        self.check_position(entry, facts["booking"], facts["position"])
        self.check_room(entry, aside=True)

    def _Respread(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        before = self.line()
        for number, place in facts["places"]:
            self.places[number].place = place
        if self.line() != before:
            self.say("contiguous", entry, "the line has another order than before")

    def _Demoted(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        it = self._known(entry, facts)
        if facts["part"] is not None:
            part = self.places[facts["part"]]
            part.state, part.units, part.expires_at = "closed", (), None
            it.quantity += facts["quantity"]
        else:
            it.units, it.offer, it.offered = (), None, 0
        it.state, it.place, it.expires_at = "waiting", facts["place"], facts["expires_at"]
        self._ask_anew(facts["booking"], it)
        self.check_position(entry, facts["booking"], facts["position"])

    def _RoundStarted(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        quota = facts["quota"]
        for other in fairness.not_yet_asked(self, quota, entry.at):
            self.say("nobody_jumps", entry, f"booking {other} had its turn still before it")
        if not fairness.has_room(self, quota, entry.at):
            self.say("nobody_jumps", entry, f"nothing of {quota} was free that its round could end for")
        self.rounds[quota] = facts["round"]

    def _OpeningStarted(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self.openings[facts["opening"]] = Opening(facts["quota"], facts["unit"])

    def _HandedBack(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        opening = self._opening(entry, facts["opening"])
        opening.state, opening.aside = "handed_back", facts["quantity"]

    def _opening(self, entry: Entry, number: int) -> Opening:
        if number not in self.openings:
            self.say("log_tells_all", entry, f"there is no opening {number}, or no longer")
            return Opening(next(iter(self.sizes)), None)
        return self.openings[number]

    def _OpeningReduced(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        self._opening(entry, facts["opening"]).aside = facts["quantity"]

    def _OpeningEnded(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        opening = self._opening(entry, facts["opening"])
        opening.state, opening.aside = facts["how"], 0
        if opening.state != "freed":
            self.openings.pop(facts["opening"], None)

    def _Erased(self, entry: Entry, facts: dict[str, Any]) -> None:  # noqa: N802
        pass
