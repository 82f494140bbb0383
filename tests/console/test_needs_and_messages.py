"""Needs you, messages and their deliveries, and CSV in and out."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.desk import Desk, make_members
from tests.console.stage import gala, salon, yoga
from tests.http.server import Client, Server, make_key, serving
from tests.pages.test_live import seen, told
from tests.pages.visitor import plain

GOOD = "party_id,name,email,quantity\nz1,Zoe,zoe@example.org,1\nz2,Yan,,1\n"


def id_of(admin: Client, key: str) -> str:
    return str(admin.ask("GET", f"/v1/pools/{key}")["id"])


def count(page: str) -> int:
    found = page.partition('data-part="needs-count"')[2].partition(">")[2].partition("<")[0]
    return int(found)


def test_what_was_handed_back_is_counted_on_every_page_and_not_for_others(
    sam: Desk, otto: Desk, admin: Client
) -> None:
    before = count(sam.look("/console/pools"))
    salon(admin)
    assert count(sam.look("/console/pools")) == before + 1
    assert count(otto.look("/console/pools")) == 0
    assert "Nothing needs you" in plain(otto.look("/console/needs"))


def test_a_hold_about_to_lapse_needs_somebody(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=1, waiting=0)
    page = plain(sam.look("/console/needs"))
    assert "Ann" not in page
    admin.advance(11 * 60)
    page = sam.look("/console/needs")
    assert "Holds about to lapse" in plain(page)
    (ann,) = admin.ask("GET", f"/v1/bookings?pool={key}")["items"]
    there = sam.press("/console/needs", f"/console/bookings/{ann['id']}/confirm")
    assert there == "/console/needs?told=confirmed"
    assert f"/console/bookings/{ann['id']}/confirm" not in sam.look(there)


def test_a_stream_tells_that_something_needs_you_and_ends_with_the_session(
    stranger: Desk, admin: Client
) -> None:
    stranger.sign_in("Sam")
    before = seen(stranger.look("/console/needs"))
    with stranger.stream("GET", "/console/needs/stream") as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        news = told(answer)
        assert next(news) == before
        key = salon(admin)
        assert next(news) != before
        with Desk(base_url=stranger.base_url) as other:
            other.cookies.update(stranger.cookies)
            other.press("/console/pools", "/console/sign-out")
        yoga(admin, size=1, waiting=0)
        salon(admin)
        assert list(news) == []
    assert key


def test_a_pool_is_watched_by_its_own_org_alone(sam: Desk, otto: Desk, admin: Client) -> None:
    pool = id_of(admin, yoga(admin, size=2, waiting=0))
    assert otto.get(f"/console/pools/{pool}/stream").status_code == 404
    before = seen(sam.look(f"/console/pools/{pool}"))
    with sam.stream("GET", f"/console/pools/{pool}/stream") as answer:
        news = told(answer)
        assert next(news) == before
        admin.book(pool, "zed")
        assert next(news) == seen(sam.look(f"/console/pools/{pool}")) != before


def test_csv_is_looked_at_before_it_is_brought_in(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=4, waiting=0)
    there = f"/console/pools/{id_of(admin, key)}/csv"
    text = GOOD + "z3,Xia,,0\nz1,Zoe again,,1\n"
    assert "party_id is what you call each person by" in plain(sam.look(there))
    page = sam.press(there, there, 200, text=text, act="look")
    words = plain(page)
    assert "3 rows are fine" in words
    assert "1 is not" in words
    assert "quantity must be" in words
    assert admin.ask("GET", f"/v1/pools/{key}")["waiting"] == 0
    page = sam.press_on(page, there, 200, act="bring_in")
    assert "Done" in plain(page)
    assert "3 rows were brought in" in plain(page)
    assert "are fine" not in plain(page)
    assert admin.ask("GET", f"/v1/pools/{key}")["waiting"] == 2
    # The same file again books nobody twice.
    sam.press(there, there, 200, text=text, act="bring_in")
    assert admin.ask("GET", f"/v1/pools/{key}")["waiting"] == 2
    page = sam.press(there, there, 422, text="what,is,this\n1,2,3\n", act="look")
    assert "party_id" in plain(page)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_a_file_is_read_as_browsers_send_it(sam: Desk, admin: Client, encoding: str) -> None:
    key = yoga(admin, size=1, waiting=0)
    there = f"/console/pools/{id_of(admin, key)}/csv"
    file = "party_id,name\r\nz1,Zoë Å\r\n".encode(encoding)
    fields = {"csrf": sam.csrf(), "act": "bring_in", "text": ""}
    ours, files = {"sec-fetch-site": "same-origin"}, {"file": ("people.csv", file, "text/csv")}
    answer = sam.post(there, data=fields, files=files, headers=ours)
    assert answer.status_code == 200, answer.text
    names = [it["party"]["name"] for it in admin.ask("GET", f"/v1/pools/{key}/line")["items"]]
    assert names == ["Zoë Å"]
    # Without its token a file does nothing either.
    bare = sam.post(
        there, files={"file": ("x.csv", file, "text/csv")}, headers={"sec-fetch-site": "same-origin"}
    )
    assert bare.status_code == 403
    broken = sam.post(
        there,
        content=b"--x\r\nnonsense",
        headers={"sec-fetch-site": "same-origin", "content-type": "multipart/form-data; boundary=y"},
    )
    assert broken.status_code == 422


def test_csv_is_handed_out(sam: Desk, admin: Client) -> None:
    key = gala(admin)
    there = f"/console/pools/{id_of(admin, key)}/csv"
    answer = sam.get(f"{there}/bookings.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert f'filename="{key}-bookings.csv"' in answer.headers["content-disposition"]
    assert answer.text.count("\n") == 15
    assert sam.get(f"{there}/line.csv").status_code == 200
    assert sam.get(f"{there}/other.csv").status_code == 404


def test_the_list_to_print_has_everybody(sam: Desk, admin: Client) -> None:
    key = gala(admin)
    words = plain(sam.look(f"/console/pools/{id_of(admin, key)}/list"))
    for it in admin.ask("GET", f"/v1/bookings?pool={key}")["items"]:
        assert it["reference"] in words


@pytest.fixture
def unreachable(tmp_path: Path) -> Iterator[tuple[Server, Client, Desk]]:
    """A service whose mail server refuses every address for good."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        url = f"sqlite:///{tmp_path}/mail.db"
        mail = {"fairhold_smtp_url": f"smtp://127.0.0.1:{port}", "fairhold_mail_from": "desk@example.org"}
        with serving(url, "--test-clock", **mail) as server, server.client(make_key(url)) as admin:
            make_members(url)
            with Desk(base_url=server.base) as desk:
                desk.sign_in("Sam")
                yield server, admin, desk


