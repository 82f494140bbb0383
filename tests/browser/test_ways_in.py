"""Passkeys and another service's accounts in a real browser, which has an authenticator of its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
from playwright.sync_api import Page, expect

from tests.accounts.idp import Idp, providing
from tests.browser.conftest import Open, listen
from tests.browser.console import Shoot, Staff, judge, sign_in
from tests.browser.flows import says
from tests.browser.test_looks import fits
from tests.console.desk import make_members
from tests.console.test_sign_on import settings
from tests.http.server import Client, Server, serving

HOME = "/console/settings"


@pytest.fixture(scope="module")
def idp() -> Iterator[Idp]:
    with providing() as idp:
        yield idp


@pytest.fixture(scope="module")
def server(idp: Idp, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """At a name, for which browsers have passkeys."""
    url = f"sqlite:///{tmp_path_factory.mktemp('ways-in')}/fairhold.db"
    environment = {"fairhold_base_url": "http://localhost:{port}", "fairhold_rate_per_address": "0"}
    with serving(url, "--test-clock", **environment, **settings(idp)) as running:
        running.base = f"http://localhost:{running.port}"
        make_members(url)
        yield running


def with_authenticator(page: Page) -> None:
    """A device that finds its owner verified, as by a finger."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def sign_out(page: Page) -> None:
    page.locator("#me > summary").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    says(page, "Sign in")


def test_a_passkey_from_beginning_to_end(visit: Open, shoot: Shoot, server: Server) -> None:
    page = visit(f"/console/sign-in?next={HOME}", size="desktop")
    with_authenticator(page)
    sign_in(page, "Sam")
    page.get_by_label("What do you call the new one?").fill("Desk at the front")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("status").first).to_contain_text("From now on you can sign in with it")
    row = page.get_by_role("row", name="Desk at the front")
    expect(row).to_contain_text("never")
    # The same device is not asked twice.
    page.get_by_label("What do you call the new one?").fill("Once more")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.locator("#passkeys").get_by_role("alert")).to_contain_text("has a passkey of yours already")
    judge(page, "console_passkeys", shoot)
    page.goto(f"{HOME}?lang=de")
    fits(page, 320)
    page.goto(HOME)
    page.set_viewport_size({"width": 1280, "height": 900})
    olga = Staff(server, "Olga").open(visit, f"{HOME}/members")
    olga.get_by_role("link", name="Sam", exact=True).click()
    expect(olga.get_by_role("row", name="Desk at the front")).to_be_visible()
    judge(olga, "console_member_passkeys", shoot)

    sign_out(page)
    page.goto("/console/sign-in?next=/console/numbers")
    page.get_by_role("button", name="Sign in with a passkey").click()
    says(page, "Numbers")
    page.goto(HOME)
    expect(row).not_to_contain_text("never")
    row.get_by_text("Remove", exact=True).click()
    judge(page, "console_passkey_removing", shoot)
    page.get_by_role("button", name="Remove this passkey").click()
    expect(page.get_by_role("status").first).to_contain_text("nobody signs in with this passkey")
    expect(row).to_have_count(0)

    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert").first).to_contain_text("not known here, or was removed")
    page.goto("/console/pools")
    says(page, "Sign in")
    # The password works as ever.
    sign_in(page, "Sam")


def test_a_browser_without_passkeys_or_scripts_has_no_button(visit: Open) -> None:
    page = visit("/console/sign-in", scripts=False)
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    expect(page.locator("[data-passkey]")).to_be_hidden()
    sign_in(page, "Sam")
    page.goto(HOME)
    expect(page.locator("[data-passkey]")).to_be_hidden()
    expect(page.get_by_text("This browser cannot use passkeys")).to_be_visible()
    page = visit("/healthz")
    page.add_init_script("delete window.PublicKeyCredential")
    page.goto("/console/sign-in")
    expect(page.get_by_role("link", name="Sign in with Mill accounts")).to_be_visible()
    expect(page.locator("[data-passkey]")).to_be_hidden()


def test_who_puts_the_device_away_is_told_so(visit: Open, shoot: Shoot) -> None:
    page = visit("/console/sign-in")
    with_authenticator(page)
    judge(page, "console_ways_in", shoot)
    page.goto("/console/sign-in?lang=de")
    fits(page, 320)
    page.goto("/console/sign-in")
    # As a browser says it when somebody closes its window.
    closed = "new DOMException('closed', 'NotAllowedError')"
    page.evaluate(f"() => {{ navigator.credentials.get = () => Promise.reject({closed}); }}")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator(".ways").get_by_role("alert")).to_contain_text("No passkey was used")
    judge(page, "console_passkey_put_away", shoot)


def test_in_with_the_account_of_another_service(
    visit: Open, shoot: Shoot, idp: Idp, server: Server, admin: Client
) -> None:
    idp.now = int(datetime.fromisoformat(admin.ask("GET", "/v1/clock")["now"]).timestamp())
    page = visit("/console/sign-in?next=/console/needs&lang=fi", theme="dark")
    # A page of its own, which may go to the provider as well.
    page = page.context.new_page()
    complaints: list[str] = []
    listen(page, "http", complaints)
    page.goto("/console/sign-in?next=/console/needs&lang=fi")
    page.get_by_role("link", name="Kirjaudu palvelulla Mill accounts").click()
    page.locator("#go").click()
    says(page, "Odottaa sinua")
    assert page.url == f"{server.base}/console/needs?lang=fi"
    assert [it["name"] for it in page.context.cookies()] == ["fairhold_session"]
    idp.is_broken = True
    admin.advance(61)
    page.goto("/console/sign-on")
    expect(page.get_by_role("alert").first).to_be_visible()
    judge(page, "console_provider_down", shoot)
    sign_in(page, "Sam")
    assert complaints == []
