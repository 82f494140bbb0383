"""Streams of pages: they say when there is something new to see, and nothing else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Generator
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.http.server import Client, Server, make_key, serving
from tests.pages.visitor import Visitor
from tests.patience import until


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
        visitor.submit(f"{there}/claim", {"name": "Ann", "email": "ann@example.org"})
        assert next(news) != before


def test_only_so_many_can_watch_from_one_address_and_staff_still_can(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/watch.db"
    key = make_key(url)
    limits = {"fairhold_page_streams_per_address_max": "1", "fairhold_streams_max": "1"}
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
        assert refused.headers["retry-after"] == "30"
        with admin.stream("GET", "/v1/stream") as staff:
            assert staff.status_code == 200
            staff_news = staff.iter_lines()
            next(staff_news)
            refused = admin.get("/v1/stream")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
            staff_news.close()  # type: ignore[attr-defined]
        news.close()


@pytest.mark.parametrize(("path", "kind"), [("/p/few/stream", "sqlite"), ("/v1/stream", "postgres")])
def test_no_more_can_watch_when_all_ask_at_once(path: str, kind: str, request: pytest.FixtureRequest) -> None:
    """They are let in before the first of them is counted: then it is counted once more."""
    url = request.getfixturevalue(f"{kind}_url")
    key = make_key(url)
    limits = {"fairhold_page_streams_per_address_max": "1", "fairhold_streams_max": "1"}
    with serving(url, **limits) as server, server.client(key) as admin:
        admin.pool("few", 5)
        asked = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n"
        ended = asyncio.run(_all_but_one(server.port, asked.encode()))
    assert not [answer for answer in ended if b"event: " in answer]


async def _all_but_one(port: int, asked: bytes, many: int = 30) -> list[bytes]:
    """What those are told whose streams end."""
    links = [await asyncio.open_connection("127.0.0.1", port) for _ in range(many)]
    for _, writer in links:
        writer.write(asked)
    tasks = [asyncio.create_task(reader.read()) for reader, _ in links]
    await until(lambda: sum(task.done() for task in tasks) == many - 1)
    ended = [task.result() for task in tasks if task.done()]
    for _, writer in links:
        writer.close()
    await asyncio.gather(*tasks, return_exceptions=True)
    return ended
