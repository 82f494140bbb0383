"""Passkeys in the console: signing in with one, and one's own to add and remove.

The browser is given a challenge by a script, and what it makes of it comes back in an ordinary form. Without
the script there is no button; passwords work as ever.
"""

from __future__ import annotations

from typing import Final

from fairhold.accounts.passkeys import Passkeys, credential_in, remove_passkey
from fairhold.accounts.sessions import Session
from fairhold.console import sign_in, tabs
from fairhold.console.calls import Call, guarded
from fairhold.console.page import ANYBODY, READERS, Page
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.http.problems import Problem, not_found
from fairhold.pages.answers import Answer

HERE: Final = f"{tabs.HOME}/passkeys"
_JSON: Final = b"application/json"


def passkeys_of(call: Call) -> Passkeys:
    if call.service.passkeys is None:
        raise not_found()
    return call.service.passkeys


# Signing in.


async def ask_to_sign_in(call: Call) -> Answer:
    passkeys = passkeys_of(call)
    call.service.attempts.begin(call.address, call.now)
    return _asked(await passkeys.ask_to_sign_in())


async def enter(call: Call) -> Answer:
    passkeys, credential = passkeys_of(call), call.form.get("credential", "")
    try:
        account = ("passkey", credential_in(credential))
        async with call.service.attempts.attempt(account, call.address, call.now) as attempt:
            started = await passkeys.sign_in(credential)
            attempt.good = started is not None
    except Problem as problem:
        return await sign_in.slowed_down(call, problem)
    if started is None:
        return await sign_in.form(call, 401, "wrong_passkey")
    return sign_in.begun(call, started, sign_in.next_of(call))


async def to_sign_in(call: Call) -> Answer:
    return call.to(sign_in.HERE)


# One's own.


async def ask_to_add(call: Call) -> Answer:
    passkeys = passkeys_of(call)
    call.service.attempts.begin(call.address, call.now)
    return _asked(granted(await passkeys.ask_to_add(await mine(call))))


async def add(call: Call) -> Answer:
    session = await mine(call)
    name, credential = call.form.get("name", "").strip(), call.form.get("credential", "")
    async with call.service.attempts.attempt(session.member.id, call.address, call.now) as attempt:
        answer = await passkeys_of(call).add(session, name, credential)
        attempt.good = not isinstance(answer, Refusal)
    if isinstance(answer, Refusal):
        return call.to(tabs.HOME, told="passkey_there" if answer.code == "exists" else "passkey_not_added")
    return call.to(tabs.HOME, told="passkey_added")


async def remove(call: Call) -> Answer:
    """Only this passkey goes: who is signed in stays so, here and elsewhere."""
    granted(await remove_passkey(call.hf.store, call.access.key, call.path["passkey"]))
    return call.to(tabs.HOME, told="passkey_removed")


async def back(call: Call) -> Answer:
    return call.to(tabs.HOME)


async def mine(call: Call) -> Session:
    """The session of who asks."""
    assert call.access.session is not None
    session = await call.service.sessions.one(call.access.session, used_at=call.now)
    if session is None:
        raise Problem("unauthenticated", "This session is over.")
    return session


def _asked(options: str) -> Answer:
    return Answer(200, options.encode(), _JSON, guarded())


_IN: Final = f"{sign_in.HERE}/passkey"
PAGES: Final = (
    Page(_IN, "console_passkey_sign_in", to_sign_in, enter, ANYBODY, ANYBODY),
    Page(f"{_IN}/challenge", "console_passkey_ask", to_sign_in, ask_to_sign_in, ANYBODY, ANYBODY),
    Page(HERE, "console_passkey_add", back, add, READERS, READERS),
    Page(f"{HERE}/challenge", "console_passkey_ask_to_add", back, ask_to_add, READERS, READERS),
    Page(f"{HERE}/{{passkey}}/remove", "console_passkey_remove", back, remove, READERS, READERS),
)
