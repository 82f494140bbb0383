"""Bad input gets a clear refusal and changes nothing; odd but good input is kept as it is."""

from __future__ import annotations

import json
import re
import socket
import time
from dataclasses import fields
from typing import Any

import msgspec
import pytest

from fairhold.core.policy import Policy
from fairhold.http import bodies
from fairhold.http.bodies_of_pools import PolicyBody
from fairhold.http.heads import HEAD_MAX
from fairhold.http.operations import Nothing
from fairhold.http.problems import Problem
from tests.http.server import Client, Server
from tests.patience import PATIENCE_S

# As they stand in a body; NaN is not even JSON.
QUANTITIES = [
    *("0", "-1", "1.5", "1.0", '"2"', "true", str(2**31), str(2**63), "NaN", "null"),
    "[1]",
    '{"n": 1}',
]


@pytest.fixture(scope="module", autouse=True)
def pool(admin: Client) -> None:
    admin.pool("strict", 5, "checkout")


def sent(client: Client, raw: bytes, path: str = "/v1/pools/strict/bookings", **headers: str) -> Any:
    return client.post(path, content=raw, headers={"Content-Type": "application/json", **headers})


def untouched(client: Client) -> bool:
    return bool(client.ask("GET", "/v1/pools/strict/log")["items"][-1]["event"] == "PoolCreated")


@pytest.mark.guarantee(
    "quantities.refused",
    "Every one of them over HTTP is 422, with the field where the body can be read, and nothing is booked.",
)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_quantity_is_a_whole_number_from_one(admin: Client, quantity: str) -> None:
    answer = sent(admin, f'{{"party": "ann", "quantity": {quantity}}}'.encode())
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid")
    assert problem.get("field") == (None if quantity == "NaN" else "quantity")
    assert problem["detail"].endswith(".")
    assert untouched(admin)


BODIES = {
    "a NaN": b'{"party": "ann", "quantity": NaN}',
    "an infinity": b'{"party": {"id": "ann", "attributes": {"x": Infinity}}}',
    "a number too large to be one": b'{"party": {"id": "ann", "attributes": {"x": 1e400}}}',
    "a number of many digits": b'{"party": "ann", "quantity": ' + b"1" * 60_000 + b"}",
    "a number of many digits deep inside": b'{"party": {"id": "ann", "attributes": {"x": '
    + b"1" * 6_000
    + b"}}}",
    "a number that scripts cannot hold": b'{"party": {"id": "ann", "attributes": {"x": 9007199254740993}}}',
    "a NUL": b'{"party": "a\\u0000nn"}',
    "a NUL deep inside": b'{"party": {"id": "ann", "attributes": {"x": ["\\u0000"]}}}',
    "half a surrogate": b'{"party": "\\ud800"}',
    "half a surrogate deep inside": b'{"party": {"id": "ann", "attributes": {"x": "\\udc00x"}}}',
    "bytes that are not UTF-8": b'{"party": "\xff\xfe"}',
    "a surrogate in UTF-8": b'{"party": "\xed\xa0\x80"}',
    "a name twice": b'{"party": "ann", "party": "bea"}',
    "a name twice, spelled otherwise": b'{"party": "ann", "p\\u0061rty": "bea"}',
    "a name twice deep inside": b'{"party": {"id": "ann", "attributes": {"x": 1, "x": 2}}}',
    "an unknown field": b'{"party": "ann", "colour": "red"}',
    "an unknown field deep inside": b'{"party": {"id": "ann", "colour": "red"}}',
    "a field missing": b'{"quantity": 1}',
    "nesting": b'{"party": {"id": "ann", "attributes": {"x": ' + b"[" * 20 + b"]" * 20 + b"}}}",
    "deep nesting": b'{"party": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "deep nesting that never ends": b"[" * 60_000,
    "no JSON": b"party=ann",
    "half of a JSON": b'{"party": "ann"',
    "more than one": b'{"party": "ann"}{}',
    "a list": b'[{"party": "ann"}]',
    "a text": b'"ann"',
    "nothing": b"",
    "a byte order mark": b'\xef\xbb\xbf{"party": "ann"}',
}


@pytest.mark.guarantee(
    "bodies.refused",
    "Half characters, NUL, names that come twice, numbers beyond all bounds, nesting: 422, and nothing "
    "changes.",
)
@pytest.mark.parametrize("raw", BODIES.values(), ids=BODIES)
def test_a_body_that_is_not_right_is_refused_and_changes_nothing(admin: Client, raw: bytes) -> None:
    answer = sent(admin, raw)
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] == "invalid"
    assert untouched(admin)


