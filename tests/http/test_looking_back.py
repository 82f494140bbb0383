"""What happened in a pool and what it adds up to, over HTTP."""

from __future__ import annotations

from typing import Any

from tests.http.server import Client


def events(found: Any) -> list[str]:
    return [it["event"] for it in found["items"]]


def test_what_happened_is_told_from_its_end(admin: Client, reader: Client) -> None:
    units = [{"key": "main", "units": ["a", "b"]}]
    admin.ask("POST", "/v1/pools", {"key": "told", "preset": "last_minute", "quotas": units}, expect=201)
    olga = admin.book("told", "olga", units=["a"])
    admin.book("told", "bea", units=["b"])
    ann = admin.book("told", {"id": "ann", "name": "Ann"})
    admin.ask("POST", f"/v1/bookings/{olga['id']}/cancel", {"as_staff": True, "why": "ill"})
    path = "/v1/pools/told/history"
    whole = reader.ask("GET", f"{path}?limit=500")
    log = reader.ask("GET", "/v1/pools/told/log?limit=500")["items"]
    assert whole == {"items": log[::-1], "next": None}
    # Page by page it is the same.
    seen, cursor = list[Any](), ""
    while cursor is not None:
        some = reader.ask("GET", f"{path}?limit=2&cursor={cursor}")
        seen, cursor = seen + some["items"], some["next"]
    assert seen == whole["items"]
    assert events(reader.ask("GET", f"{path}?topic=offers")) == ["Offered"]
    assert events(reader.ask("GET", f"{path}?actor=staff"))[0] == "Cancelled"
    of_a = reader.ask("GET", f"{path}?unit=a")["items"]
    assert {it["booking"] for it in of_a if it["booking"]} == {olga["id"], ann["id"]}
    numbers = ("limit=0", "limit=501", "limit=1&limit=2", "cursor=-1", "cursor=x")
    for wrong in ("topic=all", "actor=eve", "unit=", "x=1", *numbers):
        assert reader.ask("GET", f"{path}?{wrong}", expect=422)["code"] == "invalid"
    assert reader.ask("GET", "/v1/pools/nowhere/history", expect=404)["code"] == "unknown"


def test_what_it_adds_up_to(admin: Client, reader: Client) -> None:
    admin.pool("summed", 1)
    olga, ann = admin.book("summed", "olga"), admin.book("summed", "ann")
    admin.act(olga["id"], "cancel")
    admin.ask("POST", f"/v1/offers/{admin.booking(ann['id'])['offer']['token']}/claim")
    found = reader.ask("GET", "/v1/pools/summed/numbers?days=2")
    assert (found["capacity"], found["outcomes"]["claimed"]) == (1, 1)
    assert (found["points"][-1]["used"], found["points"][-1]["waiting"]) == (1, 0)
    assert found["until"].endswith("Z")
    assert len(found["hours"]) == 24
    for wrong in ("days=0", "days=367", "days=x", "day=1"):
        reader.ask("GET", f"/v1/pools/summed/numbers?{wrong}", expect=422)
    assert reader.ask("GET", "/v1/pools/nowhere/numbers", expect=404)["code"] == "unknown"
