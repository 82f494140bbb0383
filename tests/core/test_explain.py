"""Why you are where you are: told from the log alone."""

from __future__ import annotations

from dataclasses import fields

from fairhold.core.commands import Command
from fairhold.core.events import KINDS
from fairhold.explain import _TELL, Logged, Step, explain, span
from fairhold.testing import CoreWorld, Outcome, play, read


class Recorded(CoreWorld):
    """The bare rules, with the log that an engine would keep."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Logged] = []

    def run(self, command: Command, *, dry_run: bool = False) -> Outcome:
        outcome = super().run(command, dry_run=dry_run)
        self.log += [(self.now, by, event) for event, by in outcome.entries]
        return outcome


def steps(text: str, name: str) -> list[Step]:
    """The steps of someone's last booking in a scenario."""
    world = Recorded()
    (scenario,) = read(text)
    play(scenario, world)
    number = max(b.number for b in world.view.bookings.values() if b.party.id == name.lower())
    return explain(number, world.log, world.pool().policy)


def told(text: str, name: str) -> list[str]:
    return [step.sentence for step in steps(text, name)]


def codes(text: str, name: str) -> list[str]:
    return [f"{step.code} {step.reason}".strip() for step in steps(text, name)]


ROLLS_ON = """\
pool chair main=1 preset=last_minute
book Olga
wait Ann, Bea, Cyd
cancel Olga
decline Ann
after 10m
claim Cyd
cancel Cyd by staff
claim Ann
"""


def test_a_day_at_the_salon_in_plain_sentences() -> None:
    assert told(ROLLS_ON, "Ann") == [
        "You joined the line as #1.",
        "You were #1 and were offered a seat for 10 min.",
        "You declined the offer. You kept your place in line.",
        "A seat was offered to someone behind you: you had had your turn.",
        "A seat was offered to someone behind you: you had had your turn.",
        "You were #1 and were offered a seat for 10 min.",
        "You accepted a seat.",
    ]
    assert codes(ROLLS_ON, "Bea") == ["joined", "offered", "lapsed stay", "passed_over had_turn"]
    assert told(ROLLS_ON, "Cyd")[-2:] == ["You accepted a seat.", "Staff cancelled it."]


def test_each_step_has_its_instant_and_who_caused_it() -> None:
    joined, offered, lapsed, passed = steps(ROLLS_ON, "Bea")
    assert [joined.by, offered.by, lapsed.by, passed.by] == ["party", "rule", "clock", "rule"]
    assert lapsed.at - offered.at == 10 * 60_000
    assert passed.at == lapsed.at


def test_a_cooldown_is_explained_with_its_length() -> None:
    text = """\
pool spanish main=1 preset=class_waitlist
book Olga
wait Ann
cancel Olga
decline Ann
book Bea
"""
    assert told(text, "Ann")[-1] == (
        "A seat was offered to someone behind you: you had been offered one less than 24 h ago."
    )


def test_attempts_that_are_used_up_are_explained() -> None:
    text = """\
pool spanish main=1 preset=class_waitlist
book Olga
wait Ann
cancel Olga
after 72h
"""
    assert told(text, "Ann")[-1] == (
        "The offer ended without an answer. It was the last of 3 tries, so your place was closed."
    )
    assert codes(text, "Ann")[-1] == "lapsed attempts_used_up"


def test_only_those_before_the_chosen_one_were_passed_over() -> None:
    text = """\
pool table main=1 preset=course_section
book Olga
wait Ann x3, Bea, Cyd x3
cancel Olga
"""
    assert told(text, "Ann") == [
        "You joined the line as #1.",
        "A seat was offered to someone behind you: it was not enough for your party of 3.",
    ]
    assert told(text, "Cyd") == ["You joined the line as #3."]


def test_what_one_does_not_want_is_explained() -> None:
    text = """\
pool salon chairs=units() preset=last_minute
wait Ann wants=service=colour
wait Bea
units add 14:00 attributes=service:cut
claim Bea
cancel Bea by staff
"""
    assert told(text, "Ann")[1:] == [
        "A seat was offered to someone behind you: it was not what you want.",
        "A free seat went back to staff: it was not what you want.",
    ]
    assert "You accepted 14:00." in told(text, "Bea")


