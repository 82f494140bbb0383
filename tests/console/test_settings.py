"""Settings: what is made, shown once, changed and taken back; and who may."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.console.desk import PASSWORD, Desk, email_of, make_members
from tests.http.server import Client, Server, make_key, serving
from tests.pages.visitor import plain
from tests.patience import PATIENCE_S, wait_until

HOME = "/console/settings"
OF_ADMINS = ["members", "keys", "webhooks", "places"]


def secret_in(page: str) -> str:
    found = re.search(r'class="secret-text mono" tabindex="0">([^<]+)<', page)
    assert found, plain(page)[:2000]
    return found[1]


def test_everybody_sees_what_is_theirs_to_see(olga: Desk, sam: Desk, rita: Desk, stranger: Desk) -> None:
    for desk in (olga, sam, rita):
        assert "Change your password" in desk.look(HOME)
        assert "What messages say" in desk.look(f"{HOME}/words")
    for name in OF_ADMINS:
        assert f'href="{HOME}/{name}"' in olga.look(HOME)
        assert olga.get(f"{HOME}/{name}").status_code == 200
        for desk in (sam, rita):
            assert f'href="{HOME}/{name}"' not in desk.look(HOME)
            assert desk.get(f"{HOME}/{name}").status_code == 403
        assert stranger.get(f"{HOME}/{name}").status_code == 303


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("members", {"email": "x@example.org", "name": "X", "role": "admin"}),
        ("keys", {"name": "x", "role": "admin"}),
        ("webhooks", {"url": "https://example.org/x", "payload": "full"}),
        ("places/add-origin", {"origin": "https://example.org"}),
        ("places/add-contact", {"notifier": "email", "address": "x@example.org"}),
    ],
)
def test_nobody_else_changes_anything(
    sam: Desk, rita: Desk, olga: Desk, path: str, fields: dict[str, str]
) -> None:
    for desk in (sam, rita):
        desk.submit(f"{HOME}/{path}", {**fields, "csrf": desk.csrf()}, expect=403)
    # An admin's form without the session's token is refused, too.
    olga.submit(f"{HOME}/{path}", fields, expect=403)
    olga.submit(
        f"{HOME}/{path}", {**fields, "csrf": olga.csrf()}, expect=403, **{"sec-fetch-site": "cross-site"}
    )


def test_a_key_is_shown_once_lets_in_and_is_revoked(olga: Desk, server: Server) -> None:
    fields = {"csrf": olga.csrf(), "once": "abc123", "name": "the shop", "role": "staff"}
    page = olga.submit(f"{HOME}/keys", fields, expect=200)
    secret = secret_in(page)
    # To reload the page is to make the same key.
    assert secret_in(olga.submit(f"{HOME}/keys", fields, expect=200)) == secret
    listed = olga.look(f"{HOME}/keys")
    assert listed.count("the shop") == 1
    assert secret not in listed
    with server.client(secret) as program:
        assert program.get("/v1/pools").status_code == 200
        (revoke,) = re.findall(rf'action="({HOME}/keys/[^"]+/revoke)"', listed.partition("the shop")[2])[:1]
        assert olga.press(f"{HOME}/keys", revoke) == f"{HOME}/keys?told=key_revoked"
        assert program.get("/v1/pools").status_code == 401
    assert "nobody gets in with it" in olga.look(f"{HOME}/keys?told=key_revoked")


def test_what_is_wrong_is_said_and_what_was_typed_stays(olga: Desk) -> None:
    page = olga.press(f"{HOME}/members", f"{HOME}/members", 422, name="Bea", email="not an address")
    assert "That was not accepted" in page
    assert 'value="not an address"' in page
    page = olga.press(f"{HOME}/webhooks", f"{HOME}/webhooks", 422, url="ftp://example.org")
    assert 'value="ftp://example.org"' in page
    page = olga.press(f"{HOME}/places", f"{HOME}/places/add-origin", 422, origin="https://example.org/path")
    assert "That was not accepted" in page
    assert olga.press(f"{HOME}/keys", f"{HOME}/keys", 422, name="", role="king")


def test_a_member_is_invited_comes_in_is_changed_signed_out_and_removed(
    olga: Desk, server: Server, members: Server
) -> None:
    page = olga.press(
        f"{HOME}/members", f"{HOME}/members", 200, name="Nia", email="nia@example.org", role="read"
    )
    link = secret_in(page)
    assert link not in olga.look(f"{HOME}/members")
    token = link.rpartition("/")[2]
    with Desk(base_url=server.base) as nia:
        for weak, said in (("short", "a longer password"), ("Password123", "Many people use this")):
            assert said in nia.submit(f"/console/invitation/{token}", {"password": weak}, 422)
        nia.submit(f"/console/invitation/{token}", {"password": "a long enough one"})
        assert "Nia" in nia.look(HOME)
        (there,) = re.findall(rf'href="({HOME}/members/m[0-9a-f]+)">Nia<', olga.look(f"{HOME}/members"))
        assert olga.press(there, f"{there}/change", role="staff") == f"{there}?told=member_changed"
        assert "staff" in nia.get("/v1/session").text
        assert olga.press(there, f"{there}/sign-out") == f"{there}?told=member_signed_out"
        assert nia.get(HOME).status_code == 303
        page = olga.press(there, f"{there}/invite", 200)
        assert secret_in(page) != link
        assert olga.press(there, f"{there}/remove") == f"{HOME}/members?told=member_removed"
        assert olga.get(there).status_code == 404
        nia.sign_in("Nia", "a long enough one", expect=401)


def test_the_last_admin_stays(otto: Desk) -> None:
    (there,) = re.findall(rf'href="({HOME}/members/m[0-9a-f]+)">Otto<', otto.look(f"{HOME}/members"))
    page = otto.press(there, f"{there}/remove", 422)
    assert "the last admin" in page
    assert "the last admin" in otto.press(there, f"{there}/change", 422, role="staff")


def test_other_orgs_members_keys_and_webhooks_are_out_of_reach(olga: Desk, otto: Desk) -> None:
    (member, *_) = re.findall(rf'href="({HOME}/members/m[0-9a-f]+)"', olga.look(f"{HOME}/members"))
    there = olga.press(
        f"{HOME}/webhooks", f"{HOME}/webhooks", url="https://example.org/our-hook", payload="thin"
    )
    webhook = there.partition("?")[0]
    olga.press(f"{HOME}/keys", f"{HOME}/keys", 200, name="our-key", role="read")
    (key, *_) = re.findall(rf'action="({HOME}/keys/[^"]+/revoke)"', olga.look(f"{HOME}/keys"))
    assert otto.get(member).status_code == 404
    assert otto.get(webhook).status_code == 404
    for path in (f"{member}/remove", f"{webhook}/remove", f"{webhook}/rotate", key):
        otto.submit(path, {"csrf": otto.csrf()}, expect=404)
    theirs = otto.look(f"{HOME}/webhooks") + otto.look(f"{HOME}/keys")
    assert "our-hook" not in theirs
    assert "our-key" not in theirs
    olga.press(webhook, f"{webhook}/remove")


def test_a_webhook_has_a_secret_deliveries_and_a_second_chance(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/hooks.db"
    key = make_key(url)
    with (
        serving(url, "--test-clock", fairhold_webhooks_to_private="1") as server,
        server.client(key) as admin,
        Desk(base_url=server.base) as olga,
        listening() as program,
    ):
        make_members(url)
        olga.sign_in("Olga")
        kinds = {"kind-joined": "yes"}
        there = olga.press(f"{HOME}/webhooks", f"{HOME}/webhooks", url=program.url, **kinds).partition("?")[0]
        page = olga.look(there)
        secret = secret_in(page)
        assert secret.startswith("whsec_")
        assert 'id="kind-joined" name="kind-joined" value="yes" checked' in page
        assert "The test arrived." in olga.press(there, f"{there}/test", 200)
        admin.pool("hooked", 0)
        admin.book("hooked", {"id": "ann", "name": "Ann"})
        admin.advance(1)

        def is_listed() -> bool:
            page = plain(olga.look(there))
            return "Joined the line" in page and "arrived" in page

        # The loop of the outbox may have it in hand, and then nobody else sends it.
        wait_until(is_listed)
        program.is_told(2)
        assert program.told == ["test", "joined"]
        assert olga.press(there, f"{there}/replay") == f"{there}?told=webhook_replayed"
        program.is_told(3)
        assert program.told == ["test", "joined", "joined"]
        program.answer = 500
        assert "The test did not arrive." in olga.press(there, f"{there}/test", 200)
        olga.press(there, f"{there}/rotate")
        assert secret_in(olga.look(there)) != secret
        olga.press(there, f"{there}/change", url="https://example.org/changed")
        assert "https://example.org/changed" in olga.look(there)
        olga.press(there, f"{there}/remove")
        assert olga.get(there).status_code == 404


class Program:
    """Somebody's program, at the other end of a webhook: it notes what it is told of."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answer = 204
        self.told: list[str] = []
        self._news = threading.Condition()

    def note(self, kind: str) -> None:
        with self._news:
            self.told.append(kind)
            self._news.notify_all()

    def is_told(self, times: int) -> None:
        with self._news:
            assert self._news.wait_for(lambda: len(self.told) >= times, PATIENCE_S), self.told


