"""Staff sign in: a cookie that only their browser has, and changes that only a page of ours can ask for."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.database import ask
from tests.http.server import Client, Server, serving

PASSWORD = "correct horse battery"
COOKIE = "fairhold_session"


def member(admin: Client, name: str, role: str = "staff", **more: str) -> Any:
    """A member with a password."""
    body = {"email": f"{name.lower()}@example.org", "name": name, "role": role} | more
    return admin.ask("POST", "/v1/members", body, expect=201)


@contextlib.contextmanager
def browser(server: Server, admin: Client, name: str, role: str = "staff") -> Iterator[Client]:
    """A member's browser, signed in: it knows the CSRF token and says it."""
    made = member(admin, name, role)
    body = {"token": made["invitation"]["token"], "password": PASSWORD}
    with server.client() as client:
        begun = client.ask("POST", "/v1/session/invitation", body, expect=201)
        client.headers["X-CSRF-Token"] = begun["csrf_token"]
        yield client


def sign_in(client: Client, name: str, password: str = PASSWORD, expect: int = 201, **more: Any) -> Any:
    body = {"email": f"{name.lower()}@example.org", "password": password}
    return client.ask("POST", "/v1/session", body, expect=expect, **more)


@pytest.fixture(scope="module")
def olga(server: Server, admin: Client) -> Iterator[Client]:
    with browser(server, admin, "Olga") as client:
        yield client


def test_a_member_signs_in_and_acts_under_their_name(server: Server, olga: Client) -> None:
    with server.client() as client:
        begun = sign_in(client, "Olga")
        cookie = client.cookies.get(COOKIE)
        assert cookie is not None
        assert cookie not in str(begun)
        shown = client.ask("GET", "/v1/session")
        assert (shown["member"]["name"], shown["csrf_token"]) == ("Olga", begun["csrf_token"])
        client.headers["X-CSRF-Token"] = begun["csrf_token"]
        client.pool("by-olga")
        entry = client.ask("GET", "/v1/pools/by-olga/log")["items"][0]
        assert entry["by"] == "staff:Olga"
        assert client.ask("DELETE", "/v1/session")["ended"] == 1
        assert client.cookies.get(COOKIE) is None
        answer = client.get("/v1/pools", headers={"Cookie": f"{COOKIE}={cookie}"})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert olga.ask("GET", "/v1/session")["member"]["role"] == "staff"


def test_the_cookie_is_kept_from_scripts_and_other_sites(server: Server, olga: Client) -> None:
    with server.client() as client:
        said = sign_in_headers(client)["set-cookie"]
        assert said.startswith(f"{COOKIE}=fhs_")
        assert said.partition("; ")[2] == "Path=/; Max-Age=604800; HttpOnly; SameSite=Lax"


def sign_in_headers(client: Client, name: str = "olga") -> Any:
    answer = client.post("/v1/session", json={"email": f"{name}@example.org", "password": PASSWORD})
    assert answer.status_code == 201, answer.text
    return answer.headers


def test_over_https_the_cookie_is_bound_to_the_host(server: Server, olga: Client) -> None:
    """A second node of the same service, behind a proxy that speaks https for it."""
    with serving(server.url, FAIRHOLD_BASE_URL="https://seats.example.org") as node, node.client() as client:
        said = sign_in_headers(client)["set-cookie"]
        assert said.startswith(f"__Host-{COOKIE}=fhs_")
        assert said.endswith("; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax; Secure")
        token = said.partition(";")[0].partition("=")[2]
        for name, status in ((f"__Host-{COOKIE}", 200), (COOKIE, 401)):
            client.cookies.clear()
            assert client.get("/v1/session", headers={"Cookie": f"{name}={token}"}).status_code == status
        # The page is at the base address; what stands in front of us may say another host.
        body = {"email": "olga@example.org", "password": PASSWORD}
        for origin, status in (("https://seats.example.org", 201), ("https://evil.example", 403)):
            answer = client.post("/v1/session", json=body, headers={"Origin": origin})
            assert answer.status_code == status


