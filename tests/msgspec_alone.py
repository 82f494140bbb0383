"""A program on SQLite for `test_extras`, run where only Fairhold and msgspec are installed.

    python -I -S tests/msgspec_alone.py DATABASE FOLDER …     # the folders that packages are imported from

It uses every verb and read, asks one thing of each extra, and writes what came of it as JSON: `outside`,
the packages that were imported beside the standard library; `missing`, the extra that each error names.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import sysconfig
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path[:0] = sys.argv[2:]

from fairhold import Fairhold, TestClock, granted  # noqa: E402  # the folders come first
from fairhold.accounts.passwords import Passwords  # noqa: E402
from fairhold.config import make_store  # noqa: E402
from fairhold.errors import ExtraMissing  # noqa: E402


async def verbs_and_reads(hf: Fairhold) -> None:
    """Use all of them once: a class with one seat, and three who want it."""
    granted(
        await hf.create_pool("lesson", preset="class_waitlist", quotas={"main": 1}, time_zone="Europe/Oslo")
    )
    ann = granted(
        await hf.book("lesson", {"id": "ann", "name": "Ann", "contacts": {"email": "a@example.org"}})
    )
    granted(await hf.extend(ann.id, 1_200))
    granted(await hf.confirm(ann.id))
    bea = granted(await hf.book("lesson", "bea"))
    cyd = granted(await hf.book("lesson", "cyd", if_full="wait"))
    granted(await hf.move(cyd.id, "front"))
    assert granted(await hf.position(bea.id)) == 2
    granted(await hf.cancel(ann.id, why="ill"))
    granted(await hf.decline(cyd.id))
    offer = granted(await hf.booking(bea.id, secret=True)).offer
    assert offer is not None
    assert granted(await hf.claim(offer.token)).state == "confirmed"
    granted(await hf.fill("lesson"))
    granted(await hf.create_pool("later", preset="class_waitlist", quotas={"main": 1}))
    eve = granted(await hf.book("later", "eve"))
    dan = granted(await hf.book("later", "dan"))
    granted(await hf.change_pool("later", status="paused"))
    granted(await hf.cancel(eve.id))
    assert granted(await hf.offer(dan.id)).state == "offered"
    granted(await hf.tick())
    granted(await hf.pool("lesson"))
    assert granted(await hf.room("lesson")) == {"main": 0}
    assert [it.party.id for it in granted(await hf.line("lesson"))] == ["cyd"]
    assert granted(await hf.stats("lesson")).waiting == 1
    assert len(granted(await hf.log("lesson"))) > 5
    assert "accepted" in granted(await hf.explain(bea.id))[-1].sentence


async def extra_missing(ask: Callable[[], Any]) -> str:
    """Return the extra that is named by the error of an operation, "" if there is none."""
    try:
        answer = ask()
        if isinstance(answer, Awaitable):
            await answer
    except ExtraMissing as error:
        return error.extra
    return ""


def outside() -> list[str]:
    """Return the packages that were imported from elsewhere than the standard library."""
    library = Path(sysconfig.get_path("stdlib"))
    found = set()
    for name, module in sys.modules.items():
        path = Path(getattr(module, "__file__", None) or library)
        if name != "__main__" and (not path.is_relative_to(library) or "site-packages" in path.parts):
            found.add(name.partition(".")[0])
    return sorted(found)


async def main(database: str) -> None:
    async with Fairhold.open(database, clock=TestClock("2030-01-01T10:00:00Z")) as hf:
        await verbs_and_reads(hf)
        asked: dict[str, Callable[[], Any]] = {
            "a database of PostgreSQL": lambda: make_store("postgresql://localhost/x"),
            "a webhook": lambda: hf.add_webhook("https://example.org/hook"),
            "own words": lambda: hf.set_template("offer", "en", "subject", "Now"),
            "the outbox": lambda: importlib.import_module("fairhold.outbox"),
            "the client": lambda: importlib.import_module("fairhold.client"),
            "a password": Passwords,
            "traces": lambda: importlib.import_module("fairhold.tracing").trace(hf),
        }
        missing = {name: await extra_missing(ask) for name, ask in asked.items()}
    print(json.dumps({"outside": outside(), "missing": missing}))


def without_a_loop(database: str) -> None:
    """Use the face for programs without an event loop, too."""
    with Fairhold.open_sync(database) as hf:
        assert granted(hf.room("lesson")) == {"main": 0}


asyncio.run(main(sys.argv[1]))
without_a_loop(sys.argv[1])
