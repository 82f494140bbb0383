"""A guard against decisions that cost more for each unit, the more units there are: bare rules, no store."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from fairhold.core import commands as c
from fairhold.core import fill, room
from fairhold.core import policy as policies
from fairhold.core.decide import decide
from fairhold.core.model import Party, Pool, Quota, Unit, Wants
from fairhold.core.policy import Policy
from fairhold.core.view import View
from tests.core.history import START

WINDOW = Wants({"attribute": "side", "is": "window"})
Made = tuple[View, c.Command]


def seats(count: int, preset: str = "last_minute", **changes: object) -> View:
    """A pool with so many seats at the aisle."""
    view, policy = View(), policies.make(preset, changes)
    assert isinstance(policy, Policy)
    pool = Pool(1, "org", "pool", "", policy, (Quota("main", by_units=True),))
    decide(view, c.CreatePool(pool, aisle(count)), START)
    return view


def aisle(count: int) -> tuple[dict[str, object], ...]:
    return tuple(
        {"label": f"{i}C", "quota": "main", "attributes": {"side": "aisle"}} for i in range(1, count + 1)
    )


def line_up(view: View, count: int, quantity: int = 1, wants: Wants | None = None) -> None:
    for number in range(count):
        decide(view, c.Book(Party(f"p{number}"), quantity, if_full="wait", wants=wants), START)


def booking_beside_a_line(count: int) -> Made:
    """Who waits wants another kind of seat, so a newcomer can have any of these."""
    view = seats(count)
    line_up(view, 1, wants=WINDOW)
    return view, c.Book(Party("Ann"))


def opening_seats(count: int) -> Made:
    """As many seats as there are people for them."""
    view = seats(0)
    line_up(view, count)
    return view, c.AddUnits(aisle(count))


def opening_seats_for_pairs(count: int) -> Made:
    view = seats(0)
    line_up(view, count // 2, quantity=2)
    return view, c.AddUnits(aisle(count))


def all_in_their_cooldown(count: int) -> Made:
    """Everybody has just said no, and every seat is free."""
    view = seats(0, "class_waitlist", offers_live_max=None)
    line_up(view, count)
    decide(view, c.AddUnits(aisle(count)), START)
    for number in range(1, count + 1):
        decide(view, c.Decline(number), START)
    return view, c.Tick()


def cost_per_unit(make: Callable[[int], Made], count: int) -> float:
    """How many instructions of Python a decision takes for each of so many units: the same on a busy machine.

    What goes on inside one of them, such as copying a list, is not seen.
    """
    view, command = make(count)
    steps = 0

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        steps += event == "opcode"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        decide(view, command, START)
    finally:
        sys.settrace(before)
    return steps / count


def growth(make: Callable[[int], Made], few: int = 50, many: int = 400) -> float:
    """How much more each unit costs among many than among few; about 1 if the cost is linear."""
    return cost_per_unit(make, many) / cost_per_unit(make, few)


def test_a_booking_beside_a_line_costs_no_more_for_each_unit_among_many() -> None:
    assert growth(booking_beside_a_line, many=1_000) < 2


@pytest.mark.parametrize("make", [opening_seats, opening_seats_for_pairs, all_in_their_cooldown])
def test_filling_costs_no_more_for_each_unit_among_many(make: Callable[[int], Made]) -> None:
    assert growth(make) < 2


def test_if_free_units_were_listed_at_each_step_the_guard_would_notice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed_once = fill.RoomLeft._units

    def listed_anew(self: fill.RoomLeft, key: str) -> dict[int, Unit]:
        listed_once(self, key)
        return room.by_ordinal(room.free_units(self._work.view, key, START))

    monkeypatch.setattr(fill.RoomLeft, "_units", listed_anew)
    assert growth(opening_seats) > 2
