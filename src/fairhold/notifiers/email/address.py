"""Where the mail server is: smtp://user:password@host:587 or smtps://…, and how its line is kept private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

from fairhold.addresses import read
from fairhold.errors import SettingsWrong

_TLS = ("required", "if_offered", "none")


@dataclass(frozen=True, slots=True)
class MailServer:
    """One mail server. `tls` is about STARTTLS; `implicit` means TLS from the first byte."""

    host: str
    port: int
    user: str = ""
    password: str = ""
    implicit: bool = False
    tls: str = "if_offered"

    def options(self) -> dict[str, Any]:
        """As aiosmtplib wants them."""
        start_tls = {"required": True, "if_offered": None, "none": False}[self.tls]
        options: dict[str, Any] = {"hostname": self.host, "port": self.port, "use_tls": self.implicit}
        options["start_tls"] = False if self.implicit else start_tls
        if self.user:
            options |= {"username": self.user, "password": self.password}
        return options


def mail_server(url: str) -> MailServer:
    """The server of an address. A password never goes over an open line unless `?tls=none` says so."""
    parts = read(url, "the mail server's address (FAIRHOLD_SMTP_URL)")
    asked = parse_qs(parts.query).get("tls", [""])[-1]
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or asked not in ("", *_TLS):
        raise SettingsWrong(
            "FAIRHOLD_SMTP_URL is no address of a mail server: smtp://user:password@host:587 or smtps://…, "
            f"with ?tls={'|'.join(_TLS)} if need be"
        )
    implicit = parts.scheme == "smtps"
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    tls = asked or ("required" if user else "if_offered")
    return MailServer(parts.hostname, parts.port or (465 if implicit else 587), user, password, implicit, tls)