def test_who_could_not_be_reached_is_told_of_and_sent_to_again(
    unreachable: tuple[Server, Client, Desk],
) -> None:
    _, admin, desk = unreachable
    admin.pool("mute", 1)
    ann = admin.book("mute", {"id": "ann", "name": "Ann", "contacts": {"email": "ann at nowhere"}})
    admin.act(ann["id"], "confirm")
    admin.advance(1)
    page = desk.look("/console/needs")
    assert "People who could not be reached" in plain(page)
    assert "ann at nowhere" in plain(page)
    messages = desk.look(f"/console/pools/{ann['pool']}/messages")
    assert "Given up" in plain(messages)
    (away,) = [it for it in desk.actions("/console/needs") if it.endswith("/dismiss")]
    assert desk.press("/console/needs", away) == "/console/needs?told=dismissed"
    assert "Put away" in plain(desk.look("/console/needs?told=dismissed"))
    assert "Nothing needs you" in plain(desk.look("/console/needs"))
    letter = away.split("/")[-2]
    assert admin.ask("GET", f"/v1/messages/{letter}")["dismissed"]["by"] == "staff:Sam"
    again = f"/console/messages/{letter}/replay"
    assert desk.submit(again, {"csrf": desk.csrf()}) == "/console/needs?told=replayed"
    admin.advance(1)
    (replay,) = [it for it in desk.actions("/console/needs") if it.endswith("/replay")]
    assert desk.press("/console/needs", replay) == "/console/needs?told=replayed"
    unknown = f"/console/messages/{ann['pool']}-999-0/replay"
    assert desk.submit(unknown, {"csrf": desk.csrf()}) == "/console/needs?told=unknown"
