"""Judge faults: first each one alone, then all that are left together.

Most faults are noticed within seconds by the tests that lie next to them. To show that a fault is not noticed
takes all the tests: so the faults that are left share one run. When a test fails there, it is run again on
each half of them, and so on, until it is known which faults it notices. These are taken out, and the run goes
on with the tests that did not pass yet. Two faults that hide one another count as not noticed: the share that
is found is never too good.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from trials.faults.results import Results
from trials.faults.rooms import Room
from trials.faults.spot import Fault, planted
from trials.faults.suite import Run, run_tests

LEAST_S: Final = 60.0
STARTING_S: Final = 20.0

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

    def must_be_green(self, kept: Path | None = None) -> None:
        """Run the tests of the room without a fault, and remember how long each file takes."""
        if kept is not None and kept.exists():
            durations = json.loads(kept.read_text())
        else:
            run = self._run(limit_s=3_600, stop_at_first=False)
            if run.code != 0:
                raise NotGreenError(f"{', '.join(run.failed) or 'nothing'} failed\n{run.output[-4_000:]}")
            self._tell(f"without a fault {len(run.passed)} tests pass in {run.seconds:.0f} s")
            durations = {"total": run.seconds, "tests": run.durations}
            if kept is not None:
                kept.write_text(json.dumps(durations))
        for test, seconds in durations["tests"].items():
            self._seconds[_file_of(test)] += seconds + 0.01
        self._limit_s = max(LEAST_S, durations["total"] * self._room.patience)

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
            if run.failed and run.code == 1 and not run.test_out_of_time and self._is_chance(run.failed[0]):
                # It passes by itself: whether it is the fault or the weather is seen the second time.
                again = self._run_alone(fault)
                if again.failed != run.failed:
                    run = again
        if run.failed:
            self._keep(fault, run.failed[0], run)
        elif run.out_of_time and self._room.alone_s is None:
            self._results.add(fault, "time-out", "", run.seconds)
        elif self._room.alone_s is None:
            self._results.add(fault, "no", "", run.seconds)
        else:
            self._results.add(fault, None, "", run.seconds)
        self._tell(self._results[fault.id].sentence())

    def _run_alone(self, fault: Fault) -> Run:
        chosen = (it[1] for it in self._room.alone_in if it[0] in fault.spot.path)
        arguments = next(chosen, self._room.alone)
        limit_s = self._room.alone_s or self._limit_s
        return self._run(*arguments, limit_s=limit_s, order=self._order(fault.spot.path), workers=1)

    def _is_chance(self, test: str) -> bool:
        return self._room.alone_s is not None and not self._run_one(test).failed

    def _keep(self, fault: Fault, test: str, run: Run) -> None:
        self._noticed[_file_of(test)] += 1
        self._noticed_of[_file_of(test), fault.spot.path] += 1
        self._results.add(fault, "time-out" if run.test_out_of_time else "yes", test, run.seconds)

    # All together.

    def _judge_together(self, faults: list[Fault]) -> None:
        passed: set[str] = set()
        run = None
        while faults and (run is None or run.failed):
            with planted(self._tree, [fault.spot for fault in faults]):
                run = self._run(limit_s=self._limit_s, order=self._order(""), passed=sorted(passed))
            passed |= set(run.passed)
            for test in run.failed:
                guilty = self._guilty(test, faults)
                for fault in guilty:
                    self._keep(fault, test, run)
                    self._tell(self._results[fault.id].sentence())
                faults = [fault for fault in faults if fault not in guilty]
                if not guilty:
                    self._tell(f"{test} fails with all of them together, and with none alone")
                    passed.add(test)
        for fault in faults:
            assert run is not None
            self._results.add(fault, "time-out" if run.out_of_time else "no", "", run.seconds)
            self._tell(self._results[fault.id].sentence())

    def _guilty(self, test: str, faults: Sequence[Fault]) -> list[Fault]:
        """Return the faults that this test notices."""
        if not faults:
            return []
        with planted(self._tree, [fault.spot for fault in faults]):
            if not self._run_one(test).failed:
                return []
        if len(faults) == 1:
            return list(faults)
        half = len(faults) // 2
        return self._guilty(test, faults[:half]) + self._guilty(test, faults[half:])

    # Running.

    def _run_one(self, test: str) -> Run:
        limit_s = LEAST_S + STARTING_S + 2 * self._seconds[_file_of(test)]
        if not test.startswith("tests/"):
            return self._run("--collect-only", limit_s=limit_s, workers=1)
        return self._runner(self._tree, [test], self._room.arguments, limit_s=limit_s)

    def _run(
        self,
        *arguments: str,
        limit_s: float,
        order: Sequence[str] = (),
        passed: Sequence[str] = (),
        workers: int | None = None,
        stop_at_first: bool = True,
    ) -> Run:
        return self._runner(
            self._tree,
            self._room.tests,
            [*self._room.arguments, *arguments],
            limit_s=limit_s,
            workers=workers or self._room.workers,
            order=order,
            passed=passed,
            stop_at_first=stop_at_first,
        )

    def _order(self, path: str) -> list[str]:
        """Return the test files, first the one that is likely to notice most of this path in a second."""
        words = _words(path)

        def promise(file: str) -> float:
            near = len(words & _words(file))
            noticed = 0.5 + self._noticed[file] + 5 * self._noticed_of[file, path] + 2 * near
            return noticed / (self._seconds[file] + 0.5)

        return sorted(self._seconds, key=lambda file: (-promise(file), file))


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _words(path: str) -> set[str]:
    """Return the words that say what a file is about: those of its name, without an `s` at their end."""
    return {word.rstrip("s") for word in Path(path).stem.split("_")} - {"test", "", "init"}
