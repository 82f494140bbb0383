"""For the end of any test on a database: every promise holds, whatever the test has done."""

from __future__ import annotations

from fairhold.config import make_store
from fairhold.verify import Report, verify


async def verified(url: str, schema: str | None = None) -> Report:
    """Return what `fairhold verify` says of a database, open elsewhere or not."""
    store = make_store(url, schema)
    await store.open()
    try:
        return await verify(store)
    finally:
        await store.close()


async def assert_verified(url: str, schema: str | None = None) -> Report:
    """Fail with every finding that there is."""
    report = await verified(url, schema)
    assert report.whole, f"\n{report}"
    return report
