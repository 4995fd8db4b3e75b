"""The referee of the test suite: is one message that our server emitted right?

`check` holds a message against, in this order: JSON-RPC's shape, the rules of our own contract,
the official models (`mcp-types`) of the revision in force, where the environment variable
`MCP_SCHEMAS` names a folder with MCP's own JSON Schemas (`<revision>.json`) the schema of that
revision, and, for a tool result, the schema that we publish for its profile. It raises `WireError`,
whose text says which rule broke.
"""

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, overload

import jsonschema_rs
from mcp_types import InputRequiredResult, jsonrpc
from mcp_types.methods import (
    CACHEABLE_METHODS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
    SERVER_RESULTS,
    parse_server_notification,
    parse_server_request,
    parse_server_result,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    KNOWN_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    is_version_at_least,
)
from pydantic import BaseModel, TypeAdapter, ValidationError

from accord.model import schemas

Message = dict[str, Any]
RequestId = int | str
Methods = str | Mapping[RequestId, str] | None
Profiles = str | Mapping[RequestId, str | None] | None
Rule = Callable[[Message, str], Iterator[str]]

REVISIONS = KNOWN_PROTOCOL_VERSIONS
BATCHES = "2025-03-26"
STRUCTURE = "2025-06-18"
NAMELESS_ERRORS = "2025-11-25"
STATELESS = "2026-07-28"

COUNTS: Counter[str] = Counter()


class WireError(AssertionError):
    """A message that our server must not send; `broken` says in words which rules it breaks."""

    def __init__(self, broken: str, message: object) -> None:
        super().__init__(f"{broken}\nIt was: {message!r:.2000}")
        self.broken = broken


def summary() -> str:
    """One line for the end of a test session: how much was checked, and against what."""
    return (
        f"wire: {COUNTS['messages']} messages checked, {COUNTS['models']} against mcp-types, "
        f"{COUNTS['schemas']} against MCP's JSON Schemas, {COUNTS['profiles']} against ours"
    )


@overload
def check(
    message: Message, *, revision: str | None, method: Methods, profile: Profiles = None
) -> Message: ...
@overload
def check(
    message: list[Message], *, revision: str | None, method: Methods, profile: Profiles = None
) -> list[Message]: ...
@overload
def check(
    message: bytes, *, revision: str | None, method: Methods, profile: Profiles = None
) -> Any: ...
def check(message: Any, *, revision: str | None, method: Methods, profile: Profiles = None) -> Any:
    """The decoded message, if it is right; `WireError` otherwise.

    `revision` is the one in force, or None where it is not known: then only the shape is checked.
    For `initialize` it is the revision the client asked for. `method` is that of the request the
    message answers; for a batch it may be a mapping from request ids to methods. `profile` is the
    one in which a tool result is worded; where it is not known, the result fits some profile.
    """
    if revision not in (None, *REVISIONS) and method != "initialize":
        raise ValueError(f"no MCP revision: {revision!r}")
    value = decode(message if isinstance(message, bytes) else _encode(message))
    if isinstance(value, list):
        return _check_batch(value, revision, method, profile)
    return _check_one(value, revision, _given_for(value, method), _given_for(value, profile))


