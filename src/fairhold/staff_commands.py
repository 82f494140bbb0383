"""What staff ask of the library: make and change pools, open and close units, move, offer, resolve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from fairhold import command_words, ids, inputs
from fairhold.answers import digest_of
from fairhold.core import commands as c
from fairhold.core import policy as policies
from fairhold.core.model import Pool
from fairhold.core.refusals import Refusal, unknown
from fairhold.door import Door
from fairhold.shapes import Booking, Outcome, PoolState


class StaffCommands(Door):
    """The commands of staff."""

    async def create_pool(
        self,
        key: str,
        /,
        *,
        preset: str | None = None,
        policy: Mapping[str, Any] | None = None,
        quotas: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        units: Sequence[Mapping[str, Any] | str] = (),
        by: str = "staff",
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> PoolState | Refusal:
        """Make a pool. Without a preset it is `checkout`, which has no line: who finds it full is refused.

        `quotas` is a mapping of key to size (None is unlimited) or to a list of labels, whose units it then
        has; or a list of objects with key, title, size or units, and eligible (a condition). More fields:
        title, opens_at, closes_at, starts_at, time_zone, price, open_size, questions, attributes, status,
        and page: whether people can sign up at its page, which those of `checkout` have only if asked.
        """
        try:
            if not inputs.KEY.fullmatch(inputs.text(key, "key", 100)):
                raise inputs.Bad(
                    "key", "A key has small letters, digits, - and _, and starts with one of the former."
                )
            made, listed = inputs.pool_fields({**fields, "quotas": quotas}, with_policy=False)
            command_words.who(by)
            if preset is not None:
                inputs.text(preset, "preset")
            rules = policies.make(preset, inputs.mapping(policy or {}, "policy"))
            if isinstance(rules, Refusal):
                return rules
            listed += inputs.units(units, made["quotas"][0].key)
        except inputs.Bad as bad:
            return bad.refusal
        pool = Pool(
            id=ids.new_pool_id(),
            org=self.org,
            key=key,
            policy=rules,
            **{"title": key, "page": policies.has_page(preset), **made},
        )
        command = c.CreatePool(pool, tuple(listed), by)
        digest = digest_of(0, c.CreatePool(_unnamed(pool), tuple(listed), by))
        return cast(
            "PoolState | Refusal", await self.submit(pool.id, command, idempotency_key, digest=digest)
        )

    async def change_pool(
        self,
        pool: str,
        /,
        *,
        sizes: Mapping[str, int | None] | None = None,
        allow_demotion: bool = False,
        why: str = "",
        by: str = "staff",
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> PoolState | Outcome | Refusal:
        """Change a pool's fields, its policy among them, or the sizes of its quotas by key.

        What is not said stays. `status` is open, paused, closed or cancelled. A dry run says who would move.
        """
        pool_id = await self._pool_id(pool)
        if pool_id is None:
            return unknown("pool", pool)
        try:
            made, listed = inputs.pool_fields(fields, with_policy=True)
            if listed:
                raise inputs.Bad("quotas", "Open more units by add_units; here a list of units stays empty.")
            inputs.flag(dry_run, "dry_run")
            for key, size in inputs.mapping(sizes or {}, "sizes").items():
                if size is not None:
                    inputs.whole(size, f"sizes.{key}", most=10_000_000)
                twice = [it for it in made.get("quotas", ()) if it.key == key and not it.by_units]
                if twice and twice[0].size != size:
                    raise inputs.Bad(f"sizes.{key}", f"sizes.{key} must be what quotas say of it.")
        except inputs.Bad as bad:
            return bad.refusal
        command = c.ChangePool(made, dict(sizes or {}), allow_demotion, why, by)
        answer = await self.submit(pool_id, command, idempotency_key, dry_run=dry_run)
        return cast("PoolState | Outcome | Refusal", answer)

    async def add_units(
        self,
        pool: str,
        units: Sequence[Mapping[str, Any] | str],
        *,
        by: str = "staff",
        idempotency_key: str | None = None,
    ) -> PoolState | Refusal:
        """Open more units."""
        pool_id = await self._pool_id(pool)
        if pool_id is None:
            return unknown("pool", pool)
        try:
            listed = inputs.units(units)
        except inputs.Bad as bad:
            return bad.refusal
        command = c.AddUnits(tuple(listed), by)
        return cast("PoolState | Refusal", await self.submit(pool_id, command, idempotency_key))

    async def close_unit(
        self, pool: str, label: str, *, by: str = "staff", idempotency_key: str | None = None
    ) -> PoolState | Refusal:
        """Take a free unit away."""
        answer = await self._on_pool(pool, c.CloseUnit(label, by), idempotency_key)
        return cast("PoolState | Refusal", answer)

    async def resolve(
        self,
        pool: str,
        opening: int,
        action: str,
        *,
        by: str = "staff",
        idempotency_key: str | None = None,
    ) -> PoolState | Refusal:
        """Decide on a handed-back opening: offer it "again", leave it "free", or "close" it."""
        answer = await self._on_pool(pool, c.Resolve(opening, action, by), idempotency_key)
        return cast("PoolState | Refusal", answer)

    async def fill(
        self,
        pool: str,
        steps: int | None = None,
        *,
        by: str = "staff",
        idempotency_key: str | None = None,
    ) -> Outcome | Refusal:
        """Give free room to the line; normally it happens by itself."""
        return cast("Outcome | Refusal", await self._on_pool(pool, c.Fill(steps, by), idempotency_key))

    async def offer(
        self,
        booking: str,
        *,
        why: str = "",
        opening: int | None = None,
        by: str = "staff",
        idempotency_key: str | None = None,
    ) -> Booking | Refusal:
        """Offer free room to one waiting booking now, out of turn; or seats of an opening handed back."""
        return await self._on_booking(
            booking, lambda number: c.GiveOffer(number, why, opening, by), idempotency_key
        )

    async def move(
        self,
        booking: str,
        to: str = "front",
        *,
        after: str | None = None,
        why: str = "",
        by: str = "staff",
        idempotency_key: str | None = None,
    ) -> Booking | Refusal:
        """Move a waiting booking to the "front", the "back", or after another."""
        other = None
        if after is not None:
            found = await self.reads.booking_key(after, self.org)
            if isinstance(found, Refusal):
                return found
            to, other = "after", found[1]
            mine = await self.reads.booking_key(booking, self.org)
            if not isinstance(mine, Refusal) and mine[0] != found[0]:
                return unknown("booking", after)
        return await self._on_booking(
            booking, lambda number: c.Move(number, to, other, why, by), idempotency_key
        )

    async def put_back(
        self,
        booking: str,
        *,
        why: str = "",
        by: str = "staff",
        idempotency_key: str | None = None,
    ) -> Booking | Refusal:
        """Undo the end of a booking: it gets its seats again if they are free, or waits where it did."""
        return await self._on_booking(booking, lambda number: c.PutBack(number, why, by), idempotency_key)


def _unnamed(pool: Pool) -> Pool:
    """The pool without its id: a request made again has another one."""
    return replace(pool, id=0)
