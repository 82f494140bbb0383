"""The service: one ASGI application over one open database, for all its orgs.

It can be asked before its database is there: then it says 503, and tries again until it is. Whatever runs
beside the API (what delivers messages, say) is a Component: started when the database is open, stopped before
it is closed.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, Final, Protocol

from starlette.routing import Route, Router

from fairhold import tokens
from fairhold.accounts.identities import Identities
from fairhold.accounts.members import Members
from fairhold.accounts.oidc import provider_of
from fairhold.accounts.passkeys import Passkeys, site_of
from fairhold.accounts.passwords import Passwords
from fairhold.accounts.sessions import Limits, Sessions
from fairhold.clock import Clock, TestClock
from fairhold.config import keeps_secret
from fairhold.console import site as console
from fairhold.engine.limits import Source
from fairhold.errors import Unavailable
from fairhold.http import (
    bookings,
    clock,
    docs,
    health,
    keeping,
    keys,
    logs,
    looking_back,
    members,
    messages,
    metrics,
    offers,
    origins,
    pools,
    retention,
    session,
    stats,
    stream,
    templates,
    units,
    webhooks,
)
from fairhold.http.attempts import Attempts
from fairhold.http.doorkeeper import Doorkeeper
from fairhold.http.endpoint import Endpoint, respond
from fairhold.http.limits import Buckets, slow_down, whose
from fairhold.http.metrics import Metrics, Observed
from fairhold.http.nothing_here import NothingHere
from fairhold.http.operations import NOBODY, Operation
from fairhold.http.problems import MEDIA_TYPE, Problem, later
from fairhold.http.settings import Settings
from fairhold.http.visit import Send, Visit
from fairhold.keys import PUBLIC, Access, Keys
from fairhold.library import Fairhold
from fairhold.orgs import as_org
from fairhold.pages import site
from fairhold.tracing import Tracing

log = logging.getLogger("fairhold.http")

_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# What people choose themselves may have a slash in it.
_WITH_SLASHES: Final = re.compile(r"\{(label|party)\}")
_KEPT: Final = (
    "the secret for links is kept in the database, and so in every dump of it: set FAIRHOLD_SECRET "
    "(docs/howto/production.md says how to keep the links that were sent)"
)
_ORGS_MAX: Final = 10_000
_PAUSE_MAX_S: Final = 5.0


class Component(Protocol):
    """Something that runs beside the API, on the same database."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


Make = Callable[[Fairhold], Component]
Page = Callable[["Service", Any, Send], Awaitable[None]]


