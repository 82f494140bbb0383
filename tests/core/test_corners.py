"""Corners that random histories led into once. Each is told as the story that went wrong."""

from __future__ import annotations

import pytest

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core.model import CLOSED, CONFIRMED, HELD, OFFERED, WAITING, Party, Quota, Wants
from fairhold.core.policy import PRESETS
from fairhold.core.refusals import Refusal
from tests.core.history import MINUTE, START
from tests.core.world import ANN, BEA, CYD, DAN, World, one_seat, two_units, wait

STAFF = "staff:Ida"
WINDOW = Wants({"attribute": "side", "is": "window"})


def handed_back() -> World:
    """Two quotas without seats of their own share one open seat; it was offered to Bea and handed back."""
    world = World("last_minute", Quota("a", size=0), Quota("b", size=0))
    world.do(c.ChangePool({"open_size": 1}), c.Book(ANN, quota="a"), c.Book(BEA, quota="a", if_full="wait"))
    return world.do(c.Cancel(1), c.Decline(2))


def test_an_open_seat_that_was_handed_back_is_not_given_to_another_quota() -> None:
    world = handed_back()
    assert world.refused(c.Book(CYD, quota="b", if_full="refuse")) == "not_enough_room"
    assert world.do(c.Book(DAN, quota="a", opening=1, by=STAFF)).states()["Dan"] == HELD
    assert world.broken() == set()


def test_one_free_seat_that_two_quotas_could_use_is_handed_back_once() -> None:
    world = World("last_minute", Quota("a", size=0), Quota("b", size=0)).do(c.ChangePool({"open_size": 1}))
    world.do(c.Book(ANN, quota="a"), c.Book(BEA, quota="a", if_full="wait"))
    world.do(c.Book(CYD, quota="b", if_full="wait"), c.Cancel(1), c.Decline(2), c.Decline(3))
    assert world.states() == {"Ann": "cancelled", "Bea": WAITING, "Cyd": WAITING}, "nobody is asked twice"
    assert sum(tally.aside for tally in world.view.tallies.values()) == 1


def test_a_handed_back_seat_that_is_no_longer_there_cannot_be_booked() -> None:
    world = handed_back().do(c.ChangePool({"open_size": 0}))
    assert world.view.tallies["a"].aside == 0
    assert world.refused(c.Book(DAN, quota="a", opening=1, by=STAFF)) == "unknown"
    assert world.broken() == set()


def test_what_does_not_exist_is_said_before_who_asks_is_looked_at() -> None:
    world = handed_back()
    assert world.refused(c.Book(BEA, 2, "a", opening=9, by=STAFF)) == "unknown"
    assert world.refused(c.Book(BEA, 2, "a", opening=1, by=STAFF)) == "already_waiting"


def test_closing_a_handed_back_open_seat_makes_the_open_share_smaller() -> None:
    world = handed_back().do(c.Resolve(1, "close"))
    assert world.view.pool.open_size == 0
    assert world.states()["Bea"] == WAITING
    assert world.broken() == set()


def test_what_is_freed_beside_an_opening_that_goes_on_joins_it() -> None:
    world = World("last_minute", Quota("main", size=2)).do(c.Book(ANN), c.Book(BEA), wait(CYD))
    world.do(c.Cancel(1), c.Decline(3))
    assert world.view.openings[1].state == "handed_back"
    world.do(wait(DAN), c.Cancel(2))
    assert world.view.openings[2].state == "open"
    assert world.do(c.Resolve(1, "free")).broken() == set()


def test_a_party_of_two_does_not_take_the_only_unit_that_the_first_in_line_wants() -> None:
    world = World("last_minute", Quota("main", by_units=True))
    world.do(c.ChangePool({"status": "paused"}))
    world.do(c.Book(ANN, wants=WINDOW, by=STAFF), c.Book(BEA, 2, by=STAFF))
    units = (
        {"label": "12B", "quota": "main"},
        {"label": "12A", "quota": "main", "attributes": {"side": "window"}},
    )
    world.do(c.AddUnits(units), c.ChangePool({"status": "open"}))
    assert world.states() == {"Ann": OFFERED, "Bea": WAITING}
    assert world.view.units["12A"].booking == 1


