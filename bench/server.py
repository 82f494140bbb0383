"""The PostgreSQL that is measured: durable, and not made a minute ago."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from testbed.postgres import TemporaryPostgres, execute

# So many are begun, one after the other.
_LOG_FILES: Final = 64


@contextmanager
def server_with_log_files() -> Iterator[TemporaryPostgres]:
    """A server that has files of its write-ahead log, half a gigabyte, as any has after a day of work.

    After a checkpoint, of which one comes in between here, a file is used again. A new server has to make
    each of them, and stands still for some 50 ms for every 16 MB that are written: who writes more in a
    second would seem slower than on other days.
    """
    with TemporaryPostgres(durable=True, settings={"min_wal_size": "1GB"}) as server:
        execute(
            server.url,
            "SELECT pg_logical_emit_message(false, 'bench', ''), pg_switch_wal() "
            f"FROM generate_series(1, {_LOG_FILES})",
        )
        execute(server.url, "CHECKPOINT")
        yield server
