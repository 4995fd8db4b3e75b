"""The stats as Prometheus reads them."""

from collections.abc import Callable, Iterable

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_plain

from accord.telemetry import DURATION_BOUNDS, OUTCOMES, Telemetry
from accord.telemetry.prometheus import exposition

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
OF_PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
Parse = Callable[[str], Iterable[Metric]]

FORMATS = pytest.mark.parametrize(
    ("accept", "parse"), [(None, parse_plain), (OF_PROMETHEUS, parse_openmetrics)]
)
ODD_NAMES = ["a.b-c_D", 'say "hi"', "back\\slash", "two\nlines", "größe", "{tool}", "a,b=c", ""]


def samples(body: bytes, parse: Parse) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = parse(body.decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def labels(**named: str) -> frozenset[tuple[str, str]]:
    return frozenset(named.items())


@FORMATS
def test_every_figure_is_read_back(accept: str | None, parse: Parse) -> None:
    telemetry = Telemetry()
    for ending, size in [("success", 100), ("success", 20), ("not_found", 3)]:
        telemetry.begin("orders").end(ending, size)  # type: ignore[arg-type]
    telemetry.begin("add").end("success", 1)
    read = samples(exposition(telemetry.snapshot(), accept)[0], parse)
    stats = telemetry.snapshot()["orders"]
    for outcome in OUTCOMES:
        counted = read["accord_calls_total", labels(tool="orders", outcome=outcome)]
        assert counted == stats.outcomes[outcome]
    assert read["accord_sent_bytes_total", labels(tool="orders")] == 123
    assert read["accord_call_duration_seconds_count", labels(tool="orders")] == 3
    assert read["accord_call_duration_seconds_sum", labels(tool="orders")] == stats.seconds
    assert read["accord_calls_total", labels(tool="add", outcome="success")] == 1


@FORMATS
def test_a_bucket_holds_all_that_took_no_longer(accept: str | None, parse: Parse) -> None:
    telemetry = Telemetry()
    for _ in range(5):
        telemetry.begin("orders").end("success", 0)
    read = samples(exposition(telemetry.snapshot(), accept)[0], parse)
    bounds = [*map(str, DURATION_BOUNDS), "+Inf"]
    counted = [
        read["accord_call_duration_seconds_bucket", labels(tool="orders", le=bound)]
        for bound in bounds
    ]
    assert counted == sorted(counted)
    assert counted[-1] == 5


@FORMATS
@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_odd_name_comes_back_as_it_was(accept: str | None, parse: Parse, name: str) -> None:
    telemetry = Telemetry()
    telemetry.begin(name).end("success", 7)
    read = samples(exposition(telemetry.snapshot(), accept)[0], parse)
    assert read["accord_sent_bytes_total", labels(tool=name)] == 7
    assert read["accord_calls_total", labels(tool=name, outcome="success")] == 1


@FORMATS
def test_no_calls_are_no_samples(accept: str | None, parse: Parse) -> None:
    assert samples(exposition({}, accept)[0], parse) == {}


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (None, PLAIN),
        ("", PLAIN),
        ("*/*", PLAIN),
        ("text/plain", PLAIN),
        ("text/plain; version=what", PLAIN),
        ("application/openmetrics-text", OPENMETRICS),
        ("text/html, Application/OpenMetrics-Text;q=0.5", OPENMETRICS),
        ("application/openmetrics-text; version=what", OPENMETRICS),
        ("application/openmetrics-text; version=2.odd", OPENMETRICS),
        (OF_PROMETHEUS, OPENMETRICS),
    ],
)
def test_the_format_is_what_was_asked_for(accept: str | None, content_type: str) -> None:
    body, answered = exposition({}, accept)
    assert answered.removesuffix("; escaping=underscores") == content_type
    assert body.endswith(b"# EOF\n") == (content_type == OPENMETRICS)
