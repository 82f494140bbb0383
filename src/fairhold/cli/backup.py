"""`fairhold backup` and `fairhold restore`: a copy of a SQLite database, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from fairhold.cli import desk
from fairhold.cli.options import Database, Json, examples
from fairhold.cli.words import clean

if TYPE_CHECKING:
    from fairhold.verify import Report

_OTHERS = "PostgreSQL has tools of its own for this, such as pg_dump and pg_restore: see docs/howto/backup.md"

_FAULTS = "does not keep every promise, and only --despite-faults puts it there all the same"
T = TypeVar("T")


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("fairhold backup monday.db", "fairhold backup monday.db --json"))(backup)
    app.command(epilog=examples("fairhold restore monday.db", "fairhold restore monday.db --replace"))(
        restore
    )


def backup(
    to: Annotated[Path, typer.Argument(metavar="FILE", help="The file to make; it must not be there yet.")],
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Copy a SQLite database while it is in use.

    The copy is of one moment, and nobody waits for it. It is checked as fairhold verify checks, and it is a
    database like any other. The secret for links goes along, in a file beside it, unless
    FAIRHOLD_SECRET is set. Exit code 1 if a promise does not hold; the copy is kept all the same.
    """
    from fairhold.store.sqlite.backup import back_up

    _copied(lambda: back_up(_file_of(database), to))
    _tell(to, _checked(to), as_json, f"Backed up to {to}")


def restore(
    backup: Annotated[Path, typer.Argument(metavar="FILE", help="What fairhold backup has made.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Move the database that is there aside, and keep it.")
    ] = False,
    despite_faults: Annotated[
        bool, typer.Option("--despite-faults", help="Restore it even if a promise does not hold in it.")
    ] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of a SQLite database.

    Stop the service first. What happened after the backup was made is not in it. It is checked before, as
    fairhold verify checks, unless it is of an earlier version: if a promise does not hold, nothing is
    restored, and the exit code is 1.
    """
    from fairhold.store.sqlite.backup import restore as put_back

    target = _copied(lambda: _file_of(database, there=False))
    if not backup.is_file():
        desk.fail(f"there is no file {backup}", desk.WRONG)
    aside = _aside(target.resolve()) if replace and target.exists() else None
    if target.exists() and aside is None:
        desk.fail(f"{target} is there already: --replace moves it aside", desk.WRONG)
    report: Report | None = None

    def accept(draft: Path) -> bool:
        nonlocal report
        report = _checked(draft)
        return despite_faults or report is None or report.whole

    if _copied(lambda: put_back(backup, target, aside, accept)):
        kept = f"; what was there is now {aside}" if aside else ""
        _tell(target, report, as_json, f"Restored {target} from {backup}{kept}", restored=True)
    else:
        _tell(target, report, as_json, f"Nothing was restored: {backup} {_FAULTS}", restored=False)


def _file_of(database: str | None, *, there: bool = True) -> Path:
    from fairhold.config import database_url
    from fairhold.store.sqlite.store import path_of

    url = database_url(database)
    if not url.startswith("sqlite:///"):
        desk.fail(_OTHERS, desk.WRONG)
    if there:
        desk.must_exist(url)
    return Path(path_of(url))


def _aside(database: Path) -> Path:
    from fairhold.clock import SystemClock, to_datetime

    stamp = to_datetime(SystemClock().now()).strftime("%Y%m%dT%H%M%S")
    name = f"{database.name}.before-{stamp}"
    paths = (database.with_name(f"{name}-{n}" if n else name) for n in count())
    return next(path for path in paths if not path.exists())


def _copied(copy: Callable[[], T]) -> T:
    from fairhold.errors import ExtraMissing, FairholdError, SettingsWrong

    try:
        return copy()
    except (ExtraMissing, SettingsWrong) as error:
        desk.fail(str(error), desk.WRONG)
    except (FairholdError, OSError) as error:
        desk.fail(str(error), desk.UNAVAILABLE)


def _tell(copy: Path, report: Report | None, as_json: bool, done: str, **more: bool) -> None:
    if as_json:
        desk.say(desk.encoded({"file": str(copy), "report": report, **more}))
    elif report is None:
        later = "It is of an earlier version and was not checked; fairhold migrate brings it up to date."
        desk.say(f"{clean(done)}. {later}")
    else:
        desk.say("\n".join(clean(line) for line in f"{done}.\n{report}".splitlines()))
    if report is not None and not report.whole:
        raise typer.Exit(desk.REFUSED)


def _checked(copy: Path) -> Report | None:
    """What verify says of the copy; nothing if this version cannot read it yet."""
    import asyncio

    from fairhold.errors import FairholdError
    from fairhold.store.sqlite.store import SqliteStore
    from fairhold.verify import verify

    # By its whole path: SQLite takes :memory: for something else.
    store = SqliteStore(str(copy.absolute()))

    async def look() -> Report | None:
        await store.open()
        try:
            return None if await store.pending() else await verify(store)
        finally:
            await store.close()

    try:
        return asyncio.run(look())
    except FairholdError as error:
        desk.fail(str(error), desk.UNAVAILABLE)
