"""What whoever runs the service must know of an outbox by which no letter leaves the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast.outbox.loop import Outbox

IN_A_DRAWER: Final = (
    "no mail server is set up: letters are kept in a drawer, for trying out (/console/letters). To send "
    "them, set HOLDFAST_SMTP_URL and HOLDFAST_MAIL_FROM"
)
NOTHING_SENDS: Final = (
    "no letter can be sent: no mail server and no text service is set up. Set HOLDFAST_SMTP_URL and "
    "HOLDFAST_MAIL_FROM, or HOLDFAST_SMS_URL and HOLDFAST_SMS_FROM"
)


def warning_of(outbox: Outbox) -> str:
    """Return which settings are missing, in a sentence; empty where letters or texts go out."""
    if outbox.drawer is not None:
        return IN_A_DRAWER
    return "" if outbox.channels else NOTHING_SENDS