def decode(line: bytes) -> Any:
    """The JSON value of one line, read more strictly than `json.loads` does."""
    body = line.removesuffix(b"\n")
    if b"\n" in body or b"\r" in body:
        _fail("A message is one line, with no line break inside.", line)
    try:
        value = json.loads(
            body.decode(),
            object_pairs_hook=_distinct,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except WireError:
        raise
    except ValueError as error:
        _fail(f"A message is JSON in UTF-8: {error}.", line)
    _encode(value)
    return value


def _encode(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        _fail("Text has no lone surrogates.", value)
    except (TypeError, ValueError) as error:
        _fail(f"A message is made of JSON values, without NaN and Infinity: {error}.", value)


def _distinct(pairs: list[tuple[str, Any]]) -> Message:
    members = dict(pairs)
    if len(members) < len(pairs):
        _fail("The members of an object have distinct names.", pairs)
    return members


def _no_constant(name: str) -> NoReturn:
    _fail("A message has no NaN and no Infinity: they are not JSON.", name)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        _fail("A number fits into a double: others read it as Infinity.", digits)
    return number


def _given_for(message: Any, given: Methods | Profiles) -> str | None:
    if given is None or isinstance(given, str):
        return given
    identity = message.get("id") if isinstance(message, dict) else None
    return given.get(identity) if isinstance(identity, int | str) else None


def _check_batch(
    batch: list[Any], revision: str | None, method: Methods, profile: Profiles
) -> list[Message]:
    if revision != BATCHES:
        _fail(f"A batch is sent under {BATCHES} only, not under {revision}.", batch)
    if not batch:
        _fail("A batch has at least one message.", batch)
    if any(isinstance(member, dict) and "method" in member for member in batch):
        _fail("A batch from the server holds replies only.", batch)
    return [
        _check_one(member, revision, _given_for(member, method), _given_for(member, profile))
        for member in batch
    ]


def _check_one(
    message: Any, revision: str | None, method: str | None, profile: str | None
) -> Message:
    if not isinstance(message, dict):
        _fail("A message is an object.", message)
    _demand(_shape(message, revision), message)
    COUNTS["messages"] += 1
    if "method" in message:
        _check_call(message, revision)
    elif "result" in message:
        in_force = _in_force(message, revision, method)
        if in_force == STATELESS and message["result"].get("resultType") == "input_required":
            _check_asking(message, in_force, method)
            return message
        _check_result(message, in_force, method)
        if method == "tools/call" and in_force is not None:
            _fits_profile(profile, message)
    else:
        _check_error(message, revision if revision in REVISIONS else None)
    return message


def _in_force(message: Message, revision: str | None, method: str | None) -> str | None:
    if method != "initialize":
        return revision
    answered = message["result"].get("protocolVersion")
    if answered not in HANDSHAKE_PROTOCOL_VERSIONS:
        _fail("initialize answers with a revision that begins with initialize.", message)
    expected = revision if revision in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
    if revision is not None and answered != expected:
        _fail(f"initialize for {revision} answers with {expected}, not {answered}.", message)
    return str(answered)


# JSON-RPC's shape


def _shape(message: Message, revision: str | None) -> Iterator[str]:
    if message.get("jsonrpc") != "2.0":
        yield 'A message says "jsonrpc": "2.0".'
    if "method" in message:
        yield from _call_shape(message)
    else:
        yield from _reply_shape(message)
        yield from _reply_id(message, revision)


def _call_shape(message: Message) -> Iterator[str]:
    yield from _members(message, "A request or notification", {"jsonrpc", "id", "method", "params"})
    if not isinstance(message["method"], str):
        yield "A method is a string."
    if "params" in message and not isinstance(message["params"], dict):
        yield "Params are an object."
    if "id" in message and not _is_id(message["id"]):
        yield "An id is a string or an integer."


def _reply_shape(message: Message) -> Iterator[str]:
    yield from _members(message, "A reply", {"jsonrpc", "id", "result", "error"})
    if ("result" in message) == ("error" in message):
        yield "A reply has a result or an error, and not both."
    if not isinstance(message.get("result", {}), dict):
        yield "A result is an object."
    if "error" in message:
        yield from _error_shape(message["error"])


def _error_shape(error: Any) -> Iterator[str]:
    if not isinstance(error, dict):
        yield "An error is an object."
        return
    yield from _members(error, "An error", {"code", "message", "data"})
    if type(error.get("code")) is not int:
        yield "The code of an error is an integer."
    if not isinstance(error.get("message"), str):
        yield "The message of an error is a string."


def _reply_id(message: Message, revision: str | None) -> Iterator[str]:
    if _is_id(message.get("id")):
        return
    if message.get("id") is not None:
        yield "An id is a string or an integer."
    elif not _answers_the_unreadable(message):
        yield "Only the errors -32700 and -32600 come without the id of a request."
    elif "id" not in message and not is_version_at_least(revision or "", NAMELESS_ERRORS):
        yield f"The id of an error is null, and left out from {NAMELESS_ERRORS} on at the earliest."


def _members(value: Message, what: str, allowed: set[str]) -> Iterator[str]:
    if extra := sorted(value.keys() - allowed):
        yield f"{what} has no members beyond {sorted(allowed)}: {extra}."


def _is_id(value: object) -> bool:
    return type(value) in (int, str)


def _answers_the_unreadable(message: Message) -> bool:
    error = message.get("error")
    unreadable = (jsonrpc.PARSE_ERROR, jsonrpc.INVALID_REQUEST)
    return isinstance(error, dict) and error.get("code") in unreadable


# The contract's own rules: each yields a sentence for what is broken


def result_type_by_revision(result: Message, revision: str) -> Iterator[str]:
    if is_version_at_least(revision, STATELESS):
        if result.get("resultType") != "complete":
            yield f'From {STATELESS} on a result says "resultType": "complete".'
    elif "resultType" in result:
        yield f"Before {STATELESS} a result has no resultType."


def cache_hints_by_revision(result: Message, revision: str) -> Iterator[str]:
    hints = {"ttlMs", "cacheScope"}
    if not is_version_at_least(revision, STATELESS):
        if hints & result.keys():
            yield f"Before {STATELESS} a result has no ttlMs and no cacheScope."
    elif not hints <= result.keys():
        yield f"From {STATELESS} on this result has ttlMs and cacheScope."


def content_is_there(result: Message, revision: str) -> Iterator[str]:
    if not isinstance(result.get("content"), list) or not result["content"]:
        yield "A tools/call result has content, and never an empty one."


def content_fits_revision(result: Message, revision: str) -> Iterator[str]:
    since = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
    for block in _objects(result.get("content")):
        kind = block.get("type")
        if kind in since and not is_version_at_least(revision, since[kind]):
            yield f"A block of type {kind} is sent from {since[kind]} on only."


def structure_by_revision(result: Message, revision: str) -> Iterator[str]:
    if "structuredContent" not in result:
        return
    if not is_version_at_least(revision, STRUCTURE):
        yield f"Before {STRUCTURE} a result has no structuredContent."
    elif revision != STATELESS and not isinstance(result["structuredContent"], dict):
        yield f"Before {STATELESS} structuredContent is an object."


def is_error_is_absent_or_true(result: Message, revision: str) -> Iterator[str]:
    if result.get("isError", True) is not True:
        yield "isError is left out or true."


def next_cursor_is_text(result: Message, revision: str) -> Iterator[str]:
    if not isinstance(result.get("nextCursor", ""), str):
        yield "nextCursor is a string or left out, never null."


def tool_members_are_not_null(result: Message, revision: str) -> Iterator[str]:
    for tool in _objects(result.get("tools")):
        if empty := [name for name, value in tool.items() if value is None]:
            yield f"Tool {tool.get('name')!r} leaves out what it lacks, but has null: {empty}."


def input_schemas_are_objects(result: Message, revision: str) -> Iterator[str]:
    for tool in _objects(result.get("tools")):
        if not _object_rooted(tool.get("inputSchema")):
            yield f'The inputSchema of tool {tool.get("name")!r} has "type": "object" at its root.'


def output_schemas_by_revision(result: Message, revision: str) -> Iterator[str]:
    for tool in _objects(result.get("tools")):
        if "outputSchema" not in tool:
            continue
        if not is_version_at_least(revision, STRUCTURE):
            yield f"Before {STRUCTURE} tool {tool.get('name')!r} has no outputSchema."
        elif revision != STATELESS and not _object_rooted(tool["outputSchema"]):
            yield (
                f"Before {STATELESS} the outputSchema of tool {tool.get('name')!r} "
                'has "type": "object" at its root.'
            )


def tool_schemas_are_json_schemas(result: Message, revision: str) -> Iterator[str]:
    for tool in _objects(result.get("tools")):
        for member in ("inputSchema", "outputSchema"):
            if not _is_json_schema(tool.get(member, {})):
                yield f"The {member} of tool {tool.get('name')!r} is a valid JSON Schema."


def retired_codes_stay_unused(error: Message, revision: str) -> Iterator[str]:
    if is_version_at_least(revision, STATELESS) and error["code"] in (-32002, -32042):
        yield f"From {STATELESS} on the code {error['code']} is never sent."


RULES: Mapping[str, tuple[Rule, ...]] = {
    "tools/call": (
        content_is_there,
        content_fits_revision,
        structure_by_revision,
        is_error_is_absent_or_true,
    ),
    "tools/list": (
        next_cursor_is_text,
        tool_members_are_not_null,
        input_schemas_are_objects,
        output_schemas_by_revision,
        tool_schemas_are_json_schemas,
    ),
}


def _rules_for(method: str | None) -> Iterator[Rule]:
    yield result_type_by_revision
    if method in CACHEABLE_METHODS:
        yield cache_hints_by_revision
    yield from RULES.get(method or "", ())


def _objects(value: Any) -> list[Message]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _is_json_schema(value: Any) -> bool:
    try:
        return isinstance(value, dict) and jsonschema_rs.meta.is_valid(value)
    except (ValueError, jsonschema_rs.ReferencingError):
        return False


def _object_rooted(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "object"


# The referees: official models, official schemas


def _check_result(message: Message, revision: str | None, method: str | None) -> None:
    _fits(jsonrpc.JSONRPCResponse, message, message)
    if revision is None:
        return
    result = message["result"]
    broken = (sentence for rule in _rules_for(method) for sentence in rule(result, revision))
    _demand(broken, message)
    if method is not None:
        target = _known(SERVER_RESULTS, method, revision, message)
        _fits(target, result, message)
        _parses(lambda: parse_server_result(method, revision, result), message)
        COUNTS["models"] += 1
    _fits_schemas(
        revision,
        message,
        (("JSONRPCResultResponse", "JSONRPCResponse"), message),
        ((RESULT_DEFINITIONS.get(method or "", "Result"),), result),
    )


def _check_asking(message: Message, revision: str, method: str | None) -> None:
    """A result that asks for something: to such requests only, and with something to go on with."""
    result = message["result"]
    _demand(asking_is_allowed(result, method), message)
    _fits(InputRequiredResult, result, message)
    COUNTS["models"] += 1
    _fits_schemas(revision, message, (("InputRequiredResult",), result))


def asking_is_allowed(result: Message, method: str | None) -> Iterator[str]:
    if method not in ("tools/call", "prompts/get", "resources/read"):
        yield f"A {method} request is never answered with questions."
    if not result.keys() & {"inputRequests", "requestState"}:
        yield "A result that asks has inputRequests or requestState."
    if result.keys() & {"ttlMs", "cacheScope"}:
        yield "A result that asks is not to be cached."
    for question in _objects(list(result.get("inputRequests", {}).values())):
        if question.get("method") not in (
            "elicitation/create",
            "sampling/createMessage",
            "roots/list",
        ):
            yield f"There is no question {question.get('method')!r}."


def _check_error(message: Message, revision: str | None) -> None:
    if "id" in message:
        _fits(jsonrpc.JSONRPCError, message, message)
        COUNTS["models"] += 1
    if revision is None:
        return
    _demand(retired_codes_stay_unused(message["error"], revision), message)
    if message.get("id", "left out") is None:
        return
    special = ERROR_DEFINITIONS.get(message["error"]["code"], "")
    general = ("JSONRPCErrorResponse", "JSONRPCError")
    _fits_schemas(revision, message, ((special, *general), message))


def _check_call(message: Message, revision: str | None) -> None:
    is_request = "id" in message
    _fits(jsonrpc.JSONRPCRequest if is_request else jsonrpc.JSONRPCNotification, message, message)
    if revision is None:
        return
    method = message["method"]
    surface = SERVER_REQUESTS if is_request else SERVER_NOTIFICATIONS
    parse = parse_server_request if is_request else parse_server_notification
    target = _known(surface, method, revision, message)
    _fits(target, message, message)
    _parses(lambda: parse(method, revision, message.get("params")), message)
    COUNTS["models"] += 1
    _fits_schemas(revision, message, ((target.__name__,), message))


def _known(
    surface: Mapping[tuple[str, str], Any], method: str, revision: str, message: Message
) -> Any:
    if (method, revision) not in surface:
        _fail(f"Under {revision} a server has no such message for {method}.", message)
    return surface[method, revision]


def _fits(target: Any, value: Any, message: Message) -> None:
    _parses(
        lambda: _adapter(target).validate_json(_encode(value), strict=True, by_name=False), message
    )


@cache
def _adapter(target: type[BaseModel]) -> TypeAdapter[Any]:
    return TypeAdapter(target)


def _parses(parse: Callable[[], object], message: Message) -> None:
    try:
        parse()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        _fail(f"The official model {error.title} refuses it at {place}: {first['msg']}.", message)


RESULT_DEFINITIONS: Mapping[str, str] = {
    "completion/complete": "CompleteResult",
    "initialize": "InitializeResult",
    "logging/setLevel": "EmptyResult",
    "ping": "EmptyResult",
    "prompts/get": "GetPromptResult",
    "prompts/list": "ListPromptsResult",
    "resources/list": "ListResourcesResult",
    "resources/read": "ReadResourceResult",
    "resources/subscribe": "EmptyResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/unsubscribe": "EmptyResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tools/call": "CallToolResult",
    "tools/list": "ListToolsResult",
}

ERROR_DEFINITIONS: Mapping[int, str] = {
    jsonrpc.HEADER_MISMATCH: "HeaderMismatchError",
    jsonrpc.MISSING_REQUIRED_CLIENT_CAPABILITY: "MissingRequiredClientCapabilityError",
    jsonrpc.UNSUPPORTED_PROTOCOL_VERSION: "UnsupportedProtocolVersionError",
    jsonrpc.URL_ELICITATION_REQUIRED: "URLElicitationRequiredError",
}


def _fits_schemas(revision: str, message: Message, *parts: tuple[tuple[str, ...], Message]) -> None:
    folder = os.environ.get("MCP_SCHEMAS")
    if not folder:
        return
    for names, value in parts:
        try:
            _validator(folder, revision, names).validate(value)
        except jsonschema_rs.ValidationError as error:
            place = "/".join(map(str, error.instance_path))
            _fail(f"MCP's schema of {revision} refuses it at /{place}: {error.message}.", message)
    COUNTS["schemas"] += 1


@cache
def _validator(folder: str, revision: str, names: tuple[str, ...]) -> jsonschema_rs.Validator:
    """Of the first definition among `names` that the revision has: their names changed."""
    document = json.loads(Path(folder, f"{revision}.json").read_bytes())
    keyword = "$defs" if "$defs" in document else "definitions"
    name = next(name for name in names if name in document[keyword])
    return jsonschema_rs.validator_for({**document, "allOf": [{"$ref": f"#/{keyword}/{name}"}]})


# Our own schemas: what we publish for each profile

OWN_SHAPES: Mapping[str, tuple[str, Callable[[Message], bool]]] = {
    # the published schema of the object that text and structure are, and whether it is a failure
    "envelope": ("response-v2", lambda shape: shape["success"] is False),
    "generic": ("generic", lambda shape: shape["responseType"] == "error"),
}
PROFILES = ("plain", "bare", "prose", *OWN_SHAPES)


def _fits_profile(profile: str | None, message: Message) -> None:
    """A tool result is what our schema of its profile says; of some profile, if none is named."""
    faults = []
    for name in PROFILES if profile is None else (profile,):
        fault = _profile_fault(name, message["result"])
        if fault is None:
            COUNTS["profiles"] += 1
            return
        faults.append(f"Our schema of {name} refuses it: {fault}.")
    _fail(" ".join(faults), message)


def _profile_fault(profile: str, result: Message) -> str | None:
    if profile not in OWN_SHAPES:
        return _schema_fault(profile, result)
    schema, is_failure = OWN_SHAPES[profile]
    try:
        shape = json.loads(result["content"][0]["text"])
    except (KeyError, ValueError):
        return "its first block is no JSON text"
    fault = _schema_fault(schema, shape)
    if fault is not None:
        return fault
    if is_failure(shape) != ("isError" in result):
        return "it does not agree with isError"
    if result.get("structuredContent", shape) != shape:
        return "its structure is not its text"
    return None


def _schema_fault(name: str, value: Any) -> str | None:
    try:
        _published(name).validate(value)
    except jsonschema_rs.ValidationError as error:
        place = "/".join(map(str, error.instance_path))
        return f"/{place}: {error.message}"
    return None


@cache
def _published(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(schemas.load(name))


def _demand(broken: Iterable[str], message: Message) -> None:
    if sentences := list(broken):
        _fail(" ".join(sentences), message)


def _fail(sentence: str, message: object) -> NoReturn:
    raise WireError(sentence, message)
