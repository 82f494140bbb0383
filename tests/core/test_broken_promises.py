"""Negative controls: with a rule broken on purpose, the promise that it keeps is reported as broken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis.stateful import run_state_machine_as_test

from fairhold.core import book, evolve, fill, line, obey, pools, put_back, room, search
from fairhold.core import commands as c
from fairhold.core import decide as door
from fairhold.core import policy as policies
from fairhold.core.model import Pool, Quota, Tally, Wants
from fairhold.core.policy import Policy
from fairhold.core.view import View
from fairhold.core.work import Work
from fairhold.verify import fairness, promises
from tests.core.history import HOUR, HUNT, MINUTE, START, History
from tests.core.test_promises import Histories
from tests.core.world import ANN, BEA, CYD, DAN, World, one_seat, two_units, wait

Patch = pytest.MonkeyPatch


def test_a_world_left_alone_keeps_its_promises() -> None:
    world = one_seat().do(c.Book(ANN), wait(BEA), wait(CYD), c.Cancel(1), c.Decline(2), c.Claim(3, 1))
    assert world.broken() == set()
    assert world.judged(fairness.passed_over) == world.judged(fairness.against_the_rules) == []
    assert [wrong for decision in world.decisions for wrong in promises.told(decision)] == []


def test_no_oversell_notices_room_that_is_not_there(monkeypatch: Patch) -> None:
    monkeypatch.setattr(book, "room", lambda *_, **__: 99)
    with pytest.raises(AssertionError, match="no_oversell"):
        one_seat("checkout").do(c.Book(ANN), c.Book(BEA))
    monkeypatch.setattr(door, "overflow", lambda *_, **__: 0)
    assert "no_oversell" in one_seat("checkout").do(c.Book(ANN), c.Book(BEA)).broken()


def test_no_oversell_notices_a_pool_that_became_too_small(monkeypatch: Patch) -> None:
    monkeypatch.setattr(pools, "losers", lambda view, pool: [])
    with pytest.raises(AssertionError, match="no_oversell"):
        one_seat().do(c.Book(ANN), c.ChangePool(sizes={"main": 0}))
    monkeypatch.setattr(door, "overflow", lambda *_, **__: 0)
    world = one_seat().do(c.Book(ANN), c.ChangePool(sizes={"main": 0}))
    assert world.broken() == {"no_oversell"}


def test_no_oversell_notices_a_unit_that_two_have(monkeypatch: Patch) -> None:
    monkeypatch.setattr(book, "free_units", lambda view, quota, now: list(view.units.values()))
    with pytest.raises(AssertionError, match="no_oversell"):
        two_units().do(c.Book(ANN, units=("12A",)), c.Book(BEA, units=("12A",)))
    monkeypatch.setattr(View, "_move_units", move_units_unasked)
    world = two_units().do(c.Book(ANN, units=("12A",)), c.Book(BEA, units=("12A",)))
    assert world.broken() == {"no_oversell"}


def move_units_unasked(view: View, old: tuple[str, ...], new: tuple[str, ...], number: int) -> None:
    for label in new:
        view.put(view.units, label, view.units[label]._replace(booking=number))


def test_no_oversell_is_noticed_before_anything_is_decided() -> None:
    world = one_seat("checkout").do(c.Book(ANN))
    loaded = View(world.view.pool)
    loaded.tallies["main"] = Tally(used=2)
    with pytest.raises(AssertionError, match="no_oversell"):
        door.decide(loaded, c.ChangePool(sizes={"main": 2}), world.now)


def test_one_live_offer_notices_an_offer_that_was_never_settled(monkeypatch: Patch) -> None:
    monkeypatch.setattr(evolve, "_answer_offer", lambda *_: None)
    world = one_seat().do(c.Book(ANN), wait(BEA), c.Cancel(1), c.Decline(2))
    assert world.broken() == {"one_live_offer"}


def test_one_place_in_line_notices_a_second_one(monkeypatch: Patch) -> None:
    monkeypatch.setattr(book, "_already_there", lambda *_: None)
    world = one_seat().do(c.Book(ANN), wait(BEA), wait(BEA))
    assert world.broken() == {"one_place_in_line"}


def test_contiguous_notices_somebody_who_left_and_is_still_counted(monkeypatch: Patch) -> None:
    monkeypatch.setattr(View, "_leave_line", lambda self, place: None)
    world = one_seat().do(c.Book(ANN), wait(BEA), wait(CYD), c.Cancel(2))
    assert world.broken() == {"contiguous"}


def test_contiguous_notices_two_in_one_place(monkeypatch: Patch) -> None:
    monkeypatch.setattr(line, "place_of", lambda priority, arrival: 1)
    world = one_seat().do(c.Book(ANN), wait(BEA), wait(CYD))
    assert "contiguous" in world.broken()


def test_nobody_jumps_notices_room_that_is_kept_from_the_line(monkeypatch: Patch) -> None:
    monkeypatch.setattr(door, "fill", lambda *_: None)
    world = one_seat().do(c.Book(ANN), wait(BEA), c.Cancel(1))
    assert world.broken() == {"nobody_jumps"}


def test_nobody_waits_for_luck_notices_a_timer_that_was_forgotten(monkeypatch: Patch) -> None:
    monkeypatch.setattr(View, "wake", lambda self, at: None)
    world = one_seat(attempts_max=None).do(c.Book(ANN), wait(BEA), c.Cancel(1), c.Decline(2))
    world.view.due_at = None
    assert world.broken() == {"nobody_waits_for_luck"}


def test_nobody_forgets_notices_room_that_never_came_to_staff(monkeypatch: Patch) -> None:
    monkeypatch.setattr(fill, "hand_back", lambda *_, **__: None)
    world = one_seat("last_minute").do(c.Book(ANN), wait(BEA), c.Cancel(1), c.Decline(2))
    assert world.broken() == {"nobody_forgets"}


def test_tallies_add_up_notices_a_booking_that_was_not_counted(monkeypatch: Patch) -> None:
    monkeypatch.setattr(View, "_count", lambda self, booking, sign: None)
    assert one_seat().do(c.Book(ANN)).broken() == {"tallies_add_up"}


def test_tallies_add_up_notices_seats_set_aside_and_not_counted(monkeypatch: Patch) -> None:
    monkeypatch.setattr(View, "add_aside", lambda self, quota, quantity: None)
    world = one_seat("last_minute").do(c.Book(ANN), wait(BEA), c.Cancel(1), c.Decline(2))
    assert "tallies_add_up" in world.broken()


def test_units_agree_notices_a_unit_that_nobody_gave_back(monkeypatch: Patch) -> None:
    world = two_units().do(c.Book(ANN, 2))
    monkeypatch.setattr(View, "_move_units", lambda *_: None)
    assert "units_agree" in world.do(c.Cancel(1)).broken()


def test_units_agree_notices_seats_without_units(monkeypatch: Patch) -> None:
    monkeypatch.setattr(book, "_units_for", lambda *_: ())
    assert two_units().do(c.Book(ANN)).broken() == {"units_agree"}


def test_openings_end_notices_one_that_goes_on(monkeypatch: Patch) -> None:
    monkeypatch.setattr(door, "end_openings", lambda work: None)
    world = one_seat().do(c.Book(ANN), wait(BEA), c.Cancel(1), c.Claim(2, 1))
    assert world.broken() == {"openings_end"}


def test_deadlines_kept_notices_a_pool_that_would_sleep_too_long() -> None:
    world = one_seat().do(c.Book(ANN))
    world.view.due_at = START + 24 * 60 * MINUTE
    assert world.broken() == {"deadlines_kept"}


def test_deadlines_kept_notices_a_line_that_would_outlive_the_start() -> None:
    world = one_seat("event_signup").do(c.ChangePool({"starts_at": START + 24 * HOUR}))
    world.do(c.Book(ANN), c.Confirm(1), wait(BEA), c.Confirm(2))
    assert world.view.due_at == START + 30 * MINUTE, "no later than any"
    world.view.due_at = START + 25 * HOUR
    assert world.broken() == {"deadlines_kept"}


def test_deadlines_kept_notices_a_hold_without_an_end() -> None:
    world = one_seat().do(c.Book(ANN))
    world.view.put_booking(world.view.bookings[1]._replace(expires_at=None))
    assert world.broken() == {"deadlines_kept"}


def test_passed_over_notices_a_newcomer_who_jumps_the_line(monkeypatch: Patch) -> None:
    monkeypatch.setattr(book, "line_could_use", lambda *_: False)
    world = one_seat().do(c.Book(ANN), wait(BEA), c.Cancel(1), c.Decline(2), c.Book(DAN))
    assert world.judged(fairness.passed_over) == ["booking 3 came before 2, who could have used the room"]


def test_passed_over_notices_who_is_served_before_the_first(monkeypatch: Patch) -> None:
    world = one_seat().do(c.Book(ANN), wait(BEA), wait(CYD))
    monkeypatch.setattr(line, "members", lambda view, group: iter([view.bookings[3]]))
    assert world.do(c.Cancel(1)).judged(fairness.passed_over) == [
        "booking 3 was served before 2, who could have used the room"
    ]


def test_against_the_rules_notices_one_offer_too_many(monkeypatch: Patch) -> None:
    world = World("class_waitlist", Quota("main", size=2)).do(c.Book(ANN, 2), wait(BEA), wait(CYD))
    monkeypatch.setattr(View, "offers_live", property(lambda self: 0))
    assert world.do(c.Cancel(1)).judged(fairness.against_the_rules) == [
        "booking 3 was served though the line could be given nothing"
    ]


def test_against_the_rules_notices_a_second_turn(monkeypatch: Patch) -> None:
    monkeypatch.setattr(search, "_unfit", lambda view, slot, booking: None)
    world = one_seat(cooldown="0s").do(c.Book(ANN), wait(BEA), c.Cancel(1), c.Decline(2))
    assert "booking 2 was served though it had had its turn in this round" in world.judged(
        fairness.against_the_rules
    )


def test_histories_notice_seats_that_came_back_though_they_were_taken(monkeypatch: Patch) -> None:
    policy = policies.make("last_minute", {"tries_max": 1})
    assert isinstance(policy, Policy)

    def live() -> None:
        history = History(Pool(1, "org", "pool", "", policy, (Quota("main", size=2),)))
        for command in (c.Book(CYD, 2), wait(ANN), wait(BEA), c.Cancel(1), c.Claim(2, 1), c.Decline(3)):
            history.do(command)
        assert [opening.state for opening in history.view.openings.values()] == ["handed_back"]

    live()
    monkeypatch.setattr(obey, "_opening_of_seats", lambda *_: None)
    with pytest.raises(AssertionError, match="2 offered, nobody took it"):
        live()


def test_histories_notice_who_is_kept_waiting_by_those_behind(monkeypatch: Patch) -> None:
    policy = policies.make("last_minute", {"offers_live_max": 1})
    assert isinstance(policy, Policy)
    sides = ({"label": side, "quota": "main", "attributes": {"side": side}} for side in ("aisle", "window"))
    wants = Wants({"attribute": "side", "is": "window"})

    def first_unit_first(work: Work, left: fill.RoomLeft) -> search.Found | None:
        units = left.slots(work.view.pool.quotas[0])
        return next((found for slot in units if (found := search.look(work, slot).found)), None)

    monkeypatch.setattr(fill, "_next", first_unit_first)
    history = History(Pool(1, "org", "pool", "", policy, (Quota("main", by_units=True),)))
    history.do(c.Book(ANN, if_full="wait", wants=wants))
    history.do(wait(BEA))
    with pytest.raises(AssertionError, match="kept waiting"):
        history.do(c.AddUnits(tuple(sides)))


def test_told_notices_silence_and_chatter(monkeypatch: Patch) -> None:
    world = one_seat().do(c.Book(ANN), wait(BEA))
    monkeypatch.setattr(Work, "tell", lambda *_, **__: None)
    world.do(c.Cancel(1))
    assert promises.told(world.decisions[-1]) == [
        "cancelled of booking 1 is told 0 times and should be 1",
        "offer of booking 2 is told 0 times and should be 1",
    ]
    twice = world.decisions[2]
    assert promises.told(twice._replace(messages=twice.messages * 2)) == [
        "joined of booking 2 is told 2 times and should be 1"
    ]


def test_told_notices_that_a_first_address_in_line_was_left_without_a_letter(monkeypatch: Patch) -> None:
    world = one_seat().do(c.Book(ANN), wait(BEA))
    monkeypatch.setattr(Work, "tell", lambda *_, **__: None)
    world.do(c.ChangeBooking(2, None, {"email": "bea@example.org"}))
    assert promises.told(world.decisions[-1]) == ["joined of booking 2 is told 0 times and should be 1"]


def put_for_good(self: View, table: dict[Any, Any], key: Any, value: Any) -> None:
    table[key] = value


# Each breaks one rule: where it stands, its name, and what stands there instead.
MUTANTS: dict[str, tuple[object, str, object]] = {
    "changes cannot be taken back": (View, "put", put_for_good),
    "the line is not served": (door, "fill", lambda *_: None),
    "the open share has no end": (room, "overflow", lambda view, aside=True: 0),
    "it is never too late": (search, "too_late", lambda work, slot, at: False),
    "openings never end": (door, "end_openings", lambda work: None),
    "who is put back sits on others": (put_back, "room", lambda *_: 99),
    "who is put back forgets where it stood": (put_back, "_own_place", lambda work, booking: 1),
    "a small pool keeps everybody": (pools, "losers", lambda view, pool: []),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_random_histories_notice(name: str, monkeypatch: Patch) -> None:
    target, attribute, broken = MUTANTS[name]
    monkeypatch.setattr(target, attribute, broken)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Histories, settings=HUNT)
