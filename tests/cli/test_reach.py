"""Who cannot be told of an offer is seen at the command line, with the reason and what to do about it."""

from __future__ import annotations

import asyncio

import pytest

from fairhold import Fairhold, granted
from fairhold.cli.narrate import Narrator
from tests.cli.conftest import Cli

MAIL = "no mail server is set up: FAIRHOLD_SMTP_URL"


def signed_up(cli: Cli, name: str, **contacts: str) -> str:
    """Sign somebody up at the public page; the reference."""

    async def sign_up() -> str:
        async with Fairhold.open(cli.url, ticker=False) as hf:
            party = {"id": name.lower(), "name": name, "contacts": contacts}
            return granted(await hf.book("yoga", party, door="page")).reference

    return asyncio.run(sign_up())


@pytest.fixture
def ann(cli: Cli) -> str:
    """Ann, whom an offer could not be sent for want of a mail server."""
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    olga = cli.book("yoga", "Olga", "--confirmed", "--staff", "Eve")
    reference = signed_up(cli, "Ann", email="ann@example.org")
    assert cli("needs-you") == "Nothing needs you."
    cli("cancel", olga)
    cli("outbox", "--once")
    return reference


def test_a_letter_that_nothing_could_carry_is_not_sent_with_the_reason(cli: Cli, ann: str) -> None:
    listed = cli("message", "list", "yoga").splitlines()
    (offer,) = [line for line in listed if " offer " in line]
    assert "  not sent  " in offer
    assert offer.endswith(MAIL)
    letter = offer.split()[0]
    assert cli("message", "show", letter) == f"offer to party: not sent, 1 try: {MAIL}"
    assert cli("message", "replay", letter) == "1 message will be sent again."


def test_staff_are_told_whom_to_call_and_what_to_set(cli: Cli, ann: str) -> None:
    said = cli("needs-you")
    assert "In line, and cannot be told of an offer:" in said
    assert f"yoga  #1  Ann  {ann}  {MAIL}, FAIRHOLD_MAIL_FROM  ann@example.org" in said
    assert cli("needs-you", "yoga") == said
    (listed,) = cli.json("needs-you")["passed_over"]
    assert (listed["reference"], listed["reach"], listed["door"]) == (ann, "no_channel", "page")
    cli("pool", "create", "other", "--preset", "class_waitlist", "--size", "1")
    assert cli("needs-you", "other") == "Nothing needs you."


def assert_yours_to_tell(cli: Cli, reference: str) -> None:
    """Check that staff are asked to tell Ann of her offer: until when it runs, and where to call her."""
    said = cli("needs-you")
    assert said.startswith("You tell them of these offers:")
    (row,) = [line for line in said.splitlines() if line.startswith("yoga")]
    assert row.startswith(f"yoga  Ann  {reference}  offered until ")
    assert row.endswith("  ann@example.org")
    assert "Answer for them: fairhold booking BOOKING says how to claim, fairhold decline BOOKING" in said
    (listed,) = cli.json("needs-you")["to_tell"]
    assert (listed["reference"], listed["state"]) == (reference, "offered")


def test_a_booking_says_how_it_came_and_who_tells_its_party(cli: Cli, ann: str) -> None:
    shown = cli("booking", ann)
    assert "Ann is #1 in line." in shown
    assert f"Came by the public page. Offers pass them over: {MAIL}, FAIRHOLD_MAIL_FROM." in shown
    assert "cannot be told" in cli("line", "yoga")
    told = cli("change", ann, "--told-by-staff", "--staff", "Olga")
    assert told.endswith("Came by the public page. You tell them of offers.")
    assert "you tell them" in cli("bookings", "yoga", "--party", "ann")
    assert_yours_to_tell(cli, ann)
    cli("decline", ann)
    assert cli("needs-you") == "Nothing needs you."
    shown = cli("change", ann, "--told-by-letters")
    assert shown.splitlines()[-1] == "Came by the public page."
    bea = cli.book("yoga", "Bea")
    assert "Let in by a program or the command line." in cli("booking", bea)


