"""Pools: made from a preset, copied, changed with a look ahead, paused and called off."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from fairhold.core.policy import PRESETS
from fairhold.policy_document import as_document
from tests.console.desk import Desk, Forms
from tests.console.stage import gala, salon, yoga
from tests.http.server import Client
from tests.pages.visitor import heading, plain


def id_of(admin: Client, key: str) -> str:
    return str(admin.ask("GET", f"/v1/pools/{key}")["id"])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_pool_made_from_a_preset_has_its_policy(sam: Desk, admin: Client, preset: str) -> None:
    page = f"/console/pools/new?preset={preset}"
    title = f"Made from {preset}"
    there = sam.press(page, "/console/pools/new", title=title, **{"quota-0-size": "7"})
    assert there.endswith("?told=pool_made")
    pool = admin.ask("GET", f"/v1/pools/made-from-{preset.replace('_', '-')}")
    assert pool["policy"] == as_document(PRESETS[preset])
    # A shop has pages of its own: people sign up at ours only where that is ticked.
    assert (pool["title"], pool["quotas"][0]["size"], pool["page"]) == (title, 7, preset != "checkout")
    assert heading(sam.look(there)).startswith(title)


def test_a_shop_may_have_a_page_and_says_who_confirms_and_how_much_one_may_ask_for(
    sam: Desk, admin: Client
) -> None:
    page = sam.look("/console/pools/new?preset=checkout")
    words = plain(page)
    assert "A booking is confirmed by" in words
    assert "Where staff confirm, people get the place held" in words
    assert "Who signs up at the public page can ask for at most" in words
    assert "you and your programs book here" in words
    fields = {"page": "yes", "p-confirm_by": "party", "p-party_quantity_max": "3"}
    sam.press_on(page, "/console/pools/new", title="Ticket shop", **fields)
    pool = admin.ask("GET", "/v1/pools/ticket-shop")
    assert pool["page"] is True
    assert (pool["policy"]["confirm_by"], pool["policy"]["party_quantity_max"]) == ("party", 3)
    # What it is stays when something else is changed; empty is: staff, if it costs something.
    there = f"/console/pools/{pool['id']}"
    sam.press(f"{there}/edit", f"{there}/edit", act="save", title="Tickets")
    pool = admin.ask("GET", "/v1/pools/ticket-shop")
    assert (pool["title"], pool["page"], pool["policy"]["confirm_by"]) == ("Tickets", True, "party")
    for said, kept in (("staff", "staff"), ("", None)):
        sam.press(f"{there}/edit", f"{there}/edit", act="save", **{"p-confirm_by": said})
        assert admin.ask("GET", "/v1/pools/ticket-shop")["policy"]["confirm_by"] == kept
    wrong = sam.press(f"{there}/edit", f"{there}/edit", 422, act="save", **{"p-party_quantity_max": "0"})
    assert "“Places at once, for who signs up”: this does not go" in plain(wrong)


def test_pressing_twice_makes_one_pool(sam: Desk, admin: Client) -> None:
    page = sam.look("/console/pools/new?preset=checkout")
    form = next(fields for _, action, fields in Forms(page).forms if action == "/console/pools/new")
    first = sam.submit("/console/pools/new", {**form, "title": "Once only"})
    assert sam.submit("/console/pools/new", {**form, "title": "Once only"}) == first
    assert len([it for it in admin.ask("GET", "/v1/pools")["items"] if it["title"] == "Once only"]) == 1
    # Another form with that title is another pool, and it is there already.
    again = sam.press("/console/pools/new?preset=checkout", "/console/pools/new", 409, title="Once only")
    assert "with this name already" in plain(again)


def test_what_is_wrong_is_said_and_nothing_is_made(sam: Desk, admin: Client) -> None:
    wrong = {"title": "Wrong", "p-offer_window": "soon"}
    page = sam.press("/console/pools/new?preset=class_waitlist", "/console/pools/new", 422, **wrong)
    assert "How it goes, “Time to accept”: this does not go" in plain(page)
    assert 'value="Wrong"' in page
    for field in ({"starts_at": "2027-02-30T10:00"}, {"time_zone": "Mars/Base"}, {"price": "a lot"}):
        made = {"title": "Wrong"} | field
        sam.press("/console/pools/new?preset=checkout", "/console/pools/new", 422, **made)
    assert not [it for it in admin.ask("GET", "/v1/pools")["items"] if it["title"] == "Wrong"]


def test_a_copy_has_everything_but_title_and_times(sam: Desk, admin: Client) -> None:
    key = gala(admin)
    page = f"/console/pools/new?copy={id_of(admin, key)}"
    sam.press(page, "/console/pools/new", title="Autumn gala")
    old, new = admin.ask("GET", f"/v1/pools/{key}"), admin.ask("GET", "/v1/pools/autumn-gala")
    for name in ("policy", "questions", "open_size", "price", "time_zone", "attributes"):
        assert new[name] == old[name], name
    assert [(q["key"], q["size"], q["eligible"]) for q in new["quotas"]] == [
        (q["key"], q["size"], q["eligible"]) for q in old["quotas"]
    ]
    assert new["starts_at"] is None


def test_saving_what_is_there_changes_nothing_but_the_version(sam: Desk, admin: Client) -> None:
    """Every field goes through the form and back."""
    for key in (gala(admin), yoga(admin, policy={"quiet_hours": "22:00-07:00", "hold_reminder": "90s"})):
        before = admin.ask("GET", f"/v1/pools/{key}")
        pool = before["id"]
        page = sam.press(f"/console/pools/{pool}/edit", f"/console/pools/{pool}/edit", 200, act="preview")
        assert "Nobody moves, and nobody is told anything" in plain(page)
        saved = sam.press_on(page, f"/console/pools/{pool}/edit", act="save")
        assert saved == f"/console/pools/{pool}?told=saved"
        after = admin.ask("GET", f"/v1/pools/{key}")
        assert after | {"version": before["version"]} == before


def test_who_would_lose_a_place_is_named_before_anything_is_saved(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=3, waiting=0)
    pool = id_of(admin, key)
    there = f"/console/pools/{pool}/edit"
    page = sam.press(there, there, 200, act="preview", **{"quota-0-size": "2"})
    words = plain(page)
    assert "Cyd loses the place and goes to the head of the line" in words
    assert "Lost the place: Cyd" in words
    assert admin.ask("GET", f"/v1/pools/{key}")["quotas"][0]["size"] == 3
    # Without the tick it is not done, and one is asked again.
    page = sam.press_on(page, there, 200, act="save")
    assert "Cyd loses the place" in plain(page)
    assert admin.ask("GET", f"/v1/pools/{key}")["quotas"][0]["size"] == 3
    sam.press_on(page, there, act="save", allow_demotion="yes")
    assert admin.ask("GET", f"/v1/pools/{key}")["quotas"][0]["size"] == 2
    assert admin.ask("GET", f"/v1/pools/{key}")["waiting"] == 1


def test_who_would_be_offered_more_room_is_named(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=2, waiting=3)
    there = f"/console/pools/{id_of(admin, key)}/edit"
    page = sam.press(there, there, 200, act="preview", **{"quota-0-size": "4", "p-offers_live_max": ""})
    words = plain(page)
    assert "2 people are offered 1 place each" in words
    assert "Offer: Dee, Eli" in words
    assert admin.ask("GET", f"/v1/pools/{key}")["offers_live"] == 1


def test_what_another_has_changed_meanwhile_is_not_overwritten(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=2, waiting=0)
    there = f"/console/pools/{id_of(admin, key)}/edit"
    page = sam.look(there)
    admin.ask("PATCH", f"/v1/pools/{key}", {"title": "Sunday yoga"})
    page = sam.press_on(page, there, 200, act="save", title="Mine")
    assert "Somebody else has changed this meanwhile" in plain(page)
    assert 'value="Sunday yoga"' in page


@pytest.mark.parametrize(
    ("to", "told"),
    [("paused", "Nobody moves"), ("closed", "5 bookings end"), ("cancelled", "10 bookings end")],
)
def test_a_pool_is_paused_closed_or_called_off_after_a_look_ahead(
    sam: Desk, admin: Client, to: str, told: str
) -> None:
    key = yoga(admin)
    pool = id_of(admin, key)
    page = sam.look(f"/console/pools/{pool}/status?to={to}")
    assert told in plain(page)
    assert admin.ask("GET", f"/v1/pools/{key}")["status"] == "open"
    here, ticked = f"/console/pools/{pool}/status", {}
    if to != "paused":
        # Who loses a place is ticked off, here as anywhere.
        page = sam.press_on(page, here, 422, why="snow")
        assert "Tick that these people lose their place" in plain(page)
        assert 'value="snow"' in page
        assert admin.ask("GET", f"/v1/pools/{key}")["status"] == "open"
        ticked = {"allow_demotion": "yes"}
    assert ('name="allow_demotion"' in page) is bool(ticked)
    there = sam.press_on(page, here, why="snow", **ticked)
    assert there == f"/console/pools/{pool}?told=now_{to}"
    assert admin.ask("GET", f"/v1/pools/{key}")["status"] == to
    last = admin.ask("GET", f"/v1/pools/{key}/log?limit=500")["items"]
    changed = next(it for it in last if it["event"] == "PoolChanged")
    assert (changed["by"], changed["facts"]["why"]) == ("staff:Sam", "snow")


def test_nothing_is_to_be_ticked_where_nobody_loses_a_place(sam: Desk, admin: Client) -> None:
    pool = id_of(admin, yoga(admin, size=1, waiting=0))
    # Who has a place keeps it, and nobody waits.
    page = sam.look(f"/console/pools/{pool}/status?to=closed")
    assert "allow_demotion" not in page
    assert sam.press_on(page, f"/console/pools/{pool}/status").endswith("told=now_closed")


def test_the_list_tells_how_full_each_pool_is(sam: Desk, admin: Client) -> None:
    yoga(admin, title="Counted yoga")
    words = plain(sam.look("/console/pools"))
    assert "Counted yoga" in words
    assert "6 of 6 4 in line 1 offered" in words


def test_a_unit_is_closed_and_opened_again_as_it_was(sam: Desk, rita: Desk, admin: Client) -> None:
    key = salon(admin)
    there = f"/console/pools/{admin.ask('GET', f'/v1/pools/{key}')['id']}"
    hal = next(it for it in admin.ask("GET", f"/v1/bookings?pool={key}")["items"] if it["units"] == ["16:00"])
    before = {it["label"]: it for it in admin.ask("GET", f"/v1/pools/{key}/units")["items"]}
    assert sam.press(there, f"{there}/unit", close="16:00").endswith("told=unit_taken")
    for it in admin.ask("GET", f"/v1/pools/{key}/line")["items"]:
        admin.act(it["id"], "cancel")
    admin.act(hal["id"], "cancel")
    assert sam.press(there, f"{there}/unit", close="16:00").endswith("told=unit_closed")
    assert "16:00" not in [it["label"] for it in admin.ask("GET", f"/v1/pools/{key}/units")["items"]]
    page = sam.look(there)
    assert "16:00 closed Open it again : 16:00" in plain(page)
    assert "16:00 closed" in plain(rita.look(there))
    assert "Open it again" not in rita.look(there)
    assert 'value="16:00"' not in sam.look(f"{there}/add")
    assert sam.press_on(page, f"{there}/unit", open="16:00").endswith("told=unit_opened")
    (opened,) = [it for it in admin.ask("GET", f"/v1/pools/{key}/units")["items"] if it["label"] == "16:00"]
    for name in ("quota", "starts_at", "attributes"):
        assert opened[name] == before["16:00"][name]
    # Where it stood in the day it stands again.
    assert re.findall(r'unit-label">([0-9:]+)<', sam.look(there))[-2:] == ["15:00", "16:00"]
    assert sam.press(there, f"{there}/unit", open="16:00").endswith("told=unknown")
    log = [
        it["by"]
        for it in admin.ask("GET", f"/v1/pools/{key}/log?limit=500")["items"]
        if it["event"] == "UnitClosed"
    ]
    assert log == ["staff:Sam"]


def test_units_are_opened_that_start_at_a_time_of_their_own(sam: Desk, admin: Client) -> None:
    """At the time that it is there, where the pool is."""
    key = salon(admin)
    pool = admin.ask("GET", f"/v1/pools/{key}")
    there, zone = f"/console/pools/{pool['id']}", ZoneInfo(pool["time_zone"])
    form = f"{there}/edit", f"{there}/units"
    assert sam.press(*form, labels="dawn, dusk", starts_at="2031-07-05T06:30").endswith("told=units_added")
    assert sam.press(*form, labels="any time", starts_at="").endswith("told=units_added")
    found = {it["label"]: it["starts_at"] for it in admin.ask("GET", f"/v1/pools/{key}/units")["items"]}
    early = datetime(2031, 7, 5, 6, 30, tzinfo=zone)
    assert [datetime.fromisoformat(found[label]) for label in ("dawn", "dusk")] == [early, early]
    assert found["any time"] is None
    assert sam.press(*form, labels="never", starts_at="tomorrow").endswith("told=invalid")
    assert "never" not in [it["label"] for it in admin.ask("GET", f"/v1/pools/{key}/units")["items"]]
