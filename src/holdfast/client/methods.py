"""What can be asked of the service, by the names that the library has for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import httpx2 as httpx
import msgspec

from holdfast.changes import BookingChange, PoolChange
from holdfast.client.accounts import AccountMethods
from holdfast.client.answers import ClientError, NotReached
from holdfast.client.keeping import KeepingMethods
from holdfast.client.messages import MessageMethods
from holdfast.client.said import address_of
from holdfast.core.model import Party
from holdfast.core.refusals import Refusal
from holdfast.http.offers import OfferShape
from holdfast.http.operations import Page
from holdfast.http.stats import OrgStats
from holdfast.http.units import UnitShape
from holdfast.inputs import Bad
from holdfast.keys import ApiKey
from holdfast.numbers import Numbers
from holdfast.records import LogEntry, Opening, Stats
from holdfast.shapes import Booking, Explanation, Outcome, PoolState

Key = str | None

_MESSAGES: Final[dict[str | None, Any]] = {"booking": BookingChange, "pool": PoolChange}


class AsyncClient(AccountMethods, MessageMethods, KeepingMethods):
    """The service, for programs with an event loop."""

    # Pools.

    async def create_pool(
        self,
        key: str,
        /,
        *,
        quotas: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        preset: str | None = None,
        idempotency_key: Key = None,
        **fields: Any,
    ) -> PoolState | Refusal:
        """Make a pool. `quotas` is a mapping of key to size, or a list of objects."""
        listed = quotas
        if isinstance(quotas, Mapping):
            listed = [{"key": name, "size": size} for name, size in quotas.items()]
        body = {"key": key, "quotas": listed, **({"preset": preset} if preset else {}), **fields}
        return await self._ask(PoolState, "POST", "/v1/pools", body, idempotency_key=idempotency_key)

    async def change_pool(
        self, pool: str, /, *, dry_run: bool = False, idempotency_key: Key = None, **fields: Any
    ) -> PoolState | Outcome | Refusal:
        """Change a pool; a dry run says who would move and who would be told."""
        kind: Any = Outcome if dry_run else PoolState
        query = {"dry_run": "true"} if dry_run else None
        path = "/v1/pools/{pool}"
        return await self._ask(
            kind, "PATCH", path, fields, query=query, idempotency_key=idempotency_key, pool=pool
        )

    async def pool(self, pool: str) -> PoolState | Refusal:
        return await self._ask(PoolState, "GET", "/v1/pools/{pool}", pool=pool)

    async def pools(self, *, cursor: str = "", limit: int = 100) -> Page[PoolState] | Refusal:
        return await self._ask(Page[PoolState], "GET", "/v1/pools", query={"cursor": cursor, "limit": limit})

    async def add_units(
        self, pool: str, units: Sequence[Mapping[str, Any] | str], *, idempotency_key: Key = None
    ) -> PoolState | Refusal:
        """Open more units."""
        path = "/v1/pools/{pool}/units"
        return await self._ask(
            PoolState, "POST", path, {"units": units}, idempotency_key=idempotency_key, pool=pool
        )

    async def units(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[UnitShape] | Refusal:
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[UnitShape], "GET", "/v1/pools/{pool}/units", query=query, pool=pool)

    async def close_unit(self, pool: str, label: str, *, idempotency_key: Key = None) -> PoolState | Refusal:
        """Take a free unit away."""
        path = "/v1/pools/{pool}/units/{label}"
        return await self._ask(
            PoolState, "DELETE", path, idempotency_key=idempotency_key, pool=pool, label=label
        )

    async def fill(
        self, pool: str, steps: int | None = None, *, idempotency_key: Key = None
    ) -> Outcome | Refusal:
        """Give free room to the line; normally it happens by itself."""
        path = "/v1/pools/{pool}/fill"
        return await self._ask(
            Outcome, "POST", path, {"steps": steps}, idempotency_key=idempotency_key, pool=pool
        )

    async def line(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[Booking] | Refusal:
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[Booking], "GET", "/v1/pools/{pool}/line", query=query, pool=pool)

    async def log(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[LogEntry] | Refusal:
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[LogEntry], "GET", "/v1/pools/{pool}/log", query=query, pool=pool)

    async def history(
        self,
        pool: str,
        *,
        topic: str | None = None,
        actor: str | None = None,
        unit: str | None = None,
        cursor: str = "",
        limit: int = 50,
    ) -> Page[LogEntry] | Refusal:
        """What happened, the newest first; a page may hold nothing and still be followed by another."""
        query = {"topic": topic, "actor": actor, "unit": unit, "cursor": cursor, "limit": limit}
        return await self._ask(Page[LogEntry], "GET", "/v1/pools/{pool}/history", query=query, pool=pool)

    async def numbers(self, pool: str, *, days: int = 14) -> Numbers | Refusal:
        """What the last days of a pool add up to."""
        path = "/v1/pools/{pool}/numbers"
        return await self._ask(Numbers, "GET", path, query={"days": days}, pool=pool)

    async def stats(self, pool: str) -> Stats | Refusal:
        return await self._ask(Stats, "GET", "/v1/pools/{pool}/stats", pool=pool)

    async def org_stats(self) -> OrgStats | Refusal:
        """The figures of the org, over all its pools."""
        return await self._ask(OrgStats, "GET", "/v1/stats")

    async def openings(self, pool: str) -> Page[Opening] | Refusal:
        return await self._ask(Page[Opening], "GET", "/v1/pools/{pool}/openings", pool=pool)

    async def resolve(
        self, pool: str, opening: int, action: str, *, idempotency_key: Key = None
    ) -> PoolState | Refusal:
        """Decide on an opening that was handed back: "again", "free" or "close"."""
        path = "/v1/pools/{pool}/openings/{opening}/resolve"
        body, number = {"action": action}, f"{opening}"
        return await self._ask(
            PoolState, "POST", path, body, idempotency_key=idempotency_key, pool=pool, opening=number
        )

    # Bookings.

    async def book(
        self,
        pool: str,
        party: Party | Mapping[str, Any] | str,
        quantity: int | None = None,
        *,
        quota: str | None = None,
        units: Sequence[str] = (),
        if_full: str | None = None,
        price: Mapping[str, Any] | None = None,
        wants: Mapping[str, Any] | None = None,
        opening: int | None = None,
        confirmed: bool = False,
        as_staff: bool = False,
        idempotency_key: Key = None,
    ) -> Booking | Refusal:
        """Ask for seats: held when there is room and nobody waits for it, else a place in line."""
        body = {
            "party": party,
            **({} if quantity is None else {"quantity": quantity}),
            "quota": quota,
            "units": units,
            "if_full": if_full,
            "price": price,
            "wants": wants,
            "opening": opening,
            "confirmed": confirmed,
            "as_staff": as_staff,
        }
        path = "/v1/pools/{pool}/bookings"
        return await self._ask(Booking, "POST", path, body, idempotency_key=idempotency_key, pool=pool)

    async def booking(self, booking: str) -> Booking | Refusal:
        """A booking by its id, reference or edit token."""
        return await self._ask(Booking, "GET", "/v1/bookings/{booking}", booking=booking)

    async def bookings(
        self,
        pool: str | None = None,
        *,
        party: str | None = None,
        state: str | None = None,
        search: str | None = None,
        cursor: str = "",
        limit: int = 100,
    ) -> Page[Booking] | Refusal:
        """Bookings of one pool or of all; or those that a search finds, at most `limit` of them."""
        query: dict[str, Any] = {"pool": pool, "party": party, "state": state, "search": search}
        query |= {"cursor": cursor, "limit": limit}
        return await self._ask(Page[Booking], "GET", "/v1/bookings", query=query)

    async def explain(self, booking: str) -> Page[Explanation] | Refusal:
        """Why a booking is where it is."""
        return await self._ask(Page[Explanation], "GET", "/v1/bookings/{booking}/explain", booking=booking)

    async def change_booking(
        self,
        booking: str,
        *,
        name: str | None = None,
        contacts: Mapping[str, str] | None = None,
        locale: str | None = None,
        answers: Mapping[str, Any] | None = None,
        idempotency_key: Key = None,
    ) -> Booking | Refusal:
        """Change the name, contacts, locale or answers of a booking."""
        path = "/v1/bookings/{booking}"
        body = {"name": name, "contacts": contacts, "locale": locale, "answers": answers}
        return await self._ask(Booking, "PATCH", path, body, idempotency_key=idempotency_key, booking=booking)

    async def confirm(self, booking: str, *, idempotency_key: Key = None) -> Booking | Refusal:
        """Make a held booking final."""
        return await self._act(booking, "confirm", {}, idempotency_key)

    async def cancel(self, booking: str, *, why: str = "", idempotency_key: Key = None) -> Booking | Refusal:
        """Give a booking back, or leave the line."""
        return await self._act(booking, "cancel", {"why": why}, idempotency_key)

    async def extend(
        self, booking: str, window_s: int | None = None, *, idempotency_key: Key = None
    ) -> Booking | Refusal:
        """Give a hold more time."""
        return await self._act(booking, "extend", {"window_s": window_s}, idempotency_key)

    async def offer(
        self, booking: str, *, why: str = "", opening: int | None = None, idempotency_key: Key = None
    ) -> Booking | Refusal:
        """Offer free room to one waiting booking now, out of turn; or an opening that was handed back."""
        return await self._act(booking, "offer", {"why": why, "opening": opening}, idempotency_key)

    async def move(
        self,
        booking: str,
        to: str = "front",
        *,
        after: str | None = None,
        why: str = "",
        idempotency_key: Key = None,
    ) -> Booking | Refusal:
        """Move a waiting booking to the "front", the "back", or after another."""
        body = {"why": why, **({"after": after} if after else {"to": to})}
        return await self._act(booking, "move", body, idempotency_key)

    async def put_back(
        self, booking: str, *, why: str = "", idempotency_key: Key = None
    ) -> Booking | Refusal:
        """Undo the end of a booking: it gets its seats again if they are free, or waits where it did."""
        return await self._act(booking, "put-back", {"why": why}, idempotency_key)

    async def _act(self, booking: str, act: str, body: Mapping[str, Any], key: Key) -> Booking | Refusal:
        path = "/v1/bookings/{booking}/{act}"
        return await self._ask(Booking, "POST", path, body, idempotency_key=key, booking=booking, act=act)

    # Offers.

    async def offer_of(self, token: str) -> OfferShape | Refusal:
        """An offer as its holder sees it; looking at it changes nothing."""
        return await self._ask(OfferShape, "GET", "/v1/offers/{token}", token=token)

    async def claim(
        self, token: str, quantity: int | None = None, *, idempotency_key: Key = None
    ) -> Booking | Refusal:
        """Take what was offered, by the offer's token."""
        path = "/v1/offers/{token}/claim"
        return await self._ask(
            Booking, "POST", path, {"quantity": quantity}, idempotency_key=idempotency_key, token=token
        )

    async def decline(self, token_or_booking: str, *, idempotency_key: Key = None) -> Booking | Refusal:
        """Say no to an offer, by its token; or to the live offer of a booking."""
        noun = "offers" if "." in str(token_or_booking) else "bookings"
        path = f"/v1/{noun}/{{token_or_booking}}/decline"
        return await self._ask(
            Booking, "POST", path, {}, idempotency_key=idempotency_key, token_or_booking=token_or_booking
        )

    # Keys.

    async def create_key(self, role: str, name: str, *, idempotency_key: Key = None) -> ApiKey | Refusal:
        body = {"role": role, "name": name}
        return await self._ask(ApiKey, "POST", "/v1/keys", body, idempotency_key=idempotency_key)

    async def keys(self, *, cursor: str = "", limit: int = 100) -> Page[ApiKey] | Refusal:
        return await self._ask(Page[ApiKey], "GET", "/v1/keys", query={"cursor": cursor, "limit": limit})

    async def revoke_key(self, key: str) -> ApiKey | Refusal:
        return await self._ask(ApiKey, "DELETE", "/v1/keys/{key}", key=key)

    # Watching.

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
            except (httpx.TransportError, NotReached):
                breaks += 1
                if breaks > self._tries_max:
                    raise
            await self._sleep(min(5.0, 0.2 * 2**breaks))
