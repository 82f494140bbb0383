"""The client is like the library: the same forms of what is said, and answers that are used the same way."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx2 as httpx
import msgspec
import pytest

from fairhold import Outcome, Refusal, granted
from fairhold.client import AsyncClient, Client, ClientError
from fairhold.errors import FairholdError
from fairhold.http.operations import Page
from tests.http.server import Client as Admin
from tests.http.server import Server
from tests.http.test_client import key_of


def test_whoever_catches_what_the_library_raises_catches_what_the_client_does() -> None:
    assert issubclass(ClientError, FairholdError)


def sent(ask: Callable[[Client], object]) -> Any:
    """The body that goes out."""
    heard: list[Any] = []

    def hear(request: httpx.Request) -> httpx.Response:
        heard.append(json.loads(request.content))
        return httpx.Response(404, json={"code": "unknown"})

    ask(Client("http://service.invalid", transport=httpx.MockTransport(hear)))
    return heard[0]


@pytest.mark.parametrize(
    ("quotas", "listed"),
    [
        ({"main": 1, "rest": None}, [{"key": "main", "size": 1}, {"key": "rest", "size": None}]),
        ({"slots": ["A", "B"]}, [{"key": "slots", "units": ["A", "B"]}]),
        ({"slots": ("A", {"label": "B"})}, [{"key": "slots", "units": ["A", {"label": "B"}]}]),
        ([{"key": "main", "size": 1}], [{"key": "main", "size": 1}]),
    ],
)
def test_quotas_are_said_in_the_forms_of_the_library(quotas: Any, listed: Any) -> None:
    assert sent(lambda hf: hf.create_pool("p", quotas=quotas))["quotas"] == listed
    assert sent(lambda hf: hf.change_pool("p", quotas=quotas))["quotas"] == listed


def test_a_page_is_a_sequence_of_what_it_holds() -> None:
    page = Page(["Ann", "Bea", "Cyd"], "3")
    assert [*page] == page.items
    assert (len(page), page[0], page[-1], page[1:]) == (3, "Ann", "Cyd", ["Bea", "Cyd"])
    assert "Bea" in page
    assert [*reversed(page)] == ["Cyd", "Bea", "Ann"]
    assert page
    assert not Page([])
    assert msgspec.json.encode(page) == b'{"items":["Ann","Bea","Cyd"],"next":"3"}'
    with pytest.raises(IndexError):
        page[3]


def test_lists_are_walked_through_as_those_of_the_library(server: Server, admin: Admin) -> None:
    with Client(server.base, key_of(admin)) as hf:
        pool = granted(hf.create_pool("chairs", preset="class_waitlist", quotas={"slots": ["A"]}))
        assert (pool.quotas[0].by_units, pool.quotas[0].room) == (True, 1)
        ann, bea = (granted(hf.book("chairs", party)) for party in ("ann", "bea"))
        assert [step.code for step in granted(hf.explain(ann.id))] == ["held"]
        assert granted(hf.line("chairs"))[0].id == bea.id
        assert len(granted(hf.bookings("chairs"))) == 2
        assert not granted(hf.openings("chairs"))


def test_time_is_moved_as_in_the_library(server: Server, admin: Admin) -> None:
    with Client(server.base, key_of(admin)) as hf:
        granted(hf.create_pool("short", preset="class_waitlist", quotas={"main": 1}))
        ann = granted(hf.book("short", "ann"))
        before = granted(hf.clock()).now
        assert granted(hf.advance(seconds=15 * 60)).now == before + timedelta(minutes=15)
        assert granted(hf.booking(ann.id)).state == "expired"
        later = before + timedelta(hours=1)
        assert granted(hf.advance(later)).now == later
        assert granted(hf.advance(later.isoformat())).now == later
        for answer in (hf.advance(before), hf.advance(later, seconds=5), hf.advance(seconds=-1)):
            assert isinstance(answer, Refusal)
            assert answer.code == "invalid"


def test_a_dry_run_is_asked_for_as_of_the_library(server: Server, admin: Admin) -> None:
    with Client(server.base, key_of(admin)) as hf:
        granted(hf.create_pool("tried", preset="class_waitlist", quotas={"main": 1}))
        ann, bea = (granted(hf.book("tried", party)) for party in ("ann", "bea"))
        would = granted(hf.dry_run(lambda hf: hf.cancel(ann.id)))
        assert isinstance(would, Outcome)
        assert [event["event"] for event in would.events] == ["Cancelled", "OpeningStarted", "Offered"]
        assert would.messages[1]["booking"] == bea.id
        assert granted(hf.booking(ann.id)).state == "held"
        asked: list[Callable[[Client], object]] = [
            lambda hf: hf.create_pool("another", quotas={"main": 1}),
            lambda hf: hf.change_pool("tried", title="T"),
            lambda hf: hf.add_units("tried", ["A"]),
            lambda hf: hf.fill("tried"),
            lambda hf: hf.book("tried", "cyd"),
            lambda hf: hf.change_booking(ann.id, name="Ann"),
            lambda hf: hf.confirm(ann.id),
            lambda hf: hf.extend(ann.id),
            lambda hf: hf.move(bea.id),
            lambda hf: hf.offer(bea.id),
            lambda hf: hf.decline(bea.id),
            lambda hf: hf.put_back(ann.id),
        ]
        before = granted(hf.log("tried"))
        assert all(isinstance(hf.dry_run(ask), Outcome) for ask in asked)
        assert granted(hf.dry_run(lambda hf: hf.import_csv("tried", "party_id\ndan\n"))).dry_run  # type: ignore[attr-defined]
        assert granted(hf.dry_run(lambda hf: hf.erase_party("ann", cancel=True))).dry_run  # type: ignore[attr-defined]
        assert granted(hf.log("tried")) == before


def test_of_what_there_is_no_dry_run_nothing_is_changed(server: Server, admin: Admin) -> None:
    with Client(server.base, key_of(admin)) as hf:
        asked: list[Callable[[Client], object]] = [
            lambda hf: hf.create_key("read", "never"),
            lambda hf: hf.add_webhook("https://receiver.invalid/never"),
            lambda hf: hf.set_template("offer", "en", "subject", "never"),
            lambda hf: hf.advance(seconds=1),
        ]
        now = granted(hf.clock())
        for ask in asked:
            answer = hf.dry_run(ask)
            assert isinstance(answer, Refusal)
            assert (answer.code, answer.sentence) == ("not_possible", "There is no dry run of this.")
        assert granted(hf.clock()) == now
        assert "never" not in {key.name for key in granted(hf.keys())}


async def test_a_dry_run_with_an_event_loop(server: Server, admin: Admin) -> None:
    admin.pool("tried-too")
    async with AsyncClient(server.base, key_of(admin)) as hf:
        would = await hf.dry_run(lambda hf: hf.book("tried-too", "ann"))
        assert granted(would).events[0]["event"] == "Held"
        with pytest.raises(ClientError, match=r"^in a dry run, ask the client that it hands on$"):
            await hf.dry_run(lambda _: hf.book("tried-too", "ann"))
        assert not granted(await hf.bookings("tried-too"))
        assert granted(await hf.book("tried-too", "ann")).state == "held"


def test_a_dry_run_that_asks_the_client_outside_changes_nothing(server: Server, admin: Admin) -> None:
    admin.pool("tried-wrongly")
    with Client(server.base, key_of(admin)) as hf:
        with pytest.raises(ClientError, match=r"^in a dry run, ask the client that it hands on$"):
            hf.dry_run(lambda _: hf.book("tried-wrongly", "ann"))
        assert not granted(hf.bookings("tried-wrongly"))