def test_a_sign_up_that_moves_up_is_explained() -> None:
    text = """\
pool party main=1 preset=event_signup
book Olga
after 10m
wait Ann, Bea
confirm Ann
after 20m
"""
    assert told(text, "Olga") == [
        "You got a seat, held for 30 min.",
        "The hold ended without being confirmed.",
    ]
    assert told(text, "Ann") == [
        "You joined the line as #1. You had 30 min to confirm.",
        "You confirmed, and kept your place in line.",
        "You were #1 when room became free: you got a seat.",
    ]
    assert told(text + "after 10m", "Bea")[-1] == ("You had not confirmed in time and left the line, as #1.")


def test_what_staff_offer_to_whom_letters_do_not_reach_is_explained() -> None:
    """Each later offer passes Ann over again, and the story says so."""
    text = """\
pool lesson main=1 preset=class_waitlist cooldown=0
book Olga
wait Ann door=page
cancel Olga
unreachable Ann reason=no_contact
offer Ann why=called
wait Bea
decline Ann
"""
    assert told(text, "Ann")[-3:-1] == [
        "Staff offered you a seat for 24 h (called). No letter reaches you, so they tell you themselves.",
        "You declined the offer. You kept your place in line.",
    ]
    assert codes(text, "Ann")[-1] == "passed_over unreachable"
    # Control: whom letters reach is told by one.
    sent = text.replace(" cooldown=0", "").replace("unreachable Ann reason=no_contact", "decline Ann")
    assert "Staff offered you a seat for 24 h (called)." in told(sent, "Ann")


def test_a_sign_up_that_staff_confirm_in_line_is_explained() -> None:
    text = """\
pool party main=1 preset=event_signup
book Olga
wait Ann
book Ann confirmed by staff
book Bea confirmed by staff
"""
    assert told(text, "Ann")[1] == "Staff confirmed it, and you kept your place in line."
    assert told(text, "Bea") == ["You joined the line as #2. There is nothing to confirm."]


def test_staff_moves_demotion_and_closing_are_explained() -> None:
    text = """\
pool class main=2 preset=course_section priority:5=tag:member
book Ann, Bea
confirm Ann, Bea
wait Cyd tags=member
wait Dan
move Dan front why=birthday by staff:Kim
size main=1 demote
offer Dan -> refused not_enough_room
close
"""
    assert told(text, "Bea")[1:] == [
        "You confirmed it.",
        "There was less room: you went back to the line, as #1.",
        "The line was closed.",
    ]
    assert told(text, "Cyd")[0] == "You joined the line as #1. Your priority is 5."
    assert told(text, "Dan")[1] == "Staff moved you from #2 to #1 (birthday)."
    assert codes(text, "Dan") == ["joined", "moved", "closed pool_closed"]


def test_a_seat_that_is_lost_where_there_is_no_place_in_line_is_explained() -> None:
    text = """\
pool checkout main=2 preset=checkout
book Ann, Bea
confirm Ann, Bea
size main=1 demote
"""
    assert told(text, "Bea")[-1] == "There was less room, and no place in line to go to: your booking ended."


def test_a_part_is_explained_on_both_sides() -> None:
    text = """\
pool class main=2 preset=class_waitlist
book Olga
confirm Olga
book Pia
wait Ann x3
cancel Pia
claim Ann
"""
    world = Recorded()
    play(read(text)[0], world)
    policy = world.pool().policy
    assert [step.sentence for step in explain(3, world.log, policy)][-1] == (
        "You accepted a seat, and stayed in line for 2 seats more."
    )
    assert [step.sentence for step in explain(4, world.log, policy)] == ["You accepted a seat."]


def test_leaving_going_back_and_extending_are_explained() -> None:
    text = """\
pool class main=1 preset=class_waitlist after_decline=back
book Olga
extend Olga 10m by staff
wait Ann, Bea, Cyd
cancel Olga
decline Ann
cancel Cyd
"""
    assert told(text, "Olga")[1:] == ["Staff extended the hold: 25 min were left.", "You cancelled it."]
    assert told(text, "Ann")[-1] == "You declined the offer. You went to the end of the line."
    assert told(text, "Cyd")[-1] == "You left the line, as #1."


def test_every_event_about_a_booking_can_be_told() -> None:
    about = {kind for kind in KINDS.values() if "booking" in {field.name for field in fields(kind)}}
    assert about == set(_TELL)


def test_lengths_in_words() -> None:
    assert [span(ms) for ms in (0, 45_000, 600_000, 5_400_000, 86_400_000)] == [
        "0 s",
        "45 s",
        "10 min",
        "1 h 30 min",
        "24 h",
    ]
