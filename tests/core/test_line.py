"""The order of the line: places, staff moves, priority, and references that nobody shares."""

from __future__ import annotations

import random

import pytest

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core import line
from fairhold.core.decide import decide
from fairhold.core.model import OFFERED, WAITING, Party, Pool, Quota
from fairhold.core.policy import PRESETS, PRIORITY_MAX, Policy, make
from fairhold.core.reference import ALPHABET, reference
from fairhold.core.view import View
from fairhold.core.work import Decision
from fairhold.verify import promises
from tests.core.history import START, waiting

INT64 = range(-(2**63), 2**63)


def queue(length: int, policy: Policy = PRESETS["class_waitlist"], size: int = 0) -> View:
    """A full pool with so many in line, numbered from 1."""
    view = View()
    decide(view, c.CreatePool(Pool(1, "org", "pool", "", policy, (Quota("main", size=size),))), START)
    for number in range(1, length + 1):
        decide(view, c.Book(Party(f"party {number}")), START)
    return view


def order(view: View) -> list[int]:
    return [booking.number for booking in waiting(view)]


def move(view: View, number: int, to: str, after: int | None = None) -> Decision:
    return decide(view, c.Move(number, to, after), START)


def test_the_line_stands_in_order_of_arrival() -> None:
    assert order(queue(5)) == [1, 2, 3, 4, 5]


def test_staff_move_to_the_front_to_the_back_and_after_another() -> None:
    view = queue(5)
    move(view, 4, "front")
    assert order(view) == [4, 1, 2, 3, 5]
    move(view, 1, "back")
    assert order(view) == [4, 2, 3, 5, 1]
    move(view, 5, "after", 4)
    assert order(view) == [4, 5, 2, 3, 1]
    move(view, 4, "after", 1)
    assert order(view) == [5, 2, 3, 1, 4]


def test_a_newcomer_stands_behind_whoever_was_moved_to_the_back() -> None:
    view = queue(3)
    move(view, 1, "back")
    decide(view, c.Book(Party("new")), START)
    move(view, 2, "after", 4)
    decide(view, c.Book(Party("newer")), START)
    assert order(view) == [3, 1, 4, 2, 5]


def test_a_move_says_where_from_and_where_to() -> None:
    view = queue(4)
    moved = [move(view, 3, "front"), move(view, 3, "back"), move(view, 1, "after", 2)]
    events = [decision.entries[-1].event for decision in moved]
    assert [(event.was, event.position) for event in events if isinstance(event, e.Moved)] == [
        (3, 1),
        (1, 4),
        (1, 2),
    ]


@pytest.mark.parametrize("to", ["front", "back"])
def test_thousands_of_moves_keep_every_place_its_own(to: str) -> None:
    view = queue(4)
    dice = random.Random(to)
    expected = order(view)
    for _ in range(3_000):
        number = dice.choice(expected)
        move(view, number, to)
        expected.remove(number)
        expected.insert(0 if to == "front" else len(expected), number)
    assert order(view) == expected
    assert promises.contiguous(view, START) == []
    assert all(booking.place in INT64 for booking in view.bookings.values())
    assert all(abs(booking.place) < 2**62 + 2**61 for booking in view.bookings.values()), "room to go on"


def test_places_behind_a_booking_run_out_and_are_made_again() -> None:
    view = queue(4)
    expected, respread = order(view), 0
    for turn in range(500):
        number = (2, 3, 4)[turn % 3]
        entries = move(view, number, "after", 1).entries
        respread += any(isinstance(entry.event, e.Respread) for entry in entries)
        expected.remove(number)
        expected.insert(1, number)
        assert order(view) == expected
        assert promises.contiguous(view, START) == []
    assert respread > 5
    decide(view, c.Book(Party("new")), START)
    assert order(view) == [*expected, 5]


def test_random_moves_among_the_same_few_keep_the_order_that_was_asked_for() -> None:
    view, dice = queue(8), random.Random(8)
    expected = order(view)
    for turn in range(3_000):
        number, other = dice.sample(expected, 2)
        to = dice.choice(["front", "back", "after", "after", "after", "after", "after", "after"])
        if dice.random() < 0.7:
            other = expected[0] if expected[0] != number else expected[1]
        move(view, number, to, other)
        expected.remove(number)
        at = {"front": 0, "back": len(expected)}.get(to)
        expected.insert(expected.index(other) + 1 if at is None else at, number)
        if turn % 100 == 0:
            decide(view, c.Book(Party(f"new {turn}")), START)
            expected.append(max(view.bookings))
            gone = expected.pop(dice.randrange(len(expected)))
            decide(view, c.Cancel(gone), START)
    assert order(view) == expected
    assert promises.contiguous(view, START) == []
    assert all(booking.place in INT64 for booking in view.bookings.values())


