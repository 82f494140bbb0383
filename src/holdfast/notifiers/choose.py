"""Which notifiers the settings ask for, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.notifiers.apprise import AppriseNotifier
from holdfast.notifiers.apprise.schemes import allowed_besides
from holdfast.notifiers.base import Notifier
from holdfast.notifiers.email import EmailNotifier
from holdfast.notifiers.email.address import mail_server
from holdfast.notifiers.log import LogNotifier
from holdfast.notifiers.sms import SmsNotifier
from holdfast.notifiers.webhook import WebhookNotifier
from holdfast.notifiers.webhook.guard import Guard

if TYPE_CHECKING:
    from holdfast.outbox.settings import MessageSettings


def notifiers_for(settings: MessageSettings) -> dict[str, Notifier]:
    """The log, webhooks and Apprise; e-mail and texts where the settings say how. Raises SettingsWrong."""
    found: dict[str, Notifier] = {
        "log": LogNotifier(),
        "webhook": WebhookNotifier(Guard(allows_private=settings.webhooks_to_private)),
        "apprise": AppriseNotifier(allowed_besides({"HOLDFAST_APPRISE_SCHEMES": settings.apprise_schemes})),
    }
    if settings.smtp_url:
        found["email"] = EmailNotifier(mail_server(settings.smtp_url), settings.mail_from)
    if settings.sms_url:
        found["sms"] = SmsNotifier(settings.sms_url, settings.sms_from, settings.sms_region)
    return found
