"""The running service of the HTTP tests, and a visitor without a key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http.conftest import admin, module_url, other_org, server
from tests.http.server import Server
from tests.pages.visitor import Visitor

__all__ = ["admin", "module_url", "other_org", "server"]


@pytest.fixture
def visitor(server: Server) -> Iterator[Visitor]:
    with Visitor(base_url=server.base) as found:
        yield found
