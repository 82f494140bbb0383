"""What all recorded runs of the simulator have survived together, as evidence; and which seeds they were."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from testbed.guarantees.evidence import EVIDENCE, PASSED, read_drills, record
from testbed.guarantees.rows import ROOT

ROWS: Final = ["killed", "lost-commit", "timers", "two-workers", "retries"]
SHOWN: Final = [
    "Random histories of people, staff and nodes over one database, of all presets and of random policies.",
    "Commits failed or had no known outcome, nodes died, clocks jumped, messages were lost, late or doubled.",
    "An auditor sees requests, answers, messages and the log alone: every promise was kept.",
]


class Seeds(NamedTuple):
    """The seeds of one run. Of other code, the same seed is another history."""

    first: int
    last: int
    store: str
    code: str

    def __str__(self) -> str:
        return f"{self.first} to {self.last} of {self.code}"


def code_now(root: Path = ROOT) -> str:
    """What stands for the service and its simulator as they are."""
    files = [path for folder in ("src/fairhold", "sim") for path in sorted((root / folder).rglob("*"))]
    digest = hashlib.sha256()
    for path in files:
        if path.suffix in (".py", ".sql"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def next_seed(store: str, code: str, root: Path = EVIDENCE) -> int:
    """The first seed that was not recorded yet, on this store and of this code."""
    return max((it.last + 1 for it in _recorded(root) if (it.store, it.code) == (store, code)), default=1)


def add(figures: Mapping[str, int], seeds: Seeds, *, held: bool, root: Path = EVIDENCE) -> None:
    """Add a run to what was recorded before. With one that broke a promise it begins anew."""
    assert seeds.first >= next_seed(seeds.store, seeds.code, root), "no seed counts twice"
    known = _known(root) if held else {}
    total: dict[str, int | float | str] = {
        name: int(known.get(name, 0)) + count for name, count in figures.items()
    }
    runs = [*(_recorded(root) if held else ()), seeds]
    for store in sorted({it.store for it in runs}):
        total[_name(store)] = "; ".join(str(it) for it in runs if it.store == store)
    shown = SHOWN if held else []
    record("sim", "python3 dev.py sim", passed=held, rows=ROWS, shown=shown, figures=total, root=root)


def _name(store: str) -> str:
    return f"seeds on {store}"


def _known(root: Path) -> Mapping[str, int | float | str]:
    """What stands there, of runs that all held."""
    before = {it.drill: it for it in read_drills(root)}.get("sim")
    return before.figures if before is not None and before.outcome == PASSED else {}


def _recorded(root: Path) -> list[Seeds]:
    found, known = [], _known(root)
    for store in ("sqlite", "postgres"):
        for run in filter(None, str(known.get(_name(store), "")).split("; ")):
            first, _, last, _, code = run.split()
            found.append(Seeds(int(first), int(last), store, code))
    return found
