"""What was seen, in a table for people and in a file for docs/guarantees.md."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from drills.ha.crowd import Crowd
from drills.ha.machines import LOOP_S, RETRY_S, TTL_S
from drills.ha.scenarios import Scenario
from testbed.guarantees.evidence import EVIDENCE, record

ROWS = ["failover", "database-crash", "frozen-node", "killed", "lost-commit"]


@dataclass(frozen=True)
class Row:
    """One scenario as it went."""

    name: str
    what: str
    silence_s: float
    """The longest time in which a pool carried nothing out."""
    well_s: float
    """How long it took until all machines were there again, the one that was struck too."""
    answered: int
    granted: int
    not_now: int
    """Answers 503."""
    unknown: int
    """Those of them whose outcome was not known."""
    lost_connections: int
    slowest_s: float

    @classmethod
    def of(cls, scenario: Scenario, crowd: Crowd, struck: float, carried_on_s: float, well_s: float) -> Row:
        statuses = Counter(it.status for it in crowd.tries)
        return cls(
            scenario.name,
            scenario.what,
            crowd.longest_silence(struck),
            well_s,
            sum(1 for it in crowd.asked if it.answers),
            sum(1 for it in crowd.asked if it.granted),
            statuses[503],
            sum(1 for it in crowd.tries if it.code == "outcome_unknown"),
            statuses[0],
            max(it.ended - it.begun for it in crowd.tries),
        )


def say(sentence: str) -> None:
    print(sentence, flush=True)


def say_row(row: Row) -> None:
    say(
        f"{row.what:<48} {row.silence_s:6.1f} s silent, whole after {row.well_s:5.1f} s; "
        f"{row.answered:5} answered, {row.granted:5} yes, {row.not_now:4} not now ({row.unknown} unknown), "
        f"{row.lost_connections:3} lost connections, slowest {row.slowest_s:4.1f} s"
    )


def verdict(run: Run, took_s: float) -> int:
    rows, wrong = run
    answered, granted = sum(row.answered for row in rows), sum(row.granted for row in rows)
    say(f"{answered} requests answered, {granted} with yes, in {took_s:.0f} s.")
    if not wrong:
        say("Nothing answered is lost, nothing was given twice, and nobody was told worse than: not now.")
        return 0
    for fault in wrong[:40]:
        say(f"WRONG: {fault}")
    say(f"{len(wrong)} things are wrong.")
    return 1


class Run(NamedTuple):
    """All scenarios once, and what the judge found wrong in the end."""

    rows: Sequence[Row]
    wrong: Sequence[str]

    def broken(self, promise: str) -> int:
        """How often the judge found this promise broken."""
        return sum(1 for fault in self.wrong if fault.startswith(f"{promise}:"))


def keep_evidence(runs: Sequence[Run], root: Path = EVIDENCE) -> None:
    """For docs/guarantees.md."""
    rows = [row for run in runs for row in run.rows]
    passed = not any(run.wrong for run in runs)
    shown = []
    for name in dict.fromkeys(row.name for row in rows):
        same = [row for row in rows if row.name == name]
        after = _seconds(sorted(row.silence_s for row in same))
        what = same[0].what[0].upper() + same[0].what[1:]
        shown.append(f"{what}: writes went on by themselves after {after}.")
    if passed:
        shown.append(
            "Clients saw success, calm refusals, 503 with Retry-After, and a killed node's connections lost."
        )
    figures: dict[str, int | float | str] = {
        "runs in a row": len(runs),
        "faults": len(rows),
        "requests answered": sum(row.answered for row in rows),
        "answered yes": sum(row.granted for row in rows),
        "answers 503": sum(row.not_now for row in rows),
        "slowest answer": f"{max((row.slowest_s for row in rows), default=0):.1f} s",
        "Patroni": f"ttl {TTL_S} s, loop_wait {LOOP_S} s, retry_timeout {RETRY_S} s",
    }
    figures["answers lost"] = sum(run.broken("nothing_lost") for run in runs)
    figures["seats given twice"] = sum(run.broken("no_oversell") for run in runs)
    figures["found wrong"] = sum(len(run.wrong) for run in runs)
    record("ha", "python3 dev.py ha", passed=passed, rows=ROWS, shown=shown, figures=figures, root=root)


def _seconds(silences: Sequence[float]) -> str:
    if len(silences) == 1:
        return f"{silences[0]:.1f} s"
    return f"{statistics.median(silences):.1f} s ({silences[0]:.1f} to {silences[-1]:.1f})"
