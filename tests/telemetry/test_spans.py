"""Calls as OpenTelemetry spans, as its SDK records them."""

import asyncio
import contextvars
import logging
from collections.abc import Iterator

import pytest
from opentelemetry import baggage, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from accord.model.answer import KINDS, Answer, Kind, Problem
from accord.telemetry import OUTCOMES, OutcomeLabel, Telemetry, outcome_label

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
META = f'{{"progressToken":7,"traceparent":"00-{TRACE}-{PARENT}-01","baggage":"tenant=7"}}'.encode()


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> TracerProvider:
    """A configured SDK; not for the whole process, where others' clients would begin to trace."""
    provider = TracerProvider(shutdown_on_exit=False)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return provider


@pytest.fixture
def exporter(provider: TracerProvider) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    assert trace.get_current_span() is trace.INVALID_SPAN, "a span was left behind"


def only(exporter: InMemorySpanExporter) -> ReadableSpan:
    (span,) = exporter.get_finished_spans()
    return span


def test_a_call_is_a_span_after_the_conventions(exporter: InMemorySpanExporter) -> None:
    watch = Telemetry(spans=True).begin("orders", "2025-11-25")
    watch.end("success", 10)
    span = only(exporter)
    assert (span.name, span.kind) == ("tools/call orders", SpanKind.SERVER)
    assert dict(span.attributes or {}) == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2025-11-25",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "orders",
        "accord.request_id": watch.request_id,
        "accord.outcome": "success",
    }
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == "accord"


@pytest.mark.parametrize("ending", OUTCOMES)
def test_a_problem_and_nothing_else_marks_the_span_as_failed(
    exporter: InMemorySpanExporter, ending: OutcomeLabel
) -> None:
    Telemetry(spans=True).begin("orders").end(ending, 10)
    span = only(exporter)
    attributes = span.attributes or {}
    failed = ending in KINDS
    assert attributes["accord.outcome"] == ending
    assert attributes.get("error.type") == (ending if failed else None)
    assert span.status.status_code is (StatusCode.ERROR if failed else StatusCode.UNSET)
    assert span.status.description == (ending if failed else None)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_problem_says_is_not_in_the_span(exporter: InMemorySpanExporter, kind: Kind) -> None:
    problem = Problem("card 4111 1111 was refused", kind=kind, remediation="use card 5500")
    Telemetry(spans=True).begin("pay").end(outcome_label(problem), 10)
    recorded = only(exporter).to_json()
    assert "4111 1111" not in recorded
    assert "5500" not in recorded
    assert only(exporter).events == ()


def test_a_call_is_counted_as_without_spans(exporter: InMemorySpanExporter) -> None:
    telemetry = Telemetry(spans=True)
    watch = telemetry.begin("orders")
    watch.end("timeout", 10)
    watch.end("success", 10)
    assert telemetry.snapshot()["orders"].outcomes["timeout"] == 1
    assert telemetry.snapshot()["orders"].calls == 1
    assert only(exporter).status.description == "timeout"


def test_spans_of_the_tool_are_children_and_those_after_it_are_not(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    tracer = provider.get_tracer("shop")
    watch = Telemetry(spans=True).begin("orders")
    with tracer.start_as_current_span("query"):
        pass
    watch.end("success", 10)
    with tracer.start_as_current_span("later"):
        pass
    query, call, later = exporter.get_finished_spans()
    assert query.parent == call.context
    assert (call.parent, later.parent) == (None, None)


def test_calls_at_once_do_not_mix(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    telemetry, tracer = Telemetry(spans=True), provider.get_tracer("shop")

    async def call(number: int, here: asyncio.Barrier) -> None:
        watch = telemetry.begin(f"tool_{number}")
        await here.wait()
        with tracer.start_as_current_span(f"child_{number}"):
            await here.wait()
        await here.wait()
        watch.end("internal" if number % 2 else "success", number)

    async def all_at_once() -> None:
        here = asyncio.Barrier(10)
        await asyncio.gather(*(call(number, here) for number in range(10)))

    asyncio.run(all_at_once())
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert len(spans) == 20
    for number in range(10):
        outer = spans[f"tools/call tool_{number}"]
        assert spans[f"child_{number}"].parent == outer.context
        assert outer.parent is None
        assert (outer.status.status_code is StatusCode.ERROR) == bool(number % 2)


def test_a_call_may_end_in_another_context(
    exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = Telemetry(spans=True)
    elsewhere, copied = contextvars.Context(), contextvars.Context()
    elsewhere.run(telemetry.begin, "orders").end("cancelled", 0)
    watch = copied.run(telemetry.begin, "orders")
    copied.copy().run(watch.end, "cancelled", 0)
    assert len(exporter.get_finished_spans()) == 2
    assert caplog.record_tuples == []


def test_a_span_of_the_process_is_the_parent_and_current_again(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    with provider.get_tracer("web").start_as_current_span("POST /mcp") as outer:
        watch = Telemetry(spans=True).begin("orders", meta=b'{"progressToken":7}')
        assert trace.get_current_span() is not outer
        watch.end("success", 10)
        assert trace.get_current_span() is outer
    call = exporter.get_finished_spans()[0]
    assert call.parent == outer.get_span_context()
    assert list(call.links) == []


def test_the_trace_of_the_caller_goes_on(exporter: InMemorySpanExporter) -> None:
    watch = Telemetry(spans=True).begin("orders", meta=META)
    assert baggage.get_baggage("tenant") == "7"
    watch.end("success", 10)
    assert baggage.get_baggage("tenant") is None
    parent = only(exporter).parent
    assert parent is not None
    assert (f"{parent.trace_id:032x}", f"{parent.span_id:016x}") == (TRACE, PARENT)
    assert list(only(exporter).links) == []


def test_a_span_of_the_process_is_linked_where_the_caller_has_one(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    with provider.get_tracer("web").start_as_current_span("POST /mcp") as outer:
        Telemetry(spans=True).begin("orders", meta=META).end("success", 10)
    call = exporter.get_finished_spans()[0]
    assert call.parent is not None
    assert f"{call.parent.span_id:016x}" == PARENT
    assert [link.context for link in call.links] == [outer.get_span_context()]


@pytest.mark.parametrize(
    "meta",
    [
        b"null",
        b"[]",
        b"no JSON",
        b'{"traceparent":7}',
        b'{"traceparent":"00-0-0-01"}',
        b'{"traceparent":"\xff"}',
        b'{"deep":' + b"[" * 100_000,
    ],
)
def test_a_caller_who_speaks_of_no_trace_gets_a_new_one(
    exporter: InMemorySpanExporter, meta: bytes
) -> None:
    Telemetry(spans=True).begin("orders", meta=meta).end("success", 10)
    assert only(exporter).parent is None


def test_without_an_sdk_nothing_is_recorded_and_calls_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    telemetry = Telemetry(spans=True)
    watch = telemetry.begin("orders", "2025-11-25", META)
    assert not trace.get_current_span().is_recording()
    watch.end(outcome_label(Answer("text")), 10)
    assert telemetry.snapshot()["orders"].calls == 1
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert caplog.record_tuples == []
