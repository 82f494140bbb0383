"""The same client for programs without an event loop.

Law: one implementation. The coroutines of `AsyncClient` never wait here, for what they wait for is done at
once by a connection that blocks; so each runs to its end in one step.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from copy import copy
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

import httpx2 as httpx

from fairhold.changes import BookingChange, PoolChange
from fairhold.client.answers import failure_of, is_a
from fairhold.client.methods import AsyncClient
from fairhold.core.refusals import Refusal
from fairhold.shapes import Outcome
from fairhold.unlogged import unlogged

P = ParamSpec("P")
R = TypeVar("R")


class _Blocking(AsyncClient):
    """The client on a connection that blocks."""

    def _open(self, **options: Any) -> None:
        self._blocking = httpx.Client(**options)

    async def _hang_up(self) -> None:
        self._blocking.close()

    async def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        with unlogged():
            return self._blocking.request(method, path, content=body, headers=dict(headers))

    async def _sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251  # no event loop is here to be kept waiting

    async def _lines(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[str]:
        timeout = httpx.Timeout(15.0, read=60.0)
        with self._blocking.stream(method="GET", url=path, headers=dict(headers), timeout=timeout) as answer:
            if not is_a("text/event-stream", answer):
                answer.read()
                raise failure_of(answer)
            for line in answer.iter_lines():
                yield line


def _done(coroutine: Coroutine[Any, Any, R]) -> R:
    """What a coroutine that never waits comes to."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    coroutine.close()
    raise AssertionError("a blocking client does not wait")


def _sync(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Client, P], R]:
    def call(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return _done(method(self._client, *args, **kwargs))

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class Client:
    """The service, for programs without an event loop."""

    def __init__(self, url: str, key: str = "", **options: Any) -> None:
        self._client = _Blocking(url, key, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        _done(self._client.close())

    def dry_run(self, ask: Callable[[Client], object]) -> Outcome | Refusal:
        """What any change would do, without doing it; see `AsyncClient.dry_run`."""
        rehearsal = copy(self)
        with self._client._rehearsed() as rehearsal._client:
            return cast("Outcome | Refusal", ask(rehearsal))

    def stream(
        self, *, pool: str | None = None, last_event_id: str = ""
    ) -> Iterator[BookingChange | PoolChange | None]:
        """Bookings and pools as they change; see `AsyncClient.stream`."""
        changes = self._client.stream(pool=pool, last_event_id=last_event_id)
        while True:
            yield _done(changes.__anext__())  # type: ignore[arg-type]

    clock = _sync(AsyncClient.clock)
    advance = _sync(AsyncClient.advance)
    create_pool = _sync(AsyncClient.create_pool)
    change_pool = _sync(AsyncClient.change_pool)
    pool = _sync(AsyncClient.pool)
    pools = _sync(AsyncClient.pools)
    add_units = _sync(AsyncClient.add_units)
    units = _sync(AsyncClient.units)
    close_unit = _sync(AsyncClient.close_unit)
    fill = _sync(AsyncClient.fill)
    line = _sync(AsyncClient.line)
    log = _sync(AsyncClient.log)
    history = _sync(AsyncClient.history)
    numbers = _sync(AsyncClient.numbers)
    stats = _sync(AsyncClient.stats)
    org_stats = _sync(AsyncClient.org_stats)
    openings = _sync(AsyncClient.openings)
    resolve = _sync(AsyncClient.resolve)
    book = _sync(AsyncClient.book)
    booking = _sync(AsyncClient.booking)
    bookings = _sync(AsyncClient.bookings)
    explain = _sync(AsyncClient.explain)
    change_booking = _sync(AsyncClient.change_booking)
    confirm = _sync(AsyncClient.confirm)
    cancel = _sync(AsyncClient.cancel)
    extend = _sync(AsyncClient.extend)
    offer = _sync(AsyncClient.offer)
    move = _sync(AsyncClient.move)
    put_back = _sync(AsyncClient.put_back)
    offer_of = _sync(AsyncClient.offer_of)
    claim = _sync(AsyncClient.claim)
    decline = _sync(AsyncClient.decline)
    create_key = _sync(AsyncClient.create_key)
    keys = _sync(AsyncClient.keys)
    revoke_key = _sync(AsyncClient.revoke_key)
    sign_in = _sync(AsyncClient.sign_in)
    accept_invitation = _sync(AsyncClient.accept_invitation)
    session = _sync(AsyncClient.session)
    sign_out = _sync(AsyncClient.sign_out)
    change_password = _sync(AsyncClient.change_password)
    add_member = _sync(AsyncClient.add_member)
    members = _sync(AsyncClient.members)
    member = _sync(AsyncClient.member)
    change_member = _sync(AsyncClient.change_member)
    invite_member = _sync(AsyncClient.invite_member)
    remove_member = _sync(AsyncClient.remove_member)
    sign_out_member = _sync(AsyncClient.sign_out_member)
    messages = _sync(AsyncClient.messages)
    messages_about = _sync(AsyncClient.messages_about)
    message = _sync(AsyncClient.message)
    dead_letters = _sync(AsyncClient.dead_letters)
    replay = _sync(AsyncClient.replay)
    dismiss = _sync(AsyncClient.dismiss)
    add_webhook = _sync(AsyncClient.add_webhook)
    webhooks = _sync(AsyncClient.webhooks)
    webhook = _sync(AsyncClient.webhook)
    change_webhook = _sync(AsyncClient.change_webhook)
    remove_webhook = _sync(AsyncClient.remove_webhook)
    rotate_webhook = _sync(AsyncClient.rotate_webhook)
    test_webhook = _sync(AsyncClient.test_webhook)
    deliveries = _sync(AsyncClient.deliveries)
    replay_delivery = _sync(AsyncClient.replay_delivery)
    templates = _sync(AsyncClient.templates)
    template = _sync(AsyncClient.template)
    set_template = _sync(AsyncClient.set_template)
    drop_template = _sync(AsyncClient.drop_template)
    preview = _sync(AsyncClient.preview)
    staff_contacts = _sync(AsyncClient.staff_contacts)
    origins = _sync(AsyncClient.origins)
    allow_origin = _sync(AsyncClient.allow_origin)
    remove_origin = _sync(AsyncClient.remove_origin)
    add_staff_contact = _sync(AsyncClient.add_staff_contact)
    remove_staff_contact = _sync(AsyncClient.remove_staff_contact)
    export_bookings = _sync(AsyncClient.export_bookings)
    export_line = _sync(AsyncClient.export_line)
    import_csv = _sync(AsyncClient.import_csv)
    retention = _sync(AsyncClient.retention)
    set_retention = _sync(AsyncClient.set_retention)
    export_party = _sync(AsyncClient.export_party)
    erase_party = _sync(AsyncClient.erase_party)
