"""Who begins a request and does not end it is left; who asks one after the other stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from fairhold.http import patience
from fairhold.http.heads import Protocol
from tests.patience import PATIENCE_S

SHORT_S = 0.5
REQUEST = b"POST / HTTP/1.1\r\nHost: fairhold\r\nContent-Length: 4\r\n\r\nbody"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "REQUEST_S", SHORT_S)


async def answering(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    config = uvicorn.Config(
        answering, port=0, http=patience.patient(Protocol), lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    reader, writer = await asyncio.open_connection(*server.servers[0].sockets[0].getsockname())
    try:
        yield reader, writer
    finally:
        writer.close()
        server.should_exit = True
        await task


@pytest.mark.parametrize("length", [0, 1, 20, len(REQUEST) - 6, len(REQUEST) - 1])
async def test_a_request_that_does_not_end_is_left(short: None, length: int) -> None:
    async with connected() as (reader, writer):
        writer.write(REQUEST[:length])
        async with asyncio.timeout(PATIENCE_S):
            assert await reader.read() == b""


async def test_nor_does_it_help_to_say_a_little_now_and_then(short: None) -> None:
    async with connected() as (reader, writer):
        writer.write(REQUEST + REQUEST[:20])
        assert (await reader.readline()).startswith(b"HTTP/1.1 204")

        async def dawdle() -> None:
            while True:
                await asyncio.sleep(0.1)
                writer.write(b"x")

        task = asyncio.create_task(dawdle())
        async with asyncio.timeout(PATIENCE_S):
            await reader.read()
        task.cancel()


async def test_an_empty_line_after_an_answer_is_no_reason_to_stay(short: None) -> None:
    async with connected() as (reader, writer):
        writer.write(REQUEST)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        writer.write(b"\r\n")
        async with asyncio.timeout(PATIENCE_S):
            assert await reader.read() == b""


async def test_a_long_body_may_take_longer(short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PIECE", 1_000)
    async with connected() as (reader, writer):
        writer.write(REQUEST.replace(b"4\r\n\r\nbody", b"8000\r\n\r\n"))
        for _ in range(8):
            await asyncio.sleep(SHORT_S / 3)
            writer.write(b"x" * 1_000)
        async with asyncio.timeout(PATIENCE_S):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")


async def test_whose_requests_come_whole_is_not_left(short: None) -> None:
    async with connected() as (reader, writer):
        for _ in range(6):
            writer.write(REQUEST)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
            await asyncio.sleep(SHORT_S / 2)


async def test_control_without_an_end_to_patience_one_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "REQUEST_S", 3_600.0)
    async with connected() as (reader, writer):
        writer.write(REQUEST[:20])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3 * SHORT_S):
                await reader.read()
