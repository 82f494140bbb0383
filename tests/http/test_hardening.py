"""What a standard asks of the running service, beyond what our own rules do."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from fairhold.http.logs import JsonLines
from tests.http.server import Client, Server, make_key

FORGED = '{"level":"error","message":"forged"}'
BREAKS = ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1e", "\x85", "\u2028", "\u2029", "\x00", "\x1b[2K"]


@pytest.mark.parametrize(
    "path", ["/", "/v1/pools", "/v1/pools/x/bookings", "/console", "/p/x", "/docs", "/metrics"]
)
def test_nothing_is_traced(admin: Client, path: str) -> None:
    """What a TRACE sent comes back nowhere."""
    answer = admin.request("TRACE", path, headers={"X-Private": "what-only-i-know"})
    assert answer.status_code in (404, 405)
    assert "what-only-i-know" not in answer.text + str(answer.headers)
    assert "TRACE" not in answer.headers.get("allow", "")


@pytest.mark.parametrize(
    "path",
    [
        "/static",
        "/static/",
        "/static/x/",
        "/static/..",
        "/static/%2e%2e/",
        "/docs/",
        "/.git/",
        "/.git/config",
    ],
)
def test_no_folder_is_shown(admin: Client, path: str) -> None:
    assert admin.get(path).status_code == 404


def lines_of(log: str) -> list[Any]:
    """Every line, as what reads logs reads it: broken at every line's end that anybody knows."""
    return [json.loads(line) for line in log.splitlines()]


@pytest.mark.parametrize("text", BREAKS, ids=ascii)
def test_a_break_in_what_is_logged_breaks_no_line(text: str) -> None:
    """Whatever is said in a message, its facts or an error, it is one line, and said as it was."""
    said = f"before{text}{FORGED}"
    record = logging.makeLogRecord({"msg": "%s", "args": (said,), "name": f"fairhold{text}", "pool": said})
    try:
        raise ValueError(said)
    except ValueError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    (line,) = JsonLines().format(record).split("\n")
    assert "\r" not in line
    read = json.loads(line)
    assert (read["message"], read["pool"]) == (said, said)
    assert FORGED in read["trace"]


def test_nobody_writes_lines_of_their_own_into_the_log(server: Server, admin: Client) -> None:
    """In names, headers, methods, bodies and paths: what is in the log is what we wrote."""
    named = make_key(server.url, "read", name=f"x\n{FORGED}\r\n")
    with server.client(named) as client:
        client.get("/v1/pools", headers={"X-Request-ID": "broken-1"})
    # To look at a password takes its time: once is enough.
    admin.post("/v1/session", json={"org": f"\n{FORGED}", "email": f"x\r\n{FORGED}", "password": FORGED})
    for text in BREAKS:
        said = f"x{text}{FORGED}"
        raw = said.encode()
        admin.request("GET", "/v1/pools", params={"cursor": said})
        admin.post("/v1/pools", json={"key": said, "title": said, "quotas": []})
        admin.post("/v1/pools", content=raw, headers={"Content-Type": "application/json"})
        if text.isprintable() or not text.isascii():
            admin.get(
                "/v1/pools", headers={b"X-Request-ID": raw, b"X-Forwarded-For": raw, b"User-Agent": raw}
            )
    admin.request(FORGED.replace('"', "").translate({ord(it): None for it in "{}:,"}), "/v1/pools")
    admin.get("/v1/pools", headers={"X-Request-ID": "broken-2"})
    log = server.log("broken-2")
    lines = [json.loads(line) for line in log.encode().split(b"\n") if line]
    assert {"broken-1", "broken-2"} <= {line.get("request_id") for line in lines}
    assert not [line for line in lines if line["message"] == "forged"]
    assert not [line for line in lines if line["level"] == "error"]


def test_attempts_to_get_past_the_rules_are_logged(server: Server, admin: Client, public: Client) -> None:
    """Input that is none, roles, wrong keys and too much at once: by their code, with who and from where."""
    admin.post("/v1/pools", content=b"{", headers={"X-Request-ID": "past-input"})
    public.get("/v1/keys", headers={"X-Request-ID": "past-role"})
    admin.post("/v1/pools/nope/bookings", json={"party": "ann"}, headers={"X-Request-ID": "past-rule"})
    with server.client("fh_guessed") as nobody:
        nobody.get("/v1/pools", headers={"X-Request-ID": "past-key"})
    lines = {line.get("request_id"): line for line in lines_of(server.log("past-key"))}
    codes = {name: lines[f"past-{name}"]["code"] for name in ("input", "role", "rule", "key")}
    assert codes == {"input": "invalid", "role": "forbidden", "rule": "unknown", "key": "unauthenticated"}
    assert all(lines[f"past-{name}"]["address"] for name in codes)
    assert all(lines[f"past-{name}"]["key"] for name in ("input", "role", "rule"))
