"""What can be asked about bookings and offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhold.client.asking import Asking
from fairhold.core.model import Party
from fairhold.core.refusals import Refusal
from fairhold.http.offers import OfferShape
from fairhold.http.operations import Page
from fairhold.shapes import Booking, Explanation

Key = str | None


class BookingMethods(Asking):
    """Bookings and offers."""

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
        told_by_staff: bool | None = None,
        idempotency_key: Key = None,
    ) -> Booking | Refusal:
        """Change the name, contacts, locale or answers of a booking.

        `told_by_staff`: you tell this party of offers yourself, whatever channels there are; False takes that
        back.
        """
        path = "/v1/bookings/{booking}"
        body: dict[str, Any] = {"name": name, "contacts": contacts, "locale": locale, "answers": answers}
        body["told_by_staff"] = told_by_staff
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
