"""One running service per module and database, with a test clock, and keys of every role."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.postgres import fresh_database
from tests.http.server import Client, Server, make_key, serving


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def module_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database for the tests of one module, which keep apart by using pools of their own."""
    if request.param == "sqlite":
        path: Path = tmp_path_factory.mktemp("http") / "fairhold.db"
        yield f"sqlite:///{path}"
    else:
        with fresh_database(request.getfixturevalue("postgres_server_url")) as url:
            yield url


@pytest.fixture(scope="module")
def server(module_url: str) -> Iterator[Server]:
    with serving(module_url, "--test-clock") as running:
        yield running


@pytest.fixture(scope="module")
def admin(server: Server) -> Iterator[Client]:
    with server.client(make_key(server.url, "admin", name="ops")) as client:
        yield client


@pytest.fixture(scope="module")
def staff(server: Server, admin: Client) -> Iterator[Client]:
    yield from _with_role(server, admin, "staff")


@pytest.fixture(scope="module")
def reader(server: Server, admin: Client) -> Iterator[Client]:
    yield from _with_role(server, admin, "read")


@pytest.fixture(scope="module")
def public(server: Server, admin: Client) -> Iterator[Client]:
    yield from _with_role(server, admin, "public")


@pytest.fixture(scope="module")
def other_org(server: Server) -> Iterator[Client]:
    with server.client(make_key(server.url, "admin", org="theirs")) as client:
        yield client


def _with_role(server: Server, admin: Client, role: str) -> Iterator[Client]:
    made = admin.ask("POST", "/v1/keys", {"role": role, "name": f"a {role}"}, expect=201)
    with server.client(made["secret"]) as client:
        yield client
