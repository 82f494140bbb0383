"""Whose web sites may show an org's pages in a frame."""

from __future__ import annotations

import pytest

from fairhold import granted
from fairhold.core.refusals import Refusal
from tests.database import opened


async def test_an_origin_is_allowed_once_and_by_its_own_org_alone(database_url: str) -> None:
    async with opened(database_url) as hf:
        made = granted(await hf.allow_origin("https://Example.org/"))
        assert granted(await hf.allow_origin("https://example.org:443")) == made
        assert [it.origin for it in await hf.origins()] == ["https://example.org"]
        theirs = hf.for_org("theirs")
        assert await theirs.origins() == []
        assert isinstance(await theirs.remove_origin(made.id), Refusal)
        granted(await hf.remove_origin("https://example.org"))
        assert await hf.origins() == []


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "example.org",
        "*",
        "https://",
        "https://*.example.org",
        "ftp://example.org",
        "javascript:alert(1)",
        "https://example.org/path",
        "https://example.org?q",
        "https://ann@example.org",
        "https://example.org; script-src *",
        "https://example.org 'unsafe-inline'",
        "https://example.org\nx",
        "https://example.org:0",
        "https://example.org:99999",
        7,
    ],
)
async def test_what_is_no_origin_is_refused(sqlite_url: str, origin: str) -> None:
    async with opened(sqlite_url) as hf:
        refused = await hf.allow_origin(origin)
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "origin")
        assert await hf.origins() == []
