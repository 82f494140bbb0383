"""The console counts both sides alike: what is over, what is of the open share, what is nobody's any more."""

from __future__ import annotations

import re
from datetime import timedelta

from tests.browser.flows import new_key, now_of, person
from tests.console.desk import Desk
from tests.http.server import Client
from tests.pages.visitor import plain
from tests.patience import wait_until

HOUR = 3_600


def chairs(admin: Client, hours: tuple[int, ...]) -> str:
    """Units that start so many hours from now; the pool's key."""
    key, now = new_key("chairs"), now_of(admin)
    units = [{"label": f"in {n}", "starts_at": (now + timedelta(hours=n)).isoformat()} for n in hours]
    body = {"key": key, "title": key, "preset": "last_minute", "policy": {"tries_max": 1}}
    admin.ask("POST", "/v1/pools", body | {"quotas": [{"key": "main", "units": units}]}, expect=201)
    return key


def places(desk: Desk, key: str) -> str:
    """What the pool's page says of its places."""
    found = re.search(r'data-part="seats">(.*?)</section>', desk.look(f"/console/pools/{key}"), re.DOTALL)
    assert found
    return plain(found[1])


def row(desk: Desk, key: str) -> str:
    """What the list of pools says of one."""
    (found,) = [it for it in desk.look("/console/pools").split("<li class=") if key in it]
    return plain(found)


def test_units_that_have_started_count_on_both_sides(sam: Desk, admin: Client) -> None:
    key = chairs(admin, (1, 2, 3, 4))
    for name in ("Ann", "Bea", "Cyd"):
        made = admin.book(key, person(name))
        admin.act(made["id"], "confirm")
    assert "3 of 4" in row(sam, key)
    admin.advance(2 * HOUR + 60)
    (quota,) = admin.ask("GET", f"/v1/pools/{key}")["quotas"]
    assert (quota["used"], quota["size"], quota["room"]) == (3, 4, 1)
    for words in (row(sam, key), places(sam, key)):
        assert "3 of 4" in words
        assert "1 free" in words
        assert "set aside" not in words
        assert "open share" not in words
    # The one that nobody had is over too: it counts nowhere.
    admin.advance(2 * HOUR)
    for words in (row(sam, key), places(sam, key)):
        assert "3 of 3" in words
        assert "1 free" not in words


def test_where_all_units_are_over_there_is_nothing_to_give_out(sam: Desk, admin: Client) -> None:
    key = chairs(admin, (1,))
    admin.advance(2 * HOUR)
    for words in (row(sam, key), places(sam, key)):
        assert "Nothing to give out at the moment" in words
        assert "of 0" not in words


def test_places_of_the_open_share_are_not_counted_as_the_quotas_own(sam: Desk, admin: Client) -> None:
    key = new_key("ball")
    body = {"quotas": [{"key": "members", "size": 2}, {"key": "guests", "size": 2}], "open_size": 2}
    admin.ask("POST", "/v1/pools", {"key": key, "title": key, "preset": "event_signup"} | body, expect=201)
    for name in ("Ann", "Bea", "Cyd"):
        admin.act(admin.book(key, person(name), quota="members")["id"], "confirm")
    words = places(sam, key)
    assert "2 of 2" in words
    assert "1 in the open share" in words
    assert "3 of 2" not in words


def handed_back(admin: Client, *, wants: dict[str, object] | None = None) -> tuple[str, str]:
    """A unit that Ann did not want, or could not use; the ids of the pool and of its page."""
    key = chairs(admin, (1,))
    olga = admin.book(key, person("Olga"))
    ann = admin.book(key, person("Ann"), **({} if wants is None else {"wants": wants}))
    admin.act(olga["id"], "cancel")
    if wants is None:
        admin.act(ann["id"], "decline")
    pool = admin.ask("GET", f"/v1/pools/{key}")["id"]
    return pool, f"/console/pools/{pool}/openings/1"


def test_an_opening_that_has_begun_needs_nobody_any_more(sam: Desk, admin: Client) -> None:
    pool, path = handed_back(admin)
    assert path in sam.actions("/console/needs")
    page = sam.look("/console/needs")
    admin.advance(2 * HOUR)
    wait_until(lambda: path not in sam.actions("/console/needs"))
    assert path not in sam.actions(f"/console/pools/{pool}")
    # Who still has the page open is told that nothing was changed.
    there = sam.press_on(page, path, action="again")
    assert there == "/console/needs?told=unknown"
    assert "Nothing was changed" in plain(sam.look(there))


def test_what_nobody_can_be_asked_about_is_said_to_have_come_back(sam: Desk, admin: Client) -> None:
    _, path = handed_back(admin, wants={"attributes": {"attribute": "massage", "is": True}})
    there = sam.press("/console/needs", path, action="again")
    assert there == "/console/needs?told=opening_came_back"
    assert "Nobody in line can be asked about it at the moment" in plain(sam.look(there))
