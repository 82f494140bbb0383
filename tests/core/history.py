"""A pool that lives through a random history, watched at every step.

`History.do` decides one command on a pure in-memory view and asserts everything that must be true of any
decision, whatever the command was. Tests only choose the commands.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from hypothesis import HealthCheck, Phase, settings

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core import line
from fairhold.core.decide import decide
from fairhold.core.evolve import evolve
from fairhold.core.model import GOING_ON, IN_PLAY, OFFERED, WAITING, Booking, Instant, Party, Pool
from fairhold.core.refusals import Refusal
from fairhold.core.view import View
from fairhold.core.work import Decision, Entry
from fairhold.verify import fairness, promises

START: Final[Instant] = 1_800_000_000_000
SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

# What a refused command may still leave behind: what fell due, and what the line was given for it.
BY_ITSELF: Final = (
    e.Expired,
    e.Lapsed,
    e.NotReached,
    e.Closed,
    e.Promoted,
    e.Offered,
    e.RoundStarted,
    e.OpeningStarted,
    e.OpeningEnded,
    e.HandedBack,
)


# For negative controls: look until something is found, and do not ask for the smallest example.
HUNT: Final = settings(
    max_examples=2_000,
    stateful_step_count=50,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)


class History:
    """One pool's view, its log replayed beside it into a second view, and the clock."""

    def __init__(self, pool: Pool, units: tuple[dict[str, Any], ...] = ()) -> None:
        self.now = START
        self.view = View()
        self.replayed = View()
        self.log: list[Entry] = []
        self.take(decide(self.view, c.CreatePool(pool, units), self.now), "CreatePool")
        assert promises.broken(self.view, self.now) == []

    def do(self, command: c.Command) -> Decision:
        """Decide a command, twice, and check all that must be true of any decision."""
        view = self.view
        before = snapshot(view)
        view.savepoint()
        rehearsed = decide(view, command, self.now)
        view.rollback()
        assert snapshot(view) == before, f"rolling {command} back left a trace"

        view.savepoint()
        decision = decide(view, command, self.now)
        assert decision == rehearsed, f"{command} was decided differently the second time"
        self.take(decision, command)
        self.check(command, decision)
        return decision

    def take(self, decision: Decision, command: object) -> None:
        """Replay the decision's events one by one, judging each on the state before it."""
        for entry in decision.entries:
            self.judge(entry.event, command)
            self.log.append(entry)
            evolve(self.replayed, entry.event)
        assert state(self.replayed) == state(self.view), "replaying the log gave another state"

    def judge(self, event: e.Event, command: object) -> None:
        by_staff = isinstance(event, e.Offered) and event.why != ""
        by_staff |= isinstance(command, c.GiveOffer) and getattr(event, "booking", None) == command.booking
        by_staff |= (
            isinstance(command, c.Book)
            and command.opening is not None
            and isinstance(event, e.Held | e.Promoted)
        )
        if not by_staff:
            assert fairness.passed_over(self.replayed, event, self.now) == [], f"by {command}"
            assert fairness.against_the_rules(self.replayed, event, self.now) == [], f"by {command}"
            assert self.kept_waiting(event) == [], f"somebody was kept waiting by {command}"
        if isinstance(event, e.HandedBack):
            assert event.note in ("nobody in line can use it", "too late to be offered") or (
                event.note == in_vain(self.replayed, event.opening)
            ), f"{event}"
        if isinstance(event, e.Promoted | e.Offered):
            place = self.replayed.bookings[event.booking].place
            passed = [skip["booking"] for skip in event.skipped if "booking" in skip]
            assert all(self.replayed.bookings[number].place < place for number in passed), f"{event}"
        stated, counted = position_stated(event), position_counted(self.replayed, event)
        assert stated == counted, f"{event} states another position than counting gives: {counted}"

    def kept_waiting(self, event: e.Event) -> list[int]:
        """Where only so many are asked at a time: who could have been asked before the one who was."""
        view = self.replayed
        if not isinstance(event, e.Offered) or view.pool.policy.offers_live_max is None:
            return []
        policy = view.pool.policy
        ahead = [b for b in fairness.in_line(view) if b.place < view.bookings[event.booking].place]
        ready = [b for b in ahead if policy.turns != "round" or b.round < view.tallies[b.quota].round]
        return [b.number for b in ready if fairness.could_have(view, b, self.now)]

    def check(self, command: c.Command, decision: Decision) -> None:
        view, now = self.view, self.now
        assert promises.broken(view, now) == [], f"after {command}"
        assert promises.told(decision) == []
        assert members(view) == sorted(b.number for b in view.bookings.values() if b.state == WAITING)
        going_on = {(o.quota, o.unit): o.number for o in view.openings.values() if o.state in GOING_ON}
        assert {room: number for room, number in view.going_on.items() if number is not None} == going_on
        late = [b for b in view.bookings.values() if b.state in IN_PLAY and (b.expires_at or now + 1) <= now]
        assert late == [], "what was due is still in play"
        if isinstance(decision.answer, Refusal):
            assert decision.answer.status
            extra = [entry.event for entry in decision.entries if not isinstance(entry.event, BY_ITSELF)]
            assert extra == [], f"{command} was refused as {decision.answer.code} and yet left events"
        # What is given out in pieces is at rest once nothing is due at once.
        if view.due_at is None or view.due_at > now:
            self.check_fixed_point(command)

    def check_fixed_point(self, command: c.Command) -> None:
        view = self.view
        view.savepoint()
        again = decide(view, c.Fill(), self.now)
        view.rollback()
        assert again.entries == [], f"{command} left something for a second fill"
        assert again.messages == []

    # Picking something to act on ---------------------------------------------------------------------

    def booking(self, pick: int, states: Collection[str] = IN_PLAY) -> int:
        """One of the bookings in these states, else any, else a number that does not exist."""
        numbers = [b.number for b in self.view.bookings.values() if b.state in states]
        numbers = numbers or list(self.view.bookings) or [99]
        return numbers[pick % len(numbers)]

    def unit(self, pick: int) -> str:
        labels = list(self.view.units) or ["nowhere"]
        return labels[pick % len(labels)]

    def opening(self, pick: int) -> int:
        """A handed-back opening, else any."""
        openings = self.view.openings.values()
        numbers = [o.number for o in openings if o.state == "handed_back"] or [o.number for o in openings]
        return numbers[pick % len(numbers)] if numbers else 99

    def quota(self, pick: int) -> str:
        return self.view.pool.quotas[pick % len(self.view.pool.quotas)].key


