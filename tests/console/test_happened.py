"""What happened and the numbers: told from the log, checked with one press, and nobody else's business."""

from __future__ import annotations

import csv
import io
import sqlite3
from contextlib import closing

import pytest

from tests.console.desk import Desk
from tests.http.server import Client, Server, make_key
from tests.pages.visitor import heading, plain


@pytest.fixture(scope="module")
def salon(server: Server, admin: Client) -> str:
    """Hal gives a chair back; Ann does not answer, Bea declines, Cyd takes it; Dan wants another."""
    body = {"key": "salon", "title": "The salon", "preset": "last_minute"}
    admin.ask(
        "POST", "/v1/pools", body | {"quotas": [{"key": "chair", "units": ["2 pm", "5 pm"]}]}, expect=201
    )
    hal = admin.book("salon", {"id": "hal", "name": "Hal"}, units=["2 pm"])
    eve = admin.book("salon", {"id": "eve", "name": "Eve"}, units=["5 pm"])
    for it in (hal, eve):
        admin.act(it["id"], "confirm")
    found = {name: admin.book("salon", {"id": name.lower(), "name": name}) for name in ("Ann", "Bea", "Cyd")}
    admin.act(hal["id"], "cancel", {"as_staff": True, "why": "asked by phone"})
    admin.advance(600)
    admin.act(found["Bea"]["id"], "decline")
    admin.ask("POST", f"/v1/offers/{admin.booking(found['Cyd']['id'])['offer']['token']}/claim")
    return "salon"


def test_a_pool_tells_its_story_with_the_reasons(salon: str, rita: Desk) -> None:
    page = plain(rita.look(f"/console/happened?pool={salon}"))
    assert heading(rita.look(f"/console/happened?pool={salon}")) == "The salon"
    for words in (
        "Cyd accepts 2 pm.",
        "Cyd, #3 in line, is offered 2 pm for 10 minutes.",
        "Passed over: Ann, Bea – had had a turn",
        "Bea declines. The place in line stays.",
        "Ann does not answer in time. The place in line stays.",
        "The booking of Hal is cancelled. asked by phone ops",
        "2 pm comes free.",
        "Ann joins the line as #1.",
        "The pool is made.",
    ):
        assert words in page, words
    assert page.index("Cyd accepts") < page.index("Ann joins"), "the newest first"


def test_a_person_is_found_by_name_and_several_are_asked_about(salon: str, rita: Desk, admin: Client) -> None:
    page = rita.look("/console/happened?person=cyd")
    assert "Cyd accepts 2 pm." in plain(rita.look("/console/happened?person=Cyd"))
    assert heading(page) == "Cyd"
    admin.pool("names", 4)
    made = [admin.book("names", {"id": f"gus-{n}", "name": f"Gus {n}"}) for n in (1, 2)]
    page = rita.look("/console/happened?person=Gus")
    assert "Whom do you mean?" in plain(page)
    for it in made:
        assert f"/console/happened?person={it['reference']}" in page
    assert heading(rita.look("/console/happened?person=Gus 2")) == "Gus 2"
    assert "Nobody is known as Zebedee" in plain(rita.look("/console/happened?person=Zebedee"))


def test_a_round_is_told_with_its_quota(admin: Client, rita: Desk) -> None:
    body = {"key": "yoga-rounds", "preset": "class_waitlist", "policy": {"cooldown": "0s"}}
    admin.ask("POST", "/v1/pools", body | {"quotas": [{"key": "mats", "size": 1}]}, expect=201)
    olga, ann = (admin.book("yoga-rounds", {"id": name.lower(), "name": name}) for name in ("Olga", "Ann"))
    admin.act(olga["id"], "confirm")
    admin.act(olga["id"], "cancel")
    admin.act(ann["id"], "decline")
    page = plain(rita.look("/console/happened?pool=yoga-rounds"))
    assert "Round 2 begins (mats): everyone has had a turn." in page


def test_one_may_look_for_some_of_it(salon: str, sam: Desk) -> None:
    offers = plain(sam.look(f"/console/happened?pool={salon}&topic=offers"))
    assert "Bea declines." in offers
    assert "joins the line as" not in offers
    by_staff = plain(sam.look(f"/console/happened?pool={salon}&actor=staff"))
    assert "The booking of Hal is cancelled." in by_staff
    assert "Bea declines." not in by_staff
    seat = sam.look(f"/console/happened?pool={salon}&unit=5%20pm")
    assert heading(seat) == "5 pm, The salon"
    assert "Eve confirms." in plain(seat)
    assert "Ann" not in plain(seat).partition("The newest first")[2]
    # What cannot be looked for shows everything; what is not there shows nothing.
    assert "Bea declines." in plain(sam.look(f"/console/happened?pool={salon}&topic=x&actor=y&before=z"))
    assert "Nothing of the kind" in plain(sam.look(f"/console/happened?pool={salon}&unit=nowhere"))


def test_pages_lead_back_to_the_beginning(admin: Client, sam: Desk) -> None:
    admin.pool("long", 100, "checkout")
    for n in range(60):
        admin.book("long", {"id": f"p{n}", "name": f"Party {n}"})
    first = sam.look("/console/happened?pool=long")
    assert "Party 59 gets" in plain(first)
    assert "Party 0 gets" not in plain(first)
    (before,) = [part for part in first.split('"') if "before=" in part]
    earlier = plain(sam.look(before.replace("&amp;", "&")))
    assert "Party 0 gets" in earlier
    assert "The pool is made." in earlier
    assert "Party 59 gets" not in earlier


