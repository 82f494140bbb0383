"""Whether a browser says that a page of ours asked for something: the one answer for pages, console and API.

Who sends a form or a change from another site, or from none, is refused; a browser cannot be made to lie
about it. Programs and very old browsers say nothing, and are held to the token that they must know besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from fairhold.http.problems import Problem


def is_from_here(headers: Mapping[bytes, bytes], site: str) -> bool:
    """Whether it came from our own origin: at the address `site`, or as the request's own host has it."""
    said = headers.get(b"sec-fetch-site")
    if said is not None:
        return said == b"same-origin"
    origin = headers.get(b"origin")
    if origin is None:
        return True
    ours = urlsplit(site.lower())
    # What stands in front of us may speak https for us, under the host that it passes on.
    host = headers.get(b"host", b"").decode("latin-1").lower()
    here = {f"{ours.scheme}://{ours.netloc}"} | ({f"http://{host}", f"https://{host}"} if host else set())
    return origin.decode("latin-1").lower() in here


def must_be_from_here(headers: Mapping[bytes, bytes], site: str) -> None:
    """Refuse what a page of another site asks for."""
    if not is_from_here(headers, site):
        raise Problem("forbidden", "This was asked for by a page of another site.", "Origin")
