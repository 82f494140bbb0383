"""Everybody who is passed over can know why: one of very many, and while a seat stays free."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core import search
from fairhold.core.model import Party, Quota, Wants
from fairhold.explain import explain
from fairhold.why_free import why_free
from tests.core.world import ANN, BEA, CYD, World, one_seat, two_units, wait

MEMBER = {"tag": "member"}


def told(world: World, number: int) -> list[str]:
    """Why a booking was passed over, and why it does not get what is free."""
    entries = [entry for decision in world.decisions for entry in decision.entries]
    log = [(entry.event.at, entry.by, entry.event) for entry in entries]
    steps = explain(number, log, world.view.pool.policy)
    now = why_free(world.view, world.view.bookings[number], world.now)
    return [step.sentence for step in (*steps, *([now] if now else ())) if step.code == "passed_over"]


def only_members(world: World, key: str = "main") -> World:
    quotas = [replace(q, eligible=MEMBER) if q.key == key else q for q in world.view.pool.quotas]
    return world.do(c.ChangePool({"quotas": tuple(quotas)}))


# One of very many.


def test_one_of_hundreds_who_were_passed_over_is_told_why() -> None:
    world = World("last_minute", Quota("main", size=0), Quota("other", size=0))
    for number in range(250):
        world.do(c.Book(Party(f"p{number}"), quota="main"))
    world.do(c.Book(ANN, quota="other"))
    world.do(c.Book(Party("Bea", tags=("member",)), quota="main"))
    only_members(world).do(c.ChangePool(sizes={"main": 1}))
    (offered,) = [it.event for it in world.decisions[-1].entries if isinstance(it.event, e.Offered)]
    assert offered.booking == 252
    assert len(offered.skipped) == search.SKIPS_KEPT + 1
    assert offered.skipped[-1] == {"more": 50, "reason": "not_eligible", "quota": "main"}
    for number in (1, 20, 21, 200, 201, 250):
        assert told(world, number) == ["A seat was offered to someone behind you: it was not open to you."]
    assert told(world, 251) == [], "it waits for another quota"


def test_one_of_very_many_with_several_reasons_is_told_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SKIPS_KEPT", 0)
    # Ann and Bea have just been asked, and Bea is no member.
    world = one_seat()
    world.do(c.Book(Party("Olga")), wait(Party("Ann", tags=("member",))), wait(BEA), c.Cancel(1))
    only_members(world.do(c.Decline(2), c.Decline(3)))
    world.do(c.Book(Party("Cyd", tags=("member",))))
    sentence = (
        "A seat was offered to someone behind you: you are one of 2 who were passed over and are not named."
    )
    assert sentence in told(world, 2)
    assert sentence in told(world, 3)


def test_an_entry_of_old_says_nothing_to_who_is_not_named() -> None:
    world = one_seat().do(c.Book(ANN), wait(BEA))
    event = e.Offered(world.now, 9, 1, (), 1, (), None, 1, 1, world.now, ({"more": 3},), "", 2**62)
    log = [(it.event.at, it.by, it.event) for d in world.decisions for it in d.entries]
    steps = explain(2, [*log, (world.now, "rule", event)], world.view.pool.policy)
    assert [step.code for step in steps] == ["joined"]


# While a seat is free.


def test_a_seat_that_is_free_while_all_are_in_their_cooldown_is_explained() -> None:
    world = one_seat().do(c.Book(Party("Olga")), wait(ANN), wait(BEA), c.Cancel(1))
    assert told(world, 2) == told(world, 3) == [], "it is offered"
    world.do(c.Decline(2), c.Decline(3))
    sentence = "A seat is free now: you were offered one less than 24 h ago."
    assert told(world, 2)[-1] == told(world, 3)[-1] == sentence


def test_a_seat_that_is_not_enough_is_explained() -> None:
    world = World("event_signup", Quota("main", size=2)).do(c.Book(ANN), wait(BEA, 2))
    assert told(world, 2) == ["A seat is free now: it is not enough for your party of 2."]


def test_a_free_seat_that_is_not_open_to_one_is_explained() -> None:
    world = one_seat(turns="opening", cooldown=0).do(c.Book(Party("Olga")), wait(ANN))
    only_members(world).do(c.Cancel(1))
    assert told(world, 2) == ["A seat is free now: it is not open to you."]


def test_a_free_seat_at_which_one_had_a_turn_is_explained() -> None:
    world = one_seat(turns="opening", cooldown=0).do(c.Book(Party("Olga")), wait(ANN), c.Cancel(1))
    assert told(world.do(c.Decline(2)), 2) == ["A seat is free now: you have had your turn."]


def test_seats_that_others_are_asked_about_first_are_explained() -> None:
    world = World("class_waitlist", Quota("main", size=2))
    world.do(c.Book(Party("Olga"), 2), wait(ANN), wait(BEA), c.Cancel(1))
    assert told(world, 3) == ["A seat is free now: others are asked first."]


def test_of_several_free_units_the_reason_is_told_that_is_nearest() -> None:
    world = two_units(turns="round", hand_back=False, tries_max=None, cooldown="1h")
    world.do(c.Book(Party("Olga"), 2), wait(ANN), c.Book(BEA, if_full="wait", wants=Wants(until_at=1)))
    world.do(c.Cancel(1), c.Decline(2))
    assert told(world, 2)[-1] == "A seat is free now: you were offered one less than 1 h ago."
    assert told(world, 3)[-1] == "A seat is free now: it is not what you want."


def test_who_has_no_tries_left_and_was_not_reached_is_told_so() -> None:
    world = World("last_minute", Quota("main", size=2), hand_back=False, tries_max=None)
    world.do(c.Book(Party("Olga"), 2), wait(ANN, 2), c.Cancel(1), c.Decline(2))
    world.do(c.Book(CYD, 2), wait(BEA, 2), c.Move(2, to="back"))
    world.do(c.ChangePool({"policy": {"attempts_max": 1}}, sizes={"main": 3}))
    assert told(world, 2) == ["A seat is free now: your attempts are used up."]
    assert told(world, 4) == ["A seat is free now: it is not enough for your party of 2."]


def test_nothing_is_said_where_nothing_is_free_or_nobody_is_asked() -> None:
    world = one_seat().do(c.Book(ANN), wait(BEA))
    assert told(world, 2) == []
    world.do(c.ChangePool({"status": "paused"}), c.Cancel(1))
    assert told(world, 2) == []
    assert told(world, 1) == []


def test_nothing_is_said_of_a_seat_that_is_lost_to_the_line() -> None:
    world = one_seat("last_minute", hand_back=False, tries_max=1)
    world.do(c.Book(Party("Olga")), wait(ANN), wait(BEA), c.Cancel(1), c.Decline(2))
    assert world.view.bookings[3].offer_seq == 0, "one try was all"
    assert told(world, 3) == []
