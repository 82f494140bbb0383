"""Sessions begin with the right password, and end in time, by hand, and with the password."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError

from fairhold import Fairhold, Refusal, granted
from fairhold.accounts.common_passwords import _common
from fairhold.accounts.members import Members
from fairhold.accounts.passwords import LENGTH_MAX, LENGTH_MIN, Passwords, checked, plain
from fairhold.accounts.sessions import Limits, Session, Sessions, Started
from fairhold.clock import TestClock
from fairhold.inputs import Bad
from tests.database import ask, opened

PASSWORD = "correct horse battery"
HOUR = 3_600_000
# As Argon2 has it, but quick: most of these tests are not about how long it takes.
QUICK = {"time_cost": 1, "memory_cost": 32}


class Counting(PasswordHasher):
    """Argon2, and how often it was asked."""

    checks = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> Any:  # noqa: A002  # the parent's word
        self.checks += 1
        return super().verify(hash, password)


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        members = Members(hf.store, hf.clock, hf.secret)
        granted(await members.add("default", "olga@example.org", "Olga", "admin"))
        granted(
            await members.set_password(
                "default", "olga@example.org", PASSWORD, Passwords(PasswordHasher(**QUICK))
            )
        )
        granted(await members.add("default", "eve@example.org", "Eve", "staff"))
        yield hf


@pytest.fixture
def sessions(hf: Fairhold) -> Sessions:
    return Sessions(
        hf.store, hf.clock, hf.secret, Passwords(PasswordHasher(**QUICK)), Limits(idle=HOUR, whole=3 * HOUR)
    )


async def begun(sessions: Sessions, password: str = PASSWORD) -> Started:
    started = await sessions.sign_in("default", "olga@example.org", password)
    assert started is not None
    return started


def move(hf: Fairhold, by: int) -> None:
    assert isinstance(hf.clock, TestClock)
    hf.clock.move_to(hf.clock.now() + by)


async def test_only_a_hash_is_kept(sessions: Sessions, database_url: str) -> None:
    started = await begun(sessions)
    assert (await sessions.find(started.token)) == started.session
    kept = str(await ask(database_url, "SELECT * FROM fairhold_sessions")) + str(
        await ask(database_url, "SELECT * FROM fairhold_members")
    )
    assert "$argon2id$" in kept
    assert started.token not in kept
    assert PASSWORD not in kept
    for wrong in ("", "fhs_", started.token[:-1], started.token + "A", "é" * 47, started.token.swapcase()):
        assert await sessions.find(wrong) is None


@pytest.mark.parametrize(
    ("org", "email", "password"),
    [
        ("default", "olga@example.org", "correct horse batterz"),
        ("default", "nobody@example.org", PASSWORD),
        ("default", "eve@example.org", PASSWORD),
        ("default", "no address", PASSWORD),
        ("theirs", "olga@example.org", PASSWORD),
    ],
    ids=["wrong password", "unknown", "invited", "no e-mail", "another org"],
)
async def test_a_no_is_the_same_no_after_the_same_work(
    hf: Fairhold, org: str, email: str, password: str
) -> None:
    """One check of a password each time: what took no check would be told by its speed."""
    hasher = Counting(**QUICK)
    sessions = Sessions(hf.store, hf.clock, hf.secret, Passwords(hasher))
    assert await sessions.sign_in(org, email, password) is None
    assert hasher.checks == 1
    assert await sessions.sign_in("default", "olga@example.org", PASSWORD) is not None
    assert hasher.checks == 2


@pytest.mark.parametrize("rules", [{}, QUICK], ids=["ours", "others"])
def test_nobodys_hash_is_checked_by_the_same_work_and_fits_nothing(rules: dict[str, int]) -> None:
    hasher = PasswordHasher(**rules)
    nobodys = Passwords(hasher)._nobodys
    assert extract_parameters(nobodys) == extract_parameters(hasher.hash(PASSWORD))
    # One that is no hash at all would be refused without any work, and be told by that.
    with pytest.raises(VerifyMismatchError):
        hasher.verify(nobodys, PASSWORD)
    assert Passwords(hasher)._nobodys != nobodys


async def test_it_ends_when_it_is_not_used(hf: Fairhold, sessions: Sessions) -> None:
    started = await begun(sessions)
    move(hf, HOUR - 1)
    assert await sessions.find(started.token) is not None
    move(hf, 1)
    assert await sessions.find(started.token) is None


async def test_used_it_goes_on_but_not_for_ever(hf: Fairhold, sessions: Sessions, database_url: str) -> None:
    started = await begun(sessions)
    for _ in range(3):
        move(hf, HOUR - 1)
        found = await sessions.find(started.token)
        assert isinstance(found, Session)
        await sessions.touch({found.digest: hf.clock.now()})
    move(hf, 4)
    assert await sessions.find(started.token) is None
    await sessions.touch({})
    assert await ask(database_url, "SELECT * FROM fairhold_sessions") == []


async def test_signing_out_ends_it_here_or_everywhere(sessions: Sessions) -> None:
    first, second, third = [await begun(sessions) for _ in range(3)]
    assert await sessions.end(first.session) == 1
    assert await sessions.end(first.session) == 0
    assert await sessions.find(first.token) is None
    assert await sessions.find(second.token) is not None
    assert await sessions.end_all(second.session.member.id) == 2
    assert await sessions.find(third.token) is None


async def test_a_new_password_ends_all_other_sessions(sessions: Sessions) -> None:
    here, elsewhere = await begun(sessions), await begun(sessions)
    new = "quite another password"
    assert await sessions.change_password(here.session, "not the password", new) is False
    assert await sessions.find(elsewhere.token) is not None
    assert await sessions.change_password(here.session, PASSWORD, new) is True
    assert await sessions.find(here.token) is not None
    assert await sessions.find(elsewhere.token) is None
    assert await sessions.sign_in("default", "olga@example.org", PASSWORD) is None
    # Asked again, because the answer was lost.
    assert await sessions.change_password(here.session, PASSWORD, new) is True
    assert await begun(sessions, new)
    assert isinstance(await sessions.change_password(here.session, new, "short"), Refusal)


async def test_who_signs_in_while_the_password_is_changed_does_not_stay(
    hf: Fairhold, sessions: Sessions, database_url: str
) -> None:
    """Whichever comes first: with the old password nobody is signed in afterwards."""
    here = await begun(sessions)
    tried = await asyncio.gather(
        sessions.change_password(here.session, PASSWORD, "quite another password"),
        *(sessions.sign_in("default", "olga@example.org", PASSWORD) for _ in range(6)),
    )
    assert tried[0] is True
    live = [one for one in tried[1:] if isinstance(one, Started) and await sessions.find(one.token)]
    assert live == []


async def test_a_password_seen_before_the_change_starts_nothing(hf: Fairhold, sessions: Sessions) -> None:
    """The same, without luck: the password is changed between the look and the session."""
    here = await begun(sessions)
    known = (await hf.store.reader().rows("member_by_id", here.session.member.id))[0][-1]
    assert await sessions.change_password(here.session, PASSWORD, "quite another password") is True
    tx = await hf.store.begin()
    try:
        old = await tx.rows("start_session", b"x", here.session.member.id, known, hf.clock.now())
        new = (await tx.rows("member_by_id", here.session.member.id))[0][-1]
        assert list(old) == []
        assert await tx.rows("start_session", b"x", here.session.member.id, new, hf.clock.now())
    finally:
        await tx.rollback()


async def test_the_same_request_is_the_same_session_while_it_lasts(sessions: Sessions) -> None:
    said = ("default", "olga@example.org", PASSWORD, "once")
    first = await sessions.sign_in(*said)
    assert first is not None
    assert await sessions.sign_in(*said) == first
    assert await sessions.sign_in(*said[:2], "wrong password", "once") is None
    await sessions.end(first.session)
    again = await sessions.sign_in(*said)
    assert again is not None
    assert again.token != first.token
    assert await sessions.find(first.token) is None


async def test_what_a_member_may_do_is_known_at_once(hf: Fairhold, sessions: Sessions) -> None:
    members = Members(hf.store, hf.clock, hf.secret)
    started = await begun(sessions)
    eve = granted(await members.by_email("default", "eve@example.org"))
    granted(await members.change("default", eve.id, role="admin"))
    granted(await members.change("default", started.session.member.id, role="read", name="Olga B."))
    found = await sessions.find(started.token)
    assert found is not None
    assert (found.member.role, found.member.name) == ("read", "Olga B.")


async def test_a_hash_made_by_old_rules_is_made_anew(hf: Fairhold, database_url: str) -> None:
    members = Members(hf.store, hf.clock, hf.secret)
    cheap = Passwords(PasswordHasher(**QUICK))
    granted(await members.set_password("default", "olga@example.org", PASSWORD, cheap))
    before = await ask(database_url, "SELECT password FROM fairhold_members WHERE name = 'Olga'")
    sessions = Sessions(hf.store, hf.clock, hf.secret, Passwords())
    started = await begun(sessions)
    after = await ask(database_url, "SELECT password FROM fairhold_members WHERE name = 'Olga'")
    assert before != after
    assert not Passwords().is_outdated(after[0][0])
    assert await sessions.find(started.token) is not None
    assert await begun(sessions)


@pytest.mark.parametrize(
    "password",
    ["", "123456789", "aaaaaaaaaaaa", "abababababab", "x" * (LENGTH_MAX + 1), "a\x00bcdefghijkl", 5, None,
     "\ud800bcdefghijkl", "olga@example.org", "OLGA@EXAMPLE.ORG"],
)  # fmt: skip
def test_a_password_that_is_no_good_is_refused(password: Any) -> None:
    with pytest.raises(Bad) as bad:
        checked(password, "password", "olga@example.org", "Olga")
    assert bad.value.refusal.field == "password"


@pytest.mark.parametrize("password", ["qwertyuiop", "1q2w3e4r5t", "Password123", "ＰＡＳＳＷＯＲＤ１２３"])
def test_a_password_that_many_have_is_refused(password: str) -> None:
    with pytest.raises(Bad) as bad:
        checked(password, "password", "olga@example.org", "Olga")
    assert (bad.value.refusal.code, bad.value.refusal.field) == ("common_password", "password")
    assert checked(f"{password} and a horse", "password") == plain(f"{password} and a horse")


def test_the_list_has_thousands_that_could_be_chosen() -> None:
    """By the standard at least 3,000 which the other rules let through: none of these is in it in vain."""
    words = _common()
    assert len(words) == 10_000
    for word in words:
        assert (plain(word).casefold(), len(word) >= LENGTH_MIN, len(set(word)) > 2) == (word, True, True)


async def test_a_password_is_the_same_however_a_keyboard_spells_it() -> None:
    passwords = Passwords(PasswordHasher(**QUICK))
    known = await passwords.hashed("Ma\u0308rchenprinz 12")
    assert await passwords.fits(known, "M\u00e4rchenprinz 12")
    assert not await passwords.fits(known, "M\u00e4rchenprinz 13")
    assert not await passwords.fits("no hash", "M\u00e4rchenprinz 12")
