"""More people than can be served: the rest are told at once when to ask again, and nothing is lost."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from typing import Any

from tests.database import sqlite_file
from tests.http.server import make_key, serving
from tests.patience import wait_until


def test_who_comes_when_too_many_wait_hears_so_at_once(sqlite_url: str) -> None:
    numbers, held = count(), list[str]()
    with (
        serving(sqlite_url, fairhold_commands_max="4") as server,
        server.client(make_key(sqlite_url)) as admin,
        ThreadPoolExecutor(6) as hands,
        closing(sqlite3.connect(sqlite_file(sqlite_url), isolation_level=None)) as file,
    ):
        admin.pool("hot", 1_000, "checkout")

        def book() -> Any:
            return admin.post("/v1/pools/hot/bookings", json={"party": f"p-{next(numbers)}"})

        def crowd() -> Any:
            # Nothing can be written meanwhile, so who asks waits.
            file.execute("BEGIN IMMEDIATE")
            asked = [hands.submit(book) for _ in range(6)]
            wait_until(lambda: any(it.done() for it in asked))
            # Looking is free.
            assert admin.ask("GET", "/v1/pools")["items"]
            file.execute("ROLLBACK")
            answers = [it.result() for it in asked]
            assert {it.status_code for it in answers} <= {201, 503}
            held.extend(it.json()["id"] for it in answers if it.status_code == 201)
            return [it for it in answers if "More people ask" in it.text]

        for refused in wait_until(crowd):
            assert refused.json()["code"] == "unavailable"
            assert 1 <= int(refused.headers["retry-after"]) == refused.json()["retry_after_s"] <= 300
        late = admin.book("hot", "late")
        found = admin.ask("GET", "/v1/bookings?pool=hot&limit=500")["items"]
        assert {it["id"] for it in found} == {*held, late["id"]}
