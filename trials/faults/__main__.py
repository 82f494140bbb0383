"""Plant faults into a room of the source, and note which of them the tests of that room notice."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

from trials.faults.draw import draw
from trials.faults.judge import Judge, NotGreenError
from trials.faults.results import Results
from trials.faults.rooms import ROOMS
from trials.faults.spot import Fault
from trials.faults.suite import copied

ROOT = Path(__file__).parent.parent.parent


def main() -> int:
    """Draw the faults, judge them, and print the summary; exit code 1 if the tests fail without a fault."""
    parser = argparse.ArgumentParser(prog="trials.faults", description=__doc__)
    parser.add_argument("--room", choices=sorted(ROOMS), required=True)
    parser.add_argument("--count", type=int, default=40, help="how many faults")
    parser.add_argument("--seed", type=int, default=1, help="which faults: the same seed draws the same ones")
    parser.add_argument("--out", type=Path, help="a file for the results; a trial goes on where it ended")
    parser.add_argument("--draw", action="store_true", help="only show the faults that are drawn")
    parser.add_argument("--workers", type=int, help="processes that share the tests; else as the room has it")
    parser.add_argument("--only", nargs="*", help="only these faults, by their ids")
    asked = parser.parse_args()
    # Whoever ends a trial ends its tests, too, and its copy of the tree is removed.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    room = ROOMS[asked.room]
    if asked.workers:
        room = replace(room, workers=asked.workers)
    faults = draw(ROOT, asked.room, room, asked.count, asked.seed)
    if asked.only:
        faults = [fault for fault in faults if fault.id in asked.only]
    if asked.draw:
        _show(faults)
        return 0
    if asked.out is None:
        parser.error("say where the results go: --out FILE")
    results = Results(asked.out)
    with copied(ROOT) as tree:
        judge = Judge(tree, room, results, _tell)
        try:
            judge.must_be_green(asked.out.with_suffix(".times.json"))
        except NotGreenError as error:
            print(f"The tests are not green without a fault: {error}")
            return 1
        judge.judge(faults)
    print(results.summary())
    return 0


def _show(faults: list[Fault]) -> None:
    for fault in faults:
        print(f"{fault.id} {fault.spot.path}:{fault.line} {fault.spot.operator}")
        print(f"  - {fault.before.strip()}\n  + {fault.after.strip()}")


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _tell(sentence: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {sentence}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
