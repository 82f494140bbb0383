"""The stream: every change, in order, from any node, and again from where one stopped."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.http.server import Client, Plain, Server, make_key, serving
from tests.patience import PATIENCE_S, wait_until


class Listener:
    """A client of the stream, in a thread of its own."""

    def __init__(self, server: Server, key: str, last: str | None = None, path: str = "/v1/stream") -> None:
        headers = {"Authorization": key}
        if last:
            headers["Last-Event-ID"] = last
        self.messages: list[tuple[str, Any]] = []
        self.last = last
        self.ended = threading.Event()
        self._news = threading.Condition()
        self._client = Plain(base_url=server.base, headers=headers)
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._listen, args=(path,), daemon=True)
        self._thread.start()

    def _listen(self, path: str) -> None:
        with (
            contextlib.suppress(httpx.TransportError, RuntimeError),
            self._client.stream("GET", path) as answer,
        ):
            assert answer.status_code == 200, answer.read()
            self._socket = answer.extensions["network_stream"].get_extra_info("socket")
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                if not line:
                    self._take(fields)
                    fields = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    fields[name] = value
        self.ended.set()

    def _take(self, fields: dict[str, str]) -> None:
        if "event" in fields:
            with self._news:
                self.last = fields.get("id", self.last)
                self.messages.append((fields["event"], json.loads(fields["data"])))
                self._news.notify_all()

    def wait(self, event: str, found: Any = lambda data: True, seconds: float = PATIENCE_S) -> Any:
        """The data of the first message of a kind that is as it should be."""

        def there() -> Any:
            return [data for kind, data in self.messages if kind == event and found(data)]

        with self._news:
            assert self._news.wait_for(there, seconds), (event, [kind for kind, _ in self.messages])
            return there()[0]

    def close(self) -> None:
        if self._socket is not None:
            # While the thread reads, closing alone would not end the connection.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._client.close()


@contextlib.contextmanager
def listening(server: Server, client: Client, **options: Any) -> Iterator[Listener]:
    listener = Listener(server, client.headers["authorization"], **options)
    try:
        yield listener
    finally:
        listener.close()


def of(party: str) -> Any:
    return lambda data: data["booking"]["party"]["id"] == party


def test_changes_are_told_as_they_happen(server: Server, admin: Client, reader: Client) -> None:
    admin.pool("live")
    with admin.stream("GET", "/v1/stream") as answer:
        assert answer.headers["x-content-type-options"] == "nosniff"
    with listening(server, admin) as staff, listening(server, reader) as other:
        staff.wait("ready")
        other.wait("ready")
        olga = admin.book("live", "olga")
        told = staff.wait("booking", of("olga"))
        assert told["booking"]["state"] == "held"
        assert [step["event"] for step in told["changes"]] == ["Held"]
        # That it was made may have been told before.
        staff.wait("pool", lambda data: [quota["used"] for quota in data["pool"]["quotas"]] == [1])
        admin.book("live", "ann")
        admin.act(olga["id"], "cancel")
        offered = staff.wait("booking", lambda data: data["booking"]["state"] == "offered")
        assert offered["booking"]["offer"]["token"]
        seen = other.wait("booking", lambda data: data["booking"]["state"] == "offered")
        assert seen["booking"]["offer"] is None


def test_who_watches_with_a_key_that_is_revoked_is_told_nothing_more(server: Server, admin: Client) -> None:
    admin.pool("secret")
    made = admin.ask("POST", "/v1/keys", {"role": "read", "name": "a watcher"}, expect=201)
    with server.client(made["secret"]) as client, listening(server, client) as listener:
        listener.wait("ready")
        admin.book("secret", "ann")
        listener.wait("booking", of("ann"))
        admin.ask("DELETE", f"/v1/keys/{made['id']}")
        admin.book("secret", "bea")
        assert listener.ended.wait(PATIENCE_S), "it goes on for ever"
        assert not [data for kind, data in listener.messages if kind == "booking" and of("bea")(data)]


def test_what_timers_do_is_told_too(server: Server, admin: Client) -> None:
    admin.pool("timed", 1, "checkout")
    with listening(server, admin, path="/v1/stream?pool=timed") as listener:
        listener.wait("ready")
        admin.book("timed", "ann")
        admin.advance(900)
        listener.wait("booking", lambda data: data["booking"]["state"] == "expired")
        admin.pool("elsewhere", 1)
        admin.book("timed", "bea")
        listener.wait("booking", of("bea"))
        keys = {data["pool"]["key"] for kind, data in listener.messages if kind == "pool"}
        assert keys == {"timed"}


def test_a_dropped_client_resumes_and_misses_nothing(server: Server, admin: Client) -> None:
    admin.pool("resumed", 100, "checkout")
    seen: set[str] = set()
    last = None
    for round_ in range(3):
        with listening(server, admin, last=last) as listener:
            listener.wait("ready")
            admin.book("resumed", f"watched {round_}")
            listener.wait("booking", of(f"watched {round_}"))
            seen |= {data["booking"]["party"]["id"] for kind, data in listener.messages if kind == "booking"}
            last = listener.last
        admin.book("resumed", f"unwatched {round_}")
    with listening(server, admin, last=last) as listener:
        listener.wait("booking", of("unwatched 2"))
        seen |= {data["booking"]["party"]["id"] for kind, data in listener.messages if kind == "booking"}
    assert seen == {f"{how} {n}" for how in ("watched", "unwatched") for n in range(3)}


def test_a_cursor_that_is_not_known_any_more_is_told_to_read_anew(server: Server, admin: Client) -> None:
    for last in ("nonsense", "1.2.3.4", "9223372036854775807.1.1.1800000000000", "9" * 30):
        with listening(server, admin, last=last) as listener:
            listener.wait("reset")


def test_only_looking_whether_there_is_a_stream_opens_none(admin: Client) -> None:
    answer = admin.head("/v1/stream")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")


def test_another_org_hears_nothing(server: Server, admin: Client, other_org: Client) -> None:
    admin.pool("private", 5, "checkout")
    with listening(server, other_org) as listener:
        listener.wait("ready")
        admin.book("private", "ann")
        other_org.pool("their-own")
        listener.wait("pool", lambda data: data["pool"]["key"] == "their-own")
        assert {data["pool"]["key"] for kind, data in listener.messages if kind == "pool"} == {"their-own"}
    assert other_org.ask("GET", "/v1/stream?pool=private", expect=404)["code"] == "unknown"


def test_changes_of_another_node_are_told(postgres_url: str) -> None:
    key = make_key(postgres_url)
    with serving(postgres_url) as one, serving(postgres_url) as two:
        with one.client(key) as here, two.client(key) as there:
            here.pool("shared", 50, "checkout")
            with listening(one, here) as listener:
                listener.wait("ready")
                for n in range(20):
                    (here if n % 2 else there).book("shared", f"party {n}")
                for n in range(20):
                    listener.wait("booking", of(f"party {n}"))
        assert one.stop() == 0
        assert listener.ended.wait(PATIENCE_S)


def test_a_client_whose_node_has_died_resumes_at_another(postgres_url: str) -> None:
    """Again and again its node is killed while both write; with the last id it goes on at the other."""
    key, seen = make_key(postgres_url), dict[str, int]()
    last: str | None = None
    with Server(postgres_url) as one, Server(postgres_url) as two, one.client(key) as client:
        client.pool("moving", None, "checkout")
        nodes = [one, two]
        for round_ in range(4):
            here, there = nodes
            with here.client(key) as near, there.client(key) as far:
                with listening(here, near, last=last) as listener:
                    listener.wait("ready" if last is None else "booking")
                    for n in range(10):
                        (near, far)[n % 2].book("moving", f"{round_} {n}")
                    listener.wait("booking", of(f"{round_} 4"))
                    here.kill()
                    assert listener.ended.wait(PATIENCE_S)
                for n in range(10, 15):
                    far.book("moving", f"{round_} {n}")
            for kind, data in listener.messages:
                assert kind != "reset"
                if kind == "booking":
                    seen[data["booking"]["party"]["id"]] = seen.get(data["booking"]["party"]["id"], 0) + 1
            last = listener.last
            here.start()
            nodes = [there, here]
        with nodes[0].client(key) as near, listening(nodes[0], near, last=last) as listener:
            listener.wait("booking", of("3 14"))
            seen |= {
                data["booking"]["party"]["id"]: 1 for kind, data in listener.messages if kind == "booking"
            }
    assert set(seen) == {f"{round_} {n}" for round_ in range(4) for n in range(15)}


def _streams(client: Client) -> float:
    found = re.search(r"^fairhold_streams (\S+)", client.get("/metrics").text, re.MULTILINE)
    assert found
    return float(found[1])


def test_who_asked_for_more_behind_the_stream_and_went_is_not_kept(server: Server, admin: Client) -> None:
    """uvicorn tells of a lost connection only the newest request on it."""
    wait_until(lambda: _streams(admin) == 0)
    admin.pool("went", None, "checkout")
    key = admin.headers["authorization"]
    ask = f"host: fairhold\r\nauthorization: {key}\r\n\r\n"
    both = f"GET /v1/stream HTTP/1.1\r\n{ask}GET /v1/pools HTTP/1.1\r\n{ask}".encode()
    for _ in range(10):
        # Some of these go before their stream has begun.
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as client:
            client.sendall(both)
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as client:
        client.sendall(both)
        heard = b""
        while b"event: ready" not in heard:
            heard += client.recv(65536)
        assert _streams(admin) >= 1
    numbers = count()

    def is_let_go() -> bool:
        # It is noticed when there is something to tell.
        admin.book("went", f"party {next(numbers)}")
        return _streams(admin) == 0

    wait_until(is_let_go)


def test_what_a_stream_says_is_explained() -> None:
    guide = Path(__file__).parents[2] / "docs/howto/http.md"
    watching = guide.read_text(encoding="utf-8").partition("## Watching")[2].partition("\n## ")[0]
    for event in ("ready", "booking", "pool", "reset"):
        assert f"`{event}`" in watching
