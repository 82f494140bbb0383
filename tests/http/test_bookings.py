"""Bookings over HTTP: from the first tap to the last, with the fields and the refusals that were promised."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

from fairhold.core.policy import PRESETS
from tests.http.server import Client

FIELDS = [
    "id",
    "reference",
    "pool",
    "quota",
    "party",
    "quantity",
    "units",
    "state",
    "position",
    "ahead",
    "attempts",
    "round",
    "offered_at",
    "expires_at",
    "seconds_left",
    "confirmed_at",
    "price",
    "total",
    "placement",
    "answers",
    "created_at",
    "updated_at",
]
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def test_a_hold_is_made_confirmed_and_has_every_field(admin: Client) -> None:
    admin.pool("flight", 5, "checkout", price={"amount": 15_000, "currency": "EUR"})
    made = admin.book("flight", {"id": "ann", "name": "Ann"}, quantity=2)
    assert set(FIELDS) <= set(made)
    assert (made["state"], made["seconds_left"], made["placement"]) == ("held", 900, "quota")
    assert made["party"]["id"] == "ann"
    assert made["total"] == {"amount": 30_000, "currency": "EUR"}
    assert INSTANT.fullmatch(made["expires_at"])
    assert INSTANT.fullmatch(made["created_at"])
    assert made["edit_token"].startswith(made["id"])
    done = admin.act(made["id"], "confirm")
    assert (done["state"], done["expires_at"], done["edit_token"]) == ("confirmed", None, None)
    for name in (made["id"], made["reference"], made["edit_token"]):
        assert admin.booking(name)["id"] == made["id"]


def test_too_much_is_refused_with_what_there_is(admin: Client) -> None:
    admin.pool("small-plane", 3, "checkout")
    problem = admin.book("small-plane", "ann", expect=409, quantity=10)
    assert problem["code"] == "not_enough_room"
    assert problem["detail"] == "Not enough seats available. Requested: 10, Available: 3"
    assert (problem["available"], problem["requested"], problem["field"]) == (3, 10, "quantity")
    assert problem["status"] == 409
    assert problem["type"]
    assert problem["title"]


def test_problems_have_their_own_media_type(admin: Client) -> None:
    answer = admin.get("/v1/pools/nowhere")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "unknown"


def test_a_second_hold_names_the_first(admin: Client) -> None:
    admin.pool("cart", 5, "checkout")
    first = admin.book("cart", "ann")
    problem = admin.book("cart", "ann", expect=409)
    assert (problem["code"], problem["booking"]) == ("already_holding", first["id"])


def test_a_hold_ends_on_time_and_cannot_be_confirmed_then(admin: Client) -> None:
    admin.pool("ends", 1, "checkout")
    made = admin.book("ends", "ann")
    admin.advance(899)
    assert admin.booking(made["id"])["seconds_left"] == 1
    admin.advance(1)
    assert admin.booking(made["id"])["state"] == "expired"
    assert admin.act(made["id"], "confirm", expect=410)["code"] == "hold_expired"


@pytest.mark.guarantee(
    "hoarding.no-renewals",
    "One's own hold is prolonged up to the pool's limit and no further.",
)
def test_a_hold_is_extended_up_to_its_lifetime_and_by_staff_beyond(admin: Client, public: Client) -> None:
    admin.pool("longer", 1, "checkout")
    made = admin.book("longer", "ann")
    assert admin.act(made["id"], "extend", {"window_s": 600})["seconds_left"] == 1500
    assert public.act(made["edit_token"], "extend", {"window_s": 5_000})["seconds_left"] == 3600
    refused = public.act(made["edit_token"], "extend", expect=409)
    assert refused["code"] == "hold_lifetime_used_up"
    assert public.act(made["edit_token"], "extend", {"as_staff": True}, expect=403)["code"] == "forbidden"
    assert admin.act(made["id"], "extend", {"window_s": 5_000, "as_staff": True})["seconds_left"] == 8600


def test_staff_put_back_what_ended_and_nobody_else_does(admin: Client, public: Client) -> None:
    admin.pool("undone", 1, "checkout")
    made = admin.book("undone", "ann")
    admin.act(made["id"], "confirm")
    admin.act(made["id"], "cancel")
    assert public.act(made["edit_token"], "put-back", expect=403)["code"] == "forbidden"
    back = admin.act(made["id"], "put-back", {"why": "cancelled by mistake"})
    assert (back["id"], back["reference"], back["state"]) == (made["id"], made["reference"], "confirmed")
    admin.act(made["id"], "cancel")
    admin.book("undone", "bea")
    assert admin.act(made["id"], "put-back", expect=409)["code"] == "not_enough_room"


def test_a_freed_seat_is_offered_and_claimed_and_everybody_is_told_why(admin: Client, reader: Client) -> None:
    admin.pool("lesson")
    olga = admin.book("lesson", "olga")
    admin.act(olga["id"], "confirm")
    ann, bea = admin.book("lesson", "ann"), admin.book("lesson", "bea")
    assert [b["position"] for b in (ann, bea)] == [1, 2]
    assert [b["ahead"] for b in (ann, bea)] == [0, 1]
    admin.act(olga["id"], "cancel", {"why": "ill"})
    offered = admin.booking(ann["id"])
    assert offered["state"] == "offered"
    assert set(offered["offer"]) == {"seq", "token", "expires_at", "quantity"}
    assert reader.booking(ann["id"])["offer"] is None
    token = offered["offer"]["token"]
    seen = admin.ask("GET", f"/v1/offers/{token}")
    assert (seen["outcome"], seen["seconds_left"], seen["pool_key"]) == ("live", 86_400, "lesson")
    assert admin.ask("POST", f"/v1/offers/{token}/claim")["state"] == "confirmed"
    assert admin.ask("POST", f"/v1/offers/{token}/claim")["state"] == "confirmed"
    assert admin.ask("GET", f"/v1/offers/{token}")["outcome"] == "claimed"
    line = admin.ask("GET", "/v1/pools/lesson/line")
    assert [(b["party"]["id"], b["position"]) for b in line["items"]] == [("bea", 1)]
    told = admin.ask("GET", f"/v1/bookings/{ann['reference']}/explain")["items"]
    assert told[0]["code"] == "joined"
    assert all(step["sentence"] and INSTANT.fullmatch(step["at"]) for step in told)


def test_a_declined_offer_goes_on_at_once(admin: Client) -> None:
    admin.pool("chair", preset="last_minute")
    olga = admin.book("chair", "olga")
    ann, bea = admin.book("chair", "ann"), admin.book("chair", "bea")
    admin.act(olga["id"], "cancel")
    admin.act(ann["id"], "decline")
    token = admin.booking(bea["id"])["offer"]["token"]
    admin.advance(600)
    assert admin.ask("POST", f"/v1/offers/{token}/claim", expect=410)["code"] == "offer_expired"
    assert admin.ask("GET", f"/v1/offers/{token}")["outcome"] == "lapsed"
    openings = admin.ask("GET", "/v1/pools/chair/openings")["items"]
    assert [opening["state"] for opening in openings] == ["handed_back"]
    number = openings[0]["number"]
    admin.ask("POST", f"/v1/pools/chair/openings/{number}/resolve", {"action": "again"})
    assert admin.booking(ann["id"])["state"] == "offered"


def test_what_came_back_is_offered_by_its_number(admin: Client) -> None:
    admin.pool("came-back", preset="last_minute")
    olga, ann = admin.book("came-back", "olga"), admin.book("came-back", "ann")
    admin.act(olga["id"], "cancel")
    admin.act(ann["id"], "decline")
    assert admin.act(ann["id"], "offer", expect=409)["code"] == "not_enough_room"
    for wrong in (True, "1", -1, 1.0, 2**63):
        assert admin.act(ann["id"], "offer", {"opening": wrong}, expect=422)["field"] == "opening"
    number = admin.ask("GET", "/v1/pools/came-back/openings")["items"][0]["number"]
    assert admin.act(ann["id"], "offer", {"opening": number, "why": "asked again"})["state"] == "offered"


def test_staff_move_people_and_offer_out_of_turn(admin: Client) -> None:
    admin.pool("queue", 1)
    held = admin.book("queue", "olga")
    people = [admin.book("queue", name) for name in ("ann", "bea", "cyd")]
    assert admin.act(people[2]["id"], "move", {"to": "front", "why": "called in"})["position"] == 1
    assert admin.act(people[0]["id"], "move", {"after": people[1]["id"]})["position"] == 3
    assert admin.act(people[0]["id"], "move", {}, expect=422)["field"] == "to"
    line = admin.ask("GET", "/v1/pools/queue/line")["items"]
    assert [b["party"]["id"] for b in line] == ["cyd", "bea", "ann"]
    admin.ask("PATCH", "/v1/pools/queue", {"policy": {"offers_live_max": None}})
    admin.act(held["id"], "confirm")
    admin.ask("PATCH", "/v1/pools/queue", {"status": "paused"})
    admin.act(held["id"], "cancel")
    log = admin.ask("GET", "/v1/pools/queue/log?limit=500")["items"]
    moved = [entry for entry in log if entry["event"] == "Moved"]
    assert [entry["by"] for entry in moved] == ["staff:ops", "staff:ops"]
    assert moved[0]["facts"]["why"] == "called in"


def test_units_are_opened_taken_by_label_and_closed(admin: Client) -> None:
    admin.ask(
        "POST",
        "/v1/pools",
        {"key": "row", "preset": "checkout", "quotas": [{"key": "main", "units": ["12A"]}]},
        expect=201,
    )
    admin.ask("POST", "/v1/pools/row/units", {"units": ["12B", {"label": "12/C"}]}, expect=201)
    assert admin.book("row", "ann", units=["12B"])["units"] == ["12B"]
    problem = admin.book("row", "bea", units=["12B"], expect=409)
    assert (problem["code"], problem["units"]) == ("unit_taken", ["12B"])
    listed = admin.ask("GET", "/v1/pools/row/units?limit=2")
    assert [(unit["label"], bool(unit["booking"])) for unit in listed["items"]] == [
        ("12A", False),
        ("12B", True),
    ]
    rest = admin.ask("GET", f"/v1/pools/row/units?cursor={listed['next']}")
    assert ([unit["label"] for unit in rest["items"]], rest["next"]) == (["12/C"], None)
    assert admin.ask("DELETE", "/v1/pools/row/units/12B", expect=409)["code"] == "unit_taken"
    left = admin.ask("DELETE", "/v1/pools/row/units/12%2FC")
    assert left["quotas"][0]["size"] == 2


def test_lists_page_by_cursor(admin: Client) -> None:
    admin.pool("many", 0)
    made = [admin.book("many", f"party {n}")["id"] for n in range(7)]
    for path in ("/v1/pools/many/line", "/v1/bookings?pool=many"):
        seen: list[str] = []
        cursor = ""
        for _ in range(10):
            page = admin.ask(
                "GET",
                path,
                params={"pool": "many", "limit": 3, "cursor": cursor}
                if "?" in path
                else {"limit": 3, "cursor": cursor},
            )
            seen += [b["id"] for b in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert seen == made
    assert admin.ask("GET", "/v1/pools/many/line?cursor=nonsense", expect=422)["field"] == "cursor"
    assert admin.ask("GET", "/v1/pools/many/line?limit=0", expect=422)["field"] == "limit"
    assert admin.ask("GET", "/v1/pools/many/line?limit=1.0", expect=422)["field"] == "limit"
    assert admin.ask("GET", "/v1/pools/many/line?lim=1", expect=422)["field"] == "lim"


def test_leaving_between_two_pages_makes_nobody_be_skipped(admin: Client) -> None:
    admin.pool("leaving", 0)
    made = [admin.book("leaving", f"party {n}")["id"] for n in range(6)]
    page = admin.ask("GET", "/v1/pools/leaving/line?limit=3")
    admin.act(made[0], "cancel")
    admin.act(made[2], "cancel")
    rest = admin.ask("GET", f"/v1/pools/leaving/line?limit=3&cursor={page['next']}")
    assert [b["id"] for b in rest["items"]] == made[3:]


def test_bookings_are_found_over_all_pools(admin: Client) -> None:
    for n in range(3):
        admin.pool(f"tour-{n}", 1)
        admin.book(f"tour-{n}", "a traveller")
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = admin.ask("GET", "/v1/bookings", params={"party": "a traveller", "limit": 2, "cursor": cursor})
        seen += [b["party"]["id"] for b in page["items"]]
        cursor = page["next"]
    assert seen == ["a traveller"] * 3
    held = admin.ask("GET", "/v1/bookings?party=a%20traveller&state=held")["items"]
    assert len(held) == 3
    assert admin.ask("GET", "/v1/bookings?state=gone", expect=422)["field"] == "state"


def test_any_command_can_be_tried_first(admin: Client) -> None:
    admin.pool("tried", 1)
    made = admin.book("tried", "ann")
    admin.book("tried", "bea")
    would = admin.ask("POST", f"/v1/bookings/{made['id']}/cancel?dry_run=true")
    assert would["events"][0]["event"] == "Cancelled"
    assert {message["kind"] for message in would["messages"]} >= {"offer"}
    assert admin.booking(made["id"])["state"] == "held"
    would = admin.ask("POST", "/v1/pools/tried/bookings?dry_run=true", {"party": "cyd"})
    assert would["events"][0]["event"] == "Joined"


@pytest.mark.guarantee(
    "less-room.named",
    "A smaller size is refused with the names of who would lose their place, and done when staff say so.",
)
def test_a_smaller_pool_names_who_would_lose_their_place(admin: Client) -> None:
    admin.pool("shrinks", 2, "event_signup")
    admin.book("shrinks", {"id": "ann", "name": "Ann"})
    bea = admin.book("shrinks", {"id": "bea", "name": "Bea"})
    problem = admin.ask("PATCH", "/v1/pools/shrinks", {"sizes": {"main": 1}}, expect=409)
    assert problem["code"] == "would_demote"
    assert problem["who"] == [
        {"booking": bea["id"], "reference": bea["reference"], "party": {"id": "bea", "name": "Bea"}}
    ]
    change = {"sizes": {"main": 1}, "allow_demotion": True}
    would = admin.ask("PATCH", "/v1/pools/shrinks?dry_run=true", change)
    assert "Demoted" in [event["event"] for event in would["events"]]
    assert admin.ask("GET", "/v1/pools/shrinks")["quotas"][0]["size"] == 2
    admin.ask("PATCH", "/v1/pools/shrinks", change)
    assert admin.booking(bea["id"])["position"] == 1


@pytest.mark.guarantee(
    "mail-scanner.looking", "A hundred GETs and HEADs of an offer and its booking, then a claim: it works."
)
def test_looking_changes_nothing_however_often(admin: Client) -> None:
    """As mail scanners and previews do: all of the GETs and HEADs there are, fifty times."""
    admin.pool("looked-at")
    olga = admin.book("looked-at", "olga")
    ann = admin.book("looked-at", "ann")
    admin.act(olga["id"], "cancel")
    token = admin.booking(ann["id"])["offer"]["token"]
    before = admin.ask("GET", "/v1/pools/looked-at/log?limit=500")
    paths = [
        f"/v1/offers/{token}",
        f"/v1/offers/{token}/claim",
        f"/v1/offers/{token}/decline",
        f"/v1/bookings/{ann['id']}",
        f"/v1/bookings/{ann['id']}/cancel",
        f"/v1/bookings/{ann['id']}/explain",
        "/v1/pools/looked-at/stats",
        "/v1/pools/looked-at/line",
        "/v1/pools/looked-at/fill",
    ]
    for _ in range(7):
        for path in paths:
            for method in ("GET", "HEAD"):
                answer = admin.request(method, path)
                assert answer.status_code == (405 if path.split("/")[-1] in ACTS else 200)
                assert method == "GET" or not answer.content
    assert admin.ask("GET", "/v1/pools/looked-at/log?limit=500") == before
    assert admin.ask("POST", f"/v1/offers/{token}/claim")["state"] == "confirmed"


@pytest.mark.parametrize("preset", list(PRESETS))
def test_every_rule_of_a_policy_can_be_said(admin: Client, preset: str) -> None:
    """What a pool shows as its policy is taken for one, as it is."""
    policy = admin.pool(f"shown-{preset}".replace("_", "-"), 1, preset)["policy"]
    body = {
        "key": f"said-{preset}".replace("_", "-"),
        "policy": policy,
        "quotas": [{"key": "main", "size": 1}],
    }
    assert admin.ask("POST", "/v1/pools", body, expect=201)["policy"] == policy


def test_an_offer_waits_for_the_end_of_quiet_hours(admin: Client) -> None:
    rules = {"quiet_hours": "22:00-07:30", "hold_reminder": "5m"}
    made = admin.pool("asleep", 1, policy=rules)
    assert (made["policy"]["quiet_hours"], made["policy"]["hold_reminder"]) == ("22:00-07:30", 300)
    olga, ann = admin.book("asleep", "olga"), admin.book("asleep", {"id": "ann"})
    admin.act(olga["id"], "confirm")
    today = datetime.fromisoformat(admin.ask("GET", "/v1/clock")["now"])
    evening = (today + timedelta(days=1)).replace(hour=23, minute=0, second=0, microsecond=0)
    admin.ask("POST", "/v1/clock", {"now": evening.isoformat()})
    admin.act(olga["id"], "cancel")
    ends = datetime.fromisoformat(admin.booking(ann["id"])["expires_at"])
    assert ends == evening + timedelta(hours=8, minutes=30, days=1)
    problem = admin.ask("PATCH", "/v1/pools/asleep", {"policy": {"quiet_hours": "25:00-07:30"}}, expect=422)
    assert problem["field"] == "policy.quiet_hours"


ACTS = {"claim", "decline", "cancel", "fill"}


def test_answers_and_contacts_are_changed_and_nothing_else(admin: Client, public: Client) -> None:
    admin.pool("details", 1, "event_signup")
    made = admin.book("details", {"id": "ann", "name": "Ann", "tags": ["member"]})
    path, said = f"/v1/bookings/{made['edit_token']}", {"answers": {"diet": "vegan"}, "name": "Ann B."}
    keyed = {"Idempotency-Key": "details"}
    changed = public.ask("PATCH", path, said, headers=keyed)
    assert changed["answers"] == {"diet": "vegan"}
    assert (changed["party"]["name"], changed["party"]["tags"]) == ("Ann B.", ["member"])
    assert changed["state"] == "held"
    assert public.ask("PATCH", path, said, headers=keyed) == changed
    public.ask("PATCH", path, {"contacts": {"email": "ann@example.org"}})
    # The same answer once more, with what is known of the person now.
    changed["party"]["contacts"] = {"email": "ann@example.org"}
    assert public.ask("PATCH", path, said, headers=keyed) == changed
    assert (
        public.ask("PATCH", path, {"name": "Eve"}, expect=422, headers=keyed)["code"]
        == "idempotency_mismatch"
    )
    seen = admin.booking(made["id"])
    assert seen["party"]["contacts"] == {"email": "ann@example.org"}
    assert seen["answers"] == {"diet": "vegan"}
    confirmed = admin.act(made["id"], "confirm")
    assert confirmed["party"]["name"] == "Ann B."
    log = str(admin.ask("GET", "/v1/pools/details/log"))
    assert "vegan" not in log
    assert "Ann B." not in log
    admin.act(made["id"], "cancel")
    assert public.ask("PATCH", path, said, expect=409)["code"] == "not_possible"
