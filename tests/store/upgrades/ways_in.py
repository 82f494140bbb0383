"""The ways in besides a password, and what is kept for them: filled before an upgrade, tried behind it."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from fairhold import Fairhold, granted
from fairhold.accounts.challenges import Challenges
from fairhold.accounts.identities import Identities
from fairhold.accounts.oidc import Claimed, OidcSettings
from fairhold.accounts.passkeys import Passkeys, Site, passkeys_of
from fairhold.accounts.sessions import Sessions, Started
from fairhold.http.attempts import Attempts
from fairhold.http.problems import Problem
from fairhold.store.base import writing
from tests.accounts.device import Device

SITE = Site("localhost", "http://localhost")
ISSUER = "https://id.example.org"
PROVIDER = OidcSettings(ISSUER, "x", "", "default", "email", False, "", "x", False)
EMAIL = "olga@example.org"
SOMEWHERE = "192.0.2.7"
TRIES = 5
PURPOSE = "sign_in"


def device(owner: str = "") -> Device:
    """The same one before and behind, and one that does not count how often it was used."""
    key = ec.derive_private_key(2**200 + 7, ec.SECP256R1())
    return Device(count=None, name=b"a passkey of the tests..", owner=owner.encode(), key=key)


async def fill(hf: Fairhold, started: Started, sessions: Sessions, told: dict[str, Any]) -> None:
    """A passkey, an identity, a challenge that nobody has answered, tries that failed, and a kept secret."""
    passkeys = Passkeys(hf.store, hf.clock, sessions, SITE)
    asked = granted(await passkeys.ask_to_add(started.session))
    granted(await passkeys.add(started.session, "Phone", device().add(asked)))
    assert await Identities(hf.store, hf.clock, sessions).sign_in(_claimed(EMAIL), PROVIDER)
    told["member"] = started.session.member.id
    told["challenge"] = (await Challenges(hf.store, hf.clock).put(PURPOSE)).hex()
    for _ in range(TRIES):
        async with _try(hf):
            pass
    async with writing(hf.store) as tx:
        await tx.run("put_secret", "links", hf.secret)
        await tx.commit()


async def check(hf: Fairhold, sessions: Sessions, told: dict[str, Any]) -> None:
    """Who had a way in has it, what was asked once can be answered once, and nothing was forgiven."""
    passkeys = Passkeys(hf.store, hf.clock, sessions, SITE)
    (known,) = await passkeys_of(hf.store, told["member"])
    assert known.name == "Phone"
    proof = device(told["member"]).use(await passkeys.ask_to_sign_in())
    assert _whose(await passkeys.sign_in(proof)) == told["member"]
    identities = Identities(hf.store, hf.clock, sessions)
    # Without an e-mail nobody is found but by what was kept.
    assert _whose(await identities.sign_in(_claimed(""), PROVIDER)) == told["member"]
    challenges, challenge = Challenges(hf.store, hf.clock), bytes.fromhex(told["challenge"])
    assert [await challenges.take(challenge, PURPOSE) for _ in range(2)] == [True, False]
    with pytest.raises(Problem) as refused:
        async with _try(hf):
            pass
    assert refused.value.code == "too_many_requests"
    assert [tuple(row) for row in await hf.store.reader().rows("get_secret", "links")] == [(hf.secret,)]


def _claimed(email: str) -> Claimed:
    return Claimed(ISSUER, "4711", email, "")


def _try(hf: Fairhold) -> Any:
    return Attempts(hf.store, hf.secret).attempt(("default", EMAIL), SOMEWHERE, hf.clock.now())


def _whose(started: Started | None) -> str:
    assert started is not None
    return started.session.member.id
