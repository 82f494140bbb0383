"""Figures for Prometheus: what is asked and how it ends, batches and commits, and how far behind we are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from fairhold.alarm import clock_off_s
from fairhold.core.refusals import Refusal
from fairhold.errors import FairholdError
from fairhold.http.endpoint import respond
from fairhold.observe import Observer

if TYPE_CHECKING:
    from fairhold.answers import Answer
    from fairhold.engine.jobs import Job
    from fairhold.http.service import Service
    from fairhold.http.stream import Watcher
    from fairhold.http.visit import Send, Visit

_MEDIA_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
_FRESH_S: Final = 2.0
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_STANDING: Final = {
    "fairhold_live_holds": "Holds whose time has not ended.",
    "fairhold_waiting": "Bookings in line, over all pools.",
    "fairhold_longest_line": "Bookings in the longest line.",
    "fairhold_live_offers": "Offers that wait for an answer.",
    "fairhold_due_lag_seconds": "How long the longest overdue deadline has waited to be acted on.",
    "fairhold_outbox_pending": "Messages that wait to be sent.",
    "fairhold_outbox_lag_seconds": "How long the longest overdue message has waited to be sent.",
}


class Metrics:
    """All figures of one process."""

    def __init__(self) -> None:
        self.registry = home = CollectorRegistry()
        self.requests = Counter(
            "fairhold_requests", "Requests by operation and status.", ["operation", "status"], registry=home
        )
        self.request_s = Histogram(
            "fairhold_request_seconds", "From request to answer.", buckets=_SECONDS, registry=home
        )
        self.commands = Counter(
            "fairhold_commands", "Commands by kind and outcome.", ["kind", "outcome"], registry=home
        )
        self.batch = Histogram(
            "fairhold_batch_commands", "Commands that shared a transaction.", buckets=_SIZES, registry=home
        )
        self.commit_s = Histogram(
            "fairhold_commit_seconds", "How long commits took.", buckets=_SECONDS, registry=home
        )
        self.streams = Gauge("fairhold_streams", "Streams that are open.", registry=home)
        self.tasks = Gauge(
            "fairhold_tasks", "What runs in this process: requests and streams among it.", registry=home
        )
        self.ready = Gauge("fairhold_ready", "1 if the database is open.", registry=home)
        self.clock_ahead_s = Gauge(
            "fairhold_clock_ahead_seconds",
            "How far this machine's clock is ahead; 0 if right.",
            registry=home,
        )
        self._standing = {name: Gauge(name, text, registry=home) for name, text in _STANDING.items()}
        self._read_at = -_FRESH_S
        self._counters: dict[tuple[str, int], Any] = {}

    def visited(self, visit: Visit, took_s: float) -> None:
        key = (visit.operation, visit.status)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = self.requests.labels(visit.operation, str(visit.status))
        counter.inc()
        self.request_s.observe(took_s)

    async def refresh(self, service: Service) -> None:
        """Read what stands in the database, unless that was done just now."""
        self.ready.set(service.hf is not None)
        self.tasks.set(len(asyncio.all_tasks()))
        self.streams.set(service.watcher.streams if service.hf is not None else 0)
        now = asyncio.get_running_loop().time()
        if service.hf is None or now < self._read_at + _FRESH_S:
            return
        self._read_at = now
        try:
            found = await service.hf.store.reader().rows("standing_figures", service.hf.clock.now())
            self.clock_ahead_s.set(await clock_off_s(service.hf.store, service.hf.clock))
        except FairholdError:
            self.ready.set(0)
            return
        *counts, due_ms, pending, outbox_ms = found[0]
        values = [*counts, max(0, due_ms) / 1000, pending, max(0, outbox_ms) / 1000]
        for gauge, value in zip(self._standing.values(), values, strict=True):
            gauge.set(value)


class Observed(Observer):
    """What the service does when the engine has done something: count it, and wake the streams."""

    def __init__(self, metrics: Metrics, watcher: Watcher) -> None:
        self._metrics = metrics
        self._watcher = watcher

    def committed(self, jobs: Sequence[Job], pools: int, commit_s: float) -> None:
        self._metrics.batch.observe(len(jobs))
        self._metrics.commit_s.observe(commit_s)
        self._watcher.wake()

    def answered(self, answers: Sequence[tuple[Job, Answer | Exception]]) -> None:
        counts: dict[tuple[str, str], int] = {}
        for job, answer in answers:
            key = (type(job.command).__name__, _outcome(answer))
            counts[key] = counts.get(key, 0) + 1
        for key, count in counts.items():
            self._metrics.commands.labels(*key).inc(count)


def _outcome(answer: Answer | Exception) -> str:
    if isinstance(answer, Refusal):
        return answer.code
    return type(answer).__name__ if isinstance(answer, Exception) else "done"


async def metrics(service: Service, scope: Any, send: Send) -> None:
    """For Prometheus."""
    await service.metrics.refresh(service)
    await respond(send, scope["fairhold"], 200, generate_latest(service.metrics.registry), _MEDIA_TYPE)
