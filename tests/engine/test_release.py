"""`release_expired` comes to every pool with something due, however many there are."""

from __future__ import annotations

import pytest

from fairhold import granted, release
from tests.database import opened


@pytest.mark.parametrize("dry_run", [True, False])
async def test_every_pool_is_released_and_rehearsed(
    database_url: str, monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    monkeypatch.setattr(release, "_POOLS_MAX", 2)
    async with opened(database_url) as hf:
        for n in range(7):
            granted(await hf.create_pool(f"gig-{n}", preset="checkout", quotas={"main": 9}))
            granted(await hf.book(f"gig-{n}", "ann"))
        hf.clock.move_to(hf.clock.now() + 3_600_000)  # type: ignore[attr-defined]
        told = await release.release_expired(hf, dry_run=dry_run)
        assert sorted(it["pool"] for it in told["pools"]) == [f"gig-{n}" for n in range(7)]
        assert told["holds_expired"] == 7
