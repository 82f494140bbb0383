"""After every test here `fairhold verify` finds nothing, whatever the test has done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.models import run_aside
from tests.verified import assert_verified


@pytest.fixture
def database_url(request: pytest.FixtureRequest, database_url: str) -> Iterator[str]:
    """The same as everywhere; verified at the end, unless the test is marked as `tampered`."""
    yield database_url
    if request.node.get_closest_marker("tampered") is None:
        run_aside(assert_verified, database_url)