class Service:
    """The application."""

    def __init__(
        self, settings: Settings, components: Sequence[Make] = (), tracing: Tracing | None = None
    ) -> None:
        self.settings = settings
        self.tracing = tracing
        self.hf: Fairhold | None = None
        self.keys: Keys
        self.members: Members
        self.sessions: Sessions
        self.identities: Identities
        self.passkeys: Passkeys | None = None
        self.provider = provider_of(settings)
        self.passwords = Passwords()
        self.attempts: Attempts
        self.doorkeeper: Doorkeeper
        self.watcher: stream.Watcher
        self.waiting_for = "The database has not been opened yet."
        self.stopping = False
        self.failed: Exception | None = None
        self.end: Callable[[], None] = lambda: None
        # What may take longer than anybody waits, and is given up when the process stops.
        self.cut_short: set[asyncio.Task[Any]] = set()
        self.clock_moving = asyncio.Lock()
        self.clock_moves: dict[tuple[str, str], tuple[clock.ClockBody, clock.ClockShape]] = {}
        self.metrics = Metrics()
        self.operations = operations_of(settings)
        self.described: bytes | None = None
        self._components = components
        self._per_key = Buckets(settings.rate_per_key, settings.burst_per_key)
        self._per_address = Buckets(settings.rate_per_address, settings.burst_per_address)
        self._orgs: OrderedDict[str, Fairhold] = OrderedDict()
        self._in_flight: set[tuple[str, str]] = set()
        self._request_log = logs.request_log()
        self._router = Router(self._routes(), redirect_slashes=False, default=NothingHere(self))

    # Running.

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the database, as soon as it can be; close it at the end."""
        done = asyncio.Event()
        task = asyncio.create_task(self._keep_open(done), name="fairhold-service")
        try:
            yield
        finally:
            self.stopping = True
            done.set()
            await task

    async def _keep_open(self, done: asyncio.Event) -> None:
        pause = 0.2
        while not done.is_set():
            try:
                async with self._opened():
                    log.info(
                        "ready to serve",
                        extra={"address": f"http://{self.settings.host}:{self.settings.port}"},
                    )
                    if not await self.keys.any():
                        log.warning("nobody has a key yet: fairhold key create --role admin --name NAME")
                    if self.hf is not None and await keeps_secret(self.hf.store, self.hf.secret):
                        log.warning(_KEPT)
                    await done.wait()
                return
            except (Unavailable, OSError) as error:
                self.waiting_for = "The database cannot be reached; trying again."
                log.warning("waiting for the database: %s", error)
            except Exception as error:  # noqa: BLE001  # no patience will mend it: the process ends with it
                self.failed = error
                self.end()
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await done.wait()
            pause = min(pause * 2, _PAUSE_MAX_S)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            hf = await stack.enter_async_context(Fairhold.open(self.settings.database, clock=self.clock()))
            self.keys = Keys(hf.store, hf.clock, hf.secret)
            self.members = Members(hf.store, hf.clock, hf.secret)
            limits = Limits(self.settings.session_idle_s * 1000, self.settings.session_max_s * 1000)
            self.sessions = Sessions(hf.store, hf.clock, hf.secret, self.passwords, limits)
            self.attempts = Attempts(hf.store, hf.secret)
            if site := site_of(self.settings.site):
                self.passkeys = Passkeys(hf.store, hf.clock, self.sessions, site)
            self.identities = Identities(hf.store, hf.clock, self.sessions)
            self.doorkeeper = Doorkeeper(self.keys, self.sessions, hf.clock)
            self.doorkeeper.start()
            stack.push_async_callback(self.doorkeeper.close)
            self.watcher = stream.Watcher(hf)
            await self.watcher.start()
            stack.push_async_callback(self.watcher.close)
            hf.engine.observer = Observed(self.metrics, self.watcher)
            if self.tracing is not None:
                hf.engine.observer = self.tracing.observer(hf.engine.observer)
            for make in self._components:
                component = make(hf)
                await component.start()
                stack.push_async_callback(component.close)
            hf.engine.queue.most = self.settings.commands_max or None
            hf.engine.queue.most_of_pool = self.settings.commands_max * 3 // 4 or None
            self.hf = hf
            try:
                yield
            finally:
                self.hf = None
                self._orgs.clear()

    def clock(self) -> Clock | None:
        """The clock to go by; None is the machine's."""
        return TestClock() if self.settings.test_clock else None

    def stop(self) -> None:
        """From now on nothing new is begun; what was accepted is finished."""
        self.stopping = True
        for task in self.cut_short:
            task.cancel()
        if self.hf is not None:
            self.watcher.end_streams()

    # What endpoints ask of it.

    def open_hf(self) -> Fairhold:
        if self.hf is None:
            detail = "This process is being stopped." if self.stopping else self.waiting_for
            raise later("unavailable", detail)
        return self.hf

    def hf_of(self, hf: Fairhold, org: str) -> Fairhold:
        """The library as an org sees it, kept for the next time. Who has not signed in is in none: ""."""
        view = self._orgs.get(org)
        if view is None or view.store is not hf.store:
            view = self._orgs[org] = as_org(hf, org)
            if len(self._orgs) > _ORGS_MAX:
                self._orgs.popitem(last=False)
        return view

    def throttle(self, access: Access, address: str, now: float) -> None:
        """Per key; and where a key is everybody's, per address."""
        wait = self._per_key.take(access.key, now) if access.key else 0.0
        if access.role == PUBLIC or access is NOBODY:
            wait = max(wait, self._per_address.take(whose(address), now))
        if wait:
            raise slow_down(wait)

    def source_of(self, hf: Fairhold, address: str) -> Source:
        """Where a request with a public key comes from, and how many holds that may have."""
        settings = self.settings
        name = tokens.source(hf.secret, whose(address))
        return Source(name, settings.holds_per_address_max, settings.holds_per_party_max)

    @contextmanager
    def in_flight(self, org: str, key: str) -> Iterator[None]:
        """Refuse a request whose twin is still under way."""
        if (org, key) in self._in_flight:
            detail = "The first request with this idempotency key has not been answered yet. Ask again."
            raise later("idempotency_in_flight", detail, "Idempotency-Key")
        self._in_flight.add((org, key))
        try:
            yield
        finally:
            self._in_flight.discard((org, key))

    # Requests.

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        if scope["type"] != "http":
            return
        visit = scope["fairhold"] = Visit(_request_id(scope), scope["method"], _address(scope))
        if self.tracing is None:
            await self._serve(scope, receive, send, visit)
        else:
            with self.tracing.request(scope["headers"], visit):
                await self._serve(scope, receive, send, visit)

    async def _serve(self, scope: Any, receive: Any, send: Send, visit: Visit) -> None:
        started = asyncio.get_running_loop().time()
        try:
            await self._router(scope, receive, send)  # type: ignore[arg-type]
        except Exception:
            log.exception("a request failed", extra={"request_id": visit.request_id})
            if not visit.status:
                problem = Problem("failed", "Something of ours went wrong.")
                visit.code = problem.code
                await respond(send, visit, problem.status, problem.body(), MEDIA_TYPE)
        finally:
            self._note(visit, asyncio.get_running_loop().time() - started)

    def _note(self, visit: Visit, took_s: float) -> None:
        self.metrics.visited(visit, took_s)
        if self._request_log is not None:
            self._request_log.note(visit, took_s)

    def _routes(self) -> list[Route]:
        paths: dict[str, dict[str, Operation]] = {}
        for operation in self.operations:
            paths.setdefault(operation.path, {})[operation.method] = operation
        routes = [
            Route(_WITH_SLASHES.sub(r"{\1:path}", path), Endpoint(self, operations))
            for path, operations in paths.items()
        ]
        pages: dict[str, Page] = {
            "/healthz": health.healthz,
            "/readyz": health.readyz,
            "/metrics": metrics.metrics,
            "/openapi.json": docs.openapi,
            "/docs": docs.docs,
            "/docs/docs.js": docs.docs_script,
            "/docs/docs.css": docs.docs_style,
        }
        routes += [Route(path, _Page(self, page)) for path, page in pages.items()]
        return routes + self.site()

    def site(self) -> list[Route]:
        """The pages."""
        return site.routes(self) + console.routes(self)


