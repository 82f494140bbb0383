"""How a stored value differs from what the log says, field by field, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairhold.core.model import Booking, Party
from fairhold.verify.report import Findings

PROMISE: Final = "log_tells_all"


def compare_booking(findings: Findings, stored: Booking, replayed: Booking) -> None:
    """The log says when names, contacts and answers changed, and not what they are."""
    if stored == replayed:
        return
    compare(findings, f"booking {stored.number}", _logged(stored), _logged(replayed))


def compare(findings: Findings, place: str, stored: Any, replayed: Any) -> None:
    """Two values of one kind; None is for one that is not there."""
    if stored is None or replayed is None:
        here, not_here = ("log", "table") if stored is None else ("table", "log")
        findings.add("nothing_lost", f"it is in the {here} and not in the {not_here}", place)
    elif stored != replayed:
        differ(findings, place, stored._asdict(), replayed._asdict())


def differ(findings: Findings, place: str, stored: Mapping[str, Any], replayed: Mapping[str, Any]) -> None:
    """Every field that differs, in one sentence."""
    wrong = [
        f"{name} is {stored.get(name)!r} and the log says {value!r}"
        for name, value in replayed.items()
        if stored.get(name) != value
    ]
    if wrong:
        findings.add(PROMISE, "; ".join(wrong), place)


def _logged(booking: Booking) -> Booking:
    party = booking.party
    return booking._replace(party=Party(party.id, tags=party.tags, attributes=party.attributes), answers={})
