"""MCP's methods: what each takes, what is done with it, and in which of the two eras it exists."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

from accord.errors import INVALID_PARAMS, INVALID_REQUEST, Reject
from accord.model.context import ClientInfo
from accord.protocol import messages
from accord.protocol.clients import UNREADABLE, reason
from accord.protocol.events import COMPLETION, LISTEN, PROMPT, RESOURCE, Call, Special
from accord.protocol.messages import NOTHING
from accord.protocol.replay import Retry
from accord.revisions import negotiate

if TYPE_CHECKING:
    from accord.protocol.connection import Connection

Found = Call | Raw | Reject
_EMPTY: Final = Raw(b"{}")


class Route(msgspec.Struct, frozen=True):
    """What to do with a method; `feature` is the capability without which it is not there."""

    decode: Callable[[Any], Any]
    take: Callable[["Connection", Any, Call], Found]
    handshake: bool = True
    stateless: bool = True
    before_handshake: bool = False
    feature: str | None = None


def _initialize(talk: "Connection", params: messages.InitializeParams, call: Call) -> Raw | Reject:
    if call.batch is not None:
        return messages.invalid_request("initialize cannot be part of a batch")
    client = ClientInfo(negotiate(params.protocol_version), params.capabilities, params.client_info)
    talk.begin(client)
    return talk.host.initialize(client)


def _ping(talk: "Connection", params: messages.Params, call: Call) -> Raw:
    return _EMPTY


def _discover(talk: "Connection", params: messages.Params, call: Call) -> Raw:
    return talk.host.discover(call.client)


def _lists(method: str) -> Route:
    def take(talk: "Connection", params: messages.ListParams, call: Call) -> Found:
        page = talk.host.list_page(method, params.cursor, call.client)
        if page is not None:
            return page
        call.special = Special(method, params)
        return call

    return Route(_decoder(messages.ListParams), take, feature=method.partition("/")[0])


def _call_tool(talk: "Connection", params: messages.CallParams, call: Call) -> Call | Reject:
    call.name = params.name
    arguments = bytes(params.arguments)
    if arguments[:1] == b"{":
        call.arguments = arguments
    elif arguments not in (b"", b"null"):
        return Reject(INVALID_PARAMS, "params.arguments must be an object")
    if params.state is not None or params.responses is not NOTHING:
        _note_retry(params, call)
    return call


def _note_retry(params: messages.RetriedParams, call: Call) -> None:
    if call.revision.stateless:
        call.special = call.special or Special()
        call.special.retry = Retry(params.responses, params.state)


def _get_prompt(talk: "Connection", params: messages.CallParams, call: Call) -> Call | Reject:
    call.special = Special(PROMPT)
    return _call_tool(talk, params, call)


def _read_resource(talk: "Connection", params: messages.ReadParams, call: Call) -> Call:
    call.special, call.name = Special(RESOURCE), params.uri
    if params.state is not None or params.responses is not NOTHING:
        _note_retry(params, call)
    return call


def _complete(talk: "Connection", params: messages.CompleteParams, call: Call) -> Call:
    ref = params.ref
    call.name = ref.name if isinstance(ref, messages.PromptReference) else ref.uri
    call.special = Special(COMPLETION, params)
    return call


def _subscribe(talk: "Connection", params: messages.ResourceParams, call: Call) -> Raw | Reject:
    if not talk.has_begun:
        return Reject(INVALID_REQUEST, "Notifications require a session; begin with initialize")
    fault = talk.host.catalog.watch_fault(params.uri, call.revision)
    if fault is None:
        fault = talk.subscribe(params.uri)
    return fault or _EMPTY


def _unsubscribe(talk: "Connection", params: messages.ResourceParams, call: Call) -> Raw:
    talk.unsubscribe(params.uri)
    return _EMPTY


def _set_level(talk: "Connection", params: messages.LevelParams, call: Call) -> Raw:
    talk.level = params.level
    return _EMPTY


def _listen(talk: "Connection", params: messages.ListenParams, call: Call) -> Call:
    call.special = Special(LISTEN, params.notifications)
    return call


def _decoder(params: type) -> Callable[[Any], Any]:
    return msgspec.json.Decoder(params).decode


_ANY_PARAMS: Final = _decoder(messages.Params)
_RESOURCE_PARAMS: Final = _decoder(messages.ResourceParams)

UNKNOWN: Final = Route(  # not served, but the caller's own errors are reported first
    _ANY_PARAMS, _ping, handshake=False, stateless=False, before_handshake=True
)
ROUTES: Final = {
    "initialize": Route(
        _decoder(messages.InitializeParams), _initialize, stateless=False, before_handshake=True
    ),
    "ping": Route(_ANY_PARAMS, _ping, stateless=False, before_handshake=True),
    "server/discover": Route(_ANY_PARAMS, _discover, handshake=False),
    "tools/list": _lists("tools/list"),
    "tools/call": Route(_decoder(messages.CallParams), _call_tool),
    "prompts/list": _lists("prompts/list"),
    "prompts/get": Route(_decoder(messages.CallParams), _get_prompt, feature="prompts"),
    "resources/list": _lists("resources/list"),
    "resources/templates/list": _lists("resources/templates/list"),
    "resources/read": Route(_decoder(messages.ReadParams), _read_resource, feature="resources"),
    "resources/subscribe": Route(
        _RESOURCE_PARAMS, _subscribe, stateless=False, feature="subscriptions"
    ),
    "resources/unsubscribe": Route(
        _RESOURCE_PARAMS, _unsubscribe, stateless=False, feature="subscriptions"
    ),
    "completion/complete": Route(
        _decoder(messages.CompleteParams), _complete, feature="completions"
    ),
    "logging/setLevel": Route(
        _decoder(messages.LevelParams), _set_level, stateless=False, feature="logging"
    ),
    "subscriptions/listen": Route(
        _decoder(messages.ListenParams), _listen, handshake=False, feature="changes"
    ),
}


def look_again(
    route: Route, method: str, raw: bytes, error: Exception
) -> tuple[Any, Reject | None]:
    """Params that did not decode: none at all, or of a wrong shape, of which `_meta` may do."""
    if raw in (b"", b"null"):
        raw = b"{}"
        try:
            return route.decode(raw), None
        except UNREADABLE as missing:
            error = missing
    fault = Reject(INVALID_PARAMS, f"Invalid params for {method}: {reason(error)}")
    try:
        return _ANY_PARAMS(raw), fault
    except UNREADABLE:
        return messages.Params(), fault
