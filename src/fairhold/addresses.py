"""Addresses out of the settings, which may have a password in them: what is said of one never repeats it."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from fairhold.errors import SettingsWrong

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)")
_LOGIN: Final = re.compile(r"(?<=://)\S*@")


def read(text: str, what: str) -> SplitResult:
    """The parts of an address, its port among them. Raises SettingsWrong."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise unreadable(what) from None
    if "@" in parts.path + parts.query + parts.fragment:
        # A password with a sign that ends the host has come apart: the rest of it is taken for a path.
        raise unreadable(what)
    return parts


def unreadable(what: str) -> SettingsWrong:
    """What is said of an address that is none. Raise it from None: causes quote the address."""
    return SettingsWrong(
        f"{what} cannot be read: in a user's name or password, write % as %25, / as %2F, ? as %3F, # as %23, "
        "@ as %40, [ as %5B"
    )


def scheme_of(text: str) -> str:
    """All of an address that can be said aloud: mysql://…; nothing if it does not begin like one."""
    found = _SCHEME.match(text)
    return f"{found[0]}://…" if found else ""


def without_login(text: str) -> str:
    """A sentence with all that stands before an @ in addresses taken out."""
    return _LOGIN.sub("…@", text)


def is_loopback(host: str) -> bool:
    """Return True if a host's name or address is that of the machine itself."""
    name = host.strip("[]").lower()
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
