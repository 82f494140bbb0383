"""What staff ask for, by dice: about the line, about what came back, and about a pool as a whole."""

from __future__ import annotations

from typing import Any

from fairhold.clock import to_datetime
from sim.asking import Asking
from sim.pools import BY_UNITS, HOUR

_STAFF = "staff:olga"


class Staff(Asking):
    async def act_as_staff(self, pool: str) -> None:
        acts = [
            *(self._move, self._put_back, self._give_offer, self._resolve, self._resize),
            *(self._status, self._open_unit, self._close_unit, self._look),
        ]
        # In the big one there is little for them to do.
        pool = self._dice.choice(list(self._pools)) if pool == "concert" else pool
        await self._dice.choices(acts, [20, 12, 12, 16, 12, 3, 12, 6, 6])[0](pool)

    async def _move(self, pool: str) -> None:
        if name := await self._in_line(pool):
            to, after = self._dice.choice(["front", "back"]), None
            if self._dice.random() < 0.3:
                after = self._some(pool)
            await self._ask(
                "move",
                pool,
                {"booking": name},
                lambda hf, key: hf.move(name, to, after=after, why="asked", idempotency_key=key),
            )

    async def _in_line(self, pool: str) -> str | None:
        line = await self._look_at(lambda hf: hf.line(pool))
        return self._dice.choice(line).id if line else self._some(pool)

    async def _put_back(self, pool: str) -> None:
        if name := self._some(pool):
            facts = {"booking": name}
            await self._ask(
                "put back", pool, facts, lambda hf, key: hf.put_back(name, why="asked", idempotency_key=key)
            )

    async def _give_offer(self, pool: str) -> None:
        if name := await self._in_line(pool):
            opening = await self._came_back(pool) if self._dice.random() < 0.7 else None
            await self._ask(
                "offer",
                pool,
                {"booking": name},
                lambda hf, key: hf.offer(
                    name, why="asked", opening=opening and opening.number, by=_STAFF, idempotency_key=key
                ),
            )

    async def _resize(self, pool: str) -> None:
        sizes = {quota: self._dice.randrange(5) for quota in self._pools[pool] if quota not in BY_UNITS}
        if sizes:
            allow = self._dice.random() < 0.7
            await self._ask(
                "resize",
                pool,
                {"sizes": sizes},
                lambda hf, key: hf.change_pool(pool, sizes=sizes, allow_demotion=allow, idempotency_key=key),
            )

    async def _status(self, pool: str) -> None:
        """Somebody pauses or closes a pool, and soon somebody opens it again."""
        now = await self._status_of(pool)
        if now is not None:
            ways = ["paused", "paused", "paused", "closed"]
            to = self._dice.choice(ways) if now == "open" else "open"
            await self._ask(
                "status",
                pool,
                {"status": to},
                lambda hf, key: hf.change_pool(pool, status=to, by=_STAFF, idempotency_key=key),
            )

    async def _status_of(self, pool: str) -> Any:
        found = await self._look_at(lambda hf: hf.pool(pool))
        return found and found.status

    async def reopen(self) -> None:
        """What is not open is opened, sooner or later."""
        for pool in self._pools:
            if await self._status_of(pool) not in (None, "open"):
                await self._status(pool)

    async def _came_back(self, pool: str) -> Any:
        openings = await self._look_at(lambda hf: hf.openings(pool)) or []
        waiting = [it for it in openings if it.state == "handed_back"]
        return self._dice.choice(waiting) if waiting else None

    async def _resolve(self, pool: str) -> None:
        """Somebody decides on what came back: on this, or on what is there no longer."""
        opening = await self._came_back(pool)
        number = opening.number if opening else self._dice.randrange(1, 12)
        if opening and self._dice.random() < 0.3:
            await self._give_away(pool, opening)
            return
        how = self._dice.choice(["again", "free", "close"])
        await self._ask(
            "resolve",
            pool,
            {"opening": number},
            lambda hf, key: hf.resolve(pool, number, how, by=_STAFF, idempotency_key=key),
        )

    async def _give_away(self, pool: str, opening: Any) -> None:
        """What came back goes to somebody who happens to stand at the desk."""
        party = f"party-{self._dice.randrange(40)}"
        facts = {"party": party, "quota": opening.quota, "quantity": 1}
        granted = await self._ask(
            "book",
            pool,
            facts,
            lambda hf, key: hf.book(
                pool, party, quota=opening.quota, opening=opening.number, by=_STAFF, idempotency_key=key
            ),
        )
        if granted is not None:
            self._known[pool].append(granted["id"])

    async def _open_unit(self, pool: str) -> None:
        if quotas := [quota for quota in self._pools[pool] if quota in BY_UNITS]:
            label = self._label(quotas[0])
            unit: dict[str, Any] = {"label": label, "quota": quotas[0], "attributes": {"row": label[0]}}
            if quotas[0] == "chair":
                unit["starts_at"] = to_datetime(self._clock.now() + self._dice.randrange(1, 12) * HOUR)
            await self._ask(
                "open unit",
                pool,
                {"unit": label},
                lambda hf, key: hf.add_units(pool, [unit], by=_STAFF, idempotency_key=key),
            )

    async def _close_unit(self, pool: str) -> None:
        if quotas := [quota for quota in self._pools[pool] if quota in BY_UNITS]:
            label = self._label(quotas[0])
            await self._ask(
                "close unit",
                pool,
                {"unit": label},
                lambda hf, key: hf.close_unit(pool, label, by=_STAFF, idempotency_key=key),
            )

    async def _look(self, pool: str) -> None:
        """Reads change nothing, and what they say fits together."""
        line = await self._look_at(lambda hf: hf.line(pool))
        if line is not None:
            positions = [it.position for it in line]
            if positions != list(range(1, len(line) + 1)):
                self.wrong.append(f"contiguous: a look at {pool} shows the positions {positions}")
