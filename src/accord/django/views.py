"""The MCP endpoint: a Django view whose tools are the project's other views."""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import connections
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils.encoding import force_bytes

from accord.django.access import Access, refusal_reply, with_status
from accord.django.settings import mcp_settings
from accord.model.limits import DEFAULT_MAX_BYTES
from accord.protocol.header_params import PREFIX
from accord.serve.call import OneWay
from accord.serve.http.request import Header, refuse
from accord.serve.http.response import Response, refused
from accord.serve.http.sync import SyncApp
from accord.server import Server
from accord.sources.drf import ViewCaller, build, routes_of
from accord.sources.drf.build import BuildOptions, ExposedTool
from accord.sources.drf.naming import Naming
from accord.sources.drf.responses import Refusal

NAME: Final = "django-rest-framework-mcp"
VERSION: Final = "0.1.0"
_FORWARDED: Final = (
    *("HTTP_ACCEPT", "HTTP_MCP_PROTOCOL_VERSION", "HTTP_MCP_METHOD", "HTTP_MCP_NAME"),
    "CONTENT_TYPE",
)
_PARAMETER_PREFIX: Final = "HTTP_" + PREFIX.upper().replace("-", "_")


def _header(name: str) -> bytes:
    """Return the HTTP header name of a META key."""
    return name.removeprefix("HTTP_").replace("_", "-").lower().encode()


_HEADERS: Final = {name: _header(name) for name in _FORWARDED}


class EndpointSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of an endpoint: which views are tools, and the options of its server."""

    router: Any = None
    marked_only: bool | Literal["actions"] = False
    prefixes: Mapping[str, str] = {}
    action_first: bool | None = False
    """None if DJANGORESTFRAMEWORK_MCP tells."""
    output_schemas: bool | Collection[str] = False
    auth_status: bool | None = False
    """None if DJANGORESTFRAMEWORK_MCP tells."""
    access: type[Access] | None = None
    name: str = NAME
    version: str = VERSION
    title: str | None = None
    instructions: str | None = None
    profile: str = "plain"
    structured: bool = True
    max_bytes: int = DEFAULT_MAX_BYTES
    lifespan: Any = None
    max_request: int = 4 * 1024 * 1024
    allow_origins: tuple[str, ...] = ()

    @property
    def build_options(self) -> BuildOptions:
        """The options for the tools."""
        first = self.action_first
        is_first = mcp_settings.ACTION_FIRST_NAMES if first is None else first
        return BuildOptions(
            marked_only=self.marked_only,
            naming=Naming(prefixes=self.prefixes, action_first=is_first),
            output_schemas=self.output_schemas,
        )


def endpoint(
    router: Any = None,
    *,
    marked_only: bool | Literal["actions"] = False,
    prefixes: Mapping[str, str] | None = None,
    output_schemas: bool | Collection[str] = False,
    auth_status: bool | None = False,
    access: type[Access] | None = None,
    allow_origins: Iterable[str] = (),
    **options: Any,
) -> "Endpoint":
    """Return an MCP view for urls.py; its tools are the router's views, or all of the project.

    With `marked_only` only views with `mcp_viewset` or `mcp_tool` are tools; with "actions" a
    custom action needs `mcp_tool` as well. `prefixes` begin the names of the tools under a URL:
    `{"blog/": "blog"}`. With `output_schemas` tools have output schemas, all or those named. With
    `auth_status` a call that the API answers with 401 or 403 has that HTTP status, and
    WWW-Authenticate. `access` decides who may use the endpoint: a subclass of `MCPView`. Allowed
    origins are the project's own, CSRF_TRUSTED_ORIGINS and `allow_origins`. Options are those of
    a Server: `name`, `version`, `title`, `instructions`, `profile`, `structured`, `max_bytes`,
    `lifespan`; and `max_request`, the maximum bytes of a message.
    """
    origins = tuple(allow_origins)
    return Endpoint(
        EndpointSettings(
            router=router,
            marked_only=marked_only,
            prefixes=prefixes or {},
            output_schemas=output_schemas,
            auth_status=auth_status,
            access=access,
            allow_origins=origins,
            **options,
        )
    )


def find_tools(options: EndpointSettings, *, user: Any = None) -> list[ExposedTool]:
    """Return the tools of an endpoint; `user` is the user outside of an HTTP request."""
    routes = routes_of(options.router)
    admit = None if options.access is None else options.access().admit
    return build(routes, ViewCaller(user=user, admit=admit), options.build_options)


def make_server(options: EndpointSettings, tools: Iterable[ExposedTool]) -> Server:
    """Return a server with these tools."""
    server = Server(
        options.name,
        version=options.version,
        title=options.title,
        instructions=options.instructions,
        profile=options.profile,
        structured=options.structured,
        max_bytes=options.max_bytes,
        key=_key(),
        lifespan=options.lifespan,
    )
    for each in tools:
        server.add(each.tool)
    return server


def _key() -> bytes:
    """Return the key of cursors, derived from SECRET_KEY: all processes share it."""
    secret = force_bytes(settings.SECRET_KEY)
    return blake2b(secret, digest_size=32, person=b"accord.cursors").digest()


class DjangoCaller(OneWay):
    """The caller of a Django request."""

    sender: HttpRequest

    @property
    def principal(self) -> bytes | None:
        """The caller's token and session as bytes; None without either."""
        authorization = self.sender.META.get("HTTP_AUTHORIZATION")
        session = self.sender.COOKIES.get(settings.SESSION_COOKIE_NAME)
        if authorization is None and session is None:
            return None
        return msgspec.json.encode([authorization, session])

    @property
    def address(self) -> str | None:
        """The IP address of the client, or of the last proxy."""
        address: str | None = self.sender.META.get("REMOTE_ADDR")
        return address


