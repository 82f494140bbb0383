"""Lively random histories through the library, in pools of every kind: nothing is asserted, only done.

The same seed does the same, so what goes wrong can be seen again.
"""

from __future__ import annotations

import random
from typing import Any, Final

from fairhold import Booking, Fairhold, PoolState, granted
from fairhold.clock import to_datetime

HOUR: Final = 3_600_000
SEATS: Final = [f"{row}{seat}" for row in (1, 2) for seat in "ABC"]
IN_PLAY: Final = ("waiting", "offered", "held", "confirmed")


async def make_pools(hf: Fairhold) -> list[str]:
    """One pool of every preset: with units, an open share, priorities, partial claims and hand-back."""
    now = hf.clock.now()
    rows = [{"label": label, "attributes": {"row": label[0]}} for label in SEATS]
    slots = [{"label": f"s{n}", "starts_at": to_datetime(now + n * n * HOUR)} for n in range(1, 9)]
    rules = [
        {"when": {"tag": "honours"}, "add": 5},
        {"when": {"attribute": "credits", "at_least": 90}, "add": 1},
    ]
    pools: list[dict[str, Any]] = [
        {
            "key": "flight",
            "preset": "checkout",
            "quotas": [{"key": "economy", "units": rows}, {"key": "b", "size": 2}],
        },
        {"key": "event", "preset": "event_signup", "quotas": {"a": 2, "b": 1, "free": 0}, "open_size": 2},
        {"key": "yoga", "preset": "class_waitlist", "quotas": {"main": 3}},
        {
            "key": "course",
            "preset": "course_section",
            "quotas": [
                {"key": "all", "size": 2},
                {"key": "honours", "size": 1, "eligible": {"tag": "honours"}},
            ],
            "policy": {"priority_rules": rules, "claim_to": "held"},
        },
        {"key": "salon", "preset": "last_minute", "quotas": [{"key": "chair", "units": slots}]},
        {"key": "spare", "preset": "last_minute", "quotas": {"main": 2}, "policy": {"tries_max": 2}},
    ]
    for pool in pools:
        made = await hf.create_pool(pool["key"], **{name: pool[name] for name in pool if name != "key"})
        assert isinstance(made, PoolState), made
    return [pool["key"] for pool in pools]


