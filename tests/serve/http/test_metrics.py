"""`/metrics`: the server's figures, where it keeps any."""

from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pytest
from prometheus_client.parser import text_string_to_metric_families

from http_peer import HttpPeer, HttpServer
from serve.http.talk import ERAS, eventually, serving


@pytest.fixture(scope="module")
def counting() -> Iterator[HttpServer]:
    with serving("--telemetry", "--grace", "0.2") as running:
        yield running
    assert "Traceback" not in running.stderr


def get(server: HttpServer, path: str, **headers: str) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response, body


def calls(server: HttpServer, tool: str, outcome: str) -> float:
    _, body = get(server, "/metrics")
    for family in text_string_to_metric_families(body):
        for sample in family.samples:
            labels = {"tool": tool, "outcome": outcome}
            if sample.name == "accord_calls_total" and sample.labels == labels:
                return float(sample.value)
    return 0.0


@pytest.mark.parametrize("revision", ERAS)
def test_a_call_is_counted_by_its_outcome(counting: HttpServer, revision: str) -> None:
    before = calls(counting, "echo", "success")
    with HttpPeer(counting.port, revision) as peer:
        peer.call("echo", word="a word")
    assert eventually(lambda: calls(counting, "echo", "success") == before + 1)


def test_it_is_openmetrics_where_that_is_asked_for(counting: HttpServer) -> None:
    response, body = get(counting, "/metrics", Accept="application/openmetrics-text")
    assert response.status == 200
    assert str(response.headers["content-type"]).startswith("application/openmetrics-text")
    assert body.endswith("# EOF\n")


def test_it_is_kept_from_other_sites(counting: HttpServer) -> None:
    response, body = get(counting, "/metrics", Origin="http://elsewhere.example")
    assert response.status == 403
    assert "accord_calls_total" not in body


def test_a_server_that_does_not_count_has_none(server: HttpServer) -> None:
    response, body = get(server, "/metrics")
    assert response.status == 404
    assert "--telemetry" in body


def test_a_call_in_a_thread_that_is_taken_back_is_counted_once_as_cancelled(
    counting: HttpServer,
) -> None:
    with HttpPeer(counting.port, "2025-11-25") as peer, peer.again() as other:
        peer.send(peer.calling("block", id="b", name="counted", until="counted once"))
        other.call("when", name="counted began")
        other.notify("notifications/cancelled", {"requestId": "b"})
        peer.receive()
        other.call("mark", name="counted once")
        other.call("when", name="counted ended")
    assert eventually(lambda: calls(counting, "block", "cancelled") == 1)
    assert calls(counting, "block", "internal") == 0
