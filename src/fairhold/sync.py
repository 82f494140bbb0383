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

from fairhold.errors import Closing, Misused
from fairhold.library import Fairhold

P = ParamSpec("P")
R = TypeVar("R")


def _sync(
    method: Callable[Concatenate[Fairhold, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[SyncFairhold, P], R]:
    def call(self: SyncFairhold, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.run(method(self.hf, *args, **kwargs))

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class SyncFairhold:
    """Fairhold, for threads."""

    def __init__(self, hf: Fairhold, loop: asyncio.AbstractEventLoop, thread: int | None) -> None:
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
            raise Misused("this Fairhold was opened by another process: open it after the fork")
        if threading.get_ident() == self._thread:
            call.close()
            raise Misused(
                "this call would wait for itself: in a dry run, ask the Fairhold that it hands over"
            )
        with self._door:
            if self._closed:
                call.close()
                raise Closing("Fairhold is closed")
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

    create_pool = _sync(Fairhold.create_pool)
    change_pool = _sync(Fairhold.change_pool)
    add_units = _sync(Fairhold.add_units)
    close_unit = _sync(Fairhold.close_unit)
    resolve = _sync(Fairhold.resolve)
    fill = _sync(Fairhold.fill)
    offer = _sync(Fairhold.offer)
    move = _sync(Fairhold.move)
    put_back = _sync(Fairhold.put_back)
    book = _sync(Fairhold.book)
    dry_run = _sync(Fairhold.dry_run)
    confirm = _sync(Fairhold.confirm)
    change_booking = _sync(Fairhold.change_booking)
    cancel = _sync(Fairhold.cancel)
    extend = _sync(Fairhold.extend)
    claim = _sync(Fairhold.claim)
    decline = _sync(Fairhold.decline)
    export_csv = _sync(Fairhold.export_csv)
    import_csv = _sync(Fairhold.import_csv)
    export_person = _sync(Fairhold.export_person)
    erase_person = _sync(Fairhold.erase_person)
    prune = _sync(Fairhold.prune)
    retention = _sync(Fairhold.retention)
    set_retention = _sync(Fairhold.set_retention)
    tick = _sync(Fairhold.tick)
    advance = _sync(Fairhold.advance)
    pool = _sync(Fairhold.pool)
    pools = _sync(Fairhold.pools)
    booking = _sync(Fairhold.booking)
    bookings = _sync(Fairhold.bookings)
    line = _sync(Fairhold.line)
    position = _sync(Fairhold.position)
    room = _sync(Fairhold.room)
    stats = _sync(Fairhold.stats)
    totals = _sync(Fairhold.totals)
    log = _sync(Fairhold.log)
    history = _sync(Fairhold.history)
    numbers = _sync(Fairhold.numbers)
    verify = _sync(Fairhold.verify)
    explain = _sync(Fairhold.explain)
    openings = _sync(Fairhold.openings)
    messages = _sync(Fairhold.messages)
    needs = _sync(Fairhold.needs)
    latest_pools = _sync(Fairhold.latest_pools)
    pool_names = _sync(Fairhold.pool_names)
    changes = _sync(Fairhold.changes)
    seats = _sync(Fairhold.seats)
    units = _sync(Fairhold.units)
    find = _sync(Fairhold.find)
    bookings_by_id = _sync(Fairhold.bookings_by_id)
    next_to_end = _sync(Fairhold.next_to_end)
    needs_count = _sync(Fairhold.needs_count)
    fates = _sync(Fairhold.fates)
    newest_bookings = _sync(Fairhold.newest_bookings)
    newest_messages = _sync(Fairhold.newest_messages)
    message = _sync(Fairhold.message)
    messages_about = _sync(Fairhold.messages_about)
    dead_letters = _sync(Fairhold.dead_letters)
    replay = _sync(Fairhold.replay)
    dismiss = _sync(Fairhold.dismiss)
    templates = _sync(Fairhold.templates)
    set_template = _sync(Fairhold.set_template)
    template = _sync(Fairhold.template)
    drop_template = _sync(Fairhold.drop_template)
    preview = _sync(Fairhold.preview)
    webhooks = _sync(Fairhold.webhooks)
    add_webhook = _sync(Fairhold.add_webhook)
    webhook = _sync(Fairhold.webhook)
    change_webhook = _sync(Fairhold.change_webhook)
    test_webhook = _sync(Fairhold.test_webhook)
    deliveries = _sync(Fairhold.deliveries)
    replay_delivery = _sync(Fairhold.replay_delivery)
    rotate_webhook = _sync(Fairhold.rotate_webhook)
    remove_webhook = _sync(Fairhold.remove_webhook)
    staff_contacts = _sync(Fairhold.staff_contacts)
    add_staff_contact = _sync(Fairhold.add_staff_contact)
    remove_staff_contact = _sync(Fairhold.remove_staff_contact)
    origins = _sync(Fairhold.origins)
    allow_origin = _sync(Fairhold.allow_origin)
    remove_origin = _sync(Fairhold.remove_origin)


@contextmanager
def open_sync(url: str | Path | None = None, **options: Any) -> Iterator[SyncFairhold]:
    """Open a database for callers in threads; the options are those of `Fairhold.open`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fairhold", daemon=True)
    thread.start()
    opened, process = Fairhold.open(url, **options), os.getpid()
    try:
        hf = SyncFairhold(
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
