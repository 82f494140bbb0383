"""What staff do about a booking, each by its button, and what the log says of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.flows import person
from tests.console.desk import Desk
from tests.console.stage import salon, yoga
from tests.http.server import Client
from tests.pages.visitor import heading, plain


def people(admin: Client, key: str) -> dict[str, Any]:
    """The newest booking of each, by name."""
    return {it["party"]["name"]: it for it in admin.ask("GET", f"/v1/bookings?pool={key}")["items"]}


def line(admin: Client, key: str) -> list[str]:
    return [it["party"]["name"] for it in admin.ask("GET", f"/v1/pools/{key}/line")["items"]]


def last(admin: Client, key: str, event: str) -> Any:
    log = admin.ask("GET", f"/v1/pools/{key}/log?limit=500")["items"]
    return [it for it in log if it["event"] == event][-1]


def press(desk: Desk, booking: Any, act: str, **fields: str) -> str:
    there = f"/console/bookings/{booking['id']}"
    return desk.press(there, f"{there}/{act}", **fields)


def test_a_hold_is_extended_and_confirmed(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=1, waiting=0)
    ann = people(admin, key)["Ann"]
    told = press(sam, ann, "extend", minutes="30")
    assert told == f"/console/bookings/{ann['id']}?told=extended"
    assert admin.booking(ann["id"])["seconds_left"] == 45 * 60
    assert "There is more time now" in sam.look(told)
    assert press(sam, ann, "confirm").endswith("told=confirmed")
    assert admin.booking(ann["id"])["state"] == "confirmed"
    assert last(admin, key, "Confirmed")["by"] == "staff:Sam"


def test_a_booking_is_cancelled_with_a_reason_and_the_place_goes_on(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=2, waiting=1)
    ann = people(admin, key)["Ann"]
    press(sam, ann, "cancel", why="asked by phone")
    assert admin.booking(ann["id"])["state"] == "cancelled"
    assert last(admin, key, "Cancelled")["facts"]["why"] == "asked by phone"
    assert people(admin, key)["Cyd"]["state"] == "offered"


def test_an_offer_is_answered_at_the_desk(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=2, waiting=2)
    cyd, dee = (people(admin, key)[name] for name in ("Cyd", "Dee"))
    assert cyd["state"] == "offered"
    press(sam, cyd, "no")
    assert people(admin, key)["Dee"]["state"] == "offered"
    press(sam, dee, "yes")
    assert people(admin, key)["Dee"]["state"] == "confirmed"
    assert last(admin, key, "Claimed")["by"] == "staff:Sam"
    token = {"csrf": sam.csrf()}
    assert sam.submit(f"/console/bookings/{dee['id']}/yes", token).endswith("told=offer_answered")


@pytest.mark.guarantee("unpaid.staff", "Sam of staff confirms at the desk what somebody in line has claimed.")
def test_where_staff_confirm_a_yes_is_held_until_they_do(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=2, waiting=2, policy={"confirm_by": "staff"})
    cyd = people(admin, key)["Cyd"]
    there = press(sam, cyd, "yes")
    assert there.endswith("told=claimed_held")
    words = plain(sam.look(there))
    assert "The place is held for them until it is confirmed." in words
    assert people(admin, key)["Cyd"]["state"] == "held"
    assert press(sam, cyd, "confirm").endswith("told=confirmed")
    assert people(admin, key)["Cyd"]["state"] == "confirmed"


def test_moving_needs_a_reason_and_goes_where_it_is_told(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=1, waiting=4)
    admin.act(people(admin, key)["Bea"]["id"], "decline")
    assert line(admin, key) == ["Bea", "Dee", "Eli"]
    bea, eli = (people(admin, key)[name] for name in ("Bea", "Eli"))
    assert press(sam, eli, "move", to="front", why=" ").endswith("told=needs_reason")
    assert line(admin, key) == ["Bea", "Dee", "Eli"]
    steps = [
        (eli, "up", ["Bea", "Eli", "Dee"]),
        (eli, "up", ["Eli", "Bea", "Dee"]),
        (eli, "down", ["Bea", "Eli", "Dee"]),
        (bea, "down", ["Eli", "Bea", "Dee"]),
        (bea, "back", ["Eli", "Dee", "Bea"]),
        (eli, f"after:{bea['id']}", ["Dee", "Bea", "Eli"]),
        (bea, "front", ["Bea", "Dee", "Eli"]),
    ]
    for booking, to, expected in steps:
        assert press(sam, booking, "move", to=to, why="came early").endswith("told=moved")
        assert line(admin, key) == expected, to
    assert press(sam, eli, "move", to="down", why="x").endswith("told=not_possible")
    assert press(sam, bea, "move", to="up", why="x").endswith("told=not_possible")
    moved = last(admin, key, "Moved")
    assert (moved["by"], moved["facts"]["why"]) == ("staff:Sam", "came early")


def test_a_place_is_offered_out_of_turn(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=2, waiting=3)
    admin.ask("PATCH", f"/v1/pools/{key}", {"policy": {"offers_live_max": 1}, "sizes": {"main": 3}})
    eli = people(admin, key)["Eli"]
    assert press(sam, eli, "offer", why="regular").endswith("told=offered")
    assert people(admin, key)["Eli"]["state"] == "offered"
    assert last(admin, key, "Offered")["facts"]["why"] == "regular"
    dee = people(admin, key)["Dee"]
    assert press(sam, dee, "offer").endswith("told=not_enough_room")


def test_what_was_cancelled_by_mistake_is_put_back_where_it_was(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=1, waiting=4)
    assert line(admin, key) == ["Cyd", "Dee", "Eli"]
    dee = people(admin, key)["Dee"]
    press(sam, dee, "cancel")
    assert line(admin, key) == ["Cyd", "Eli"]
    there = f"/console/bookings/{dee['id']}"
    page = sam.look(there)
    told = sam.press_on(page, f"{there}/put-back", why="wrong row")
    assert told.endswith("told=put_back")
    assert line(admin, key) == ["Cyd", "Dee", "Eli"]
    assert people(admin, key)["Dee"]["id"] == dee["id"]
    assert last(admin, key, "PutBack")["facts"]["why"] == "wrong row"
    assert heading(sam.look(told)).startswith("Dee")
    # Pressing twice puts back once.
    assert sam.press_on(page, f"{there}/put-back", why="wrong row").endswith("told=put_back")
    assert line(admin, key) == ["Cyd", "Dee", "Eli"]


def test_details_are_corrected_at_the_desk(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=1, waiting=0)
    ann = people(admin, key)["Ann"]
    press(sam, ann, "details", name="Ann A.", email="", phone="+358 40 1234567")
    party = admin.booking(ann["id"])["party"]
    assert (party["name"], party["contacts"]) == ("Ann A.", {"phone": "+358 40 1234567"})
    there = f"/console/bookings/{ann['id']}"
    page = sam.press(there, f"{there}/details", 422, name=" ", email="nonsense")
    assert 'id="error-name"' in page
    assert 'id="error-email"' in page


def test_somebody_is_added_by_hand_once(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=2, waiting=0)
    there = f"/console/pools/{admin.ask('GET', f'/v1/pools/{key}')['id']}/add"
    page = sam.look(there)
    fields = {"name": "Zoe", "email": "zoe@example.org", "confirmed": "yes", "tags": "member, early"}
    first = sam.press_on(page, there, **fields)
    assert sam.press_on(page, there, **fields) == first
    zoe = people(admin, key)["Zoe"]
    assert (zoe["state"], zoe["position"]) == ("waiting", 1)
    assert zoe["party"]["tags"] == ["member", "early"]
    assert len(admin.ask("GET", f"/v1/bookings?pool={key}")["items"]) == 3
    page = sam.press(there, there, 422, name="")
    assert "The name is missing or too long" in plain(page)
    admin.pool("no-line", 1, "checkout")
    admin.book("no-line", person("Ann"))
    there = f"/console/pools/{admin.ask('GET', '/v1/pools/no-line')['id']}/add"
    assert "not enough room" in plain(sam.press(there, there, 409, name="Zoe"))


def aside(admin: Client, key: str) -> list[Any]:
    found = admin.ask("GET", f"/v1/pools/{key}/openings")["items"]
    return [it for it in found if it["state"] == "handed_back"]


def test_an_opening_that_came_back_is_decided_on(sam: Desk, admin: Client) -> None:
    found = {}
    for action in ("again", "free", "close", "to", "someone"):
        key = salon(admin)
        pool = admin.ask("GET", f"/v1/pools/{key}")["id"]
        (opening,) = [
            it
            for it in admin.ask("GET", f"/v1/pools/{key}/openings")["items"]
            if it["state"] == "handed_back"
        ]
        there = f"/console/pools/{pool}/openings/{opening['number']}"
        page = sam.look("/console/needs")
        assert "11:00" in plain(page)
        if action == "someone":
            add = f"/console/pools/{pool}/add"
            sam.press(f"{add}?opening={opening['number']}", add, name="Zoe", confirmed="yes")
            assert people(admin, key)["Zoe"]["units"] == ["11:00"]
        elif action == "to":
            lea = people(admin, key)["Lea"]
            sam.press_on(page, there, action="to", to=lea["id"])
            assert people(admin, key)["Lea"]["state"] == "offered"
        else:
            found[action] = sam.press_on(page, there, action=action)
        assert aside(admin, key) == [], action
    assert found["close"] == "/console/needs?told=opening_closed"


def test_a_booking_and_a_pool_lead_to_their_story(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=1, waiting=1)
    bea = people(admin, key)["Bea"]
    page = sam.look(f"/console/bookings/{bea['id']}")
    (there,) = re.findall(r'href="(/console/happened\?person=[^"]+)"', page)
    assert "Bea" in plain(sam.look(there))
    page = sam.look(f"/console/pools/{bea['pool']}")
    for section in ("happened", "numbers"):
        assert f'href="/console/{section}?pool={key}"' in page
        assert sam.get(f"/console/{section}?pool={key}").status_code == 200


def added(desk: Desk, pool: str, **fields: str) -> str:
    """Add somebody; the page that one is sent to."""
    there = f"/console/pools/{pool}/add"
    return desk.look(desk.press(there, there, **fields))


def test_who_is_added_stands_somewhere_and_staff_are_told_where(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=2, waiting=0)
    pool = admin.ask("GET", f"/v1/pools/{key}")["id"]
    page = plain(added(sam, pool, name="Zoe", confirmed="yes"))
    assert "Added to the line, as #1: nothing was free for them, or others wait." in page
    admin.ask("PATCH", f"/v1/pools/{key}", {"sizes": {"main": 9}})
    assert "Added, and confirmed." in plain(added(sam, pool, name="Yan", confirmed="yes"))
    assert "Added: a place is held for them" in plain(added(sam, pool, name="Xia", confirmed=""))


def test_staff_can_hand_on_the_link_of_a_booking_and_who_may_only_look_cannot(
    sam: Desk, rita: Desk, admin: Client
) -> None:
    key = yoga(admin, size=1, waiting=0)
    ann = people(admin, key)["Ann"]
    there = f"/console/bookings/{ann['id']}"
    page = sam.press(there, f"{there}/link", 200)
    (link,) = re.findall(r'<p class="secret-text mono" tabindex="0">([^<]+)</p>', page)
    with Desk(base_url=sam.base_url) as anybody:
        assert "Ann" in anybody.look("/b/" + link.partition("/b/")[2])
    # It is shown to who asks for it, and by no page that one only looks at.
    assert "/b/" not in sam.look(there)
    assert f"{there}/link" not in rita.actions(there)
    rita.submit(f"{there}/link", {"csrf": rita.csrf()}, expect=403)


def test_who_is_given_an_opening_is_not_said_to_join_the_line(sam: Desk, admin: Client) -> None:
    pool = admin.ask("GET", f"/v1/pools/{salon(admin)}")["id"]
    assert "they join the line" in plain(sam.look(f"/console/pools/{pool}/add"))
    page = plain(sam.look(f"/console/pools/{pool}/add?opening=1"))
    assert "Give to someone: 11:00" in page
    assert "They get it at once; the line is not asked again." in page
    assert "they join the line" not in page
