"""Databases that are made once and copied for each test that wants one: a copy takes a tenth of the time."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from testbed.postgres import fresh_database
from tests.database import dialect_of, sqlite_file

Prepare = Callable[[str], Awaitable[object]]


class Model:
    """One database, as it was when it was prepared. Nobody may be connected to it."""

    def __init__(self, url: str, server_url: str) -> None:
        self._url = url
        self._server_url = server_url

    @contextmanager
    def copied(self, folder: Path) -> Iterator[str]:
        """A copy, in this folder if it is a file; gone afterwards if it is not."""
        if dialect_of(self._url) == "sqlite":
            copy = shutil.copyfile(sqlite_file(self._url), folder / "fairhold.db")
            yield f"sqlite:///{copy}"
        else:
            with fresh_database(self._server_url, template=urlsplit(self._url).path[1:]) as url:
                yield url


@contextmanager
def sqlite_model(folder: Path, prepare: Prepare) -> Iterator[Model]:
    url = f"sqlite:///{folder}/model.db"
    run_aside(prepare, url)
    yield Model(url, "")


@contextmanager
def postgres_model(server_url: str, prepare: Prepare) -> Iterator[Model]:
    with fresh_database(server_url) as url:
        run_aside(prepare, url)
        yield Model(url, server_url)


def run_aside(prepare: Prepare, url: str) -> None:
    """In a thread of its own, so that an event loop may run here or not."""

    async def run() -> None:
        await prepare(url)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, run()).result()
