"""Without the extra: counters work, and the rest names the install command."""

import importlib
import sys

import pytest

from accord.errors import ContractError
from accord.telemetry import Telemetry

REQUIRED = "^the extra telemetry is required for "


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("opentelemetry", "prometheus_client"):
        loaded = [name for name in sys.modules if name.startswith(f"{package}.")]
        for name in (package, *loaded):
            monkeypatch.setitem(sys.modules, name, None)
    for ours in ("accord.telemetry.spans", "accord.telemetry.prometheus"):
        monkeypatch.delitem(sys.modules, ours, raising=False)


def test_counters_need_no_extra() -> None:
    telemetry = Telemetry()
    telemetry.begin("orders", "2025-11-25", b'{"traceparent":"00-1-2-01"}').end("success", 10)
    assert telemetry.snapshot()["orders"].calls == 1


def test_spans_name_the_command_that_installs_them() -> None:
    with pytest.raises(ContractError, match=f"{REQUIRED}OpenTelemetry spans: "):
        Telemetry(spans=True)


def test_metrics_name_the_command_that_installs_them() -> None:
    with pytest.raises(ContractError, match=f"{REQUIRED}Prometheus metrics: "):
        importlib.import_module("accord.telemetry.prometheus")
