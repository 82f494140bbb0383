"""What must be told gets told: the loop that takes messages from the outbox and hands them to notifiers."""

from fairhold.extras import needs

with needs("messages", "the outbox"):
    from fairhold.outbox.loop import Outbox
    from fairhold.outbox.settings import MessageSettings

__all__ = ["MessageSettings", "Outbox"]
