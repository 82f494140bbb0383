"""The same key and the same body get the same answer, whatever happens in between and wherever one asks."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2 as httpx
import pytest

from fairhold.http.service import operations_of
from fairhold.http.settings import Settings
from tests.database import asking, dialect_of
from tests.http.server import Client, Server, make_key, serving
from tests.patience import PATIENCE_S


def keyed(key: str) -> dict[str, Any]:
    return {"headers": {"Idempotency-Key": key}}


@pytest.mark.guarantee(
    "reused-key.other-body",
    "The same key with another quantity is refused as `idempotency_mismatch`, and one booking is there.",
)
def test_the_same_key_and_body_is_one_booking_and_one_answer(admin: Client) -> None:
    admin.pool("once", 5, "checkout")
    path = "/v1/pools/once/bookings"
    first = admin.ask("POST", path, {"party": "ann"}, expect=201, **keyed("k1"))
    admin.advance(60)
    assert admin.ask("POST", path, {"party": "ann"}, expect=201, **keyed("k1")) == first
    refused = admin.ask("POST", path, {"party": "ann", "quantity": 2}, expect=422, **keyed("k1"))
    assert refused["code"] == "idempotency_mismatch"
    assert admin.ask("GET", "/v1/bookings?pool=once")["next"] is None
    assert len(admin.ask("GET", "/v1/bookings?pool=once")["items"]) == 1


def test_a_refusal_is_remembered_too(admin: Client) -> None:
    admin.pool("no-room", 0, "checkout")
    path = "/v1/pools/no-room/bookings"
    first = admin.ask("POST", path, {"party": "ann"}, expect=409, **keyed("k2"))
    admin.ask("PATCH", "/v1/pools/no-room", {"sizes": {"main": 5}})
    assert admin.ask("POST", path, {"party": "ann"}, expect=409, **keyed("k2")) == first


def test_a_key_belongs_to_its_operation_and_its_org(admin: Client, other_org: Client) -> None:
    admin.pool("scoped", 5, "checkout")
    other_org.pool("scoped", 5, "checkout")
    mine = admin.ask("POST", "/v1/pools/scoped/bookings", {"party": "ann"}, expect=201, **keyed("k3"))
    theirs = other_org.ask("POST", "/v1/pools/scoped/bookings", {"party": "ann"}, expect=201, **keyed("k3"))
    assert mine["id"] != theirs["id"]
    assert admin.ask("POST", f"/v1/bookings/{mine['id']}/confirm", **keyed("k3"))["state"] == "confirmed"
    assert admin.ask("POST", f"/v1/bookings/{mine['id']}/cancel", **keyed("k3"))["state"] == "cancelled"
    bea = admin.book("scoped", "bea")
    problem = admin.ask("POST", f"/v1/bookings/{bea['id']}/cancel", expect=422, **keyed("k3"))
    assert problem["code"] == "idempotency_mismatch"


def test_every_operation_that_posts_takes_a_key(module_url: str) -> None:
    """Those that keep the answer with the change; moving the test clock keeps its own."""
    posts = [
        it for it in operations_of(Settings(database=module_url, test_clock=True)) if it.method == "POST"
    ]
    assert len(posts) > 10
    assert [it.path for it in posts if not it.idempotent] == []


EVERY_POST = {
    "/v1/pools": {"key": "made-once", "quotas": [{"key": "main", "units": []}]},
    "/v1/pools/made-once/units": {"units": ["a", "b"]},
    "/v1/pools/made-once/fill": {},
}


def test_every_post_of_staff_takes_a_key(admin: Client) -> None:
    for path, body in EVERY_POST.items():
        first = admin.post(path, json=body, headers={"Idempotency-Key": "every"})
        again = admin.post(path, json=body, headers={"Idempotency-Key": "every"})
        assert (first.status_code, first.json()) == (again.status_code, again.json())
        assert first.status_code < 300
    admin.pool("moves", 0)
    ann, bea = admin.book("moves", "ann"), admin.book("moves", "bea")
    path = f"/v1/bookings/{bea['id']}/move"
    assert admin.ask("POST", path, {"to": "front"}, **keyed("m"))["position"] == 1
    admin.ask("POST", f"/v1/bookings/{ann['id']}/move", {"to": "front"})
    assert admin.ask("POST", path, {"to": "front"}, **keyed("m"))["position"] == 1
    assert admin.booking(bea["id"])["position"] == 2


def test_the_clock_is_moved_once_by_one_key(admin: Client) -> None:
    first = admin.ask("POST", "/v1/clock", {"advance_s": 60}, **keyed("tick"))
    assert admin.ask("POST", "/v1/clock", {"advance_s": 60}, **keyed("tick")) == first
    assert admin.ask("GET", "/v1/clock") == first
    assert admin.ask("POST", "/v1/clock", {"advance_s": 61}, expect=422, **keyed("tick"))
    for wrong in (
        {},
        {"advance_s": 1, "now": first["now"]},
        {"advance_s": -1},
        {"now": "2001-01-01T00:00:00Z"},
    ):
        assert admin.ask("POST", "/v1/clock", wrong, expect=422)["code"] == "invalid"


@pytest.mark.parametrize("key", ["", "x" * 201, "tab\there", "ümlaut"])
def test_a_key_that_is_none_is_refused(admin: Client, key: str) -> None:
    raw = [(b"Idempotency-Key", key.encode())]
    headers = [*admin.headers.raw, *raw]
    answer = admin.post("/v1/pools/any/bookings", json={"party": "ann"}, headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")


@pytest.mark.guarantee(
    "retries.with-keys",
    "Thirty at once with one key: one booking, and the others get it too or hear that it is under way.",
)
async def test_twins_at_once_are_done_once(server: Server, admin: Client) -> None:
    """Of many at once with one key each gets the same booking, or is told that its twin is under way."""
    admin.pool("twins", 50, "checkout")
    headers = {**dict(admin.headers), "Idempotency-Key": "twins"}
    options: dict[str, Any] = {"headers": headers, "timeout": PATIENCE_S, "verify": False}
    async with httpx.AsyncClient(base_url=server.base, **options) as client:
        asked = [client.post("/v1/pools/twins/bookings", json={"party": "ann"}) for _ in range(30)]
        answers = await asyncio.gather(*asked)
    refused = {answer.json()["code"] for answer in answers if answer.status_code == 409}
    assert refused <= {"idempotency_in_flight"}
    made = [answer.json()["id"] for answer in answers if answer.status_code != 409]
    assert len(set(made)) == 1
    assert len(admin.ask("GET", "/v1/bookings?pool=twins")["items"]) == 1


@pytest.mark.guarantee(
    "reused-key.in-flight",
    "While the first waits for a locked pool, its twin is told 409 at once; then both have the same booking.",
)
async def test_a_twin_that_is_still_under_way_is_told_of(server: Server, admin: Client) -> None:
    """While somebody outside holds the pool, the first request waits, and the second is not made to."""
    admin.pool("held-up", 50, "checkout")
    headers = {**dict(admin.headers), "Idempotency-Key": "held-up"}
    path, body = "/v1/pools/held-up/bookings", {"party": "ann"}
    async with (
        asking(server.url) as outside,
        httpx.AsyncClient(base_url=server.base, verify=False, headers=headers, timeout=PATIENCE_S) as client,
    ):
        if dialect_of(server.url) == "sqlite":
            await outside("BEGIN IMMEDIATE")
        else:
            await outside("BEGIN")
            await outside("SELECT id FROM fairhold_pools WHERE key = 'held-up' FOR UPDATE")
        # Whichever comes second is told at once; the first has to wait.
        twins = [asyncio.create_task(client.post(path, json=body)) for _ in range(2)]
        (second,), (first,) = await asyncio.wait(twins, return_when=asyncio.FIRST_COMPLETED)
        refused = second.result()
        assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_in_flight")
        assert refused.headers["retry-after"] == "1"
        await outside("ROLLBACK")
        made = await first
        assert made.status_code == 201
        assert (await client.post(path, json=body)).json() == made.json()


@pytest.mark.guarantee(
    "killed.retry",
    "After a kill, another process gives the same key the very same answer.",
)
def test_the_answer_is_the_same_after_a_crash_and_on_another_node(database_url: str) -> None:
    key = make_key(database_url)
    with serving(database_url) as first, first.client(key) as client:
        client.pool("crash", 5, "checkout")
        made = client.ask("POST", "/v1/pools/crash/bookings", {"party": "ann"}, expect=201, **keyed("c"))
        first.kill()
    with serving(database_url) as second, second.client(key) as client:
        again = client.ask("POST", "/v1/pools/crash/bookings", {"party": "ann"}, expect=201, **keyed("c"))
        assert again == made
        assert second.stop() == 0


@pytest.mark.guarantee(
    "killed.whole",
    "Killed with -9 while 400 people book, it leaves whole bookings: everybody whom it answered has "
    "just that one.",
)
@pytest.mark.guarantee(
    "killed.retry",
    "All 400 ask another process again with the same keys; nobody has two, and no answer is another.",
)
async def test_whoever_a_crash_has_cut_off_asks_again_and_is_served_once(database_url: str) -> None:
    """The process is killed under fire. Asked again at another, nobody gets two, and no answer is another."""
    key, path = await asyncio.to_thread(make_key, database_url), "/v1/pools/crowd/bookings"
    answered: dict[str, Any] = {}
    cut_off: set[str] = set()

    async def ask(client: httpx.AsyncClient, party: str) -> None:
        headers = {"Idempotency-Key": party}
        try:
            answer = await client.post(path, json={"party": party}, headers=headers)
        except httpx.TransportError:
            cut_off.add(party)
            return
        assert answer.status_code == 201, answer.text
        assert answered.setdefault(party, answer.json()) == answer.json()
        if len(answered) == 100 and not killed.is_set():
            killed.set()
            first.kill()

    parties = [f"party-{n}" for n in range(400)]
    killed = asyncio.Event()
    options: dict[str, Any] = {"headers": {"Authorization": f"Bearer {key}"}, "timeout": 60}
    with serving(database_url) as first:
        with first.client(key) as client:
            client.pool("crowd", None, "checkout")
        async with httpx.AsyncClient(verify=False, base_url=first.base, **options) as many:
            await asyncio.gather(*(ask(many, party) for party in parties))
    assert len(answered) >= 100
    assert cut_off
    with serving(database_url) as second:
        async with httpx.AsyncClient(verify=False, base_url=second.base, **options) as many:
            await asyncio.gather(*(ask(many, party) for party in parties))
        with second.client(key) as client:
            made = client.ask("GET", "/v1/bookings?pool=crowd&limit=500")["items"]
    assert sorted(booking["party"]["id"] for booking in made) == sorted(parties)
    assert {booking["id"] for booking in made} == {answer["id"] for answer in answered.values()}