def test_a_unit_that_was_declined_does_not_come_back_as_company() -> None:
    world = two_units(tries_max=None, hand_back=False, partial="give_less")
    world.do(c.Book(ANN, units=("12A",)), c.Book(DAN, units=("12B",)), wait(BEA, 2), c.Cancel(1))
    assert world.view.bookings[3].units == ("12A",)
    world.do(c.Decline(3), c.Cancel(2))
    assert world.view.bookings[3].units == ("12B",)


def test_a_unit_that_starts_too_soon_is_no_company() -> None:
    world = World("last_minute", Quota("main", by_units=True), partial="give_less").do(wait(ANN, 2))
    units = (
        {"label": "now", "quota": "main", "starts_at": START + MINUTE},
        {"label": "later", "quota": "main"},
    )
    world.do(c.AddUnits(units))
    assert world.view.bookings[1].units == ("later",)
    assert world.view.bookings[1].expires_at == START + 10 * MINUTE


def test_a_pool_with_people_in_line_cannot_do_without_one() -> None:
    world = one_seat().do(c.Book(ANN), wait(BEA))
    assert world.refused(c.ChangePool({"policy": PRESETS["checkout"]})) == "invalid"
    world.do(c.Cancel(2), c.ChangePool({"policy": PRESETS["checkout"]}))
    assert world.view.pool.policy.promotion is None


def test_a_name_that_begins_like_staff_is_not_staff() -> None:
    world = one_seat().do(c.ChangePool({"opens_at": START + MINUTE}))
    assert world.refused(c.Book(ANN, by="staffan")) == "not_open_yet"
    assert world.do(c.Book(ANN, by="staff:an")).states() == {"Ann": HELD}


def test_who_asks_for_less_room_is_told_what_becomes_of_those_who_lose_their_place() -> None:
    ends, waits = "to end their bookings: there is no line to go to", "to put them back in line"
    begun = {"starts_at": START}
    for preset, changes, then in (
        ("checkout", {}, ends),
        ("class_waitlist", {}, waits),
        ("class_waitlist", begun, ends),
    ):
        world = one_seat(preset).do(c.Book(ANN))
        assert world.refused(c.ChangePool(changes, sizes={"main": 0})) == "would_demote"
        refusal = world.decisions[-1].answer
        assert isinstance(refusal, Refusal)
        assert refusal.sentence == f"1 would lose their place. Say allow_demotion {then}."


def test_where_there_is_no_line_a_smaller_pool_ends_a_booking_and_says_so() -> None:
    world = one_seat("checkout").do(c.Book(ANN), c.ChangePool(sizes={"main": 0}, allow_demotion=True))
    assert world.states() == {"Ann": CLOSED}
    assert [message.kind for message in world.decisions[-1].messages] == ["demoted"]


def test_one_loses_a_seat_and_has_an_offer_elsewhere_in_the_pool() -> None:
    quotas = (Quota("a", size=1), Quota("b", size=1))
    world = World("course_section", *quotas, holds_per_party_max=2)
    world.do(c.Book(ANN, quota="a"), c.Book(BEA, quota="b"), c.Book(ANN, quota="b", if_full="wait"))
    world.do(c.Cancel(2), c.ChangePool(sizes={"a": 0}, allow_demotion=True))
    assert [world.view.bookings[number].state for number in (1, 3)] == [CLOSED, OFFERED]
    assert world.broken() == set()


def test_a_refused_change_still_serves_the_line_for_what_fell_due() -> None:
    world = World("course_section", Quota("main", size=2)).do(c.Book(ANN, confirmed=True, by=STAFF))
    world.do(c.Book(BEA), wait(CYD))
    world.now += 15 * MINUTE
    assert world.refused(c.ChangePool(sizes={"main": 0})) == "would_demote"
    assert world.states() == {"Ann": CONFIRMED, "Bea": "expired", "Cyd": OFFERED}


def test_what_has_no_limit_is_never_handed_back() -> None:
    world = World("last_minute", Quota("main", size=0)).do(wait(ANN), c.ChangePool(sizes={"main": None}))
    world.do(c.Decline(1))
    assert world.view.tallies["main"].aside == 0
    assert world.do(c.Book(BEA)).states()["Bea"] == HELD


