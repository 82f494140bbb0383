"""The PostgreSQL that is measured: durable, and not made a minute ago."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from testbed.postgres import TemporaryPostgres, execute

_LOG_FILES: Final = 64


@contextmanager
def server_with_log_files() -> Iterator[TemporaryPostgres]:
    """A server that has the files of its write-ahead log, 1 GB of them, as any has after a day of work.

    After a checkpoint a file is used again. A new server has to make each of them, and stands still for some
    50 ms for every 16 MB that are written: who writes more in a second would seem slower than on other days.
    """
    with TemporaryPostgres(durable=True, settings={"min_wal_size": "1GB"}) as server:
        for _ in range(_LOG_FILES):
            execute(server.url, "SELECT pg_logical_emit_message(true, 'bench', ''), pg_switch_wal()")
        execute(server.url, "CHECKPOINT")
        yield server
