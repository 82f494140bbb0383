"""What the drill of high availability says of itself is what its judge has found."""

from __future__ import annotations

from pathlib import Path

import pytest

from drills.ha.report import Row, Run, keep_evidence
from testbed.guarantees.evidence import read_drills

ROW = Row("kill-primary", "the primary is killed", 9.0, 12.0, 100, 90, 5, 1, 2, 10.0)
LOST = "nothing_lost: book key-7 was answered yes, the log has only {}"
TWICE = "no_oversell: entry 9 (Held): 1 beyond the quotas, and the open share is 0"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([], ("passed", 0, 0, 0)),
        ([LOST, LOST], ("failed", 2, 0, 2)),
        ([TWICE, "the machines do not have the same log"], ("failed", 0, 1, 2)),
    ],
)
def test_what_was_lost_is_counted_by_the_judge(
    tmp_path: Path, wrong: list[str], said: tuple[str, int, int, int]
) -> None:
    (tmp_path / "tests.json").write_text("{}")
    keep_evidence([Run([ROW], []), Run([ROW], wrong)], tmp_path)
    (told,) = read_drills(tmp_path)
    figures = told.figures
    counted = (figures["answers lost"], figures["seats given twice"], figures["found wrong"])
    assert (told.outcome, *counted) == said
