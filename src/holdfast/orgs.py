"""What an org may be called."""

from __future__ import annotations

from holdfast import inputs
from holdfast.errors import SettingsWrong


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
