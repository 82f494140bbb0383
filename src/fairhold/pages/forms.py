"""Forms: what was filled in, and which sign-up it is.

There are no cookies, so a page in a frame on somebody's web site works as any other. A form to sign up
carries a token that only we can make; it names the sign-up, so pressing twice is signing up once. What acts
by a secret in its address (a booking, an offer) needs no more.
"""

from __future__ import annotations

import re
import secrets
from typing import Final
from urllib.parse import parse_qsl

from fairhold import tokens
from fairhold.core.model import Instant
from fairhold.http.problems import Problem, invalid

BODY_MAX: Final = 64 * 1024
# As long as an idempotency key is kept: until then pressing again is the same sign-up.
FORM_WINDOW: Final = 24 * 3_600_000
_FIELDS_MAX: Final = 200
_NAME: Final = re.compile(r"([0-9a-f]{24})-([0-9]{1,15})")
_PARTY: Final = re.compile(r"web-[0-9a-f]{24}")


def filled_in(body: bytes, content_type: bytes | None) -> dict[str, str]:
    """The fields of a form; of two with one name the last counts, as with a ticked box."""
    if not body:
        return {}
    kind = (content_type or b"").partition(b";")[0].strip().lower()
    if kind != b"application/x-www-form-urlencoded":
        raise Problem("unsupported_media_type", "Send the form as a browser does.")
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MAX
        )
    except (UnicodeDecodeError, ValueError):
        raise invalid(None, "This is no form that can be read.") from None
    if any("\x00" in name + value for name, value in pairs):
        raise invalid(None, "The form has a character that cannot be kept.")
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


def new_form(secret: str, pool: str, now: Instant) -> str:
    """The token of a new form to sign up to a pool."""
    return tokens.form_token(secret, pool, f"{secrets.token_hex(12)}-{now}")


def name_of_form(secret: str, pool: str, token: str, now: Instant) -> str | None:
    """Which sign-up this is; None if the form is none of ours for this pool, or too old."""
    name = tokens.form_of_token(secret, pool, token)
    found = _NAME.fullmatch(name) if name is not None else None
    if found is None or not now - FORM_WINDOW < int(found[2]) <= now:
        return None
    return found[1]


def party_of(form: str) -> str:
    """The id of who signs up by a form, and has none of their own."""
    return f"web-{form}"


def is_party_of_form(party_id: str) -> bool:
    return _PARTY.fullmatch(party_id) is not None
