"""What the log tells, as data for sentences: the same for a pool, a seat and a person, in any language.

An entry of the log and a step of `explain` become the same thing: a code, a reason, who it is about, and the
figures that its sentence wants. The words are in tale.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fairhold import ids
from fairhold.core.commands import is_staff
from fairhold.core.model import CLOSED, WAITING
from fairhold.core.staff import NO_REASON
from fairhold.history import actor_of
from fairhold.library import Fairhold
from fairhold.pages.speech import PageSpeech
from fairhold.records import LogEntry
from fairhold.shapes import Booking, Explanation

# What is there for replaying the log, and tells people nothing that the other events do not.
UNTOLD: Final = frozenset({"Respread"})
_CODES: Final = {
    "BookingChanged": "changed",
    "HandedBack": "handed_back",
    "NotReached": "not_reached",
    "PutBack": "put_back",
    "RoundStarted": "round",
}
_GOOD: Final = frozenset({"confirmed", "given", "claimed", "promoted", "put_back"})
_BAD: Final = frozenset(
    {"declined", "lapsed", "not_reached", "expired", "cancelled", "closed", "demoted", "handed_back"}
)
_ASK: Final = frozenset({"offered", "held"})
_OFFERED: Final = re.compile(r"(\d+) offered, nobody took it")
_LABELS_MAX: Final = 6
# What every sentence may ask for, so that a template never asks for what is not there.
_EMPTY: Final[Mapping[str, Any]] = {
    "reason": "",
    "position": None,
    "was": None,
    "priority": 0,
    "quantity": 1,
    "seats": 1,
    "units": "",
    "window": "",
    "cooldown": "",
    "why": "",
    "to": "",
    "round": 0,
    "unit": "",
    "quota": "",
    "how": "",
    "status": "",
    "note": "",
    "count": 0,
}


async def people_in(hf: Fairhold, pool_id: int, entries: Sequence[LogEntry]) -> dict[str, Booking]:
    """The bookings that some entries speak of, by their ids."""
    named: set[str] = set()
    for entry in entries:
        skipped = [skip.get("booking") for skip in entry.facts.get("skipped", ())]
        named |= {it for it in (entry.booking, entry.facts.get("part"), *skipped) if isinstance(it, str)}
    numbers = sorted(key[1] for name in named if (key := ids.booking_number(name)))
    found = await hf.reads.bookings_of(pool_id, numbers) if numbers else []
    return {booking.id: booking for booking in found}


def of_entry(
    entry: LogEntry, people: Mapping[str, Booking], units: Mapping[int, str], speech: PageSpeech
) -> dict[str, Any]:
    """One entry of a pool's log."""
    facts = entry.facts
    code, reason = _code_of(entry)
    made: dict[str, Any] = {
        **_EMPTY,
        **{name: facts[name] for name in ("position", "was", "priority", "quantity") if facts.get(name)},
        "code": code,
        "reason": reason,
        "units": ", ".join(_labels(facts.get("units") or ())),
        "seats": len(facts.get("units") or ()) if code == "unitsadded" else facts.get("quantity", 1),
        "window": _window(facts, speech),
        "why": "" if facts.get("why") == NO_REASON else facts.get("why", ""),
        "unit": facts.get("unit") or facts.get("label") or units.get(facts.get("opening", -1), ""),
        "quota": facts.get("quota", ""),
        "how": facts.get("how", ""),
        "round": facts.get("round", 0),
        "status": (facts.get("pool") or {}).get("status", ""),
        "note": facts.get("note", ""),
        "skipped": _skipped(facts, people),
        "seq": entry.seq,
        "hash": entry.hash[:12],
        "redacted": entry.redacted,
    }
    if found := _OFFERED.search(made["note"]):
        made["count"] = int(found[1])
    return _finished(made, entry.at, entry.by, people.get(entry.booking or ""), speech)


