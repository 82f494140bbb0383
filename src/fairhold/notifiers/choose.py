"""Which notifiers the settings ask for, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fairhold.addresses import is_loopback
from fairhold.clock import Clock
from fairhold.notifiers.apprise import AppriseNotifier
from fairhold.notifiers.apprise.schemes import allowed_besides
from fairhold.notifiers.base import Notifier
from fairhold.notifiers.drawer import Drawer
from fairhold.notifiers.email import EmailNotifier
from fairhold.notifiers.email.address import mail_server
from fairhold.notifiers.log import LogNotifier
from fairhold.notifiers.sms import SmsNotifier
from fairhold.notifiers.webhook import WebhookNotifier
from fairhold.notifiers.webhook.guard import Guard

if TYPE_CHECKING:
    from fairhold.outbox.settings import MessageSettings


def notifiers_to_try_out(settings: MessageSettings, clock: Clock) -> dict[str, Notifier]:
    """Return the same as `notifiers_for`, with a drawer for letters on a machine that is only for trying out.

    That is one where nothing can send, and whose pages are found at a loopback address alone.
    """
    found = notifiers_for(settings)
    if not {"email", "sms"} & set(found) and is_loopback(urlsplit(settings.base_url).hostname or ""):
        found["email"] = Drawer(clock)
    return found


def notifiers_for(settings: MessageSettings) -> dict[str, Notifier]:
    """The log, webhooks and Apprise; e-mail and texts where the settings say how. Raises SettingsWrong."""
    found: dict[str, Notifier] = {
        "log": LogNotifier(),
        "webhook": WebhookNotifier(Guard(allows_private=settings.webhooks_to_private)),
        "apprise": AppriseNotifier(allowed_besides({"FAIRHOLD_APPRISE_SCHEMES": settings.apprise_schemes})),
    }
    if settings.smtp_url:
        found["email"] = EmailNotifier(mail_server(settings.smtp_url), settings.mail_from)
    if settings.sms_url:
        found["sms"] = SmsNotifier(settings.sms_url, settings.sms_from, settings.sms_region)
    return found
