"""Webhooks, received by a real server that checks their signatures; and the guard that says where they go."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from fairhold.clock import SystemClock
from fairhold.messages.letter import payload
from fairhold.messages.sample import samples
from fairhold.notifiers.base import Outgoing, Permanent, Temporary
from fairhold.notifiers.webhook import WebhookNotifier
from fairhold.notifiers.webhook.guard import Guard, is_public
from fairhold.tokens import webhook_secret
from testbed.ports import free_port
from tests.notifiers.servers import Receiver, receiver

SECRET = webhook_secret("a secret of the tests", "default", "wh1", 1)


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as server:
        yield server


def message(url: str) -> Outgoing:
    body = payload(samples("offer")[0], thin=False)
    return Outgoing("p1-7-0", "offer", url, payload=body, secret=SECRET, sent_at=SystemClock().now())


def anywhere() -> WebhookNotifier:
    return WebhookNotifier(Guard(allows_private=True))


async def test_where_a_message_goes_is_not_logged(hook: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    """An address of a webhook is often a secret by itself."""
    with caplog.at_level(logging.DEBUG):
        await anywhere().send(message(hook.url + "/in/path-secret"))
        with pytest.raises(Temporary):
            await anywhere().send(message(f"http://127.0.0.1:{free_port()}/in/path-secret"))
    assert "httpcore2" in caplog.text
    assert "path-secret" not in caplog.text


async def test_a_receiver_can_tell_that_it_was_us(hook: Receiver) -> None:
    await anywhere().send(message(hook.url + "/in?x=1"))
    (got,) = hook.received
    assert got.path == "/in?x=1"
    assert got.headers["host"] == hook.url.removeprefix("http://")
    assert got.headers["webhook-id"] == "p1-7-0"
    told = Webhook(SECRET).verify(got.body, got.headers)
    assert told["type"] == "offer"
    assert told["data"]["links"]["offer"].startswith("https://seats.example.org/o/")
    assert told["data"]["party"]["contacts"]["email"] == "ann@example.org"
    for secret, body in ((webhook_secret("x", "default", "wh1", 1), got.body), (SECRET, got.body + b" ")):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, got.headers)


def test_a_thin_message_names_and_tells_nothing() -> None:
    thin = payload(samples("offer")[0], thin=True)
    assert set(thin["data"]) == {"id", "to", "org", "pool", "booking"}
    assert "ann" not in str(thin).lower()
    assert "/o/" not in str(thin)


def test_each_webhook_and_each_generation_has_a_secret_of_its_own() -> None:
    made = {webhook_secret(a, b, c, d) for a in "xy" for b in "xy" for c in "xy" for d in (1, 2)}
    assert len(made) == 16
    assert all(it.startswith("whsec_") for it in made)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(410, Permanent), (400, Temporary), (404, Temporary), (500, Temporary), (302, Temporary)],
)
async def test_anything_but_a_yes_is_tried_again(hook: Receiver, status: int, kind: type[Exception]) -> None:
    hook.status = status
    with pytest.raises(kind, match=str(status)):
        await anywhere().send(message(hook.url))


async def test_a_redirect_leads_nowhere(hook: Receiver) -> None:
    with receiver() as inner:
        hook.status, hook.headers = 307, {"Location": inner.url}
        with pytest.raises(Temporary, match="307"):
            await anywhere().send(message(hook.url))
        assert inner.received == []


async def test_a_receiver_that_is_away_or_slow_is_tried_again(
    hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Temporary, match="cannot be reached"):
        await anywhere().send(message("http://127.0.0.1:9/"))
    monkeypatch.setattr("fairhold.notifiers.webhook._TIMEOUT_S", 0.2)
    hook.stall_s = 3_600.0
    with pytest.raises(Temporary, match="no answer"):
        await anywhere().send(message(hook.url))


# Where webhooks may not go.

INNER = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "017700000001",
    "0",
    "localhost",
    "LOCALHOST",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:10.0.0.1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "[fe80::1]",
    "[fc00::1]",
    "[2002:7f00:1::]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::a00:1]",
    "[64:ff9b:1:7f00:1::808:808]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[fec0::1]",
    "224.0.0.1",
    "255.255.255.255",
]


@pytest.mark.parametrize("host", INNER)
async def test_no_spelling_of_an_inner_address_is_gone_to(host: str) -> None:
    with pytest.raises(Permanent, match="not a public one"):
        await Guard().resolve(f"https://{host}/")


async def test_a_name_that_points_inside_is_not_gone_to(hook: Receiver) -> None:
    async def inside(host: str, port: int) -> list[str]:
        return ["93.184.215.14", "127.0.0.1"]

    with pytest.raises(Permanent, match="not a public one"):
        await WebhookNotifier(Guard(resolve=inside)).send(message("https://rebind.example.org/"))
    assert hook.received == []


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "8.8.8.8", "64:ff9b::808:808"]
)
async def test_a_public_address_is_gone_to(address: str) -> None:
    async def found(host: str, port: int) -> list[str]:
        return [address]

    assert is_public(address)
    assert await Guard(resolve=found).resolve("https://example.org") == address


@pytest.mark.parametrize(
    "url", ["ftp://example.org", "https://", "https://user@example.org", "https://[::", "x"]
)
async def test_what_is_no_address_of_a_webhook_is_given_up(url: str) -> None:
    with pytest.raises(Permanent):
        await Guard().resolve(url)


async def test_an_open_line_is_not_used() -> None:
    with pytest.raises(Permanent, match="https"):
        await WebhookNotifier(Guard()).send(message("http://example.org/"))


async def test_a_name_that_is_not_known_is_tried_again() -> None:
    async def nothing(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(Temporary):
        await Guard(resolve=nothing).resolve("https://example.org")


@pytest.mark.guarantee(
    "inner-address.refused",
    "A name that changes its mind between the look and the connection leads nowhere else.",
)
async def test_the_connection_goes_to_the_address_that_was_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The name is resolved once, by the guard; TLS still checks the name, not the address."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    asked: list[str] = []

    async def pinned(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    def served_as(name: str) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(name).configure_cert(context)
        return context

    notifier = WebhookNotifier(Guard(allows_private=True, resolve=pinned))
    with receiver(served_as("hooks.example.org")) as server:
        url = server.url.replace("127.0.0.1", "hooks.example.org")
        await notifier.send(message(url))
        assert asked == ["hooks.example.org"]
        assert server.received[0].headers["host"].startswith("hooks.example.org:")
    with receiver(served_as("other.example.org")) as server:
        with pytest.raises(Temporary, match="cannot be reached"):
            await notifier.send(
                replace(message(url), address=server.url.replace("127.0.0.1", "hooks.example.org"))
            )
        assert server.received == []
