"""A view takes back exactly what a command did, and asks for what it was not given."""

from __future__ import annotations

from typing import Any

import pytest

from fairhold.core import commands as c
from fairhold.core import line
from fairhold.core.decide import decide
from fairhold.core.model import (
    CANCELLED,
    CONFIRMED,
    HELD,
    OFFERED,
    WAITING,
    Booking,
    Opening,
    Party,
    Pool,
    Quota,
    Tally,
    Wants,
)
from fairhold.core.openings import opening_of
from fairhold.core.policy import PRESETS
from fairhold.core.view import HIGHEST, Need, View, group_of
from fairhold.core.work import Done
from tests.core.history import START, snapshot

MAIN = Quota("main", size=1)
CHAIRS = Quota("chairs", by_units=True)


def pool(preset: str = "last_minute", *quotas: Quota) -> Pool:
    return Pool(1, "org", "pool", "", PRESETS[preset], quotas or (MAIN,))


def booking(number: int, state: str = WAITING, party: str | None = None, **fields: Any) -> Booking:
    place = fields.pop("place", line.place_of(0, number))
    who = Party(party or f"party {number}")
    quota = fields.pop("quota", "main")
    return Booking(number, "", who, quota, fields.pop("quantity", 1), state, place, number, **fields)


def view_of(*bookings: Booking) -> View:
    view = View(pool())
    for one in bookings:
        view.put_booking(one)
    view.savepoint()
    return view


# What follows from storing a booking.


def test_tallies_follow_a_booking_through_its_life() -> None:
    view = view_of(booking(1, quantity=3))
    assert view.tallies["main"] == Tally(0, 1, 0)
    view.put_booking(booking(1, OFFERED, quantity=3, offer_quantity=2))
    assert view.tallies["main"] == Tally(2, 0, 1)
    view.put_booking(booking(1, HELD, quantity=3))
    assert view.tallies["main"] == Tally(3, 0, 0)
    view.put_booking(booking(1, "expired", quantity=3))
    assert view.tallies["main"] == Tally()


def test_the_next_due_time_is_the_earliest_deadline() -> None:
    view = view_of(booking(1, HELD, expires_at=500), booking(2, HELD, expires_at=300))
    assert view.due_at == 300
    view.put_booking(booking(2, CONFIRMED))
    assert view.due_at == 300, "it may be early, never late"


def test_units_follow_their_booking() -> None:
    view = View()
    chairs = tuple({"label": label, "quota": "chairs"} for label in ("left", "right"))
    decide(view, c.CreatePool(pool("last_minute", CHAIRS), chairs), START)
    decide(view, c.Book(Party("Ann"), 2), START)
    assert {unit.label: unit.booking for unit in view.units.values()} == {"left": 1, "right": 1}
    decide(view, c.Cancel(1), START)
    assert {unit.booking for unit in view.units.values()} == {None}


def test_a_booking_that_comes_back_to_its_place_is_in_its_group_once() -> None:
    view = view_of(booking(1), booking(2))
    view.put_booking(booking(1, OFFERED, offer_quantity=1))
    view.put_booking(booking(1))
    [group] = line.groups(view, "main")
    assert [b.number for b in line.members(view, group)] == [1, 2]


def test_who_enters_the_line_again_is_found_though_it_had_been_passed_by() -> None:
    view = view_of(booking(1), booking(2))
    [group] = line.groups(view, "main")
    view.put_booking(booking(1, OFFERED, offer_quantity=1))
    assert [b.number for b in line.members(view, group)] == [2]
    view.savepoint()
    view.put_booking(booking(2, OFFERED, offer_quantity=1))
    view.put_booking(booking(3, place=line.place_of(0, 1) - 1))
    assert [b.number for b in line.members(view, group)] == [3]
    view.put_booking(booking(1))
    assert [b.number for b in line.members(view, group)] == [3, 1]
    view.rollback()
    assert [b.number for b in line.members(view, group)] == [2]


def test_the_opening_that_goes_on_follows_what_becomes_of_it() -> None:
    view = view_of()
    first, second = Opening(1, "main", None, START), Opening(2, "main", None, START)
    view.put_opening(first)
    view.savepoint()
    assert opening_of(view, "main", None) == first
    view.put_opening(first._replace(state="outgrown"))
    assert opening_of(view, "main", None) is None
    view.put_opening(second)
    view.put_opening(first._replace(state="taken"))
    assert opening_of(view, "main", None) == second
    view.put_opening(second._replace(tries=1))
    assert opening_of(view, "main", None) == second._replace(tries=1)
    view.rollback()
    assert opening_of(view, "main", None) == first


# Taking back.


def test_rollback_takes_back_everything_since_the_savepoint() -> None:
    view = view_of(booking(1), booking(2), booking(3, HELD, expires_at=900))
    before = snapshot(view)
    view.put_booking(booking(2, OFFERED, offer_quantity=1, expires_at=100))
    view.put_booking(booking(1, place=line.place_of(0, 9)))
    view.put_booking(booking(4, quantity=2, wants=Wants(until_at=5)))
    view.put_booking(booking(2))
    view.add_aside("main", 2)
    view.round += 1
    assert snapshot(view) != before
    view.rollback()
    assert snapshot(view) == before


def test_rollback_goes_back_to_the_last_savepoint_only() -> None:
    view = view_of()
    view.put_booking(booking(1))
    view.savepoint()
    view.put_booking(booking(2))
    view.rollback()
    view.rollback()
    assert list(view.bookings) == [1]


