"""Attempts at signing in, kept few: by account and address, by account, and by address.

Who signs in gets the attempt back, so only what fails counts. They are counted in this process: where several
serve, there are as many times more. At one address an account soon has to wait for long; from all addresses
together only shortly, so that nobody can lock others out of theirs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Final

from holdfast.core.model import Instant
from holdfast.errors import HoldfastError
from holdfast.http.limits import Buckets, slow_down, whose

# So many at once, and then one in so many seconds.
_BY_BOTH: Final = (5, 60)
_BY_ACCOUNT: Final = (30, 10)
_BY_ADDRESS: Final = (50, 2)
# The same for what is begun: challenges, which the database keeps, and ways to a provider.
_BEGUN: Final = (50, 2)


class Attempt:
    """One try. Unless it is said to be good, it counts."""

    good = False


class Attempts:
    """The tries of late."""

    def __init__(self) -> None:
        self._both, self._accounts, self._addresses, self._begun = (
            Buckets(1 / every_s, burst) for burst, every_s in (_BY_BOTH, _BY_ACCOUNT, _BY_ADDRESS, _BEGUN)
        )

    def begin(self, address: str, now: Instant) -> None:
        """Somebody begins to sign in another way than by password. Raises a Problem if they did too often."""
        if wait := self._begun.take(whose(address), now / 1000):
            raise slow_down(wait)

    @contextmanager
    def attempt(self, account: Hashable, address: str, now: Instant) -> Iterator[Attempt]:
        """Raises a Problem if there were too many. It is counted first: many at once are many."""
        at, source = now / 1000, whose(address)
        names = ((self._both, (account, source)), (self._accounts, account), (self._addresses, source))
        if wait := max(buckets.empty_for(name, at) for buckets, name in names):
            raise slow_down(wait)
        for buckets, name in names:
            buckets.take(name, at)
        tried = Attempt()
        try:
            yield tried
        except HoldfastError:
            # The database could not be asked: nobody has tried anything.
            tried.good = True
            raise
        finally:
            if tried.good:
                for buckets, name in names:
                    buckets.give_back(name)
