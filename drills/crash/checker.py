"""Judges a crash: what clients were told and what arrived, against the tables.

Nothing of it is shared with the service.

1. Every answered yes is in the log; no request had two effects, or two answers (`sim.auditor`).
2. The log's chain is whole, adds up to the bookings as they stand, and gives no seat twice (`sim.ledger`).
3. Positions have no gaps, neither by the log nor as the service shows them.
4. Whatever arrived is in the outbox; in the end all of that has arrived, doubled only under the same id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drills.crash.receivers import Arrival
from drills.crash.tables import Tables
from sim.auditor import audit
from sim.records import Asked, Carried

STAFF = "desk@example.org"


def judge(
    tables: Tables,
    asked: Sequence[Asked],
    arrivals: Sequence[Arrival],
    names: Mapping[str, str],
    seen: Mapping[str, Mapping[str, Any]] | None = None,
    only: Iterable[str] | None = None,
) -> list[str]:
    """Everything that is wrong. `names` are the pools' ids by their keys.

    Once all is settled, `seen` is what the service itself shows of each pool, and nothing may be missing.
    Before that, the bookings are taken from the tables. `only` keeps to the pools that something happened in.
    """
    keys = set(tables.pools.values()) if only is None else set(only)
    pools = {pool: key for pool, key in tables.pools.items() if key in keys}
    shown = {
        pool: _shown(tables, pool, key, names[key], (seen or {}).get(key)) for pool, key in pools.items()
    }
    mine = [it for it in asked if it.pool in keys]
    carried = [Carried(it.id, it.kind, it.to) for it in arrivals if it.way == "mail"]
    log = [entry for entry in tables.log if entry.pool in pools]
    wrong = audit(log, mine, carried, shown, settled=seen is not None)
    return wrong + _told(tables, arrivals, names, settled=seen is not None)


def _shown(tables: Tables, pool: int, key: str, name: str, seen: Mapping[str, Any] | None) -> dict[str, Any]:
    """A pool as the auditor wants it: from the service if it was asked, else from the tables."""
    rows = [row for row in tables.bookings if row[0] == pool]
    ids = {row[1]: f"b{name[1:]}{row[2].lower()}" for row in rows}
    found: dict[str, Any] = {"key": key, "name": name, "numbers": {it: number for number, it in ids.items()}}
    if seen is not None:
        return {**found, **seen}
    waiting = sorted((row[7], row[1]) for row in rows if row[6] == "waiting")
    return {
        **found,
        "bookings": [
            {"id": ids[row[1]], "party": {"id": row[3]}, "quota": row[4], "quantity": row[5], "state": row[6]}
            for row in rows
        ],
        "line": [{"id": ids[number], "position": n} for n, (_, number) in enumerate(waiting, 1)],
    }


def _told(
    tables: Tables, arrivals: Sequence[Arrival], names: Mapping[str, str], *, settled: bool
) -> list[str]:
    wrong = []
    there = {f"{names[tables.pools[it.pool]]}-{it.seq}-{it.part}": it for it in tables.outbox}
    emails = {(row[0], row[1]): f"{row[3]}@example.org" for row in tables.bookings}
    came: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for it in arrivals:
        came[it.way, it.id].add((it.kind, it.to))
        if it.id not in there:
            wrong.append(f"told_once: a {it.way} told {it.kind} as {it.id}, which is not in the outbox")
        elif there[it.id].kind != it.kind:
            wrong.append(f"told_once: {it.id} is {there[it.id].kind}, and a {it.way} told {it.kind}")
    wrong += [
        f"told_once: {way} {name} came as {len(forms)} different messages: {sorted(forms)}"
        for (way, name), forms in came.items()
        if len(forms) > 1
    ]
    known = {*emails.values(), STAFF}
    wrong += [
        f"told_once: {it.id} went to {it.to}, whom nobody knows"
        for it in arrivals
        if it.to and it.to not in known
    ]
    if settled:
        for name, message in there.items():
            if message.state != "sent":
                wrong.append(f"told_once: {name} ({message.kind}) is {message.state} to this day")
            wrong += [
                f"told_once: {name} ({message.kind}) never came by {way}"
                for way in ("mail", "webhook")
                if (way, name) not in came
            ]
    return wrong
