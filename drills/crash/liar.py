"""The service without its promise: whoever makes a booking is answered before anything is committed.

For the control of the drill alone: a checker that does not notice this would notice nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.cli.main import main
from holdfast.store.base import Write
from holdfast.store.postgres.store import PostgresTransaction
from holdfast.store.sqlite.store import SqliteTransaction

_NEW = ("insert_bookings", "insert_holds")


def make_lie(kind: Any) -> None:
    """Transactions of this kind that have a new booking in them say that they are committed, and are not."""
    many, finish, commit = kind.many, kind.finish, kind.commit

    async def noting_many(self: Any, name: str, rows: Sequence[Any]) -> int:
        if name in _NEW:
            _lying.add(id(self))
        return int(await many(self, name, rows))

    async def lying_finish(self: Any, seen: Any, writes: Sequence[Write]) -> bool:
        if any(write.name in _NEW for write in writes):
            return True
        return bool(await finish(self, seen, writes))

    async def lying_commit(self: Any) -> None:
        if id(self) not in _lying:
            await commit(self)

    kind.many, kind.finish, kind.commit = noting_many, lying_finish, lying_commit


_lying: set[int] = set()

if __name__ == "__main__":
    make_lie(SqliteTransaction)
    make_lie(PostgresTransaction)
    main()
