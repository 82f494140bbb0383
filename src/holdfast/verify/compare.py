"""How a stored value differs from what the log says, field by field, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from holdfast.core.model import Booking, Party
from holdfast.verify.report import Findings

PROMISE: Final = "log_tells_all"


def compare_booking(findings: Findings, stored: Booking, replayed: Booking) -> None:
    """Names, contacts and answers are not in the log, and may change without an event."""
    if stored == replayed:
        return
    if stored.updated_at > replayed.updated_at:
        stored = stored._replace(updated_at=replayed.updated_at)
    stored = stored._replace(party=_known(stored.party))
    compare(findings, f"booking {stored.number}", stored, replayed._replace(party=_known(replayed.party)))


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


def _known(party: Party) -> Party:
    return Party(party.id, tags=party.tags, attributes=party.attributes)
