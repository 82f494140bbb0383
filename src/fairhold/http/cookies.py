"""The cookie of a session, and who may act with it.

A browser sends the cookie along whoever asks it to, so what changes something must also come from a page of
ours (as the browser says) and say the session's CSRF token, which no page of others can know.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

from fairhold.http.problems import Problem
from fairhold.http.settings import Settings

NAME: Final = "fairhold_session"
CSRF_HEADER: Final = b"x-csrf-token"


def is_secure(scope: Mapping[str, Any], settings: Settings) -> bool:
    """Whether browsers come over https: here, or to what stands in front of us."""
    return scope["scheme"] == "https" or settings.base_url.startswith("https:")


def token_in(header: bytes | None, *, secure: bool, cookie: str = NAME) -> str | None:
    """The session's token among a request's cookies, or what another cookie of ours says."""
    if header is None:
        return None
    wanted = _name(cookie, secure)
    for pair in header.decode("latin-1").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == wanted and value:
            return value
    return None


def kept(token: str, age_s: int, *, secure: bool, cookie: str = NAME) -> tuple[tuple[bytes, bytes], ...]:
    """The header that has the browser keep a token; with an age of 0 it forgets it."""
    parts = [f"{_name(cookie, secure)}={token}", "Path=/", f"Max-Age={age_s}", "HttpOnly", "SameSite=Lax"]
    if secure:
        parts.append("Secure")
    return ((b"set-cookie", "; ".join(parts).encode()),)


def _name(cookie: str, secure: bool) -> str:
    """Over https no other host and no plain page can set a cookie of this name."""
    return f"__Host-{cookie}" if secure else cookie


def must_say(headers: Mapping[bytes, bytes], csrf_token: str) -> None:
    """Refuse what does not say the session's own CSRF token."""
    if not hmac.compare_digest(headers.get(CSRF_HEADER, b""), csrf_token.encode()):
        detail = "With a session, X-CSRF-Token must say the csrf_token of GET /v1/session."
        raise Problem("forbidden", detail, "X-CSRF-Token")
