"""Passkeys let in whom they belong to, once for each challenge, and nobody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from argon2 import PasswordHasher

from fairhold import Fairhold, Refusal, granted
from fairhold.accounts.challenges import ADD, LIVES, NOBODY, SIGN_IN, Challenges
from fairhold.accounts.members import Members
from fairhold.accounts.passkeys import FRESH, Passkey, Passkeys, passkeys_of, remove_passkey, site_of
from fairhold.accounts.passwords import Passwords
from fairhold.accounts.sessions import Session, Sessions, Started
from fairhold.clock import TestClock
from tests.accounts.device import MADE, PRESENT, Device, raw, text
from tests.database import START, ask, opened

SITE = site_of("http://localhost")
assert SITE is not None
PASSWORD = "correct horse battery"


def quick() -> Passwords:
    return Passwords(PasswordHasher(time_cost=1, memory_cost=32))


class Node(NamedTuple):
    """One process, as far as signing in goes."""

    hf: Fairhold
    members: Members
    sessions: Sessions
    passkeys: Passkeys

    async def signed_in(self, org: str = "default") -> Session:
        started = await self.sessions.sign_in(org, "olga@example.org", PASSWORD)
        assert started is not None
        return started.session

    async def added(self, device: Device, name: str = "Phone", org: str = "default") -> Passkey:
        session = await self.signed_in(org)
        asked = granted(await self.passkeys.ask_to_add(session))
        return granted(await self.passkeys.add(session, name, device.add(asked)))

    async def used(self, device: Device, **said: str) -> Started | None:
        return await self.passkeys.sign_in(device.use(await self.passkeys.ask_to_sign_in(), **said))


def node_of(hf: Fairhold) -> Node:
    sessions = Sessions(hf.store, hf.clock, hf.secret, quick())
    assert SITE is not None
    passkeys = Passkeys(hf.store, hf.clock, sessions, SITE)
    return Node(hf, Members(hf.store, hf.clock, hf.secret), sessions, passkeys)


@pytest.fixture
async def node(database_url: str) -> AsyncIterator[Node]:
    async with opened(database_url) as hf:
        node = node_of(hf)
        for org in ("default", "theirs"):
            granted(await node.members.add(org, "olga@example.org", "Olga", "admin"))
            granted(await node.members.set_password(org, "olga@example.org", PASSWORD, quick()))
        yield node


def move(node: Node, by: int) -> None:
    assert isinstance(node.hf.clock, TestClock)
    node.hf.clock.move_to(node.hf.clock.now() + by)


async def test_a_passkey_is_added_used_listed_and_removed(node: Node) -> None:
    device = Device()
    made = await node.added(device)
    store, member = node.hf.store, (await node.signed_in()).member.id
    assert await passkeys_of(store, member) == [made]
    assert made.used_at is None
    move(node, 60_000)
    started = await node.used(device)
    assert started is not None
    assert started.session.member.org == "default"
    assert await node.sessions.find(started.token) == started.session
    (listed,) = await passkeys_of(store, member)
    assert listed.used_at is not None
    assert listed.used_at.timestamp() * 1000 == START + 60_000
    assert await remove_passkey(store, member, made.id) == made.id
    assert await node.used(device) is None
    # Removing it ends nothing else.
    assert await node.sessions.find(started.token) is not None
    assert isinstance(await remove_passkey(store, member, made.id), Refusal)


async def test_a_challenge_of_one_node_is_answered_on_another_once(node: Node, database_url: str) -> None:
    device = Device(count=None)
    await node.added(device)
    async with opened(database_url, migrate=False) as other:
        sent = device.use(await node.passkeys.ask_to_sign_in())
        answers = await asyncio.gather(*[it.passkeys.sign_in(sent) for it in (node, node_of(other))])
    assert sum(answer is not None for answer in answers) == 1
    assert await node.passkeys.sign_in(sent) is None


async def test_a_challenge_is_over_in_minutes(node: Node, database_url: str) -> None:
    device = Device()
    await node.added(device)
    sent = device.use(await node.passkeys.ask_to_sign_in())
    move(node, LIVES)
    assert await node.passkeys.sign_in(sent) is None
    # The next one tidies up behind it.
    assert await node.used(device) is not None
    assert await ask(database_url, "SELECT count(*) FROM fairhold_challenges") == [(0,)]


async def test_a_challenge_is_for_one_purpose_and_one_member(node: Node) -> None:
    challenges = Challenges(node.hf.store, node.hf.clock)
    made = await challenges.put(ADD, "m1")
    for purpose, member in ((SIGN_IN, "m1"), (ADD, "m2"), (ADD, NOBODY)):
        assert not await challenges.take(made, purpose, member)
    assert await challenges.take(made, ADD, "m1")
    assert not await challenges.take(made, ADD, "m1")


async def test_a_counter_that_goes_back_is_a_copy(node: Node) -> None:
    device = Device()
    await node.added(device)
    assert await node.used(device) is not None
    copy = Device(count=0, name=device.name, key=device.key, owner=device.owner)
    assert await node.used(copy) is None
    copy.count = 7
    assert await node.used(copy) is not None
    assert await node.used(device) is None


WRONG: dict[str, dict[str, Any]] = {
    "foreign origin": {"origin": "http://localhost.evil.example"},
    "another port": {"origin": "http://localhost:1"},
    "another site": {"site": "evil.example"},
    "nobody verified": {"flags": PRESENT},
    "nobody there": {"flags": 0},
    "another key": {"key": Device().key},
    "unknown passkey": {"name": b"unknown"},
    "somebody else": {"owner": b"m0000000000000000"},
    "nobody": {"owner": b""},
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_what_is_not_right_lets_nobody_in(node: Node, wrong: str) -> None:
    device = Device()
    await node.added(device)
    other = Device(**{"name": device.name, "key": device.key, "owner": device.owner, **WRONG[wrong]})
    assert await node.used(other) is None
    # The control: the same in every other way.
    assert await node.used(device) is not None


async def test_what_is_for_one_thing_is_not_for_another(node: Node) -> None:
    device = Device()
    await node.added(device)
    session = await node.signed_in()
    to_add = granted(await node.passkeys.ask_to_add(session))
    assert await node.passkeys.sign_in(device.use(to_add)) is None
    assert await node.used(device, type="webauthn.create") is None
    asked = json.loads(granted(await node.passkeys.ask_to_add(session)))
    asked["challenge"] = json.loads(await node.passkeys.ask_to_sign_in())["challenge"]
    assert isinstance(await node.passkeys.add(session, "Laptop", Device().add(asked)), Refusal)
    # Nor is what was asked of a member of one org good for one of another.
    theirs = await node.signed_in("theirs")
    asked = granted(await node.passkeys.ask_to_add(session))
    assert isinstance(await node.passkeys.add(theirs, "Mine", Device().add(asked)), Refusal)
    assert await passkeys_of(node.hf.store, theirs.member.id) == []


async def test_a_passkey_is_of_one_member_alone(node: Node) -> None:
    device = Device()
    made = await node.added(device)
    theirs = await node.signed_in("theirs")
    asked = granted(await node.passkeys.ask_to_add(theirs))
    refused = await node.passkeys.add(theirs, "Mine", device.add(asked))
    assert isinstance(refused, Refusal)
    assert refused.code == "exists"
    assert isinstance(await remove_passkey(node.hf.store, theirs.member.id, made.id), Refusal)
    mine = json.loads(granted(await node.passkeys.ask_to_add(await node.signed_in())))
    assert [raw(it["id"]) for it in mine["excludeCredentials"]] == [device.name]
    assert mine["authenticatorSelection"]["userVerification"] == "required"
    assert mine["authenticatorSelection"]["residentKey"] == "required"


@pytest.mark.parametrize(
    "device",
    [Device(origin="https://evil.example"), Device(site="evil.example"), Device(flags=PRESENT)],
    ids=["origin", "site", "not verified"],
)
async def test_a_passkey_that_is_not_right_is_not_kept(node: Node, device: Device) -> None:
    session = await node.signed_in()
    asked = granted(await node.passkeys.ask_to_add(session))
    assert isinstance(await node.passkeys.add(session, "Phone", device.add(asked)), Refusal)
    assert await passkeys_of(node.hf.store, session.member.id) == []


@pytest.mark.parametrize("sent", ["", "{", "[]", "{}", "é\ud800", '{"rawId": 1}', "null"])
async def test_nonsense_is_a_calm_no(node: Node, sent: str) -> None:
    session = await node.signed_in()
    assert await node.passkeys.sign_in(sent) is None
    assert isinstance(await node.passkeys.add(session, "Phone", sent), Refusal)


@pytest.mark.parametrize("part", ["attestationObject", "clientDataJSON"])
async def test_a_true_challenge_with_nonsense_is_a_calm_no(node: Node, part: str) -> None:
    session = await node.signed_in()
    asked = json.loads(granted(await node.passkeys.ask_to_add(session)))
    sent = json.loads(Device().add(asked))
    nonsense = json.dumps({"challenge": asked["challenge"]}).encode()
    sent["response"][part] = text(nonsense if part == "clientDataJSON" else b"\xa1")
    assert isinstance(await node.passkeys.add(session, "Phone", json.dumps(sent)), Refusal)


async def test_one_is_added_only_soon_after_signing_in(node: Node) -> None:
    session = await node.signed_in()
    asked = granted(await node.passkeys.ask_to_add(session))
    move(node, FRESH)
    assert isinstance(await node.passkeys.ask_to_add(session), Refusal)
    assert isinstance(await node.passkeys.add(session, "Phone", Device().add(asked)), Refusal)


async def test_who_is_removed_or_gets_another_role_is_so_with_a_passkey_too(node: Node) -> None:
    device = Device()
    await node.added(device)
    member = (await node.signed_in()).member.id
    granted(await node.members.add("default", "eve@example.org", "Eve", "admin"))
    granted(await node.members.change("default", member, role="read"))
    started = await node.used(device)
    assert started is not None
    assert started.session.member.role == "read"
    granted(await node.members.remove("default", member))
    assert await node.used(device) is None
    assert await passkeys_of(node.hf.store, member) == []


async def test_many_who_sign_in_at_once_do_not_wait_for_each_other(node: Node, database_url: str) -> None:
    """Each locks the member, and notes when they signed in; on two nodes."""
    device = Device(count=None)
    await node.added(device)
    sent = [device.use(await node.passkeys.ask_to_sign_in()) for _ in range(10)]
    async with opened(database_url, migrate=False) as other:
        nodes = [node, node_of(other)] * 5
        tries = [it.passkeys.sign_in(sent.pop()) for it in nodes]
        tries += [it.sessions.sign_in("default", "olga@example.org", PASSWORD) for it in nodes]
        assert all(await asyncio.gather(*tries))


async def test_no_more_passkeys_than_anybody_has(node: Node) -> None:
    for number in range(20):
        await node.added(Device(), f"Device {number}")
    session = await node.signed_in()
    asked = granted(await node.passkeys.ask_to_add(session))
    assert isinstance(await node.passkeys.add(session, "One more", Device().add(asked)), Refusal)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://Seats.Example.org/console", ("seats.example.org", "https://seats.example.org")),
        ("https://seats.example.org:443", ("seats.example.org", "https://seats.example.org")),
        ("https://seats.example.org:8443", ("seats.example.org", "https://seats.example.org:8443")),
        ("http://localhost:8000", ("localhost", "http://localhost:8000")),
        ("http://127.0.0.1:8000", None),
        ("https://[::1]:8000", None),
        ("http://seats.example.org", None),
    ],
)
def test_passkeys_are_for_sites_that_browsers_make_them_for(url: str, found: tuple[str, str] | None) -> None:
    assert site_of(url) == found


def test_the_device_says_what_it_has_made() -> None:
    """A control of the device: the flag that it made a passkey stands where it did."""
    sent = json.loads(Device().add({"user": {"id": text(b"m")}, "challenge": text(b"c")}))
    assert bytes([PRESENT | 0x04 | MADE]) in raw(sent["response"]["attestationObject"])
