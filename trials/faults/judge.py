"""Judge faults: first each one alone, then all that are left together.

Most faults are noticed within seconds by the tests that lie next to them. To show that a fault is not noticed
takes all the tests: so the faults that are left share one run. The tests that fail there are run on each half
of the faults, and on half of those, until it is known which faults they notice. These are taken out, and the
run goes on with the tests that did not pass yet. Two faults that hide one another count as not noticed: the
share that is found is never too good.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Final

from trials.faults.results import Results
from trials.faults.rooms import HANGING, Room
from trials.faults.spot import Fault, planted
from trials.faults.suite import Run, run_tests

LEAST_S: Final = 60.0
STARTING_S: Final = 20.0
# With so many failures a fault breaks nearly everything: it is taken out before the tests go on.
FAILURES_MAX: Final = 40
# What it takes to begin a file of tests, beside its tests.
STARTING_FILE_S: Final = 5.0

Tell = Callable[[str], None]
Runner = Callable[..., Run]


class NotGreenError(Exception):
    """The tests fail without any fault: nothing can be judged by them."""


class Judge:
    """The tests of one room, in the order in which they have noticed most in the least time."""

    def __init__(
        self, tree: Path, room: Room, results: Results, tell: Tell, runner: Runner = run_tests
    ) -> None:
        self._tree = tree
        self._room = room
        self._results = results
        self._tell = tell
        self._runner = runner
        self._seconds: Counter[str] = Counter()
        self._noticed: Counter[str] = Counter()
        self._noticed_of: Counter[tuple[str, str]] = Counter()
        self._limit_s = LEAST_S
        self._left_out: list[str] = []
        self._texts: dict[str, str] = {}

    def must_be_green(self, kept: Path | None = None) -> None:
        """Run the tests of the room without a fault, and remember how long each file takes.

        A test that fails there and passes by itself depends on the weather: it judges nothing.
        """
        if kept is not None and kept.exists():
            green = json.loads(kept.read_text())
        else:
            run = self._run(limit_s=3_600, failures_max=20)
            red = [test for test in run.failed if self._run_some([test]).failed]
            if red or (run.code != 0 and not run.failed):
                raise NotGreenError(f"{', '.join(red) or 'nothing'} failed\n{run.output[-4_000:]}")
            self._tell(f"without a fault {len(run.passed)} tests pass in {run.seconds:.0f} s")
            green = {"total": run.seconds, "tests": run.durations, "by_chance": run.failed}
            if kept is not None:
                kept.write_text(json.dumps(green))
        self._left_out = list(green["by_chance"])
        for test in self._left_out:
            self._tell(f"{test} is left out: it fails by chance without a fault")
        for test, seconds in green["tests"].items():
            self._seconds[_file_of(test)] += seconds + 0.01
        self._limit_s = max(LEAST_S, green["total"] * self._room.patience)

    def judge(self, faults: Sequence[Fault]) -> None:
        """Judge every fault that has no result yet."""
        for fault in faults:
            if fault.id not in self._results:
                self._judge_alone(fault)
        left = [fault for fault in faults if self._results[fault.id].noticed is None]
        if left:
            self._tell(f"{len(left)} faults are left: they are planted together")
            self._judge_together(left)

    # One by one.

    def _judge_alone(self, fault: Fault) -> None:
        with planted(self._tree, [fault.spot]):
            run = self._run_alone(fault)
            if run.failed and not run.test_out_of_time and self._is_chance(run.failed[0]):
                # It passes by itself: whether it is the fault or the weather is seen the second time.
                again = self._run_alone(fault)
                if again.failed != run.failed:
                    run = again
        if run.test_out_of_time and self._run_some(run.failed, self._arguments_for(fault)).failed:
            # It takes as long without the fault, too: then it says nothing.
            run = replace(run, failed=(), test_out_of_time=False)
        if run.failed:
            self._keep(fault, run.failed[0], run)
        elif run.out_of_time and not self._run_alone(fault).out_of_time:
            # Without the fault there is time enough.
            self._results.add(fault, "time-out", "", run.seconds)
        elif self._room.alone_s is None:
            self._results.add(fault, "no", "", run.seconds)
        else:
            self._results.add(fault, None, "", run.seconds)
        self._tell(self._results[fault.id].sentence())

    def _run_alone(self, fault: Fault) -> Run:
        arguments, order = self._arguments_for(fault), self._order(fault)
        if self._room.alone_s is None:
            return self._run(*arguments, limit_s=self._limit_s, order=order, workers=1)
        # To collect all tests takes longer than to run those of a few files.
        few = self._first(order, self._room.alone_s / 2)
        return self._run(*arguments, limit_s=self._room.alone_s, tests=few, order=order, workers=1)

    def _arguments_for(self, fault: Fault) -> tuple[str, ...]:
        """Return the arguments of pytest while this fault is judged alone."""
        chosen = (it[1] for it in self._room.alone_in if it[0] in fault.spot.path)
        return next(chosen, self._room.alone)

    def _first(self, order: Sequence[str], most_s: float) -> list[str]:
        """Return the first files of an order, as many as take so many seconds; at least one."""
        sums = accumulate(self._seconds[file] for file in order)
        return [file for file, sum_s in zip(order, sums, strict=True) if sum_s <= most_s] or list(order[:1])

    def _is_chance(self, test: str) -> bool:
        return self._room.alone_s is not None and not self._run_some([test]).failed

    def _keep(self, fault: Fault, test: str, run: Run) -> None:
        self._noticed[_file_of(test)] += 1
        self._noticed_of[_file_of(test), fault.spot.path] += 1
        self._results.add(fault, "time-out" if run.test_out_of_time else "yes", test, run.seconds)

    # All together.

    def _judge_together(self, faults: list[Fault]) -> None:
        passed: set[str] = set()
        while faults:
            with planted(self._tree, [fault.spot for fault in faults]):
                run = self._run(
                    limit_s=self._limit_s,
                    order=self._order(None),
                    passed=sorted(passed),
                    failures_max=FAILURES_MAX,
                )
            passed |= set(run.passed)
            if run.out_of_time:
                self._tell("the time is up: begin the trial again, and it goes on from here")
                return
            if not run.failed:
                for fault in faults:
                    self._results.add(fault, "no", "", run.seconds)
                    self._tell(self._results[fault.id].sentence())
                return
            noticed = self._noticed_by(run.failed, faults)
            if not noticed:
                self._tell(f"all faults together fail, and none alone: {', '.join(run.failed)}")
                passed |= set(run.failed)
            faults = [fault for fault in faults if fault not in noticed]

    def _noticed_by(self, tests: Sequence[str], faults: Sequence[Fault]) -> list[Fault]:
        """Return the faults that one of these tests notices, found by halves, and keep their results."""
        with planted(self._tree, [fault.spot for fault in faults]):
            run = self._run_some(tests, HANGING)
            if not run.failed or (len(faults) == 1 and self._is_chance(run.failed[0])):
                return []
        if len(faults) == 1:
            self._keep(faults[0], run.failed[0], run)
            self._tell(self._results[faults[0].id].sentence())
            return list(faults)
        half = len(faults) // 2
        return self._noticed_by(tests, faults[:half]) + self._noticed_by(tests, faults[half:])

    # Running.

    def _run_some(self, tests: Sequence[str], arguments: Sequence[str] = ()) -> Run:
        """Run these tests until one fails, all in one process."""
        if not all(test.startswith("tests/") for test in tests):
            # Not even the collecting of tests went well.
            return self._run("--collect-only", limit_s=LEAST_S + STARTING_S, workers=1)
        limit_s = LEAST_S + STARTING_S + 2 * sum(self._seconds[_file_of(test)] for test in tests)
        return self._runner(self._tree, tests, [*self._room.arguments, *arguments], limit_s=limit_s)

    def _run(
        self,
        *arguments: str,
        limit_s: float,
        tests: Sequence[str] = (),
        order: Sequence[str] = (),
        passed: Sequence[str] = (),
        workers: int | None = None,
        failures_max: int = 1,
    ) -> Run:
        return self._runner(
            self._tree,
            tests or self._room.tests,
            [*self._room.arguments, *arguments],
            limit_s=limit_s,
            workers=workers or self._room.workers,
            order=order,
            passed=[*passed, *self._left_out],
            failures_max=failures_max,
        )

    def _order(self, fault: Fault | None) -> list[str]:
        """Return the test files, first the one that is likely to notice most of this fault in a second."""
        path = fault.spot.path if fault is not None else ""
        words = _words(path) | ({fault.where} if fault is not None and fault.where else set())

        def promise(file: str) -> float:
            near = len(_folders(path) & _folders(file))
            near += sum(3 for word in words if word in _words(file))
            near += sum(2 for word in words if word in self._text(file))
            noticed = 0.5 + self._noticed[file] + 5 * self._noticed_of[file, path] + 3 * near * near
            return noticed / (self._seconds[file] + STARTING_FILE_S)

        return sorted(self._seconds, key=lambda file: (-promise(file), file))

    def _text(self, file: str) -> str:
        if file not in self._texts:
            path = self._tree / file
            self._texts[file] = path.read_text() if path.is_file() else ""
        return self._texts[file]


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _words(path: str) -> set[str]:
    """Return what a file is about: the words of its name, without an `s` at their ends."""
    return {word.rstrip("s") for word in Path(path).stem.split("_")} - {"test", "init", ""}


def _folders(path: str) -> set[str]:
    return set(Path(path).parts[:-1])