FORGED: list[dict[str, str]] = [
    {},
    {"X-CSRF-Token": ""},
    {"X-CSRF-Token": "0" * 32},
    {"X-CSRF-Token": "é"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://[broken"},
]


@pytest.mark.guarantee(
    "forged-post.refused",
    "With the cookie, but from another origin or without the session's token: 403 in all ten ways.",
)
@pytest.mark.parametrize("headers", FORGED, ids=str)
def test_a_change_that_a_page_of_others_asks_for_is_refused(
    server: Server, olga: Client, headers: dict[str, str]
) -> None:
    """Each has the cookie, as a browser sends it; those with an Origin even have the token."""
    with server.client(cookies=olga.cookies) as forger:
        if any(name in headers for name in ("Sec-Fetch-Site", "Origin")):
            headers = {**headers, "X-CSRF-Token": olga.headers["X-CSRF-Token"]}
        said = {name: value.encode() for name, value in headers.items()}
        body = {"key": "forged", "quotas": [{"key": "main", "size": 1}]}
        answer = forger.post("/v1/pools", json=body, headers=said)  # type: ignore[arg-type]
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert forger.get("/v1/pools/forged").status_code == 404
        assert forger.delete("/v1/session", headers=said).status_code == 403  # type: ignore[arg-type]
    assert olga.ask("GET", "/v1/session")


def test_what_a_page_of_ours_asks_for_is_done(server: Server, olga: Client) -> None:
    """The control of the above: the same requests, but from here."""
    for number, headers in enumerate(({"Sec-Fetch-Site": "same-origin"}, {"Origin": server.base}, {})):
        body = {"key": f"ours-{number}", "quotas": [{"key": "main", "size": 1}]}
        olga.ask("POST", "/v1/pools", body, expect=201, headers=headers)


def test_nobody_is_signed_in_by_a_page_of_others(server: Server, olga: Client) -> None:
    body = {"email": "olga@example.org", "password": PASSWORD}
    with server.client() as client:
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
            assert client.post("/v1/session", json=body, headers=headers).status_code == 403
        assert client.cookies.get(COOKIE) is None


def test_a_token_of_one_session_is_none_for_another(server: Server, admin: Client, olga: Client) -> None:
    with browser(server, admin, "Eve") as eve:
        eve.headers["X-CSRF-Token"] = olga.headers["X-CSRF-Token"]
        eve.ask("POST", "/v1/pools", {"key": "x", "quotas": []}, expect=403)


def test_a_key_beside_a_cookie_counts_alone(server: Server, admin: Client, olga: Client) -> None:
    with server.client(admin.headers["authorization"].split()[1], cookies=olga.cookies) as client:
        assert client.ask("GET", "/v1/keys")["items"]
        client.pool("by-key")
        assert client.ask("GET", "/v1/session", expect=403)["code"] == "forbidden"
    with server.client("fh_wrong", cookies=olga.cookies) as client:
        assert client.get("/v1/pools").status_code == 401


def test_the_role_of_a_member_is_what_they_may(server: Server, admin: Client) -> None:
    member(admin, "Ada", "admin")
    with browser(server, admin, "Rita", "read") as rita:
        assert rita.ask("GET", "/v1/pools") is not None
        refused = rita.ask("POST", "/v1/pools", {"key": "x", "quotas": []}, expect=403)
        assert refused["detail"] == "A member with the role read may not do this."
        assert rita.ask("GET", "/v1/members", expect=403)
        shown = rita.ask("GET", "/v1/session")["member"]
        admin.ask("PATCH", f"/v1/members/{shown['id']}", {"role": "admin"})
        assert rita.ask("GET", "/v1/members")["items"]
        admin.ask("DELETE", f"/v1/members/{shown['id']}")
        assert rita.get("/v1/members").status_code == 401


def test_the_same_no_whoever_is_asked_for(server: Server, olga: Client) -> None:
    with server.client() as client:
        told = []
        for name, password in (("olga", "wrong password"), ("nobody", PASSWORD)):
            answer = client.post("/v1/session", json={"email": f"{name}@example.org", "password": password})
            told.append((answer.status_code, answer.json(), sorted(answer.headers)))
        assert told[0] == told[1]
        assert told[0][1]["code"] == "unauthenticated"


def test_guessing_is_slowed_down_and_goes_on_later(server: Server, admin: Client) -> None:
    """Also for who is not there; and a right password is not told from a wrong one meanwhile."""
    with browser(server, admin, "Gil"), server.client() as client:
        for name in ("gil", "not-there"):
            body = {"email": f"{name}@example.org", "password": "wrong password"}
            codes = [client.post("/v1/session", json=body).status_code for _ in range(7)]
            assert codes == [401] * 5 + [429] * 2
        answer = client.post("/v1/session", json={"email": "gil@example.org", "password": PASSWORD})
        assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
        assert 0 < int(answer.headers["retry-after"]) <= 60
        admin.advance(60)
        sign_in(client, "Gil")
        # Who signs in has not guessed: it does not count.
        admin.advance(600)
        for _ in range(7):
            sign_in(client, "Gil")


def test_a_session_that_is_not_used_ends(server: Server, admin: Client) -> None:
    with browser(server, admin, "Ida") as ida:
        expires = ida.ask("GET", "/v1/session")["expires_at"]
        admin.advance(12 * 3600 - 1)
        assert ida.ask("GET", "/v1/session")["expires_at"] > expires
        admin.advance(12 * 3600 - 1)
        ida.ask("GET", "/v1/session")
        admin.advance(12 * 3600)
        assert ida.ask("GET", "/v1/session", expect=401)["detail"] == "This session is over. Sign in again."


def test_a_session_ends_in_a_week_however_much_it_is_used(server: Server, admin: Client) -> None:
    with browser(server, admin, "Uma") as uma:
        for _ in range(14):
            uma.ask("GET", "/v1/session")
            admin.advance(12 * 3600 - 1)
        uma.ask("GET", "/v1/session")
        admin.advance(14)
        uma.ask("GET", "/v1/session", expect=401)


def test_signing_out_everywhere(server: Server, admin: Client) -> None:
    with browser(server, admin, "Jon") as here, server.client() as there:
        sign_in(there, "Jon")
        assert here.ask("DELETE", "/v1/session?everywhere=true")["ended"] == 2
        assert there.get("/v1/session").status_code == 401
        sign_in(there, "Jon")
        jon = there.ask("GET", "/v1/session")["member"]["id"]
        assert admin.ask("DELETE", f"/v1/members/{jon}/sessions")["ended"] == 1
        assert there.get("/v1/session").status_code == 401


def test_a_new_password_ends_the_other_sessions(server: Server, admin: Client) -> None:
    with browser(server, admin, "Kai") as here, server.client() as there:
        sign_in(there, "Kai")
        body = {"password": "not the password", "new_password": "quite another password"}
        assert here.ask("POST", "/v1/session/password", body, expect=403)["field"] == "password"
        assert there.get("/v1/session").status_code == 200
        for weak in ("short", "kai@example.org"):
            said = {"password": PASSWORD, "new_password": weak}
            assert here.ask("POST", "/v1/session/password", said, expect=422)["field"] == "new_password"
        common = {"password": PASSWORD, "new_password": "Password123"}
        refused = here.ask("POST", "/v1/session/password", common, expect=422)
        assert (refused["code"], refused["field"]) == ("common_password", "new_password")
        body["password"] = PASSWORD
        here.ask("POST", "/v1/session/password", body)
        here.ask("POST", "/v1/session/password", body)
        assert here.get("/v1/session").status_code == 200
        assert there.get("/v1/session").status_code == 401
        sign_in(there, "Kai", expect=401)
        sign_in(there, "Kai", "quite another password")


def test_an_invitation_is_taken_once_and_a_new_one_ends_the_old_password(
    server: Server, admin: Client
) -> None:
    with browser(server, admin, "Lea") as lea, server.client() as client:
        member_id = lea.ask("GET", "/v1/session")["member"]["id"]
        again = admin.ask("POST", f"/v1/members/{member_id}/invite")
        token = again["invitation"]["token"]
        body = {"token": token, "password": "quite another password"}
        for weak, code in (("x", "invalid"), ("1234567890", "common_password")):
            refused = client.ask("POST", "/v1/session/invitation", body | {"password": weak}, expect=422)
            assert (refused["code"], refused["field"]) == (code, "password")
        assert client.ask("POST", "/v1/session/invitation", body, expect=201)["member"]["name"] == "Lea"
        assert lea.get("/v1/session").status_code == 401
        refused = client.ask("POST", "/v1/session/invitation", body | {"password": PASSWORD}, expect=401)
        assert refused["code"] == "unauthenticated"
        assert "invitation" not in str(admin.ask("GET", f"/v1/members/{member_id}")).replace(
            "'invitation': None", ""
        )


def test_the_same_request_is_the_same_session(server: Server, admin: Client) -> None:
    with browser(server, admin, "Mia"), server.client() as client:
        key = {"headers": {"Idempotency-Key": "mia-1"}}
        first = sign_in(client, "Mia", **key)
        cookie = client.cookies.get(COOKIE)
        assert sign_in(client, "Mia", **key) == first
        assert client.cookies.get(COOKIE) == cookie


def test_neither_passwords_nor_tokens_are_kept_or_logged(server: Server, admin: Client) -> None:
    with browser(server, admin, "Noa") as noa:
        hidden = [PASSWORD, noa.cookies.get(COOKIE), noa.headers["X-CSRF-Token"]]
        noa.ask("GET", "/v1/session")
        token = admin.ask("POST", f"/v1/members/{noa.ask('GET', '/v1/session')['member']['id']}/invite")
        hidden.append(token["invitation"]["token"])
    tables = ("fairhold_members", "fairhold_sessions", "fairhold_requests", "fairhold_api_keys")
    dumped = "".join(str(asyncio.run(ask(server.url, f"SELECT * FROM {table}"))) for table in tables)
    assert "noa@example.org" in dumped
    log = server.log("invite_member")
    assert "accept_invitation" in log
    for word in hidden:
        assert word not in dumped
        assert word not in log
    assert "noa@example.org" not in log


WRONG: list[Any] = [
    {},
    {"email": "olga@example.org"},
    {"email": "olga@example.org", "password": ""},
    {"email": "olga@example.org", "password": 5},
    {"email": "olga@example.org", "password": True},
    {"email": "olga@example.org", "password": "x" * 501},
    {"email": "x" * 255, "password": PASSWORD},
    {"email": ["olga@example.org"], "password": PASSWORD},
    {"email": "olga@example.org", "password": PASSWORD, "remember": True},
    {"email": "olga@example.org", "password": PASSWORD, "org": None},
    [],
]


@pytest.mark.parametrize("body", WRONG, ids=repr)
def test_what_is_no_sign_in_is_refused(server: Server, body: Any) -> None:
    with server.client() as client:
        assert client.ask("POST", "/v1/session", body, expect=422)["code"] == "invalid"


@pytest.mark.parametrize("word", ["\x00", "\ud800", "🎉", "' OR 1=1 --"])
def test_odd_words_sign_nobody_in(server: Server, word: str) -> None:
    body = json.dumps({"email": word, "password": word * 3, "org": word})
    with server.client() as client:
        answer = client.post("/v1/session", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (401, 422)
        assert answer.json()["code"] in ("unauthenticated", "invalid")
    assert '"level":"error"' not in server.log()


def test_a_stream_ends_with_its_session(server: Server, admin: Client) -> None:
    with browser(server, admin, "Ola") as ola, ola.stream("GET", "/v1/stream") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "retry: 1000"
        ola.ask("DELETE", "/v1/session")
        admin.pool("unseen")
        assert "unseen" not in "".join(lines)
