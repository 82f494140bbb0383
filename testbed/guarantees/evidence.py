"""What ran and how it ended: the tests, written by their last full run, and drills, each by itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from testbed.guarantees.rows import ROOT

EVIDENCE = ROOT / "docs" / "evidence"
TESTS = "tests.json"
PASSED, FAILED = "passed", "failed"


@dataclass(frozen=True, slots=True)
class Drill:
    """What is too long for the tests, and is run by hand: how it ended the last time."""

    drill: str
    command: str
    date: str
    outcome: str
    rows: list[str]
    shown: list[str]
    figures: dict[str, int | float | str] = field(default_factory=dict)


@dataclass(slots=True)
class Ran:
    """A test in all its variants: when, how many ran and passed, and which databases were behind it."""

    date: str = ""
    runs: int = 0
    passed: int = 0
    services: list[str] = field(default_factory=list)
    databases: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return 0 < self.runs == self.passed


@dataclass(frozen=True, slots=True)
class Results:
    """How the tests that show a guarantee ended, each the last time it ran."""

    versions: dict[str, str]
    tests: dict[str, Ran]


def record(
    drill: str,
    command: str,
    *,
    passed: bool,
    rows: list[str],
    shown: list[str],
    figures: dict[str, int | float | str],
    root: Path = EVIDENCE,
) -> None:
    """Keep how a drill ended, for the page. `python3 dev.py guarantees --page` then writes the page."""
    outcome = PASSED if passed else FAILED
    _write(root / f"{drill}.json", asdict(Drill(drill, command, today(), outcome, rows, shown, figures)))


def read_drills(root: Path = EVIDENCE) -> list[Drill]:
    paths = sorted(path for path in root.glob("*.json") if path.name != TESTS)
    return [Drill(**_read(path)) for path in paths]


def write_results(results: Results, marked: set[str], root: Path = EVIDENCE) -> None:
    """Keep what ran now, and beside it what ran before and is still marked."""
    before = read_results(root).tests if (root / TESTS).exists() else {}
    tests = {name: ran for name, ran in sorted({**before, **results.tests}.items()) if name in marked}
    _write(root / TESTS, asdict(Results(results.versions, tests)))


def read_results(root: Path = EVIDENCE) -> Results:
    found = _read(root / TESTS)
    tests = {name: Ran(**ran) for name, ran in found["tests"].items()}
    return Results(found["versions"], tests)


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write(path: Path, found: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
