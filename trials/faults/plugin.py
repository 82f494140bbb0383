"""Extend pytest for one run on a fault: bring its tests into an order, and write down at once how each fared.

Two variables of the environment say how: `FAULTS_ORDER`, a file with the order of the test files and the
tests to leave out, and `FAULTS_REPORT`, a file to which a line of JSON is added for every test.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests by the given order of their files; within a file they stay as they are."""
    place = os.environ.get("FAULTS_ORDER")
    if not place:
        return
    order = json.loads(Path(place).read_text())
    ranks = {path: rank for rank, path in enumerate(order["files"])}
    passed = set(order["passed"])
    items[:] = [item for item in items if item.nodeid not in passed]
    items.sort(key=lambda item: ranks.get(item.nodeid.partition("::")[0], len(ranks)))


class Reporter:
    """Writes a line for every test that has ended."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the end of a test, and any failure of what it needs."""
        if report.when == "call" or report.failed:
            text = str(report.longrepr) if report.failed else ""
            line = {
                "test": report.nodeid,
                "failed": report.failed,
                "timed_out": "Failed: Timeout" in text,
                "seconds": round(report.duration, 3),
            }
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Register the reporter where the reports of all workers come together."""
    place = os.environ.get("FAULTS_REPORT")
    if place and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Reporter(Path(place)))
