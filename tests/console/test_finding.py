"""Somebody calls: staff find them by what they say, in all pools or in one."""

from __future__ import annotations

from tests.console.desk import Desk
from tests.console.stage import yoga
from tests.http.server import Client
from tests.pages.visitor import plain


def test_a_booking_is_found_by_its_reference(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=1, waiting=0)
    (made,) = admin.ask("GET", f"/v1/bookings?pool={key}")["items"]
    said = f"{made['reference'][:3].lower()} {made['reference'][3:]}"
    answer = sam.get("/console/find", params={"q": said})
    assert answer.headers["location"] == f"/console/bookings/{made['id']}"


def test_people_are_found_by_name_e_mail_phone_and_id_everywhere_or_in_a_pool(
    sam: Desk, admin: Client
) -> None:
    first, second = yoga(admin, size=1, waiting=0), yoga(admin, size=2, waiting=0, title="Sunday yoga")
    zoe = {"id": "member-77", "name": "Zoë Zett", "contacts": {"email": "zett@example.org"}}
    here = admin.book(first, zoe | {"contacts": {"phone": "+358 40 555 0123"}})
    there = admin.book(second, zoe)
    for said in ("zoë", "ZETT zo", "member-77"):
        text = sam.look("/console/find", params={"q": said})
        assert here["id"] in text
        assert there["id"] in text
        assert "2 bookings" in plain(text)
    assert here["id"] in sam.look("/console/find", params={"q": "0405550123"})
    assert there["id"] in sam.look("/console/find", params={"q": "zett@ex"})
    pool = admin.ask("GET", f"/v1/pools/{second}")["id"]
    text = sam.look(f"/console/pools/{pool}/bookings", params={"q": "zoë"})
    assert there["id"] in text
    assert here["id"] not in text
    assert there["id"] not in sam.look(f"/console/pools/{pool}/bookings?q=zett&state=cancelled")


def test_who_is_not_there_is_not_found_and_nothing_is_asked_of_nothing(sam: Desk, rita: Desk) -> None:
    assert "Nobody fits “No &lt;b&gt; body”" in sam.look("/console/find", params={"q": "No <b> body"})
    assert "Nobody fits" not in rita.look("/console/find")
    assert "Nobody fits" not in rita.look("/console/find?q=%20")


def test_a_search_over_http(admin: Client) -> None:
    key = yoga(admin, size=1, waiting=0)
    made = admin.book(key, {"id": "m-1", "name": "Yrjö Äär"})
    (found,) = admin.ask("GET", f"/v1/bookings?search=ÄÄR&pool={key}")["items"]
    assert found["id"] == made["id"]
    assert admin.ask("GET", "/v1/bookings?search=%C3%A4%C3%A4r&limit=1")["next"] is None
    for wrong, field in (
        ("search=", "search"),
        ("search=x&state=held", "state"),
        ("search=x&party=y", "party"),
    ):
        assert admin.ask("GET", f"/v1/bookings?{wrong}", expect=422)["field"] == field
