"""Tells the log that something would be told: for a laptop without a mail server. No address, no link."""

from __future__ import annotations

import logging

from holdfast.notifiers.base import Outgoing

log = logging.getLogger("holdfast.messages")


class LogNotifier:
    """Writes who would be told of what."""

    async def send(self, message: Outgoing) -> None:
        log.info("message %s (%s): %s", message.id, message.kind, message.subject)
