"""Chat and a hundred other services, through Apprise: `pip install holdfast[apprise]`. For staff."""

from __future__ import annotations

from holdfast.notifiers.base import Outgoing, Permanent, Temporary


class AppriseNotifier:
    """Tells one Apprise address, such as slack://… or matrix://…"""

    async def send(self, message: Outgoing) -> None:
        try:
            import apprise
        except ImportError as error:
            raise Temporary("Apprise is not installed: pip install holdfast[apprise]") from error
        service = apprise.Apprise()
        if not service.add(message.address):
            raise Permanent("this is no address that Apprise knows")
        if not await service.async_notify(title=message.subject, body=message.text):
            raise Temporary("the service did not take it")
