"""The drawer of letters, for trying out: staff read what nobody was sent, of their own org alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.console.desk import Desk, make_members
from tests.http.server import Client, make_key, serving
from tests.notifiers.servers import mail_server
from tests.pages.visitor import heading, plain

HERE = "/console/letters"
BANNER = "Letters are kept in a drawer here, for trying out"


@pytest.fixture(scope="module")
def told(admin: Client) -> str:
    """Ann and Bea are told something, Ann that she has a place; the id of the pool."""
    pool = admin.pool("kept-letters", 1, title="Kept <b>letters</b>")
    ann = admin.book("kept-letters", {"id": "ann", "name": "Ann", "contacts": {"email": "ann@example.org"}})
    admin.act(ann["id"], "confirm")
    bea = {"id": "bea", "name": "<i>Bea</i>", "contacts": {"email": "bea@example.org"}}
    admin.book("kept-letters", bea)
    admin.advance(1)
    return str(pool["id"])


def letters(page: str) -> list[str]:
    return re.findall(rf'href="({HERE}/\d+)"', page)


def test_a_letter_is_found_and_its_links_work(sam: Desk, told: str) -> None:
    page = sam.look(HERE)
    assert heading(page) == "Letters in the drawer"
    words = plain(page)
    assert "None of these was sent." in words
    assert "gone when the service is started again" in words
    assert "To have letters sent, set FAIRHOLD_SMTP_URL and FAIRHOLD_MAIL_FROM" in words
    # The newest first: Bea joined the line after Ann had her place.
    assert words.index("bea@example.org") < words.index("ann@example.org")
    assert f"/console/pools/{told}" in page
    letter = sam.look(letters(page)[1])
    assert "ann@example.org" in plain(letter)
    assert "Its links act as the person it is written to." in plain(letter)
    (link, *_) = re.findall(r'<a href="(http://[^"]+/b/[^"]+)"', letter)
    assert heading(sam.look(link)) == "The place is yours"


def test_what_people_write_is_no_markup_in_a_letter_either(sam: Desk, told: str) -> None:
    for path in (HERE, *letters(sam.look(HERE))[:2]):
        page = sam.look(path)
        assert "Kept &lt;b&gt;letters" in page
        assert "<b>" not in page
        assert "<i>" not in page


def test_every_page_says_that_letters_are_kept(sam: Desk, rita: Desk, stranger: Desk, told: str) -> None:
    for path in ("/console/pools", "/console/needs", "/console/settings", f"/console/pools/{told}"):
        assert BANNER in plain(sam.look(path)), path
        assert f'href="{HERE}"' in sam.look(path), path
        # Who may not read the letters is not led to them.
        assert BANNER in plain(rita.look(path)), path
        assert HERE not in rita.look(path), path
    assert "Look into the drawer" not in sam.look(HERE)
    assert BANNER not in plain(stranger.look("/console/sign-in"))


def test_only_staff_read_letters_for_their_links_act(
    sam: Desk, rita: Desk, stranger: Desk, told: str
) -> None:
    one = letters(sam.look(HERE))[0]
    for path in (HERE, one):
        assert rita.get(path).status_code == 403
        assert stranger.get(path).headers["location"].startswith("/console/sign-in")


def test_another_org_reads_none_of_them(sam: Desk, otto: Desk, told: str) -> None:
    page = otto.look(HERE)
    assert "There are none yet." in plain(page)
    assert letters(page) == []
    assert otto.get(letters(sam.look(HERE))[0]).status_code == 404


@pytest.mark.parametrize("number", ["999999", "nope", "-1", "0", "1e3"])
def test_a_letter_that_is_not_there_is_not_found(sam: Desk, number: str) -> None:
    assert sam.get(f"{HERE}/{number}").status_code == 404


def test_where_letters_are_sent_there_is_no_drawer(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/mail.db"
    with mail_server() as mail:
        settings = {"fairhold_smtp_url": mail.url, "fairhold_mail_from": "desk@example.org"}
        with serving(url, "--test-clock", **settings) as server, Desk(base_url=server.base) as desk:
            make_members(url)
            assert make_key(url)
            desk.sign_in("Olga")
            assert desk.get(HERE).status_code == 404
            assert desk.get(f"{HERE}/1").status_code == 404
            for path in ("/console/pools", "/console/needs", "/console/settings"):
                page = desk.look(path)
                assert "about-letters" not in page
                assert HERE not in page
            assert "Nothing needs you. All is well." in plain(desk.look("/console/needs"))
