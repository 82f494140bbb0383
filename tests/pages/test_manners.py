"""What holds for every page: its headers, its language, its limits, and what it keeps to itself."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.database import ask
from tests.http.server import Client, Server, make_key, serving
from tests.pages.visitor import Form, Visitor, heading

ANN = {"id": "ann", "name": "Ann", "contacts": {"email": "ann@example.org"}}
PRIVATE = ("/b/", "/o/", "/embed/b/")


@pytest.fixture(scope="module")
def pages(admin: Client) -> list[str]:
    """An address of every kind of page."""
    admin.pool("mannered", 1, questions=[{"key": "diet", "title": "Diet"}])
    olga = admin.book("mannered", "olga")
    admin.act(olga["id"], "confirm")
    ann = admin.book("mannered", ANN)
    admin.act(olga["id"], "cancel")
    token, offer = ann["edit_token"], admin.booking(ann["id"])["offer"]["token"]
    found = ["/p/mannered", "/embed/mannered", f"/b/{token}", f"/embed/b/{token}", f"/o/{offer}", "/b/nope"]
    return [*found, f"/b/{olga['edit_token']}"]


@pytest.mark.guarantee(
    "tokens.no-referrer",
    "`Referrer-Policy: no-referrer` and `no-store` on every page, and no link leads elsewhere.",
)
def test_every_page_keeps_to_itself(pages: list[str], visitor: Visitor) -> None:
    for path in pages:
        answer = visitor.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "base-uri 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        private = path.startswith(PRIVATE)
        assert answer.headers["referrer-policy"] == ("no-referrer" if private else "same-origin")
        assert "set-cookie" not in answer.headers
        assert inline(answer.text) == []
        assert elsewhere(answer.text) == []


def inline(page: str) -> list[str]:
    """Scripts and styles that stand in the page itself."""
    found = re.findall(r"<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=|\son[a-z]+=|javascript:", page)
    return [str(it) for it in found]


def elsewhere(page: str) -> list[str]:
    """What the page would fetch from other hosts."""
    return re.findall(r'(?:src|href|action)="(?!/|#|\?|")[^"]*"', page)


def test_what_would_break_the_rules_is_noticed() -> None:
    """The negative control of the two checks above."""
    for page in (
        "<script>x</script>",
        "<p style='a'>",
        "<style>",
        '<a onclick="x">',
        '<a href="javascript:x">',
    ):
        assert inline(page)
    for page in ('<img src="https://x.example/a">', '<a href="//x">'.replace("//", "http://")):
        assert elsewhere(page)


def test_style_and_script_are_kept_for_ever_and_their_names_change_with_them(
    visitor: Visitor, admin: Client
) -> None:
    admin.pool("styled", 1)
    page = visitor.look("/p/styled")
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
        answer = visitor.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    assert visitor.get("/static/0/pages.py").status_code == 404
    assert visitor.get("/static/0/..%2fsite.py").status_code == 404


@pytest.mark.parametrize(
    ("headers", "query", "language"),
    [
        ({}, "", "en"),
        ({"accept-language": "fi-FI,fi;q=0.9,en;q=0.5"}, "", "fi"),
        ({"accept-language": "sv,de;q=0.7,en;q=0.3"}, "", "de"),
        ({"accept-language": "en;q=0.1, de-AT"}, "", "de"),
        ({"accept-language": "fi"}, "?lang=de", "de"),
        ({"accept-language": "xx;q=,;;,*"}, "?lang=zz", "en"),
    ],
)
def test_a_page_speaks_as_its_reader_wants(
    pages: list[str], visitor: Visitor, headers: dict[str, str], query: str, language: str
) -> None:
    for path in pages:
        page = visitor.get(path + query, headers=headers).text
        assert f'<html lang="{language}">' in page


def test_what_somebody_speaks_goes_before_what_their_browser_says(admin: Client, visitor: Visitor) -> None:
    admin.pool("spoken", 3)
    token = admin.book("spoken", ANN | {"locale": "fi"})["edit_token"]
    assert (
        heading(visitor.look(f"/b/{token}", headers={"accept-language": "de"})) == "Sinulle on varattu paikka"
    )
    page = visitor.look(f"/b/{token}?lang=de", headers={"accept-language": "fi"})
    assert heading(page) == "Ein Platz ist für Sie reserviert"
    # The language that was asked for stays through a form, and is remembered with it.
    there = visitor.submit(f"/b/{token}/confirm?lang=de", {"name": "Ann", "email": "a@example.org"})
    assert there == f"/b/{token}?lang=de"
    assert heading(visitor.look(f"/b/{token}")) == "Der Platz gehört Ihnen"


def test_who_signs_up_in_a_language_is_written_to_in_it(admin: Client, visitor: Visitor) -> None:
    admin.pool("written", 3)
    visitor.sign_up("written?lang=fi")
    (made,) = admin.ask("GET", "/v1/bookings?pool=written")["items"]
    assert made["party"]["locale"] == "fi"


def test_only_named_web_sites_may_show_a_page_in_a_frame(
    admin: Client, other_org: Client, visitor: Visitor
) -> None:
    admin.pool("framed", 3)
    theirs = other_org.pool("framed-elsewhere", 3)
    made = admin.ask("PUT", "/v1/origins", {"origin": "https://example.org"})
    admin.ask("PUT", "/v1/origins", {"origin": "http://localhost:3000"})
    answer = visitor.get("/embed/framed")
    assert answer.headers["content-security-policy"].endswith(
        "frame-ancestors http://localhost:3000 https://example.org"
    )
    assert "x-frame-options" not in answer.headers
    there = visitor.sign_up("framed", path="/embed")
    assert there.startswith("/embed/b/")
    assert "https://example.org" in visitor.get(there).headers["content-security-policy"]
    for path in ("/p/framed", there.removeprefix("/embed"), f"/embed/{theirs['id']}"):
        assert "frame-ancestors 'none'" in visitor.get(path).headers["content-security-policy"]
    admin.ask("DELETE", f"/v1/origins/{made['id']}")
    assert "https://example.org" not in visitor.get("/embed/framed").headers["content-security-policy"]
    for it in admin.ask("GET", "/v1/origins")["items"]:
        admin.ask("DELETE", f"/v1/origins/{it['id']}")
    admin.ask("PUT", "/v1/origins", {"origin": "https://x; script-src *"}, expect=422)


@pytest.mark.guarantee("names.escaped", "A script in a name is text on the pages.")
def test_what_people_write_is_never_markup(admin: Client, visitor: Visitor) -> None:
    evil = "<script>alert(1)</script>\"'"
    admin.pool("evil", 3, title=evil, attributes={"location": evil, "description": evil})
    token = admin.book("evil", ANN | {"name": evil})["edit_token"]
    for path in ("/p/evil", f"/b/{token}", f"/b/{token}?told=<script>", "/p/evil?no=<script>&lang=<script>"):
        page = visitor.look(path)
        assert "<script>" not in page
        assert "alert(1)" in page


def test_no_token_gets_into_the_log(
    admin: Client, server: Server, visitor: Visitor, pages: list[str]
) -> None:
    tokens = [path.rpartition("/")[2] for path in pages if path.startswith(PRIVATE) and path != "/b/nope"]
    for path in pages:
        visitor.get(path)
    there = visitor.sign_up("mannered")
    visitor.submit(f"{there}/details", {"name": "Secret Name", "email": "secret@example.org"})
    visitor.look(there)
    log = server.log(until="booking_page_details")
    assert "booking_page" in log
    for word in (*tokens, there.rpartition("/")[2], "Secret Name", "secret@example.org"):
        assert word not in log


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{}", {"content-type": "application/json"}, 415),
        (b"x" * 70_000, {"content-type": "application/x-www-form-urlencoded"}, 413),
        (b"quota=%ff", {"content-type": "application/x-www-form-urlencoded"}, 422),
        (b"quota=%00", {"content-type": "application/x-www-form-urlencoded"}, 422),
        (b"&".join([b"a=1"] * 300), {"content-type": "application/x-www-form-urlencoded"}, 422),
    ],
)
def test_what_is_no_form_is_a_calm_page(
    admin: Client, visitor: Visitor, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = visitor.post("/p/styled", content=body, headers=headers)
    assert answer.status_code == status
    assert heading(answer.text) == "That did not work"


def test_nobody_takes_every_place_from_one_address(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/limits.db"
    key = make_key(url)
    with (
        serving(url, "--test-clock", fairhold_holds_per_address_max="2") as server,
        server.client(key) as admin,
    ):
        admin.pool("scarce", 9, "checkout", page=True)
        with Visitor(base_url=server.base) as visitor:
            (action, fields), *_ = Form(visitor.look("/p/scarce")).forms
            first = visitor.submit(action, {**fields, "quota": "main"})
            visitor.sign_up("scarce")
            assert visitor.sign_up("scarce") == "/p/scarce?no=too_many_requests"
            assert "Several places are being held" in visitor.look("/p/scarce?no=too_many_requests")
            # Who presses again is answered as before; who gives one back may have another.
            assert visitor.submit(action, {**fields, "quota": "main"}) == first
            visitor.submit(f"{first}/cancel")
            assert visitor.sign_up("scarce").startswith("/b/")


def test_too_many_requests_and_no_pages_at_all(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/limits.db"
    key = make_key(url)
    settings = {
        "fairhold_rate_per_address": "1",
        "fairhold_burst_per_address": "3",
        "fairhold_pages": "false",
    }
    with serving(url, **settings) as server, server.client(key) as admin:
        admin.pool("quiet", 9, "checkout")
        token = admin.book("quiet", "ann")["edit_token"]
        with Visitor(base_url=server.base) as visitor:
            assert visitor.get("/p/quiet").status_code == 404
            assert visitor.get("/embed/quiet").status_code == 404
            assert visitor.get(f"/b/{token}").status_code == 200
            # One more may ask every second: so many at once are more, on however slow a machine.
            with ThreadPoolExecutor(20) as hands:
                answers = list(hands.map(lambda _: visitor.get(f"/b/{token}"), range(100)))
            answers = [it for it in answers if it.status_code != 200]
            assert {it.status_code for it in answers} == {429}
            assert int(answers[-1].headers["retry-after"]) >= 1
            assert heading(answers[-1].text) == "A little slower, please"


def test_a_page_without_its_database_asks_for_patience() -> None:
    server = Server("postgresql://nobody@127.0.0.1:1/none")
    server.start(wait=False)
    with server, Visitor(base_url=server.base) as visitor:
        server.wait_until_ready(503)
        answer = visitor.get("/b/whoever", headers={"accept-language": "fi"})
        assert answer.status_code == 503
        assert heading(answer.text) == "Pieni hetki"


async def test_an_org_of_before_keeps_its_pages_whatever_it_is_called(
    server: Server, admin: Client, visitor: Visitor
) -> None:
    pool = admin.pool("of-before", 3, "checkout", page=True)
    await ask(server.url, "UPDATE fairhold_pools SET org = 'Acme & Sons' WHERE key = 'of-before'")
    assert "of-before" in visitor.look(f"/p/{pool['id']}")
    await ask(server.url, "UPDATE fairhold_pools SET org = 'default' WHERE key = 'of-before'")
