"""Build the Django request of a tool call: body, query, headers and user.

A body is JSON if the view parses it, else a form; files go into a multipart form."""

import secrets
from base64 import b64decode
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
from django.conf import settings
from django.core.handlers.wsgi import LimitedStream, WSGIRequest
from django.http import HttpRequest, QueryDict
from django.http.request import HttpHeaders, split_domain_port, validate_host
from django.urls import ResolverMatch
from django.utils.functional import cached_property

from accord.model.answer import FieldError, Problem
from accord.model.arguments import JsonSchema
from accord.sources.drf.routes import ViewRoute

_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_FILE_MEMBERS: Final = frozenset({"name", "content", "content_type"})
_encode = msgspec.json.Encoder().encode
_MESSAGE_HEADERS: Final = frozenset(
    "HTTP_ACCEPT HTTP_ACCEPT_ENCODING HTTP_CONNECTION HTTP_CONTENT_ENCODING HTTP_EXPECT HTTP_RANGE"
    " HTTP_TE HTTP_TRAILER HTTP_TRANSFER_ENCODING HTTP_UPGRADE HTTP_IF_MATCH HTTP_IF_NONE_MATCH"
    " HTTP_IF_MODIFIED_SINCE HTTP_IF_UNMODIFIED_SINCE HTTP_IF_RANGE HTTP_X_HTTP_METHOD_OVERRIDE"
    " HTTP_MCP_PROTOCOL_VERSION HTTP_MCP_SESSION_ID HTTP_MCP_METHOD HTTP_MCP_NAME"
    " HTTP_LAST_EVENT_ID HTTP_CONTENT_TYPE HTTP_CONTENT_LENGTH CONTENT_TYPE CONTENT_LENGTH"
    " REQUEST_URI RAW_URI SCRIPT_URL REDIRECT_URL PATH_TRANSLATED".split()
)
"""Headers of the MCP message; the view's request does not inherit them."""
_MIDDLEWARE_CALLER: Final = "accord_middleware_caller"
_CALLER: Final = ("user", "auth")
_SKIPS_PERMISSIONS: Final = "accord_skips_permissions"
_NOT_COPIED: Final = frozenset(
    "environ scope META path path_info method resolver_match content_type content_params encoding"
    " GET POST COOKIES FILES urlconf headers accepted_types accepted_types_by_precedence"
    " _encoding _stream _read_started _body _post _files _upload_handlers _post_parse_error"
    " csrf_processing_done script_name body_receive_timeout is_mcp_request accord_refusal".split()
)
"""Attributes of the outer request that are not copied; all others were set by middleware."""


class RequestBody(msgspec.Struct, frozen=True):
    """A request body and its media type."""

    content: bytes = b""
    content_type: str = "application/json"


class _File(msgspec.Struct, frozen=True):
    name: str
    content: bytes
    content_type: str


class BodyEncoder:
    """Encodes the bodies of one route; its schema tells which values are files."""

    def __init__(self, route: ViewRoute, schema: JsonSchema) -> None:
        parsers = route.initkwargs.get("parser_classes", route.view.parser_classes)
        self._kinds = [parser.media_type for parser in parsers]
        self._json = next((k for k in self._kinds if "json" in k or k == "*/*"), None)
        self._schema = schema if "properties" in schema or schema.get("type") == "array" else None
        self._may_have_files = self._schema is None or _mentions_file(schema)

    def encode(self, given: Any) -> RequestBody:
        """Return the `body` argument in a media type that the view parses."""
        try:
            return self._encode_body(given)
        except RecursionError:
            raise _invalid("body", "has too many levels") from None

    def _encode_body(self, given: Any) -> RequestBody:
        json = self._json
        if isinstance(given, dict) and _MULTIPART in self._kinds:
            files: list[_File] = []
            read = _members(given, self._schema, "body", files) if self._may_have_files else given
            if files or json is None:
                return _multipart(read)
        if isinstance(given, dict) and json is None and _FORM in self._kinds:
            pairs = [(name, _form_text(value)) for name, value in _flat(given)]
            return RequestBody(urlencode(pairs).encode(), _FORM)
        content_type = "application/json" if json in (None, "*/*") else str(json)
        return RequestBody(_encode(given), content_type)


# Files: by the schema, or by their members if there is no schema


def _is_file_schema(schema: JsonSchema) -> bool:
    content = schema.get("properties", {}).get("content", {})
    return isinstance(content, dict) and "contentEncoding" in content


def _mentions_file(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_mentions_file, schema))
    if not isinstance(schema, dict):
        return False
    return _is_file_schema(schema) or any(map(_mentions_file, schema.values()))


def _below(schema: JsonSchema | None, name: str | None) -> JsonSchema | None:
    """Return the schema of a member, or of a list's items; None if there is no schema."""
    if schema is None:
        return None
    found = schema.get("items") if name is None else schema.get("properties", {}).get(name)
    return found if isinstance(found, dict) else {}


