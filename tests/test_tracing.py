"""OpenTelemetry: what is told where it is installed and configured, and that nothing is where it is not."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator

import httpx2 as httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from fairhold import Fairhold, TestClock, granted
from fairhold.http.service import Service
from fairhold.http.settings import Settings
from fairhold.keys import ApiKey
from fairhold.outbox import Outbox
from fairhold.tracing import Tracing, from_environment, trace
from tests.database import SECRET, START
from tests.http.server import make_key, serving
from tests.notifiers.servers import mail_server, receiver
from tests.outbox.conftest import settings_for
from tests.patience import until

ANN = {"id": "ann-4711", "name": "Zelda", "contacts": {"email": "zelda@example.org"}}


class Traces:
    """A provider that keeps its spans in memory."""

    def __init__(self) -> None:
        self.kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.kept))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.kept.get_finished_spans() if span.name == name]


@pytest.fixture
def traces() -> Iterator[Traces]:
    traces = Traces()
    yield traces
    traces.provider.shutdown()


async def test_commands_commits_and_deliveries_are_told(database_url: str, traces: Traces) -> None:
    with mail_server() as mail:
        async with Fairhold.open(database_url, clock=TestClock(START), secret=SECRET) as hf:
            trace(hf, traces.provider)
            granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}))
            with traces.provider.get_tracer("the program").start_as_current_span("sale"):
                ann = granted(await hf.book("yoga", ANN))
                await hf.book("yoga", ANN)
            granted(await hf.confirm(ann.id))
            outbox = Outbox(hf, settings_for(mail))
            await outbox.send_due()
            await outbox.close()
    (sale,) = traces.named("sale")
    booked, refused = traces.named("Book")
    assert booked.parent == refused.parent == sale.context
    assert refused.attributes == {"fairhold.refused": "already_holding"}
    commits = traces.named("commit")
    linked = {link.context.span_id for span in commits for link in span.links}
    assert booked.context is not None
    assert booked.context.span_id in linked
    assert all(span.parent is None and span.attributes["fairhold.commands"] == 1 for span in commits)
    assert all(0 <= span.end_time - span.start_time < 10**10 for span in commits)
    (told,) = traces.named("deliver")
    assert told.attributes["fairhold.kind"] == "confirmed"
    assert (told.attributes["fairhold.notifier"], told.attributes["fairhold.state"]) == ("email", "sent")
    assert told.status.status_code == StatusCode.UNSET
    everything = "".join(span.to_json() for span in traces.kept.get_finished_spans())
    assert not [word for word in ("ann-4711", "Zelda", "zelda@") if word in everything]


async def test_what_fails_is_marked(sqlite_url: str, traces: Traces) -> None:
    with mail_server() as mail:
        async with Fairhold.open(sqlite_url, clock=TestClock(START)) as hf:
            trace(hf, traces.provider)
            granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 0}))
            mail.down()
            granted(await hf.book("yoga", ANN))
            outbox = Outbox(hf, settings_for(mail))
            await outbox.send_due()
            await outbox.close()
    (told,) = traces.named("deliver")
    assert (told.attributes["fairhold.state"], told.status.status_code) == ("pending", StatusCode.ERROR)


async def test_a_request_and_its_command_belong_to_the_callers_trace(sqlite_url: str, traces: Traces) -> None:
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    service = Service(Settings(database=sqlite_url), tracing=Tracing(traces.provider))
    async with service.running():
        await until(lambda: service.hf)
        made = await service.keys.create("default", "admin", "tests")
        assert isinstance(made, ApiKey)
        headers = {"Authorization": f"Bearer {made.secret}", "traceparent": f"00-{trace_id}-{span_id}-01"}
        transport = httpx.ASGITransport(app=service)
        async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
            body = {"key": "yoga", "quotas": [{"key": "main", "size": 1}]}
            assert (await client.post("/v1/pools", json=body)).status_code == 201
            assert (await client.get("/v1/pools/nowhere")).status_code == 404
    (request,), (command,) = traces.named("create_pool"), traces.named("CreatePool")
    assert request.context is not None
    assert f"{request.context.trace_id:032x}" == trace_id
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == span_id
    assert request.kind == SpanKind.SERVER
    assert request.attributes["http.response.status_code"] == 201
    assert command.parent == request.context
    (missed,) = traces.named("get_pool")
    assert missed.attributes["fairhold.code"] == "unknown"
    assert missed.status.status_code == StatusCode.UNSET, "a no is no failure"
    everything = "".join(span.to_json() for span in traces.kept.get_finished_spans())
    assert str(made.secret) not in everything
    assert "nowhere" not in everything


def test_the_service_sends_traces_where_the_environment_says(sqlite_url: str) -> None:
    with receiver() as collector:
        key = make_key(sqlite_url)
        environment = {"otel_exporter_otlp_endpoint": collector.url, "otel_service_name": "seats"}
        with serving(sqlite_url, **environment) as server, server.client(key) as client:
            client.pool("yoga", 1, "checkout")
            client.book("yoga", "ann")
            assert server.stop() == 0
            assert '"level":"error"' not in server.log()
        assert {got.path for got in collector.received} == {"/v1/traces"}
        names, services = set(), set()
        for got in collector.received:
            for resource in ExportTraceServiceRequest.FromString(
                unpacked(got.body, got.headers)
            ).resource_spans:
                services |= {
                    it.value.string_value for it in resource.resource.attributes if it.key == "service.name"
                }
                names |= {span.name for scope in resource.scope_spans for span in scope.spans}
        assert names >= {"create_pool", "CreatePool", "book", "Book", "commit"}
        assert services == {"seats"}


def unpacked(body: bytes, headers: dict[str, str]) -> bytes:
    return gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body


NOTHING = """
import asyncio, sys
from fairhold import Fairhold, granted
from fairhold.http.serve import run
from fairhold.outbox import Outbox
from fairhold.tracing import from_environment

async def main():
    async with Fairhold.open(sys.argv[1]) as hf:
        granted(await hf.create_pool("yoga", preset="checkout", quotas={"main": 1}))
        granted(await hf.book("yoga", "ann"))
        await Outbox(hf).send_due()

asyncio.run(main())
assert from_environment() is None
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""


def test_nothing_is_imported_where_nobody_asks_for_it(sqlite_url: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", NOTHING, sqlite_url], capture_output=True, text=True, check=True
    )
    assert said.stdout == "[]\n"


@pytest.mark.parametrize(
    ("environment", "on"),
    [
        ({}, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, True),
    ],
)
def test_it_is_on_where_the_environment_says_so(
    environment: dict[str, str], on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made = from_environment()
    assert (made is not None) == on
    if made is not None:
        made.close()


def test_who_asks_without_having_installed_it_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert from_environment() is None
    assert "pip install 'fairhold[otel]'" in caplog.text
