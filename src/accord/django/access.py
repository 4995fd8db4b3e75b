"""Who may use an endpoint: authentication and permission, before a message is read."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, ClassVar, Final

import msgspec
from django.core.exceptions import PermissionDenied as Forbidden
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, NotAuthenticated, PermissionDenied
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from accord.django.settings import mcp_settings
from accord.errors import INVALID_REQUEST, Reject
from accord.model.answer import Kind, Problem
from accord.protocol import messages
from accord.revisions import NEWEST, REVISIONS
from accord.serve.http.response import Response
from accord.server.rendering import render
from accord.sources.drf.requests import (
    bypass,
    keep_middleware_caller,
    restore_middleware_caller,
)
from accord.sources.drf.responses import Refusal

_KINDS: Final[dict[int, Kind]] = {401: "authentication", 403: "authorization"}
_CALL: Final = "tools/call"
_STATUSES: Final = frozenset(map(int, HTTPStatus))


class Access:
    """Decides who may use an endpoint; its class attributes and methods are to be overridden."""

    authentication_classes: ClassVar[Sequence[type[BaseAuthentication]]] = ()
    """Authentication classes of the REST framework; without any, the caller is anonymous."""

    def has_mcp_permission(self, request: HttpRequest) -> bool:
        """True if the sender may use the endpoint; `request` has `user` and `auth`."""
        return True

    def check(self, request: HttpRequest) -> tuple[Refusal, str] | None:
        """Authenticate the sender; return the refusal and its reason if it may not go on."""
        authenticators = [each() for each in self.authentication_classes]
        keep_middleware_caller(request)
        sender = Request(request, parsers=[JSONParser()], authenticators=authenticators)
        try:
            request.user, request.auth = sender.user, sender.auth
            if not self.has_mcp_permission(request):
                is_unknown = authenticators and not sender.successful_authenticator
                raise NotAuthenticated if is_unknown else PermissionDenied
        except (APIException, Forbidden) as error:
            return _refusal(error, sender, authenticators)
        bypass(
            request,
            authentication=mcp_settings.BYPASS_VIEWSET_AUTHENTICATION,
            permissions=mcp_settings.BYPASS_VIEWSET_PERMISSIONS,
        )
        return None

    def admit(self, request: HttpRequest) -> None:
        """Raise a Problem if the sender may not use the endpoint; leave the request to its view."""
        refused = self.check(request)
        restore_middleware_caller(request)
        if refused is not None:
            refusal, reason = refused
            raise Problem(reason, kind=_KINDS.get(refusal.status, "unavailable"))


def _refusal(error: Any, sender: Request, authenticators: Any) -> tuple[Refusal, str]:
    """Return the refusal of an exception; a 401 needs a challenge, else it is a 403."""
    status = getattr(error, "status_code", int(HTTPStatus.FORBIDDEN))
    challenge = None
    if status == HTTPStatus.UNAUTHORIZED:
        challenge = authenticators[0].authenticate_header(sender) if authenticators else None
        status = status if challenge else int(HTTPStatus.FORBIDDEN)
    detail = getattr(error, "detail", None) or str(error) or PermissionDenied.default_detail
    phrase = HTTPStatus(status).phrase if status in _STATUSES else "Error"
    reason = f"{phrase}: {detail}"
    how = f" (WWW-Authenticate: {challenge})" if challenge else ""
    return Refusal(status, challenge), reason + how


class _Message(msgspec.Struct, frozen=True):
    """The members of a message that its refusal needs."""

    id: str | int | None = None
    method: str = ""
    params: Any = None


def refusal_reply(reason: str, status: int, body: bytes, profile: str, revision: str) -> bytes:
    """Return the reply to a refused message: a failed call of a tool, else an error."""
    try:
        message = msgspec.json.decode(body, type=_Message)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        message = _Message()
    name = message.params.get("name") if isinstance(message.params, dict) else None
    if message.method != _CALL or message.id is None or not isinstance(name, str):
        return messages.failure(message.id, Reject(INVALID_REQUEST, reason)).without_null_id()
    date = revision if revision in REVISIONS else NEWEST.date
    problem = Problem(reason, kind=_KINDS.get(status, "unavailable"))
    return messages.reply(message.id, render(problem, tool=name, profile=profile, revision=date))


def with_status(response: Response, refusal: Refusal) -> Response:
    """Return a response with the status and the challenge of a refusal."""
    headers = response.more_headers
    if refusal.challenge is not None:
        headers = (*headers, (b"www-authenticate", refusal.challenge.encode("latin-1", "replace")))
    return msgspec.structs.replace(response, status=refusal.status, more_headers=headers)
