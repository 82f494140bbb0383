"""Everybody's mailbox: what people of the demo were told, kept in memory and shown, sent to nobody."""

from __future__ import annotations

from fairhold.demo.cast import BOUNCES
from fairhold.notifiers.base import Outgoing, Permanent
from fairhold.notifiers.drawer import Drawer


class Inbox(Drawer):
    """A drawer in which some mailboxes do not exist."""

    async def send(self, message: Outgoing) -> None:
        """Keep a letter, or bounce it."""
        if message.address in BOUNCES:
            raise Permanent("550 There is no such mailbox here.")
        await super().send(message)
