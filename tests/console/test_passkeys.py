"""Passkeys over HTTP, as the browser's script asks: what is refused, and to whom."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.accounts.device import Device
from tests.console.desk import Desk, make_members
from tests.http.server import Client, Server, serving
from tests.pages.visitor import plain

HOME = "/console/settings"
MINE = f"{HOME}/passkeys"
IN = "/console/sign-in/passkey"


@pytest.fixture(scope="module")
def server(module_url: str) -> Iterator[Server]:
    """At a name, for which browsers have passkeys."""
    with serving(module_url, "--test-clock", fairhold_base_url="http://localhost:{port}") as running:
        yield running


@pytest.fixture
def device(server: Server) -> Device:
    return Device(origin=f"http://localhost:{server.port}")


def asked_to_add(desk: Desk) -> Any:
    return json.loads(desk.submit(f"{MINE}/challenge", {"csrf": desk.csrf()}, expect=200))


def add(desk: Desk, device: Device, name: str = "Phone") -> str:
    fields = {"csrf": desk.csrf(), "name": name, "credential": device.add(asked_to_add(desk))}
    return desk.submit(MINE, fields)


def asked(desk: Desk) -> Any:
    return json.loads(desk.submit(f"{IN}/challenge", expect=200))


def enter(desk: Desk, device: Device, expect: int = 303, **fields: str) -> str:
    return desk.submit(IN, {"credential": device.use(asked(desk)), **fields}, expect=expect)


def remove_action(page: str, name: str) -> str:
    found = re.search(rf'action="({MINE}/k[0-9a-f]+/remove)"', page.partition(f"<td>{name}</td>")[2])
    assert found
    return found[1]


def test_added_used_and_removed(rita: Desk, stranger: Desk, device: Device) -> None:
    """Also by who may only look: a passkey is one's own."""
    assert add(rita, device, "Rita's phone") == f"{HOME}?told=passkey_added"
    assert "From now on you can sign in with it" in rita.look(f"{HOME}?told=passkey_added")
    assert "Rita&#39;s phone" in rita.look(HOME)
    assert enter(stranger, device, next="/console/numbers") == "/console/numbers"
    assert "Can look, not change" in plain(stranger.look("/console/pools"))
    action = remove_action(rita.look(HOME), "Rita&#39;s phone")
    assert rita.press(HOME, action) == f"{HOME}?told=passkey_removed"
    # Who is signed in stays so; but nobody signs in with it again.
    assert stranger.look("/console/pools")
    assert "not known here" in enter(stranger, device, expect=401)
    assert rita.submit(action, {"csrf": rita.csrf()}, expect=404)


def test_what_was_sent_once_is_good_for_nothing(sam: Desk, stranger: Desk, device: Device) -> None:
    add(sam, device)
    sent = device.use(asked(stranger))
    stranger.submit(IN, {"credential": sent})
    stranger.cookies.clear()
    page = stranger.submit(IN, {"credential": sent}, expect=401)
    assert "Sign in" in page
    assert stranger.get("/console/pools").status_code == 303


def test_a_page_of_another_site_gets_nobody_in(sam: Desk, stranger: Desk, device: Device) -> None:
    add(sam, device)
    foreign = Device(
        origin="https://evil.example", name=device.name, key=device.key, owner=device.owner, count=4
    )
    enter(stranger, foreign, expect=401)
    sent = device.use(asked(stranger))
    stranger.submit(IN, {"credential": sent}, expect=403, **{"sec-fetch-site": "cross-site"})
    stranger.submit(f"{IN}/challenge", expect=403, **{"sec-fetch-site": "cross-site"})


def test_a_challenge_is_over_in_minutes_and_a_counter_goes_up(
    sam: Desk, stranger: Desk, admin: Client, device: Device
) -> None:
    add(sam, device)
    sent = device.use(asked(stranger))
    admin.advance(301)
    stranger.submit(IN, {"credential": sent}, expect=401)
    device.count = 9
    enter(stranger, device)
    device.count = 3
    enter(stranger, device, expect=401)


def test_nobody_adds_or_removes_for_another(sam: Desk, otto: Desk, stranger: Desk, device: Device) -> None:
    add(sam, device)
    sent = Device(origin=device.origin).add(asked_to_add(sam))
    fields = {"csrf": otto.csrf(), "name": "Mine", "credential": sent}
    assert otto.submit(MINE, fields) == f"{HOME}?told=passkey_not_added"
    assert "Mine" not in otto.look(HOME)
    action = remove_action(sam.look(HOME), "Phone")
    otto.submit(action, {"csrf": otto.csrf()}, expect=404)
    sam.submit(action, {}, expect=403)
    sam.submit(f"{MINE}/challenge", {}, expect=403)
    for path in (MINE, f"{MINE}/challenge", action):
        assert "sign-in" in stranger.submit(path)
    assert enter(stranger, device) == "/console/pools"


def test_an_admin_sees_and_removes_those_of_members(olga: Desk, sam: Desk, device: Device) -> None:
    add(sam, device, "Lost phone")
    (sams,) = re.findall(r'href="([^"]+/members/m[0-9a-f]+)">Sam<', olga.look(f"{HOME}/members"))
    page = olga.look(sams)
    (passkey,) = re.findall(r'name="id" value="(k[0-9a-f]+)"', page.partition("<td>Lost phone</td>")[2])[:1]
    fields = {"csrf": olga.csrf(), "id": passkey}
    sam.submit(f"{sams}/remove-passkey", {**fields, "csrf": sam.csrf()}, expect=403)
    assert olga.submit(f"{sams}/remove-passkey", fields) == f"{sams}?told=passkey_removed"
    assert "Lost phone" not in olga.look(sams)


def test_guessing_is_slowed_down(stranger: Desk, device: Device) -> None:
    sent = device.use({"challenge": "AAAA"})
    for _ in range(5):
        stranger.submit(IN, {"credential": sent}, expect=401)
    assert "too many tries" in stranger.submit(IN, {"credential": sent}, expect=429)


def test_after_a_while_one_signs_in_again_before_adding_one(sam: Desk, admin: Client) -> None:
    assert 'data-passkey="add"' in sam.look(HOME)
    admin.advance(16 * 60)
    page = sam.look(HOME)
    assert "please sign in again first" in page
    assert 'data-passkey="add"' not in page
    sam.submit(f"{MINE}/challenge", {"csrf": sam.csrf()}, expect=409)
    sam.sign_in("Sam")
    assert 'data-passkey="add"' in sam.look(HOME)


def test_challenges_are_not_handed_out_without_end(server: Server, stranger: Desk) -> None:
    """The last of its module: afterwards this address has to wait."""
    statuses = {
        stranger.post(f"{IN}/challenge", headers={"sec-fetch-site": "same-origin"}).status_code
        for _ in range(60)
    }
    assert statuses == {200, 429}


def test_where_browsers_have_no_passkeys_there_is_no_button(tmp_path_factory: Any) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('number')}/fairhold.db"
    with serving(url) as server, Desk(base_url=server.base) as desk:
        make_members(url)
        page = desk.look("/console/sign-in")
        assert "passkey" not in page
        assert "sign-on" not in page
        desk.submit(f"{IN}/challenge", expect=404)
        desk.sign_in("Sam")
        assert "they need an address with a name, and https" in desk.look(HOME)
