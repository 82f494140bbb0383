"""Whether a text can be an address that people are told at. Only sending shows whether it is one."""

from __future__ import annotations

import re
from typing import Final

_EMAIL: Final = re.compile(r"[^@\s]{1,64}@[^@\s]{1,180}\.[^@\s.]{2,60}")
_PHONE: Final = re.compile(r"\+?[0-9][0-9 ()/.-]{4,30}")


def is_email(text: str) -> bool:
    return _EMAIL.fullmatch(text) is not None and text.isprintable()


def is_phone(text: str) -> bool:
    return _PHONE.fullmatch(text) is not None
