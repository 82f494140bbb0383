"""A proxy between Fairhold and PostgreSQL, which can cut, refuse and stall, also exactly at a commit."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

COMMIT = b"COMMIT\x00"
# What is decided ahead is written by one statement, which commits by itself.
WHOLE = b"WITH seen AS"
WRITTEN = b"SELECT 1\x00"
LISTEN = b"LISTEN "
# How somebody begins who has nothing to say but that a command of another connection be cancelled.
CANCEL = b"\x00\x00\x00\x10\x04\xd2\x16\x2e"


class Proxy:
    """`at_commit` says what happens at the next commits, once each:

    cut before      the server never sees it          stall before     the same, in silence
    cut after       it commits, but cannot say so     stall after      the same, in silence
    let through
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)
        self._parts = parts
        self._links: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._listening: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._silent: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._server: asyncio.Server | None = None
        self.refusing = False
        # How many of those who begin to listen are left without a word.
        self.unheard_listeners = 0
        self.at_commit: list[str] = []
        self.on_stall: Callable[[], None] = lambda: None
        self.commits = 0
        self.cancels = 0
        self._whole: set[bytes] = set()
        self._until_stall = 0

    async def open(self) -> str:
        """Start; the address to use instead."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return self._parts._replace(netloc=f"{self._parts.username}@127.0.0.1:{port}").geturl()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Break all connections; new ones are possible unless `refusing`."""
        for link in list(self._links):
            self._cut(link)

    def stall(self) -> None:
        """From now on nothing gets through, in either direction, and nobody is told."""
        self._flowing.clear()

    def stall_after(self, count: int) -> None:
        """The same after so many pieces to the server, and no answer to the last of them."""
        self._until_stall = count
        if not count:
            self.stall()

    @property
    def is_listened_through(self) -> bool:
        return bool(self._listening)

    def silence_listeners(self) -> None:
        """From now on nothing gets through on connections that listen, and nobody is told."""
        self._silent |= self._listening

    def flow(self) -> None:
        self._flowing.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self.refusing:
            writer.transport.abort()
            return
        server_reader, server_writer = await asyncio.open_connection(*self._target)
        link = (writer, server_writer)
        self._links.add(link)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            async with asyncio.TaskGroup() as group:
                group.create_task(self._to_server(reader, server_writer, link))
                group.create_task(self._to_client(server_reader, writer, link))
        self._cut(link)

    async def _to_server(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        link: tuple[asyncio.StreamWriter, asyncio.StreamWriter],
    ) -> None:
        while chunk := await reader.read(65536):
            await self._flowing.wait()
            if self._until_stall:
                self._until_stall -= 1
                if not self._until_stall:
                    self.stall()
            self.cancels += chunk.startswith(CANCEL)
            if LISTEN in chunk:
                self._listening.add(link)
                if self.unheard_listeners:
                    self.unheard_listeners -= 1
                    self._silent.add(link)
            if link in self._silent:
                await asyncio.Event().wait()
            if self._commits(chunk):
                self.commits += 1
                if self.at_commit:
                    how, _, when = self.at_commit.pop(0).partition(" ")
                    if when == "after":
                        await self._commit_unheard(chunk, link)
                    if how == "cut":
                        break
                    if how == "stall":
                        self.on_stall()
                        await asyncio.Event().wait()
            writer.write(chunk)
            await writer.drain()
        self._cut(link)

    def _commits(self, chunk: bytes) -> bool:
        if WHOLE in chunk:
            # A statement is prepared: its name comes first.
            self._whole.add(chunk[5 : chunk.index(b"\x00", 5) + 1])
            return False
        is_run = chunk[:1] == b"B" and any(name in chunk[:100] for name in self._whole)
        return is_run or COMMIT in chunk

    async def _commit_unheard(
        self, chunk: bytes, link: tuple[asyncio.StreamWriter, asyncio.StreamWriter]
    ) -> None:
        """Let the server commit, and keep its answer."""
        self._unheard = asyncio.Event()
        self._deaf = link
        link[1].write(chunk)
        await link[1].drain()
        await self._unheard.wait()

    _deaf: tuple[asyncio.StreamWriter, asyncio.StreamWriter] | None = None
    _unheard: asyncio.Event

    async def _to_client(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        link: tuple[asyncio.StreamWriter, asyncio.StreamWriter],
    ) -> None:
        while chunk := await reader.read(65536):
            await self._flowing.wait()
            if link in self._silent:
                await asyncio.Event().wait()
            if self._deaf is link:
                if COMMIT in chunk or WRITTEN in chunk:
                    self._unheard.set()
                continue
            writer.write(chunk)
            await writer.drain()
        self._cut(link)

    def _cut(self, link: tuple[asyncio.StreamWriter, asyncio.StreamWriter]) -> None:
        self._links.discard(link)
        for writer in link:
            writer.transport.abort()


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy to a database, and the address through it."""
    proxy = Proxy(url)
    through = await proxy.open()
    try:
        yield proxy, through
    finally:
        await proxy.close()
