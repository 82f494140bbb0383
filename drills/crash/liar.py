"""The service without its promise: some are answered before anything is committed, and then nothing is.

For the control of the drill alone: a checker that does not notice this would notice nothing. The last word of
the command line says whom it lies to: the kinds of entries that never come to the log, with commas.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from fairhold.cli.main import main
from fairhold.store.postgres.store import PostgresStore, PostgresTransaction
from fairhold.store.sqlite.transaction import SqliteTransaction

_KIND = 3


def make_lie(transaction: Any, about: frozenset[str]) -> None:
    """Transactions with such an entry in them say that they are committed, and are not."""
    many, commit = transaction.many, transaction.commit

    def lies(name: str, rows: Sequence[Any]) -> bool:
        return name == "insert_log" and any(row[_KIND] in about for row in rows)

    async def noting_many(self: Any, name: str, rows: Sequence[Any]) -> int:
        if lies(name, rows):
            _lying.add(id(self))
        return int(await many(self, name, rows))

    async def lying_commit(self: Any) -> None:
        if id(self) in _lying:
            _lying.discard(id(self))
            await self.rollback()
        else:
            await commit(self)

    transaction.many, transaction.commit = noting_many, lying_commit


_lying: set[int] = set()

if __name__ == "__main__":
    kinds = frozenset(sys.argv.pop().split(","))
    make_lie(SqliteTransaction, kinds)
    make_lie(PostgresTransaction, kinds)
    # One statement for a whole batch could not be looked into.
    PostgresStore.batch_statement = lambda *_: None  # type: ignore[method-assign]
    main()