def test_a_seat_that_staff_offer_is_theirs_to_tell_and_the_next_is_not(cli: Cli, ann: str) -> None:
    cli("offer", ann, "--staff", "Olga")
    assert_yours_to_tell(cli, ann)
    shown = cli("booking", ann)
    mail = f"{MAIL}, FAIRHOLD_MAIL_FROM."
    assert f"You tell them of this offer, later ones pass them over: {mail}" in shown
    assert "you tell them" in cli("bookings", "yoga", "--party", "ann")
    cli("decline", ann)
    assert f"Offers pass them over: {mail}" in cli("booking", ann)
    assert "cannot be told" in cli("line", "yoga")


def test_who_got_a_place_and_was_not_told_of_it_is_named_with_what_to_do(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "event_signup", "--size", "1", "--policy", "confirm_by=staff")
    olga = cli.book("yoga", "Olga", "--confirmed", "--staff", "Eve")
    reference = signed_up(cli, "Una", email="una@example.org")
    cli("cancel", olga)
    cli("outbox", "--once")
    said = cli("needs-you")
    assert "Do not know what became of their booking:" in said
    assert f"Una  {reference}  promoted: held  not sent  {MAIL}" in said
    assert "Give them more time with: fairhold extend BOOKING" in said


def test_details_are_changed_and_the_rest_of_them_stays(cli: Cli, ann: str) -> None:
    cli("change", ann, "--phone", "+358401234567", "--staff", "Olga")
    party = cli.json("booking", ann)["party"]
    assert party["contacts"] == {"email": "ann@example.org", "phone": "+358401234567"}
    cli("change", ann, "--email", "", "--name", "Ann Bell")
    party = cli.json("booking", ann)["party"]
    assert (party["name"], party["contacts"]) == ("Ann Bell", {"phone": "+358401234567"})
    assert "Say what to change" in cli("change", ann, code=2)
    assert "refused (unknown)" in cli("change", "K7PM2X", "--name", "Nobody", code=1)


def test_the_log_tells_it_in_words(cli: Cli, ann: str) -> None:
    cli("change", ann, "--told-by-staff")
    log = cli("log", "yoga")
    assert (
        "Ann cannot be told of the offer (nothing is set up that could tell them): it does not count" in log
    )
    assert "Staff tell Ann of offers themselves" in log
    assert "unreachable" in cli("stats", "yoga")


@pytest.mark.parametrize(
    ("kind", "facts", "said"),
    [
        ("Told", {"seq": 1}, "the offer to Ann is sent"),
        ("Told", {"seq": None}, "Ann can be told of offers again"),
        ("Delayed", {"seq": 1}, "the offer to Ann cannot be sent yet"),
        ("Reachable", {}, "Ann can be told of offers again"),
        ("Completed", {}, "Ann has filled in everything"),
        ("BookingChanged", {"details": ["told_by_channels"]}, "letters tell Ann of offers again"),
        ("BookingChanged", {"details": ["name", "told_by_staff"]}, "name and told_by_staff of Ann changed"),
        (
            "NotReached",
            {"reason": "dead_contact"},
            "Ann cannot be told of the offer (the address does not take mail): it does not count",
        ),
    ],
)
def test_every_event_about_telling_has_words(kind: str, facts: dict[str, object], said: str) -> None:
    assert Narrator({1: "Ann"}).tell(kind, {"booking": 1, **facts}).sentence == said


def test_who_confirms_and_how_much_one_may_ask_for_are_among_the_rules(cli: Cli) -> None:
    cli("pool", "create", "shop", "--preset", "checkout", "--size", "9")
    assert cli.json("pool", "show", "shop")["page"] is False
    shown = cli("pool", "show", "shop")
    assert "staff if it costs something, else whoever booked" in shown
    assert "10 seats at most by a page or public key, 100 by staff" in shown
    rules = ("--policy", "confirm_by=party", "--policy", "party_quantity_max=2")
    cli("pool", "create", "tickets", "--preset", "checkout", "--size", "9", "--page", *rules)
    assert cli.json("pool", "show", "tickets")["page"] is True
    shown = cli("pool", "show", "tickets")
    assert "confirmed by" in shown
    assert "2 seats at most by a page or public key" in shown
    cli("pool", "change", "tickets", "--policy", "confirm_by=none")
    assert cli.json("pool", "show", "tickets")["policy"]["confirm_by"] is None
