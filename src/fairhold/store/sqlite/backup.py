"""Copies of a SQLite database: taken while others write to it, and put back when nobody has it open.

A copy is a database like any other: one file, with the secret for links in a file beside it. It gets its name
when it is whole, so a file of that name is never half a backup.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from fairhold.errors import Busy, SchemaUnknown, SettingsWrong, Unavailable
from fairhold.store.sqlite.store import has_tables_of_ours

_SECRET: Final = ".secret"  # noqa: S105  # the end of a file's name
_LOGS: Final = ("-wal", "-shm")
_BUSY_S: Final = 10.0


def back_up(database: Path, to: Path) -> None:
    """Copy a database as it is at this moment. Raises SettingsWrong if there is something of that name."""
    _must_be_new(to)
    with _draft(to) as draft:
        _copy(database, draft)
        _copy_secret(database, to)
        draft.rename(to)
        _flush(to.parent)


def restore(
    backup: Path, database: Path, aside: Path | None = None, accept: Callable[[Path], bool] = lambda _: True
) -> bool:
    """Put a backup in the place of a database; what is there now is kept aside, if one says where to.

    1. Copy the backup beside the database, onto the disk, and have it looked at: if it is not accepted, that
       was all. 2. Give the old database its second name. 3. Give the new one the old one's name, in one step:
       whenever we are killed, there is a database, for where there is none, a service would begin anew.

    A link stays one: what is replaced is the file that it leads to. The secret is beside the link, as ever.
    Raises SettingsWrong if something is there and nobody said where to, and Busy if somebody has it open.
    """
    place = database.resolve()
    if aside is None:
        _must_be_new(place)
    else:
        _must_be_new(aside)
        _must_be_idle(place)
    with _draft(place) as draft, _draft(_beside(database)) as secret:
        _copy(backup, draft)
        _must_be_ours(draft, backup)
        if not accept(draft):
            return False
        _settle(draft)
        has_secret = _copied(_beside(backup), secret)
        if aside is not None:
            _copy_secret(database, aside)
            _keep_aside(place, aside)
        if has_secret:
            secret.replace(_beside(database))
            _flush(database.parent)
        draft.replace(place)
        _flush(place.parent)
    return True


def _keep_aside(place: Path, aside: Path) -> None:
    """Give a file a second name; where there is no such thing, copy it."""
    for end in _LOGS:
        # One that is damaged beyond reading has left its log: it must not meet the new database.
        with suppress(FileNotFoundError):
            place.with_name(place.name + end).rename(aside.with_name(aside.name + end))
    try:
        os.link(place, aside)
    except OSError:
        with _draft(aside) as draft:
            shutil.copyfile(place, draft)
            _flush(draft)
            draft.rename(aside)
    _flush(aside.parent)


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """A new file beside a path, gone afterwards unless it got that name.

    It holds names and contacts: nobody but its owner may read it, from the first byte on. Its own name cannot
    be known before, so nobody can have put a link there.
    """
    handle, name = mkstemp(".part", f"{path.name}.", path.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        for end in ("", *_LOGS):
            Path(name + end).unlink(missing_ok=True)


def _copy(source: Path, draft: Path) -> None:
    try:
        with (
            closing(
                sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)
            ) as old,
            closing(sqlite3.connect(draft)) as new,
        ):
            # All pages at once, which is one moment: in pieces, each write of others would begin it anew.
            old.backup(new, pages=-1)
            # One file, without a log ahead of it.
            new.execute("PRAGMA journal_mode = DELETE")
            new.execute("PRAGMA synchronous = FULL")
            found = [row[0] for row in new.execute("PRAGMA integrity_check")]
    except sqlite3.Error as error:
        raise Unavailable(f"SQLite cannot copy {source}: {error}") from error
    if found != ["ok"]:
        raise Unavailable(f"SQLite finds {source} damaged: {found[0]}")
    _flush(draft)


def _copy_secret(database: Path, to: Path) -> None:
    """The secret for links goes along: without it every link that was sent would be dead."""
    with _draft(_beside(to)) as draft:
        if _copied(_beside(database), draft):
            draft.replace(_beside(to))


def _copied(secret: Path, draft: Path) -> bool:
    """Copy a secret onto the disk; whether there is one."""
    if not secret.exists():
        return False
    shutil.copyfile(secret, draft)
    _flush(draft)
    return True


def _must_be_new(path: Path) -> None:
    if path.exists():
        raise SettingsWrong(f"{path} is there already")
    if not path.parent.is_dir():
        raise SettingsWrong(f"there is no folder {path.parent}")


def _must_be_ours(draft: Path, backup: Path) -> None:
    with closing(sqlite3.connect(draft)) as connection:
        if not has_tables_of_ours(connection):
            raise SchemaUnknown(f"{backup} is not a database of Fairhold")


def _must_be_idle(database: Path) -> None:
    # SQLite leaves the log ahead of the file only for who is alone, and copies what is in it first.
    try:
        with closing(sqlite3.connect(database, timeout=0)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise Unavailable(f"SQLite cannot open {database}: {error}") from error
        raise Busy(f"somebody has {database} open: stop the service first") from error
    except sqlite3.DatabaseError:
        pass  # Damaged beyond reading, which may be why it is replaced.


def _settle(draft: Path) -> None:
    """Make one file of it again, on the disk: who looked at it may have left a log ahead of it."""
    _must_be_idle(draft)
    _flush(draft)


def _beside(database: Path) -> Path:
    return database.with_name(database.name + _SECRET)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
