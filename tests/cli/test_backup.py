"""A copy while people book, the way back, and PostgreSQL by its own tools."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.store.sqlite.backup import restore
from testbed.postgres import find_binaries, fresh_database
from tests.cli.conftest import Cli
from tests.database import sqlite_file
from tests.patience import until
from tests.store.made_migrations import made_migrations
from tests.verified import verified

CALLERS = 16


@pytest.fixture
def cli(sqlite_url: str) -> Cli:
    return Cli(sqlite_url)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "monday.db"


def test_what_was_backed_up_comes_back_and_what_was_there_is_kept(cli: Cli, copy: Path) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    ann = cli.book("yoga", "Ann")
    link = cli.json("booking", ann)["edit_token"]
    said = cli("backup", str(copy))
    assert said == f"Backed up to {copy}.\nAll promises hold: 1 pool, 1 booking, 2 log entries"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert {it.name for it in copy.parent.glob("monday*")} == {"monday.db", "monday.db.secret"}
    cli.book("yoga", "Bea")
    database = Path(sqlite_file(cli.url))
    database.with_name(database.name + ".secret").write_text("lost and made anew\n")
    assert cli.json("booking", ann)["edit_token"] != link
    said = cli("restore", str(copy), code=2)
    said = cli("restore", str(copy), "--replace")
    assert said.startswith(f"Restored {database} from {copy}; what was there is now {database}.before-")
    assert said.endswith("All promises hold: 1 pool, 1 booking, 2 log entries")
    assert [it["reference"] for it in cli.json("bookings", "yoga")] == [ann]
    assert cli.json("booking", ann)["edit_token"] == link
    (aside,) = (it for it in database.parent.glob("*.before-*") if it.suffix != ".secret")
    assert len(Cli(f"sqlite:///{aside}").json("bookings", "yoga")) == 2


@asynccontextmanager
async def booking_all_the_while(hf: Fairhold, pool: str) -> AsyncIterator[list[str]]:
    """People book until the end, and many have done so before; the parties that were answered so far."""
    answered: list[str] = []
    done = asyncio.Event()

    async def book(caller: int) -> None:
        while not done.is_set():
            party = f"party-{caller}-{len(answered)}"
            granted(await hf.book(pool, party))
            answered.append(party)

    callers = [asyncio.create_task(book(n)) for n in range(CALLERS)]
    await until(lambda: len(answered) >= 500)
    yield answered
    done.set()
    await asyncio.gather(*callers)


async def test_a_copy_that_is_made_while_people_book_is_of_one_moment(cli: Cli, copy: Path) -> None:
    """Every party that the copy knows was answered or under way, and all promises hold in it."""
    async with Fairhold.open(cli.url) as hf:
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 10**6}))
        async with booking_all_the_while(hf, "gig") as answered:
            before = len(answered)
            said = await asyncio.to_thread(cli, "backup", str(copy))
            during = len(answered)
    assert "All promises hold" in said
    assert during > before, "nobody waits for a backup"
    report = await verified(f"sqlite:///{copy}")
    assert report.whole
    assert before <= report.bookings <= during + CALLERS


def test_nothing_is_overwritten_or_taken_from_under_a_running_service(cli: Cli, copy: Path) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    copy.write_text("precious")
    cli("backup", str(copy), code=2)
    assert copy.read_text() == "precious"
    copy.unlink()
    cli("backup", str(copy))

    async def while_open() -> None:
        async with Fairhold.open(cli.url):
            await asyncio.to_thread(cli, "restore", str(copy), "--replace", code=3)

    asyncio.run(while_open())
    assert not list(copy.parent.glob("*.before-*"))
    assert not list(copy.parent.glob("*.part"))


def test_what_is_no_backup_is_refused_and_the_database_stays(cli: Cli, copy: Path) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    cli("restore", str(copy), code=2)
    copy.write_text("no database at all, but long enough to be looked at" * 40)
    cli("restore", str(copy), "--replace", code=3)
    copy.unlink()
    with closing(sqlite3.connect(copy)) as theirs:
        theirs.execute("CREATE TABLE customers (name TEXT)")
    cli("restore", str(copy), "--replace", code=3)
    assert cli.json("pool", "show", "yoga")["key"] == "yoga"


def test_nothing_that_lies_beside_is_written_to(cli: Cli, copy: Path, tmp_path: Path) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    precious = tmp_path / "precious"
    precious.write_text("precious")
    copy.with_name("monday.db.part").symlink_to(precious)
    copy.with_name("monday.db.secret.part").symlink_to(precious)
    cli("backup", str(copy))
    assert precious.read_text() == "precious"


def test_a_link_stays_a_link(cli: Cli, copy: Path, tmp_path: Path) -> None:
    """The volume that it leads to is where the database shall be, and where the old one is kept."""
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    cli("backup", str(copy))
    database, volume = Path(sqlite_file(cli.url)), tmp_path / "volume"
    volume.mkdir()
    database.rename(volume / "there.db")
    database.symlink_to(volume / "there.db")
    cli("pool", "create", "late", "--preset", "class_waitlist", "--size", "1")
    cli("restore", str(copy), "--replace")
    assert database.is_symlink()
    assert [it["key"] for it in cli.json("pool", "list")] == ["yoga"]
    (aside,) = (it for it in volume.glob("*.before-*") if it.suffix != ".secret")
    assert len(Cli(f"sqlite:///{aside}").json("pool", "list")) == 2


def test_a_file_may_have_any_name(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x?mode=memory", "a?b#c%41.db"):
        assert "All promises hold" in cli("backup", name)


def test_a_restore_that_fails_leaves_the_database_where_it_was(cli: Cli, copy: Path) -> None:
    """Where there is none, a service would begin with an empty one."""
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    cli("backup", str(copy))
    secret = copy.with_name(copy.name + ".secret")
    secret.unlink()
    secret.mkdir()
    cli("restore", str(copy), "--replace", code=3)
    assert cli.json("pool", "show", "yoga")["key"] == "yoga"
    assert not list(copy.parent.glob("*.before-*"))


def test_a_damaged_copy_is_noticed(cli: Cli, copy: Path) -> None:
    """The control: a copy whose pages were spoilt on the way is not put in anybody's place."""
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    for name in ("Ann", "Bea", "Cyd"):
        cli.book("yoga", name)
    cli("backup", str(copy))
    with closing(sqlite3.connect(copy)) as file:
        file.execute("DELETE FROM fairhold_log WHERE seq = 2")
        file.commit()
    cli.book("yoga", "Dan")
    said = cli("restore", str(copy), "--replace", code=1)
    assert "Nothing was restored" in said
    assert "--despite-faults" in said
    assert cli.json("restore", str(copy), "--replace", code=1)["restored"] is False
    assert len(cli.json("bookings", "yoga")) == 4, "what was there is still there"
    assert not list(copy.parent.glob("*.before-*"))
    assert not list(copy.parent.glob("*.part*"))
    content = bytearray(copy.read_bytes())
    content[8192:20480] = bytes(12288)
    copy.write_bytes(content)
    cli("restore", str(copy), "--replace", code=3)