def test_a_number_of_thousands_of_digits_is_refused_in_our_words(admin: Client) -> None:
    """Where a name stands in two objects, the body is read a second time, and not by msgspec."""
    for name, said in (("a", "Integer value out of range."), ("id", "a number in it has too many digits.")):
        attributes = b'{"%s": %s}' % (name.encode(), b"9" * 5_000)
        answer = sent(admin, b'{"party": {"id": "ann", "attributes": %s}}' % attributes)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
        assert answer.json()["detail"].endswith(said)


def test_a_query_too_long_is_refused_as_the_document_says(admin: Client) -> None:
    answer = admin.get("/v1/bookings", params={"search": "é" * 2_000})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert "at most 4,096 characters" in answer.json()["detail"]


@pytest.mark.guarantee(
    "bodies.refused",
    "Too many bytes are refused by what is announced, and cut off where nothing is.",
)
def test_a_body_too_large_is_refused_before_it_is_read(admin: Client) -> None:
    answer = sent(admin, json.dumps({"party": "x" * 5_000_000}).encode())
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")

    def pieces() -> Any:
        for _ in range(100):
            yield b"x" * 10_000

    answer = admin.post("/v1/pools/strict/bookings", content=pieces())
    assert answer.status_code == 413
    assert untouched(admin)


LABORIOUS = {
    "a text that never ends": b'{"' + b'\\"' * 15_000,
    "a text that ends in the middle of a character": b"[]" * 17 + b'"' + b'\\"' * 15_000 + b"\\",
    "many names, the last of them twice": b'{%b"x":0,"x":0}'
    % b"".join(b'"%05d":0,' % number for number in range(25_000)),
}


@pytest.mark.guarantee("bodies.refused", "No body takes the service away from others.")
@pytest.mark.parametrize("raw", LABORIOUS.values(), ids=LABORIOUS)
def test_no_body_keeps_us_busy(raw: bytes) -> None:
    """Anybody may send one to sign in, and while it is read nobody else is served."""
    began = time.process_time()
    with pytest.raises(Problem):
        bodies.decoded(raw, msgspec.json.Decoder(Nothing))
    assert time.process_time() - began < 1


