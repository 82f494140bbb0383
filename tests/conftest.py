"""Fixtures for every test: fresh databases on SQLite and on a real PostgreSQL.

One PostgreSQL serves a whole run. Alone, pytest starts it when the first test asks for it; with several
workers, the process that leads them starts it beforehand and tells them its URL by the environment.

Files of the tests are in memory where there is room, and so is that PostgreSQL: what is tested of crashes are
crashes of processes, which lose nothing of either. What is to outlive its server has a `durable_postgres`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from fairhold.config import make_store
from testbed.postgres import (
    TemporaryPostgres,
    fresh_database,
    memory,
    shared_server,
)
from tests.database import START
from tests.models import Model, postgres_model, sqlite_model

# A shared machine has slow moments; the limit of time is pytest's, per test.
# Every run looks at the same examples, so that no change is held up by what another has left to be found;
# `pytest --hypothesis-profile thorough` looks twenty times as long, and elsewhere each time.
# To explain a failure by runs of its neighbours takes minutes, and the smallest example says more.
PHASES = [phase for phase in Phase if phase is not Phase.explain]
settings.register_profile(
    "fairhold",
    deadline=None,
    derandomize=True,
    print_blob=True,
    phases=PHASES,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("fairhold"), derandomize=False, max_examples=2_000)
settings.load_profile("fairhold")


PLACE_VARIABLE = "PYTEST_DEBUG_TEMPROOT"

# The first take longest: whoever has nothing left to do at the end has not long to wait for the others.
ORDER = [
    "browser",
    "demo",
    "deploy",
    "guarantees",
    "http",
    "drills",
    "console",
    "cli",
    "core",
    "net",
    "tests",
    "outbox",
    "engine",
    "pages",
    "store",
]


def pytest_configure(config: pytest.Config) -> None:
    stack = ExitStack()
    config.add_cleanup(stack.close)
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    place = memory()
    if place and PLACE_VARIABLE not in os.environ:
        patch.setenv(PLACE_VARIABLE, str(place))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    folder = item.path.parent.name
    return ORDER.index(folder) if folder in ORDER else len(ORDER)


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    """This worker's own PostgreSQL: what others have not ended yet would hold back what a watcher sees."""
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
    return f"sqlite:///{tmp_path}/fairhold.db"


@pytest.fixture(params=["sqlite", "postgres"])
def empty_database_url(request: pytest.FixtureRequest) -> str:
    """A database without a schema; the test runs once on each kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


async def _set_up(url: str) -> None:
    store = make_store(url)
    await store.open()
    try:
        await store.migrate(START)
    finally:
        await store.close()


@pytest.fixture(scope="session")
def new_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with sqlite_model(tmp_path_factory.mktemp("model"), _set_up) as model:
        yield model


@pytest.fixture(scope="session")
def new_postgres(postgres_server_url: str) -> Iterator[Model]:
    with postgres_model(postgres_server_url, _set_up) as model:
        yield model


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A fresh database that is set up, with nothing in it; the test runs once on each kind."""
    with request.getfixturevalue(f"new_{request.param}").copied(tmp_path) as url:
        yield url


@pytest.fixture(scope="module")
def durable_postgres() -> Iterator[TemporaryPostgres]:
    """The module's own PostgreSQL, with durable commits, to be killed and started again."""
    with TemporaryPostgres(durable=True) as server:
        yield server