def test_a_copy_with_faults_is_put_in_for_who_says_so(cli: Cli, copy: Path) -> None:
    """It may be the only one that there is."""
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    cli.book("yoga", "Ann")
    cli("backup", str(copy))
    with closing(sqlite3.connect(copy)) as file:
        file.execute("DELETE FROM fairhold_log WHERE seq = 2")
        file.commit()
    cli.book("yoga", "Bea")
    assert "Restored" in cli("restore", str(copy), "--replace", "--despite-faults", code=1)
    assert len(cli.json("bookings", "yoga")) == 1


class Killed(BaseException):
    """Nobody catches it, as nobody catches a kill."""


@pytest.mark.parametrize("links", [True, False])
def test_whenever_a_restore_is_killed_there_is_a_database(
    cli: Cli, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Where there is none, a service would begin with an empty one. Killed before each change to a folder."""
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    cli("backup", str(copy))
    copy.with_name(copy.name + ".secret").write_text("another\n")
    cli("pool", "create", "late", "--preset", "class_waitlist", "--size", "1")
    database, survived, left = Path(sqlite_file(cli.url)), 0, 0

    def counted(change: Callable[..., Any], works: bool = True) -> Callable[..., Any]:
        def change_or_die(*given: Any) -> Any:
            nonlocal left
            if not left:
                raise Killed
            left -= 1
            if not works:
                raise OSError("no links here")
            return change(*given)

        return change_or_die

    while True:
        left, aside = survived, tmp_path / f"aside-{survived}"
        with monkeypatch.context() as fatal:
            fatal.setattr(Path, "rename", counted(Path.rename))
            fatal.setattr(Path, "replace", counted(Path.replace))
            fatal.setattr(os, "link", counted(os.link, links))
            try:
                assert restore(copy, database, aside)
                break
            except Killed:
                survived += 1
        assert [it["key"] for it in cli.json("pool", "list")][-1] == "yoga", survived
    assert survived >= 3
    assert [it["key"] for it in cli.json("pool", "list")] == ["yoga"]
    assert len(Cli(f"sqlite:///{aside}").json("pool", "list")) == 2


def test_a_backup_of_an_earlier_version_can_be_made_before_the_upgrade(
    cli: Cli, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("migrate")
    made_migrations(monkeypatch)
    said = cli("backup", str(copy))
    assert "of an earlier version" in said
    assert "Applied" in Cli(f"sqlite:///{copy}")("migrate")


async def test_postgres_comes_back_by_its_own_tools(
    postgres_url: str, postgres_server_url: str, copy: Path
) -> None:
    """As the guide says: pg_dump while people book, pg_restore into an empty database, verify."""
    tools = find_binaries()
    dump = [tools / "pg_dump", "--format=custom", f"--file={copy}", postgres_url]
    async with Fairhold.open(postgres_url) as hf:
        granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}))
        ann = granted(await hf.book("yoga", "Ann"))
        async with booking_all_the_while(hf, "yoga") as answered:
            before = len(answered)
            await asyncio.to_thread(subprocess.run, dump, check=True)
            during = len(answered)
    assert during > before, "nobody waits for a dump"
    with fresh_database(postgres_server_url) as other:
        into = ["--no-owner", "--exit-on-error", "--single-transaction", f"--dbname={other}"]
        subprocess.run([tools / "pg_restore", *into, copy], check=True)
        report = await verified(other)
        assert report.whole
        assert 1 + before <= report.bookings <= 1 + during + CALLERS
        async with Fairhold.open(other) as hf:
            assert granted(await hf.booking(ann.edit_token or "")).id == ann.id
    assert "pg_dump" in Cli(postgres_url)("backup", str(copy), code=2)
