"""A view's request has the same attributes as one of Django's own."""

from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import QueryDict

from accord.sources.drf.requests import ViewCall, ViewRequest

META = {
    "HTTP_ACCEPT_LANGUAGE": "de",
    "HTTP_X_TRACE_ID": "7",
    "REMOTE_ADDR": "127.0.0.1",
    "SERVER_NAME": "localhost",
    "wsgi.url_scheme": "http",
}


def pair(query: str = "", more: dict[str, Any] | None = None) -> tuple[ViewRequest, WSGIRequest]:
    """One of ours, and Django's own of the same environment."""
    ours = ViewRequest(META | (more or {}), ViewCall("get", "/things/", query))
    return ours, WSGIRequest(ours.META.copy())


@pytest.mark.parametrize(
    "name",
    [
        *("accept", "Accept", "ACCEPT-LANGUAGE", "accept_language", "x-trace-id", "X_Trace_Id"),
        *("content-type", "content-length", "remote-addr", "http-accept", "absent", ""),
    ],
)
def test_a_header_is_found_by_the_same_names_as_in_django(name: str) -> None:
    ours, djangos = pair(more={"CONTENT_TYPE": "text/plain"})
    assert ours.headers.get(name, "none") == djangos.headers.get(name, "none")
    assert (name in ours.headers) is (name in djangos.headers)


def test_headers_of_any_case_are_found() -> None:
    ours, djangos = pair(more={"HTTP_x-Odd": "1"})
    assert ours.headers["X-Odd"] == djangos.headers["X-Odd"] == "1"
    with pytest.raises(KeyError):
        ours.headers["X-Absent"]


def test_headers_equal_those_of_django() -> None:
    ours, djangos = pair(more={"CONTENT_TYPE": "text/plain"})
    assert list(ours.headers.items()) == list(djangos.headers.items())
    assert ours.headers == djangos.headers
    assert (len(ours.headers), repr(ours.headers)) == (len(djangos.headers), repr(djangos.headers))


def test_headers_are_a_snapshot_of_the_first_access() -> None:
    for request in pair():
        assert "X-Late" not in request.headers
        request.META["HTTP_X_LATE"] = "1"
        request.META["HTTP_ACCEPT"] = "text/html"
        assert "X-Late" not in request.headers
        assert request.headers["Accept"] == "application/json"


@pytest.mark.parametrize("query", ["", "a=1&a=2&b=", "a=%C3%A9"])
def test_a_query_equals_that_of_django(query: str) -> None:
    ours, djangos = pair(query)
    assert ours.GET == djangos.GET == QueryDict(query)
    assert ours.GET.encoding == djangos.GET.encoding
    assert ours.GET.urlencode() == djangos.GET.urlencode()
    with pytest.raises(AttributeError, match="immutable"):
        ours.GET["a"] = "3"
    copy = ours.GET.copy()
    copy["a"] = "3"
    assert ours.GET == djangos.GET


def test_no_two_requests_share_an_empty_query() -> None:
    (one, _), (other, _) = pair(), pair()
    one.GET._mutable = True
    one.GET["a"] = "1"
    assert not other.GET


def test_a_query_is_read_anew_in_another_encoding() -> None:
    for request in pair("a=%E9"):
        assert request.GET["a"] == "\N{REPLACEMENT CHARACTER}"
        request.encoding = "latin-1"
        assert request.GET["a"] == "é"
    for request in pair():
        request.encoding = "latin-1"
        assert request.GET.encoding == "latin-1"


def test_a_request_without_a_body_is_empty() -> None:
    ours, _ = pair()
    assert (ours.body, ours.read(), ours.META["wsgi.input"].read()) == (b"", b"", b"")
