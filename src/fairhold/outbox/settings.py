"""How and with what name messages go out: from the environment, or as a program says it.

Without a mail server or a text service in the settings, nobody is told: a line in the log names each letter.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parseaddr

from fairhold.addresses import read
from fairhold.config import yes_or_no
from fairhold.errors import SettingsWrong
from fairhold.messages.languages import LANGUAGES, language_of
from fairhold.notifiers.email.address import mail_server


def webhooks_to_private(environment: Mapping[str, str] | None = None) -> bool:
    """Whether webhooks may go to private addresses. Raises SettingsWrong."""
    env = os.environ if environment is None else environment
    text = env.get("FAIRHOLD_WEBHOOKS_TO_PRIVATE") or "no"
    said = yes_or_no(text)
    if said is None:
        # It opens a guard: what is mistyped must not.
        raise SettingsWrong(f"FAIRHOLD_WEBHOOKS_TO_PRIVATE must be yes or no, not {text!r}")
    return said


@dataclass(frozen=True, slots=True)
class MessageSettings:
    """Each is an environment variable: `base_url` is FAIRHOLD_BASE_URL, and so on.

    The sentences are those of docs/reference/settings.md.
    """

    # What it means stands with the settings of the service, which has it, too.
    base_url: str = "http://127.0.0.1:8000"
    smtp_url: str = field(default="", repr=False)
    """The mail server: `smtp://user:password@host:587` (STARTTLS) or `smtps://…`; at the end `?tls=required`,
    `if_offered` or `none`. Unless it is set, there is no e-mail."""
    mail_from: str = ""
    """The sender of e-mails: `Seats <seats@example.org>`."""
    sms_url: str = field(default="", repr=False)
    """The text service, of Twilio's shape: `https://SID:TOKEN@host`. Unless it is set, there are no texts;
    without either, nobody is told."""
    sms_from: str = ""
    """The sender of texts: a number or a name."""
    sms_region: str = ""
    """The country of numbers without one, such as `FI`."""
    locale: str = "en"
    """The language of those who have not said theirs: `en`, `fi` or `de`."""
    webhooks_to_private: bool = False
    """Whether webhooks may go to private addresses and over plain http."""
    apprise_schemes: str = ""
    """Schemes of Apprise that staff may be told by besides those of services with an address of their own,
    such as `ntfys,mmosts`; `*` for all."""

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] | None = None, *, here: str = ""
    ) -> MessageSettings:
        """What FAIRHOLD_… variables say; `here` is the site if they name none. Raises SettingsWrong."""
        env = os.environ if environment is None else environment
        said = {name: env.get(f"FAIRHOLD_{name.upper()}", "") for name in cls.__slots__}
        del said["webhooks_to_private"]
        said["base_url"] = said["base_url"] or here
        private = webhooks_to_private(env)
        settings = cls(**{name: text for name, text in said.items() if text}, webhooks_to_private=private)
        settings.check()
        return settings

    def check(self) -> None:
        """Whether they can be used. Raises SettingsWrong, naming the variable."""
        parts = read(self.base_url, "FAIRHOLD_BASE_URL")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise SettingsWrong(
                "FAIRHOLD_BASE_URL is no address of a site, such as https://seats.example.org"
            )
        if self.smtp_url:
            mail_server(self.smtp_url)
        if self.smtp_url and "@" not in parseaddr(self.mail_from)[1]:
            raise SettingsWrong(
                "FAIRHOLD_SMTP_URL needs FAIRHOLD_MAIL_FROM, such as Seats <seats@example.org>"
            )
        if self.sms_url and not self.sms_from:
            raise SettingsWrong("FAIRHOLD_SMS_URL needs FAIRHOLD_SMS_FROM, a number or a name")
        if language_of(self.locale) is None:
            raise SettingsWrong(f"FAIRHOLD_LOCALE must be one of: {', '.join(LANGUAGES)}")