def snapshot(view: View) -> dict[str, Any]:
    """Everything a view holds but hints to its reader, copied so that no later change reaches it."""
    bookkeeping = ("_undo", "_counters", "gone", "gone_fresh", "appetite", "entered")
    return {name: frozen(getattr(view, name)) for name in View.__slots__ if name not in bookkeeping}


def frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, frozen(item)) for key, item in value.items()]
    return list(value) if isinstance(value, list | set) else value


def state(view: View) -> dict[str, Any]:
    """What the log must tell: all of the pool but personal details and the next due time."""
    return {
        "pool": view.pool,
        "bookings": {number: logged(booking) for number, booking in view.bookings.items()},
        "line": list(view.added),
        "tallies": view.tallies,
        "units": view.units,
        "offers": view.offers,
        "openings": view.openings,
        "tried": view.tried,
        "round": view.round,
        "numbers": (view.numbers, view.arrivals, view.openings_made, view.units_made),
        "places": (view.first_place, view.last_place),
        "by_party": view.by_party,
    }


def logged(booking: Booking) -> Booking:
    party = booking.party
    return booking._replace(party=Party(party.id, tags=party.tags, attributes=party.attributes), answers={})


def members(view: View) -> list[int]:
    """Everyone whom the line's groups give, in whatever order the groups stand; each must come once."""
    groups = [group for quota in view.tallies for group in line.groups(view, quota)]
    return sorted(b.number for group in groups for b in line.members(view, group))


def in_vain(view: View, number: int) -> str:
    """What staff are told of an opening that some were asked about: of its offers, those that nobody took."""
    named = view.openings[number].unit is not None
    offers = [offer for offer in view.offers.values() if number in offer.openings]
    told = [offer for offer in offers if offer.outcome != "unreachable"]
    return f"{sum(named or offer.outcome != 'claimed' for offer in told)} offered, nobody took it"


def position_stated(event: e.Event) -> int | None:
    if isinstance(event, e.Expired | e.Cancelled | e.Closed | e.Joined | e.Promoted | e.Offered):
        return event.position
    return event.position if isinstance(event, e.Moved | e.PutBack | e.Demoted) else None


def position_counted(view: View, event: e.Event) -> int | None:
    """The position that an event should state, counted on the view before it; None if it states none."""
    if isinstance(event, e.PutBack) and event.state != WAITING:
        return None
    if isinstance(event, e.Joined | e.Moved | e.PutBack | e.Demoted):
        place, leaver = event.place, event.booking
    elif position_stated(event) is not None:
        place, leaver = view.bookings[event.booking].place, 0  # type: ignore[union-attr]
    else:
        if isinstance(event, e.Expired | e.Cancelled | e.Closed):
            assert view.bookings[event.booking].state != WAITING, "left the line without a position"
        return None
    return 1 + len([b for b in waiting(view) if b.place < place and b.number != leaver])


def waiting(view: View) -> list[Booking]:
    return sorted((b for b in view.bookings.values() if b.state == WAITING), key=lambda b: b.place)


def live_seq(view: View, number: int) -> int:
    booking = view.bookings.get(number)
    return booking.offer_seq if booking and booking.state == OFFERED else 0
