"""`read`: normalises a reply of any MCP server into one JSON shape, without an LLM."""

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
from accord.reader.call import Call
from accord.reader.call_arguments import call_of
from accord.reader.collection import collection_in
from accord.reader.collection_shapes import Collection, row_objects
from accord.reader.decision import decide
from accord.reader.evidence.facts import Evidence, Facts
from accord.reader.evidence.failure_members import Sign
from accord.reader.items import Items
from accord.reader.known_shapes import (
    Known,
    known_shape,
    page_from,
    problem_details,
    problem_in,
    said_of,
    warnings_from,
)
from accord.reader.paging import page_in_words, page_of, page_of_cut
from accord.reader.reading import Notes, Reading
from accord.reader.reply import Reply
from accord.reader.unwrap import is_passed_on, unwrap, unwrap_again
from accord.reader.value import Digs, Value, find, of_payload

_EXECUTING: Final = re.compile(r"Error executing (?:tool )?(?:tool|[\w.-]{1,128}): ")
_CODED: Final = re.compile(r"(?:MCP|RPC|JSON-RPC) error:? (?:code )?(-\d{3,6})\b")
AGAINST: list[tuple[str, ...]] = []
_NO_CODE: Final = "error"
_MOST_PASSED_ON: Final = 3
"""Gateways behind each other."""
_UNKNOWN: Final = "unknown"
_NO_PAGINATION: Final = Pagination()


class _Asked(msgspec.Struct):
    """What was asked of whom, the reply as it came, and what is noted down as it is read."""

    tool: str | None
    arguments: Mapping[str, Any]
    notes: Notes
    raw: Any


