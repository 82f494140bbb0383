"""What an org may be called."""

from __future__ import annotations

from copy import copy
from typing import Protocol, TypeVar

from fairhold import inputs
from fairhold.errors import SettingsWrong


class _HasOrg(Protocol):
    org: str


H = TypeVar("H", bound=_HasOrg)


def as_org(hf: H, org: str) -> H:
    """The same open database, as an org sees it that is known already, whatever it may be called."""
    view = copy(hf)
    view.org = org
    return view


def checked_org(org: object) -> str:
    """The name of an org, if it can be one. Raises Bad."""
    name = inputs.text(org, "org", 100)
    if not inputs.KEY.fullmatch(name):
        raise inputs.Bad(
            "org", "An org has small letters, digits, - and _, and starts with one of the former."
        )
    return name


def named_org(org: object) -> str:
    """The same where a program says it. Raises SettingsWrong."""
    try:
        return checked_org(org)
    except inputs.Bad as bad:
        raise SettingsWrong(f"org: {bad.refusal.sentence}") from bad
