"""What people do in the stories: sign up at a page with an address, and look who needs staff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairhold import Fairhold
from fairhold.overview import Needs
from tests.http.server import Client
from tests.notifiers.servers import Receiver, receiver
from tests.own_thread import run_in_own_thread
from tests.pages.visitor import Form, Visitor

DAY_S = 86_400


def token_of(address: str) -> str:
    """Return the edit token out of the address of a booking's page."""
    found = re.search(r"/b/([^/?#]+)", address)
    assert found, address
    return found[1]


@contextmanager
def carried(admin: Client) -> Iterator[Receiver]:
    """While this lasts, a program of the organiser is told of offers."""
    with receiver() as hook:
        made = admin.ask("POST", "/v1/webhooks", {"url": hook.url, "kinds": ["offer"]}, expect=201)
        yield hook
        admin.ask("DELETE", f"/v1/webhooks/{made['id']}")


def full_pool(admin: Client, key: str, preset: str = "class_waitlist", **fields: Any) -> Any:
    """Make a pool of one place, which Olga has; return her booking."""
    admin.pool(key, 1, preset, **fields)
    olga = admin.book(key, "olga")
    return admin.act(olga["id"], "confirm")


def waiting_by_page(admin: Client, visitor: Visitor, pool: str, name: str, **given: str) -> Any:
    """Join the line at the page of a full pool and give an address; return the booking with its token."""
    token = token_of(visitor.sign_up(pool))
    say_details(visitor, token, name=name, **{"email": f"{name.lower()}@example.org", **given})
    found = next(
        it for it in admin.ask("GET", f"/v1/pools/{pool}/line")["items"] if it["party"]["name"] == name
    )
    assert found["door"] == "page"
    return {**found, "edit_token": token}


def say_details(visitor: Visitor, token: str, **details: str) -> None:
    """Fill in the form of a booking's page, and send it."""
    forms = Form(visitor.look(f"/b/{token}")).forms
    action, fields = next(form for form in forms if form[0].partition("?")[0].endswith("/details"))
    visitor.submit(action, {**fields, **details})


def needs_of(url: str) -> Needs:
    """Return what needs staff, as the console shows it."""

    async def look() -> Needs:
        async with Fairhold.open(url, ticker=False) as hf:
            return await hf.needs()

    return run_in_own_thread(look)


def events(client: Client, pool: str, booking: Any) -> list[str]:
    """Return what happened to a booking, oldest first, by the codes of its story."""
    return [step["code"] for step in client.ask("GET", f"/v1/bookings/{booking['id']}/explain")["items"]]


def messages(client: Client, booking: Any, kind: str = "offer") -> list[tuple[str, str]]:
    """Return the state of each message of a kind about a booking, with what went wrong."""
    told = client.ask("GET", f"/v1/bookings/{booking['id']}/messages")["items"]
    return [(it["state"], it["error"]) for it in told if it["kind"] == kind]
