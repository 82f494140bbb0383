"""GET and HEAD never change anything: every path there is, in every state, and not a row is another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fairhold.console import site as console
from fairhold.pages import site
from tests.console.desk import Desk, make_members
from tests.database import asking, dump
from tests.guarantees.broken import PROGRAM, broken
from tests.http.server import Client, Plain, Server, serving
from tests.patience import wait_until

# Read by the doorkeeper and written on nobody's time: not what a look may change.
KEYS = "SELECT id, org, name, role, hint, request, created_at, revoked_at FROM fairhold_api_keys ORDER BY id"
STREAM = "SELECT * FROM fairhold_stream ORDER BY pool_id, seq"
PAGES = (
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/docs/docs.js",
    "/docs/docs.css",
    "/nowhere",
)


def everything(url: str) -> dict[str, Any]:
    async def read() -> dict[str, Any]:
        tables: dict[str, Any] = dict(await dump(url))
        async with asking(url) as run:
            return tables | {"keys": await run(KEYS), "stream": await run(STREAM)}

    return asyncio.run(read())


def at_rest(url: str) -> dict[str, Any]:
    """Once all that was to be told is told."""
    wait_until(lambda: "pending" not in {row[8] for row in everything(url)["fairhold_outbox"]})
    return everything(url)


def lively(admin: Client) -> dict[str, str]:
    """Something of everything, with a live offer, a hold that is past its time and units; names to ask by."""
    admin.pool("late", 1, "checkout", policy={"hold_window": 1, "hold_lifetime_max": 1})
    late = admin.book("late", "dot")
    admin.pool("seen", 1)
    olga, ann = admin.book("seen", "olga"), admin.book("seen", {"id": "ann", "name": "Ann"})
    admin.book("seen", "bea")
    admin.act(olga["id"], "cancel")
    units = [{"key": "main", "units": ["a/1", "b"]}]
    admin.ask("POST", "/v1/pools", {"key": "units", "preset": "last_minute", "quotas": units}, expect=201)
    admin.book("units", "cyd")
    token = admin.booking(ann["id"])["offer"]["token"]
    key = admin.ask("POST", "/v1/keys", {"role": "read", "name": "r"}, expect=201)["id"]
    wait_until(lambda: datetime.now(UTC) > datetime.fromisoformat(late["expires_at"]))
    assert admin.booking(late["id"])["state"] == "held"
    return {
        "pool": "seen",
        "late": late["edit_token"],
        "booking": ann["id"],
        "edit_token": ann["edit_token"],
        "token": token,
        "label": "a/1",
        "key": key,
        "act": "confirm",
        "kind": "offer",
        "language": "en",
        "opening": "1",
        "what": "bookings.csv",
        "name": "bookings.csv",
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broken")


@pytest.fixture(scope="module")
def server(module_url: str, place: Path) -> Iterator[Server]:
    """On the machine's own clock, and nobody looks what is due."""
    settings = {"broken": str(place), "fairhold_rate_per_address": "0"}
    with broken(place, "no timers"), serving(module_url, program=PROGRAM, **settings) as running:
        make_members(module_url)
        yield running


@pytest.fixture(scope="module")
def names(admin: Client) -> dict[str, str]:
    return lively(admin)


def spelled(path: str, names: dict[str, str]) -> str:
    """With the names of what is there; a link of a booking is another than that of an offer."""
    if path.startswith(("/b/", "/embed/b/")):
        names = {**names, "token": names["edit_token"]}
    return re.sub(r"\{(\w+)\}", lambda it: names.get(it[1], "nonsense"), path)


def looked_at(asking: Plain, paths: Iterable[str]) -> list[str]:
    """Ask by GET and HEAD, and wait for no stream to end; those that are there."""
    found = []
    for path in paths:
        for method in ("GET", "HEAD"):
            with asking.stream(method, path) as answer:
                # Who has a key has no session to look at.
                known = (200, 303, 403, 404, 405) if path == "/v1/session" else (200, 303, 404, 405)
                assert answer.status_code in known, (method, path, answer.status_code)
                if answer.status_code in (200, 303):
                    found.append(path)
                if method == "HEAD":
                    assert not answer.read()
    return found


@pytest.mark.guarantee(
    "mail-scanner.looking",
    "GET and HEAD at every address of the API, the pages and the console, with a live offer and a hold past "
    "its time that no timer has ended: not a row of any table is another, and then the claim works.",
)
def test_looking_at_every_path_changes_nothing(server: Server, admin: Client, names: dict[str, str]) -> None:
    api = [spelled(path, names) for path in admin.ask("GET", "/openapi.json")["paths"]]
    pages = [spelled(page.path, names) for page in site.PAGES]
    pages += [f"/b/{names['late']}", f"/b/{names['late']}/confirm", "/p/late", "/p/units"]
    desk = [spelled(page.path, names) for page in console.PAGES]
    with Desk(base_url=server.base) as olga, server.client() as visitor:
        olga.sign_in("Olga")
        before = at_rest(server.url)
        assert before["fairhold_offers"]
        assert len(looked_at(admin, (*api, *PAGES))) > 60
        assert len(looked_at(visitor, pages)) > 40
        there = looked_at(olga, desk)
        assert len(there) > 80, [path for path in desk if path not in there]
        assert everything(server.url) == before
    # Asked by POST, the same address does change something.
    assert admin.ask("POST", f"/v1/offers/{names['token']}/claim", {})["state"] == "confirmed"
    assert changed(server, before) >= {"fairhold_bookings", "fairhold_offers", "fairhold_log", "stream"}


def changed(server: Server, before: dict[str, Any]) -> set[str]:
    after = everything(server.url)
    return {table for table in after if after[table] != before[table]}


@pytest.mark.guarantee(
    "mail-scanner",
    "Where a page acts when it is opened, a preview of its link gives the seat away, and the comparison "
    "notices.",
    control=True,
)
def test_control_where_opening_acts_a_preview_changes_something(
    server: Server, admin: Client, place: Path
) -> None:
    admin.pool("opened", 1)
    olga, ann = admin.book("opened", "olga"), admin.book("opened", "ann")
    admin.act(olga["id"], "cancel")
    link = f"/o/{admin.booking(ann['id'])['offer']['token']}/decline"
    before = at_rest(server.url)
    with server.client() as preview:
        looked_at(preview, [link])
        assert changed(server, before) == set()
        with broken(place, "opening acts"):
            looked_at(preview, [link])
    assert changed(server, before) >= {"fairhold_bookings", "fairhold_offers", "fairhold_log"}
