"""How somebody came, and who tells them of offers, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fairhold.shapes import Booking

_DOORS: Final = {
    "page": "came by the public page",
    "public_key": "came with a public key",
    "secret_key": "let in by a program with a secret key",
    "console": "let in by staff, in the console",
    "csv": "let in by a CSV file",
    "library": "let in by a program or the command line",
}
_NO_MAIL: Final = "no mail server is set up: FAIRHOLD_SMTP_URL, FAIRHOLD_MAIL_FROM"
_NO_TEXTS: Final = "no text service is set up: FAIRHOLD_SMS_URL, FAIRHOLD_SMS_FROM"
WHY: Final[Mapping[str, str]] = {
    "no_channel": "nothing is set up that could tell them",
    "no_contact": "there is no e-mail address and no phone number",
    "dead_contact": "the address does not take mail",
    "channel_down": "no program or mail server took it in time",
}


def door_of(booking: Booking) -> str:
    """Return how a booking came in."""
    return _DOORS[booking.door]


def why_not_reached(booking: Booking) -> str:
    """Return why no offer can reach a booking's party: what is to be set, where that is why."""
    if booking.reach != "no_channel":
        return WHY.get(booking.reach, booking.reach)
    return _NO_MAIL if booking.party.contacts.get("email") else _NO_TEXTS


def reach_of(booking: Booking) -> str:
    """Return who tells a booking's party of offers; empty where letters do."""
    if booking.reach == "staff":
        return "you tell them of offers"
    if booking.reach and booking.state == "offered":
        return f"you tell them of this offer, later ones pass them over: {why_not_reached(booking)}"
    return f"offers pass them over: {why_not_reached(booking)}" if booking.reach else ""


def reach_note(booking: Booking) -> str:
    """Return the same in a few words, for a row of a table."""
    if booking.reach == "staff" or (booking.reach and booking.state == "offered"):
        return "you tell them"
    return "cannot be told" if booking.reach else ""
