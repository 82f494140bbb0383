"""Signing in with an identity provider: whom it lets in, and all that it does not."""

from __future__ import annotations

import html
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey

from tests.accounts.idp import CLIENT, SECRET, Idp, providing
from tests.console.desk import Desk, make_members
from tests.http.server import Client, Server, make_key, serving
from tests.pages.visitor import plain

OUT = "/console/sign-on"


def settings(idp: Idp, **more: str) -> dict[str, str]:
    said = {"issuer": idp.base, "client_id": CLIENT, "client_secret": SECRET, "to_private": "yes"}
    said["button"] = "Mill accounts"
    return {f"fairhold_oidc_{name}": value for name, value in {**said, **more}.items()}


@pytest.fixture(scope="module")
def provider() -> Iterator[Idp]:
    with providing() as idp:
        yield idp


@pytest.fixture(scope="module")
def server(provider: Idp, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    url = f"sqlite:///{tmp_path_factory.mktemp('sign-on')}/fairhold.db"
    with serving(url, "--test-clock", **settings(provider)) as running:
        make_members(url)
        yield running


@pytest.fixture(scope="module")
def admin(server: Server) -> Iterator[Client]:
    with server.client(make_key(server.url)) as client:
        yield client


@pytest.fixture
def idp(provider: Idp, admin: Client) -> Idp:
    """The provider as it is in the beginning, on the service's clock."""
    provider.reset()
    # By then tries are given back, and what was remembered of the provider is over.
    admin.advance(120)
    provider.now = int(datetime.fromisoformat(admin.ask("GET", "/v1/clock")["now"]).timestamp())
    return provider


@pytest.fixture
def desk(server: Server) -> Iterator[Desk]:
    with Desk(base_url=server.base) as desk:
        yield desk


def went_out(desk: Desk, **query: str) -> dict[str, str]:
    """Out to the provider; what it is asked."""
    answer = desk.get(OUT, params=query)
    assert answer.status_code == 303, answer.text[:500]
    assert "HttpOnly; SameSite=Lax" in answer.headers["set-cookie"]
    parts = urlsplit(answer.headers["location"])
    return {name: values[0] for name, values in parse_qs(parts.query).items()}


def came_back(desk: Desk, idp: Idp, expect: int = 303, **query: str) -> str:
    """Out, signed in there, and back; where one is led then, or the page."""
    there = html.unescape(idp.back(went_out(desk, **query)))
    answer = desk.get(there)
    assert answer.status_code == expect, f"{answer.status_code} {plain(answer.text)[:500]}"
    return str(answer.headers.get("location", answer.text))


def is_outside(desk: Desk) -> bool:
    return desk.get("/console/pools").status_code == 303


def test_who_is_known_there_is_let_in_as_the_member_they_are(desk: Desk, idp: Idp, server: Server) -> None:
    page = desk.look("/console/sign-in?next=/console/numbers&lang=fi")
    assert "Mill accounts" in page
    assert "sign-on?lang=fi&amp;next=%2Fconsole%2Fnumbers" in page
    asked = went_out(desk)
    assert asked["code_challenge_method"] == "S256"
    assert asked["response_type"] == "code"
    assert asked["redirect_uri"] == f"{server.base}/console/sign-on/back"
    assert came_back(desk, idp, next="/console/numbers", lang="fi") == "/console/numbers?lang=fi"
    assert "Admin" in plain(desk.look("/console/pools"))
    # A member of one org, whoever else has the same e-mail.
    assert "theirs" not in desk.look("/console/settings")


def test_by_an_rsa_key_too(desk: Desk, idp: Idp) -> None:
    idp.algorithm = "RS256"
    came_back(desk, idp)
    assert not is_outside(desk)


@pytest.mark.filterwarnings("ignore:Key size should be")
def test_who_is_vouched_for_by_a_short_key_is_not_let_in(desk: Desk, idp: Idp) -> None:
    idp.algorithm = "RS256"
    idp.keys["RS256"] = RSAKey.generate_key(1024, {"kid": "short"})
    try:
        assert "did not confirm who you are" in came_back(desk, idp, expect=403)
        assert is_outside(desk)
    finally:
        idp.rotate()


BENT: dict[str, dict[str, Any]] = {
    "wrong nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "wrong audience": {"aud": "somebody else"},
    "several audiences, not for us": {"aud": [CLIENT, "somebody else"], "azp": "somebody else"},
    "several audiences, nobody's": {"aud": [CLIENT, "somebody else"]},
    "wrong issuer": {"iss": "https://evil.example"},
    "expired": {"exp": 1_600_000_000},
    "never expires": {"exp": None},
    "from the future": {"iat": 4_000_000_000},
    "nobody": {"sub": None},
}


@pytest.mark.parametrize("bent", BENT)
def test_a_token_that_is_not_right_lets_nobody_in(desk: Desk, idp: Idp, bent: str) -> None:
    idp.claims = BENT[bent]
    page = came_back(desk, idp, expect=403)
    assert "did not confirm who you are" in page
    assert is_outside(desk)


@pytest.mark.parametrize("algorithm", ["none", "HS256", "foreign"])
def test_a_token_that_the_provider_has_not_signed_lets_nobody_in(
    desk: Desk, idp: Idp, algorithm: str
) -> None:
    idp.algorithm = algorithm
    came_back(desk, idp, expect=403)
    assert is_outside(desk)


def test_only_the_browser_that_set_out_comes_back(desk: Desk, idp: Idp, server: Server) -> None:
    there = html.unescape(idp.back(went_out(desk)))
    with Desk(base_url=server.base) as victim:
        assert "Please start again" in victim.look(there, expect=400)
        # With a trip of their own it is another state.
        went_out(victim)
        victim.look(there, expect=403)
        assert is_outside(victim)
    wrong = there.replace("state=", "state=0")
    desk.look(wrong, expect=403)
    desk.look(there.replace(f"iss={idp.base.replace(':', '%3A').replace('/', '%2F')}", "iss=x"), expect=403)
    assert desk.get(there).status_code == 303
    # The same once more: the trip is over.
    desk.cookies.delete("fairhold_session")
    desk.look(there, expect=400)


def test_a_trip_is_over_in_minutes(desk: Desk, idp: Idp, admin: Client) -> None:
    there = html.unescape(idp.back(went_out(desk)))
    admin.advance(601)
    assert "took too long" in desk.look(there, expect=400)


def test_a_code_is_taken_once(desk: Desk, idp: Idp) -> None:
    there = html.unescape(idp.back(went_out(desk)))
    cookie = dict(desk.cookies)
    assert desk.get(there).status_code == 303
    desk.cookies.clear()
    desk.cookies.update(cookie)
    assert "did not confirm" in desk.look(there, expect=403)


def test_who_says_no_there_is_not_let_in(desk: Desk, idp: Idp) -> None:
    idp.refuses = True
    assert "did not confirm who you are" in came_back(desk, idp, expect=403)


def test_keys_may_change(desk: Desk, idp: Idp) -> None:
    came_back(desk, idp)
    asked = idp.asked.count("/keys")
    idp.rotate()
    desk.cookies.clear()
    came_back(desk, idp)
    assert not is_outside(desk)
    assert idp.asked.count("/keys") == asked + 1


@pytest.mark.parametrize("said", [{"email_verified": False}, {"email_verified": None}, {"email": None}])
def test_an_unverified_e_mail_is_nobodys(desk: Desk, idp: Idp, said: dict[str, Any]) -> None:
    idp.who = {**idp.who, "sub": "an impostor"}
    idp.claims = said
    assert "Nobody here belongs to that account" in came_back(desk, idp, expect=403)
    assert is_outside(desk)


def test_what_is_told_only_to_who_asks_is_asked_for(desk: Desk, idp: Idp) -> None:
    idp.who = {"sub": "sam-1"}
    idp.told = {"email": "Sam@Example.org", "email_verified": True}
    came_back(desk, idp)
    assert ">Sam<" in desk.look("/console/settings")
    # It must tell of the same person.
    desk.cookies.clear()
    idp.told = {**idp.told, "sub": "somebody else"}
    came_back(desk, idp, expect=403)


def test_who_is_no_member_stays_outside(desk: Desk, idp: Idp, admin: Client) -> None:
    idp.who = {"sub": "zoe-1", "email": "zoe@example.org", "email_verified": True, "name": "Zoe"}
    assert "Nobody here belongs to that account" in came_back(desk, idp, expect=403)
    assert "zoe" not in str(admin.ask("GET", "/v1/members"))


def test_an_e_mail_that_went_to_somebody_else_takes_no_account_along(
    desk: Desk, idp: Idp, admin: Client
) -> None:
    idp.who = {"sub": "rita-1", "email": "rita@example.org", "email_verified": True}
    came_back(desk, idp)
    desk.cookies.clear()
    idp.who = {**idp.who, "sub": "rita-2"}
    came_back(desk, idp, expect=403)
    # The same person with another e-mail there is who they were.
    idp.who = {"sub": "rita-1", "email": "other@example.org", "email_verified": False}
    came_back(desk, idp)
    # An admin who changes the e-mail here begins anew.
    (rita,) = [it["id"] for it in admin.ask("GET", "/v1/members")["items"] if it["name"] == "Rita"]
    admin.ask("PATCH", f"/v1/members/{rita}", {"email": "new@example.org"})
    desk.cookies.clear()
    came_back(desk, idp, expect=403)
    idp.who = {"sub": "rita-2", "email": "new@example.org", "email_verified": True}
    came_back(desk, idp)


def test_a_provider_that_is_down_is_a_calm_page(desk: Desk, idp: Idp, admin: Client) -> None:
    there = html.unescape(idp.back(went_out(desk)))
    idp.is_broken = True
    assert "cannot be reached just now" in desk.look(there, expect=503)
    admin.advance(61)
    page = desk.look(OUT, expect=503)
    assert "cannot be reached just now" in page
    assert 'name="password"' in page
    desk.sign_in("Sam")
    assert not is_outside(desk)


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://x/\r\nset-cookie: a=b"},
    ],
)
def test_a_provider_that_says_what_cannot_be_is_as_one_that_is_down(
    desk: Desk, idp: Idp, document: dict[str, Any]
) -> None:
    idp.document = document
    assert "cannot be reached just now" in desk.look(OUT, expect=503)


