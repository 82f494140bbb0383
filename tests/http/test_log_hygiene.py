"""What a service logs while people use it names nobody and lets nobody in: no key, token, contact or path."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2 as httpx
import pytest

from fairhold import granted
from fairhold.client import Client as TypedClient
from fairhold.client import NotReached
from testbed.ports import free_port
from tests.http.server import Client, Server, make_key, serving
from tests.http.test_howto import GUIDE, run
from tests.notifiers.servers import MailServer, Receiver, mail_server, receiver

ANN = {
    "id": "ann-4711",
    "name": "Ann Zelda",
    "contacts": {"email": "zelda@example.org", "phone": "+358401234567"},
}
NOBODY = {"id": "nob", "name": "Nobody", "contacts": {"email": "no-such@example.org"}}
# What must be found nowhere: keys, secrets of webhooks, e-mail addresses, numbers, names, links, inner paths.
SECRETS = re.compile(
    r"fhs?_[A-Za-z0-9_-]{6,}|whsec_|[\w.+-]+@[\w-]+\.\w+|358401234567|Zelda|ann-4711|celery|"
    r"hook-path-secret|sms-token|/o/|/b/|/v1/|Bearer|[0-9a-f]{32}"
)


@dataclass
class Town:
    """A service with everything that it talks to."""

    server: Server
    admin: Client
    mail: MailServer
    hook: Receiver
    sms: Receiver


@pytest.fixture(scope="module")
def town(module_url: str) -> Iterator[Town]:
    with mail_server() as mail, receiver() as hook, receiver() as sms:
        sms.answer = b'{"sid": "SM1"}'
        settings = {
            "fairhold_log_level": "debug",
            "fairhold_smtp_url": mail.url,
            "fairhold_mail_from": "Seats <seats@example.com>",
            "fairhold_sms_url": sms.url.replace("http://", "http://AC1:sms-token@"),
            "fairhold_sms_from": "Seats",
            "fairhold_webhooks_to_private": "yes",
        }
        with (
            serving(module_url, "--test-clock", **settings) as server,
            server.client(make_key(module_url)) as admin,
        ):
            yield Town(server, admin, mail, hook, sms)


def heard(where: list[Any], count: int, town: Town) -> None:
    """Time is moved on until so many have arrived: with the clock, messages go out."""
    for _ in range(60):
        if len(where) >= count:
            return
        town.admin.advance(30)
    raise AssertionError(f"{len(where)} of {count} have arrived")


@pytest.mark.guarantee(
    "tokens.nowhere",
    "People sign up, are told in every way, claim, and make mistakes, with the fullest log there is: no "
    "secret, no address and no name is in it.",
)
def test_nothing_secret_is_logged_while_people_use_the_service(town: Town) -> None:
    server, admin = town.server, town.admin
    walked = run(server, admin, GUIDE)
    assert walked.returncode == 0, walked.stderr
    use(town)
    town.mail.down()
    admin.book("hygiene", {**ANN, "id": "again"})
    admin.advance(3_600)
    admin.ask("GET", "/v1/pools/nowhere/o/token", expect=404)
    assert server.stop() == 0
    told = server.log()
    lines = [json.loads(line) for line in told.splitlines()]
    assert len([line for line in lines if line["message"] == "request"]) > 60
    assert sorted({found[0] for found in SECRETS.finditer(told)}) == []


def use(town: Town) -> None:
    """Sign up with a public key, hear of it in every way, claim, change details; and all that goes wrong."""
    server, admin = town.server, town.admin
    public = admin.ask("POST", "/v1/keys", {"role": "public", "name": "site"}, expect=201)["secret"]
    hooked(server, town.hook.url + "/hook-path-secret")
    admin.pool("hygiene", 1, title="Yoga")
    with server.client(public) as person:
        olga = person.book("hygiene", {"id": "olga", "contacts": {"email": "olga@example.org"}})
        ann = person.book("hygiene", ANN)
        person.ask("PATCH", f"/v1/bookings/{ann['edit_token']}", {"answers": {"diet": "no celery"}})
        town.mail.answers["no-such@example.org"] = "550 5.1.1 <no-such@example.org> no such user"
        person.book("hygiene", NOBODY)
        person.act(olga["edit_token"], "cancel")
        token = admin.booking(ann["id"])["offer"]["token"]
        assert person.ask("GET", f"/v1/offers/{token}")["outcome"] == "live"
        heard(town.mail.letters, 3, town)
        heard(town.sms.received, 1, town)
        heard(town.hook.received, 4, town)
        town.hook.status = 500
        assert person.ask("POST", f"/v1/offers/{token}/claim", {})["state"] == "confirmed"
        person.ask("POST", f"/v1/offers/{token}x/claim", {}, expect=404)
        person.get(f"/v1/bookings/{ann['edit_token']}zzz")
        person.post("/v1/pools/hygiene/bookings", content=b'{"party": {"id": "ann-4711", "nam')
        admin.advance(600)
    for wrong in ("Bearer fh_guessed-secret-guessed", "Basic YW5uOnBhc3M="):
        assert (
            httpx.get(f"{server.base}/v1/pools", headers={"Authorization": wrong}, verify=False).status_code
            == 401
        )


def hooked(server: Server, url: str) -> None:
    import asyncio
    import os

    from fairhold import Fairhold

    async def add() -> None:
        async with Fairhold.open(server.url, ticker=False) as hf:
            granted(await hf.add_webhook(url))

    os.environ["FAIRHOLD_WEBHOOKS_TO_PRIVATE"] = "yes"
    try:
        asyncio.run(add())
    finally:
        del os.environ["FAIRHOLD_WEBHOOKS_TO_PRIVATE"]


def test_what_must_not_be_there_would_be_found() -> None:
    """Control: each of them in a line is noticed."""
    for line in (
        "key fh_0123456789",
        "session fhs_0123456789",
        "to zelda@example.org",
        "POST http://127.0.0.1/hook-path-secret",
        "GET /v1/offers/x",
        "token 0123456789abcdef0123456789abcdef",
    ):
        assert SECRETS.search(line)


def test_a_programs_own_log_does_not_get_tokens_from_the_client(caplog: pytest.LogCaptureFixture) -> None:
    """Where the log is turned up, what the client asks is not in it; what others ask is."""
    nowhere = f"http://127.0.0.1:{free_port()}"
    with receiver() as hook, caplog.at_level(logging.DEBUG):
        with TypedClient(hook.url, "fh_secret", tries_max=1) as hf:
            hook.answer = b'{"code": "unknown", "detail": "no"}'
            hook.status = 404
            hf.claim("token-in-a-path")
        with TypedClient(nowhere, "fh_secret", tries_max=1) as hf, pytest.raises(NotReached):
            hf.claim("token-in-a-path")
        assert "token-in-a-path" not in caplog.text
        httpx.post(f"{hook.url}/somebody-elses", verify=False)
        assert "/somebody-elses" in caplog.text, "the program's own requests are logged as before"
