"""Which member somebody is whom a provider has proved, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.accounts.identities import Identities
from fairhold.accounts.members import Members
from fairhold.accounts.oidc import Claimed, OidcSettings
from fairhold.accounts.passwords import Passwords
from fairhold.accounts.sessions import Sessions, Started
from tests.database import ask, opened

ISSUER = "https://id.example.org"


def settings(**given: Any) -> OidcSettings:
    said = {"issuer": ISSUER, "client_id": "x", "client_secret": "", "org": "default", "claim": "email"}
    said |= {"button": "x"}
    return OidcSettings(**{"trusts_email": False, "new_role": "", "to_private": False, **said, **given})


def claimed(subject: str = "1", email: str = "olga@example.org", name: str = "") -> Claimed:
    return Claimed(ISSUER, subject, email, name)


def identities_of(hf: Fairhold) -> Identities:
    return Identities(hf.store, hf.clock, Sessions(hf.store, hf.clock, hf.secret, Passwords()))


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        members = Members(hf.store, hf.clock, hf.secret)
        for org in ("default", "theirs"):
            granted(await members.add(org, "olga@example.org", "Olga", "admin"))
        yield hf


def org_of(started: Started | None) -> str:
    assert started is not None
    return started.session.member.org


async def test_the_e_mail_finds_the_member_of_the_org_and_the_subject_keeps_them(hf: Fairhold) -> None:
    identities = identities_of(hf)
    assert org_of(await identities.sign_in(claimed(), settings())) == "default"
    assert org_of(await identities.sign_in(claimed(), settings(org="theirs"))) == "theirs"
    assert await identities.sign_in(claimed("2"), settings()) is None
    started = await identities.sign_in(claimed("1", ""), settings())
    assert started is not None
    assert started.session.member.state == "active"
    for nobody in (claimed("3", ""), claimed("3", "no e-mail"), claimed("", "olga@example.org")):
        assert await identities.sign_in(nobody, settings(new_role="staff")) is None


@pytest.mark.parametrize("odd", ["y\x00", "y\ud800"])
async def test_what_cannot_be_kept_is_nobodys(hf: Fairhold, odd: str) -> None:
    identities, let_in = identities_of(hf), {"new_role": "staff"}
    assert await identities.sign_in(claimed(odd, "zoe@example.org"), settings(**let_in)) is None
    by_name = settings(claim="preferred_username", **let_in)
    assert await identities.sign_in(claimed("1", "zoe@example.org", odd), by_name) is None
    # The control: a name that is only shown is done without.
    assert await identities.sign_in(claimed("1", "zoe@example.org", odd), settings(**let_in)) is not None


async def test_another_claim_finds_the_member_by_name(hf: Fairhold) -> None:
    identities, by_name = identities_of(hf), settings(claim="preferred_username")
    assert await identities.sign_in(claimed(name="olga"), by_name) is None
    # The e-mail does not count then.
    assert await identities.sign_in(claimed(name=""), by_name) is None
    assert await identities.sign_in(claimed(name="Olga"), by_name) is not None


async def test_who_comes_twice_at_once_is_made_once(hf: Fairhold, database_url: str) -> None:
    zoe, allowed = claimed("zoe", "zoe@example.org", "Zoe"), settings(new_role="read")
    async with opened(database_url, migrate=False) as other:
        both = [identities_of(hf), identities_of(other)] * 3
        started = await asyncio.gather(*[it.sign_in(zoe, allowed) for it in both])
    assert all(started)
    found = await ask(
        database_url, "SELECT name, role, password FROM fairhold_members WHERE email = 'zoe@example.org'"
    )
    assert found == [("Zoe", "read", None)]
    assert await ask(database_url, "SELECT count(*) FROM fairhold_identities") == [(1,)]


@pytest.mark.parametrize("query", ["member_by_identity", "member_by_email"])
async def test_who_was_made_between_two_looks_is_let_in(
    postgres_url: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL shows a transaction what others commit meanwhile."""
    zoe, allowed = claimed("zoe", "zoe@example.org", "Zoe"), settings(new_role="read")
    async with opened(postgres_url) as hf, opened(postgres_url, migrate=False) as other:
        begin = hf.store.begin

        async def begin_slowly(**how: Any) -> Any:
            monkeypatch.setattr(hf.store, "begin", begin)
            tx = await begin(**how)
            rows = tx.rows

            async def and_meanwhile(name: str, *values: Any) -> Any:
                found = await rows(name, *values)
                if name == query:
                    monkeypatch.setattr(tx, "rows", rows)
                    assert await identities_of(other).sign_in(zoe, allowed)
                return found

            monkeypatch.setattr(tx, "rows", and_meanwhile)
            return tx

        monkeypatch.setattr(hf.store, "begin", begin_slowly)
        assert await identities_of(hf).sign_in(zoe, allowed)
    assert await ask(postgres_url, "SELECT count(*) FROM fairhold_identities") == [(1,)]


async def test_who_is_removed_leaves_nothing_behind(hf: Fairhold, database_url: str) -> None:
    identities, members = identities_of(hf), Members(hf.store, hf.clock, hf.secret)
    zoe = claimed("zoe", "zoe@example.org", "Zoe")
    started = await identities.sign_in(zoe, settings(new_role="staff"))
    assert started is not None
    granted(await members.remove("default", started.session.member.id))
    assert await ask(database_url, "SELECT count(*) FROM fairhold_identities") == [(0,)]
    assert await identities.sign_in(zoe, settings()) is None


async def test_who_is_removed_while_they_come_leaves_nothing_behind(postgres_url: str) -> None:
    """Else who is added anew would be kept out by what is left of themselves."""
    async with opened(postgres_url) as hf, opened(postgres_url, migrate=False) as other:
        members = Members(other.store, other.clock, other.secret)
        granted(await members.add("default", "bea@example.org", "Bea", "admin"))
        olga = granted(await members.add("default", "olga@example.org", "Olga", "admin")).id

        class Removing(Sessions):
            async def begin(self, *given: Any, **more: Any) -> Started | None:
                granted(await members.remove("default", olga))
                return await super().begin(*given, **more)

        removing = Removing(hf.store, hf.clock, hf.secret, Passwords())
        assert await Identities(hf.store, hf.clock, removing).sign_in(claimed(), settings()) is None
        granted(await members.add("default", "olga@example.org", "Olga", "admin"))
        assert await identities_of(hf).sign_in(claimed(), settings()) is not None


async def test_an_address_that_only_looks_like_theirs_in_small_letters_is_nobodys(hf: Fairhold) -> None:
    members = Members(hf.store, hf.clock, hf.secret)
    granted(await members.add("default", "kim@example.org", "Kim", "admin"))
    kelvin = claimed(email="\N{KELVIN SIGN}im@example.org")
    assert await identities_of(hf).sign_in(kelvin, settings(new_role="staff")) is None
    # The control: by capitals alone nobody is told apart.
    assert await identities_of(hf).sign_in(claimed(email="KIM@example.org"), settings()) is not None
