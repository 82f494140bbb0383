"""What must be kept from everybody, and where it is looked for."""

from __future__ import annotations

import asyncio

from tests.database import every_row
from tests.http.server import Server, make_key

MASTER = "the-master-secret-of-this-very-test"


def dump(url: str) -> str:
    """Every row of every table."""
    return str(asyncio.run(every_row(url)))


def used(server: Server) -> tuple[list[str], str]:
    """People book and claim, staff sign in: all that must be kept from everybody, and a booking's id."""
    secret = make_key(server.url, "staff", name="hidden")
    boss = make_key(server.url, "admin", name="boss")
    with server.client(boss) as admin, server.client() as browser:
        hook = admin.ask("POST", "/v1/webhooks", {"url": "https://example.org/hook"}, expect=201)
        olga = {"email": "olga@example.org", "name": "Olga", "role": "staff"}
        invited = admin.ask("POST", "/v1/members", olga, expect=201)["invitation"]["token"]
        eve = admin.ask("POST", "/v1/members", olga | {"email": "eve@example.org", "name": "Eve"}, expect=201)
        body = {"token": invited, "password": "correct horse battery"}
        begun = browser.ask("POST", "/v1/session/invitation", body, expect=201)
        browser.headers["X-CSRF-Token"] = begun["csrf_token"]
        browser.ask("GET", "/v1/session")
        session = browser.cookies["fairhold_session"]
    with server.client(secret) as client:
        client.pool("quiet")
        olga, ann = client.book("quiet", "olga"), client.book("quiet", "ann")
        client.act(olga["id"], "cancel")
        token = client.booking(ann["id"])["offer"]["token"]
        client.ask("GET", f"/v1/offers/{token}")
        client.ask("GET", f"/v1/bookings/{ann['edit_token']}")
        client.ask("POST", f"/v1/offers/{token}/claim", headers={"Idempotency-Key": "quiet"})
    hidden = [MASTER, secret, boss, token, token.split(".")[1], ann["edit_token"], session]
    hidden += [begun["csrf_token"], invited, eve["invitation"]["token"], hook["secret"]]
    assert all(len(it) > 15 for it in hidden)
    return hidden, ann["id"]


def found_in(server: Server, hidden: list[str]) -> list[str]:
    """What of this is in the database or in the log."""
    told = dump(server.url) + server.log()
    return [secret for secret in hidden if secret in told]
