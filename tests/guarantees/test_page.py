"""The page of guarantees is what was recorded, about the tests that there are, and hides no gap."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from testbed.guarantees.evidence import Drill, Ran, Results, read_drills, read_results, record, write_results
from testbed.guarantees.marks import Mark, read_marks
from testbed.guarantees.page import PAGE, cases, current, page
from testbed.guarantees.rows import ROOT, Row, read_rows

BOTH = ["sqlite", "postgres"]
ROW = Row(
    "fire", "fault", "There is a fire", {"out": "It is put out.", "told": "All are told."}, "water", BOTH
)
MARKS = [
    Mark("fire.out", "It was put out.", "tests/a.py::test_out"),
    Mark("fire.told", "All were told.", "tests/a.py::test_told"),
    Mark("fire", "Without water it burnt.", "tests/a.py::test_control", control=True),
]
DATE = "2026-11-15"
GOOD = Ran(DATE, 2, 2, BOTH, BOTH)
RESULTS = Results({"Python": "3"}, {mark.test: GOOD for mark in MARKS})
DRILL = Drill("fire", "dev.py fire", DATE, "passed", ["fire"], ["It was put out."], {"fires": 1_000})


def missing(marks: list[Mark] = MARKS, results: Results = RESULTS, drills: tuple[Drill, ...] = ()) -> str:
    (case,) = cases([ROW], marks, results, list(drills))
    return "; ".join(case.missing())


def with_ran(test: str, ran: Ran) -> Results:
    return replace(RESULTS, tests={**RESULTS.tests, f"tests/a.py::{test}": ran})


def test_the_page_is_what_is_recorded() -> None:
    assert PAGE.read_text(encoding="utf-8") == current(), "run `python3 dev.py guarantees --page`"


def test_every_test_that_shows_something_has_run_and_no_other_is_claimed() -> None:
    marked = {mark.test for mark in read_marks()}
    assert set(read_results().tests) == marked, "run `python3 dev.py guarantees`"
    assert len(marked) > 50


def test_every_row_is_proved() -> None:
    found = cases(read_rows(), read_marks(), read_results(), read_drills())
    assert {case.row.id: case.missing() for case in found if case.missing()} == {}
    assert len(found) == 31


def test_the_readme_counts_the_rows_that_there_are() -> None:
    kinds = [row.kind for row in read_rows()]
    said = f"{kinds.count('fault')} faults and {kinds.count('attack')} attacks"
    assert said in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_mark_and_every_drill_names_a_row() -> None:
    rows = read_rows()
    known = {name for row in rows for name in (row.id, *row.parts)}
    named = [mark.part for mark in read_marks()] + [name for it in read_drills() for name in it.rows]
    assert [name for name in named if name not in known] == []
    assert len({row.id for row in rows}) == len(rows)


def test_a_row_with_all_its_evidence_is_proved() -> None:
    assert missing(drills=(DRILL,)) == ""
    shown = page(cases([ROW], MARKS, RESULTS, [DRILL]), RESULTS, [DRILL])
    assert "1 of 1 rows are proved" in shown
    assert "It was put out. <br>`test_out` in `tests/a.py`: on the service, SQLite and PostgreSQL" in shown
    assert "*Drill*: [`dev.py fire`](#drill-fire), passed on 2026-11-15." in shown
    assert "| fires | 1,000 |" in shown
    assert "not proved" not in shown.partition("| proved |")[2]


def test_a_row_that_misses_something_says_what() -> None:
    assert missing(MARKS[:1] + MARKS[2:]) == "nothing shows `fire.told` on the running service"
    assert missing(MARKS[:2]) == "no control takes the protection away"
    assert missing(results=replace(RESULTS, tests={})).count("did not pass") == 3
    engine = with_ran("test_out", Ran(DATE, 2, 2, [], BOTH))
    assert missing(results=engine) == "nothing shows `fire.out` on the running service"
    one = with_ran("test_told", Ran(DATE, 1, 1, ["sqlite"], ["sqlite"]))
    assert missing(results=one) == "nothing shows `fire.told` over PostgreSQL"
    assert missing(drills=(replace(DRILL, outcome="failed"),)) == "the drill `fire` failed"


def test_a_row_whose_tests_did_not_all_pass_is_shown_as_not_proved() -> None:
    failed = with_ran("test_control", Ran(DATE, 2, 1, BOTH, BOTH))
    assert missing(results=failed) == "`tests/a.py::test_control` did not pass"
    shown = page(cases([ROW], MARKS, failed, []), failed, [])
    assert "0 of 1 rows are proved" in shown
    assert "| **not proved** |" in shown
    assert "**1 of 2 passed**" in shown


def test_what_a_test_shows_is_read_from_its_source(tmp_path: Path) -> None:
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    source = [
        "import pytest",
        '@pytest.mark.guarantee("fire.out", "It was " "put out.")',
        '@pytest.mark.guarantee("fire", "It burnt.", control=True)',
        '@pytest.mark.parametrize("a", [1])',
        "async def test_it(a): ...",
        "def test_other(): ...",
    ]
    (tmp_path / "tests" / "deep" / "test_fire.py").write_text("\n".join(source))
    test = "tests/deep/test_fire.py::test_it"
    assert read_marks(tmp_path) == [
        Mark("fire.out", "It was put out.", test),
        Mark("fire", "It burnt.", test, control=True),
    ]


def test_what_runs_again_replaces_what_ran_before(tmp_path: Path) -> None:
    marked = {"tests/a.py::test_out", "tests/a.py::test_told"}
    write_results(RESULTS, {*RESULTS.tests}, tmp_path)
    failed = Ran("2026-12-24", 1, 0)
    write_results(Results({"Python": "4"}, {"tests/a.py::test_out": failed}), marked, tmp_path)
    found = read_results(tmp_path)
    assert found == Results({"Python": "4"}, {"tests/a.py::test_out": failed, "tests/a.py::test_told": GOOD})
    assert "Last run from 2026-11-15 to 2026-12-24 with Python 4" in page([], found, [])


def test_a_drill_is_kept_for_the_page(tmp_path: Path) -> None:
    shown = ["It was put out."]
    record(
        "fire", "dev.py fire", passed=True, rows=["fire"], shown=shown, figures={"fires": 3}, root=tmp_path
    )
    (found,) = read_drills(tmp_path)
    assert (found.outcome, found.shown, found.figures) == ("passed", shown, {"fires": 3})
