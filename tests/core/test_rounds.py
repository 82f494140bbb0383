"""Turns by round: nobody of a quota gets a second offer before everyone of it had one.

What the rules count as a round is not asked here: only who was offered something, and when.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core import fill
from fairhold.core.evolve import evolve
from fairhold.core.model import CONFIRMED, OFFERED, WAITING, Party, Quota
from fairhold.core.view import View
from tests.core.world import World

KEYS = ("a", "b", "c")
steps = st.lists(
    st.tuples(st.sampled_from(["join", "join", "decline", "decline", "claim", "cancel"]), st.integers(0, 99)),
    min_size=10,
    max_size=60,
)


class Watch:
    """Who of each quota was asked in this pass, as one sees it: it is over when one is asked again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: dict[str, set[int]] = {key: set() for key in KEYS}
        self.unfair: list[str] = []

    def look(self) -> None:
        for entry in self.world.decisions[-1].entries:
            if isinstance(entry.event, e.Offered):
                self._judge(entry.event.booking)

    def _judge(self, number: int) -> None:
        bookings = self.world.view.bookings
        key = bookings[number].quota
        if number in self.asked[key]:
            waiting = {b.number for b in bookings.values() if b.state == WAITING and b.quota == key}
            left_out = sorted(waiting - self.asked[key])
            self.unfair += [f"{number} was asked twice, and {other} not once" for other in left_out]
            self.asked[key].clear()
        self.asked[key].add(number)


def played(history: list[tuple[str, int]], sizes: list[int]) -> Watch:
    """What was seen in quotas that share no room, where all that is free is offered at once."""
    quotas = [Quota(key, size=size) for key, size in zip(KEYS, sizes, strict=False)]
    rules = {"cooldown": "0s", "attempts_max": None, "offers_live_max": None}
    watch = Watch(World("class_waitlist", *quotas, **rules))
    # At first everyone has a seat, and somebody waits for it.
    for verb, pick in [*(("join", pick) for pick in range(2 * sum(sizes))), *history]:
        _act(watch.world, quotas, verb, pick)
        watch.look()
    return watch


def _act(world: World, quotas: list[Quota], verb: str, pick: int) -> None:
    state = {"decline": OFFERED, "claim": OFFERED, "cancel": CONFIRMED}.get(verb)
    listed = [b for b in world.view.bookings.values() if b.state == state]
    if not listed:
        party = Party(f"p{world.view.numbers}")
        world.do(c.Book(party, quota=quotas[pick % len(quotas)].key, confirmed=True, by="staff"))
        return
    booking = listed[pick % len(listed)]
    if verb == "cancel":
        world.do(c.Cancel(booking.number))
    elif verb == "decline":
        world.do(c.Decline(booking.number))
    else:
        world.do(c.Claim(booking.number, booking.offer_seq))


histories = given(history=steps, sizes=st.lists(st.integers(1, 2), min_size=2, max_size=3))


@histories
def test_nobody_of_a_quota_is_asked_twice_before_everyone_was_asked_once(
    history: list[tuple[str, int]], sizes: list[int]
) -> None:
    assert played(history, sizes).unfair == []


def test_control_with_one_round_for_all_quotas_somebody_is_asked_too_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def for_all(work: Any, keys: set[str]) -> None:
        work.emit(e.RoundStarted(work.now, work.view.round + 1), by="rule")

    monkeypatch.setattr(fill, "_start_rounds", for_all)

    @settings(phases=[Phase.generate])
    @histories
    def play(**drawn: Any) -> None:
        assert played(**drawn).unfair == []

    with pytest.raises(AssertionError, match="was asked twice"):
        play()


def test_a_round_of_a_log_from_before_was_one_of_all_quotas() -> None:
    """And a quota that came later began where the others were."""
    world = World("class_waitlist", Quota("a", size=1), Quota("b", size=1))
    view = View()
    for decision in world.decisions:
        for entry in decision.entries:
            evolve(view, entry.event)
    evolve(view, e.RoundStarted(world.now, 2))
    evolve(view, e.RoundStarted(world.now, 3))
    assert {key: tally.round for key, tally in view.tallies.items()} == {"a": 3, "b": 3}
    world.view = view
    world.do(c.ChangePool({"quotas": (*view.pool.quotas, Quota("c", size=1))}))
    assert view.tallies["c"].round == view.round == 3
    evolve(view, e.RoundStarted(world.now, 4, "b"))
    assert {key: tally.round for key, tally in view.tallies.items()} == {"a": 3, "b": 4, "c": 3}
    assert view.round == 4