def read(
    reply: Any, tool: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Reading:
    """Return the Reading of a reply. Never raises: malformed input is reported in `findings`.

    `reply` is bytes, text, a decoded message or result, or an object: of an SDK, of an agent
    framework, an exception, an Answer. `tool` and `arguments` are those of the call; they help to
    distinguish an action from a list. A Reading is returned as it is.
    """
    if type(reply) is Reading and tool in (None, reply.response.tool_name):
        return reply
    asked = _Asked(tool, arguments or {}, Notes(), reply.raw if type(reply) is Reading else reply)
    try:
        return _read(asked, unwrap(asked.raw, asked.notes), tool, arguments)
    except Exception as error:  # noqa: BLE001 - an object inside of the reply may raise anything
        asked = _Asked(tool, arguments or {}, Notes(), asked.raw)
        try:
            unwrapped = unwrap_again(asked.raw, asked.notes)
        except TypeError:  # it is JSON: the fault is the reader's
            raise error from None
        return _read(asked, unwrapped, tool, arguments)


def _read(
    asked: _Asked, unwrapped: Reply, tool: str | None, arguments: Mapping[str, Any] | None
) -> Reading:
    notes = asked.notes
    if unwrapped.tool is not None and not tool:
        asked.tool = tool = unwrapped.tool
    if unwrapped.error is not None:
        return _of_rpc_error(asked, unwrapped.error)
    if unwrapped.size is not None:
        return _of_binary(asked, unwrapped.size)
    call = call_of(tool, arguments)
    if unwrapped.known is not None:
        said = find(unwrapped.result or {}, Notes(), digs="")
        said.origin = "the object"
        return _of_known(asked, call, unwrapped.known, said, None)
    problem = None if unwrapped.result is None else problem_in(unwrapped.result)
    if problem is not None and unwrapped.result is not None:
        said = find(unwrapped.result, Notes(), digs="")
        said.origin = "_meta"
        return _of_known(asked, call, problem, said, unwrapped.is_error)
    digs: Digs = "" if call.gives_content else "json" if call.gives_printed else "all"
    is_answer = tool is not None and not call.gives_prose
    value = _value(unwrapped, notes, digs, is_answer=is_answer)
    if type(value.value) is dict and "content" in value.value:
        value, unwrapped = _passed_on(value, unwrapped, notes, digs, is_answer=is_answer)
    known = known_shape(value.value)
    if known is not None:
        return _of_known(asked, call, known, value, unwrapped.is_error)
    return _of_judged(asked, call, value, unwrapped.is_error)


def _passed_on(
    value: Value, unwrapped: Reply, notes: Notes, digs: Digs, *, is_answer: bool
) -> tuple[Value, Reply]:
    """What is said in somebody else's result, where nothing is said beside it."""
    for _ in range(_MOST_PASSED_ON):
        inner = value.value
        if type(inner) is not dict or not is_passed_on(inner):
            break
        is_own_failure = unwrapped.is_error is True and inner.get("isError") is not True
        if is_own_failure or value.attachments or value.extras or value.beside:
            break
        notes.rule("result-in-result")
        unwrapped = Reply(result=inner)
        value = _value(unwrapped, notes, digs, is_answer=is_answer)
    return value, unwrapped


def _value(unwrapped: Reply, notes: Notes, digs: Digs, *, is_answer: bool) -> Value:
    if unwrapped.result is not None:
        return find(unwrapped.result, notes, digs=digs, is_answer=is_answer)
    return of_payload(unwrapped.payload, unwrapped.is_text, notes, digs=digs, is_answer=is_answer)


def _name(asked: _Asked, kind: ResponseType) -> str:
    if asked.tool:
        return asked.tool
    if kind == "tool_catalog":
        return CATALOG
    asked.notes.finding("tool name not given")
    return _UNKNOWN


def _of_rpc_error(asked: _Asked, error: Mapping[str, Any]) -> Reading:
    message = error.get("message")
    data = error.get("data")
    if isinstance(data, dict):
        problem = problem_details(data.get(META_KEY))
        if problem is not None:
            asked.notes.rule("problem")
            data = {name: each for name, each in data.items() if name != META_KEY} | problem
    details: Any = data if isinstance(data, dict | str) else {} if data is None else {"data": data}
    unknown = {
        name: each for name, each in error.items() if name not in ("code", "message", "data")
    }
    code = error.get("code")
    if not isinstance(code, str | int | float):
        asked.notes.finding("the JSON-RPC error has no code")
        code = _NO_CODE
    words = message if isinstance(message, str) and message else "The request was rejected"
    failure = Failure(code=code, message=words, details=details)
    response = _failure(asked, failure, unknown)
    return asked.notes.reading(response, value=None, origin="error", raw=asked.raw)


def _failure(
    asked: _Asked, error: Failure, metadata: dict[str, Any], message: str | None = None
) -> Response:
    return Response(
        tool_name=_name(asked, "error"),
        response_type="error",
        status="error",
        message=message or error.message,
        error=error,
        metadata=metadata or None,
    )


def _of_binary(asked: _Asked, size: int) -> Reading:
    data = {"bytes": size}
    response = Response(tool_name=_name(asked, "single"), response_type="single", data=data)
    return asked.notes.reading(response, value=data, origin="the bytes", raw=asked.raw)


def _of_known(
    asked: _Asked, call: Call, known: Known, value: Value, is_error: bool | None
) -> Reading:
    """A reply whose shape is one of ours: it says itself what it is."""
    notes = asked.notes
    notes.rule(known.shape)
    if is_error is not None and is_error != (known.failure is not None):
        notes.finding("isError contradicts the payload; the payload is used")
    page = known.page or page_from(value.beside.get("page"))
    warnings = known.warnings or warnings_from(value.beside.get("warnings"))
    metadata = dict(known.metadata) | _metadata(value, warnings)
    asked.tool = asked.tool or known.tool
    origin = f"{value.origin}: {known.shape}"
    is_partial = known.is_partial or value.beside.get("partial") is True
    is_truncated = known.is_truncated or value.beside.get("truncated") is True
    if known.failure is not None:
        response = _failure(asked, _error_of(known.failure), metadata, known.message)
        return notes.reading(
            response,
            value=None,
            page=page,
            warnings=warnings,
            is_partial=is_partial,
            is_truncated=is_truncated,
            origin=origin,
            raw=asked.raw,
        )
    kind, items, rest = _kind_of_known(known, call, notes)
    if rest:
        metadata = {**rest, **metadata}
    return _reading(
        asked,
        kind=kind,
        value=known.value,
        items=items,
        message=known.message,
        page=page,
        warnings=warnings,
        is_partial=is_partial,
        is_truncated=is_truncated,
        metadata=metadata,
        origin=origin,
    )


def _kind_of_known(
    known: Known, call: Call, notes: Notes
) -> tuple[ResponseType, list[Any] | None, Mapping[str, Any]]:
    """What a reply of a known shape is, its items, and what stands beside them."""
    value = known.value
    if known.kind in ("list", "tool_catalog"):
        return known.kind, _items(value, notes), {}
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
    """The rows of a value that is a table and nothing else, as objects."""
    if not isinstance(value, dict) or value.keys() != {"columns", "rows"}:
        return None
    rows = value["rows"]
    if not isinstance(rows, list):
        return None
    return row_objects(value["columns"], rows) if rows else rows


def _items(value: Any, notes: Notes) -> list[Any]:
    if isinstance(value, list):
        return value
    notes.finding("the list is not an array")
    return [] if value is None else [value]


def _error_of(failure: Mapping[str, Any]) -> Failure:
    code, details = failure["code"], failure["details"]
    return Failure(
        code=code if isinstance(code, str | int | float) else _NO_CODE,
        message=said_of(failure["message"] or "The tool reported a failure"),
        details=details if isinstance(details, dict | str) else {"details": details},
    )


def _of_judged(asked: _Asked, call: Call, value: Value, is_error: bool | None) -> Reading:
    """A reply in anybody's shape: the rules say what it is."""
    facts = Facts(
        value=value.value,
        is_text=value.is_text,
        is_error=is_error,
        message=value.message,
        attachments=value.attachments,
        is_structured=value.origin == "structuredContent",
        call=call,
        arguments=asked.arguments,
        tool=asked.tool,
        texts=value.texts,
    )
    source, verdict, confidence, against = decide(facts)
    asked.notes.rule(source.name, confidence)
    AGAINST.append(against)
    if verdict.finding is not None:
        asked.notes.finding(verdict.finding)
    beside = value.beside
    warnings = warnings_from(beside.get("warnings")) if beside else ()
    if verdict.kind == "error":
        return _of_failure(asked, verdict.found, value, warnings, facts.words)
    metadata: dict[str, Any] = {}
    if value.attachments or beside or value.extras:
        metadata = _metadata(value, warnings)
    items: list[Any] | None = None
    message, page = value.message, None
    if verdict.kind in ("list", "tool_catalog"):
        items, rest, message, page = _listed(asked, verdict.found, value, facts)
        if rest:
            metadata = {**rest, **metadata} if metadata else dict(rest)
    elif verdict.kind == "single" and facts.words is not None:
        page = page_of_cut(facts.words, asked.arguments)
    own = page_from(beside.get("page")) if beside else None
    return _reading(
        asked,
        kind=verdict.kind,
        value=value.value,
        items=items,
        message=message,
        page=own or page,
        warnings=warnings,
        is_partial=verdict.is_partial or beside.get("partial") is True,
        is_truncated=beside.get("truncated") is True,
        metadata=metadata,
        origin=value.origin,
    )


def _listed(
    asked: _Asked, found: Evidence, value: Value, facts: Facts
) -> tuple[list[Any], Mapping[str, Any], str | None, Page | None]:
    """The items of a list, what stands beside them, the words around them, and the page."""
    if isinstance(found, Items):
        asked.notes.rule_within(found.rule, "likely")
        words, closing = found.heading, found.closing
        if closing:
            words = f"{words}\n{closing}" if words else closing
        return found.items, facts.beside, words or None, page_in_words(words)
    items, rest, page = value.value, {}, None
    if isinstance(found, Collection):
        items, rest = found.items, found.rest
        page = page_of(rest, len(items), asked.arguments) if rest else None
    if page is None and value.message:
        page = page_in_words(value.message)
    return items, rest, value.message, page


def _metadata(value: Value, warnings: Sequence[Notice]) -> dict[str, Any]:
    """What else was said, and over that what we know: no stranger's member stands in its place."""
    said = value.value
    meta = value.beside.get("meta")
    metadata = dict(meta) if isinstance(meta, dict) else {}
    metadata |= {n: each for n, each in value.extras.items() if not _is_said(n, each, said)}
    if value.attachments:
        metadata["attachments"] = list(value.attachments)
    if warnings:
        metadata["warnings"] = list(warnings)
    return metadata


def _is_said(name: str, extra: Any, value: Any) -> bool:
    """Whether a member at the root of the result only repeats the value, as `bare` does."""
    if isinstance(value, dict):
        return bool(value.get(name) == extra)
    return name == "result" and bool(extra == value)


def _of_failure(
    asked: _Asked, found: Evidence, value: Value, warnings: Sequence[Notice], words: str | None
) -> Reading:
    sign = found if isinstance(found, Sign) else None
    if sign is not None:
        asked.notes.rule_within(sign.rule)
    said = value.message or words or "The tool reported a failure"
    told = value.prose or (said if sign is None else sign.message)
    message = _EXECUTING.sub("", told, count=1)
    if message.startswith("<error>"):
        message = message.removeprefix("<error>").removesuffix("</error>").strip() or message
    code = sign.code if sign is not None else None
    if code is None:
        coded = _CODED.match(message)
        code = _NO_CODE if coded is None else int(coded[1])
    details = sign.details if sign is not None and isinstance(sign.details, dict) else None
    if details is None and not value.is_text and value.value is not None:
        details = value.value if isinstance(value.value, dict) else {"data": value.value}
    error = Failure(
        code=code,
        message=message,
        details=details or {},
    )
    response = _failure(asked, error, _metadata(value, warnings))
    return asked.notes.reading(
        response, value=value.value, warnings=warnings, origin=value.origin, raw=asked.raw
    )


def _reading(
    asked: _Asked,
    *,
    kind: ResponseType,
    value: Any,
    items: list[Any] | None,
    message: str | None,
    page: Page | None,
    warnings: Sequence[Notice],
    is_partial: bool,
    is_truncated: bool,
    metadata: dict[str, Any],
    origin: str,
) -> Reading:
    is_list = kind in ("list", "tool_catalog")
    returned = len(items) if isinstance(items, list) else None
    if is_truncated:
        metadata = {**metadata, "truncated": True}
    pagination = None if page is None else Pagination.of(page)
    response = Response(
        tool_name=_name(asked, kind),
        response_type=kind,
        data=items if is_list else _object(value),
        pagination=None if pagination == _NO_PAGINATION else pagination,
        summary=Summary(
            total=None if page is None else page.total,
            returned=returned,
            has_more=None if page is None else page.has_more,
        )
        if is_list
        else None,
        status="partial" if is_partial else "success" if kind == "action" else None,
        message=message,
        metadata=metadata or None,
    )
    return asked.notes.reading(
        response,
        value=value,
        page=page,
        warnings=warnings,
        is_partial=is_partial,
        is_truncated=is_truncated,
        origin=origin,
        raw=asked.raw,
    )


def _object(value: Any) -> Any:
    """A value as an object: of text its `text`, of a list or a number its `result`."""
    if value is None or isinstance(value, dict):
        return value
    return {"text": value} if isinstance(value, str) else {"result": value}