@contextmanager
def listening() -> Iterator[Program]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if program.answer < 300:
                program.note(body["type"].rpartition(".")[2])
            self.send_response(program.answer)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        program = Program(f"http://127.0.0.1:{server.server_port}/hook")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield program
        finally:
            server.shutdown()
            thread.join()


def test_own_words_are_tried_kept_and_taken_back(sam: Desk, rita: Desk) -> None:
    there = f"{HOME}/words/offer/en"
    tried = sam.press(there, there, 200, subject="Come to {{ pool }}!", do="preview")
    assert "Come to Saturday yoga!" in tried
    assert "Not kept yet." in tried
    assert "Come to" not in sam.look(there)
    refused = sam.press(there, there, 422, subject="{{ nonsense }}", do="keep")
    assert "That was not accepted" in refused
    assert "{{ nonsense }}" in refused
    assert sam.press(there, there, subject="Come to {{ pool }}!", do="keep") == f"{there}?told=words_kept"
    assert "Come to Saturday yoga!" in rita.look(there)
    assert "your own" in rita.look(f"{HOME}/words")
    rita.submit(there, {"csrf": rita.csrf(), "subject": "Mine", "do": "keep"}, expect=403)
    sam.press(there, there, subject="", do="keep")
    assert "Come to" not in sam.look(there)
    assert sam.get(f"{HOME}/words/offer/xx").status_code == 404
    assert sam.get(f"{HOME}/words/nothing/en").status_code == 404


