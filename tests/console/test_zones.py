"""Every time in the console is of a zone that the page names."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tests.console.desk import Desk
from tests.http.server import Client
from tests.pages.visitor import plain

HELSINKI, TOKYO = "Europe/Helsinki", "Asia/Tokyo"


@pytest.fixture(scope="module")
def pools(admin: Client) -> dict[str, str]:
    """Two pools in Helsinki and one in Tokyo, with somebody in each."""
    for key, zone in (("sauna", HELSINKI), ("rowing", HELSINKI), ("sushi", TOKYO)):
        admin.pool(key, 2, title=key.title(), time_zone=zone)
        admin.book(key, {"id": "zed", "name": "Zed"})
    return {"sauna": HELSINKI, "rowing": HELSINKI, "sushi": TOKYO}


def times(page: str) -> list[tuple[datetime, str]]:
    """Each instant of a page, and how it is said."""
    found = re.findall(r'<time datetime="([^"]+)">([^<]+)</time>', page)
    return [(datetime.fromisoformat(at), said.replace("\u202f", " ")) for at, said in found]


def said_in(at: datetime, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    return f"{local.hour % 12 or 12}:{local.minute:02} {'AM' if local.hour < 12 else 'PM'}"


@pytest.mark.parametrize("page", ["/console/happened", "/console/happened?person=zed", "/console/find?q=zed"])
def test_what_is_of_several_pools_is_told_in_one_zone_that_is_named(
    rita: Desk, pools: dict[str, str], page: str
) -> None:
    text = rita.look(page)
    assert "Times are those of Helsinki." in plain(text)
    assert len(times(text)) >= 3
    for at, said in times(text):
        assert said_in(at, HELSINKI) in said


def test_a_pool_of_its_own_is_told_in_its_zone(rita: Desk, pools: dict[str, str]) -> None:
    text = rita.look("/console/happened?pool=sushi")
    assert "Times are those of Tokyo." in plain(text)
    assert all(said == said_in(at, TOKYO) for at, said in times(text))


@pytest.mark.parametrize("tab", ["members", "keys", "webhooks"])
def test_settings_say_whose_times_they_tell(olga: Desk, pools: dict[str, str], tab: str) -> None:
    assert "Times are those of Helsinki." in plain(olga.look(f"/console/settings/{tab}"))


def test_utc_is_not_called_a_place_in_finnish(otto: Desk) -> None:
    page = plain(otto.look("/console/settings/keys?lang=fi"))
    assert "Aikavyöhyke: UTC." in page
