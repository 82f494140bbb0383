"""The running service, in which things can be broken: one for each database, with mail and a test clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.postgres import fresh_database
from tests.console.desk import Desk, make_members
from tests.guarantees.broken import PROGRAM
from tests.http.conftest import module_url
from tests.http.server import Client, Server, make_key, serving
from tests.notifiers.servers import MailServer, Receiver, mail_server, receiver
from tests.pages.conftest import visitor

__all__ = ["module_url", "visitor"]


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where one says what is broken now: see `broken`."""
    return tmp_path_factory.mktemp("broken")


@pytest.fixture(scope="session")
def mail() -> Iterator[MailServer]:
    with mail_server() as running:
        yield running


@pytest.fixture(scope="session")
def settings(mail: MailServer, place: Path) -> dict[str, str]:
    """A service that writes letters, believes a proxy on this machine, and has no limit of requests."""
    return {
        "program": PROGRAM,
        "broken": str(place),
        "fairhold_smtp_url": mail.url,
        "fairhold_mail_from": "Seats <seats@example.org>",
        "fairhold_webhooks_to_private": "yes",
        "fairhold_proxies": "127.0.0.1",
        "fairhold_rate_per_address": "0",
    }


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('guarantees')}/fairhold.db"
    else:
        with fresh_database(request.getfixturevalue("postgres_server_url")) as made:
            yield made


@pytest.fixture(scope="session")
def server(url: str, settings: dict[str, str]) -> Iterator[Server]:
    with serving(url, "--test-clock", **settings) as running:
        make_members(url)
        yield running


@pytest.fixture(scope="session")
def admin(server: Server) -> Iterator[Client]:
    with server.client(make_key(server.url)) as client:
        yield client


@pytest.fixture(scope="session")
def other_org(server: Server) -> Iterator[Client]:
    with server.client(make_key(server.url, org="theirs")) as client:
        yield client


@pytest.fixture
def olga(server: Server) -> Iterator[Desk]:
    """Olga, an admin at her browser; a session that an hour's leap of the clock has ended is begun anew."""
    with Desk(base_url=server.base) as desk:
        desk.sign_in("Olga")
        yield desk


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as running:
        yield running
