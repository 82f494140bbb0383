"""Who has not said a name yet is called so, and by the reference: what a page made up for them is no name."""

from __future__ import annotations

import pytest

from tests.browser.flows import new_key, person
from tests.console.desk import Desk
from tests.http.server import Client
from tests.pages.visitor import plain

MADE_UP = "web-6bf554f343902254ba820df3"


@pytest.fixture(scope="module")
def nameless(admin: Client) -> dict[str, str]:
    """Somebody who holds a chair and has said nothing, Ann who waits, and somebody whose id staff know."""
    key = new_key("nameless")
    body = {"key": key, "preset": "checkout", "quotas": [{"key": "main", "units": ["1A", "1B"]}]}
    pool = admin.ask("POST", "/v1/pools", body, expect=201)
    made = admin.book(key, {"id": MADE_UP}, units=["1A"])
    admin.book(key, {"id": "member-7"}, units=["1B"])
    return {"pool": pool["id"], "booking": made["id"], "reference": made["reference"]}


@pytest.mark.parametrize(
    "page",
    [
        "/console/pools/{pool}",
        "/console/pools/{pool}/bookings",
        "/console/pools/{pool}/list",
        "/console/bookings/{booking}",
        "/console/happened?pool={pool}",
        "/console/happened?person={reference}",
        "/console/find?q=6bf554f343902254ba820df3",
    ],
)
def test_nobody_is_called_by_what_a_page_made_up(rita: Desk, nameless: dict[str, str], page: str) -> None:
    text = rita.look(page.format(**nameless))
    words = plain(text)
    assert f"No name yet · {nameless['reference']}" in words
    assert MADE_UP not in words
    assert MADE_UP not in text.replace(f'value="{MADE_UP}"', "")


def test_an_id_that_staff_gave_is_shown_as_it_is(rita: Desk, nameless: dict[str, str]) -> None:
    assert "member-7" in plain(rita.look(f"/console/pools/{nameless['pool']}"))


def test_who_was_passed_over_without_a_name_is_called_so_too(rita: Desk, admin: Client) -> None:
    key = new_key("over")
    admin.pool(key, 1, "last_minute")
    olga = admin.book(key, person("Olga"))
    admin.act(olga["id"], "confirm")
    made = admin.book(key, {"id": MADE_UP})
    admin.book(key, person("Ann"))
    admin.act(olga["id"], "cancel")
    admin.act(made["id"], "decline")
    words = plain(rita.look(f"/console/happened?pool={key}"))
    assert f"Passed over: No name yet · {made['reference']} – had had a turn" in words


def test_it_is_said_in_the_language_of_the_page(rita: Desk, nameless: dict[str, str]) -> None:
    assert "Ei vielä nimeä" in rita.look(f"/console/bookings/{nameless['booking']}?lang=fi")
    assert "Noch ohne Namen" in rita.look(f"/console/happened?pool={nameless['pool']}&lang=de")
