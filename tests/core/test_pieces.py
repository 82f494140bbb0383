"""Much at once comes in pieces: bounded decisions, the pool due again at once, and nobody jumps meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from fairhold.core import commands as c
from fairhold.core import decide as door
from fairhold.core import events as e
from fairhold.core import fill
from fairhold.core.model import CLOSED, OFFERED, WAITING, Party, Quota
from tests.core.test_promises import Histories
from tests.core.world import DAN, World, wait

Patch = pytest.MonkeyPatch


def offers(world: World) -> int:
    """How many offers the last decision made."""
    return sum(isinstance(entry.event, e.Offered) for entry in world.decisions[-1].entries)


def test_a_great_deal_of_room_is_given_out_in_pieces(monkeypatch: Patch) -> None:
    monkeypatch.setattr(fill, "FILL_MAX", 2)
    world = World("course_section", Quota("main", size=0))
    world.do(*(wait(Party(f"p{number}")) for number in range(7)))
    world.do(c.ChangePool(sizes={"main": 9}))
    assert (offers(world), world.view.due_at) == (2, world.now)
    assert world.broken() == set()
    # A newcomer finds room, and waits all the same: it is the line's.
    world.do(c.Book(DAN))
    assert world.states()["p5"] == OFFERED
    assert world.states()["Dan"] == WAITING
    world.do(c.Tick(), c.Tick())
    assert world.view.due_at != world.now
    assert set(world.states().values()) == {OFFERED}
    assert world.broken() == set()


def test_a_pool_with_many_in_it_is_called_off_in_pieces(monkeypatch: Patch) -> None:
    monkeypatch.setattr(door, "WIND_DOWN_MAX", 2)
    world = World("class_waitlist", Quota("main", size=2))
    world.do(*(wait(Party(f"p{number}")) for number in range(5)), c.ChangePool({"status": "cancelled"}))
    assert (list(world.states().values()).count(CLOSED), world.view.due_at) == (2, world.now)
    # Each tick ends some before it obeys, and some after: what is left is due at once.
    world.do(c.Tick())
    assert set(world.states().values()) == {CLOSED}
    assert sum(len(decision.messages) for decision in world.decisions) == 3 + 5


def test_a_full_pool_in_which_nobody_waits_is_called_off_in_pieces(monkeypatch: Patch) -> None:
    monkeypatch.setattr(door, "WIND_DOWN_MAX", 2)
    world = World("class_waitlist", Quota("main", size=5))
    world.do(*(c.Book(Party(f"p{number}"), confirmed=True, by="staff") for number in range(5)))
    world.do(c.ChangePool({"status": "cancelled"}))
    assert (list(world.states().values()).count(CLOSED), world.view.due_at) == (2, world.now)
    world.do(c.Tick())
    assert set(world.states().values()) == {CLOSED}


def test_every_promise_holds_when_all_is_given_out_one_by_one(monkeypatch: Patch) -> None:
    monkeypatch.setattr(fill, "FILL_MAX", 1)
    run_state_machine_as_test(Histories, settings=settings(stateful_step_count=50))