class Endpoint:
    """The MCP view. Its tools are built with the first request, or by the system check."""

    csrf_exempt = True  # Origin is checked here, the token by each view
    login_required = False  # each view has its own permissions

    def __init__(self, options: EndpointSettings) -> None:
        self.settings = options

    @property
    def _non_atomic_requests(self) -> set[str]:
        """All databases: each view called has its own transaction."""
        return set(connections.settings)

    @cached_property
    def app(self) -> SyncApp:
        """The MCP app, built on first use."""
        return SyncApp(make_server(self.settings, find_tools(self.settings)))

    def rebuild(self) -> None:
        """Build the tools again."""
        vars(self).pop("app", None)
        self.app  # noqa: B018 - a cached property

    def __call__(self, request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
        """Answer one message."""
        response = self._answer(request)
        content_type = response.content_type.decode() if response.body else None
        found = HttpResponse(response.body, status=response.status, content_type=content_type)
        if not response.body:
            del found.headers["Content-Type"]
        for name, value in response.more_headers:
            found.headers[name.decode()] = value.decode()
        return found

    def _answer(self, request: HttpRequest) -> Response:
        if not self._is_origin_allowed(request):
            return refused(refuse(403, "Origin not allowed"))
        body = self._body(request)
        if isinstance(body, Response):
            return body
        access = self.settings.access
        refused_by = None if access is None else access().check(request)
        if refused_by is not None:
            return self._refused(*refused_by, request, body)
        headers = _headers(request)
        if self.app.server.registry.header_params:
            headers += _parameter_headers(request)
        response = self.app.answer(request.method or "", headers, body, DjangoCaller(request))
        refusal = vars(request).get("accord_refusal")
        if refusal is None or not self._has_auth_status or body.lstrip()[:1] == b"[":
            return response
        return with_status(response, refusal)

    @property
    def _has_auth_status(self) -> bool:
        chosen = self.settings.auth_status
        return not mcp_settings.RETURN_200_FOR_ERRORS if chosen is None else chosen

    def _refused(
        self, refusal: Refusal, reason: str, request: HttpRequest, body: bytes
    ) -> Response:
        """Return the response to a message of a sender that may not use the endpoint."""
        revision = request.META.get("HTTP_MCP_PROTOCOL_VERSION", "")
        reply = refusal_reply(reason, refusal.status, body, self.settings.profile, revision)
        response = Response(200, reply)
        is_plain = self.settings.auth_status is None and mcp_settings.RETURN_200_FOR_ERRORS
        return response if is_plain else with_status(response, refusal)

    def _is_origin_allowed(self, request: HttpRequest) -> bool:
        """True if the request has no Origin (not sent by a page), or an allowed one."""
        origin = request.META.get("HTTP_ORIGIN")
        if origin is None:
            return True
        own = f"{request.scheme}://{request.get_host()}"  # checked against ALLOWED_HOSTS
        trusted = (own, *settings.CSRF_TRUSTED_ORIGINS, *self.settings.allow_origins)
        return any(_matches_origin(origin, each) for each in trusted)

    def _body(self, request: HttpRequest) -> bytes | Response:
        limit = self.settings.max_request
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdigit() and int(length) <= limit:
            try:
                body: bytes = request.body
            except UnreadablePostError:
                return refused(refuse(400, "The request body is incomplete"))
            except RequestDataTooBig:
                pass
            else:
                if len(body) <= limit:
                    return body
        return refused(refuse(413, f"The message is larger than {limit:,} bytes"))


class MCPView(Access):
    """An endpoint with the decorated viewsets, as django-rest-framework-mcp has it.

    A subclass sets `authentication_classes` and overrides `has_mcp_permission`.
    """

    @classmethod
    def as_view(cls, **attributes: Any) -> Endpoint:
        """Return the view for urls.py; keyword arguments replace attributes of the class."""
        unknown = [name for name in attributes if not hasattr(cls, name)]
        if unknown:
            raise TypeError(f"{cls.__name__} has no attribute {', '.join(unknown)}")
        access = type(cls.__name__, (cls,), attributes)
        settings = EndpointSettings(
            marked_only="actions", action_first=None, auth_status=None, access=access
        )
        return Endpoint(settings)


def _matches_origin(origin: str, trusted: str) -> bool:
    """True if an origin matches a trusted one, which may be a wildcard subdomain."""
    if "://*." not in trusted:
        return origin.lower() == trusted.lower()
    given, wanted = urlsplit(origin), urlsplit(trusted)
    domain = wanted.netloc.removeprefix("*").lower()
    return given.scheme == wanted.scheme and given.netloc.lower().endswith(domain)


def _headers(request: HttpRequest) -> list[Header]:
    meta = request.META
    return [(_HEADERS[k], str(meta[k]).encode("latin-1")) for k in _FORWARDED if meta.get(k)]


def _parameter_headers(request: HttpRequest) -> list[Header]:
    """Return the headers that repeat arguments; see `accord.protocol.header_params`."""
    return [
        (_header(name), str(value).encode("latin-1"))
        for name, value in request.META.items()
        if name.startswith(_PARAMETER_PREFIX)
    ]
