"""What people ask of the library: book, confirm, cancel, extend, claim, decline, change their details."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fairhold import inputs, tokens
from fairhold.core import commands as c
from fairhold.core.model import LIBRARY, Party, Price, Wants
from fairhold.core.policy import LENGTH_MAX
from fairhold.core.refusals import Refusal, unknown
from fairhold.door import Door
from fairhold.engine.limits import Source, wrong_source
from fairhold.shapes import Booking


class PeopleCommands(Door):
    """The commands of people."""

    async def book(
        self,
        pool: str,
        party: Party | Mapping[str, Any] | str,
        quantity: int = 1,
        *,
        quota: str | None = None,
        units: Sequence[str] = (),
        if_full: str | None = None,
        price: Price | Mapping[str, Any] | None = None,
        wants: Wants | Mapping[str, Any] | None = None,
        opening: int | None = None,
        confirmed: bool = False,
        by: str = "party",
        idempotency_key: str | None = None,
        source: Source | None = None,
        door: str = LIBRARY,
    ) -> Booking | Refusal:
        """Ask for seats: held when there is room and nobody waits for it, else a place in line.

        With a `source`, the live holds that came from there are limited. `door` is kept with the booking: who
        comes by a "page" or a "public_key" is not staff, and gets no more than `party_quantity_max`.
        """
        pool_id = self._known_pool(pool) or await self._pool_id(pool)
        if pool_id is None:
            return unknown("pool", pool)
        if source is not None and (refused := wrong_source(source)):
            return refused
        try:
            command = c.Book(
                inputs.party(party),
                quantity,
                quota,
                inputs.labels(units) if units else (),
                if_full,
                None if price is None else inputs.price(price),
                None if wants is None else inputs.wants(wants),
                opening,
                confirmed,
                by,
                inputs.door(door),
            )
        except inputs.Bad as bad:
            return bad.refusal
        return cast("Booking | Refusal", await self.submit(pool_id, command, idempotency_key, source=source))

    async def confirm(
        self,
        booking: str,
        *,
        by: str = "party",
        idempotency_key: str | None = None,
        door: str = LIBRARY,
    ) -> Booking | Refusal:
        """Make a held booking final. By the `door` of a "page" or a "public_key", only where parties may."""
        try:
            inputs.door(door)
        except inputs.Bad as bad:
            return bad.refusal
        return await self._on_booking(booking, lambda number: c.Confirm(number, by, door), idempotency_key)

    async def cancel(
        self, booking: str, *, why: str = "", by: str = "party", idempotency_key: str | None = None
    ) -> Booking | Refusal:
        """Give a booking back, or leave the line."""
        return await self._on_booking(booking, lambda number: c.Cancel(number, why, by), idempotency_key)

    async def extend(
        self,
        booking: str,
        window_s: int | None = None,
        *,
        by: str = "party",
        idempotency_key: str | None = None,
    ) -> Booking | Refusal:
        """Give a hold more time."""
        try:
            most = LENGTH_MAX // 1000
            window = None if window_s is None else inputs.whole(window_s, "window_s", 1, most) * 1000
        except inputs.Bad as bad:
            return bad.refusal
        return await self._on_booking(booking, lambda number: c.Extend(number, window, by), idempotency_key)

    async def change_booking(
        self,
        booking: str,
        *,
        name: str | None = None,
        contacts: Mapping[str, str] | None = None,
        locale: str | None = None,
        answers: Mapping[str, Any] | None = None,
        told_by_staff: bool | None = None,
        by: str = "party",
        idempotency_key: str | None = None,
    ) -> Booking | Refusal:
        """Change a booking's name, contacts, locale or answers; what is not said stays.

        `told_by_staff`: you tell this party of offers yourself, whatever channels there are; False takes that
        back.
        """
        try:
            details = inputs.details(name, contacts, locale, answers)
            told = None if told_by_staff is None else inputs.flag(told_by_staff, "told_by_staff")
        except inputs.Bad as bad:
            return bad.refusal
        return await self._on_booking(
            booking, lambda number: c.ChangeBooking(number, *details, by, told), idempotency_key
        )

    async def claim(
        self,
        token: str,
        quantity: int | None = None,
        *,
        by: str = "party",
        idempotency_key: str | None = None,
    ) -> Booking | Refusal:
        """Take what was offered, by the offer's token."""
        return await self._on_offer(
            token, lambda number, seq: c.Claim(number, seq, quantity, by), idempotency_key
        )

    async def decline(
        self, token_or_booking: str, *, by: str = "party", idempotency_key: str | None = None
    ) -> Booking | Refusal:
        """Say no to an offer, by its token; or to the live offer of a booking."""
        if tokens.is_for_an_offer(token_or_booking):
            return await self._on_offer(
                token_or_booking, lambda number, seq: c.Decline(number, seq, by), idempotency_key
            )
        return await self._on_booking(
            token_or_booking, lambda number: c.Decline(number, None, by), idempotency_key
        )
