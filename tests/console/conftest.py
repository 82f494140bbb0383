"""The running service of the HTTP tests, and members of staff at their browsers, which have no scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.desk import Desk, make_members
from tests.http.conftest import admin, module_url, other_org, server
from tests.http.server import Server

__all__ = ["admin", "module_url", "other_org", "server"]


@pytest.fixture(scope="module")
def members(server: Server) -> Server:
    """A service with a member of each role, and one of another org."""
    make_members(server.url)
    return server


def _signed_in(server: Server, who: str, org: str = "default") -> Iterator[Desk]:
    with Desk(base_url=server.base) as desk:
        desk.sign_in(who, org=org)
        yield desk


@pytest.fixture(scope="module")
def olga(members: Server) -> Iterator[Desk]:
    """Olga, an admin."""
    yield from _signed_in(members, "Olga")


@pytest.fixture(scope="module")
def sam(members: Server) -> Iterator[Desk]:
    """Sam, of staff."""
    yield from _signed_in(members, "Sam")


@pytest.fixture(scope="module")
def rita(members: Server) -> Iterator[Desk]:
    """Rita, who may look and not change."""
    yield from _signed_in(members, "Rita")


@pytest.fixture(scope="module")
def otto(members: Server) -> Iterator[Desk]:
    """Otto, an admin of another org."""
    yield from _signed_in(members, "Otto", "theirs")


@pytest.fixture
def stranger(members: Server) -> Iterator[Desk]:
    with Desk(base_url=members.base) as desk:
        yield desk
