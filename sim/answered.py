"""nothing_lost: whatever was answered yes is in the log, just as it was answered, and as often.

1. The entry that a yes asks for is there. Where every yes is an entry of its own, there are as many.
2. The booking, or the pool, was once what the answer says: at that instant, in that state, until then.
3. However often a request was sent, it had one answer and one effect.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sim.ledger import Ledger
from sim.records import Asked, Entry

# What must stand in the log about the booking, opening or unit of a yes.
_DONE: Mapping[str, tuple[str, ...]] = {
    # Who asks again is given what they have, which may be part of what they once asked for.
    "book": ("Joined", "Held", "Claimed"),
    "confirm": ("Confirmed",),
    "cancel": ("Cancelled",),
    "extend": ("Extended",),
    "claim": ("Claimed",),
    "decline": ("Declined",),
    "move": ("Moved",),
    "change": ("BookingChanged",),
    "offer": ("Offered", "Promoted"),
    "resolve": ("OpeningEnded",),
    "open unit": ("UnitsAdded",),
    "close unit": ("UnitClosed",),
}
# Of these each yes is one entry, but for what is said about one offer again. Whoever confirms twice has one.
_COUNTED = {*_DONE} - {"book", "confirm", "cancel"}


def check_answers(
    ledger: Ledger, entries: Sequence[Entry], asked: Sequence[Asked], numbers: Mapping[str, int]
) -> list[str]:
    """Every yes that the log does not bear out. `numbers` are those of the bookings by their ids."""
    granted = [(it, it.granted) for it in asked if it.granted is not None]
    wrong = _entries_there(granted, _done(entries, {number: name for name, number in numbers.items()}))
    for it, answer in granted:
        if not _was_so(ledger, answer, numbers):
            wrong.append(f"nothing_lost: {it.what} {it.key} was answered {answer}, which never was so")
    return wrong + _pool_changes(ledger, granted) + _one_effect(ledger, asked)


Granted = Iterable[tuple[Asked, dict[str, Any]]]
Done = Mapping[Any, Counter[str]]


def _done(entries: Sequence[Entry], names: Mapping[int, str]) -> Done:
    """What the log has about each booking, opening and unit, and how often."""
    done: dict[Any, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        facts = json.loads(entry.body)
        for about in _subjects(entry, facts, names):
            done[about][entry.kind] += 1
            # Who is confirmed from the first, or as soon as there is room, need not confirm.
            if facts.get("confirmed") or (entry.kind != "PutBack" and facts.get("state") == "confirmed"):
                done[about]["Confirmed"] += 1
    return done


def _subjects(entry: Entry, facts: Mapping[str, Any], names: Mapping[int, str]) -> list[Any]:
    """The booking that it is about, by its id; or the opening, or the units."""
    if entry.booking is not None:
        return [names[facts["part"] if entry.kind == "Claimed" and facts["part"] else entry.booking]]
    if entry.kind == "UnitsAdded":
        return [unit["label"] for unit in facts["units"]]
    return [facts.get("opening", facts.get("label"))]


def _entries_there(granted: Granted, done: Done) -> list[str]:
    wrong = []
    needed: dict[tuple[str, Any], set[str]] = defaultdict(set)
    for it, answer in granted:
        if (kinds := _DONE.get(it.what)) is None:
            continue
        about = it.facts.get("opening", it.facts.get("unit", answer["id"]))
        found = done.get(about, Counter[str]())
        if not any(found[kind] for kind in kinds):
            wrong.append(f"nothing_lost: {it.what} {it.key} was answered yes, the log has only {dict(found)}")
        needed[it.what, about].add(it.facts.get("token", it.key))
    for (what, about), requests in needed.items():
        had = sum(done[about][kind] for kind in _DONE[what]) if about in done else 0
        if what in _COUNTED and 0 < had < len(requests):
            wrong.append(
                f"nothing_lost: {what} of {about} was answered yes to {len(requests)}, the log has {had}"
            )
    return wrong


def _was_so(ledger: Ledger, answer: Mapping[str, Any], numbers: Mapping[str, int]) -> bool:
    """Whether what was answered stood in the log at the instant that it names."""
    if "version" in answer:
        sizes = {quota["key"]: quota["size"] for quota in answer["quotas"] if not quota["by_units"]}
        return (sizes, answer["open_size"], answer["status"]) == ledger.versions.get(answer["version"])
    if answer.get("id") not in numbers:
        return False
    said = (answer["state"], answer["quantity"], tuple(answer["units"]), _instant(answer["expires_at"]))
    return (_instant(answer["updated_at"]), *said) in ledger.history[numbers[answer["id"]]]


def _instant(text: str | None) -> int | None:
    return None if text is None else round(datetime.fromisoformat(text).timestamp() * 1000)


def _pool_changes(ledger: Ledger, granted: Granted) -> list[str]:
    """Every change of a pool made a version of its own, and that has what was asked for."""
    wrong, seen = [], set()
    for it, answer in granted:
        if it.what not in ("resize", "status"):
            continue
        version = answer["version"]
        sizes, _, status = ledger.versions.get(version, ({}, 0, ""))
        as_asked = it.facts.get("sizes", {}).items() <= sizes.items() and it.facts.get("status") in (
            None,
            status,
        )
        if version in seen or not as_asked:
            wrong.append(
                f"nothing_lost: {it.what} {it.key} was answered yes, version {version} is {sizes}, {status}"
            )
        seen.add(version)
    return wrong


def _one_effect(ledger: Ledger, asked: Sequence[Asked]) -> list[str]:
    wrong = []
    for it in asked:
        others = {(one.get("id"), one.get("code")) for one in it.answers}
        if len(others) > 1:
            wrong.append(f"nothing_lost: {it.what} {it.key} was answered in two ways: {others}")
    asks = Counter(it.facts["party"] for it in asked if it.what == "book")
    got = Counter(it.party for it in ledger.places.values() if it.whole)
    return wrong + [
        f"nothing_lost: {who} asked {asks[who]} times, has {n}" for who, n in got.items() if n > asks[who]
    ]
