"""Wires between the machines of the drill: TCP, which can be cut off as a network is, silently.

Through one goes what clients, other databases and other Patronis say to a machine, and what its Patroni says
to each etcd. What the etcds say among themselves does not: a machine that is cut off still has a vote in
etcd, which it can no longer ask. That an etcd goes, too, is what killing and freezing a machine show.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from testbed.ports import free_port


class Wire:
    """Listens at `port`, and passes on what comes to `target` and back."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """From now on nothing gets through in either direction, and nobody is told."""
        self._flowing.clear()

    def mend(self) -> None:
        self._flowing.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        writers = [writer]
        try:
            await self._flowing.wait()
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._target)
            writers.append(there_writer)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(reader, there_writer, writers))
                group.create_task(self._pass_on(there_reader, writer, writers))
        except (OSError, asyncio.CancelledError, ExceptionGroup):
            pass
        finally:
            _abort(writers)

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        writers: list[asyncio.StreamWriter],
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                await self._flowing.wait()
                writer.write(chunk)
                await writer.drain()
            # The end of a connection takes the wire, too.
            await self._flowing.wait()
        _abort(writers, after_writing=True)


def _abort(writers: list[asyncio.StreamWriter], *, after_writing: bool = False) -> None:
    for writer in writers:
        (writer.close if after_writing else writer.transport.abort)()