def test_a_body_of_another_kind_is_refused(admin: Client) -> None:
    answer = admin.post("/v1/pools/strict/bookings", data={"party": "ann"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert sent(admin, b"{}", **{"Content-Type": "application/json; charset=utf-8"}).status_code == 422


def test_the_field_at_fault_is_named_however_deep(admin: Client) -> None:
    body = {"key": "x", "quotas": [{"key": "main", "size": 1}, {"key": "b", "size": True}]}
    assert admin.ask("POST", "/v1/pools", body, expect=422)["field"] == "quotas[1].size"
    body = {"key": "x", "quotas": [{"key": "main", "size": 1}], "policy": {"turns": "sideways"}}
    assert admin.ask("POST", "/v1/pools", body, expect=422)["field"] == "policy.turns"
    body = {"key": "x", "quotas": [{"key": "main", "size": 1}], "starts_at": "2026-03-07T14:00"}
    assert admin.ask("POST", "/v1/pools", body, expect=422)["field"] == "starts_at"


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_instants_out_of_reach_are_refused(admin: Client, moment: str) -> None:
    body = {"key": "far", "quotas": [{"key": "main", "size": 1}], "starts_at": moment}
    assert admin.ask("POST", "/v1/pools", body, expect=422)["field"] == "starts_at"


NAMES = [
    "🎉👩\u200d👩\u200d👧",
    "שָׁלוֹם \u202eabc",
    "Robert'); DROP TABLE fairhold_bookings;--",
    "<script>alert(1)</script>",
    "ﷺ",
    "a\tb\nc",
]


@pytest.mark.guarantee("names.kept", "Emoji, right-to-left and SQL come back as they were sent.")
@pytest.mark.parametrize("name", NAMES)
def test_odd_names_are_kept_as_they_are(admin: Client, name: str) -> None:
    admin.pool(f"odd-{abs(hash(name))}", 5, "checkout")
    made = admin.book(f"odd-{abs(hash(name))}", {"id": name, "name": name, "attributes": {"note": name}})
    seen = admin.booking(made["id"])["party"]
    assert (seen["id"], seen["name"], seen["attributes"]["note"]) == (name, name, name)
    listed = admin.ask("GET", "/v1/bookings", params={"pool": made["pool"], "party": name})["items"]
    assert [b["id"] for b in listed] == [made["id"]]


def test_nothing_at_an_address_and_no_such_method_are_problems_too(admin: Client) -> None:
    assert admin.ask("GET", "/v2/pools", expect=404)["code"] == "unknown"
    answer = admin.put("/v1/pools")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
    assert admin.get("/v1/pools/strict/").status_code == 404
    assert admin.ask("GET", "/v1/pools/a%2F..%2Fb", expect=404)
    assert admin.ask("GET", "/v1/pools/%ff", expect=404)
    assert admin.ask("GET", "/v1/bookings/%00", expect=404)


def test_names_that_no_database_can_keep_are_unknown_everywhere(server: Server, admin: Client) -> None:
    """In every path and every query of the API: refused, and no error of ours."""
    asked = 0
    for path, operations in admin.ask("GET", "/openapi.json")["paths"].items():
        for method, operation in operations.items():
            if "{" in path:
                spelled = re.sub(r"\{\w+\}", "%00", path)
                assert admin.request(method.upper(), spelled, json={}).status_code == 404, (method, path)
                asked += 1
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query":
                    spelled = re.sub(r"\{\w+\}", "strict", path) + f"?{parameter['name']}=a%00b"
                    assert admin.request(method.upper(), spelled).status_code == 422, (method, spelled)
                    asked += 1
    assert asked > 50
    assert '"level":"error"' not in server.log()


def test_an_answer_names_the_request(admin: Client) -> None:
    answer = admin.get("/v1/pools", headers={"X-Request-ID": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    other = admin.get("/v1/pools", headers={"X-Request-ID": "no\tgood"})
    assert len(other.headers["x-request-id"]) == 16


def test_every_field_of_a_policy_can_be_said() -> None:
    assert set(PolicyBody.__struct_fields__) - {"preset"} == {field.name for field in fields(Policy)}


def test_a_length_may_have_several_units(admin: Client) -> None:
    body = {"key": "long", "quotas": [{"key": "main", "size": 1}], "policy": {"hold_window": "1h30m"}}
    body["policy"]["hold_lifetime_max"] = "2h"
    assert admin.ask("POST", "/v1/pools", body, expect=201)["policy"]["hold_window"] == 5400
    body["policy"]["hold_window"] = "1h30"
    assert admin.ask("POST", "/v1/pools", body, expect=422)["field"] == "policy.hold_window"


# More than may be read in one piece, several times over.
FAR_TOO_MUCH = 64 * HEAD_MAX
ENDLESS = {
    "an address": b"GET /" + b"x" * FAR_TOO_MUCH,
    "a header": b"GET /healthz HTTP/1.1\r\nA: " + b"x" * FAR_TOO_MUCH,
    "headers": b"GET /healthz HTTP/1.1\r\n" + b"A: b\r\n" * (FAR_TOO_MUCH // 6),
    "a trailer": b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " + b"x" * FAR_TOO_MUCH,
}


@pytest.mark.parametrize("raw", ENDLESS.values(), ids=ENDLESS)
def test_a_head_that_never_ends_is_not_listened_to(server: Server, admin: Client, raw: bytes) -> None:
    def say_it_again_and_again() -> None:
        for _ in range(1_000):
            connection.sendall(raw)

    connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)
    with connection, pytest.raises(ConnectionError):
        say_it_again_and_again()
    assert admin.get("/healthz").status_code == 200


def test_a_long_body_is_no_long_head(admin: Client) -> None:
    """In one piece, and in many small ones, more of which stands between the chunks than a head may have."""
    admin.pool("long-bodies", 5, "checkout")
    rows = b"party_id\nann\n" + b"\n" * 300 * 1024
    headers = {"Content-Type": "text/csv"}
    whole = admin.post("/v1/pools/long-bodies/import", content=rows, headers=headers)
    pieces = admin.post(
        "/v1/pools/long-bodies/import",
        content=(rows[at : at + 16] for at in range(0, len(rows), 16)),
        headers=headers,
    )
    assert (whole.status_code, pieces.status_code) == (200, 200)


NO_HTTP = [b"\x16\x03\x01\x02", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"]


@pytest.mark.parametrize("raw", NO_HTTP)
def test_what_is_no_http_is_told_so(server: Server, raw: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(raw)
        assert connection.recv(1_000).startswith(b"HTTP/1.1 400 ")
