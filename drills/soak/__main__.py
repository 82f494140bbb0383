"""`python3 dev.py soak`: an hour of mixed work on the real service, and what grows meanwhile."""

from __future__ import annotations

import argparse
import sys

from drills.one_node import end_when_told
from drills.soak import page
from drills.soak.run import MIB, Soaked, soak

FULL_MINUTES = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=FULL_MINUTES)
    parser.add_argument("--store", choices=list(page.NAMES), default="sqlite")
    parser.add_argument("--rate", type=float, help="acts a second  [default: 0.4 of what the machine can do]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="write the evidence of a short run, too")
    said = parser.parse_args()
    end_when_told()
    done = soak(said.store, said.minutes, said.rate, said.seed)
    tell(done)
    if said.record or said.minutes >= FULL_MINUTES:
        page.write(done)
    return 1 if done.faults else 0


def tell(done: Soaked) -> None:
    print(f"{sum(done.answers.values()):,} requests:", dict(sorted(done.answers.items())))
    print(
        f"{done.letters:,} e-mails, {done.hooks:,} webhooks, {done.pools} pools, {done.erased} people erased"
    )
    for name in ("memory", "files", "tasks", "threads", "streams"):
        grown, hourly = done.growth(name)
        unit = MIB if name == "memory" else 1
        print(f"  {name}: {grown / unit:+.1f} along the line, {hourly / unit:+.1f} an hour")
    for fault in done.faults:
        print("  FAULT", fault)


if __name__ == "__main__":
    sys.exit(main())
