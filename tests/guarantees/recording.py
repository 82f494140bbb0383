"""A plugin of pytest for `dev.py guarantees`: runs the marked tests alone, and writes down how they ended.

Which databases were behind a test is seen, not said: whoever asks a running service over HTTP goes by a
transport of httpx, and that service's port was noted when it was started.
"""

from __future__ import annotations

import platform
import sqlite3
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from testbed.guarantees.evidence import Ran, Results, today, write_results
from testbed.guarantees.marks import NAME, read_marks
from testbed.postgres import find_binaries
from tests.database import dialect_of
from tests.http.server import STARTED

SEEN = "guarantee"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(config), "guarantees")


class Recorder:
    def __init__(self, config: pytest.Config) -> None:
        self._leads = not hasattr(config, "workerinput")
        self._asked: set[str] = set()
        self._tests: dict[str, Ran] = {}
        self._watch(httpx.HTTPTransport, "handle_request")
        self._watch(httpx.AsyncHTTPTransport, "handle_async_request")

    def _watch(self, transport: Any, name: str) -> None:
        """Note the database of every running service that is asked."""
        original = getattr(transport, name)

        def handle(transport: Any, request: httpx.Request) -> Any:
            if request.url.port in STARTED:
                self._asked.add(dialect_of(STARTED[request.url.port]))
            return original(transport, request)

        setattr(transport, name, handle)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        rest = [item for item in items if not item.get_closest_marker(NAME)]
        config.hook.pytest_deselected(items=rest)
        items[:] = [item for item in items if item.get_closest_marker(NAME)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self._asked.clear()
        try:
            return (yield)
        finally:
            seen = {"services": sorted(self._asked), "databases": sorted(_databases(item))}
            item.user_properties.append((SEEN, seen))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not self._leads:
            return
        ran = self._tests.setdefault(report.nodeid.partition("[")[0], Ran(today()))
        if report.when == "call":
            ran.runs += 1
            ran.passed += report.passed
            for seen in (value for name, value in report.user_properties if name == SEEN):
                ran.services = sorted({*ran.services, *seen["services"]}, reverse=True)
                ran.databases = sorted({*ran.databases, *seen["databases"]}, reverse=True)
        elif not report.passed:
            # What was not set up, or left something behind, has not passed.
            ran.runs += report.when == "setup"
            ran.passed -= report.when == "teardown"

    def pytest_sessionfinish(self) -> None:
        if self._leads and self._tests:
            write_results(Results(_versions(), self._tests), {mark.test for mark in read_marks()})


def _databases(item: pytest.Item) -> set[str]:
    """What the test was given, if it asked no service."""
    given = getattr(item, "funcargs", {}).values()
    urls = [url for it in given if isinstance(url := getattr(it, "url", it), str)]
    return {dialect_of(url) for url in urls if url.startswith(("sqlite:", "postgresql:"))}


def _versions() -> dict[str, str]:
    command = [find_binaries() / "postgres", "--version"]
    postgres = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]
    return {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version, "PostgreSQL": postgres}
