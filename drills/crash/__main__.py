"""`python3 dev.py crash`: kills the service under load, and says what became of everything."""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from drills.crash.run import Outcome
from drills.crash.stores import play_on
from testbed.guarantees import record

TIMES = 50


def main() -> int:
    parser = argparse.ArgumentParser(prog="crash", description=__doc__)
    parser.add_argument(
        "--times", type=int, default=TIMES, help="how often something is killed, on each store"
    )
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument(
        "--seed", type=int, default=1, help="other dice; the interleaving is the machine's own"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="kill nothing more after so long")
    said = parser.parse_args()
    stores = ["sqlite", "postgres"] if said.store == "both" else [said.store]
    # Each in a process of its own: they wait for disks and starting servers more than they work.
    with ProcessPoolExecutor(len(stores), get_context("spawn")) as processes:
        how = (said.times, said.clients, said.seed, said.minutes)
        begun = {store: processes.submit(play_on, store, *how) for store in stores}
        outcomes = {store: one.result() for store, one in begun.items()}
    for store, outcome in outcomes.items():
        print(tell(store, outcome), flush=True)
    passed = not any(it.wrong for it in outcomes.values())
    print("Nothing was lost." if passed else "A promise was broken: see above.")
    if said.times >= TIMES and len(stores) == 2:
        _record(outcomes, said.clients)
    return 0 if passed else 1


def tell(store: str, outcome: Outcome) -> str:
    """What happened, for people."""
    lines = [f"{store}: killed with -9, {outcome.kills.total()} times"]
    lines += [f"  {count:>8,}  {what}" for what, count in outcome.kills.most_common()]
    lines += ["what became of the requests and messages"]
    lines += [f"  {count:>8,}  {what}" for what, count in outcome.figures.items()]
    lines += ["what clients saw"]
    lines += [f"  {count:>8,}  {what}" for what, count in outcome.statuses.most_common()]
    lines += [f"wrong: {sentence}" for sentence in outcome.wrong[:50]]
    return "\n".join(lines)


def _record(outcomes: dict[str, Outcome], clients: int) -> None:
    figures: dict[str, int | float | str] = {"clients": clients}
    for store, outcome in outcomes.items():
        figures |= {f"{store}: killed, {what}": count for what, count in outcome.kills.items()}
        figures |= {f"{store}: {what}": count for what, count in outcome.figures.items()}
        figures[f"{store}: found wrong"] = len(outcome.wrong)
    times = " and ".join(f"{it.kills.total()} times on {store}" for store, it in outcomes.items())
    record(
        "crash",
        "python3 dev.py crash",
        passed=not any(it.wrong for it in outcomes.values()),
        rows=["killed", "database-crash", "retries"],
        shown=[
            f"With {clients} clients at work, nodes or the database server were killed with -9 {times}.",
            "Every answered yes was there after each kill.",
            "Every request that lost its answer was settled by repeating it with its key.",
            "Asked again, all had the same answer, and no request had two effects.",
            "No message was lost, none came for what never happened, and doubled ones had the same id.",
            "Clients saw broken connections and 503, and nothing else that is not an answer.",
        ],
        figures=figures,
    )


if __name__ == "__main__":
    sys.exit(main())
