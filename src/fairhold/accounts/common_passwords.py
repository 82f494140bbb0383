"""The passwords that most people take, and so those that are tried first.

The list has the 10,000 most common of at least ten characters, as `passwords.checked` reads them, the most
common first. They are those of the ten million that Mark Burnett of xato.net gave to the public domain.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from typing import Final

_LIST: Final = "common_passwords.txt.gz"


def is_common(password: str) -> bool:
    """Whether it is one of them, in small letters or large."""
    return password.casefold() in _common()


@cache
def _common() -> frozenset[str]:
    """Read when somebody first chooses a password, which on most days nobody does."""
    return frozenset(gzip.decompress((files(__package__) / _LIST).read_bytes()).decode().splitlines())
