"""told_once: what happened is told to whom it happened to, under one id; and nothing else is.

A message's id names the last entry of the decision that it belongs to. So whatever is told as of one entry is
what the entries since the one before ask for.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sim.ledger import Ledger
from sim.records import Carried, Entry

_ALWAYS: Mapping[str, str] = {
    "Joined": "joined",
    "Offered": "offer",
    "Promoted": "promoted",
    "Confirmed": "confirmed",
    "Expired": "lapsed",
    "Cancelled": "cancelled",
    "PutBack": "put_back",
    "Demoted": "demoted",
    "HandedBack": "handed_back",
    "Completed": "confirmed",
    "NotReached": "unreachable",
}
_TO_STAFF = ("handed_back", "unreachable")
# A reminder may come, and need not.
_IF_NEED_BE = ("hold_ending",)


def check_told(
    name: str, ledger: Ledger, entries: Sequence[Entry], carried: Sequence[Carried], *, settled: bool
) -> list[str]:
    """What was told wrongly, too often or never. Before things have settled, much is still to come."""
    ours = {it.id: it for it in carried if it.id.rsplit("-", 2)[0] == name and it.kind not in _IF_NEED_BE}
    told = [(int(it.id.rsplit("-", 2)[1]), it) for it in ours.values()]
    happened = {entry.seq for entry in entries}
    wrong = [
        f"told_once: {it.id} tells {it.kind} of what never happened"
        for seq, it in told
        if seq not in happened
    ]
    asked_for = _asked_for(ledger, entries)
    if not settled:
        asks = Counter(kind for _, kind, _ in asked_for)
        came = Counter(it.kind for it in ours.values())
        return wrong + [
            f"told_once: {kind} was told {came[kind]} times, and happened {asks[kind]} times"
            for kind in came
            if came[kind] > asks[kind]
        ]
    return wrong + _compared(asked_for, [(seq, it) for seq, it in told if seq in happened])


def _compared(asked_for: Sequence[tuple[int, str, str]], told: Sequence[tuple[int, Carried]]) -> list[str]:
    ends = sorted({seq for seq, _ in told})
    due: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for seq, kind, party in asked_for:
        at = bisect_left(ends, seq)
        due[ends[at] if at < len(ends) else seq].append((kind, party))
    came: dict[int, list[Carried]] = defaultdict(list)
    for seq, it in told:
        came[seq].append(it)
    wrong = []
    for seq in sorted({*due, *came}):
        needed, there = Counter(kind for kind, _ in due[seq]), Counter(it.kind for it in came[seq])
        wrong += [
            f"told_once: {kind} up to entry {seq} was handed to a notifier {there[kind]} times,"
            f" and happened {needed[kind]} times"
            for kind in {*needed, *there}
            if needed[kind] != there[kind]
        ]
        wrong += [
            f"told_once: {it.id} ({it.kind}) went to {it.address}, whom it is none of the business of"
            for it in came[seq]
            if it.address and it.kind not in _TO_STAFF
            if (it.kind, it.address.partition("@")[0]) not in due[seq]
        ]
    return wrong


def _asked_for(ledger: Ledger, entries: Sequence[Entry]) -> list[tuple[int, str, str]]:
    """What must be told: the entry, the kind of message, and the party that it is about."""
    found = []
    for entry in entries:
        facts = json.loads(entry.body)
        place = ledger.places.get(facts.get("booking"))
        found += [(entry.seq, kind, place.party if place else "") for kind in _kinds(entry.kind, facts)]
    return found


def _kinds(kind: str, facts: Mapping[str, Any]) -> list[str]:
    if kind in _ALWAYS:
        return [_ALWAYS[kind]]
    if kind == "BookingChanged":
        return ["joined"] if facts.get("position") else []
    if kind == "Closed":
        return [facts["why"] if facts["why"] in ("attempts_used_up", "demoted") else "cancelled"]
    if kind in ("Lapsed", "Declined"):
        out = ["attempts_used_up"] if facts["state"] == "closed" else []
        return out if kind == "Declined" else out or ["lapsed"]
    confirmed = (kind == "Held" and facts["confirmed"]) or (
        kind == "Claimed" and facts["state"] == "confirmed"
    )
    return ["confirmed"] if confirmed else []