def test_who_is_new_becomes_a_member_where_that_was_allowed(
    provider: Idp, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With the role that the operator chose, in the org that they chose; and an admin makes admins."""
    url = f"sqlite:///{tmp_path_factory.mktemp('new')}/fairhold.db"
    more = settings(provider, new_members="staff", org="theirs", button="", trust_email="yes")
    with serving(url, "--test-clock", **more) as server, Desk(base_url=server.base) as desk:
        make_members(url)
        admin = server.client(make_key(url, org="theirs"))
        provider.reset()
        provider.document = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        provider.now = int(datetime.fromisoformat(admin.ask("GET", "/v1/clock")["now"]).timestamp())
        assert "Sign in with 127.0.0.1" in desk.look("/console/sign-in")
        # This provider verifies all e-mails, and does not say so.
        provider.who = {"sub": "zoe-1", "email": "Zoe@example.org", "name": "Otto"}
        came_back(desk, provider)
        (made,) = [it for it in admin.ask("GET", "/v1/members")["items"] if it["email"] == "zoe@example.org"]
        # Otto is somebody else already.
        assert (made["name"], made["role"], made["state"]) == ("zoe@example.org", "staff", "active")
        assert "You have none: you sign in another way" in desk.look("/console/settings")
        admin.ask("PATCH", f"/v1/members/{made['id']}", {"role": "read"})
        desk.cookies.clear()
        came_back(desk, provider)
        assert "Can look, not change" in plain(desk.look("/console/pools"))
        provider.who = {"sub": "yan-1", "email": "yan@example.org", "email_verified": False, "name": "Yan"}
        desk.cookies.clear()
        came_back(desk, provider, expect=403)
        assert len(admin.ask("GET", "/v1/members")["items"]) == 2
        admin.close()


def test_settings_that_cannot_be_used_are_said_at_once(provider: Idp) -> None:
    from fairhold.accounts.oidc import provider_of
    from fairhold.errors import SettingsWrong
    from fairhold.http.settings import Settings

    good = {"database": "sqlite:///x.db", "oidc_issuer": "https://id.example.org", "oidc_client_id": "x"}
    assert provider_of(Settings(database="x")) is None
    assert provider_of(Settings(**good)) is not None  # type: ignore[arg-type]
    bad = [
        "oidc_org=",
        "oidc_new_members=admin",
        "oidc_client_id=",
        "oidc_issuer=http://id.example.org",
        "oidc_issuer=x",
    ]
    for name, _, value in (it.partition("=") for it in bad):
        with pytest.raises(SettingsWrong, match="FAIRHOLD_OIDC"):
            provider_of(Settings(**{**good, name: value}))  # type: ignore[arg-type]
    assert "hush" not in repr(Settings(database="x", oidc_client_secret="hush"))


def test_an_inner_address_is_asked_only_where_that_was_allowed(provider: Idp) -> None:
    """What a provider names may not lead inside."""
    import asyncio

    from fairhold.accounts.provider import Provided, ProviderDown

    async def asked(to_private: bool) -> Any:
        return await Provided(provider.base, to_private=to_private).get(f"{provider.base}/keys", {})

    assert "keys" in asyncio.run(asked(True))
    with pytest.raises(ProviderDown, match="https"):
        asyncio.run(asked(False))

    async def inside() -> Any:
        return await Provided("https://x").get("https://127.0.0.1/keys", {})

    with pytest.raises(ProviderDown, match="not a public one"):
        asyncio.run(inside())
