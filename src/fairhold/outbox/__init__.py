"""What must be told gets told: the loop that takes messages from the outbox and hands them to notifiers."""

from fairhold.outbox.loop import Outbox
from fairhold.outbox.settings import MessageSettings

__all__ = ["MessageSettings", "Outbox"]
