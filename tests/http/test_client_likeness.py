"""The client is like the library: the same forms of what is said, and answers that are used the same way."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2 as httpx
import msgspec
import pytest

from holdfast import granted
from holdfast.client import Client, ClientError
from holdfast.errors import HoldfastError
from holdfast.http.operations import Page
from tests.http.server import Client as Admin
from tests.http.server import Server
from tests.http.test_client import key_of


def test_whoever_catches_what_the_library_raises_catches_what_the_client_does() -> None:
    assert issubclass(ClientError, HoldfastError)


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
