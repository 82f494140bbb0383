"""What whoever runs the service must know of an outbox by which no letter leaves the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fairhold.outbox.loop import Outbox

IN_A_DRAWER: Final = (
    "no mail server is set up: letters are kept in a drawer, for trying out (/console/letters). To send "
    "them, set FAIRHOLD_SMTP_URL and FAIRHOLD_MAIL_FROM"
)
NOTHING_SENDS: Final = (
    "no letter can be sent: no mail server and no text service is set up. Set FAIRHOLD_SMTP_URL and "
    "FAIRHOLD_MAIL_FROM, or FAIRHOLD_SMS_URL and FAIRHOLD_SMS_FROM"
)


def warning_of(outbox: Outbox) -> str:
    """Return which settings are missing, in a sentence; empty where letters or texts go out."""
    if outbox.drawer is not None:
        return IN_A_DRAWER
    return "" if outbox.channels else NOTHING_SENDS
