"""All that can be asked of the service in one class; and its changes, as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Final

import httpx2 as httpx
import msgspec

from fairhold.changes import BookingChange, PoolChange
from fairhold.client.accounts import AccountMethods
from fairhold.client.answers import ClientError, NotReached, broken
from fairhold.client.bookings import BookingMethods
from fairhold.client.keeping import KeepingMethods
from fairhold.client.messages import MessageMethods
from fairhold.client.pools import PoolMethods
from fairhold.client.said import address_of
from fairhold.core.refusals import Refusal
from fairhold.http.clock import ClockShape
from fairhold.inputs import Bad

_MESSAGES: Final[dict[str | None, Any]] = {"booking": BookingChange, "pool": PoolChange}


class AsyncClient(PoolMethods, BookingMethods, MessageMethods, KeepingMethods, AccountMethods):
    """The service, for programs with an event loop."""

    async def clock(self) -> ClockShape | Refusal:
        """What time it is for a service with a test clock."""
        return await self._ask(ClockShape, "GET", "/v1/clock")

    async def advance(
        self, to: datetime | str | None = None, *, seconds: int = 0, idempotency_key: str | None = None
    ) -> ClockShape | Refusal:
        """Move the test clock to an instant, or by so many seconds; what time it is then.

        All that falls due on the way happens in order, each at its own instant. A service has a test clock if
        it was started with `--test-clock`; elsewhere this is refused as unknown.
        """
        body = {"advance_s": seconds} if to is None else {"now": to, "advance_s": seconds or None}
        return await self._ask(ClockShape, "POST", "/v1/clock", body, idempotency_key=idempotency_key)

    async def stream(
        self, *, pool: str | None = None, last_event_id: str = ""
    ) -> AsyncIterator[BookingChange | PoolChange | None]:
        """Bookings and pools as they change, for ever: after a break it goes on where it stopped.

        None says that the break was too long: read the state anew.
        """
        self._must_be_open()
        try:
            address = address_of("/v1/stream", {}, {"pool": pool})
        except Bad as bad:
            raise ClientError(str(bad)) from None
        breaks = 0
        while True:
            headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
            fields: dict[str, str] = {}
            try:
                async for line in self._lines(address, headers):
                    if line:
                        name, _, value = line.partition(": ")
                        fields[name] = value
                        continue
                    last_event_id, breaks = fields.get("id", last_event_id), 0
                    if (event := fields.get("event")) in _MESSAGES:
                        yield msgspec.json.decode(fields["data"], type=_MESSAGES[event])
                    elif event == "reset":
                        yield None
                    fields = {}
            except (httpx.RequestError, NotReached) as error:
                breaks += 1
                if breaks > self._tries_max:
                    if isinstance(error, NotReached):
                        raise
                    raise broken(error) from error
            await self._sleep(min(5.0, 0.2 * 2**breaks))
