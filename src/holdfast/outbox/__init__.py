"""What must be told gets told: the loop that takes messages from the outbox and hands them to notifiers."""

from holdfast.outbox.loop import Outbox
from holdfast.outbox.settings import MessageSettings

__all__ = ["MessageSettings", "Outbox"]
