"""Pools as receptionists have them on an ordinary day, for tests and screenshots."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fairhold import Fairhold, granted
from tests.browser import flows
from tests.browser.flows import new_key, now_of, person
from tests.http.server import Client
from tests.own_thread import run_in_own_thread

NAMES = ["Ann", "Bea", "Cyd", "Dee", "Eli", "Fay", "Gus", "Hal", "Ivy", "Jon", "Kim", "Lea", "Max", "Nia"]


def signed_up(url: str, pool: str, name: str, **contacts: str) -> str:
    """Sign somebody up as the public page does; the booking's id."""

    async def sign_up() -> str:
        async with Fairhold.open(url, ticker=False) as hf:
            party = {"id": name.lower(), "name": name, "contacts": contacts}
            return granted(await hf.book(pool, party, door="page")).id

    return run_in_own_thread(sign_up)


def freed(url: str, admin: Client, pool: str, name: str, **contacts: str) -> str:
    """A full pool whose one seat comes free for somebody who came by the page; the booking's id."""
    held = admin.book(pool, "holder", confirmed=True)
    booking = signed_up(url, pool, name, **contacts)
    admin.act(held["id"], "cancel", {"as_staff": True})
    # Whoever signs up so does by this process's clock, which is ahead of the service's by as long as it runs.
    admin.advance(300)
    return booking


def yoga(admin: Client, size: int = 6, waiting: int = 5, **fields: Any) -> str:
    """A class that is nearly full, with a line, an offer in flight and a hold; its key."""
    key = new_key("yoga")
    body = {
        "title": "Saturday yoga",
        "starts_at": (now_of(admin) + timedelta(days=5)).isoformat(),
        "time_zone": "Europe/Helsinki",
        "attributes": {"location": "Studio 2"},
    }
    admin.pool(key, size, **body | fields)
    names = iter(NAMES)
    made = [admin.book(key, person(next(names))) for _ in range(size)]
    for booking in made[:-1]:
        admin.act(booking["id"], "confirm")
    for _ in range(waiting):
        admin.book(key, person(next(names)))
    if waiting > 1:
        admin.act(made[0]["id"], "cancel")
    return key


def gala(admin: Client) -> str:
    """An evening with three quotas, an open share and questions, half full."""
    key = flows.gala(admin, sizes=(12, 4, 3), guests=0, open_size=3)
    for index, name in enumerate(NAMES):
        quota = "guests" if index % 2 else "members"
        made = admin.book(key, person(name), quota=quota)
        if made["state"] == "held" and index < 8:
            admin.act(made["id"], "confirm")
    return key


def salon(admin: Client) -> str:
    """A day of chairs: some taken, one handed back because nobody in line took it."""
    key = new_key("salon")
    day = now_of(admin) + timedelta(hours=20)
    units = [
        {"label": f"{n}:00", "starts_at": (day + timedelta(hours=n - 9)).isoformat()} for n in range(9, 17)
    ]
    body = {"key": key, "title": "Chairs tomorrow", "preset": "last_minute", "time_zone": "Europe/Helsinki"}
    body |= {"policy": {"tries_max": 1}, "quotas": [{"key": "main", "units": units}]}
    admin.ask("POST", "/v1/pools", body, expect=201)
    made = [admin.book(key, person(name)) for name in NAMES[:8]]
    for booking in made[:6]:
        admin.act(booking["id"], "confirm")
    late = admin.book(key, person("Kim"))
    admin.book(key, person("Lea"))
    admin.act(made[2]["id"], "cancel")
    admin.act(late["id"], "decline")
    return key