class Lively:
    """Does one random thing after another."""

    def __init__(self, hf: Fairhold, pools: list[str], seed: int, parties: int = 30) -> None:
        self.hf = hf
        self.pools = pools
        self.random = random.Random(seed)
        self.parties = parties
        self.done: dict[str, int] = {}

    async def run(self, steps: int) -> None:
        for _ in range(steps):
            await self.step()

    async def step(self) -> None:
        pick = self.random
        what = pick.choices(
            [
                self.book,
                self.answer_offer,
                self.confirm,
                self.cancel,
                self.extend,
                self.move,
                self.put_back,
                self.resize,
                self.change_units,
                self.resolve,
                self.staff_offers,
                self.change_details,
                self.later,
            ],
            [34, 16, 14, 10, 3, 8, 4, 4, 4, 6, 2, 3, 7],
        )[0]
        answer = await what(pick.choice(self.pools))
        if answer is not None and type(answer).__name__ != "Refusal":
            self.done[what.__name__] = self.done.get(what.__name__, 0) + 1

    async def some(self, pool: str, *states: str) -> Booking | None:
        found = [b for state in states for b in granted(await self.hf.bookings(pool, state=state))]
        return self.random.choice(found) if found else None

    async def book(self, pool: str) -> Any:
        pick = self.random
        state = granted(await self.hf.pool(pool))
        quota = pick.choice(state.quotas)
        who = {
            "id": f"party-{pick.randrange(self.parties)}",
            "name": pick.choice(["", "Ann 🙂", "'; DROP TABLE fairhold_pools; --"]),
            "tags": pick.sample(["honours", "member"], pick.randrange(3)),
            "attributes": pick.choice([{}, {"credits": 95}, {"credits": 10}]),
        }
        more: dict[str, Any] = {}
        if quota.by_units and pick.random() < 0.3:
            more["wants"] = {"from_at": to_datetime(self.hf.clock.now() + pick.randrange(1, 20) * HOUR)}
        if pick.random() < 0.2:
            more["price"] = {"amount": pick.randrange(10_000), "currency": "EUR"}
        if pick.random() < 0.4:
            more |= {"confirmed": True, "by": "staff:olga"}
        if pick.random() < 0.3:
            more["idempotency_key"] = f"key-{pick.randrange(200)}"
        quantity = pick.choice([1, 1, 1, 2, 3])
        return await self.hf.book(pool, who, quantity, quota=quota.key, **more)

    async def answer_offer(self, pool: str) -> Any:
        found = await self.some(pool, "offered")
        if found is None:
            return None
        offer = granted(await self.hf.booking(found.id, secret=True)).offer
        assert offer is not None
        if self.random.random() < 0.6:
            return await self.hf.decline(offer.token)
        return await self.hf.claim(offer.token, self.random.choice([None, None, 1]))

    async def confirm(self, pool: str) -> Any:
        found = await self.some(pool, "held", "waiting")
        return found and await self.hf.confirm(found.id)

    async def cancel(self, pool: str) -> Any:
        found = await self.some(pool, *IN_PLAY)
        return found and await self.hf.cancel(found.id, why="because")

    async def extend(self, pool: str) -> Any:
        found = await self.some(pool, "held")
        return found and await self.hf.extend(found.id)

    async def move(self, pool: str) -> Any:
        line = granted(await self.hf.line(pool))
        if len(line) < 2:
            return None
        one, other = self.random.sample(line, 2)
        to = self.random.choice(["front", "back", "after"])
        if to == "after":
            return await self.hf.move(one.id, after=other.id, why="moved")
        return await self.hf.move(one.id, to)

    async def put_back(self, pool: str) -> Any:
        found = await self.some(pool, "cancelled", "declined", "expired", "closed")
        return found and await self.hf.put_back(found.id, why="by mistake")

    async def resize(self, pool: str) -> Any:
        state = granted(await self.hf.pool(pool))
        sizes = {quota.key: self.random.randrange(4) for quota in state.quotas if not quota.by_units}
        open_size = self.random.randrange(3) if pool == "event" else 0
        allow = self.random.random() < 0.7
        return await self.hf.change_pool(pool, sizes=sizes, open_size=open_size, allow_demotion=allow)

    async def change_units(self, pool: str) -> Any:
        state = granted(await self.hf.pool(pool))
        quotas = [quota.key for quota in state.quotas if quota.by_units]
        if not quotas:
            return None
        label = self.random.choice([*SEATS, *(f"s{n}" for n in range(2, 8))])
        if self.random.random() < 0.3:
            return await self.hf.close_unit(pool, label)
        starts_at = to_datetime(self.hf.clock.now() + self.random.randrange(1, 60) * HOUR)
        return await self.hf.add_units(pool, [{"label": label, "quota": quotas[0], "starts_at": starts_at}])

    async def resolve(self, pool: str) -> Any:
        """Decide on what came back; or give it to somebody."""
        entries = granted(await self.hf.log(pool, limit=1_000))
        back = [entry.facts for entry in entries if entry.event == "HandedBack"]
        if not back:
            return None
        opening = self.random.choice(back[-3:])["opening"]
        if self.random.random() < 0.3:
            quota = granted(await self.hf.pool(pool)).quotas[0].key
            who = f"guest-{self.random.randrange(self.parties)}"
            return await self.hf.book(pool, who, quota=quota, opening=opening, by="staff:olga")
        return await self.hf.resolve(pool, opening, self.random.choice(["again", "free", "close"]))

    async def staff_offers(self, pool: str) -> Any:
        found = await self.some(pool, "waiting")
        return found and await self.hf.offer(found.id, why="a favour")

    async def change_details(self, pool: str) -> Any:
        found = await self.some(pool, *IN_PLAY)
        said = {"diet": self.random.choice(["vegan", "'; DROP TABLE fairhold_pools; --"])}
        return found and await self.hf.change_booking(found.id, answers=said)

    async def later(self, pool: str) -> Any:
        minutes = self.random.choices([1, 5, 11, 20, 300, 1_500], [20, 20, 30, 10, 3, 3])[0]
        await self.hf.advance(seconds=60 * minutes)
        return True


async def stage(hf: Fairhold) -> None:
    """A small database with something of everything.

    flight: 1 held 1A, 2 confirmed 1B, 3 cancelled. yoga: 1 cancelled, 2 offered, 3 and 4 waiting; the log is
    PoolCreated, Held, 3 Joined, Cancelled, OpeningStarted, Offered. event: 1 and 2 confirmed, 3 waiting.
    late: 1 waiting for the end of its cooldown, with a seat free.
    """
    await hf.create_pool(
        "flight", preset="checkout", quotas=[{"key": "economy", "units": ["1A", "1B", "1C"]}]
    )
    await hf.book("flight", "ann", units=["1A"], idempotency_key="once")
    await hf.book("flight", "bea", units=["1B"], confirmed=True, by="staff")
    cyd = await hf.book("flight", "cyd")
    await hf.cancel(granted(cyd).id)
    await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1})
    olga = await hf.book("yoga", "olga", confirmed=True, by="staff")
    for who in ("ann", "bea", "cyd"):
        await hf.book("yoga", who)
    await hf.cancel(granted(olga).id)
    await hf.create_pool("event", preset="event_signup", quotas={"a": 1}, open_size=1)
    for who in ("ann", "bea"):
        await hf.book("event", who, confirmed=True, by="staff")
    await hf.book("event", "cyd")
    await hf.create_pool("late", preset="class_waitlist", quotas={"main": 1})
    first = await hf.book("late", "olga")
    ann = await hf.book("late", "ann")
    await hf.cancel(granted(first).id)
    await hf.decline(granted(ann).id)
