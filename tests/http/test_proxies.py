"""Where a request comes from, when something stands in front: only who was named is believed."""

from __future__ import annotations

import json

from tests.http.server import Server, serving


def seen(server: Server, name: str, *forwarded: str) -> str:
    """The address that the service takes a request to come from, which is looked up by the request's id."""
    headers = [("X-Request-ID", name), *(("X-Forwarded-For", it) for it in forwarded)]
    with server.client() as client:
        client.get("/v1/pools", headers=headers)
    lines = [json.loads(line) for line in server.log(until=f'"{name}"').splitlines()]
    [found] = [line["address"] for line in lines if line.get("request_id") == name]
    return str(found)


def test_an_address_that_a_stranger_names_is_not_believed(sqlite_url: str) -> None:
    with serving(sqlite_url) as server:
        assert seen(server, "none") == "127.0.0.1"
        assert seen(server, "said", "203.0.113.9") == "127.0.0.1"


def test_a_named_proxy_is_believed_and_what_stands_before_it_is_not(sqlite_url: str) -> None:
    with serving(sqlite_url, fairhold_proxies="127.0.0.0/28, 10.0.0.7") as server:
        assert seen(server, "none") == "127.0.0.1"
        assert seen(server, "one", "203.0.113.9") == "203.0.113.9"
        # What a client has said of itself stands in front of what the proxy knows.
        assert seen(server, "forged", "192.0.2.1, 203.0.113.9") == "203.0.113.9"
        assert seen(server, "two-proxies", "192.0.2.1, 203.0.113.9, 10.0.0.7") == "203.0.113.9"
    with serving(sqlite_url, fairhold_proxies="10.0.0.7") as server:
        assert seen(server, "another", "203.0.113.9") == "127.0.0.1"
