"""MCP's methods: the params of each, its handler, and the states in which it is served."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

from accord.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Reject
from accord.model.context import ClientInfo
from accord.protocol import messages
from accord.protocol.events import (
    COMPLETE,
    LISTEN,
    PROMPTS_GET,
    RESOURCES_READ,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_RESULT,
    TASKS_UPDATE,
    TOOLS_CALL,
    Request,
)
from accord.protocol.input_state import Retry
from accord.protocol.messages import NOTHING
from accord.protocol.request_meta import UNREADABLE, reason
from accord.revisions import negotiate

if TYPE_CHECKING:
    from accord.protocol.connection import Connection

Taken = Request | Raw | Reject
"""A request to execute, a result, or an error."""
EXPERIMENTAL_TASKS: Final = "experimental tasks"
_EMPTY: Final = Raw(b"{}")
_replace = msgspec.structs.replace


class Route(msgspec.Struct, frozen=True):
    """A method: its decoder, its handler, and the eras that have it."""

    decode: Callable[[Any], Any]
    take: Callable[["Connection", Any, Request], Taken]
    handshake: bool = True
    """Served in revisions that begin with `initialize`."""
    stateless: bool = True
    """Served in revisions without a handshake."""
    before_handshake: bool = False
    feature: str | None = None
    """The capability that it needs."""
    changes_session: bool = False
    """It changes what later requests of the session depend on."""


def _initialize(
    connection: "Connection", params: messages.InitializeParams, request: Request
) -> Raw:
    client = ClientInfo(negotiate(params.protocol_version), params.capabilities, params.client_info)
    if connection.sessions:
        connection.begin_session(client)
    return connection.host.initialize(client, notifies=connection.sessions)


def _ping(connection: "Connection", params: messages.Params, request: Request) -> Raw:
    return _EMPTY


def _discover(connection: "Connection", params: messages.Params, request: Request) -> Raw:
    return connection.host.discover(request.client)


def _list(connection: "Connection", params: messages.ListParams, request: Request) -> Taken:
    page = connection.host.list_page(request.method, params.cursor, request.client)
    return page if page is not None else _replace(request, params=params)


def _list_route(method: str) -> Route:
    return Route(_decoder(messages.ListParams), _list, feature=method.partition("/")[0])


def _with_arguments(
    connection: "Connection", params: messages.CallParams, request: Request
) -> Request | Reject:
    """Take `tools/call` and `prompts/get`."""
    arguments = bytes(params.arguments)
    if arguments in (b"", b"null"):
        arguments = b"{}"
    elif arguments[:1] != b"{":
        return Reject(INVALID_PARAMS, "params.arguments must be an object")
    task = _wanted_task(connection, params, request) if bytes(params.task) else None
    if isinstance(task, Reject):
        return task
    return _replace(
        request,
        name=params.name,
        arguments=arguments,
        params=task,
        retry=_retry(params, request),
    )


def _wanted_task(
    connection: "Connection", params: messages.CallParams, request: Request
) -> messages.TaskMetadata | Reject | None:
    """Return the task that a call is to be; None where calls have no such param."""
    if not request.revision.tasks or not connection.host.has_feature(EXPERIMENTAL_TASKS):
        return None
    try:
        return _decode_task(params.task)
    except UNREADABLE as error:
        return Reject(INVALID_PARAMS, f"Invalid params.task: {reason(error)}")


def _task(connection: "Connection", params: messages.TaskParams, request: Request) -> Taken:
    """Take the requests for a task."""
    if not request.revision.stateless:
        has_tasks = request.revision.tasks and connection.host.has_feature(EXPERIMENTAL_TASKS)
        if not has_tasks:
            return Reject(METHOD_NOT_FOUND, f"Method not found: {request.method}")
    return _replace(request, name=params.task_id, params=params)


def _read_resource(
    connection: "Connection", params: messages.ReadParams, request: Request
) -> Request:
    return _replace(request, name=params.uri, retry=_retry(params, request))


def _retry(params: messages.RetriedParams, request: Request) -> Retry | None:
    is_retry = params.state is not None or params.responses is not NOTHING
    if is_retry and request.revision.stateless:
        return Retry(params.responses, params.state)
    return None


def _complete(
    connection: "Connection", params: messages.CompleteParams, request: Request
) -> Request:
    ref = params.ref
    name = ref.name if isinstance(ref, messages.PromptReference) else ref.uri
    return _replace(request, name=name, params=params)


def _subscribe(
    connection: "Connection", params: messages.ResourceParams, request: Request
) -> Raw | Reject:
    if not connection.has_session:
        return Reject(INVALID_REQUEST, "Notifications require a session; begin with initialize")
    fault = connection.host.subscription_fault(params.uri, request.revision)
    if fault is None:
        fault = connection.subscribe(params.uri)
    if fault is not None:
        return fault
    connection.host.watch(params.uri, connection)
    return _EMPTY


def _unsubscribe(
    connection: "Connection", params: messages.ResourceParams, request: Request
) -> Raw:
    connection.unsubscribe(params.uri)
    return _EMPTY


def _set_level(connection: "Connection", params: messages.LevelParams, request: Request) -> Raw:
    connection.log_level = params.level
    return _EMPTY


def _listen(connection: "Connection", params: messages.ListenParams, request: Request) -> Request:
    return _replace(request, params=params.notifications)


def _decoder(params: type) -> Callable[[Any], Any]:
    return msgspec.json.Decoder(params).decode


_decode_task: Final = msgspec.json.Decoder(messages.TaskMetadata).decode
_ANY_PARAMS: Final = _decoder(messages.Params)
_RESOURCE_PARAMS: Final = _decoder(messages.ResourceParams)

UNKNOWN: Final = Route(  # not served, but the caller's own errors are reported first
    _ANY_PARAMS, _ping, handshake=False, stateless=False, before_handshake=True
)
ROUTES: Final = {
    "initialize": Route(
        _decoder(messages.InitializeParams),
        _initialize,
        stateless=False,
        before_handshake=True,
        changes_session=True,
    ),
    "ping": Route(_ANY_PARAMS, _ping, stateless=False, before_handshake=True),
    "server/discover": Route(_ANY_PARAMS, _discover, handshake=False),
    "tools/list": _list_route("tools/list"),
    TOOLS_CALL: Route(_decoder(messages.CallParams), _with_arguments),
    "prompts/list": _list_route("prompts/list"),
    PROMPTS_GET: Route(_decoder(messages.CallParams), _with_arguments, feature="prompts"),
    "resources/list": _list_route("resources/list"),
    "resources/templates/list": _list_route("resources/templates/list"),
    RESOURCES_READ: Route(_decoder(messages.ReadParams), _read_resource, feature="resources"),
    "resources/subscribe": Route(
        _RESOURCE_PARAMS,
        _subscribe,
        stateless=False,
        feature="subscriptions",
        changes_session=True,
    ),
    "resources/unsubscribe": Route(
        _RESOURCE_PARAMS,
        _unsubscribe,
        stateless=False,
        feature="subscriptions",
        changes_session=True,
    ),
    COMPLETE: Route(_decoder(messages.CompleteParams), _complete, feature="completions"),
    "logging/setLevel": Route(
        _decoder(messages.LevelParams),
        _set_level,
        stateless=False,
        feature="logging",
        changes_session=True,
    ),
    TASKS_GET: Route(_decoder(messages.TaskParams), _task, feature="tasks"),
    TASKS_UPDATE: Route(
        _decoder(messages.UpdateTaskParams), _task, handshake=False, feature="tasks"
    ),
    TASKS_CANCEL: Route(_decoder(messages.TaskParams), _task, feature="tasks"),
    TASKS_RESULT: Route(_decoder(messages.TaskParams), _task, stateless=False, feature="tasks"),
    LISTEN: Route(_decoder(messages.ListenParams), _listen, handshake=False, feature="changes"),
}


def decode_leniently(
    route: Route, method: str, raw: bytes, error: Exception
) -> tuple[Any, Reject | None]:
    """Decode params that failed to decode: absent ones as {}, invalid ones for their `_meta`."""
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
