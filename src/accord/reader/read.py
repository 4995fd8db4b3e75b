"""`read`: normalises a reply of any MCP server into one JSON shape, without an LLM.

The steps, in order: unwrap the reply to a tool result or a payload; find the value in it; take a
reply in a shape of Accord with its declared type; for any other, gather the evidence and decide on
the type; then items, message and page.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from accord.model.answer import Notice, Page
from accord.model.response import (
    CATALOG,
    META_KEY,
    Failure,
    Pagination,
    Response,
    ResponseType,
    Summary,
)
from accord.reader.call import Call, call_of
from accord.reader.collection import Collection, collection_in, row_objects
from accord.reader.decision import decide
from accord.reader.documents import Digs
from accord.reader.evidence import Facts, Sign, Verdict
from accord.reader.evidence.catalogs import as_tool
from accord.reader.items import Items
from accord.reader.items.fields import record_in, tool_in
from accord.reader.known_shapes import (
    Known,
    Reply,
    known_shape,
    page_from,
    problem_details,
    problem_in,
    text_of,
    warnings_from,
)
from accord.reader.paging import page_in_text, page_of, page_of_cut
from accord.reader.reading import Notes, Reading
from accord.reader.sentences import first_sentence, reports_only_completion
from accord.reader.unwrap import is_passed_on, unwrap, unwrap_again
from accord.reader.value import Value, find, of_payload

_PREFIX: Final = re.compile(r"Error executing (?:tool )?(?:tool|[\w.-]{1,128}): ")
"""The prefix of the official SDK for the message of an exception."""
_CODE: Final = re.compile(r"(?:MCP|RPC|JSON-RPC) error:? (?:code )?(-\d{3,6})\b")
_NO_CODE: Final = "error"
_NO_MESSAGE: Final = "The tool reported a failure"
_MAX_GATEWAYS: Final = 3
"""Levels of nested results, one for each gateway."""
_MAX_SENTENCE: Final = 300
"""Characters of a sentence that becomes the message of an action."""
_MAX_HEADINGS: Final = 6
"""Lines in which that sentence is looked for."""
_MARKUP: Final = " \t*_`#>"
_LABEL: Final = re.compile(r"[\w *-]{1,40}:(?:\s|$)")
_UNKNOWN: Final = "unknown"
_NO_PAGINATION: Final = Pagination()
_LISTS: Final = ("list", "tool_catalog")


class _Request(msgspec.Struct):
    """The call, the unchanged reply, and the notes on it."""

    tool: str | None
    arguments: Mapping[str, Any]
    notes: Notes
    raw: Any


class _Content(msgspec.Struct, gc=False):
    """The type of a reply and its parts."""

    kind: ResponseType
    value: Any
    origin: str
    data: Any = None
    message: str | None = None
    page: Page | None = None
    warnings: Sequence[Notice] = ()
    is_partial: bool = False
    is_truncated: bool = False
    metadata: dict[str, Any] = {}
    failure: Failure | None = None


def read(
    reply: Any, tool: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Reading:
    """Return the reply of any MCP server in one structure, as a Reading; never raises.

    `reply` is bytes, text, a decoded message or result, or an object: of an SDK, of an agent
    framework, an exception, an Answer. `tool` and `arguments` are those of the call; they help to
    distinguish an action from a list. Malformed input is reported in `findings`. A Reading is
    returned unchanged.
    """
    if type(reply) is Reading:
        if tool in (None, reply.response.tool_name):
            return reply
        reply = reply.raw
    tool, arguments = tool if isinstance(tool, str) else None, _checked(arguments)
    request = _Request(tool, arguments, Notes(), reply)
    try:
        return _read(request, unwrap(reply, request.notes))
    except Exception as error:  # noqa: BLE001 - an object inside of the reply may raise anything
        request = _Request(tool, arguments, Notes(), reply)
        try:
            unwrapped = unwrap_again(reply, request.notes)
        except TypeError:  # JSON: the error is in the reader
            raise error from None
        return _read(request, unwrapped)


def _checked(arguments: Any) -> Mapping[str, Any]:
    """Return arguments without names that are not texts; none if they are not a mapping."""
    if not arguments or not isinstance(arguments, Mapping):
        return {}
    if all(type(name) is str for name in arguments):
        return arguments
    return {name: each for name, each in arguments.items() if isinstance(name, str)}


def _read(request: _Request, reply: Reply) -> Reading:
    if reply.tool is not None and not request.tool:
        request.tool = reply.tool
    content = _content(request, reply)
    kind, page, metadata = content.kind, content.page, content.metadata
    pagination = None if page is None else Pagination.of(page)
    if content.is_truncated and content.failure is None:
        metadata = {**metadata, "truncated": True}
    response = Response(
        tool_name=request.tool or _tool_name(kind, request.notes),
        response_type=kind,
        data=content.data,
        pagination=None if pagination == _NO_PAGINATION else pagination,
        summary=_summary(content.data, page) if kind in _LISTS else None,
        status=_status(content),
        message=content.message,
        error=content.failure,
        metadata=metadata or None,
    )
    return request.notes.reading(
        response,
        value=content.value,
        page=page,
        warnings=content.warnings,
        is_partial=content.is_partial,
        is_truncated=content.is_truncated,
        origin=content.origin,
        raw=request.raw,
    )


def _tool_name(kind: ResponseType, notes: Notes) -> str:
    if kind == "tool_catalog":
        return CATALOG
    notes.finding("tool name not given")
    return _UNKNOWN


def _summary(data: Any, page: Page | None) -> Summary:
    return Summary(
        total=None if page is None else page.total,
        returned=len(data) if isinstance(data, list) else None,
        has_more=None if page is None else page.has_more,
    )


def _status(content: _Content) -> Any:
    if content.failure is not None:
        return "error"
    if content.is_partial:
        return "partial"
    return "success" if content.kind == "action" else None


def _content(request: _Request, reply: Reply) -> _Content:
    if reply.error is not None:
        return _rpc_error(request, reply.error)
    if reply.size is not None:
        data = {"bytes": reply.size}
        return _Content("single", data, "the bytes", data)
    call = call_of(request.tool, request.arguments)
    known, origin, is_error = reply.known, "the object", None
    if known is None and reply.result is not None:
        known, origin, is_error = problem_in(reply.result), "_meta", reply.is_error
    if known is not None:
        value = find(reply.result or {}, Notes(), digs="")
        value.origin = origin
        return _known(request, call, known, value, is_error)
    value, is_error = _value(request, call, reply)
    known = known_shape(value.value)
    if known is not None:
        return _known(request, call, known, value, is_error)
    return _foreign(request, call, value, is_error)


def _value(request: _Request, call: Call, reply: Reply) -> tuple[Value, bool | None]:
    """Return the value of a reply and its `isError`, of the innermost of nested results."""
    notes = request.notes
    digs: Digs = "" if call.gives_content else "json" if call.gives_printed else "all"
    is_answer = request.tool is not None and not call.gives_prose
    if reply.result is None:
        value = of_payload(reply.payload, reply.is_text, notes, digs=digs, is_answer=is_answer)
    else:
        value = find(reply.result, notes, digs=digs, is_answer=is_answer)
    is_error = reply.is_error
    for _ in range(_MAX_GATEWAYS):
        inner = value.value
        if type(inner) is not dict or "content" not in inner or not is_passed_on(inner):
            break
        is_own_failure = is_error is True and inner.get("isError") is not True
        if is_own_failure or value.attachments or value.extras or value.details:
            break
        notes.rule("result-in-result")
        is_error = Reply(result=inner).is_error
        value = find(inner, notes, digs=digs, is_answer=is_answer)
    return value, is_error


def _object(value: Any) -> Any:
    """Return a value as an object: text under `text`, a list or a number under `result`."""
    if value is None or isinstance(value, dict):
        return value
    return {"text": value} if isinstance(value, str) else {"result": value}


# JSON-RPC errors


def _rpc_error(request: _Request, error: Mapping[str, Any]) -> _Content:
    data = error.get("data")
    problem = problem_details(data.get(META_KEY)) if isinstance(data, dict) else None
    if problem is not None and isinstance(data, dict):
        request.notes.rule("problem")
        data = {name: each for name, each in data.items() if name != META_KEY} | problem
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, str | int | float):
        request.notes.finding("the JSON-RPC error has no code")
        code = _NO_CODE
    failure = Failure(
        code=code,
        message=message if isinstance(message, str) and message else "The request was rejected",
        details=data if isinstance(data, dict | str) else {} if data is None else {"data": data},
    )
    known = ("code", "message", "data")
    unknown = {name: each for name, each in error.items() if name not in known}
    return _failed(None, "error", failure, metadata=unknown)


def _failed(value: Any, origin: str, failure: Failure, **parts: Any) -> _Content:
    parts["message"] = parts.get("message") or failure.message
    return _Content("error", value, origin, failure=failure, **parts)


# Replies in Accord's own shapes


def _known(
    request: _Request, call: Call, known: Known, value: Value, is_error: bool | None
) -> _Content:
    """Return the content of a reply that declares its own type."""
    request.notes.rule(known.shape)
    request.tool = request.tool or known.tool
    if is_error is not None and is_error != (known.failure is not None):
        request.notes.finding("isError contradicts the payload; the payload is used")
    details = value.details
    warnings = known.warnings or warnings_from(details.get("warnings"))
    parts: dict[str, Any] = {
        "message": known.message,
        "page": known.page or page_from(details.get("page")),
        "warnings": warnings,
        "is_partial": known.is_partial or details.get("partial") is True,
        "is_truncated": known.is_truncated or details.get("truncated") is True,
        "metadata": dict(known.metadata) | _metadata(value, warnings),
    }
    origin = f"{value.origin}: {known.shape}"
    if known.failure is not None:
        return _failed(None, origin, _failure_of(known.failure), **parts)
    kind, items, rest = _known_kind(known, call, request.notes)
    parts["metadata"] = {**rest, **parts["metadata"]}
    data = items if items is not None else _object(known.value)
    return _Content(kind, known.value, origin, data, **parts)


def _failure_of(failure: Mapping[str, Any]) -> Failure:
    code, details = failure["code"], failure["details"]
    return Failure(
        code=code if isinstance(code, str | int | float) else _NO_CODE,
        message=text_of(failure["message"] or _NO_MESSAGE),
        details=details if isinstance(details, dict | str) else {"details": details},
    )


def _known_kind(
    known: Known, call: Call, notes: Notes
) -> tuple[ResponseType, list[Any] | None, Mapping[str, Any]]:
    """Return the type of a reply in a known shape, its items, and the members beside them."""
    value = known.value
    if known.kind in _LISTS:
        if not isinstance(value, list):
            notes.finding("the list is not an array")
            value = [] if value is None else [value]
        return known.kind, value, {}
    if known.kind == "single" and (rows := _rows_of(value)) is not None:
        notes.rule("main-array")
        return "list", rows, {}
    if known.kind is not None:
        return known.kind, None, {}
    if isinstance(value, list):
        return "list", value, {}
    if call.intent == "act":
        return "action", None, {}
    collection = collection_in(value, call, {})
    if collection is None or collection.confidence == "guess":  # `data` may hold several payloads
        return "single", None, {}
    notes.rule("main-array", collection.confidence)
    return "list", collection.items, collection.rest


def _rows_of(value: Any) -> list[Any] | None:
    """Return the rows of a table with no other members, as objects."""
    if not isinstance(value, dict) or value.keys() != {"columns", "rows"}:
        return None
    rows = value["rows"]
    if not isinstance(rows, list):
        return None
    return row_objects(value["columns"], rows) if rows else rows


# Replies in any other shape


def _foreign(request: _Request, call: Call, value: Value, is_error: bool | None) -> _Content:
    """Return the content of a reply whose type is decided by evidence."""
    facts = Facts(
        value=value.value,
        is_text=value.is_text,
        is_error=is_error,
        message=value.message,
        attachments=value.attachments,
        is_structured=value.origin == "structuredContent",
        call=call,
        arguments=request.arguments,
        tool=request.tool,
        texts=value.texts,
    )
    notes = request.notes
    source, evidence, confidence, against = decide(facts)
    notes.rule(source.name, confidence)
    if evidence.finding is not None:
        notes.finding(evidence.finding)
    if evidence.kind == "error":
        content = _failed_by(evidence, value, facts, notes)
    elif evidence.kind in _LISTS:
        content = _listed(request, evidence, value, facts)
    else:
        content = _one(request, evidence, value, facts)
    notes.rules += against
    details = value.details
    if details:
        content.page = page_from(details.get("page")) or content.page
        content.warnings = warnings_from(details.get("warnings"))
        content.is_partial = content.is_partial or details.get("partial") is True
        content.is_truncated = details.get("truncated") is True
    if value.attachments or details or value.extras:
        content.metadata = {**content.metadata, **_metadata(value, content.warnings)}
    return content


def _one(request: _Request, evidence: Verdict, value: Value, facts: Facts) -> _Content:
    """Return the content of an action, or of a reply with one value."""
    message, page, data = value.message, None, _object(value.value)
    if facts.text is not None:
        if evidence.kind == "action":
            message = message or _sentence(facts.text)
        else:
            page = page_of_cut(facts.text, request.arguments)
            is_record = value.is_text and "\n" in facts.text and not facts.gives_anything
            record = record_in(facts.text) if is_record else None
            if record is not None:
                data, heading = record
                message = message or heading or None
    return _Content(
        evidence.kind,
        value.value,
        value.origin,
        data,
        message=message,
        page=page,
        is_partial=evidence.is_partial,
    )


def _sentence(text: str) -> str | None:
    """Return the first sentence of a text that is not a heading or a labelled line."""
    for line in text.splitlines()[:_MAX_HEADINGS]:
        words = line.strip(_MARKUP)
        if words and not line.startswith("#") and _LABEL.match(words) is None:
            sentence = first_sentence(words)
            is_sentence = " " in sentence or reports_only_completion(sentence)
            return sentence if is_sentence and len(sentence) <= _MAX_SENTENCE else None
    return None


def _listed(request: _Request, evidence: Verdict, value: Value, facts: Facts) -> _Content:
    """Return the content of a list or catalog, with the members beside its items as metadata."""
    found, message, page = evidence.found, value.message, None
    items: Any = value.value
    rest: dict[str, Any] = {}
    if isinstance(found, Items):
        request.notes.rule_within(found.rule, "likely")
        items, rest = found.items, facts.beside
        if evidence.kind == "tool_catalog":
            items = list(map(tool_in, items))
        message = "\n".join(filter(None, (found.heading, found.closing))) or None
    elif isinstance(found, Collection):
        is_catalog = evidence.kind == "tool_catalog"
        items = list(map(as_tool, found.items)) if is_catalog else found.items
        rest = found.rest
        page = page_of(rest, len(items), request.arguments) if rest else None
    if page is None and message:
        page = page_in_text(message)
    return _Content(
        evidence.kind,
        value.value,
        value.origin,
        items,
        message,
        page,
        is_partial=evidence.is_partial,
        metadata=rest,
    )


def _metadata(value: Value, warnings: Sequence[Notice]) -> dict[str, Any]:
    """Return the other members of a reply; those that the reader adds take precedence."""
    meta = value.details.get("meta")
    metadata = dict(meta) if isinstance(meta, dict) else {}
    for name, each in value.extras.items():
        if not _repeats_value(name, each, value.value):
            metadata[name] = each
    if value.attachments:
        metadata["attachments"] = list(value.attachments)
    if warnings:
        metadata["warnings"] = list(warnings)
    return metadata


def _repeats_value(name: str, extra: Any, value: Any) -> bool:
    """True if a member at the root of the result only repeats the value, as in `bare`."""
    if isinstance(value, dict):
        return bool(value.get(name) == extra)
    return name == "result" and bool(extra == value)


def _failed_by(evidence: Verdict, value: Value, facts: Facts, notes: Notes) -> _Content:
    """Return the content of a failure: its message, code and details."""
    sign = evidence.found if isinstance(evidence.found, Sign) else None
    if sign is not None:
        notes.rule_within(sign.rule)
    text = value.message or facts.text or _NO_MESSAGE
    message = value.prose or (text if sign is None else sign.message)
    message = _PREFIX.sub("", message, count=1)
    if message.startswith("<error>"):
        message = message.removeprefix("<error>").removesuffix("</error>").strip() or message
    code = None if sign is None else sign.code
    if code is None:
        coded = _CODE.match(message)
        code = _NO_CODE if coded is None else int(coded[1])
    details: Any = None if sign is None else sign.details
    if not isinstance(details, dict):
        has_data = not value.is_text and value.value is not None
        details = value.value if has_data else {}
    details = details if isinstance(details, dict) else {"data": details}
    return _failed(value.value, value.origin, Failure(code=code, message=message, details=details))
