"""Tells the log that something would be told: for a laptop without a mail server. No address, no words.

An org's own words may name people and hold links, in the subject too.
"""

from __future__ import annotations

import logging

from fairhold.notifiers.base import Outgoing

log = logging.getLogger("fairhold.messages")


class LogNotifier:
    """Writes that somebody would be told of something."""

    async def send(self, message: Outgoing) -> None:
        log.info(
            "message %s (%s) was not sent: there is no way to reach its receiver", message.id, message.kind
        )