def _members(
    given: dict[str, Any], schema: JsonSchema | None, path: str, files: list[_File]
) -> dict[str, Any]:
    return {
        name: _decode_files(value, _below(schema, name), f"{path}.{name}", files)
        for name, value in given.items()
    }


def _decode_files(value: Any, schema: JsonSchema | None, path: str, files: list[_File]) -> Any:
    """Return a value with its files decoded; they are also appended to `files`."""
    if _is_file(value) and (schema is None or _is_file_schema(schema)):
        files.append(_file(path, value))
        return files[-1]
    if isinstance(value, dict):
        return _members(value, schema, path, files)
    if isinstance(value, list):
        return [_decode_files(each, _below(schema, None), path, files) for each in value]
    return value


def _is_file(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"name", "content"} <= value.keys() <= _FILE_MEMBERS
        and all(isinstance(each, str) for each in value.values())
    )


def _file(path: str, value: dict[str, str]) -> _File:
    try:
        content = b64decode(value["content"], validate=True)
    except ValueError as error:
        raise _invalid(f"{path}.content", "must be Base64") from error
    return _File(value["name"], content, value.get("content_type", "application/octet-stream"))


def _invalid(path: str, reason: str) -> Problem:
    return Problem.validation(f"{path} {reason}", fields=[FieldError(path, reason)])


# Forms


