"""How the client asks: one request, made again while that can help, always as the same request."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any, Final, Self, TypeVar, cast

import httpx2 as httpx
from msgspec import UNSET

from fairhold.client.answers import (
    ClientError,
    NotReached,
    broken,
    failure_of,
    is_a,
    may_pass,
    read,
    refusal_of,
    wait_s,
)
from fairhold.client.said import address_of, body_of, csv_of, idempotency_key_of, must_be_settings
from fairhold.core.refusals import Refusal
from fairhold.inputs import Bad
from fairhold.shapes import Outcome
from fairhold.unlogged import unlogged

T = TypeVar("T")

_PAUSE_S: Final = 0.1
_PAUSE_MAX_S: Final = 5.0
# Who is told to come back much later is told so: nobody waits that long in a call.
_PATIENCE_S: Final = 10.0
# Of which client there is a dry run just now: what is asked of itself then would really be done.
_REHEARSED: ContextVar[Asking | None] = ContextVar("_REHEARSED", default=None)


class Asking:
    """A connection to the service, with a key; without one, to sign in."""

    def __init__(
        self, url: str, key: str = "", *, timeout_s: float = 15.0, tries_max: int = 6, **options: Any
    ) -> None:
        must_be_settings(url, key)
        self._tries_max = tries_max
        self._closed = self._rehearses = False
        self._headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        # What a session's changes say, once there is one.
        self._csrf: dict[str, str] = {}
        self._open(base_url=url.rstrip("/"), headers=self._headers, timeout=timeout_s, **options)

    def _open(self, **options: Any) -> None:
        self._http = httpx.AsyncClient(**options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Hang up; nothing more can be asked."""
        self._closed = True
        await self._hang_up()

    async def _hang_up(self) -> None:
        await self._http.aclose()

    def _must_be_open(self) -> None:
        if self._closed:
            raise ClientError("this client is closed")

    async def dry_run(self, ask: Callable[[Self], Awaitable[object]]) -> Outcome | Refusal:
        """What any change would do, without doing it: `await hf.dry_run(lambda hf: hf.cancel(booking))`.

        The answer tells what would happen and who would be told. It is for changes of pools, units and
        bookings; of other things there is none. CSV that would come in, and a party that would be forgotten,
        have answers of their own.
        """
        with self._rehearsed() as rehearsal:
            return cast("Outcome | Refusal", await ask(rehearsal))

    @contextmanager
    def _rehearsed(self) -> Iterator[Self]:
        rehearsal = copy(self)
        rehearsal._rehearses = True
        was = _REHEARSED.set(self)
        try:
            yield rehearsal
        finally:
            _REHEARSED.reset(was)

    async def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        with unlogged():
            return await self._http.request(method, path, content=body, headers=dict(headers))

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _lines(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[str]:
        """The lines of a stream, for as long as it lasts."""
        timeout = httpx.Timeout(15.0, read=60.0)
        async with self._http.stream(
            method="GET", url=path, headers=dict(headers), timeout=timeout
        ) as answer:
            if not is_a("text/event-stream", answer):
                await answer.aread()
                raise failure_of(answer)
            async for line in answer.aiter_lines():
                yield line

    async def _ask(
        self,
        kind: type[T],
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        /,
        *,
        query: Mapping[str, Any] | None = None,
        csv: object = UNSET,
        idempotency_key: str | None = None,
        **named: str,
    ) -> T | Refusal:
        """Ask, with what the path names; what cannot be asked is refused before anything goes out."""
        self._must_be_open()
        if method != "GET" and _REHEARSED.get() is self:
            raise ClientError("in a dry run, ask the client that it hands on")
        headers, query = {}, query or {}
        if self._rehearses and method != "GET":
            # Where there is no dry run, the service refuses to be asked for one before it does anything.
            kind = kind if "dry_run" in query else cast("type[T]", Outcome)
            query = {**query, "dry_run": "true"}
        try:
            address = address_of(path, named, query)
            if method != "GET":
                key = idempotency_key_of(idempotency_key)
                headers = {"Idempotency-Key": key, "Content-Type": "application/json"} | self._csrf
            given = None if body is None else body_of(body)
            if csv is not UNSET:
                given, headers["Content-Type"] = csv_of(csv), "text/csv"
        except Bad as bad:
            return bad.refusal
        answer = await self._answer(kind, method, address, given, headers)
        if self._rehearses and isinstance(answer, Refusal) and answer.field == "dry_run":
            return Refusal("not_possible", "There is no dry run of this.")
        return answer

    async def _answer(
        self, kind: type[T], method: str, address: str, body: bytes | None, headers: Mapping[str, str]
    ) -> T | Refusal:
        """Ask until there is an answer. Every try of a change has the same idempotency key."""
        failure: Exception = NotReached("the service was not asked")
        for number in range(self._tries_max):
            pause = min(_PAUSE_MAX_S, _PAUSE_S * 2**number) * random.uniform(0.5, 1.0)  # noqa: S311
            try:
                answer = await self._send(method, address, body, headers)
            except httpx.RequestError as error:
                failure = broken(error)
            else:
                if answer.status_code < 300:
                    return read(answer, kind)
                if not may_pass(answer) or wait_s(answer) > _PATIENCE_S:
                    return refusal_of(answer)
                failure, pause = failure_of(answer), max(pause, wait_s(answer))
            if number + 1 < self._tries_max:
                await self._sleep(pause)
        raise failure
