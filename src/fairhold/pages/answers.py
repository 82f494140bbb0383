"""What a page sends back, and the headers that keep it to itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

HTML: Final = b"text/html; charset=utf-8"
Headers = tuple[tuple[bytes, bytes], ...]

# What stands in an address for itself. All else is written as %XX: a line's end would begin another header.
_IN_ADDRESSES: Final = "%:/?#[]@!$&'()*+,;=-._~"
# No script and no style but our own files, nothing from elsewhere, and no form that leads away.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors "
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes
    media_type: bytes = HTML
    headers: Headers = ()


def see_other(address: str) -> Answer:
    """Go and look there: what was done is done, and to reload does it no second time."""
    return Answer(303, b"", HTML, ((b"location", quote(address, safe=_IN_ADDRESSES).encode("ascii")),))


def guarded(*, private: bool, framed_by: Sequence[str] | None = None) -> Headers:
    """The headers of a page. A private one tells nobody where it is: its address is a secret."""
    ancestors = " ".join(framed_by) if framed_by else "'none'"
    headers: list[tuple[bytes, bytes]] = [
        (b"content-security-policy", (_POLICY + ancestors).encode("ascii")),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        # A form's POST names its origin only if the policy lets it; signing up is held to that origin.
        (b"referrer-policy", b"no-referrer" if private else b"same-origin"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    ]
    if not framed_by:
        headers.append((b"x-frame-options", b"DENY"))
    if private:
        headers.append((b"x-robots-tag", b"noindex, nofollow"))
    return tuple(headers)