def test_openings_that_are_over_make_no_pool_due() -> None:
    world = one_seat("last_minute").do(c.Book(ANN), wait(BEA), c.Cancel(1), c.Decline(2), c.Cancel(2))
    world.do(c.Resolve(1, "close"))
    world.view.due_at = None
    assert world.do(c.Fill(steps=0)).view.due_at is None


@pytest.mark.parametrize("rehearsals", [0, 1, 3])
def test_a_rehearsal_changes_neither_the_decision_nor_its_reasons(rehearsals: int) -> None:
    world = World("class_waitlist", Quota("main", size=1)).do(c.Book(ANN), wait(BEA), wait(CYD))
    for _ in range(rehearsals):
        world.view.savepoint()
        world.do(c.Cancel(1), c.Book(Party("Eve")))
        world.view.rollback()
    world.do(c.Cancel(1), c.Decline(2))
    offered = world.decisions[-1].entries[-1].event
    assert isinstance(offered, e.Offered)
    group = {"quota": "main", "quantity": 1, "round": 1, "wants": ""}
    assert offered.skipped == ({"group": group, "reason": "had_turn"},)


def test_what_an_offer_lent_a_booking_is_gone_with_it() -> None:
    lent = ("offer_quantity", "units", "price", "expires_at")
    world = two_units("class_waitlist").do(c.Book(ANN, 2), wait(BEA, 2), c.Cancel(1))
    assert world.view.bookings[2].offer_quantity == 2
    world.do(c.Decline(2))
    assert [getattr(world.view.bookings[2], name) for name in lent] == [0, (), None, None]


def test_the_rest_of_a_party_waits_as_if_never_asked_and_its_part_was_never_in_line() -> None:
    asked = ("offer_seq", "attempts", "round", "offered_at", "position")
    world = World("class_waitlist", Quota("main", size=2)).do(c.Book(ANN, 2), wait(BEA, 3), c.Cancel(1))
    assert world.view.bookings[2].position == 1
    world.do(c.Claim(2, 1))
    rest, part = world.view.bookings[2], world.view.bookings[3]
    assert [getattr(rest, name) for name in asked] == [1, 0, 0, None, None]
    assert [getattr(part, name) for name in asked] == [0, 0, 0, None, None]


def test_who_is_no_longer_eligible_is_passed_over_with_the_reason() -> None:
    world = one_seat().do(c.Book(ANN), wait(BEA), wait(Party("Cyd", tags=("member",))))
    world.do(c.ChangePool({"quotas": (Quota("main", size=1, eligible={"tag": "member"}),)}), c.Cancel(1))
    assert world.states() == {"Ann": "cancelled", "Bea": WAITING, "Cyd": OFFERED}
    offered = world.decisions[-1].entries[-1].event
    assert isinstance(offered, e.Offered)
    assert offered.skipped == ({"booking": 2, "reason": "not_eligible"},)


def test_two_who_want_a_window_are_not_given_one_and_an_aisle() -> None:
    world = World("course_section", Quota("main", by_units=True))
    world.do(c.Book(ANN, 2, if_full="wait", wants=WINDOW), wait(BEA))
    sides = ({"label": side, "quota": "main", "attributes": {"side": side}} for side in ("window", "aisle"))
    world.do(c.AddUnits(tuple(sides)))
    assert world.states() == {"Ann": WAITING, "Bea": OFFERED}


def test_what_is_offered_again_is_offered_though_seats_beside_it_were_left_to_anybody() -> None:
    world = World("last_minute", Quota("main", size=2)).do(c.Book(ANN), c.Book(BEA), wait(CYD))
    world.do(c.Cancel(1), c.Decline(3), c.Cancel(2), c.Decline(3))
    assert [opening.state for opening in world.view.openings.values()] == ["handed_back", "handed_back"]
    assert world.do(c.Resolve(1, "free")).states()["Cyd"] == WAITING
    assert world.do(c.Resolve(2, "again")).states()["Cyd"] == OFFERED
    assert world.broken() == set()


