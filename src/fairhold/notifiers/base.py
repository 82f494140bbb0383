"""What every notifier keeps to: take one message for one address and hand it over, or say why not.

Undelivered
├── Temporary   the world failed: try again later
└── Permanent   it never will be delivered there: do not try again
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class Undelivered(Exception):
    """A message was not handed over."""


class Temporary(Undelivered):
    """Not now; maybe later."""


class Permanent(Undelivered):
    """Not there, ever."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with an e-mail; `cid` names one that is shown inside it."""

    name: str
    media_type: str
    content: bytes
    cid: str = ""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message, worded for one address. The id is the same at every try."""

    id: str
    kind: str
    address: str
    subject: str = ""
    text: str = ""
    html: str = ""
    short: str = ""
    attachments: tuple[Attachment, ...] = ()
    payload: Mapping[str, Any] = field(default_factory=dict)
    secret: str = ""
    region: str = ""
    # When this try is really made, in milliseconds: a signature is good for a few minutes only.
    sent_at: int = 0


class Notifier(Protocol):
    """Hands messages over: to a mail server, a phone, a program, a chat.

    One that keeps something open may have `async def close(self)`, too: the outbox calls it when it stops.
    """

    async def send(self, message: Outgoing) -> None:
        """Hand it over. Raises Temporary or Permanent."""
        ...
