"""Signing in with an identity provider: out to it, and back.

The way back is the one GET that changes something, for the provider leads the browser by it. It is of use
only to the browser that set out, once: the cookie says so, and the provider takes no code twice.
"""

from __future__ import annotations

import base64
import binascii
import logging
import secrets
from typing import Final

import msgspec

from fairhold.accounts.oidc import Claimed, NotProven, Provider, SignOnFailed
from fairhold.console import sign_in
from fairhold.console.calls import Call
from fairhold.console.page import ANYBODY, Page
from fairhold.core.model import Instant
from fairhold.http import cookies
from fairhold.http.limits import whose
from fairhold.http.problems import Problem, not_found
from fairhold.pages.answers import Answer, see_other

log = logging.getLogger("fairhold.accounts")

OUT: Final = "/console/sign-on"
BACK: Final = f"{OUT}/back"
COOKIE: Final = "fairhold_sign_on"
_LASTS_S: Final = 600


class Trip(msgspec.Struct):
    """What the browser keeps while it is with the provider."""

    name: str
    begun_at: Instant
    next: str
    lang: str


async def out(call: Call) -> Answer:
    provider = _provider(call)
    trip = Trip(secrets.token_urlsafe(24), call.now, sign_in.next_of(call), call.query.get("lang", ""))
    kept = base64.urlsafe_b64encode(msgspec.json.encode(trip)).decode().rstrip("=")
    try:
        call.service.attempts.begin(call.address, call.now)
        address = await provider.begin(kept, call.hf.secret, _back(call), call.now)
    except Problem as problem:
        return await sign_in.slowed_down(call, problem)
    except SignOnFailed as error:
        return await _failed(call, error)
    answer = see_other(address)
    return _with(answer, cookies.kept(kept, _LASTS_S, secure=call.secure, cookie=COOKIE))


async def back(call: Call) -> Answer:
    provider = _provider(call)
    kept = cookies.token_in(call.headers.get(b"cookie"), secure=call.secure, cookie=COOKIE) or ""
    answer, trip = call.query, _trip(kept)
    call.query = {"lang": trip.lang, "next": trip.next} if trip is not None else {}
    if trip is None or not 0 <= call.now - trip.begun_at < _LASTS_S * 1000:
        return await sign_in.form(call, 400, "sign_on_again")
    try:
        async with call.service.attempts.attempt(
            ("sign-on", whose(call.address)), call.address, call.now
        ) as attempt:
            attempt.good = True
            try:
                who = await provider.finish(answer, kept, call.hf.secret, _back(call), call.now)
            except NotProven:
                attempt.good = False
                raise
    except Problem as problem:
        return await sign_in.slowed_down(call, problem)
    except SignOnFailed as error:
        return await _failed(call, error)
    return await _entered(call, provider, who)


async def _entered(call: Call, provider: Provider, who: Claimed) -> Answer:
    forgotten = cookies.kept("", 0, secure=call.secure, cookie=COOKIE)
    started = await call.service.identities.sign_in(who, provider.settings)
    if started is None:
        log.info("a provider's account is no member", extra={"subject": who.subject})
        return _with(await sign_in.form(call, 403, "sign_on_unknown"), forgotten)
    return _with(sign_in.begun(call, started, sign_in.next_of(call)), forgotten)


async def _failed(call: Call, error: SignOnFailed) -> Answer:
    log.warning("signing in with the provider failed: %s", error)
    if isinstance(error, NotProven):
        return await sign_in.form(call, 403, "sign_on_refused")
    return await sign_in.form(call, 503, "provider_down")


def _provider(call: Call) -> Provider:
    if call.service.provider is None:
        raise not_found()
    return call.service.provider


def _back(call: Call) -> str:
    return call.service.settings.site.rstrip("/") + BACK


def _trip(kept: str) -> Trip | None:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(kept + "=" * (-len(kept) % 4)), type=Trip)
    except (msgspec.DecodeError, binascii.Error, ValueError):
        return None


def _with(answer: Answer, headers: tuple[tuple[bytes, bytes], ...]) -> Answer:
    return Answer(answer.status, answer.body, answer.media_type, (*answer.headers, *headers))


PAGES: Final = (
    Page(OUT, "console_sign_on", out, None, ANYBODY),
    Page(BACK, "console_signed_on", back, None, ANYBODY),
)
