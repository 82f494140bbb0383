"""Filling step by step gives what the rule of event_signup gives when it is applied from scratch.

The rule, for parties of one: the first `size` signups of each quota are in that quota; the first
`open_size` of the rest, all quotas together, are in the open share; everybody else is in the queue.
"First" is by arrival.

Two statements are tested, over joins, cancellations, confirmations, expiries and changing sizes.

1.  Always: apply the rule to everyone who has a seat, by arrival, and then to the queue in its order.
    It gives exactly who has a seat after each command, and the queue in its order. Whoever loses a seat
    to a smaller pool goes to the head of the queue; among themselves those keep the order of arrival.

2.  As long as everybody in the queue arrived in the order in which they stand, and no single change made
    one share smaller and another larger: apply the rule to everyone by arrival alone, seat or no seat, as
    the rule itself is written. It gives the same.

What the second leaves out is where Fairhold differs on purpose. A share that shrinks while another grows
could, by the rule alone, take a seat from its owner in favour of somebody earlier in another quota:
Fairhold takes no seat that it need not take. And whoever lost a seat stands before those who never had
one, though with several quotas one of these may have arrived earlier.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fairhold.core import commands as c
from fairhold.core import demote, line, pools, room
from fairhold.core.decide import decide
from fairhold.core.model import CONFIRMED, HELD, IN_PLAY, WAITING, Booking, Party, Pool, Quota
from fairhold.core.policy import PRESETS
from fairhold.core.view import View
from fairhold.core.work import Done
from tests.core.history import HUNT, MINUTE, START

HOLD = 30 * MINUTE


class Signup(NamedTuple):
    """What the recomputation knows of a signup: no place, no position, no state."""

    number: int
    quota: int
    expires_at: int | None


def seated(order: Iterable[Signup], sizes: list[int], open_size: int) -> set[int]:
    """The rule from scratch: who of these has a seat."""
    left, open_left, seats = list(sizes), open_size, set()
    rest = []
    for signup in order:
        if left[signup.quota]:
            left[signup.quota] -= 1
            seats.add(signup.number)
        else:
            rest.append(signup)
    seats.update(signup.number for signup in rest[:open_left])
    return seats


class Recomputed(RuleBasedStateMachine):
    """Fairhold beside a register of signups that knows nothing but the rule."""

    @initialize(sizes=st.lists(st.integers(0, 3), min_size=1, max_size=3), open_size=st.integers(0, 3))
    def create(self, sizes: list[int], open_size: int) -> None:
        self.sizes, self.open_size = sizes, open_size
        self.now, self.made = START, 0
        self.signups: dict[int, Signup] = {}
        self.seats: set[int] = set()
        self.queue: list[int] = []
        self.by_arrival_alone = True
        quotas = tuple(Quota(str(index), size=size) for index, size in enumerate(sizes))
        self.view = View()
        self.do(c.CreatePool(Pool(1, "org", "pool", "", PRESETS["event_signup"], quotas, open_size)))

    def do(self, command: c.Command) -> bool:
        return isinstance(decide(self.view, command, self.now).answer, Done)

    def refresh(self) -> None:
        """Apply the rule from scratch to the register."""
        for number, signup in list(self.signups.items()):
            if signup.expires_at is not None and signup.expires_at <= self.now:
                self.drop(number)
        order = [self.signups[number] for number in (*sorted(self.seats), *self.queue)]
        seats = seated(order, self.sizes, self.open_size)
        lost = sorted(self.seats - seats)
        if lost and self.queue and lost[-1] > self.queue[0]:
            self.by_arrival_alone = False
        self.queue = lost + [number for number in self.queue if number not in seats]
        self.seats = seats

    def drop(self, number: int) -> None:
        del self.signups[number]
        self.seats.discard(number)
        if number in self.queue:
            self.queue.remove(number)

    @rule(quotas=st.lists(st.integers(0, 2), min_size=1, max_size=5))
    def sign_up(self, quotas: list[int]) -> None:
        for pick in quotas:
            self.refresh()
            self.made += 1
            quota = pick % len(self.sizes)
            self.signups[self.made] = Signup(self.made, quota, self.now + HOLD)
            self.queue.append(self.made)
            assert self.do(c.Book(Party(f"party {self.made}"), quota=str(quota)))
            self.refresh()

    @precondition(lambda self: self.signups)
    @rule(pick=st.integers(0, 30))
    def confirm(self, pick: int) -> None:
        self.refresh()
        numbers = list(self.signups) or [99]
        number = numbers[pick % len(numbers)]
        if self.do(c.Confirm(number)):
            self.signups[number] = self.signups[number]._replace(expires_at=None)

    @precondition(lambda self: self.signups)
    @rule(pick=st.integers(0, 30))
    def cancel(self, pick: int) -> None:
        self.refresh()
        numbers = list(self.signups) or [99]
        number = numbers[pick % len(numbers)]
        if self.do(c.Cancel(number)):
            self.drop(number)
        self.refresh()

    @rule(
        sizes=st.lists(st.none() | st.integers(0, 4), min_size=3, max_size=3),
        open_size=st.none() | st.integers(0, 4),
        demote=st.booleans(),
    )
    def change_sizes(self, sizes: list[int | None], open_size: int | None, demote: bool) -> None:
        self.refresh()
        wanted = [old if new is None else new for old, new in zip(self.sizes, sizes, strict=False)]
        open_wanted = self.open_size if open_size is None else open_size
        changes = c.ChangePool(
            {"open_size": open_wanted}, {str(i): size for i, size in enumerate(wanted)}, demote
        )
        order = [self.signups[number] for number in sorted(self.seats)]
        would_demote = self.seats - seated(order, wanted, open_wanted)
        assert self.do(changes) is (demote or not would_demote)
        if would_demote and not demote:
            return
        old, new = [*self.sizes, self.open_size], [*wanted, open_wanted]
        both_ways = any(a < b for a, b in zip(old, new, strict=True)) and any(
            a > b for a, b in zip(old, new, strict=True)
        )
        self.by_arrival_alone &= not both_ways
        self.sizes, self.open_size = wanted, open_wanted
        self.refresh()

    @rule(by=st.sampled_from([MINUTE, 10 * MINUTE, HOLD]))
    def time_passes(self, by: int) -> None:
        self.now += by
        self.do(c.Tick())
        self.refresh()

    @invariant()
    def equals_the_rule_from_scratch(self) -> None:
        bookings = self.view.bookings.values()
        assert {b.number for b in bookings if b.state in (HELD, CONFIRMED)} == self.seats
        line = sorted((b for b in bookings if b.state == WAITING), key=lambda b: b.place)
        assert [b.number for b in line] == self.queue
        assert {b.number for b in bookings if b.state in IN_PLAY} == set(self.signups)

    @invariant()
    def equals_the_rule_by_arrival_alone(self) -> None:
        event(f"by arrival alone: {self.by_arrival_alone}, in queue: {min(3, len(self.queue))}")
        if self.by_arrival_alone:
            order = [self.signups[number] for number in sorted(self.signups)]
            assert seated(order, self.sizes, self.open_size) == self.seats
            assert self.queue == sorted(self.queue)


TestRecomputed = Recomputed.TestCase
TestRecomputed.settings = settings(stateful_step_count=40)


def earliest_go(view: View, pool: Pool) -> list[Booking]:
    """As many as must go, and the wrong ones: those who came first."""
    takers = [b for b in view.bookings.values() if b.state in (HELD, CONFIRMED)]
    return sorted(takers, key=lambda b: b.arrival)[: len(latest_go(view, pool))]


latest_go = demote.losers


@pytest.mark.parametrize(
    ("target", "name", "wrong"),
    [
        (pools, "losers", earliest_go),
        (line, "place_at_front", lambda view: line.place_at_back(view, view.arrivals)),
        (room, "overflow", lambda view, aside=True: 0),
    ],
)
def test_a_wrong_rule_gives_something_else(
    target: object, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: each of these would be noticed."""
    monkeypatch.setattr(target, name, wrong)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Recomputed, settings=HUNT)
