"""What can be asked of the service, by the names that the library has for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import httpx2 as httpx
import msgspec

from holdfast.changes import BookingChange, PoolChange
from holdfast.client.accounts import AccountMethods
from holdfast.client.answers import NotReached
from holdfast.client.asking import name_in_path as _name
from holdfast.client.keeping import KeepingMethods
from holdfast.client.messages import MessageMethods
from holdfast.core.model import Party
from holdfast.core.refusals import Refusal
from holdfast.http.offers import OfferShape
from holdfast.http.operations import Page
from holdfast.http.stats import OrgStats
from holdfast.http.units import UnitShape
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
        return await self._ask(PoolState, "POST", "/v1/pools", body, key=idempotency_key)

    async def change_pool(
        self, pool: str, /, *, dry_run: bool = False, idempotency_key: Key = None, **fields: Any
    ) -> PoolState | Outcome | Refusal:
        """Change a pool; a dry run says who would move and who would be told."""
        kind: Any = Outcome if dry_run else PoolState
        query = {"dry_run": "true"} if dry_run else None
        path = f"/v1/pools/{_name(pool)}"
        return await self._ask(kind, "PATCH", path, fields, query=query, key=idempotency_key)

    async def pool(self, pool: str) -> PoolState | Refusal:
        return await self._ask(PoolState, "GET", f"/v1/pools/{_name(pool)}")

    async def pools(self, *, cursor: str = "", limit: int = 100) -> Page[PoolState] | Refusal:
        return await self._ask(Page[PoolState], "GET", "/v1/pools", query={"cursor": cursor, "limit": limit})

    async def add_units(
        self, pool: str, units: Sequence[Mapping[str, Any] | str], *, idempotency_key: Key = None
    ) -> PoolState | Refusal:
        """Open more units."""
        path = f"/v1/pools/{_name(pool)}/units"
        return await self._ask(PoolState, "POST", path, {"units": list(units)}, key=idempotency_key)

    async def units(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[UnitShape] | Refusal:
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[UnitShape], "GET", f"/v1/pools/{_name(pool)}/units", query=query)

    async def close_unit(self, pool: str, label: str, *, idempotency_key: Key = None) -> PoolState | Refusal:
        """Take a free unit away."""
        path = f"/v1/pools/{_name(pool)}/units/{_name(label)}"
        return await self._ask(PoolState, "DELETE", path, key=idempotency_key)

    async def fill(
        self, pool: str, steps: int | None = None, *, idempotency_key: Key = None
    ) -> Outcome | Refusal:
        """Give free room to the line; normally it happens by itself."""
        path = f"/v1/pools/{_name(pool)}/fill"
        return await self._ask(Outcome, "POST", path, {"steps": steps}, key=idempotency_key)

    async def line(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[Booking] | Refusal:
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[Booking], "GET", f"/v1/pools/{_name(pool)}/line", query=query)

    async def log(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[LogEntry] | Refusal:
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[LogEntry], "GET", f"/v1/pools/{_name(pool)}/log", query=query)

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
        return await self._ask(Page[LogEntry], "GET", f"/v1/pools/{_name(pool)}/history", query=query)

    async def numbers(self, pool: str, *, days: int = 14) -> Numbers | Refusal:
        """What the last days of a pool add up to."""
        path = f"/v1/pools/{_name(pool)}/numbers"
        return await self._ask(Numbers, "GET", path, query={"days": days})

    async def stats(self, pool: str) -> Stats | Refusal:
        return await self._ask(Stats, "GET", f"/v1/pools/{_name(pool)}/stats")

    async def org_stats(self) -> OrgStats | Refusal:
        """The figures of the org, over all its pools."""
        return await self._ask(OrgStats, "GET", "/v1/stats")

    async def openings(self, pool: str) -> Page[Opening] | Refusal:
        return await self._ask(Page[Opening], "GET", f"/v1/pools/{_name(pool)}/openings")

    async def resolve(
        self, pool: str, opening: int, action: str, *, idempotency_key: Key = None
    ) -> PoolState | Refusal:
        """Decide on an opening that was handed back: "again", "free" or "close"."""
        path = f"/v1/pools/{_name(pool)}/openings/{opening}/resolve"
        return await self._ask(PoolState, "POST", path, {"action": action}, key=idempotency_key)

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
            "units": list(units),
            "if_full": if_full,
            "price": price,
            "wants": wants,
            "opening": opening,
            "confirmed": confirmed,
            "as_staff": as_staff,
        }
        path = f"/v1/pools/{_name(pool)}/bookings"
        return await self._ask(Booking, "POST", path, body, key=idempotency_key)

    async def booking(self, booking: str) -> Booking | Refusal:
        """A booking by its id, reference or edit token."""
        return await self._ask(Booking, "GET", f"/v1/bookings/{_name(booking)}")

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
        return await self._ask(Page[Explanation], "GET", f"/v1/bookings/{_name(booking)}/explain")

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
        path = f"/v1/bookings/{_name(booking)}"
        body = {"name": name, "contacts": contacts, "locale": locale, "answers": answers}
        return await self._ask(Booking, "PATCH", path, body, key=idempotency_key)

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
        return await self._ask(Booking, "POST", f"/v1/bookings/{_name(booking)}/{act}", body, key=key)

    # Offers.

    async def offer_of(self, token: str) -> OfferShape | Refusal:
        """An offer as its holder sees it; looking at it changes nothing."""
        return await self._ask(OfferShape, "GET", f"/v1/offers/{_name(token)}")

    async def claim(
        self, token: str, quantity: int | None = None, *, idempotency_key: Key = None
    ) -> Booking | Refusal:
        """Take what was offered, by the offer's token."""
        path = f"/v1/offers/{_name(token)}/claim"
        return await self._ask(Booking, "POST", path, {"quantity": quantity}, key=idempotency_key)

    async def decline(self, token_or_booking: str, *, idempotency_key: Key = None) -> Booking | Refusal:
        """Say no to an offer, by its token; or to the live offer of a booking."""
        noun = "offers" if "." in token_or_booking else "bookings"
        path = f"/v1/{noun}/{_name(token_or_booking)}/decline"
        return await self._ask(Booking, "POST", path, {}, key=idempotency_key)

    # Keys.

    async def create_key(self, role: str, name: str, *, idempotency_key: Key = None) -> ApiKey | Refusal:
        body = {"role": role, "name": name}
        return await self._ask(ApiKey, "POST", "/v1/keys", body, key=idempotency_key)

    async def keys(self, *, cursor: str = "", limit: int = 100) -> Page[ApiKey] | Refusal:
        return await self._ask(Page[ApiKey], "GET", "/v1/keys", query={"cursor": cursor, "limit": limit})

    async def revoke_key(self, key: str) -> ApiKey | Refusal:
        return await self._ask(ApiKey, "DELETE", f"/v1/keys/{_name(key)}")

    # Watching.

    async def stream(
        self, *, pool: str | None = None, last_event_id: str = ""
    ) -> AsyncIterator[BookingChange | PoolChange | None]:
        """Bookings and pools as they change, for ever: after a break it goes on where it stopped.

        None says that the break was too long: read the state anew.
        """
        path = "/v1/stream" + (f"?pool={_name(pool)}" if pool else "")
        breaks = 0
        while True:
            headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
            fields: dict[str, str] = {}
            try:
                async for line in self._lines(path, headers):
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
