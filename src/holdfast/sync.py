"""The same library for callers without an event loop: one implementation, run in a thread of its own.

Callers in any number of threads share the one lane, so they are combined into the same transactions.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from holdfast.errors import Closing, Misused
from holdfast.library import Holdfast

P = ParamSpec("P")
R = TypeVar("R")


def _sync(
    method: Callable[Concatenate[Holdfast, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[SyncHoldfast, P], R]:
    def call(self: SyncHoldfast, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.run(method(self.hf, *args, **kwargs))

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class SyncHoldfast:
    """Holdfast, for threads."""

    def __init__(self, hf: Holdfast, loop: asyncio.AbstractEventLoop, thread: int | None) -> None:
        self.hf = hf
        self._loop = loop
        self._thread = thread
        self._process = os.getpid()
        self._door = threading.Lock()
        self._closed = False
        self._calls: set[Future[Any]] = set()

    def run(self, call: Coroutine[Any, Any, R]) -> R:
        """Run one of the library's coroutines and wait for its answer."""
        if os.getpid() != self._process:
            # A fork has no thread that would answer.
            call.close()
            raise Misused("this Holdfast was opened by another process: open it after the fork")
        if threading.get_ident() == self._thread:
            call.close()
            raise Misused(
                "this call would wait for itself: in a dry run, ask the Holdfast that it hands over"
            )
        with self._door:
            if self._closed:
                call.close()
                raise Closing("Holdfast is closed")
            answer = asyncio.run_coroutine_threadsafe(call, self._loop)
            self._calls.add(answer)
        try:
            return answer.result()
        finally:
            self._calls.discard(answer)

    def close(self) -> None:
        """Take no more calls, and wait for those that other threads have made."""
        with self._door:
            self._closed = True
            calls = list(self._calls)
        wait(calls)

    create_pool = _sync(Holdfast.create_pool)
    change_pool = _sync(Holdfast.change_pool)
    add_units = _sync(Holdfast.add_units)
    close_unit = _sync(Holdfast.close_unit)
    resolve = _sync(Holdfast.resolve)
    fill = _sync(Holdfast.fill)
    offer = _sync(Holdfast.offer)
    move = _sync(Holdfast.move)
    put_back = _sync(Holdfast.put_back)
    book = _sync(Holdfast.book)
    dry_run = _sync(Holdfast.dry_run)
    confirm = _sync(Holdfast.confirm)
    change_booking = _sync(Holdfast.change_booking)
    cancel = _sync(Holdfast.cancel)
    extend = _sync(Holdfast.extend)
    claim = _sync(Holdfast.claim)
    decline = _sync(Holdfast.decline)
    export_csv = _sync(Holdfast.export_csv)
    import_csv = _sync(Holdfast.import_csv)
    export_person = _sync(Holdfast.export_person)
    erase_person = _sync(Holdfast.erase_person)
    prune = _sync(Holdfast.prune)
    retention = _sync(Holdfast.retention)
    set_retention = _sync(Holdfast.set_retention)
    tick = _sync(Holdfast.tick)
    advance = _sync(Holdfast.advance)
    pool = _sync(Holdfast.pool)
    pools = _sync(Holdfast.pools)
    booking = _sync(Holdfast.booking)
    bookings = _sync(Holdfast.bookings)
    line = _sync(Holdfast.line)
    position = _sync(Holdfast.position)
    room = _sync(Holdfast.room)
    stats = _sync(Holdfast.stats)
    totals = _sync(Holdfast.totals)
    log = _sync(Holdfast.log)
    history = _sync(Holdfast.history)
    numbers = _sync(Holdfast.numbers)
    verify = _sync(Holdfast.verify)
    explain = _sync(Holdfast.explain)
    openings = _sync(Holdfast.openings)
    messages = _sync(Holdfast.messages)
    needs = _sync(Holdfast.needs)
    latest_pools = _sync(Holdfast.latest_pools)
    pool_names = _sync(Holdfast.pool_names)
    changes = _sync(Holdfast.changes)
    seats = _sync(Holdfast.seats)
    units = _sync(Holdfast.units)
    find = _sync(Holdfast.find)
    bookings_by_id = _sync(Holdfast.bookings_by_id)
    next_to_end = _sync(Holdfast.next_to_end)
    needs_count = _sync(Holdfast.needs_count)
    fates = _sync(Holdfast.fates)
    newest_bookings = _sync(Holdfast.newest_bookings)
    newest_messages = _sync(Holdfast.newest_messages)
    message = _sync(Holdfast.message)
    messages_about = _sync(Holdfast.messages_about)
    dead_letters = _sync(Holdfast.dead_letters)
    replay = _sync(Holdfast.replay)
    dismiss = _sync(Holdfast.dismiss)
    templates = _sync(Holdfast.templates)
    set_template = _sync(Holdfast.set_template)
    template = _sync(Holdfast.template)
    drop_template = _sync(Holdfast.drop_template)
    preview = _sync(Holdfast.preview)
    webhooks = _sync(Holdfast.webhooks)
    add_webhook = _sync(Holdfast.add_webhook)
    webhook = _sync(Holdfast.webhook)
    change_webhook = _sync(Holdfast.change_webhook)
    test_webhook = _sync(Holdfast.test_webhook)
    deliveries = _sync(Holdfast.deliveries)
    replay_delivery = _sync(Holdfast.replay_delivery)
    rotate_webhook = _sync(Holdfast.rotate_webhook)
    remove_webhook = _sync(Holdfast.remove_webhook)
    staff_contacts = _sync(Holdfast.staff_contacts)
    add_staff_contact = _sync(Holdfast.add_staff_contact)
    remove_staff_contact = _sync(Holdfast.remove_staff_contact)
    origins = _sync(Holdfast.origins)
    allow_origin = _sync(Holdfast.allow_origin)
    remove_origin = _sync(Holdfast.remove_origin)


@contextmanager
def open_sync(url: str | Path | None = None, **options: Any) -> Iterator[SyncHoldfast]:
    """Open a database for callers in threads; the options are those of `Holdfast.open`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="holdfast", daemon=True)
    thread.start()
    opened, process = Holdfast.open(url, **options), os.getpid()
    try:
        hf = SyncHoldfast(
            asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result(), loop, thread.ident
        )
        try:
            yield hf
        finally:
            if process == os.getpid():
                hf.close()
                asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result()
    finally:
        # What a fork has of it are copies without a thread: there is nothing to end, and nobody to wait for.
        if process == os.getpid():
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