def of_step(step: Explanation, booking: Booking, speech: PageSpeech) -> dict[str, Any]:
    """One step of what `explain` says about a booking."""
    facts = step.facts
    code = "given" if step.code == "confirmed" and "quantity" in facts else step.code
    made: dict[str, Any] = {
        **_EMPTY,
        **{
            name: facts[name]
            for name in ("position", "was", "priority", "seats", "why", "to", "quantity")
            if facts.get(name) and facts[name] != NO_REASON
        },
        "code": code,
        "reason": _telling(facts) or step.reason if code == "changed" else step.reason,
        "then": step.reason,
        "units": ", ".join(facts.get("units", ())),
        "window": speech.span(facts["window_s"]) if "window_s" in facts else "",
        "cooldown": speech.span(facts.get("cooldown_s", 0)),
        "skipped": [],
        "seq": 0,
        "hash": "",
        "redacted": False,
    }
    made["quantity"] = facts.get("quantity") or facts.get("seats", 1)
    return _finished(made, step.at, step.by, booking, speech)


def _finished(
    made: dict[str, Any], at: Any, by: str, booking: Booking | None, speech: PageSpeech
) -> dict[str, Any]:
    code = made["code"]
    tone = "good" if code in _GOOD else "bad" if code in _BAD else "ask" if code in _ASK else "plain"
    return {
        "then": made["reason"],
        **made,
        "at": at,
        "day": speech.day(at),
        "time": speech.at(at),
        "tone": tone,
        "by": by.removeprefix("staff:") if by.startswith("staff:") else "",
        "by_staff": is_staff(by),
        "actor": actor_of(by),
        "booking": booking,
    }


def _code_of(entry: LogEntry) -> tuple[str, str]:
    """The code and reason, named as `explain` names them."""
    kind, facts = entry.event, entry.facts
    code = _CODES.get(kind, kind.lower())
    if kind == "Held" and (facts.get("confirmed") or not facts.get("expires_at")):
        return "given", ""
    if kind in ("Declined", "Lapsed"):
        after = {WAITING: "stay", CLOSED: "attempts_used_up"}.get(facts["state"], "leave")
        return code, after
    if kind == "NotReached":
        return code, facts["reason"]
    if kind == "Told" and facts.get("seq") is None:
        return "reachable", ""
    if kind == "BookingChanged":
        return code, _telling(facts)
    if kind == "Claimed" and facts.get("part") is not None:
        return code, "part"
    if kind == "Expired" and facts.get("position") is not None:
        return code, "not_confirmed"
    if kind == "PutBack":
        return code, facts["state"]
    if kind == "Closed":
        return code, facts["why"]
    if kind == "Offered" and facts.get("why"):
        return code, "staff"
    return code, ""


def _telling(facts: Mapping[str, Any]) -> str:
    """Return what a change of details says of who tells the party of offers, if that is all it says."""
    details = set(facts.get("details", ()))
    return next((it for it in ("told_by_staff", "told_by_channels") if details == {it}), "")


def _window(facts: Mapping[str, Any], speech: PageSpeech) -> str:
    ends, at = facts.get("expires_at"), facts.get("at")
    return speech.span((ends - at) // 1000) if isinstance(ends, int) and isinstance(at, int) else ""


def _labels(units: Iterable[Any]) -> list[str]:
    labels = [unit["label"] if isinstance(unit, Mapping) else str(unit) for unit in units]
    return [*labels[:_LABELS_MAX], "…"] if len(labels) > _LABELS_MAX else labels


def _skipped(facts: Mapping[str, Any], people: Mapping[str, Booking]) -> list[tuple[str, list[Booking]]]:
    """Who was passed over, by reason. Whole groups have no names; they come as nobody."""
    groups: dict[str, list[Booking]] = {}
    for skip in facts.get("skipped", ()):
        reason = str(skip.get("reason", "more"))
        named = groups.setdefault(reason, [])
        booking = people.get(skip.get("booking", ""))
        if booking is not None:
            named.append(booking)
    return list(groups.items())


def opening_units(entries: Iterable[LogEntry]) -> dict[int, str]:
    """The units of the openings that some entries start."""
    return {
        entry.facts["opening"]: entry.facts["unit"]
        for entry in entries
        if entry.event == "OpeningStarted" and entry.facts.get("unit")
    }


def number(text: str) -> int | None:
    """A number from an address; None if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
