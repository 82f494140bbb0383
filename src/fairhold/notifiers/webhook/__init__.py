"""Webhooks, signed as Standard Webhooks has it. The receiver is somebody's server, so we look where we go."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

import msgspec

from fairhold.notifiers.base import Outgoing, Permanent, Temporary
from fairhold.notifiers.webhook.guard import Guard
from fairhold.notifiers.webhook.pinned import Pinned

_TIMEOUT_S: Final = 15.0
_GONE: Final = 410


class WebhookNotifier:
    """POSTs messages to the addresses that an org has given. Any answer but a 2xx means: again, later."""

    def __init__(self, guard: Guard) -> None:
        self._pinned = Pinned(guard)

    async def send(self, message: Outgoing) -> None:
        # Only those who have webhooks pay for importing it.
        import httpx2

        parts = urlsplit(message.address)
        if parts.scheme != "https" and not self._pinned.guard.allows_private:
            raise Permanent("a webhook needs an https address")
        body = msgspec.json.encode(message.payload)
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                asked = self._pinned.ask("POST", message.address, signed(message, body), body)
                async with asked as answer:
                    pass
        except TimeoutError as error:
            raise Temporary(f"no answer within {_TIMEOUT_S:.0f} s") from error
        except (httpx2.HTTPError, OSError) as error:
            raise Temporary(f"cannot be reached: {type(error).__name__}: {error}") from error
        if answer.status_code == _GONE:
            raise Permanent("410: it says that it is gone for good")
        if not answer.is_success:
            raise Temporary(f"answered {answer.status_code}")


def signed(message: Outgoing, body: bytes) -> dict[str, str]:
    """The headers that prove who sent it and when; the id is the same at every try."""
    from standardwebhooks.webhooks import Webhook

    at = datetime.fromtimestamp(message.sent_at / 1000, UTC)
    signature = Webhook(message.secret).sign(message.id, at, body.decode())
    return {
        "Content-Type": "application/json",
        "User-Agent": "Fairhold",
        "webhook-id": message.id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": signature,
    }
