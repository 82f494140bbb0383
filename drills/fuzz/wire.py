"""HTTP by hand: exactly these bytes go out, and what comes back is read without a library's opinion."""

from __future__ import annotations

import asyncio
import shlex
import time
from contextlib import suppress
from dataclasses import dataclass, field

Headers = list[tuple[bytes, bytes]]

# Answers are waited for until then; what takes longer than that hangs.
HANGS_S = 30.0
_STREAM = b"text/event-stream"


@dataclass(slots=True)
class Asked:
    """One request: what it is for, and its parts as they go out."""

    name: str
    method: bytes
    target: bytes
    headers: Headers = field(default_factory=list)
    body: bytes = b""
    chunked: bool = False
    is_sound: bool = True
    """Whether it is HTTP at all: then it must be answered by us, and not refused by what reads HTTP."""

    def raw(self) -> bytes:
        lines = [self.method + b" " + self.target + b" HTTP/1.1"]
        headers = list(self.headers)
        given = {name.lower() for name, _ in headers}
        if b"host" not in given:
            headers.append((b"Host", b"127.0.0.1"))
        if self.chunked:
            headers.append((b"Transfer-Encoding", b"chunked"))
        elif self.body or self.method not in (b"GET", b"HEAD"):
            headers.append((b"Content-Length", str(len(self.body)).encode()))
        lines += [name + b": " + value for name, value in headers]
        return b"\r\n".join(lines) + b"\r\n\r\n" + (_in_chunks(self.body) if self.chunked else self.body)

    def as_curl(self, base: str) -> str:
        """The request for a terminal; what is no text there is written as bash writes bytes."""
        words = ["curl -sS -i -X", _word(self.method), "--path-as-is"]
        for name, value in self.headers:
            words += ["-H", _word(name + b": " + value)]
        if self.body:
            words += ["--data-binary", _word(self.body[:4000])]
        cut = f"  # the body has {len(self.body)} bytes" if len(self.body) > 4000 else ""
        return " ".join([*words, _word(base.encode() + self.target)]) + cut


def _word(raw: bytes) -> str:
    if all(32 <= byte < 127 for byte in raw):
        return shlex.quote(raw.decode())
    return "$'" + "".join(chr(b) if 32 <= b < 127 and b not in (39, 92) else f"\\x{b:02x}" for b in raw) + "'"


def _in_chunks(body: bytes) -> bytes:
    parts = [body[at : at + 700] for at in range(0, len(body), 700)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@dataclass(slots=True)
class Answer:
    """What came back; status 0 is nothing at all."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    took_s: float
    error: str = ""

    @property
    def kind(self) -> bytes:
        return self.headers.get(b"content-type", b"").partition(b";")[0]


class Wire:
    """One connection, opened again whenever it was closed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._pair: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, asked: Asked) -> Answer:
        """The answer. A kept connection may just have been closed: then it is asked again on a new one."""
        fresh = self._pair is None
        answer = await self.exchange(asked.raw(), head=asked.method == b"HEAD")
        if answer.status == 0 and not fresh and answer.error == "closed":
            answer = await self.exchange(asked.raw(), head=asked.method == b"HEAD")
        return answer

    async def exchange(self, raw: bytes, *, head: bool = False) -> Answer:
        began = time.monotonic()
        try:
            async with asyncio.timeout(HANGS_S):
                if self._pair is None:
                    self._pair = await asyncio.open_connection("127.0.0.1", self._port)
                reader, writer = self._pair
                # A long body is refused before it is read, so both ways must go on at once.
                writer.write(raw)
                status, headers, body = await self._read(reader, head)
        except TimeoutError:
            self.close()
            return Answer(0, {}, b"", time.monotonic() - began, "no answer")
        except (asyncio.IncompleteReadError, ConnectionError, OSError) as error:
            self.close()
            gone = isinstance(error, asyncio.IncompleteReadError | ConnectionError)
            return Answer(0, {}, b"", time.monotonic() - began, "closed" if gone else repr(error))
        except (ValueError, IndexError) as error:
            self.close()
            return Answer(0, {}, b"", time.monotonic() - began, f"not HTTP: {error!r}")
        if headers.get(b"connection", b"").lower() == b"close" or headers.get(b"content-type") == _STREAM:
            self.close()
        return Answer(status, headers, body, time.monotonic() - began)

    async def listen(self, asked: Asked, seconds: float) -> None:
        """Listen to a stream for so long, and hang up."""
        with suppress(OSError):
            reader, writer = self._pair = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(asked.raw())
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while await reader.read(65_536):
                        pass
        self.close()

    async def _read(self, reader: asyncio.StreamReader, head: bool) -> tuple[int, dict[bytes, bytes], bytes]:
        while True:
            top = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
            status = int(top[0].split(b" ")[1])
            if status != 100:
                break
        headers = {}
        for line in top[1:-2]:
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip()
        if head or status in (204, 304):
            return status, headers, b""
        if headers.get(b"content-type", b"").startswith(_STREAM):
            # It never ends by itself: whether it begins is enough.
            return status, headers | {b"content-type": _STREAM}, b""
        if b"content-length" in headers:
            return status, headers, await reader.readexactly(int(headers[b"content-length"]))
        parts = []
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return status, headers, b"".join(parts)

    def close(self) -> None:
        if self._pair is not None:
            with suppress(OSError, RuntimeError):
                self._pair[1].transport.abort()
            self._pair = None
