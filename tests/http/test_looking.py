"""GET and HEAD never change anything: every path there is, in every state, and not a row is another."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from tests.database import asking, dump
from tests.http.server import Client, Server
from tests.patience import wait_until

# Read by the doorkeeper and written on nobody's time: not what a look may change.
KEYS = "SELECT id, org, name, role, hint, request, created_at, revoked_at FROM api_keys ORDER BY id"
STREAM = "SELECT * FROM stream ORDER BY pool_id, seq"
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
    wait_until(lambda: "pending" not in {row[8] for row in everything(url)["outbox"]})
    return everything(url)


def lively(admin: Client) -> dict[str, str]:
    """Something of everything, with a live offer, a hold that is past its time and units; names to ask by."""
    admin.pool("seen", 1)
    olga, ann = admin.book("seen", "olga"), admin.book("seen", {"id": "ann", "name": "Ann"})
    admin.book("seen", "bea")
    admin.act(olga["id"], "cancel")
    units = [{"key": "main", "units": ["a/1", "b"]}]
    admin.ask("POST", "/v1/pools", {"key": "units", "preset": "last_minute", "quotas": units}, expect=201)
    admin.book("units", "cyd")
    token = admin.booking(ann["id"])["offer"]["token"]
    key = admin.ask("POST", "/v1/keys", {"role": "read", "name": "r"}, expect=201)["id"]
    return {"pool": "seen", "booking": ann["id"], "token": token, "label": "a/1", "key": key}


@pytest.mark.guarantee(
    "mail-scanner.looking",
    "GET and HEAD at every address there is, with a live offer: not a row of any table is another, and "
    "then the claim works.",
)
@pytest.mark.guarantee(
    "mail-scanner",
    "Asked by POST, the same address changes bookings, offers and log: the comparison notices.",
    control=True,
)
def test_looking_at_every_path_changes_nothing(server: Server, admin: Client) -> None:
    names = lively(admin)
    document = admin.ask("GET", "/openapi.json")
    paths = [
        re.sub(r"\{(\w+)\}", lambda it: names.get(it[1], "nonsense"), path) for path in document["paths"]
    ]
    assert len(paths) > 20
    before = at_rest(server.url)
    assert before["offers"]
    looked = 0
    for path in (*paths, *PAGES):
        for method in ("GET", "HEAD"):
            with admin.stream(method, path) as answer:
                # Who has a key has no session to look at.
                known = (200, 403, 404, 405) if path == "/v1/session" else (200, 404, 405)
                assert answer.status_code in known, (method, path, answer.status_code)
                looked += answer.status_code == 200
                if method == "HEAD":
                    assert not answer.read()
    assert looked > 30
    assert everything(server.url) == before
    # Control: asked by POST, the same address does change something.
    assert admin.ask("POST", f"/v1/offers/{names['token']}/claim", {})["state"] == "confirmed"
    after = everything(server.url)
    assert {table for table in after if after[table] != before[table]} >= {
        "bookings",
        "offers",
        "log",
        "stream",
    }
