"""Run the service under uvicorn until it is told to stop.

Stopping: 1. accept nothing new; 2. end the streams; 3. finish what was accepted; 4. close the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, Final, TypeVar

import uvicorn
from starlette.middleware.cors import CORSMiddleware

from fairhold.http import heads, logs
from fairhold.http.components import components_of
from fairhold.http.corked import corked
from fairhold.http.light import light
from fairhold.http.patience import patient
from fairhold.http.service import Make, Service
from fairhold.http.settings import Settings
from fairhold.http.shared_port import leave, listening_at, must_be_shareable
from fairhold.tracing import from_environment

T = TypeVar("T")

log = logging.getLogger("fairhold.http")

_LOOK_S: Final = 0.02
_LINGER_S: Final = 2.0


class _Server(uvicorn.Server):
    """uvicorn, with our way of stopping."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._shared: list[socket.socket] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self._service.settings.share_port:
            # That we are to exit is a flag of uvicorn's, so we look at it now and then, as uvicorn does.
            while self._service.hf is None and not self.should_exit:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
            if self.should_exit:
                return
            settings = self._service.settings
            sockets = self._shared = listening_at(settings.host, settings.port)
        await super().startup(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal asks us to stop, a second one insists. It is not raised again: we end by ourselves."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield

    async def shutdown(self, sockets: Any = None) -> None:
        log.info("stopping")
        if self._shared:
            await leave(self.servers, self._shared)
        self._service.stop()
        await super().shutdown(sockets)


def run(settings: Settings) -> None:
    """Serve until a signal comes. Raises SchemaUnknown or SettingsWrong, where waiting will not help."""
    if settings.share_port:
        must_be_shareable(settings)
    logs.set_up(settings.log_level)
    open_as_many_as_may_be()
    run_fast(_and_leave(serve(settings, components_of(settings))))


async def _and_leave(serving: Coroutine[Any, Any, None]) -> None:
    """Serve, and then let nothing keep the process that nobody waits for any more."""
    await serving
    lingering = threading.Timer(_LINGER_S, _leave)
    lingering.daemon = True
    lingering.start()


def _leave() -> None:
    # All is closed. The name of a mail server or a webhook may still be looked up, which cannot be cancelled:
    # where nobody answers it takes half a minute, and there may be a queue of them.
    logging.shutdown()
    os._exit(0)


def run_fast(main: Coroutine[Any, Any, T]) -> T:
    """Run on the fastest event loop that there is for this system."""
    if sys.platform == "win32":
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)


def _with_origins(service: Service, settings: Settings) -> Any:
    """The application; where web sites of other origins may ask, browsers are told so."""
    if not settings.origins:
        return service
    return CORSMiddleware(
        service,
        allow_origins=[origin.strip() for origin in settings.origins.split(",")],
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
        expose_headers=["Retry-After", "X-Request-ID"],
    )


def collect_less_often() -> None:
    """Have Python look less often for garbage that refers to itself: we make much, and hardly any such."""
    gc.set_threshold(20_000, 20, 50)


def open_as_many_as_may_be() -> None:
    """Let this process have as many connections as the system allows it: 1,024 is only where it starts."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):  # Where it cannot be, it stays as it was.
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def serve(settings: Settings, components: Sequence[Make] = ()) -> None:
    collect_less_often()
    tracing = from_environment()
    try:
        await serve_it(Service(settings, components, tracing))
    finally:
        if tracing is not None:
            await asyncio.to_thread(tracing.close)


async def serve_it(service: Service) -> None:
    """Serve this service until a signal comes. Raises what it failed with."""
    settings = service.settings
    config = uvicorn.Config(
        _with_origins(service, settings),
        host=settings.host,
        port=settings.port,
        http=corked(light(patient(heads.Protocol))),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies or None,
        timeout_graceful_shutdown=settings.graceful_stop_s,
        timeout_keep_alive=30,
        backlog=2048,
        ws="none",
    )
    server = _Server(config, service)
    service.end = lambda: setattr(server, "should_exit", True)
    async with service.running():
        await server.serve()
    if service.failed is not None:
        raise service.failed