def _flat(given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a form, nested ones named as the REST framework parses them."""
    for name, value in given.items():
        yield from _flattened(name, value)


def _flattened(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flattened(f"{name}.{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, dict):
                for key, deeper in inner.items():
                    yield from _flattened(f"{name}[{index}]{key}", deeper)
            else:
                yield from _flattened(name, inner)
    else:
        yield name, value


def _form_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _encode(value).decode()


def _multipart(given: dict[str, Any]) -> RequestBody:
    boundary = f"accord-{secrets.token_hex(16)}"
    parts: list[bytes] = []
    for name, value in _flat(given):
        parts.append(f"--{boundary}\r\n".encode())
        parts.append(_part(name, value))
    content = b"".join([*parts, f"--{boundary}--\r\n".encode()])
    return RequestBody(content, f"{_MULTIPART}; boundary={boundary}")


def _part(name: str, value: Any) -> bytes:
    head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if not isinstance(value, _File):
        return f"{head}\r\n\r\n{_form_text(value)}\r\n".encode()
    kind = quote(value.content_type, safe="/+.-;= ")
    head = f'{head}; filename="{_quoted(value.name)}"\r\nContent-Type: {kind}'
    return f"{head}\r\n\r\n".encode() + value.content + b"\r\n"


def _quoted(text: str) -> str:
    """Escape a name or filename in a part's header, as browsers do."""
    return text.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


class ViewCall:
    """The method, path, query and body of a view call."""

    __slots__ = ("accept", "body", "method", "path", "query")

    def __init__(
        self,
        method: str,
        path: str,
        query: str = "",
        body: RequestBody | None = None,
        accept: str = "application/json",
    ) -> None:
        self.accept: str = accept
        self.method: str = method.upper()
        self.path: str = path
        self.query: str = query
        self.body: RequestBody | None = body


def nested_request(outer: HttpRequest, call: ViewCall) -> "ViewRequest":
    """Return a request inside another: same caller, with the attributes set by middleware."""
    meta = {k: v for k, v in outer.META.items() if k not in _MESSAGE_HEADERS}
    if "wsgi.url_scheme" not in meta:  # under ASGI
        meta["wsgi.url_scheme"] = outer.scheme
    members = {k: v for k, v in vars(outer).items() if k not in _NOT_COPIED}
    _restore_middleware_caller(members)
    return ViewRequest(meta, call, members)


def keep_middleware_caller(request: HttpRequest) -> None:
    """Keep the caller that middleware has set, for views, before an endpoint sets its own."""
    members = vars(request)
    members[_MIDDLEWARE_CALLER] = {name: members[name] for name in _CALLER if name in members}


def restore_middleware_caller(request: HttpRequest) -> None:
    """Forget the caller that an endpoint has authenticated: each view authenticates its own."""
    _restore_middleware_caller(vars(request))


def _restore_middleware_caller(members: dict[str, Any]) -> None:
    kept = members.pop(_MIDDLEWARE_CALLER, None)
    if kept is not None:
        for name in _CALLER:
            members.pop(name, None)
        members |= kept


def bypass(request: HttpRequest, *, authentication: bool, permissions: bool) -> None:
    """Let views take the caller of the endpoint, or not check permissions."""
    if authentication:  # as the REST framework's own test client does it
        request._force_auth_user, request._force_auth_token = request.user, request.auth
    if permissions:
        setattr(request, _SKIPS_PERMISSIONS, True)


def skips_permissions(request: HttpRequest) -> bool:
    """True if views do not check the permissions of this request."""
    return vars(request).get(_SKIPS_PERMISSIONS, False) is True


def standalone_request(sender: Any, call: ViewCall, user: Any = None) -> "ViewRequest":
    """Return a request outside of Django, with a sender's headers, and for a user."""
    fields: Mapping[bytes, bytes] = {} if sender is None else sender.fields
    meta: dict[str, Any] = {
        "REMOTE_ADDR": (None if sender is None else sender.address) or "127.0.0.1",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "https" if settings.SECURE_SSL_REDIRECT else "http",
    }
    for name, value in fields.items():
        key = "HTTP_" + name.decode("latin-1").upper().replace("-", "_")
        if key not in _MESSAGE_HEADERS and b"_" not in name:  # WSGI would read it as a hyphen
            meta[key] = value.decode("latin-1")
    host = meta["HTTP_HOST"] = _host(meta.get("HTTP_HOST"))
    meta["SERVER_NAME"] = host.partition(":")[0]
    meta["SERVER_PORT"] = "443" if settings.SECURE_SSL_REDIRECT else "80"
    meta["SCRIPT_NAME"] = settings.FORCE_SCRIPT_NAME or ""
    request = ViewRequest(meta, call)
    if user is not None:  # as the REST framework's own test client does it
        request._force_auth_user = request._cached_user = request.user = user
    return request


def _host(given: str | None) -> str:
    """Return the caller's Host if ALLOWED_HOSTS has it, else the first allowed host."""
    allowed = settings.ALLOWED_HOSTS or [".localhost", "127.0.0.1", "[::1]"]
    if given is not None and validate_host(split_domain_port(given)[0], allowed):
        return given
    name = next((host for host in allowed if host != "*"), "localhost")
    return str(name).removeprefix(".")


class ViewRequest(WSGIRequest):  # type: ignore[misc]  # Django has no types
    """A Django request made without parsing: its parts are already decoded."""

    is_mcp_request = True
    """For views and middleware: the REST framework's request has it too."""

    def __init__(
        self, meta: dict[str, Any], call: ViewCall, members: dict[str, Any] | None = None
    ) -> None:
        """Set the attributes that WSGIRequest sets; `meta` becomes META."""
        if members is not None:
            self.__dict__ = members
        meta["HTTP_ACCEPT"] = call.accept
        self.method: str | None = call.method
        meta["REQUEST_METHOD"] = call.method
        self.path_info: str = call.path
        self.path: str = call.path
        meta["PATH_INFO"] = call.path
        meta["QUERY_STRING"] = call.query
        script = meta.setdefault("SCRIPT_NAME", "")
        if script:
            self.path = script.rstrip("/") + call.path
        self.environ = self.META = meta
        body = call.body
        if body is None:
            self.content_type: str | None = ""
            self.content_params: dict[str, str] = {}
            self._stream, meta["wsgi.input"] = BytesIO(), BytesIO()
        else:
            stream, size = BytesIO(body.content), len(body.content)
            meta["CONTENT_TYPE"], meta["CONTENT_LENGTH"] = body.content_type, str(size)
            self._set_content_type_params(meta)
            self._stream, meta["wsgi.input"] = LimitedStream(stream, size), stream
        self._read_started = False
        self.resolver_match: ResolverMatch | None = None

    @cached_property  # type: ignore[untyped-decorator]  # Django has no types
    def GET(self) -> QueryDict:  # noqa: N802 - Django's name
        """The query parameters; an empty query is not parsed."""
        if self.environ.get("QUERY_STRING"):
            return super().GET
        query = QueryDict.__new__(QueryDict)
        query._encoding, query._mutable = self._encoding, False
        return query

    @cached_property  # type: ignore[untyped-decorator]  # Django has no types
    def headers(self) -> "_Headers":
        """The HTTP headers in META."""
        return _Headers(self.META)


class _Headers(HttpHeaders):  # type: ignore[misc]  # Django has no types
    """Headers looked up in META; the full mapping is built only on iteration."""

    def __init__(self, environ: dict[str, Any]) -> None:
        self._environ = environ.copy()  # a snapshot, like Django's own

    def __getitem__(self, key: str) -> Any:
        """Return a header by its name, with hyphens or underscores, in any case."""
        try:
            return self._environ[self.to_wsgi_name(key)]
        except KeyError:
            return super().__getitem__(key)

    @cached_property  # type: ignore[untyped-decorator]  # Django has no types
    def _store(self) -> Any:
        return HttpHeaders(self._environ)._store


def query_string(query: Mapping[str, Any], csv: frozenset[str]) -> str:
    """Return query parameters URL-encoded; lists of `csv` names are joined by commas."""
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        values = value if isinstance(value, list) else [value]
        texts = [_query_text(each) for each in values if each is not None]
        pairs += [(name, ",".join(texts))] if name in csv else [(name, text) for text in texts]
    return urlencode(pairs)


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
