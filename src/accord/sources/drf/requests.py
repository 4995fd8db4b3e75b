"""The request that a view gets: the one that its URL would get from the same caller over HTTP."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlencode

from django.conf import settings
from django.core.handlers.wsgi import LimitedStream, WSGIRequest
from django.http import HttpRequest, QueryDict
from django.http.request import HttpHeaders, split_domain_port, validate_host
from django.utils.functional import cached_property

from accord.sources.drf.bodies import Body

_OF_THE_MESSAGE: Final = frozenset(
    "HTTP_ACCEPT HTTP_ACCEPT_ENCODING HTTP_CONNECTION HTTP_CONTENT_ENCODING HTTP_EXPECT HTTP_RANGE"
    " HTTP_TE HTTP_TRAILER HTTP_TRANSFER_ENCODING HTTP_UPGRADE HTTP_IF_MATCH HTTP_IF_NONE_MATCH"
    " HTTP_IF_MODIFIED_SINCE HTTP_IF_UNMODIFIED_SINCE HTTP_IF_RANGE HTTP_X_HTTP_METHOD_OVERRIDE"
    " HTTP_MCP_PROTOCOL_VERSION HTTP_MCP_SESSION_ID HTTP_MCP_METHOD HTTP_MCP_NAME"
    " HTTP_LAST_EVENT_ID HTTP_CONTENT_TYPE HTTP_CONTENT_LENGTH CONTENT_TYPE CONTENT_LENGTH"
    " REQUEST_URI RAW_URI SCRIPT_URL REDIRECT_URL PATH_TRANSLATED".split()
)
"""What speaks of MCP's own message, not of what a view is asked."""
_OF_THE_OUTER: Final = frozenset(
    "environ scope META path path_info method resolver_match content_type content_params encoding"
    " GET POST COOKIES FILES urlconf headers accepted_types accepted_types_by_precedence"
    " _encoding _stream _read_started _body _post _files _upload_handlers _post_parse_error"
    " csrf_processing_done script_name body_receive_timeout".split()
)
"""What a request says of itself; everything else on it was put there by middleware."""


class Ask:
    """What is asked of a view."""

    __slots__ = ("accept", "body", "method", "path", "query")

    def __init__(
        self,
        method: str,
        path: str,
        query: str = "",
        body: Body | None = None,
        accept: str = "application/json",
    ) -> None:
        self.accept = accept
        self.method = method.upper()
        self.path = path
        self.query = query
        self.body = body


def within(outer: HttpRequest, ask: Ask) -> "Request":
    """A request inside another: from the same caller, with all that middleware found out."""
    meta = {k: v for k, v in outer.META.items() if k not in _OF_THE_MESSAGE}
    if "wsgi.url_scheme" not in meta:  # under ASGI
        meta["wsgi.url_scheme"] = outer.scheme
    return Request(meta, ask, {k: v for k, v in vars(outer).items() if k not in _OF_THE_OUTER})


def alone(sender: Any, ask: Ask, user: Any = None) -> "Request":
    """A request by itself: with the headers of a sender, if there is one, and for a user."""
    fields: Mapping[bytes, bytes] = {} if sender is None else sender.fields
    meta: dict[str, Any] = {
        "REMOTE_ADDR": (None if sender is None else sender.address) or "127.0.0.1",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "https" if settings.SECURE_SSL_REDIRECT else "http",
    }
    for name, value in fields.items():
        key = "HTTP_" + name.decode("latin-1").upper().replace("-", "_")
        if key not in _OF_THE_MESSAGE and b"_" not in name:  # which would pass for a hyphen
            meta[key] = value.decode("latin-1")
    host = meta["HTTP_HOST"] = _host(meta.get("HTTP_HOST"))
    meta["SERVER_NAME"] = host.partition(":")[0]
    meta["SERVER_PORT"] = "443" if settings.SECURE_SSL_REDIRECT else "80"
    meta["SCRIPT_NAME"] = settings.FORCE_SCRIPT_NAME or ""
    request = Request(meta, ask)
    if user is not None:  # as the REST framework's own test client does it
        request._force_auth_user = request._cached_user = request.user = user
    return request


def _host(given: str | None) -> str:
    """What the caller calls us, if the project answers to that; else a name that it answers to."""
    allowed = settings.ALLOWED_HOSTS or [".localhost", "127.0.0.1", "[::1]"]
    if given is not None and validate_host(split_domain_port(given)[0], allowed):
        return given
    name = next((host for host in allowed if host != "*"), "localhost")
    return str(name).removeprefix(".")


class Request(WSGIRequest):  # type: ignore[misc]  # Django has no types
    """A request made of what is known: its parts were never written as WSGI has them."""

    def __init__(
        self, meta: dict[str, Any], ask: Ask, members: dict[str, Any] | None = None
    ) -> None:
        """All that Django's own does, with nothing to be decoded; `meta` becomes its META."""
        if members is not None:
            self.__dict__ = members
        meta["HTTP_ACCEPT"] = ask.accept
        meta["REQUEST_METHOD"] = self.method = ask.method
        meta["PATH_INFO"] = self.path_info = self.path = ask.path
        meta["QUERY_STRING"] = ask.query
        script = meta.setdefault("SCRIPT_NAME", "")
        if script:
            self.path = script.rstrip("/") + ask.path
        self.environ = self.META = meta
        body = ask.body
        if body is None:
            self.content_type = ""
            self.content_params: dict[str, str] = {}
            self._stream, meta["wsgi.input"] = BytesIO(), BytesIO()
        else:
            stream, size = BytesIO(body.content), len(body.content)
            meta["CONTENT_TYPE"], meta["CONTENT_LENGTH"] = body.content_type, str(size)
            self._set_content_type_params(meta)
            self._stream, meta["wsgi.input"] = LimitedStream(stream, size), stream
        self._read_started = False
        self.resolver_match = None

    @cached_property  # type: ignore[untyped-decorator]  # Django has no types
    def GET(self) -> QueryDict:  # noqa: N802 - Django's name
        """The query, which mostly there is none of: what has nothing in it is not parsed."""
        if self.environ.get("QUERY_STRING"):
            return super().GET
        query = QueryDict.__new__(QueryDict)
        query._encoding, query._mutable = self._encoding, False
        return query

    @cached_property  # type: ignore[untyped-decorator]  # Django has no types
    def headers(self) -> "_Headers":
        """What of META are headers."""
        return _Headers(self.META)


class _Headers(HttpHeaders):  # type: ignore[misc]  # Django has no types
    """Headers that are looked up where they are; all get their names when all are asked for."""

    def __init__(self, environ: dict[str, Any]) -> None:
        self._environ = environ.copy()  # as it is now, like Django's own

    def __getitem__(self, key: str) -> Any:
        """The header of a name, with hyphens or underscores, in any case."""
        try:
            return self._environ[self.to_wsgi_name(key)]
        except KeyError:
            return super().__getitem__(key)

    @cached_property  # type: ignore[untyped-decorator]  # Django has no types
    def _store(self) -> Any:
        return HttpHeaders(self._environ)._store


def query_string(query: Mapping[str, Any], csv: frozenset[str]) -> str:
    """Parameters as a URL has them."""
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        values = value if isinstance(value, list) else [value]
        texts = [_text(each) for each in values if each is not None]
        pairs += [(name, ",".join(texts))] if name in csv else [(name, text) for text in texts]
    return urlencode(pairs)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
