"""Limits against floods, in this process and bounded in memory. (Those against hoarding: see `hoarding`.)

A bucket fills with so many tokens a second up to its burst; each request takes one.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

from fairhold.http.problems import Problem, later

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
        # Who waited for the database before taking one brings an instant that others have left behind.
        now = max(now, at)
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

    def give_back(self, name: Hashable) -> None:
        """Put a token back that was taken for nothing."""
        if name in self._left:
            left, at = self._left[name]
            self._left[name] = (min(self._burst, left + 1), at)


def slow_down(wait_s: float) -> Problem:
    seconds = max(1, math.ceil(wait_s))
    detail = f"Too many requests. Ask again in {seconds} s."
    return later("too_many_requests", detail, seconds=seconds)


@lru_cache(10_000)
def whose(address: str) -> str:
    """Whom an address stands for: with IPv6 everybody has a whole network, and may ask from all over it."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    return str(found.ipv4_mapped or IPv6Network((int(found) >> 64 << 64, 64)))
