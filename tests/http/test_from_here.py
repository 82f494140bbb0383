"""Whether a page of ours asked for it: what browsers say, and what they could be made to say."""

from __future__ import annotations

import pytest

from fairhold.http.from_here import is_from_here

SITE = "https://Seats.example.org/booking"
HOST = {b"host": b"inner:8000"}

OURS: list[dict[bytes, bytes]] = [
    {b"sec-fetch-site": b"same-origin"},
    # Browsers that say where from in one way alone, and programs, which say nothing.
    {b"origin": b"https://seats.example.org"},
    {b"origin": b"http://inner:8000"},
    {b"origin": b"https://inner:8000"},
    {},
    # What the browser says of itself counts for more than a name.
    {b"sec-fetch-site": b"same-origin", b"origin": b"https://another.example"},
]

THEIRS: list[dict[bytes, bytes]] = [
    {b"sec-fetch-site": b"cross-site"},
    {b"sec-fetch-site": b"same-site"},
    {b"sec-fetch-site": b"none"},
    {b"sec-fetch-site": b"none", b"origin": b"https://seats.example.org"},
    {b"sec-fetch-site": b"cross-site", b"origin": b"https://seats.example.org"},
    {b"sec-fetch-site": b""},
    {b"sec-fetch-site": b"\xff"},
    {b"origin": b"https://evil.example"},
    {b"origin": b"https://seats.example.org.evil.example"},
    {b"origin": b"https://evil.example/https://seats.example.org"},
    {b"origin": b"https://seats.example.org@evil.example"},
    {b"origin": b"http://seats.example.org"},
    {b"origin": b"https://seats.example.org:8443"},
    {b"origin": b"ftp://inner:8000"},
    {b"origin": b"http://inner:8001"},
    {b"origin": b"null"},
    {b"origin": b""},
    {b"origin": b"http://[broken"},
    {b"origin": b"\xff"},
]


@pytest.mark.parametrize("said", OURS, ids=str)
def test_what_a_page_of_ours_asks_for(said: dict[bytes, bytes]) -> None:
    assert is_from_here({**HOST, **said}, SITE)


@pytest.mark.parametrize("said", THEIRS, ids=str)
def test_what_a_page_of_others_asks_for(said: dict[bytes, bytes]) -> None:
    assert not is_from_here({**HOST, **said}, SITE)


def test_without_a_host_only_the_site_is_ours() -> None:
    assert is_from_here({b"origin": b"https://seats.example.org"}, SITE)
    assert not is_from_here({b"origin": b"https://"}, SITE)
