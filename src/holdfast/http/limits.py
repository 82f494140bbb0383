"""Limits against floods and hoarding, in this process and bounded in memory.

A bucket fills with so many tokens a second up to its burst; each request takes one. Holds that public keys
made are counted by address and by party while they live, so that a bot cannot take every seat for a while.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, Protocol

from holdfast.clock import from_datetime
from holdfast.core.model import HELD, Instant
from holdfast.core.refusals import Refusal
from holdfast.http.problems import Problem, retry_after
from holdfast.shapes import Booking

if TYPE_CHECKING:
    from holdfast.keys import Access
    from holdfast.library import Holdfast

_NAMES_MAX: Final = 50_000


class Buckets:
    """Token buckets by name. The names not heard of for longest are forgotten first."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, name: Hashable, now: float) -> float:
        """Take a token: 0, or after how many seconds there will be one."""
        if self._rate <= 0:
            return 0.0
        left, at = self._left.pop(name, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._left[name] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > _NAMES_MAX:
            self._left.popitem(last=False)
        return wait

    def empty_for(self, name: Hashable, now: float) -> float:
        """After how many seconds there will be a token again; 0 if there is one. Takes none."""
        if name not in self._left or self._rate <= 0:
            return 0.0
        left, at = self._left[name]
        return max(0.0, (1 - left) / self._rate - (now - at))


def slow_down(wait_s: float) -> Problem:
    seconds = max(1, math.ceil(wait_s))
    detail = f"Too many requests. Ask again in {seconds} s."
    return Problem("too_many_requests", detail, None, {"retry_after_s": seconds}, retry_after(seconds))


class Asker(Protocol):
    """Who asks: from which address, of which org."""

    @property
    def hf(self) -> Holdfast: ...

    @property
    def access(self) -> Access: ...

    @property
    def address(self) -> str: ...


class Hoarding:
    """Live holds that public keys made here, by address and by party."""

    def __init__(self, per_address_max: int, per_party_max: int) -> None:
        self._most = {"address": per_address_max, "party": per_party_max}
        self._holds: OrderedDict[tuple[str, ...], dict[str, Instant]] = OrderedDict()
        self._names: OrderedDict[str, tuple[tuple[str, ...], ...]] = OrderedDict()

    def refusal(self, call: Asker, party: str) -> Refusal | None:
        now = call.hf.clock.now()
        for name in self._names_of(call, party):
            live = {booking: ends for booking, ends in self._holds.get(name, {}).items() if ends > now}
            if name in self._holds:
                self._holds[name] = live
            most = self._most[name[0]]
            if most and len(live) >= most:
                wait = max(1, -(-(min(live.values()) - now) // 1000))
                sentence = f"This {name[0]} has {len(live)} live holds; confirm or cancel one first."
                return Refusal("too_many_requests", sentence, None, {"retry_after_s": wait})
        return None

    def note(self, call: Asker, answer: Any) -> None:
        if not isinstance(answer, Booking) or answer.state != HELD or answer.expires_at is None:
            return
        names = self._names_of(call, answer.party.id)
        for name in names:
            held = self._holds.pop(name, {})
            held[answer.id] = from_datetime(answer.expires_at)
            self._holds[name] = held
        self._names[answer.id] = names
        while len(self._names) > _NAMES_MAX:
            self._drop(next(iter(self._names)))

    def forget(self, answer: Any) -> None:
        """A booking that is no hold any more counts no more."""
        if isinstance(answer, Booking) and answer.state != HELD and answer.id in self._names:
            self._drop(answer.id)

    def _drop(self, booking: str) -> None:
        for name in self._names.pop(booking):
            held = self._holds.get(name)
            if held is not None:
                held.pop(booking, None)
                if not held:
                    del self._holds[name]

    @staticmethod
    def _names_of(call: Asker, party: str) -> tuple[tuple[str, ...], ...]:
        return ("address", call.address), ("party", call.access.org, party)
