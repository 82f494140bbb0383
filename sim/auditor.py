"""The auditor: judges the promises from requests, answers, messages and the log. It knows nothing else.

1. no_oversell, one_live_offer, one_place_in_line, contiguous, nobody_jumps: see `ledger`, entry by entry.
2. nothing_lost: what was answered yes is in the log, once however often it was sent.
3. log_tells_all: the chain is whole, and what the service shows is what the log adds up to.
4. told_once: no message about what is not in the log; every offer was handed to a notifier.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sim.ledger import Ledger
from sim.records import Asked, Carried, Entry

# What must stand in the log about the booking of a yes.
_DONE = {
    # Who asks again is given what they have, which may be part of what they once asked for.
    "book": ("Joined", "Held", "Claimed"),
    "confirm": ("Confirmed", "Held", "Claimed", "Promoted"),
    "cancel": ("Cancelled",),
    "extend": ("Extended",),
    "claim": ("Claimed",),
    "decline": ("Declined",),
    "move": ("Moved",),
}


def audit(
    entries: Iterable[Entry],
    asked: Sequence[Asked],
    carried: Sequence[Carried],
    shown: Mapping[int, Mapping[str, Any]],
    *,
    settled: bool = True,
) -> list[str]:
    """Everything that is wrong. `shown` is, for each pool, what the service says of it in the end.

    In the midst of it, before things have `settled`, some wait for an answer, and messages are on their way.
    """
    by_pool: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_pool[entry.pool].append(entry)
    wrong = []
    for pool, listed in by_pool.items():
        ledger = Ledger(pool)
        for entry in listed:
            ledger.read(entry)
        wrong += ledger.wrong + _chain(listed) + _as_shown(ledger, shown[pool])
        names = {number: name for name, number in shown[pool]["numbers"].items()}
        wrong += _nothing_lost(ledger, listed, [it for it in asked if it.pool == shown[pool]["key"]], names)
        wrong += _told(shown[pool]["name"], listed, carried, settled)
    if settled:
        wrong += [
            f"nothing_lost: {it.what} {it.key} has no answer to this day" for it in asked if not it.answers
        ]
    return wrong


def _chain(entries: Sequence[Entry]) -> list[str]:
    wrong, head = [], bytes(32)
    for number, it in enumerate(entries, 1):
        digest = hashlib.sha256(
            f"{it.pool}\n{it.seq}\n{it.at}\n{it.kind}\n{it.by}\n{it.body}".encode()
        ).digest()
        head = hashlib.sha256(head + digest).digest()
        if it.seq != number:
            wrong.append(f"log_tells_all: entry {number} is missing")
        if head != it.hash or digest != it.digest:
            wrong.append(f"log_tells_all: the chain breaks at entry {it.seq}")
            head = it.hash
    times = [it.at for it in entries]
    if times != sorted(times):
        wrong.append("log_tells_all: time runs back in the log")
    return wrong


def _as_shown(ledger: Ledger, shown: Mapping[str, Any]) -> list[str]:
    wrong = []
    numbers = shown["numbers"]
    for it in shown["bookings"]:
        mine = ledger.places.get(numbers[it["id"]])
        said = (it["state"], it["party"]["id"], it["quota"], it["quantity"])
        if mine is None or said != (mine.state, mine.party, mine.quota, mine.quantity):
            wrong.append(f"log_tells_all: the service shows {it['id']} as {said}, the log as {mine}")
    if len(shown["bookings"]) != len(ledger.places):
        wrong.append("log_tells_all: the service shows other bookings than the log")
    line = [numbers[it["id"]] for it in shown["line"]]
    if line != ledger.line():
        wrong.append(f"contiguous: the service shows the line {line}, the log {ledger.line()}")
    if [it["position"] for it in shown["line"]] != list(range(1, len(line) + 1)):
        wrong.append("contiguous: positions have gaps")
    return wrong


def _nothing_lost(
    ledger: Ledger, entries: Sequence[Entry], asked: Sequence[Asked], names: Mapping[int, str]
) -> list[str]:
    wrong = []
    done: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        if entry.booking is not None:
            done[names[entry.booking]].add(entry.kind)
            if entry.kind == "Joined" and json.loads(entry.body)["confirmed"]:
                done[names[entry.booking]].add("Confirmed")
        if entry.kind == "Claimed" and (part := json.loads(entry.body)["part"]) is not None:
            done[names[part]].add(entry.kind)
    for it in asked:
        granted = it.granted
        if granted is None:
            continue
        if wanted := _DONE.get(it.what):
            found = done.get(granted["id"], set())
            if not found.intersection(wanted):
                wrong.append(f"nothing_lost: {it.what} {it.key} was answered yes, the log has only {found}")
        others = {(one.get("id"), one.get("code")) for one in it.answers}
        if len(others) > 1:
            wrong.append(f"nothing_lost: {it.what} {it.key} was answered in two ways: {others}")
    asks = Counter(it.facts["party"] for it in asked if it.what == "book")
    got = Counter(it.party for it in ledger.places.values() if it.whole)
    wrong += [
        f"nothing_lost: {who} asked {asks[who]} times, has {n}" for who, n in got.items() if n > asks[who]
    ]
    return wrong


def _told(name: str, entries: Sequence[Entry], carried: Sequence[Carried], settled: bool) -> list[str]:
    wrong = []
    happened = {entry.seq for entry in entries}
    ours = [(it, it.id.rsplit("-", 2)) for it in carried]
    for message, (pool, seq, _) in ours:
        if pool == name and int(seq) not in happened:
            wrong.append(f"told_once: {message.id} tells {message.kind} of what never happened")
    offers = sum(1 for entry in entries if entry.kind == "Offered")
    told = len({it.id for it, (pool, *_) in ours if pool == name and it.kind == "offer"})
    if settled and told != offers:
        wrong.append(f"told_once: {offers} offers were made, {told} were handed to a notifier")
    return wrong
