"""The running service of the HTTP tests, and one without protections for the controls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.conftest import members, olga, otto
from tests.http.conftest import admin, module_url, other_org, public, server
from tests.notifiers.servers import MailServer, Receiver, mail_server, receiver
from tests.pages.conftest import visitor

__all__ = ["admin", "members", "module_url", "olga", "other_org", "otto", "public", "server", "visitor"]


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where one says what is broken now: see `broken`."""
    return tmp_path_factory.mktemp("broken")


@pytest.fixture(scope="module")
def mail() -> Iterator[MailServer]:
    with mail_server() as running:
        yield running


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as running:
        yield running
