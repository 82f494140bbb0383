"""The auditor: judges the promises from requests, answers, messages and the log. It knows nothing else.

1. no_oversell, one_live_offer, one_place_in_line, contiguous, nobody_jumps: see `ledger`, entry by entry, and
   `fairness`. Besides, nothing is taken after its time, and nothing ends before.
2. nothing_lost: what was answered yes is in the log, once however often it was sent: see `answered`.
3. log_tells_all: the chain is whole, and what the service shows is what the log adds up to.
4. told_once: what happened was handed to a notifier, once, and nothing else was: see `told`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sim.answered import check_answers
from sim.ledger import Ledger
from sim.records import Asked, Carried, Entry
from sim.told import check_told


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
        ledger.end(listed[-1], settled=settled)
        wrong += ledger.wrong + _chain(listed) + _as_shown(ledger, shown[pool])
        mine = [it for it in asked if it.pool == shown[pool]["key"]]
        wrong += check_answers(ledger, listed, mine, shown[pool]["numbers"])
        wrong += check_told(shown[pool]["name"], ledger, listed, carried, settled=settled)
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