def test_units_are_given_out_in_their_own_order_each_to_the_first_who_wants_it() -> None:
    world = World("course_section", Quota("main", by_units=True))
    world.do(c.Book(ANN, if_full="wait", wants=WINDOW), wait(BEA))
    sides = ({"label": side, "quota": "main", "attributes": {"side": side}} for side in ("aisle", "window"))
    world.do(c.AddUnits(tuple(sides)))
    offered = [event for event, _ in world.decisions[-1].entries if isinstance(event, e.Offered)]
    assert [(event.booking, event.units) for event in offered] == [(2, ("aisle",)), (1, ("window",))]


def test_an_offer_of_two_units_is_a_try_and_a_turn_at_both() -> None:
    world = two_units("last_minute").do(c.Book(ANN, 2), wait(BEA, 2), c.Cancel(1))
    assert [opening.tries for opening in world.view.openings.values()] == [1, 1]
    assert world.view.tried == {(1, 2): True, (2, 2): True}


def test_a_unit_that_has_had_all_its_tries_is_no_company() -> None:
    world = World("course_section", Quota("main", by_units=True), tries_max=1)
    world.do(wait(ANN), c.AddUnits(({"label": "12A", "quota": "main"},)), c.Decline(1), wait(BEA, 2))
    world.do(c.AddUnits(({"label": "12B", "quota": "main"},)))
    assert world.states()["Bea"] == WAITING
    assert world.do(c.Book(CYD)).view.bookings[3].units == ("12A",), "it is anybody's"


def test_a_unit_that_starts_before_its_party_wakes_is_no_company() -> None:
    quiet = {"quiet_hours": "07:00-09:00", "partial": "give_less"}
    world = World("last_minute", Quota("main", by_units=True), **quiet).do(wait(ANN, 2))
    early = {"label": "early", "quota": "main", "starts_at": START + 40 * MINUTE}
    world.do(c.AddUnits((early, {"label": "late", "quota": "main"})))
    assert world.view.bookings[1].units == ("late",), "it is eight, and Ann is asleep until nine"


def test_staff_offer_what_is_not_too_late_and_no_more_than_there_is() -> None:
    world = World("last_minute", Quota("main", by_units=True)).do(
        wait(ANN), c.ChangePool({"status": "paused"})
    )
    soon = {"label": "soon", "quota": "main", "starts_at": START + MINUTE}
    world.do(c.AddUnits((soon, {"label": "later", "quota": "main"})), c.GiveOffer(1))
    assert world.view.bookings[1].units == ("later",)
    world = World("class_waitlist", Quota("main", size=0)).do(
        wait(ANN, 3), c.ChangePool({"status": "paused"})
    )
    world.do(c.ChangePool(sizes={"main": 1}), c.GiveOffer(1))
    assert world.view.bookings[1].offer_quantity == 1


def test_staff_cannot_offer_what_came_back_to_the_line_of_another_quota() -> None:
    world = handed_back().do(c.Book(CYD, quota="b", if_full="wait"))
    assert world.refused(c.GiveOffer(3, "it came back", 1)) == "unknown"
    assert world.refused(c.Book(DAN, quota="b", opening=1, by=STAFF)) == "unknown"


def test_what_staff_give_out_of_turn_is_theirs_in_the_log() -> None:
    world = World("event_signup", Quota("main", size=0)).do(wait(ANN), c.ChangePool({"status": "paused"}))
    world.do(c.ChangePool(sizes={"main": 1}), c.GiveOffer(1, by=STAFF))
    assert [(type(event), by) for event, by in world.decisions[-1].entries] == [(e.Promoted, STAFF)]


@pytest.mark.parametrize("must_confirm", [True, False])
def test_who_loses_its_seat_waits_by_the_rules_that_come_with_the_smaller_pool(must_confirm: bool) -> None:
    world = one_seat("event_signup", confirm_while_waiting=not must_confirm).do(c.Book(ANN))
    ends = world.view.bookings[1].expires_at
    changes = {"policy": {"confirm_while_waiting": must_confirm}}
    world.do(c.ChangePool(changes, sizes={"main": 0}, allow_demotion=True))
    assert world.view.bookings[1].state == WAITING
    assert world.view.bookings[1].expires_at == (ends if must_confirm else None)
