"""A stranger's exporter that raises never harms a call."""

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from accord import Server, Telemetry
from peer import Peer


class Broken(SpanProcessor):
    def __init__(self, moment: str) -> None:
        self._moment = moment

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self._moment == "start":
            raise RuntimeError("exporter")

    def on_end(self, span: Any) -> None:
        if self._moment == "end":
            raise RuntimeError("exporter")


@pytest.mark.parametrize("moment", ["start", "end"])
def test_a_call_is_answered_and_counted_all_the_same(
    moment: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Broken(moment))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    telemetry = Telemetry(spans=True)
    server = Server("shop", telemetry=telemetry)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    reply = Peer(server, "2025-11-25").call("add", a=2, b=3)
    assert reply["result"]["structuredContent"] == {"result": 5}
    assert telemetry.snapshot()["add"].outcomes["success"] == 1
    assert "could not" in caplog.text
    assert trace.get_current_span() is trace.INVALID_SPAN
