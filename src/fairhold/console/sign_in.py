"""Signing in and out, and taking an invitation. The session is in a cookie that no script can read."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Final
from urllib.parse import parse_qsl

from fairhold.accounts.passwords import LENGTH_MIN
from fairhold.accounts.sessions import Started
from fairhold.console.calls import Call
from fairhold.console.page import ANYBODY, READERS, Page
from fairhold.core.refusals import Refusal
from fairhold.http import cookies
from fairhold.http.limits import slow_down
from fairhold.http.problems import Problem
from fairhold.library import ORG
from fairhold.pages.answers import Answer

HERE: Final = "/console/sign-in"
HOME: Final = "/console/pools"
# Where one wanted to go before signing in: a page of the console, and nothing else.
_NEXT: Final = re.compile(r"/console(/[A-Za-z0-9_~%-][A-Za-z0-9._~%-]*)*(\?[A-Za-z0-9._~%=&+-]*)?")


async def home(call: Call) -> Answer:
    return call.to(HOME)


async def look(call: Call) -> Answer:
    return await form(call, 200, call.query.get("told", ""))


async def form(call: Call, status: int, told: str, email: str = "", org: str = ORG) -> Answer:
    """The page to sign in at, with every way in that there is."""
    provider = call.service.provider
    return await call.show(
        "sign_in.html",
        "",
        here=HERE,
        status=status,
        told=told,
        email=email,
        org=call.query.get("org", org),
        next=next_of(call),
        passkeys=call.service.passkeys is not None,
        provider=provider.settings.button if provider is not None else "",
    )


def next_of(call: Call) -> str:
    asked = call.form.get("next") or call.query.get("next", "")
    return asked if _NEXT.fullmatch(asked) else ""


async def send(call: Call) -> Answer:
    email, org = call.form.get("email", ""), call.form.get("org", "").strip() or ORG
    try:
        started = await _started(call, email, org)
    except Problem as problem:
        return await slowed_down(call, problem, email, org)
    if started is None:
        return await form(call, 401, "wrong_password", email, org)
    return begun(call, started, next_of(call))


async def slowed_down(call: Call, problem: Problem, email: str = "", org: str = ORG) -> Answer:
    """The page once more, for who has tried too often. Any other problem is raised on."""
    if problem.code != "too_many_requests":
        raise problem
    answer = await form(call, problem.status, problem.code, email, org)
    return Answer(answer.status, answer.body, answer.media_type, (*answer.headers, *problem.headers))


async def _started(call: Call, email: str, org: str) -> Started | None:
    service = call.service
    _not_crowded(call)
    account: Hashable = (org, email.strip().lower())
    async with service.attempts.attempt(account, call.address, call.now) as attempt:
        started = await service.sessions.sign_in(org, email, call.form.get("password", ""))
        attempt.good = started is not None
        return started


def _not_crowded(call: Call) -> None:
    if call.service.passwords.is_crowded:
        raise slow_down(1)


def begun(call: Call, started: Started, path: str = "") -> Answer:
    """Signed in: on to where one wanted to go."""
    path, _, query = (path or HOME).partition("?")
    answer = call.to(path, **dict(parse_qsl(query)))
    kept = cookies.kept(started.token, call.service.settings.session_max_s, secure=call.secure)
    return Answer(answer.status, answer.body, answer.media_type, (*answer.headers, *kept))


async def sign_out(call: Call) -> Answer:
    """End the session, or with `everywhere` all of one's sessions."""
    sessions = call.service.sessions
    assert call.access.session is not None
    session = await sessions.one(call.access.session, used_at=call.now)
    if session is not None:
        everywhere = call.form.get("everywhere") == "yes"
        await (sessions.end_all(session.member.id) if everywhere else sessions.end(session))
    call.service.doorkeeper.forget()
    answer = call.to(HERE, told="signed_out")
    forgotten = cookies.kept("", 0, secure=call.secure)
    return Answer(answer.status, answer.body, answer.media_type, (*answer.headers, *forgotten))


async def invitation(call: Call) -> Answer:
    return await _invited(call, 200, call.query.get("told", ""))


async def _invited(call: Call, status: int, told: str) -> Answer:
    token = call.path["token"]
    return await call.show(
        "invitation.html",
        "",
        here=f"/console/invitation/{token}",
        status=status,
        told=told,
        token=token,
        length_min=LENGTH_MIN,
    )


async def accept(call: Call) -> Answer:
    """Choose a password, once, and be signed in."""
    _not_crowded(call)
    token, password = call.path["token"], call.form.get("password", "")
    account: Hashable = token.partition(".")[0]
    async with call.service.attempts.attempt(account, call.address, call.now) as attempt:
        started = await call.service.sessions.accept(token, password)
        attempt.good = started is not None
    if isinstance(started, Refusal):
        told = started.code if started.code == "common_password" else "weak_password"
        return await _invited(call, 422, told)
    if started is None:
        return await _invited(call, 404, "invitation_over")
    call.service.doorkeeper.forget()
    return begun(call, started)


PAGES: Final = (
    Page("/console", "console", home),
    Page(HERE, "console_sign_in", look, send, ANYBODY, ANYBODY),
    Page("/console/sign-out", "console_sign_out", home, sign_out, READERS, READERS),
    Page("/console/invitation/{token}", "console_invitation", invitation, accept, ANYBODY, ANYBODY),
)
