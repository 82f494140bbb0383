"""How the service is set up: each setting is a flag, an environment variable FAIRHOLD_…, or both."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Final, Self

from fairhold.config import database_url, yes_or_no
from fairhold.errors import SettingsWrong

_PREFIX: Final = "FAIRHOLD_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the service needs to know. The sentences are those of docs/reference/settings.md."""

    database: str = field(repr=False)
    host: str = "127.0.0.1"
    """The address to listen at."""
    port: int = 8000
    """The port to listen at."""
    share_port: bool = False
    """Whether other processes of the service may listen at the same port, on PostgreSQL."""
    test_clock: bool = False
    """For tests only: time stands still until `POST /v1/clock` moves it."""
    rate_per_key: int = 20_000
    """How many requests a second one key may make in the long run; 0 is no limit."""
    burst_per_key: int = 40_000
    """How many requests one key may make at once, after a rest."""
    rate_per_address: int = 100
    """How many requests a second one address may make with a public key; 0 is no limit."""
    burst_per_address: int = 500
    """How many requests one address may make at once with a public key, after a rest."""
    holds_per_address_max: int = 20
    """How many live holds public keys may make for one address, over all nodes; up to 1000, 0 is no limit."""
    holds_per_party_max: int = 10
    """How many they may make for one party, over all nodes; up to 1000, 0 is no limit."""
    commands_max: int = 4_000
    """How many commands may wait at once, three quarters of them for one pool; who comes then hears 503 at
    once, and when to ask again. 0 is no limit."""
    streams_max: int = 1_000
    """How many streams of changes may be open at once."""
    page_streams_max: int = 2_000
    """How many pages may be kept up to date at once."""
    page_streams_per_address_max: int = 50
    """How many of these may be open from one address."""
    stream_patience_s: int = 20
    """For how many seconds a stream waits for a client that takes nothing."""
    graceful_stop_s: int = 10
    """For how many seconds a stop waits for what was accepted."""
    session_idle_s: int = 12 * 3600
    """For how many seconds a member stays signed in without doing anything."""
    session_max_s: int = 7 * 24 * 3600
    """For how many seconds a member stays signed in at all."""
    base_url: str = ""
    """Where others find the service: in links of messages, for passkeys (which need a name, and https unless
    it is `localhost`) and for providers. With an https address, cookies go over https alone. Unless it is
    set, that is where `fairhold serve` listens; for `fairhold outbox` and in programs
    `http://127.0.0.1:8000`."""
    log_level: str = "info"
    """`debug`, `info` (a line for each request), `warning` or `error`."""
    pages: bool = True
    """Whether people can sign up at `/p/…`; what messages link to is there in any case."""
    origins: str = ""
    """Web sites whose scripts may ask with a public key: `https://www.example.org`, with commas between."""
    proxies: str = ""
    """Addresses or networks of proxies whose `X-Forwarded-For` is believed, with commas between."""
    oidc_issuer: str = ""
    """The provider that members may sign in with, by OpenID Connect: `https://id.example.org`."""
    oidc_client_id: str = ""
    """What the provider knows the service by."""
    oidc_client_secret: str = field(default="", repr=False)
    """What it proves itself by there; a client without a secret proves itself by PKCE alone."""
    oidc_org: str = "default"
    """Of which org those are a member who come from there."""
    oidc_claim: str = "email"
    """What finds the member: `email`, or another claim, which is held against members' names."""
    oidc_trust_email: bool = False
    """Whether an e-mail counts of which the provider does not say whether it was verified."""
    oidc_new_members: str = ""
    """The role of who is no member yet: `staff` or `read`; unless it is set, they stay outside."""
    oidc_button: str = ""
    """What the provider is called on the button; unless it is set, its host."""
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
