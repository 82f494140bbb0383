"""Streams of pages: they say when there is something new to see, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import httpx2 as httpx

from tests.http.server import Client, Server, make_key, serving
from tests.pages.visitor import Visitor


def told(answer: httpx.Response) -> Generator[str, None, None]:
    for line in answer.iter_lines():
        if line.startswith("data: "):
            yield line.removeprefix("data: ")


def seen(page: str) -> str:
    found = re.search(r'data-seen="([0-9a-f]+)"', page)
    assert found
    return found[1]


def test_a_stream_tells_when_a_position_changes(admin: Client, visitor: Visitor) -> None:
    admin.pool("watched", 1)
    admin.book("watched", "olga")
    ann, bea = (admin.book("watched", name) for name in ("ann", "bea"))
    there = f"/b/{bea['edit_token']}"
    before = seen(visitor.look(there))
    with visitor.stream("GET", f"{there}/stream") as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        news = told(answer)
        assert next(news) == before
        admin.act(ann["id"], "cancel")
        after = next(news)
        assert after != before
        assert after == seen(visitor.look(there))


def test_a_stream_of_a_pool_tells_when_something_is_taken(admin: Client, visitor: Visitor) -> None:
    admin.pool("crowd", 5)
    before = seen(visitor.look("/p/crowd"))
    with visitor.stream("GET", "/p/crowd/stream") as answer:
        news = told(answer)
        assert next(news) == before
        admin.book("crowd", "ann")
        assert next(news) == seen(visitor.look("/p/crowd")) != before


def test_a_stream_of_an_offer_tells_when_it_is_over(admin: Client, visitor: Visitor) -> None:
    admin.pool("tempting", 1)
    olga, ann = (admin.book("tempting", name) for name in ("olga", "ann"))
    admin.act(olga["id"], "cancel")
    there = f"/o/{admin.booking(ann['id'])['offer']['token']}"
    with visitor.stream("GET", f"{there}/stream") as answer:
        news = told(answer)
        before = next(news)
        visitor.submit(f"{there}/claim")
        assert next(news) != before


def test_only_so_many_can_watch_from_one_address_and_staff_still_can(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/watch.db"
    key = make_key(url)
    limits = {"holdfast_page_streams_per_address_max": "1", "holdfast_streams_max": "1"}
    with serving(url, **limits) as server, server.client(key) as admin:
        admin.pool("few", 5)
        with Visitor(base_url=server.base) as visitor:
            _only_one(server, admin, visitor)


def _only_one(server: Server, admin: Client, visitor: Visitor) -> None:
    with visitor.stream("GET", "/p/few/stream") as first:
        # Kept: to let go of it would end the stream.
        news = told(first)
        next(news)
        refused = visitor.get("/p/few/stream")
        assert refused.status_code == 429
        with admin.stream("GET", "/v1/stream") as staff:
            assert staff.status_code == 200
        news.close()
