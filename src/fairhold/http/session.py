"""Signing in and out, and one's own password. The session is in a cookie that no script can read."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from fairhold import tokens
from fairhold.accounts.members import Member
from fairhold.accounts.passwords import LENGTH_MAX
from fairhold.accounts.sessions import Session, Started
from fairhold.clock import to_datetime
from fairhold.core.refusals import Refusal
from fairhold.http import cookies
from fairhold.http.attempts import Attempt
from fairhold.http.limits import slow_down
from fairhold.http.operations import ANYBODY, READERS, Body, Call, Operation, Query, Told
from fairhold.http.problems import Problem

Password = Annotated[str, Meta(min_length=1, max_length=LENGTH_MAX)]


class SignInBody(Body, kw_only=True):
    """Who signs in, and to which org."""

    email: Annotated[str, Meta(min_length=1, max_length=254)]
    password: Password
    org: Annotated[str, Meta(min_length=1, max_length=100)] = "default"


class InvitationBody(Body, kw_only=True):
    """An invitation that was given, and the password that is chosen."""

    token: Annotated[str, Meta(min_length=1, max_length=100)]
    password: Password


class PasswordBody(Body, kw_only=True):
    """The password as it is, and as it is to be."""

    password: Password
    new_password: Password


class SignOutQuery(Query, frozen=True):
    """Whether to end all of one's sessions."""

    everywhere: bool = False


class SessionShape(msgspec.Struct):
    """Who is signed in, until `expires_at` if nothing more is asked. `csrf_token` is for X-CSRF-Token."""

    member: Member
    csrf_token: str
    created_at: datetime
    expires_at: datetime


class SignedOut(msgspec.Struct):
    """How many sessions have ended."""

    ended: int


async def sign_in(call: Call) -> Told:
    body: SignInBody = call.body
    account = (body.org, body.email.strip().lower())
    async with _attempt(call, account) as attempt:
        started = await call.service.sessions.sign_in(body.org, body.email, body.password, call.key)
        return _begun(call, started, attempt, "This e-mail and this password do not belong together.")


async def accept(call: Call) -> Told | Refusal:
    body: InvitationBody = call.body
    async with _attempt(call, body.token.partition(".")[0]) as attempt:
        started = await call.service.sessions.accept(body.token, body.password, call.key)
        if isinstance(started, Refusal):
            attempt.good = True
            return started
        call.service.doorkeeper.forget()
        return _begun(call, started, attempt, "This invitation is not one of ours, is over, or was taken.")


def _attempt(call: Call, account: Hashable) -> AbstractAsyncContextManager[Attempt]:
    if call.service.passwords.is_crowded:
        raise slow_down(1)
    return call.service.attempts.attempt(account, call.address, call.hf.clock.now())


def _begun(call: Call, started: Started | None, attempt: Attempt, no: str) -> Told:
    if started is None:
        raise Problem("unauthenticated", no, headers=((b"www-authenticate", b"Bearer"),))
    attempt.good = True
    age_s = call.service.settings.session_max_s
    return Told(_shape(call, started.session), cookies.kept(started.token, age_s, secure=call.secure))


async def one(call: Call) -> SessionShape:
    return _shape(call, await _mine(call))


async def sign_out(call: Call) -> Told:
    sessions, session = call.service.sessions, await _mine(call)
    ended = await (sessions.end_all(session.member.id) if call.query.everywhere else sessions.end(session))
    call.service.doorkeeper.forget()
    return Told(SignedOut(ended), cookies.kept("", 0, secure=call.secure))


async def change_password(call: Call) -> SessionShape | Refusal:
    session = await _mine(call)
    async with _attempt(call, session.member.id) as attempt:
        changed = await call.service.sessions.change_password(
            session, call.body.password, call.body.new_password
        )
        attempt.good = changed is not False
    if isinstance(changed, Refusal):
        return changed
    if not changed:
        raise Problem("forbidden", "This is not your password.", "password")
    call.service.doorkeeper.forget()
    return _shape(call, session)


async def _mine(call: Call) -> Session:
    """The session of who asks, used just now."""
    if call.access.session is None:
        raise Problem("forbidden", "Only who has signed in has a session; this is a key.")
    session = await call.service.sessions.one(call.access.session, used_at=call.hf.clock.now())
    if session is None:
        raise Problem("unauthenticated", "This session is over. Sign in again.")
    return session


def _shape(call: Call, session: Session) -> SessionShape:
    return SessionShape(
        session.member,
        tokens.csrf_token(call.hf.secret, session.digest),
        to_datetime(session.created_at),
        to_datetime(call.service.sessions.limits.ends_at(session)),
    )


OPERATIONS: Final = (
    Operation(
        "POST",
        "/v1/session",
        "sign_in",
        "Sign in; the session is in a cookie",
        sign_in,
        ANYBODY,
        SessionShape,
        body=SignInBody,
        status=201,
        tag="session",
        idempotent=True,
    ),
    Operation(
        "GET",
        "/v1/session",
        "get_session",
        "Who is signed in, until when, and the CSRF token",
        one,
        READERS,
        SessionShape,
        tag="session",
    ),
    Operation(
        "DELETE",
        "/v1/session",
        "sign_out",
        "Sign out, here or everywhere",
        sign_out,
        READERS,
        SignedOut,
        query=SignOutQuery,
        tag="session",
    ),
    Operation(
        "POST",
        "/v1/session/invitation",
        "accept_invitation",
        "Choose a password with an invitation, and sign in",
        accept,
        ANYBODY,
        SessionShape,
        body=InvitationBody,
        status=201,
        codes=("common_password",),
        tag="session",
        idempotent=True,
    ),
    Operation(
        "POST",
        "/v1/session/password",
        "change_password",
        "Change one's password; one's other sessions end",
        change_password,
        READERS,
        SessionShape,
        body=PasswordBody,
        codes=("common_password",),
        tag="session",
        idempotent=True,
    ),
)
