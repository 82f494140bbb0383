"""Fixtures for every test: fresh databases on SQLite and on a real PostgreSQL.

One PostgreSQL serves a whole run. Alone, pytest starts it when the first test asks for it; with several
workers, the process that leads them starts it beforehand and tells them its URL by the environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from testbed.postgres import URL_VARIABLE, PostgresError, TemporaryPostgres, fresh_database, shared_server

# A shared machine has slow moments; the limit of time is pytest's, per test.
# `pytest --hypothesis-profile thorough` looks twenty times as long.
# To explain a failure by runs of its neighbours takes minutes, and the smallest example says more.
PHASES = [phase for phase in Phase if phase is not Phase.explain]
settings.register_profile("holdfast", deadline=None, print_blob=True, phases=PHASES)
settings.register_profile("thorough", settings.get_profile("holdfast"), max_examples=2_000)
settings.load_profile("holdfast")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None) and URL_VARIABLE not in os.environ:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        try:
            patch.setenv(URL_VARIABLE, stack.enter_context(shared_server()))
        except PostgresError as error:
            raise pytest.UsageError(str(error)) from error


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    """The run's one PostgreSQL."""
    with shared_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """A fresh, empty PostgreSQL database, dropped afterwards."""
    with fresh_database(postgres_server_url) as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path}/holdfast.db"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh database; the test runs once on each kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(scope="module")
def durable_postgres() -> Iterator[TemporaryPostgres]:
    """The module's own PostgreSQL, with durable commits, to be killed and started again."""
    with TemporaryPostgres(durable=True) as server:
        yield server
