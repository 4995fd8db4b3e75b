"""The endpoint: a view that speaks MCP, and whose tools are the project's other views."""

from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import connections
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils.encoding import force_bytes

from accord.mirrored import PREFIX
from accord.model.limits import DEFAULT_MAX_BYTES
from accord.serve.blocking import OneWay
from accord.serve.http.request import Header, refuse
from accord.serve.http.response import Response, refused
from accord.serve.http.sync import SyncApp
from accord.server import Server
from accord.sources.drf import Project, build, routes_of
from accord.sources.drf.build import Exposed

NAME: Final = "django-rest-framework-mcp"
VERSION: Final = "0.1.0"
_SAID: Final = (
    *("HTTP_ACCEPT", "HTTP_MCP_PROTOCOL_VERSION", "HTTP_MCP_METHOD", "HTTP_MCP_NAME"),
    "CONTENT_TYPE",
)
_REPEATED: Final = "HTTP_" + PREFIX.upper().replace("-", "_")


def _header(name: str) -> bytes:
    """What a member of META is called in HTTP."""
    return name.removeprefix("HTTP_").replace("_", "-").lower().encode()


_HEADERS: Final = {name: _header(name) for name in _SAID}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What an endpoint offers, and how it answers."""

    router: Any = None
    marked_only: bool = False
    name: str = NAME
    version: str = VERSION
    title: str | None = None
    instructions: str | None = None
    profile: str = "plain"
    structured: bool = True
    max_bytes: int = DEFAULT_MAX_BYTES
    max_request: int = 4 * 1024 * 1024
    allow_origins: tuple[str, ...] = ()


def endpoint(
    router: Any = None,
    *,
    marked_only: bool = False,
    allow_origins: Iterable[str] = (),
    **options: Any,
) -> "Endpoint":
    """A view to put at some path: every view on the router as tools, or every one of the project.

    With `marked_only` just those with `mcp_viewset` or `mcp_tool` on them. Browsers may come from
    the project's own site, from CSRF_TRUSTED_ORIGINS and from `allow_origins`. Options are those
    of a Server: `name`, `version`, `title`, `instructions`, `profile`, `structured`, `max_bytes`;
    and `max_request`, the bytes of the largest message.
    """
    origins = tuple(allow_origins)
    return Endpoint(
        Settings(router=router, marked_only=marked_only, allow_origins=origins, **options)
    )


def exposed(choice: Settings, *, user: Any = None) -> list[Exposed]:
    """The tools that an endpoint offers; without a request, on behalf of a user."""
    routes = routes_of(choice.router)
    return build(routes, Project(user=user), marked_only=choice.marked_only)


def serving(choice: Settings, tools: Iterable[Exposed]) -> Server:
    """A server of these tools."""
    server = Server(
        choice.name,
        version=choice.version,
        title=choice.title,
        instructions=choice.instructions,
        profile=choice.profile,
        structured=choice.structured,
        max_bytes=choice.max_bytes,
        key=_key(),
    )
    for each in tools:
        server.add(each.tool)
    return server


def _key() -> bytes:
    """A key for cursors that all processes of a project share, and that is not its own."""
    secret = force_bytes(settings.SECRET_KEY)
    return blake2b(secret, digest_size=32, person=b"accord.cursors").digest()


class Caller(OneWay):
    """Whoever sent a request to Django."""

    sender: HttpRequest

    @property
    def principal(self) -> bytes | None:
        """Who that is, by a token or by a session."""
        authorization = self.sender.META.get("HTTP_AUTHORIZATION")
        session = self.sender.COOKIES.get(settings.SESSION_COOKIE_NAME)
        if authorization is None and session is None:
            return None
        return msgspec.json.encode([authorization, session])


class Endpoint:
    """A view of Django's. Its tools are found with the first request, or by a check before."""

    csrf_exempt = True  # the Origin is checked here, and the token by each view that wants one
    login_required = False  # each view knows itself whom it serves

    def __init__(self, choice: Settings) -> None:
        self.settings = choice

    @property
    def _non_atomic_requests(self) -> set[str]:
        """A transaction is each view's own, even where several are called in one request."""
        return set(connections.settings)

    @cached_property
    def app(self) -> SyncApp:
        """What answers messages."""
        return SyncApp(serving(self.settings, exposed(self.settings)))

    def rebuild(self) -> None:
        """Find the tools anew."""
        vars(self).pop("app", None)
        self.app  # noqa: B018 - it is made when it is asked for

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
        if not self._is_admitted(request):
            return refused(refuse(403, "This server does not answer to that Origin"))
        body = self._body(request)
        if isinstance(body, Response):
            return body
        headers = _headers(request)
        if self.app.server.mirrored:
            headers += _repeated(request)
        return self.app.answer(request.method or "", headers, body, Caller(request))

    def _is_admitted(self, request: HttpRequest) -> bool:
        """Whether no page of another site makes a browser send this, which it would tell us."""
        origin = request.META.get("HTTP_ORIGIN")
        if origin is None:
            return True
        own = f"{request.scheme}://{request.get_host()}"  # one that the project answers to
        trusted = (own, *settings.CSRF_TRUSTED_ORIGINS, *self.settings.allow_origins)
        return any(_is_of(origin, each) for each in trusted)

    def _body(self, request: HttpRequest) -> bytes | Response:
        limit = self.settings.max_request
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdigit() and int(length) <= limit:
            try:
                body: bytes = request.body
            except UnreadablePostError:
                return refused(refuse(400, "The request did not arrive whole"))
            except RequestDataTooBig:
                pass
            else:
                if len(body) <= limit:
                    return body
        return refused(refuse(413, f"A message has at most {limit:,} bytes"))


def _is_of(origin: str, trusted: str) -> bool:
    """Whether an origin is one that is trusted, which may be all below a domain."""
    if "://*." not in trusted:
        return origin.lower() == trusted.lower()
    given, asked = urlsplit(origin), urlsplit(trusted)
    domain = asked.netloc.removeprefix("*").lower()
    return given.scheme == asked.scheme and given.netloc.lower().endswith(domain)


def _headers(request: HttpRequest) -> list[Header]:
    meta = request.META
    return [(_HEADERS[k], str(meta[k]).encode("latin-1")) for k in _SAID if meta.get(k)]


def _repeated(request: HttpRequest) -> list[Header]:
    """The headers that repeat arguments: see `accord.mirrored`."""
    return [
        (_header(name), str(value).encode("latin-1"))
        for name, value in request.META.items()
        if name.startswith(_REPEATED)
    ]
