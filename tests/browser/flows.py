"""What people do on the pages, and the pools that they do it in."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Any

from playwright.sync_api import Page, expect

from tests.http.server import Client

_numbers = itertools.count(1)

QUESTIONS: list[dict[str, Any]] = [
    {"key": "diet", "title": "Is there anything you do not eat?", "help": "So that the kitchen knows."},
    {"key": "meal", "title": "Main course", "kind": "choice", "choices": ["Fish", "Beans"], "required": True},
    {"key": "rules", "title": "I have read the house rules", "kind": "checkbox", "required": True},
    {"key": "age", "title": "Your age", "kind": "number", "min": 18, "max": 120},
]
WORDS = {
    "en": {
        "held": "A place is held for you",
        "yours": "The place is yours",
        "position": "You are #{} in line",
        "ahead": "{} ahead of you",
        "turn": "It is your turn",
        "free": "A place is free for you",
        "claimed": "It is yours",
        "thanks": "Thank you for telling us",
        "cancelled": "This booking is cancelled",
        "over": "The time ran out",
    },
    "fi": {
        "held": "Sinulle on varattu paikka",
        "yours": "Paikka on sinun",
        "position": "Olet jonossa numero {}",
        "ahead": "Edelläsi {}",
        "turn": "On sinun vuorosi",
        "free": "Sinulle on vapautunut paikka",
        "claimed": "Se on sinun",
        "thanks": "Kiitos, että ilmoitit",
        "cancelled": "Tämä varaus on peruttu",
        "over": "Aika loppui",
    },
}


def person(name: str) -> dict[str, Any]:
    return {"id": name.lower(), "name": name, "contacts": {"email": f"{name.lower()}@example.org"}}


def new_key(name: str) -> str:
    return f"{name}-{next(_numbers)}"


def now_of(admin: Client) -> datetime:
    return datetime.fromisoformat(admin.ask("POST", "/v1/clock", {"advance_s": 0})["now"])


def evening(admin: Client, days: int) -> str:
    """Six in the evening in Helsinki, so many days from now."""
    return (
        (now_of(admin) + timedelta(days=days)).replace(hour=16, minute=0, second=0, microsecond=0).isoformat()
    )


def gala(admin: Client, *, sizes: tuple[int, int, int] = (40, 10, 5), guests: int = 12, **fields: Any) -> str:
    """An evening with several quotas, an open share and questions, and so many guests."""
    members_max, guests_max, crew_max = sizes
    key = new_key("gala")
    body = {
        "key": key,
        "title": "Spring gala at the old mill",
        "preset": "event_signup",
        "quotas": [
            {"key": "members", "title": "Members", "size": members_max},
            {"key": "guests", "title": "Guests", "size": guests_max},
            {"key": "crew", "title": "Crew", "size": crew_max, "eligible": {"tag": "crew"}},
        ],
        "open_size": 10,
        "starts_at": evening(admin, 12),
        "time_zone": "Europe/Helsinki",
        "price": {"amount": 4500, "currency": "EUR"},
        "questions": QUESTIONS,
        "attributes": {
            "location": "Old Mill, Mill Lane 4",
            "description": "Dinner, speeches that are mercifully short, and dancing until midnight.",
        },
    }
    admin.ask("POST", "/v1/pools", body | fields, expect=201)
    for n in range(guests):
        admin.book(key, f"guest-{n}", quota="guests", as_staff=True)
    return key


def full_class(admin: Client, preset: str = "class_waitlist", **fields: Any) -> tuple[str, Any]:
    """A class whose only place Olga has; its key, and her booking."""
    key = new_key("yoga")
    body = {"title": "Saturday yoga", "starts_at": evening(admin, 5)}
    admin.pool(key, 1, preset, time_zone="Europe/Helsinki", **body | fields)
    olga = admin.book(key, person("Olga"))
    admin.act(olga["id"], "confirm")
    return key, olga


def offer_to(admin: Client, name: str = "Ann", preset: str = "class_waitlist", **fields: Any) -> str:
    """The address of a new offer to somebody."""
    key, olga = full_class(admin, preset, **fields)
    made = admin.book(key, person(name))
    admin.act(olga["id"], "cancel")
    return f"/o/{admin.booking(made['id'])['offer']['token']}"


def heading(page: Page) -> Any:
    return page.get_by_role("heading", level=1)


def says(page: Page, words: str) -> None:
    expect(heading(page)).to_have_text(words)


def fill_in(page: Page, *, questions: bool = False) -> None:
    page.locator("#name").fill("Ann Example")
    page.locator("#email").fill("ann@example.org")
    if questions:
        page.locator("#q-diet").fill("nuts")
        page.get_by_label("Fish").check()
        page.locator("#q-rules").check()
        page.locator("#q-age").fill("44")


def press_main(page: Page) -> None:
    page.locator("main form .button.main").first.click()


def look_again(page: Page, scripts: bool) -> None:
    """Without scripts one reloads; with them there is no need."""
    if not scripts:
        page.reload()
