"""Who may do what: looking is for every role, acting for staff, and another org sees nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.desk import Desk
from tests.console.stage import gala, salon, yoga
from tests.http.server import Client
from tests.pages.test_manners import elsewhere, inline
from tests.pages.visitor import heading, plain

FOR_STAFF = ("/add", "/edit", "/status?to=paused", "/csv/bookings.csv")


@pytest.fixture(scope="module")
def there(admin: Client) -> dict[str, Any]:
    """A pool of each kind, and a booking in each state."""
    keys = [yoga(admin), gala(admin), salon(admin)]
    pools = [admin.ask("GET", f"/v1/pools/{key}")["id"] for key in keys]
    items = admin.ask("GET", f"/v1/bookings?pool={keys[0]}")["items"]
    return {"pools": pools, "bookings": {it["state"]: it["id"] for it in items}}


def pages_of(there: dict[str, Any]) -> list[str]:
    found = ["/console/pools", "/console/needs"]
    for pool in there["pools"]:
        found += [f"/console/pools/{pool}{tab}" for tab in ("", "/bookings", "/messages", "/csv", "/list")]
    return found + [f"/console/bookings/{booking}" for booking in there["bookings"].values()]


def acts_of(there: dict[str, Any]) -> list[str]:
    pool, booking = there["pools"][0], there["bookings"]["waiting"]
    acts = [f"/console/bookings/{booking}/{act}" for act in ("confirm", "extend", "cancel", "offer", "move")]
    acts += [f"/console/bookings/{booking}/{act}" for act in ("yes", "no", "put-back", "details")]
    acts += [f"/console/bookings/{booking}/{act}" for act in ("tell", "tell-no-more")]
    acts += [
        f"/console/pools/{pool}/{act}"
        for act in ("add", "edit", "status", "csv", "units", "unit", "openings/1")
    ]
    return [*acts, f"/console/messages/{pool}-1-0/replay"]


def test_who_may_only_look_sees_no_buttons_and_no_links_that_act(rita: Desk, there: dict[str, Any]) -> None:
    for path in pages_of(there):
        page = rita.look(path)
        assert rita.actions(path) == ["/console/sign-out"], path
        assert "/edit" not in page
        assert "/add" not in page
    for pool in there["pools"]:
        for path in FOR_STAFF:
            assert rita.get(f"/console/pools/{pool}{path}").status_code == 403
    assert rita.get("/console/pools/new").status_code == 403


def test_who_may_only_look_is_refused_all_the_same(rita: Desk, sam: Desk, admin: Client, there: Any) -> None:
    token = rita.csrf()
    before = admin.ask("GET", f"/v1/pools/{there['pools'][0]}/log")["items"]
    for action in [*acts_of(there), "/console/pools/new"]:
        page = rita.submit(action, {"csrf": token}, expect=403)
        assert heading(page) == "That is not for you to do"
    assert admin.ask("GET", f"/v1/pools/{there['pools'][0]}/log")["items"] == before
    # The control: staff have these buttons.
    assert len(sam.actions(f"/console/pools/{there['pools'][0]}")) > 5


@pytest.mark.guarantee("other-org.nothing", "The same for every page and button of the console.")
def test_another_org_sees_and_does_nothing(otto: Desk, admin: Client, there: dict[str, Any]) -> None:
    assert "No pool runs at the moment" in plain(otto.look("/console/pools"))
    for path in pages_of(there)[2:]:
        assert otto.get(path).status_code == 404, path
    pool = there["pools"][0]
    before = admin.ask("GET", f"/v1/pools/{pool}/log")["items"]
    token = otto.csrf()
    for path in FOR_STAFF:
        assert otto.get(f"/console/pools/{pool}{path}").status_code == 404
    for action in acts_of(there):
        answer = otto.post(
            action, data={"csrf": token, "why": "x"}, headers={"sec-fetch-site": "same-origin"}
        )
        told = answer.headers.get("location", "")
        assert answer.status_code == 404 or told.endswith("told=unknown"), action
    assert admin.ask("GET", f"/v1/pools/{pool}/log")["items"] == before
    assert otto.get(f"/console/pools/new?copy={pool}").status_code == 404
    reference = admin.booking(there["bookings"]["waiting"])["reference"]
    answer = otto.get(f"/console/find?q={reference}")
    assert "Nobody fits" in answer.text


@pytest.mark.guarantee(
    "forged-post.refused",
    "Every button of the console, without the token or from another site: 403, and the log is as before.",
)
def test_an_act_without_the_token_or_from_elsewhere_does_nothing(
    sam: Desk, admin: Client, there: dict[str, Any]
) -> None:
    before = admin.ask("GET", f"/v1/pools/{there['pools'][0]}/log")["items"]
    token = sam.csrf()
    for action in acts_of(there):
        sam.submit(action, {}, expect=403)
        headers = {"sec-fetch-site": "cross-site"}
        assert sam.post(action, data={"csrf": token}, headers=headers).status_code == 403
    assert admin.ask("GET", f"/v1/pools/{there['pools'][0]}/log")["items"] == before


@pytest.mark.guarantee(
    "mail-scanner.looking",
    "Every page and every address that acts in the console, asked by GET and HEAD: the logs are as before.",
)
def test_looking_changes_nothing(sam: Desk, admin: Client, there: dict[str, Any]) -> None:
    pools = there["pools"]
    before = [admin.ask("GET", f"/v1/pools/{pool}/log")["items"] for pool in pools]
    looked = [*pages_of(there), *acts_of(there), "/console/pools/new?preset=checkout"]
    looked += [f"/console/pools/{pool}{path}" for pool in pools for path in FOR_STAFF]
    for path in looked:
        for method in ("GET", "HEAD"):
            assert sam.request(method, path).status_code in (200, 303), path
    assert [admin.ask("GET", f"/v1/pools/{pool}/log")["items"] for pool in pools] == before


def test_every_page_keeps_to_itself(sam: Desk, there: dict[str, Any]) -> None:
    for path in [*pages_of(there), "/console/pools/new", "/console/pools/new?preset=last_minute"]:
        answer = sam.get(path)
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert inline(answer.text) == [], path
        # Whoever has a link of these acts as the party: staff act as themselves.
        assert "/b/" not in answer.text
        assert "/o/" not in answer.text
        assert elsewhere(answer.text) == [], path


@pytest.mark.guarantee("names.escaped", "The same in every place of the console.")
def test_what_people_write_is_never_markup(sam: Desk, admin: Client) -> None:
    evil = "<script>alert(1)</script>\"'"
    pool = admin.pool("evil-desk", 1, title=evil, attributes={"location": evil})
    admin.book("evil-desk", {"id": "x1", "name": evil, "contacts": {"email": evil}})
    waiting = admin.book("evil-desk", {"id": "x2", "name": evil, "tags": [evil]})
    paths = [f"/console/pools/{pool['id']}{tab}" for tab in ("", "/bookings", "/messages", "/list", "/edit")]
    for path in [*paths, f"/console/bookings/{waiting['id']}", "/console/pools?told=<script>"]:
        assert "<script>" not in sam.look(path)
