"""OpenTelemetry, for whoever has it: spans for requests, commands, commits and deliveries.

    pip install 'fairhold[otel]'

Nothing of it is imported until it is asked for: by a program that calls `trace`, or by the service where the
environment says where traces go. A span has names, kinds, counts and codes; never a key, a token, a path or
anything of a person.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from fairhold.clock import wall_ns
from fairhold.core.refusals import Refusal
from fairhold.errors import ExtraMissing
from fairhold.extras import needs
from fairhold.observe import Observer

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

    from fairhold.answers import Answer
    from fairhold.core.commands import Command
    from fairhold.engine.jobs import Job
    from fairhold.http.visit import Visit
    from fairhold.library import Fairhold

log = logging.getLogger("fairhold")

_TRACES: Final = "OpenTelemetry"
_SERVER_FAILED: Final = 500
_LINKS_MAX: Final = 128
# Any of OpenTelemetry's own variables by which somebody says where traces go.
_WHERE: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_TRACES_EXPORTER",
)


def trace(hf: Fairhold, provider: TracerProvider | None = None) -> None:
    """Tell OpenTelemetry what this Fairhold does: the given provider, or the program's own."""
    hf.engine.observer = Tracing(provider).observer(hf.engine.observer)


def from_environment() -> Tracing | None:
    """As OpenTelemetry's variables say; None if they say nothing, or it is not installed."""
    said = {name: os.environ.get(name, "") for name in _WHERE}
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if off or not any(said.values()) or said["OTEL_TRACES_EXPORTER"] == "none":
        return None
    try:
        with needs("otel", _TRACES):
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ExtraMissing as error:
        log.warning("no traces are sent, though the environment asks for them. %s", error)
        return None
    name = os.environ.get("OTEL_SERVICE_NAME") or "fairhold"
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)


class Tracing:
    """Makes spans. Without a provider, of the one that the program has set up."""

    def __init__(self, provider: Any = None) -> None:
        with needs("otel", _TRACES):
            from opentelemetry import propagate
            from opentelemetry import trace as api

        self.api = api
        self.tracer = api.get_tracer("fairhold", tracer_provider=provider)
        self._extract = propagate.extract
        self._provider = provider

    def observer(self, inner: Observer) -> Observer:
        return _Traced(self, inner)

    @contextmanager
    def request(self, headers: Sequence[tuple[bytes, bytes]], visit: Visit) -> Iterator[None]:
        """A request; what it asks for, and who called it in another process, belong to the same trace."""
        carried = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        known = {name: carried[name] for name in ("traceparent", "tracestate") if name in carried}
        parent, kind = self._extract(known), self.api.SpanKind.SERVER
        with self.tracer.start_as_current_span("request", parent, kind=kind) as span:
            yield
            span.update_name(visit.operation)
            span.set_attributes(
                {
                    "http.request.method": visit.method,
                    "http.response.status_code": visit.status,
                    "fairhold.request_id": visit.request_id,
                    "fairhold.org": visit.org,
                    "fairhold.code": visit.code,
                }
            )
            if visit.status >= _SERVER_FAILED:
                self.failed(span, visit.code)

    def close(self) -> None:
        """Send what is left. It may take a few seconds."""
        if self._provider is not None:
            self._provider.shutdown()

    def failed(self, span: Span, what: str) -> None:
        span.set_status(self.api.StatusCode.ERROR, what)


class _Traced(Observer):
    """Hears of the engine's work, makes spans of it, and passes it on."""

    def __init__(self, tracing: Tracing, inner: Observer) -> None:
        self._tracing = tracing
        self._inner = inner

    def accepted(self, command: Command) -> Any:
        return self._tracing.tracer.start_span(type(command).__name__)

    def answered(self, answers: Sequence[tuple[Job, Answer | Exception]]) -> None:
        self._inner.answered(answers)
        for job, answer in answers:
            if job.note is None:
                continue
            if isinstance(answer, Refusal):
                job.note.set_attribute("fairhold.refused", answer.code)
            elif isinstance(answer, Exception):
                self._tracing.failed(job.note, type(answer).__name__)
            job.note.end()

    def committed(self, jobs: Sequence[Job], pools: int, commit_s: float) -> None:
        self._inner.committed(jobs, pools, commit_s)
        link = self._tracing.api.Link
        links = [link(job.note.get_span_context()) for job in jobs[:_LINKS_MAX] if job.note is not None]
        figures = {"fairhold.commands": len(jobs), "fairhold.pools": pools}
        self._past("commit", commit_s, figures, links)

    def delivered(self, message: str, kind: str, notifier: str, state: str, took_s: float) -> None:
        self._inner.delivered(message, kind, notifier, state, took_s)
        told = {"fairhold.message": message, "fairhold.kind": kind, "fairhold.notifier": notifier}
        span = self._past("deliver", took_s, told | {"fairhold.state": state}, end=False)
        if state != "sent":
            self._tracing.failed(span, state)
        span.end()

    def _past(
        self, name: str, took_s: float, attributes: dict[str, Any], links: Any = (), *, end: bool = True
    ) -> Span:
        """A span of something that is over; it belongs to nobody's trace, for many may have come to it."""
        api, began = self._tracing.api, wall_ns() - int(took_s * 1e9)
        alone = api.set_span_in_context(api.INVALID_SPAN)
        start = self._tracing.tracer.start_span
        span = start(name, alone, attributes=attributes, links=links, start_time=began)
        if end:
            span.end()
        return span
