"""Signing in and out of the console, and who may do what there."""

from __future__ import annotations

import pytest

from tests.console.desk import PASSWORD, Desk, email_of
from tests.http.server import Client
from tests.pages.visitor import heading, plain

SECTIONS = ["pools", "needs", "happened", "numbers", "settings"]


def test_who_is_not_signed_in_is_asked_to_and_comes_back(stranger: Desk) -> None:
    answer = stranger.get("/console/numbers?pool=yoga")
    assert answer.status_code == 303
    there = answer.headers["location"]
    assert there == "/console/sign-in?next=%2Fconsole%2Fnumbers%3Fpool%3Dyoga"
    assert heading(stranger.look(there)) == "Sign in"
    fields = {"email": email_of("Olga"), "password": PASSWORD, "next": "/console/numbers?pool=yoga"}
    assert stranger.submit("/console/sign-in", fields) == "/console/numbers?pool=yoga"
    assert heading(stranger.look("/console/numbers")) == "Numbers"
    assert stranger.get("/console").headers["location"] == "/console/pools"


def test_who_was_signed_out_meanwhile_comes_back_to_where_the_form_was(stranger: Desk, admin: Client) -> None:
    made = admin.book(admin.pool("meanwhile", 1)["id"], {"id": "ann", "name": "Ann"})
    there = f"/console/bookings/{made['id']}"
    answer = stranger.submit(f"{there}/confirm", {"csrf": "old"})
    assert answer.startswith("/console/sign-in?told=session_over&next=")
    page = stranger.look(answer)
    assert "signed out meanwhile" in plain(page)
    back = stranger.press_on(page, "/console/sign-in", email=email_of("Sam"), password=PASSWORD)
    assert stranger.get(back).headers["location"] == there
    assert admin.booking(made["id"])["state"] == "held"


def test_who_has_forgotten_the_password_is_told_whom_to_ask(stranger: Desk) -> None:
    assert "Forgotten your password? An admin can give you a new invitation" in plain(
        stranger.look("/console/sign-in")
    )


def test_a_question_may_have_any_name_on_the_way_back(stranger: Desk) -> None:
    there = "/console/pools?path=x&self=y"
    fields = {"email": email_of("Olga"), "password": PASSWORD, "next": there}
    assert stranger.submit("/console/sign-in", fields) == there


@pytest.mark.parametrize(
    "path", ["https://evil.example", "//evil.example", "/console/../x", "/p/x", "/console\\x"]
)
def test_signing_in_leads_nowhere_else(stranger: Desk, path: str) -> None:
    fields = {"email": email_of("Sam"), "password": PASSWORD, "next": path}
    assert stranger.submit("/console/sign-in", fields) == "/console/pools"


def test_a_wrong_password_is_a_calm_no(stranger: Desk) -> None:
    for who, password in (("Olga", "wrong horse battery"), ("Nobody", PASSWORD), ("Otto", PASSWORD)):
        page = stranger.sign_in(who, password, expect=401)
        assert "do not belong together" in page
        assert "set-cookie" not in page
    assert stranger.get("/console/pools").status_code == 303


def test_guessing_is_slowed_down(stranger: Desk) -> None:
    for _ in range(5):
        stranger.sign_in("Guessed", "wrong horse battery", expect=401)
    page = stranger.sign_in("Guessed", "wrong horse battery", expect=429)
    assert "too many tries" in page


def test_signing_out_ends_the_session(stranger: Desk) -> None:
    stranger.sign_in("Olga")
    cookie = dict(stranger.cookies)
    assert stranger.press("/console/pools", "/console/sign-out") == "/console/sign-in?told=signed_out"
    assert "You have signed out" in stranger.look("/console/sign-in?told=signed_out")
    assert stranger.get("/console/pools").status_code == 303
    # What the browser had is good for nothing now, even if somebody kept it.
    stranger.cookies.update(cookie)
    assert stranger.get("/console/pools").status_code == 303


def test_every_section_is_there_for_every_role(olga: Desk, sam: Desk, rita: Desk) -> None:
    for desk in (olga, sam, rita):
        for section in SECTIONS:
            page = desk.look(f"/console/{section}")
            assert 'aria-current="page"' in page
    assert "Can look, not change" in plain(rita.look("/console/pools"))


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ],
)
def test_a_form_from_elsewhere_does_nothing(stranger: Desk, headers: dict[str, str]) -> None:
    fields = {"email": email_of("Sam"), "password": PASSWORD}
    assert stranger.post("/console/sign-in", data=fields, headers=headers).status_code == 403
    stranger.sign_in("Sam")
    token = stranger.csrf()
    assert stranger.post("/console/sign-out", data={"csrf": token}, headers=headers).status_code == 403
    for wrong in ({}, {"csrf": ""}, {"csrf": token[:-1] + "x"}):
        stranger.submit("/console/sign-out", wrong, expect=403)
    assert stranger.look("/console/pools")
    # The control: the same form with its token, from our own page.
    stranger.submit("/console/sign-out", {"csrf": token})
    assert stranger.get("/console/pools").status_code == 303


def test_the_token_of_one_session_is_no_good_for_another(stranger: Desk, olga: Desk) -> None:
    stranger.sign_in("Sam")
    stranger.submit("/console/sign-out", {"csrf": olga.csrf()}, expect=403)
    assert stranger.look("/console/pools")


def test_every_page_keeps_to_itself(olga: Desk, stranger: Desk) -> None:
    for desk, path in [(stranger, "/console/sign-in"), *((olga, f"/console/{it}") for it in SECTIONS)]:
        answer = desk.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-robots-tag"] == "noindex, nofollow"
    made = stranger.post(
        "/console/sign-in",
        data={"email": email_of("Sam"), "password": PASSWORD},
        headers={"sec-fetch-site": "same-origin"},
    ).headers["set-cookie"]
    assert "HttpOnly" in made
    assert "SameSite=Lax" in made


def test_what_is_not_there_is_a_calm_page(olga: Desk) -> None:
    assert olga.get("/console/nope").status_code == 404
    assert olga.request("DELETE", "/console/pools").status_code == 405


def test_a_key_is_no_session(stranger: Desk, admin: Desk) -> None:
    headers = {"authorization": admin.headers["authorization"]}
    assert stranger.get("/console/pools", headers=headers).status_code == 303
