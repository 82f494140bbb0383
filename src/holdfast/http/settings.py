"""How the service is set up: each setting is a flag, an environment variable HOLDFAST_…, or both."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Final, Self

from holdfast.config import database_url, yes_or_no
from holdfast.errors import SettingsWrong

_PREFIX: Final = "HOLDFAST_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the service needs to know. A limit of 0 is none."""

    database: str
    host: str = "127.0.0.1"
    port: int = 8000
    share_port: bool = False
    """Whether other processes of the service may listen at the same port, on PostgreSQL."""
    test_clock: bool = False
    rate_per_key: int = 20_000
    burst_per_key: int = 40_000
    rate_per_address: int = 100
    burst_per_address: int = 500
    holds_per_address_max: int = 20
    holds_per_party_max: int = 10
    commands_max: int = 4_000
    """How many commands may wait at once, three quarters of them for one pool; others hear 503 at once."""
    streams_max: int = 1_000
    page_streams_max: int = 2_000
    page_streams_per_address_max: int = 50
    stream_patience_s: int = 20
    graceful_stop_s: int = 10
    session_idle_s: int = 12 * 3600
    """For how long a member stays signed in without doing anything."""
    session_max_s: int = 7 * 24 * 3600
    """For how long at all."""
    base_url: str = ""
    """Where the service is for others, as in links; with an https address, cookies go over https alone."""
    log_level: str = "info"
    pages: bool = True
    """Whether people can sign up at the pages of pools; links in messages work in any case."""
    origins: str = ""
    """Origins of web sites whose scripts may ask, with commas between them."""
    proxies: str = ""
    """Addresses of proxies whose X-Forwarded-For is believed, with commas between them."""
    oidc_issuer: str = ""
    """The identity provider that members may sign in with, by OpenID Connect; without one, none."""
    oidc_client_id: str = ""
    oidc_client_secret: str = field(default="", repr=False)
    oidc_org: str = "default"
    """Of which org those are a member who come from there."""
    oidc_claim: str = "email"
    """What says who they are: `email` is a member's e-mail, any other claim their name."""
    oidc_trust_email: bool = False
    """Whether an e-mail is theirs of which the provider does not say whether it was verified."""
    oidc_new_members: str = ""
    """The role of who is not a member yet, `staff` or `read`; without one they stay outside."""
    oidc_button: str = ""
    oidc_to_private: bool = False
    """Whether the provider may be at a private address, and without https."""

    @property
    def site(self) -> str:
        """Where others find the service: at the address that was said, else where it listens."""
        host = "127.0.0.1" if self.host in ("", "0.0.0.0", "::") else self.host  # noqa: S104
        return self.base_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @classmethod
    def read(cls, *, database: str | None = None, **given: object) -> Self:
        """From what was said, else from the environment, else as above. Raises SettingsWrong."""
        values: dict[str, object] = {"database": database_url(database)}
        for it in fields(cls):
            if it.name == "database":
                continue
            if given.get(it.name) is not None:
                values[it.name] = given[it.name]
            elif text := os.environ.get(_PREFIX + it.name.upper()):
                values[it.name] = _parsed(it.name, text, it.type)
        return cls(**values)  # type: ignore[arg-type]


def _parsed(name: str, text: str, kind: object) -> object:
    if kind == "str":
        return text
    if kind == "bool" and (said := yes_or_no(text)) is not None:
        return said
    if kind == "int" and text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    what = "true or false" if kind == "bool" else "a whole number"
    raise SettingsWrong(f"{_PREFIX}{name.upper()} must be {what}, not {text!r}")
