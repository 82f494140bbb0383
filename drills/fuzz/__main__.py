"""`python3 dev.py fuzz`: asks the real service for what nobody should ask, and judges every answer."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from drills.fuzz import commands, documented, rounds
from drills.fuzz.judge import Fault
from drills.fuzz.rounds import Done
from drills.one_node import end_when_told
from testbed.guarantees import record

STORES = ("sqlite", "postgres")
ROUNDS = 4
FULL = 100_000
COMMANDS = 3_000
EXAMPLES = 20


class Played(NamedTuple):
    """All that was asked on one store."""

    store: str
    rounds: list[Done]
    commands: commands.CommandsRun

    @property
    def faults(self) -> list[Fault]:
        return [*(fault for it in self.rounds for fault in it.judge.faults), *self.commands.faults]


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=FULL, help="how many, over both stores")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=STORES, help="on this one alone")
    parser.add_argument("--round", type=int, help="play this round alone, and no commands")
    said = parser.parse_args()
    stores = [said.store] if said.store else list(STORES)
    each = said.requests // len(stores)
    asked = [(store, said.seed, each, said.round) for store in stores]
    with ProcessPoolExecutor(len(stores), initializer=end_when_told) as beside:
        played = list(beside.map(_play, asked))
    for it in played:
        _tell(it)
    if said.round is None and said.requests >= FULL and len(stores) == len(STORES):
        _record(played, said.seed)
    return 1 if any(it.faults for it in played) else 0


def _play(asked: tuple[str, int, int, int | None]) -> Played:
    store, seed, requests, only = asked
    if only is not None:
        return Played(store, [rounds.play(store, seed, only, requests // ROUNDS)], commands.CommandsRun())
    played = [rounds.play(store, seed, number, requests // ROUNDS) for number in range(ROUNDS)]
    played.append(documented.play(store, seed, EXAMPLES))
    return Played(store, played, commands.run(seed, COMMANDS * requests // FULL, store))


def _tell(played: Played) -> None:
    statuses: Counter[int] = sum((it.judge.statuses for it in played.rounds), Counter())
    codes: Counter[str] = sum((it.judge.codes for it in played.rounds), Counter())
    print(f"{played.store}: {_requests([played]):,} requests, {played.commands.runs:,} commands")
    print("  statuses:", ", ".join(f"{status} {count:,}" for status, count in sorted(statuses.items())))
    print("  codes:", ", ".join(f"{code} {count:,}" for code, count in codes.most_common()))
    print("  exit codes:", dict(sorted(played.commands.codes.items())))
    for it in played.rounds[:ROUNDS]:
        slowest, where = it.judge.slowest
        memory = f"{it.rss[0] >> 20} to {it.rss[-1] >> 20} MiB" if it.rss else "?"
        print(f"  a round: {it.took_s:,.0f} s, {memory}, the slowest {slowest:.1f} s ({where})")
        print("    never granted:", ", ".join(it.never) or "nothing")
    seen = set()
    for fault in played.faults:
        if (short := (fault.where.partition(", ")[2], fault.what[-160:])) not in seen:
            seen.add(short)
            print(f"  FAULT, {fault.where}: {fault.what}\n    {fault.again}")
    print(f"  {len(played.faults)} faults", flush=True)


def _requests(played: list[Played]) -> int:
    return sum(it.requests for one in played for it in one.rounds)


def _record(played: list[Played], seed: int) -> None:
    every = [it for one in played for it in one.rounds]
    statuses: Counter[int] = sum((it.judge.statuses for it in every), Counter())
    wrong = sum(count for status, count in statuses.items() if status >= 500 and status != 503)
    requests, faults = _requests(played), sum(len(it.faults) for it in played)
    grown = max((it.rss[-1] - it.rss[len(it.rss) // 5] for it in every if it.rss), default=0)
    slowest = max(it.judge.slowest[0] for it in every)
    shown = [
        f"{requests:,} requests to every operation, page and form, right to wild: {wrong} answers of 500.",
        "Every refusal was a problem with a code that is documented; no traceback in any log.",
        "What was not available once was so when it was asked for again, alone.",
        "Afterwards the service was alive, stopped when asked, and `fairhold verify` found nothing.",
    ]
    record(
        "fuzz",
        "python3 dev.py fuzz",
        passed=not faults,
        rows=["quantities", "bodies"],
        shown=shown,
        figures={
            "requests on SQLite": sum(it.requests for it in played[0].rounds),
            "requests on PostgreSQL": sum(it.requests for it in played[1].rounds),
            "of them by Schemathesis": sum(one.rounds[-1].requests for one in played),
            "connections with what is no HTTP": sum(it.malformed for it in every),
            "commands of the command line": sum(it.commands.runs for it in played),
            "answers of 500": wrong,
            "answers of 503": statuses[503],
            "faults": faults,
            "slowest answer in s": round(slowest, 1),
            "memory grown in a round, at most, in MiB": grown >> 20,
            "seed": seed,
        },
    )


if __name__ == "__main__":
    sys.exit(main())
