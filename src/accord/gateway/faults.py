"""Errors of upstreams: what they mean for a caller of another revision."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.client.messages import SessionExpired
from accord.errors import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    URL_ELICITATION_REQUIRED,
    PeerError,
    Reject,
    Rejected,
    SignInError,
)
from accord.gateway.link import NotConnected
from accord.gateway.questions import ELICIT, ForwardedQuestion
from accord.model.answer import InputRequired, Problem
from accord.model.context import Context, MissingCapability
from accord.protocol.events import RESOURCES_READ
from accord.protocol.input_state import InputResponses

_OLD_MISSING_RESOURCE: Final = -32002
_CONNECTION_ERRORS: Final = (HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION)
_NOT_SENT: Final = ("ConnectFailed", "InvalidURL")
_PAGE: Final = "page."
_MAX_MESSAGE: Final = 2_000
_MAX_DATA: Final = 16_384


def surely_not_started(error: PeerError) -> bool:
    """True if a request that failed has not reached the upstream's tool."""
    if isinstance(error, NotConnected | SessionExpired | SignInError):
        return True
    return type(error.__cause__).__name__ in _NOT_SENT


def is_sign_in(error: PeerError) -> bool:
    """True if the upstream has refused the credentials, or there are none."""
    return isinstance(error, SignInError) or isinstance(error.__cause__, SignInError)


def raise_error(error: Any, method: str, context: Context[Any], server: str) -> None:
    """Raise what a JSON-RPC error of an upstream means for the caller."""
    members = error if isinstance(error, dict) else {}
    code, data = members.get("code"), members.get("data")
    if type(code) is not int:
        code = INTERNAL_ERROR
    message = str(members.get("message") or f"Server {server!r} gave no reason")[:_MAX_MESSAGE]
    if code == URL_ELICITATION_REQUIRED:
        _require_pages(message, data, context, server)
    if code in _CONNECTION_ERRORS:
        raise Problem.unavailable(f"Server {server!r} refused the request: {message}")
    if code == MISSING_CLIENT_CAPABILITY:
        required = data.get("requiredCapabilities") if isinstance(data, dict) else None
        raise MissingCapability(required if isinstance(required, dict) and required else {"?": {}})
    if method == RESOURCES_READ and _is_missing(code, data):
        code = context.client.revision.missing_resource
    raise Rejected(Reject(code, message, data if _is_small(data) else None))


def _is_missing(code: int, data: Any) -> bool:
    """True for the error of a resource that does not exist, in either era."""
    if code == _OLD_MISSING_RESOURCE:
        return True
    return code == INVALID_PARAMS and isinstance(data, dict) and "uri" in data


def _is_small(data: Any) -> bool:
    return data is not None and len(msgspec.json.encode(data)) <= _MAX_DATA


def _require_pages(message: str, data: Any, context: Context[Any], server: str) -> None:
    """Raise for pages that the user has to open before the call is repeated.

    A caller of the stateless era gets them as questions; another one that cannot open pages gets a
    Problem with the link.
    """
    pages = _pages_in(data)
    client = context.client
    if not pages:
        return
    can_open = all(each.lacks(client.capabilities, client.revision) is None for each in pages)
    if can_open and client.revision.stateless:
        raise InputRequired({f"{_PAGE}{n}": each for n, each in enumerate(pages, 1)})
    if not can_open:
        link = str(pages[0].given.get("url", ""))[:_MAX_MESSAGE]
        raise Problem.authorization(
            f"Server {server!r} needs the user to open a page first: {message}",
            remediation=f"open {link}, then call again",
        )


def require_opened(responses: InputResponses | None) -> None:
    """Raise if a caller comes back without having opened the pages that a call needs."""
    if responses is None:
        return
    for key in responses.asked:
        answer = responses.given.get(key)
        if key.startswith(_PAGE) and (answer is None or not _is_accepted(bytes(answer))):
            raise Problem.authorization("The page that the call needs was not opened")


def _is_accepted(answer: bytes) -> bool:
    found = msgspec.json.decode(answer)
    return isinstance(found, dict) and found.get("action") == "accept"


def _pages_in(data: Any) -> list[ForwardedQuestion]:
    found = data.get("elicitations") if isinstance(data, Mapping) else None
    pages = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return [ForwardedQuestion(ELICIT, {"mode": "url", **each}) for each in pages]
