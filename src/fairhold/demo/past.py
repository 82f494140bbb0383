"""What happened before now: acts of people and staff at their instants, of all pools in one order.

A past is written a line each, so that anyone can read and change it:

    11d 20h   sign   Dan, Eve       Dan signs up and confirms, and Eve some minutes later
     9d       cancel Hal            so long ago
    12m       book   Ann*2          two seats, held and not confirmed
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from fairhold.core.model import Instant
from fairhold.demo.cast import MEMBER, party
from fairhold.library import Fairhold, granted

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
STAFF: Final = f"staff:{MEMBER[1]}"
_BETWEEN: Final = 7 * MINUTE
_TO_CONFIRM: Final = 3 * MINUTE
_LENGTHS: Final = {"d": DAY, "h": HOUR, "m": MINUTE}
_LINE: Final = re.compile(r"\s*((?:\d+[dhm] )*\d+[dhm])\s+(\w+)\s*(.*)")
_ONE: Final = re.compile(r"(\w+)(?:\*(\d+))?(?:@(\w+))?(?:=([\w :]+))?(?: \((.*)\))?")

Act = Callable[[Fairhold], Awaitable[Any]]


class Somebody(NamedTuple):
    """A person in a line of the past: how many seats, in which quota, which unit, and why."""

    name: str
    quantity: int
    quota: str | None
    unit: str | None
    why: str


class Past:
    """The acts of all pools; `live` does them one after the other."""

    def __init__(self, now: Instant) -> None:
        self.now = now
        self._acts: list[tuple[Instant, Act]] = []

    def ago(self, length: str) -> Instant:
        """An instant, by how long ago it was: 2d 3h."""
        return self.now - sum(_LENGTHS[part[-1]] * int(part[:-1]) for part in length.split())

    def note(self, at: Instant, act: Act) -> None:
        self._acts.append((at, act))

    @property
    def begins_at(self) -> Instant:
        return min(at for at, _ in self._acts)

    async def live(self, hf: Fairhold) -> None:
        """Let it all happen, and on the way whatever falls due."""
        for at, act in sorted(self._acts, key=lambda it: it[0]):
            await hf.advance(at)
            await act(hf)
        await hf.advance(self.now)


class Life:
    """The past of one pool."""

    def __init__(self, past: Past, key: str, answers: dict[str, Any]) -> None:
        self._past = past
        self._key = key
        self._answers = answers
        self._bookings: dict[str, str] = {}

    def made(self, ago: str, **fields: Any) -> None:
        async def act(hf: Fairhold) -> None:
            granted(await hf.create_pool(self._key, by=STAFF, **fields))

        self._past.note(self._past.ago(ago), act)

    def opens(self, ago: str, *units: dict[str, Any]) -> None:
        async def act(hf: Fairhold) -> None:
            granted(await hf.add_units(self._key, list(units), by=STAFF))

        self._past.note(self._past.ago(ago), act)

    def lived(self, story: str, **wants: dict[str, Any]) -> None:
        """What people and staff did, as it is written."""
        for line in filter(str.strip, story.splitlines()):
            found = _LINE.fullmatch(line)
            assert found, f"a line of the past cannot be read: {line!r}"
            ago, verb, people = found.groups()
            for index, one in enumerate(people.split(", ")):
                self._note(self._past.ago(ago) + index * _BETWEEN, verb, _somebody(one), wants)

    def _note(self, at: Instant, verb: str, who: Somebody, wants: dict[str, Any]) -> None:
        if verb in ("book", "sign"):
            self._past.note(at, lambda hf: self._book(hf, who, wants.get(who.name)))
        else:
            self._past.note(at, lambda hf: self._acts(hf, verb, who))
        if verb == "sign":
            self._past.note(at + _TO_CONFIRM, lambda hf: self._confirm(hf, who))

    async def _book(self, hf: Fairhold, who: Somebody, wants: Any) -> None:
        units = [who.unit] if who.unit else ()
        answer = await hf.book(
            self._key, party(who.name), who.quantity, quota=who.quota, units=units, wants=wants
        )
        self._bookings[who.name] = granted(answer).id

    async def _confirm(self, hf: Fairhold, who: Somebody) -> None:
        booking = self._bookings[who.name]
        if self._answers:
            granted(await hf.change_booking(booking, answers=self._answers))
        granted(await hf.confirm(booking))

    async def _acts(self, hf: Fairhold, verb: str, who: Somebody) -> None:
        booking = self._bookings[who.name]
        if verb == "claim":
            offer = granted(await hf.booking(booking, secret=True)).offer
            assert offer is not None, f"{who.name} has no offer in {self._key}"
            granted(await hf.claim(offer.token))
        elif verb == "move":
            granted(await hf.move(booking, "front", why=who.why, by=STAFF))
        elif verb == "dismiss":
            granted(await hf.cancel(booking, why=who.why, by=STAFF))
        else:
            act: Mapping[str, Callable[[str], Awaitable[Any]]]
            act = {"confirm": hf.confirm, "cancel": hf.cancel, "decline": hf.decline, "extend": hf.extend}
            granted(await act[verb](booking))


def _somebody(text: str) -> Somebody:
    found = _ONE.fullmatch(text.strip())
    assert found, f"this is nobody: {text!r}"
    name, quantity, quota, unit, why = found.groups()
    return Somebody(name, int(quantity or 1), quota, unit, why or "")