def test_a_person_is_followed_over_all_pools(salon: str, admin: Client, rita: Desk) -> None:
    admin.pool("other", 1, "checkout", title="Something else")
    made = admin.book("other", {"id": "ann", "name": "Ann"})
    for name in ("ann", made["reference"], made["id"]):
        page = rita.look(f"/console/happened?person={name}")
        assert heading(page) == "Ann"
        said = plain(page)
        assert "Ann gets 1 place, held for 15 minutes." in said
        assert "Ann is passed over: had had a turn." in said
        assert "Something else" in said
        assert "The salon" in said
    assert "Nobody is known as" in plain(rita.look("/console/happened?person=nobody"))


def test_the_record_is_checked_with_one_press(salon: str, server: Server, rita: Desk) -> None:
    page = rita.press(f"/console/happened?pool={salon}", "/console/happened/check", 200)
    assert "The record is whole." in page
    if not server.url.startswith("sqlite"):
        return
    with closing(sqlite3.connect(server.url.removeprefix("sqlite:///"), isolation_level=None)) as file:
        was = file.execute("SELECT by FROM fairhold_log WHERE seq = 5").fetchone()[0]
        file.execute("UPDATE fairhold_log SET by = 'staff:Mallory' WHERE seq = 5")
        broken = rita.press(f"/console/happened?pool={salon}", "/console/happened/check", 200)
        file.execute("UPDATE fairhold_log SET by = ? WHERE seq = 5", [was])
    assert "Something is wrong with the record." in broken
    assert "log_tells_all" in broken


def test_everything_of_late_is_on_the_first_page(salon: str, sam: Desk) -> None:
    page = plain(sam.look("/console/happened"))
    assert "Cyd accepts 2 pm." in page
    assert "The salon" in page


def test_the_story_comes_in_every_language(salon: str, sam: Desk) -> None:
    assert "Bea lehnt ab." in plain(sam.look(f"/console/happened?pool={salon}&lang=de"))
    assert "Bea kieltäytyy." in plain(sam.look(f"/console/happened?pool={salon}&lang=fi"))


def test_the_numbers_are_drawn_and_told(salon: str, rita: Desk) -> None:
    page = rita.look(f"/console/numbers?pool={salon}&days=7")
    assert page.count('<svg class="graph"') == 6
    assert page.count("<title id=") == page.count("<desc id=") == 6
    said = plain(page)
    assert "Accepted: 1. Declined: 1. No answer: 1." in said
    assert "33 %" in said
    # Where nothing is offered there is nothing to count of it.
    rita.look("/console/numbers?pool=salon&days=nonsense")


def test_every_chart_comes_as_a_file(salon: str, rita: Desk) -> None:
    def rows(name: str) -> list[list[str]]:
        answer = rita.get(f"/console/numbers/{salon}/{name}.csv?days=7")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/csv")
        assert f'filename="{salon}-{name}.csv"' in answer.headers["content-disposition"]
        return list(csv.reader(io.StringIO(answer.text)))

    assert rows("over-time")[0] == ["at", "seats_taken", "in_line"]
    assert rows("over-time")[-1][1:] == ["2", "2"]
    assert ["claimed", "1"] in rows("outcomes")
    assert ["3", "1"] in rows("people-asked")
    assert sum(int(row[1]) for row in rows("time-to-fill")[1:]) == 1
    assert sum(int(row[2]) for row in rows("by-hour")[1:]) == 1
    assert rita.get(f"/console/numbers/{salon}/secrets.csv").status_code == 404
    assert rita.get(f"/console/numbers/{salon}/outcomes").status_code == 404


def test_pools_without_a_line_have_fewer_charts_and_no_pool_has_none(
    admin: Client, rita: Desk, otto: Desk
) -> None:
    admin.pool("shop", 3, "checkout")
    assert rita.look("/console/numbers?pool=shop").count('<svg class="graph"') == 1
    assert "nothing to count" in otto.look("/console/numbers")


def test_other_orgs_and_strangers_see_nothing_of_it(salon: str, otto: Desk, stranger: Desk) -> None:
    for path in (f"/console/happened?pool={salon}", f"/console/numbers?pool={salon}"):
        assert otto.get(path).status_code == 404
        assert stranger.get(path).status_code == 303
    assert otto.get(f"/console/numbers/{salon}/outcomes.csv").status_code == 404
    assert "Nobody is known as" in plain(otto.look("/console/happened?person=ann"))
    fields = {"csrf": otto.csrf(), "pool": salon}
    assert otto.post("/console/happened/check", data=fields).status_code == 404


def test_a_name_is_never_markup(server: Server, admin: Client, sam: Desk) -> None:
    evil = "<script>alert(1)</script>"
    admin.pool("evil", 1, title=evil)
    admin.book("evil", {"id": "evil", "name": evil})
    for path in (
        "/console/happened?pool=evil",
        "/console/happened?person=evil",
        "/console/numbers?pool=evil",
    ):
        page = sam.look(path)
        assert "<script>alert" not in page
        assert "alert(1)" in page


def test_keys_are_no_way_in(server: Server, salon: str) -> None:
    with server.client(make_key(server.url)) as program:
        assert program.get("/console/happened").status_code == 303