def test_contacts_and_web_sites_come_and_go(olga: Desk, admin: Client) -> None:
    there = f"{HOME}/places"
    olga.press(there, f"{there}/add-contact", notifier="email", address="desk@example.org", locale="fi")
    olga.press(there, f"{there}/add-origin", origin="https://example.org")
    page = olga.look(there)
    assert "desk@example.org" in page
    assert [it["origin"] for it in admin.ask("GET", "/v1/origins")["items"]] == ["https://example.org"]
    olga.press(there, f"{there}/remove-contact")
    olga.press(there, f"{there}/remove-origin")
    page = olga.look(there)
    assert "desk@example.org" not in page
    assert "Nobody is told" in page
    assert admin.ask("GET", "/v1/origins")["items"] == []


def test_ones_password_is_changed_and_ones_other_sessions_end(members: Server, server: Server) -> None:
    with Desk(base_url=server.base) as here, Desk(base_url=server.base) as elsewhere:
        for desk in (here, elsewhere):
            desk.sign_in("Sam")
        path = f"{HOME}/password"
        assert "not your password" in here.press(
            HOME, path, 422, password="x", new_password="y" * 3 + "abcdefgh"
        )
        assert "at least" in here.press(HOME, path, 422, password=PASSWORD, new_password="short")
        assert "tried first" in here.press(HOME, path, 422, password=PASSWORD, new_password="qwertyuiop")
        assert elsewhere.get(HOME).status_code == 200
        new = "another horse battery"
        assert here.press(HOME, path, password=PASSWORD, new_password=new) == f"{HOME}?told=password_changed"
        assert here.get(HOME).status_code == 200
        assert elsewhere.get(HOME).status_code == 303
        here.press(HOME, path, password=new, new_password=PASSWORD)


def test_secrets_are_kept_out_of_the_log(olga: Desk, server: Server) -> None:
    page = olga.press(f"{HOME}/keys", f"{HOME}/keys", 200, name="logged", role="read")
    secret = secret_in(page)
    log = server.log(until="console_keys")
    assert secret not in log
    assert email_of("Olga") not in log


def test_headers_keep_secrets_to_the_page(olga: Desk) -> None:
    for path in (HOME, f"{HOME}/keys", f"{HOME}/members"):
        answer: httpx.Response = olga.get(path)
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["webhooks/{}/test", "members/{}/invite"])
def test_a_name_in_an_address_cannot_begin_a_header(olga: Desk, path: str) -> None:
    """Where one is sent back to is written as an address is, whatever was asked for."""
    asked = "/console/settings/" + path.format("x%0d%0aSet-Cookie:%20a=b%E4%BD%A0")
    answer = olga.get(asked, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].endswith("/x%0D%0ASet-Cookie:%20a=b%E4%BD%A0")
    assert "set-cookie" not in answer.headers
