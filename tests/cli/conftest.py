"""The command line in tests: in this process through Typer's runner, or as the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from typer import testing
from typer.testing import CliRunner

from fairhold.cli.main import app

# Building the tree of commands takes ten times as long as most of them, and it is the same for all.
testing._get_command = cache(testing._get_command)

Command = Callable[..., subprocess.CompletedProcess[str]]


class Cli:
    """Runs commands on one database, in this process."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._runner = CliRunner()

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What a command says, which must end with this exit code."""
        result = self._runner.invoke(
            app, arguments, env={"FAIRHOLD_DATABASE_URL": self.url}, prog_name="fairhold"
        )
        assert result.exit_code == code, f"{arguments}: {result.output} {result.exception!r}"
        return str(result.output).strip()

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code))

    def book(self, pool: str, name: str, *arguments: str) -> str:
        """Book, and answer the reference."""
        booking = self.json("book", pool, name.lower(), "--name", name, *arguments)
        return str(booking["reference"])


@pytest.fixture
def cli(database_url: str) -> Cli:
    """The command line on a fresh database; the test runs once on each kind."""
    return Cli(database_url)


@pytest.fixture
def fairhold() -> Command:
    """The real command, as a process of its own."""

    def run(*arguments: str, database: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        settings = {**os.environ, "FAIRHOLD_DATABASE_URL": database, **environment}
        return subprocess.run(
            [sys.executable, "-m", "fairhold", *arguments],
            env=settings,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run