def test_a_party_is_not_blamed_for_what_was_taken_back() -> None:
    view = View()
    decide(view, c.CreatePool(pool("checkout", Quota("main", size=2))), START)
    view.savepoint()
    decide(view, c.Book(Party("Ann")), START)
    view.rollback()
    assert decide(view, c.Book(Party("Bea")), START).answer == Done(1)
    assert decide(view, c.Book(Party("Ann")), START).answer == Done(2)
    assert view.by_party == {"Bea": [1], "Ann": [2]}


# Loading.


def test_what_was_changed_wins_over_what_is_loaded_later() -> None:
    view = view_of(booking(1, HELD))
    view.load_bookings([booking(1), booking(2)])
    assert view.bookings[1].state == HELD
    assert view.by_party == {"party 1": [1], "party 2": [2]}


def partial(**fields: Any) -> View:
    """A view of a long line of which hardly anything was loaded."""
    view = View(pool())
    view.whole, view.prefix_whole, view.heads = False, False, None
    view.loaded_waiting = view.arrivals = view.loaded_arrivals = 100
    view.loaded_last_place = line.place_of(0, 100)
    for name, value in fields.items():
        setattr(view, name, value)
    return view


def test_a_place_behind_everybody_needs_no_loading() -> None:
    assert line.position(partial(), line.place_of(0, 101)) == 101


def test_a_place_in_the_middle_is_asked_for() -> None:
    view, place = partial(), line.place_of(0, 50)
    with pytest.raises(Need) as asked:
        line.position(view, place)
    assert (asked.value.what, asked.value.detail) == ("position", place)
    view.base[place] = 49
    assert line.position(view, place) == 50


def test_a_loaded_prefix_answers_for_the_places_in_it() -> None:
    view = partial(prefix=[line.place_of(0, number) for number in (3, 5, 8)])
    assert line.position(view, line.place_of(0, 1)) == 1
    assert line.position(view, line.place_of(0, 5)) == 2
    assert line.position(view, line.place_of(0, 6)) == 3
    with pytest.raises(Need):
        line.position(view, line.place_of(0, 9))
    view.prefix_whole = True
    assert line.position(view, line.place_of(0, 9)) == 4


def test_changes_of_this_transaction_count_on_top_of_what_was_loaded() -> None:
    view = partial(prefix=[line.place_of(0, number) for number in (3, 5, 8)], heads={})
    view.load_bookings([booking(3)])
    view.tallies["main"] = Tally(waiting=100)
    view.put_booking(booking(3, "cancelled"))
    assert line.position(view, line.place_of(0, 8)) == 2
    view.put_booking(booking(101))
    view.put_booking(booking(102, place=line.place_of(1, 102)))
    assert line.position(view, line.place_of(0, 8)) == 3
    assert line.position(view, line.place_of(0, 101)) == 101
    assert line.position(view, line.place_of(0, 103)) == 102


def test_all_who_arrive_now_at_one_priority_ask_one_question() -> None:
    view = partial()
    first = line.place_of(5, 101)
    with pytest.raises(Need) as asked:
        line.position(view, first)
    assert asked.value.detail == first
    view.base[first] = 7
    assert line.position(view, first) == 8
    view.put_booking(booking(101, place=first))
    view.arrivals = 101
    assert line.position(view, line.place_of(5, 102)) == 9


def test_groups_are_asked_for_when_nobody_loaded_them() -> None:
    view = partial()
    with pytest.raises(Need, match="heads"):
        line.groups(view, "main")
    with pytest.raises(Need, match="heads"):
        next(line.members(view, group_of(booking(1))))


def test_more_of_a_group_is_asked_for_when_its_loaded_head_is_used_up() -> None:
    one, two = booking(1), booking(2)
    group = group_of(one)
    view = partial(heads={group: [(one.place, 1), (two.place, 2)]}, heads_more={group})
    view.load_bookings([one, two])
    along = line.members(view, group)
    assert [next(along).number, next(along).number] == [1, 2]
    with pytest.raises(Need) as asked:
        next(along)
    assert (asked.value.what, asked.value.detail) == ("more", group)


def test_loaded_and_fresh_members_of_a_group_come_in_order_and_once() -> None:
    one, two, three = booking(1), booking(2), booking(3)
    group = group_of(one)
    view = partial(heads={group: [(one.place, 1), (three.place, 3)]})
    view.load_bookings([one, three])
    view.tallies["main"] = Tally(waiting=100)
    view.put_booking(two)
    view.put_booking(three._replace(state=OFFERED, offer_quantity=1))
    assert [b.number for b in line.members(view, group)] == [1, 2]
    view.put_booking(three)
    assert [b.number for b in line.members(view, group)] == [1, 2, 3]


def test_the_next_behind_a_place_are_asked_for() -> None:
    view = partial()
    with pytest.raises(Need, match="followers"):
        line.place_after(view, booking(1))
    view.reached[booking(1).place] = HIGHEST
    assert line.place_after(view, booking(1)) is not None


def test_who_stands_further_back_than_was_looked_is_not_taken_for_the_next() -> None:
    view, one = partial(), booking(1)
    view.load_bookings([booking(2), booking(3), booking(9)])
    view.reached[one.place] = booking(3).place
    assert [b.number for b in line.followers(view, one.place, 2)] == [2, 3]
    view.put_booking(booking(2)._replace(state=CANCELLED))
    with pytest.raises(Need) as asked:
        line.followers(view, one.place, 2)
    assert (asked.value.what, asked.value.detail) == ("followers", (one.place, 2))
