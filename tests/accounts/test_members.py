"""Members of staff: added, invited, changed and removed, each of one org."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from argon2 import PasswordHasher

from fairhold import Fairhold, Refusal, granted
from fairhold.accounts.members import INVITED_FOR, Member, Members
from fairhold.accounts.passwords import Passwords
from fairhold.accounts.sessions import Sessions, Started
from fairhold.clock import TestClock
from tests.database import ask, opened

PASSWORD = "correct horse battery"


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf


@pytest.fixture
def members(hf: Fairhold) -> Members:
    return Members(hf.store, hf.clock, hf.secret)


@pytest.fixture
def sessions(hf: Fairhold) -> Sessions:
    return Sessions(hf.store, hf.clock, hf.secret, Passwords(PasswordHasher(time_cost=1, memory_cost=32)))


async def added(members: Members, name: str = "Olga", role: str = "admin", org: str = "default") -> Member:
    return granted(await members.add(org, f"{name.lower()}@example.org", name, role))


async def test_who_is_added_is_invited_and_chooses_a_password_once(
    members: Members, sessions: Sessions, hf: Fairhold
) -> None:
    olga = await added(members)
    assert (olga.state, olga.role, olga.signed_in_at) == ("invited", "admin", None)
    assert olga.invitation is not None
    assert await sessions.sign_in("default", "olga@example.org", PASSWORD) is None
    token = olga.invitation.token
    assert isinstance(await sessions.accept(token, PASSWORD), Started)
    assert granted(await members.one("default", olga.id)).state == "active"
    # The same again is signing in; another password is no.
    assert isinstance(await sessions.accept(token, PASSWORD), Started)
    assert await sessions.accept(token, "another password") is None
    for broken in ("", "m", token[:-1], token.replace(".", "1."), token.upper(), f"{token}é"):
        assert await sessions.accept(broken, "another password") is None
    assert isinstance(await sessions.sign_in("default", "OLGA@example.org ", PASSWORD), Started)


async def test_an_invitation_ends_in_time_and_with_the_next_one(
    members: Members, sessions: Sessions, hf: Fairhold
) -> None:
    olga = await added(members)
    again = granted(await members.invite("default", olga.id))
    assert olga.invitation is not None
    assert again.invitation is not None
    assert olga.invitation.token != again.invitation.token
    assert await sessions.accept(olga.invitation.token, PASSWORD) is None
    assert isinstance(hf.clock, TestClock)
    hf.clock.move_to(hf.clock.now() + INVITED_FOR)
    assert await sessions.accept(again.invitation.token, PASSWORD) is None
    assert granted(await members.one("default", olga.id)).state == "invited"


async def test_of_two_who_take_an_invitation_at_once_one_does(members: Members, sessions: Sessions) -> None:
    olga = await added(members)
    assert olga.invitation is not None
    words = ("a password of Olga's", "a password of a thief's")
    tried = await asyncio.gather(*(sessions.accept(olga.invitation.token, word) for word in words))
    assert len([one for one in tried if isinstance(one, Started)]) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("email", ""),
        ("email", "olga"),
        ("email", "olga@"),
        ("email", "@example.org"),
        ("email", "a b@example.org"),
        ("email", "a\x00@example.org"),
        ("email", "Olga <olga@example.org>"),
        ("email", "a@b@c"),
        ("email", "a@example.org\nBcc: x@example.org"),
        ("email", 5),
        ("email", "x" * 250 + "@example.org"),
        ("name", ""),
        ("name", "x" * 101),
        ("name", "\ud800"),
        ("role", "public"),
        ("role", "owner"),
        ("role", None),
        ("org", "Not An Org"),
    ],
)
async def test_what_is_wrong_is_refused_by_field(
    members: Members, database_url: str, field: str, value: Any
) -> None:
    said = {"org": "default", "email": "olga@example.org", "name": "Olga", "role": "staff"} | {field: value}
    refused = await members.add(**said)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == ("invalid", field)
    assert await ask(database_url, "SELECT count(*) FROM fairhold_members") == [(0,)]


async def test_an_org_has_every_email_and_every_name_once(members: Members) -> None:
    olga = await added(members)
    for said, field in ((("OLGA@Example.org", "Eve"), "email"), (("eve@example.org", "Olga"), "name")):
        refused = await members.add("default", *said, "staff")
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("exists", field)
    assert (await added(members, org="theirs")).id != olga.id
    eve = await added(members, "Eve")
    refused = await members.change("default", eve.id, name="Olga")
    assert isinstance(refused, Refusal)
    assert granted(await members.change("default", eve.id, name="Eva", role="read")).role == "read"


async def test_both_at_once_make_one_member(members: Members, database_url: str) -> None:
    """The constraint decides; who comes second is told so, and not that something is broken."""
    answers = await asyncio.gather(
        *(members.add("default", "olga@example.org", "Olga", "staff") for _ in range(5))
    )
    assert sorted(type(one).__name__ for one in answers) == ["Member"] + ["Refusal"] * 4
    assert {one.code for one in answers if isinstance(one, Refusal)} == {"exists"}
    assert await ask(database_url, "SELECT count(*) FROM fairhold_members") == [(1,)]


async def test_the_same_request_is_one_member_and_one_answer(members: Members, database_url: str) -> None:
    said = ("default", "olga@example.org", "Olga", "staff")
    first = granted(await members.add(*said, idempotency_key="k"))
    assert granted(await members.add(*said, idempotency_key="k")) == first
    refused = await members.add(*said[:2], "Eve", "staff", idempotency_key="k")
    assert isinstance(refused, Refusal)
    assert refused.code == "idempotency_mismatch"
    once = await members.invite("default", first.id, idempotency_key="i")
    assert await members.invite("default", first.id, idempotency_key="i") == once
    # Neither names nor addresses nor tokens are kept under the key.
    kept = str(await ask(database_url, "SELECT * FROM fairhold_requests"))
    assert first.id in kept
    assert not [word for word in ("olga", "Olga", granted(once).invitation.token) if word in kept]  # type: ignore[union-attr]


async def test_the_last_admin_stays(members: Members) -> None:
    olga, eve = await added(members), await added(members, "Eve", "staff")
    for refused in (
        await members.change("default", olga.id, role="staff"),
        await members.remove("default", olga.id),
    ):
        assert isinstance(refused, Refusal)
        assert refused.code == "not_possible"
    granted(await members.change("default", eve.id, role="admin"))
    # Both at once would leave nobody.
    answers = await asyncio.gather(
        members.change("default", olga.id, role="staff"), members.change("default", eve.id, role="staff")
    )
    assert sorted(type(one).__name__ for one in answers) == ["Member", "Refusal"]


async def test_who_is_removed_leaves_nothing_behind(
    members: Members, sessions: Sessions, database_url: str
) -> None:
    await added(members, "Eve")
    olga = granted(await members.add("default", "olga@example.org", "Olga", "staff", idempotency_key="k"))
    assert olga.invitation is not None
    assert isinstance(await sessions.accept(olga.invitation.token, PASSWORD), Started)
    assert granted(await members.remove("default", olga.id, idempotency_key="r")) == olga.id
    assert granted(await members.remove("default", olga.id, idempotency_key="r")) == olga.id
    assert isinstance(await members.remove("default", olga.id), Refusal)
    assert await sessions.sign_in("default", "olga@example.org", PASSWORD) is None
    assert await sessions.accept(olga.invitation.token, PASSWORD) is None
    assert await ask(database_url, "SELECT * FROM fairhold_sessions") == []
    for table in ("fairhold_members", "fairhold_sessions", "fairhold_requests"):
        assert "olga" not in str(await ask(database_url, f"SELECT * FROM {table}")).lower()
    answer = await members.add("default", "olga@example.org", "Olga", "staff", idempotency_key="k")
    assert isinstance(answer, Refusal)
    assert answer.code == "unknown"


async def test_another_org_finds_no_member(members: Members) -> None:
    olga = await added(members)
    for answer in (
        await members.one("theirs", olga.id),
        await members.change("theirs", olga.id, name="x"),
        await members.invite("theirs", olga.id),
        await members.remove("theirs", olga.id),
        await members.sign_out("theirs", olga.id),
        await members.by_email("theirs", olga.email),
    ):
        assert isinstance(answer, Refusal)
        assert answer.code == "unknown"
    assert await members.page("theirs") == []
    assert granted(await members.one("default", olga.id)).name == "Olga"
