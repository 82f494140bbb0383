"""`python3 dev.py sim`: plays seeds, and says which of them broke a promise."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from contextlib import nullcontext

from sim.recording import Seeds, add, code_now, next_seed
from sim.run import Outcome, run_seed
from testbed.postgres import TemporaryPostgres, fresh_database


def main() -> int:
    parser = argparse.ArgumentParser(prog="sim", description=__doc__)
    parser.add_argument("seed", nargs="?", type=int, help="play this seed alone")
    parser.add_argument("--seconds", type=float, default=60.0, help="play one seed after another for so long")
    parser.add_argument(
        "--first", type=int, help="the seed to begin with; 1, or with --record the first that was not yet"
    )
    parser.add_argument("--steps", type=int, default=300, help="how long a seed is")
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--record", action="store_true", help="add what was survived to docs/evidence")
    said = parser.parse_args()
    # What fails here is made to fail; the service would tell of each.
    logging.getLogger("fairhold").setLevel(logging.CRITICAL if said.seed is None else logging.INFO)
    code = code_now()
    fresh = next_seed(said.store, code) if said.record else 1
    if said.record and said.first is not None and said.first < fresh:
        parser.error(f"the seeds before {fresh} are recorded already: no seed counts twice")
    server = TemporaryPostgres() if said.store == "postgres" else nullcontext()
    with server as found:
        url = found.url if found is not None else None
        if said.seed is not None:
            return _tell([_one(said.seed, said.steps, url)])
        played, until, seed = [], time.monotonic() + said.seconds, said.first or fresh
        while time.monotonic() < until:
            played.append(_one(seed, said.steps, url))
            seed += 1
        return _tell(
            played, Seeds(played[0].seed, played[-1].seed, said.store, code) if said.record else None
        )


def _one(seed: int, steps: int, server: str | None) -> Outcome:
    if server is None:
        outcome = run_seed(seed, steps)
    else:
        with fresh_database(server) as url:
            outcome = run_seed(seed, steps, url)
    for sentence in outcome.wrong:
        print(f"seed {seed}: {sentence}", flush=True)
    return outcome


def _tell(played: list[Outcome], record: Seeds | None = None) -> int:
    faults: Counter[str] = sum((it.faults for it in played), Counter())
    broken = [it.seed for it in played if it.wrong]
    figures = {
        "seeds": len(played),
        "commands": sum(it.commands for it in played),
        "log entries": sum(it.entries for it in played),
        "messages": sum(it.messages for it in played),
        "nodes killed": sum(it.kills for it in played),
        "faults": faults.total(),
    }
    said = [f"{count:,} {name}" for name, count in figures.items()]
    print(f"{said[0]}: {', '.join(said[1:])}")
    if record is not None:
        add(figures, record, held=not broken)
    for what, count in faults.most_common():
        print(f"  {count:>9,}  {what}")
    print(f"Broken: {', '.join(map(str, broken))}" if broken else "Every promise held.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