def operations_of(settings: Settings) -> tuple[Operation, ...]:
    """All of the API, the most asked first."""
    parts: list[Sequence[Operation]] = [
        bookings.OPERATIONS,
        offers.OPERATIONS,
        pools.OPERATIONS,
        looking_back.OPERATIONS,
        units.OPERATIONS,
        stats.OPERATIONS,
        stream.OPERATIONS,
        keys.OPERATIONS,
        session.OPERATIONS,
        members.OPERATIONS,
        origins.OPERATIONS,
        messages.OPERATIONS,
        templates.OPERATIONS,
        webhooks.OPERATIONS,
        keeping.OPERATIONS,
        retention.OPERATIONS,
    ]
    if settings.test_clock:
        parts.append(clock.OPERATIONS)
    return tuple(operation for part in parts for operation in part)


class _Page:
    """A page that needs no key and is only looked at."""

    def __init__(self, service: Service, page: Page) -> None:
        self._service = service
        self._page = page

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        visit: Visit = scope["fairhold"]
        if scope["method"] not in ("GET", "HEAD"):
            problem = Problem(
                "method_not_allowed", "This can only be looked at.", headers=((b"allow", b"GET, HEAD"),)
            )
            await respond(send, visit, problem.status, problem.body(), MEDIA_TYPE, problem.headers)
            return
        visit.operation = self._page.__name__
        await self._page(self._service, scope, send)


def _request_id(scope: Any) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value.decode())
    return secrets.token_hex(8)


def _address(scope: Any) -> str:
    client = scope.get("client")
    return client[0] if client else ""
