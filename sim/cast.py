"""What people ask for, by dice."""

from __future__ import annotations

import asyncio
from typing import Any

from fairhold.clock import to_datetime
from sim.pools import BY_UNITS, HOUR
from sim.staff import Staff


class Cast(Staff):
    async def act(self) -> None:
        """Somebody does something."""
        # The big one is where everybody is, and where much is decided at once.
        pool = "concert" if self._dice.random() < 0.3 else self._dice.choice(list(self._pools))
        acts = [
            *(self._book, self._confirm, self._cancel, self._extend),
            *(self._change, self._answer, self.act_as_staff),
        ]
        await self._dice.choices(acts, [45, 16, 10, 8, 3, 18, 12])[0](pool)

    async def rush(self) -> None:
        """Many come to the big one at once, and go on as soon as they are answered: batch follows batch."""
        acts, weights = (self._book, self._confirm, self._cancel, self._extend), (60, 20, 12, 8)

        async def one() -> None:
            for act in self._dice.choices(acts, weights, k=4):
                await act("concert")

        await asyncio.gather(*(one() for _ in range(self._dice.choice([10, 40, 100]))))

    async def _book(self, pool: str) -> None:
        dice = self._dice
        quota = dice.choice(self._pools[pool])
        party = f"party-{dice.randrange(5_000 if pool == 'concert' else 40)}"
        who = {
            "id": party,
            "contacts": {"email": f"{party}@example.org"},
            "tags": dice.sample(["honours", "member"], dice.randrange(3)),
            "attributes": dice.choice([{}, {"credits": 95}, {"credits": 10}]),
        }
        quantity = dice.choice([1, 1, 1, 1, 2, 3])
        more: dict[str, Any] = {"confirmed": True, "by": "staff:olga"} if dice.random() < 0.1 else {}
        if dice.random() < 0.1:
            more["if_full"] = dice.choice(["refuse", "wait"])
        if quantity == 1 and not more:
            # By a page one hears from the channels alone.
            more["door"] = dice.choice(["library", "page"])
        if quota in BY_UNITS:
            more |= self._wishes(quota, quantity)
        facts = {"party": party, "quota": quota, "quantity": quantity}
        granted = await self._ask(
            "book",
            pool,
            facts,
            lambda hf, key: hf.book(pool, who, quantity, quota=quota, idempotency_key=key, **more),
        )
        if granted is not None:
            self._known[pool].append(granted["id"])

    def _wishes(self, quota: str, quantity: int) -> dict[str, Any]:
        """Some know which they want, some only what kind, and some take any."""
        dice = self._dice
        wish = dice.random()
        if wish < 0.25:
            return {"units": [self._label(quota) for _ in range(quantity)]}
        if wish < 0.5 and quota == "chair":
            begins = self._clock.now() + dice.randrange(6) * HOUR
            return {"wants": {"from_at": to_datetime(begins), "until_at": to_datetime(begins + 3 * HOUR)}}
        if wish < 0.5:
            return {"wants": {"attributes": {"attribute": "row", "is": dice.choice(["a", "b"])}}}
        return {}

    async def _confirm(self, pool: str) -> None:
        if name := self._some(pool):
            await self._ask(
                "confirm", pool, {"booking": name}, lambda hf, key: hf.confirm(name, idempotency_key=key)
            )

    async def _cancel(self, pool: str) -> None:
        if name := self._some(pool):
            await self._ask(
                "cancel", pool, {"booking": name}, lambda hf, key: hf.cancel(name, idempotency_key=key)
            )

    async def _extend(self, pool: str) -> None:
        if known := self._known[pool]:
            # Whoever booked a while ago has confirmed, or has lost it.
            name = self._dice.choice(known[-4:])
            await self._ask(
                "extend", pool, {"booking": name}, lambda hf, key: hf.extend(name, idempotency_key=key)
            )

    async def _change(self, pool: str) -> None:
        """Somebody has another name from now on, which nobody had before."""
        if name := self._some(pool):
            called = f"name {len(self.asked)}"
            await self._ask(
                "change",
                pool,
                {"booking": name},
                lambda hf, key: hf.change_booking(name, name=called, idempotency_key=key),
            )

    async def _answer(self, pool: str) -> None:
        """Somebody follows a link, old or new, and maybe twice."""
        if not self.links:
            return
        pool, token = self._dice.choice(self.links[-20:])
        facts = {"token": token}
        if self._dice.random() < 0.4:
            await self._ask("decline", pool, facts, lambda hf, key: hf.decline(token, idempotency_key=key))
        else:
            part = self._dice.choice([None, None, 1])
            await self._ask("claim", pool, facts, lambda hf, key: hf.claim(token, part, idempotency_key=key))
