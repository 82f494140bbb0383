"""Handing out and bringing in over HTTP: CSV both ways, all about one party, and forgetting them."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from typing import Any

import pytest

from tests.database import dump
from tests.http.server import Client, Server
from tests.verified import verified

ANN = {
    "id": "ann-4711",
    "name": "Ann Zelda",
    "contacts": {"email": "zelda@example.org", "phone": "+4930123"},
    "tags": ["honours-ann"],
    "attributes": {"passport": "C01X"},
}
TRACES = ("ann-4711", "Zelda", "zelda@", "4930123", "honours-ann", "C01X", "her knee")
PEOPLE = "party_id,name,quantity\nann,Ann,1\nbea,Bea,x\ncyd,Cyd,2\ncyd,Cyd,1\n"


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def bring(
    client: Client, pool: str, text: str | bytes, query: str = "", expect: int = 200, **headers: str
) -> Any:
    said = {"Content-Type": "text/csv", **headers}
    raw = text.encode() if isinstance(text, str) else text
    return client.ask("POST", f"/v1/pools/{pool}/import{query}", expect=expect, content=raw, headers=said)


def table(client: Client, path: str) -> list[dict[str, str]]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


@pytest.mark.guarantee(
    "injection.csv", "A name that begins a formula and a phone with a plus come with an apostrophe in front."
)
def test_bookings_and_the_line_are_handed_out(admin: Client, reader: Client) -> None:
    admin.pool("handed-out", 1)
    admin.book("handed-out", {"id": "olga", "name": "=1+1"})
    for name in ("ann", "bea"):
        admin.book("handed-out", {"id": name, "name": name.title(), "contacts": {"phone": "+49301"}})
    rows = table(reader, "/v1/pools/handed-out/bookings.csv")
    assert [(row["party_id"], row["state"], row["position"]) for row in rows] == [
        ("olga", "held", ""),
        ("ann", "waiting", "1"),
        ("bea", "waiting", "2"),
    ]
    # No spreadsheet takes any of it for a formula.
    assert (rows[0]["name"], rows[1]["phone"]) == ("'=1+1", "'+49301")
    assert [row["party_id"] for row in table(reader, "/v1/pools/handed-out/line.csv")] == ["ann", "bea"]
    answer = reader.get("/v1/pools/handed-out/line.csv?bom=true")
    assert answer.content.startswith(b"\xef\xbb\xbfreference,")
    assert answer.headers["content-disposition"] == 'attachment; filename="handed-out-line.csv"'
    assert reader.ask("GET", "/v1/pools/nowhere/line.csv", expect=404)["code"] == "unknown"
    assert reader.head("/v1/pools/handed-out/line.csv").status_code == 200


def test_people_are_brought_in_row_by_row(admin: Client) -> None:
    admin.pool("brought-in", 5, "checkout")
    would = bring(admin, "brought-in", PEOPLE, "?dry_run=true")
    assert (would["rows"], would["dry_run"], len(would["done"])) == (4, True, 3)
    assert admin.ask("GET", "/v1/bookings?pool=brought-in")["items"] == []
    came = bring(admin, "brought-in", PEOPLE, **keyed("spring"))
    assert [(row["row"], row["party"], row["state"]) for row in came["done"]] == [
        (2, "ann", "held"),
        (4, "cyd", "held"),
    ]
    assert [(row["row"], row["party"], row["code"], row["field"]) for row in came["errors"]] == [
        (3, "bea", "invalid", "quantity"),
        (5, "cyd", "already_holding", "party"),
    ]
    again = bring(admin, "brought-in", PEOPLE, **keyed("spring"))
    assert again["done"] == came["done"]
    assert len(admin.ask("GET", "/v1/bookings?pool=brought-in")["items"]) == 2
    made, *_, entry = admin.ask("GET", "/v1/pools/brought-in/log")["items"]
    assert made["facts"]["pool"]["policy"] == admin.ask("GET", "/v1/pools/brought-in")["policy"]
    assert entry["by"] == "staff:ops"


def test_what_was_handed_out_can_be_brought_in(admin: Client) -> None:
    admin.pool("from", 5, "checkout")
    admin.pool("to", 5, "checkout")
    admin.book("from", {"id": "=ann", "name": 'Ann, "the first"\nof two', "tags": ["a;b"]}, quantity=2)
    text = admin.get("/v1/pools/from/bookings.csv?bom=true").content
    assert bring(admin, "to", text)["errors"] == []
    (there,) = admin.ask("GET", "/v1/bookings?pool=to")["items"]
    assert (there["party"]["id"], there["party"]["tags"], there["quantity"]) == ("=ann", ["a;b"], 2)
    assert there["party"]["name"] == 'Ann, "the first"\nof two'


WRONG: list[tuple[str | bytes, str | None]] = [
    (b"", "text"),
    (b"name\nAnn\n", "text"),
    (b"party_id,colour\nann,red\n", "text"),
    (b"party_id,party_id\nann,ann\n", "text"),
    (b'party_id\n"ann\n', "text"),
    (b"party_id\n\xff\xfe\n", None),
    (b"party_id\n\xed\xa0\x80\n", None),
]


@pytest.mark.parametrize(("text", "field"), WRONG, ids=repr)
def test_a_file_that_is_none_is_refused_whole(admin: Client, text: bytes, field: str | None) -> None:
    admin.request("POST", "/v1/pools", json={"key": "strict-csv", "quotas": [{"key": "main", "size": 5}]})
    problem = bring(admin, "strict-csv", text, expect=422)
    assert (problem["code"], problem.get("field")) == ("invalid", field)
    assert admin.ask("GET", "/v1/bookings?pool=strict-csv")["items"] == []


@pytest.mark.parametrize(
    ("cell", "field"),
    [
        ("0", "quantity"),
        ("-1", "quantity"),
        ("1.5", "quantity"),
        ("true", "quantity"),
        ("2147483648", "quantity"),
        ("9" * 30, "quantity"),
        ("NaN", "quantity"),
        ("１", "quantity"),
    ],
)
def test_a_row_with_a_quantity_that_is_none_is_refused_alone(admin: Client, cell: str, field: str) -> None:
    admin.request("POST", "/v1/pools", json={"key": "strict-rows", "quotas": [{"key": "main", "size": 50}]})
    came = bring(admin, "strict-rows", f"party_id,quantity\nwrong-{cell},{cell}\nright-{cell},1\n")
    assert [(row["code"], row["field"]) for row in came["errors"]] == [("invalid", field)]
    assert [row["party"] for row in came["done"]] == [f"right-{cell}"]


def test_odd_names_come_in_as_they_are_and_impossible_ones_not(admin: Client) -> None:
    admin.pool("odd-rows", 50, "checkout")
    names = ["🎉👩\u200d👧", "שָׁלוֹם \u202eabc", "Robert'); DROP TABLE fairhold_bookings;--", "<script>"]
    came = bring(admin, "odd-rows", "party_id\n" + "".join(f"{name}\n" for name in names) + "a\x00b\n")
    assert [row["party"] for row in came["done"]] == names
    assert [row["code"] for row in came["errors"]] == ["invalid"]


def test_a_file_too_large_or_of_another_kind_is_refused(admin: Client) -> None:
    admin.pool("large", 5, "checkout")
    answer = admin.post(
        "/v1/pools/large/import", content=b"x" * 20_000_001, headers={"Content-Type": "text/csv"}
    )
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    for kind in ("application/json", "text/plain", "multipart/form-data; boundary=x"):
        problem = bring(admin, "large", PEOPLE, expect=415, **{"Content-Type": kind})
        assert problem["code"] == "unsupported_media_type"
    assert bring(admin, "large", PEOPLE, **{"Content-Type": "text/csv; charset=utf-8"})["done"]


def lived(admin: Client, name: str) -> list[str]:
    """Ann has waited, been moved and cancelled in one pool, and came in from a file to another."""
    admin.pool(f"{name}-yoga", 1)
    admin.book(f"{name}-yoga", "olga", confirmed=True)
    body = {"party": ANN}
    path = f"/v1/pools/{name}-yoga/bookings"
    waits = admin.ask("POST", path, body, expect=201, headers=keyed(f"{name}-waits"))
    admin.act(waits["id"], "move", {"to": "back", "why": "because of her knee"})
    admin.act(waits["id"], "cancel", {"why": "her knee"})
    admin.pool(f"{name}-gig", 5, "checkout")
    row = 'ann-4711,Ann Zelda,zelda@example.org,honours-ann,"{""passport"": ""C01X""}",yes'
    text = f"party_id,name,email,tags,attributes,confirmed\n{row}\n"
    (came,) = bring(admin, f"{name}-gig", text, **keyed(f"{name}-file"))["done"]
    return [waits["id"], came["booking"]]


def kept(server: Server) -> dict[str, Any]:
    """Everything but how far messages have come, for they go out meanwhile."""
    moving = ("fairhold_outbox", "fairhold_deliveries")
    return {table: rows for table, rows in asyncio.run(dump(server.url)).items() if table not in moving}


def test_all_about_a_party_is_handed_out(admin: Client, staff: Client) -> None:
    waits, came = lived(admin, "known")
    record = staff.ask("GET", "/v1/parties/ann-4711")
    told = {it["booking"]["id"]: it for it in record["bookings"]}
    assert {waits, came} <= set(told)
    assert told[came]["booking"]["party"]["contacts"] == {"email": "zelda@example.org"}
    assert [entry["event"] for entry in told[waits]["log"]][:2] == ["Joined", "Moved"]
    assert told[waits]["messages"][0]["kind"] == "joined"
    assert told[waits]["history"][0]["code"] == "joined"
    assert all(entry["at"].endswith("Z") for entry in told[waits]["log"])
    assert staff.ask("GET", "/v1/parties/nobody", expect=404)["code"] == "unknown"
    admin.ask("DELETE", "/v1/parties/ann-4711")


def test_a_party_is_forgotten_everywhere(server: Server, admin: Client) -> None:
    lived(admin, "gone")
    before = kept(server)
    assert [trace for trace in TRACES if trace not in str(before)] == []
    path = "/v1/parties/ann-4711"
    would = admin.ask("DELETE", f"{path}?dry_run=true")
    assert (would["dry_run"], would["pools"], would["bookings"]) == (True, 2, 2)
    assert kept(server) == before
    forgotten = admin.ask("DELETE", path, headers=keyed("forget"))
    assert forgotten == would | {"dry_run": False}
    assert admin.ask("DELETE", path, headers=keyed("forget")) == forgotten
    after = str(asyncio.run(dump(server.url)))
    assert [trace for trace in TRACES if trace in after] == []
    assert admin.ask("DELETE", path, expect=404)["code"] == "unknown"
    assert admin.ask("GET", path, expect=404)["code"] == "unknown"
    # Asked again, what was kept under keys tells of nobody.
    again = admin.ask(
        "POST", "/v1/pools/gone-yoga/bookings", {"party": ANN}, expect=201, headers=keyed("gone-waits")
    )
    assert again["party"]["id"].startswith("erased-")
    assert asyncio.run(verified(server.url)).whole


def test_who_still_waits_for_an_answer_is_not_forgotten_by_accident(admin: Client, reader: Client) -> None:
    admin.pool("still", 5, "checkout")
    held = admin.book("still", "dora/2")
    path = "/v1/parties/dora/2"
    refused = admin.ask("DELETE", path, expect=409)
    assert (refused["code"], refused["who"][0]["booking"]) == ("not_possible", held["id"])
    assert admin.booking(held["id"])["state"] == "held"
    assert admin.ask("DELETE", f"{path}?cancel=maybe", expect=422)["field"] == "cancel"
    assert reader.ask("DELETE", path, expect=403)
    assert admin.ask("DELETE", f"{path}?cancel=true")["bookings"] == 1
    assert admin.booking(held["id"])["state"] == "cancelled"


def test_a_running_service_prunes_by_policy_every_day(admin: Client) -> None:
    admin.pool("pruned", 5)
    ann = admin.book("pruned", {"id": "ann", "name": "Ann", "contacts": {"email": "ann@example.org"}})
    bea = admin.book("pruned", {"id": "bea", "name": "Bea"})
    for it in (ann, bea):
        admin.act(it["id"], "confirm")
    admin.act(ann["id"], "cancel")
    for wrong in ({}, {"people_days": 1}, {"people_days": 0, "messages_days": 1}, {"people_days": "1"}):
        admin.ask("PUT", "/v1/retention", wrong, expect=422)
    kept = admin.ask("PUT", "/v1/retention", {"people_days": 30, "messages_days": None})
    assert admin.ask("GET", "/v1/retention")["people_days"] == kept["people_days"] == 30
    admin.advance(29 * 86_400)
    assert admin.booking(ann["id"])["party"]["name"] == "Ann"
    admin.advance(2 * 86_400)
    until = time.monotonic() + 60
    while admin.booking(ann["id"])["party"]["name"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert admin.booking(ann["id"])["party"]["contacts"] == {}
    assert admin.booking(bea["id"])["party"]["name"] == "Bea", "it is not over"
    assert admin.ask("GET", "/v1/retention")["pruned_at"] is not None
    admin.ask("PUT", "/v1/retention", {"people_days": None, "messages_days": None})