def test_places_are_none_when_two_bookings_stand_side_by_side() -> None:
    view = queue(2)
    one, two = waiting(view)
    view.put_booking(two._replace(place=one.place + 1))
    assert line.place_after(view, one) is None
    view.put_booking(two._replace(place=one.place + 2))
    assert line.place_after(view, one) == one.place + 1


def test_who_has_an_offer_keeps_a_place_that_nobody_else_gets() -> None:
    view = queue(3, size=0)
    decide(view, c.ChangePool(sizes={"main": 1}), START)
    offered = view.bookings[1]
    assert offered.state == OFFERED
    for turn in range(100):
        move(view, 2 + turn % 2, "front")
        move(view, 2 + turn % 2, "back")
    assert promises.contiguous(view, START) == []
    decide(view, c.Decline(1), START)
    assert promises.contiguous(view, START) == []


# Priority.


RULES = [
    {"when": {"tag": "honours"}, "add": 100},
    {"when": {"attribute": "credits", "at_least": 90}, "add": 10},
    {"when": {"tag": "late"}, "add": -PRIORITY_MAX},
    {"when": {"tag": "first"}, "add": PRIORITY_MAX},
]


def by_priority() -> Policy:
    policy = make("course_section", {"priority_rules": RULES})
    assert isinstance(policy, Policy)
    return policy


def test_higher_priority_stands_first_and_arrival_decides_within_one() -> None:
    view = queue(0, by_priority())
    for number, (tags, credits_) in enumerate(
        [
            ((), 0),
            (("honours",), 0),
            (("late",), 0),
            ((), 95),
            (("honours",), 95),
            ((), 0),
            (("honours",), 0),
        ],
        1,
    ):
        decide(view, c.Book(Party(f"party {number}", tags=tags, attributes={"credits": credits_})), START)
    assert order(view) == [5, 2, 7, 4, 1, 6, 3]
    assert promises.contiguous(view, START) == []


def test_priorities_add_up_and_stay_within_bounds() -> None:
    policy = by_priority()
    assert line.priority_of(policy, Party("A")) == 0
    assert line.priority_of(policy, Party("A", tags=("honours",), attributes={"credits": 90})) == 110
    assert line.priority_of(policy, Party("A", tags=("honours", "first"))) == PRIORITY_MAX


def test_priorities_never_mix_however_many_arrive() -> None:
    many = 2**32 - 1
    for priority in (-PRIORITY_MAX, -1, 0, 1, PRIORITY_MAX - 1):
        assert line.place_of(priority + 1, many) < line.place_of(priority, 1)
    extremes = [line.place_of(priority, many) for priority in (-PRIORITY_MAX, PRIORITY_MAX)]
    assert all(place in INT64 for place in extremes)


def test_moves_over_tiers_stay_between_their_neighbours() -> None:
    view = queue(0, by_priority())
    for number, tag in enumerate(["late", "first", "", "honours"], 1):
        decide(view, c.Book(Party(f"party {number}", tags=(tag,))), START)
    assert order(view) == [2, 4, 3, 1]
    move(view, 1, "front")
    move(view, 2, "back")
    assert order(view) == [1, 4, 3, 2]
    move(view, 1, "after", 4)
    decide(view, c.Book(Party("new", tags=("honours",))), START)
    assert order(view) == [4, 1, 5, 3, 2]
    assert all(booking.place in INT64 for booking in view.bookings.values() if booking.state == WAITING)


# References.


def test_references_of_a_pool_are_never_shared() -> None:
    numbers = [
        *range(1, 50_000),
        *range(950_000, 1_000_000),
        *random.Random(1).sample(range(1_000_000), 50_000),
    ]
    numbers = list(dict.fromkeys(numbers))
    assert len({reference(7, number) for number in numbers}) == len(numbers)


def test_a_reference_is_six_letters_and_digits_without_look_alikes() -> None:
    assert len(set(ALPHABET)) == len(ALPHABET) == 31
    assert not set("0O1IZ") & set(ALPHABET)
    seen = "".join(reference(pool, number) for pool in (1, 2**40) for number in range(3_000))
    assert set(seen) == set(ALPHABET)
    assert {len(reference(pool, number)) for pool in (0, 99) for number in (0, 1, 31**6 - 1)} == {6}


def test_one_reference_does_not_betray_the_next() -> None:
    pairs = [(reference(3, number), reference(3, number + 1)) for number in range(1_000)]
    same = sum(a == b for one, next_ in pairs for a, b in zip(one, next_, strict=True))
    assert same < 6 * 1_000 / 31 * 2, "neighbours share letters hardly more often than strangers do"
    other_pool = sum(reference(3, number) == reference(4, number) for number in range(1_000))
    assert other_pool == 0
