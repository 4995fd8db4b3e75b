"""Converts a Reading to an Answer or a Problem, and to a tool result of any profile."""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from accord.errors import ContractError
from accord.model.answer import KINDS, Answer, Encoded, FieldError, Kind, Notice, Page, Problem
from accord.model.content import Annotations, Audio, Block, Embedded, Image, Link
from accord.model.plain import attempt, valid_json
from accord.model.response import META_KEY, Failure, Response
from accord.model.values import MAX_DEPTH
from accord.reader.known_shapes import Reply, warnings_from
from accord.reader.read import read
from accord.reader.reading import Notes, Reading
from accord.reader.unwrap import unwrap
from accord.reader.value import find
from accord.revisions import NEWEST, REVISIONS, Revision

FOR_SDKS: Final = "2025-11-25"
"""The revision of results that the SDK's classes of both major versions hold."""
_DEEPEST: Final = MAX_DEPTH - 8  # a profile adds levels
_LEAST_BYTES: Final = 1_024
_LISTS: Final = ("list", "tool_catalog")
_OWN_SHAPES: Final = ("envelope", "generic")
_KIND_OF_CODE: Final = {rule.code: kind for kind, rule in KINDS.items()}
_KIND_NAMES: Final = ("type", "error_type", "kind")
_FIELDS: Final = ("fields", "validation_errors", "validationErrors")
_SEVERITIES: Final = ("info", "warning", "error")
_NOTHING: Final = ("null", "")
_encode: Final = msgspec.json.Encoder().encode


# As an Answer or a Problem


def to_answer(reading: Reading) -> Answer[Any] | Problem:
    """Return what a reading says as an Answer, or as a Problem if it is a failure."""
    if reading.response.error is not None:
        return _problem(reading.response, reading.response.error)
    blocks = [found for each in _media(_unwrapped(reading)) if (found := _model_block(each))]
    return msgspec.structs.replace(_answer(reading), blocks=blocks)


def _answer(reading: Reading) -> Answer[Any]:
    response = reading.response
    is_list_in_text = response.response_type in _LISTS and isinstance(reading.value, str)
    data = _valid(response.data if is_list_in_text else reading.value)
    message = _valid(response.message)
    if isinstance(data, str) and message and all(line in data for line in message.splitlines()):
        message = None  # it is a part of the text
    return Answer(
        data,
        message=message,
        page=None if reading.page is None else _valid_page(reading.page),
        warnings=[_valid_notice(each) for each in reading.warnings],
        partial=reading.is_partial,
        truncated=reading.is_truncated,
    )


def _valid(value: Any) -> Any:
    return valid_json(value, _DEEPEST)


def _valid_page(page: Page) -> Page:
    return Page(**{name: _valid(getattr(page, name)) for name in page.__struct_fields__})


def _valid_notice(notice: Notice) -> Notice:
    return Notice(_valid(notice.message), _valid(notice.code), notice.severity)


def _problem(response: Response, error: Failure) -> Problem:
    details = _valid(error.details) if isinstance(error.details, dict) else {}
    code = str(_valid(error.code))
    summary = _valid(response.message)
    retry_after = details.get("retry_after", details.get("retryAfter"))
    retryable = details.get("retryable")
    return Problem(
        _valid(error.message).strip() or "The tool reported a failure",
        kind=_kind(details, code),
        code=code,
        summary=None if summary == error.message else summary,
        fields=_fields(details),
        remediation=_text(details.get("remediation")),
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after=retry_after if type(retry_after) in (int, float) else None,
    )


def _kind(details: Mapping[str, Any], code: str) -> Kind:
    for name in _KIND_NAMES:
        found: Any = details.get(name)
        if isinstance(found, str) and found in KINDS:
            return cast(Kind, found)
    return _KIND_OF_CODE.get(code, "internal")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _fields(details: Mapping[str, Any]) -> list[FieldError]:
    given = next((details[name] for name in _FIELDS if name in details), None)
    return [
        FieldError(each["field"], each["error"], _severity(each.get("severity")))
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, dict)
        and isinstance(each.get("field"), str)
        and isinstance(each.get("error"), str)
    ]


def _severity(given: Any) -> Any:
    return given if given in _SEVERITIES else "error"


# Content blocks


def _unwrapped(reading: Reading) -> Reply:
    found: Reply = attempt(unwrap, reading.raw, Notes(), otherwise=Reply())
    return found


def _media(reply: Reply) -> list[dict[str, Any]]:
    """Return the content blocks of a reply that are not text, in order."""
    content = None if reply.result is None else reply.result.get("content")
    blocks = content if isinstance(content, list) else []
    return [
        _valid(each) for each in blocks if isinstance(each, dict) and each.get("type") != "text"
    ]


def _model_block(block: Mapping[str, Any]) -> Block | None:
    """Return a block of the wire as one of the model; None if it is not valid."""
    found: Block | None = attempt(lambda: _MODELS[block["type"]](block))
    return found


def _annotations(block: Mapping[str, Any]) -> Annotations | None:
    given = block.get("annotations")
    return None if given is None else msgspec.convert(given, Annotations)


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _medium(kind: Callable[..., Block]) -> Callable[[Mapping[str, Any]], Block]:
    return lambda block: kind(_bytes(block["data"]), block["mimeType"], _annotations(block))


def _link(block: Mapping[str, Any]) -> Link:
    uri, kind = block["uri"], block.get("mimeType")
    annotations = _annotations(block)
    return Link(uri, block.get("name", uri), kind, block.get("description"), annotations)


def _embedded(block: Mapping[str, Any]) -> Embedded:
    resource = block["resource"]
    content = resource["text"] if "text" in resource else _bytes(resource["blob"])
    return Embedded(resource["uri"], content, resource.get("mimeType"), _annotations(block))


_MODELS: Final[dict[Any, Callable[[Mapping[str, Any]], Block]]] = {
    "image": _medium(Image),
    "audio": _medium(Audio),
    "resource_link": _link,
    "resource": _embedded,
}


def for_revision(block: dict[str, Any], revision: Revision) -> dict[str, Any]:
    """Return a block as a revision has it: as text if it lacks the kind of block."""
    kind = block.get("type")
    if kind == "audio" and not revision.audio:
        size = len(str(block.get("data", ""))) * 3 // 4
        return {"type": "text", "text": f"[{block.get('mimeType')}, {size} bytes]"}
    if kind == "resource_link" and not revision.links:
        return {"type": "text", "text": str(block.get("uri"))}
    absent = {"title": revision.titles, "icons": revision.icons, "_meta": revision.metadata}
    lacking = {name for name, has in absent.items() if not has}
    found = {name: each for name, each in block.items() if name not in lacking}
    if isinstance(found.get("resource"), dict):
        inner = found["resource"].items()
        found["resource"] = {name: each for name, each in inner if name not in lacking}
    return found


# As a tool result


def to_result(
    reading: Reading,
    profile: str,
    revision: str | None,
    *,
    tool: str | None,
    max_bytes: int,
    as_type: Any = None,
) -> Any:
    """Return a reading as a tool result: see `Reading.to_result`."""
    if revision is None:
        revision = NEWEST.date if as_type is None else FOR_SDKS
    if revision not in REVISIONS:
        raise ContractError(f"no revision {revision!r}; there are {', '.join(REVISIONS)}")
    row, reply = REVISIONS[revision], _unwrapped(reading)
    media = [for_revision(each, row) for each in _media(reply)]
    name = tool or reading.response.tool_name
    room = max(_LEAST_BYTES, max_bytes - sum(map(_text_size, media))) if media else max_bytes
    has_media = any(each.get("type") != "text" for each in media)
    result = _generic(reading, name, row, room, has_media) if profile == "generic" else None
    if result is None:
        result = _rendered(reading, profile, row, name, room)
    result = _with_rest(result, reading, reply, media)
    if as_type is None:
        return result
    validate = getattr(as_type, "model_validate", None)
    if validate is None:
        raise ContractError("as_type must be a class of the SDK, such as mcp.types.CallToolResult")
    return validate(result)


def _text_size(block: Mapping[str, Any]) -> int:
    resource = block.get("resource")
    text = resource.get("text", "") if isinstance(resource, dict) else block.get("text", "")
    return len(str(text).encode())


def _rendered(
    reading: Reading, profile: str, row: Revision, tool: str, room: int
) -> dict[str, Any]:
    """Return what `accord.render` makes of a reading."""
    from accord.server.rendering import render

    if reading.response.error is not None:
        outcome: Answer[Any] | Problem = _problem(reading.response, reading.response.error)
    else:
        outcome = _for_profile(_answer(reading), profile, reading.response)
        if profile not in _OWN_SHAPES and _has_own_page(outcome, tool):
            outcome = msgspec.structs.replace(outcome, page_in_data=True)
    data = None if isinstance(outcome, Problem) else outcome.data
    if isinstance(outcome, Answer) and isinstance(data, dict | list):  # it is valid already
        encoded = Encoded(_encode(data), is_checked=True)
        outcome = msgspec.structs.replace(outcome, data=encoded)
    result = render(
        outcome,
        tool=tool,
        profile=profile,
        revision=row.date,
        read_only=reading.response.response_type != "action",
        is_text=isinstance(data, str) and _reads_as_text(data),
        max_bytes=room,
    )
    if reading.response.error is not None:
        _add_error(result, reading.response.error, tool)
    return result


def _for_profile(answer: Answer[Any], profile: str, response: Response) -> Answer[Any]:
    """Return an answer without what the profile would say twice, or in another form."""
    if profile == "generic" and response.response_type in _LISTS:
        return msgspec.structs.replace(answer, data=_valid(response.data))
    own = answer.data.get("_warnings") if isinstance(answer.data, dict) else None
    if profile == "envelope" and isinstance(own, list):
        said = warnings_from(own)
        others = [each for each in answer.warnings if each not in said]
        return msgspec.structs.replace(answer, warnings=others)
    return answer


def _has_own_page(answer: Answer[Any], tool: str) -> bool:
    """True if the data itself states the page."""
    page = answer.page
    return page is not None and read({"structuredContent": answer.data}, tool).page == page


def _reads_as_text(text: str) -> bool:
    """True if a text is read as itself, not as the JSON in it."""
    found = find({"content": [{"type": "text", "text": text}]}, Notes())
    return found.is_text and found.value == text


def _add_error(result: dict[str, Any], error: Failure, tool: str) -> None:
    """Add code and details to `_meta`, unless the failure is read with them anyway."""
    members = _valid(msgspec.structs.asdict(error))
    again = read(result, tool).response.error
    if again is None or msgspec.structs.asdict(again) != members:
        result.setdefault("_meta", {}).setdefault(META_KEY, {})["error"] = members


def _generic(
    reading: Reading, tool: str, row: Revision, room: int, has_media: bool
) -> dict[str, Any] | None:
    """Return the generic response of a reading as a result; None if it exceeds the limit."""
    response = msgspec.structs.replace(reading.response, tool_name=tool)
    members = _valid(response.to_dict())
    metadata = members.get("metadata") or {}
    if has_media:
        metadata.pop("attachments", None)  # the blocks themselves follow
    wrapper = _wrapper(reading)
    if wrapper is not None:
        metadata["wrapper"] = wrapper
    members.pop("metadata", None)
    if metadata:
        members["metadata"] = metadata
    if reading.page is not None:
        members.setdefault("pagination", {})
        if reading.page.total is not None:
            members.setdefault("summary", {"total": reading.page.total})
    text = msgspec.json.encode(members).decode()
    if len(text.encode()) > room:
        return None
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if row.structured != "none":
        result["structuredContent"] = members
    if reading.is_failure:
        result["isError"] = True
    return result | {"resultType": "complete"} if row.stateless else result


def _wrapper(reading: Reading) -> str | None:
    """Return the member of `data` that holds a value that is not an object."""
    is_wrapped = reading.response.response_type in ("single", "action")
    if not is_wrapped or reading.value is None or isinstance(reading.value, dict):
        return None
    return "text" if isinstance(reading.value, str) else "result"


def _with_rest(
    result: dict[str, Any], reading: Reading, reply: Reply, media: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return a result with media, `_meta` and unknown members of the original reply."""
    content = result["content"]
    if media and reading.value is None and len(content) == 1 and content[0]["text"] in _NOTHING:
        content = []
    result = {**result, "content": [*content, *media]}
    original = reply.result or {}
    meta = original.get("_meta")
    if isinstance(meta, dict):
        kept = {name: _valid(each) for name, each in meta.items() if name not in _OWN_META}
        if kept:
            result["_meta"] = kept | result.get("_meta", {})
    extras = {} if _USUAL.issuperset(original) else find(original, Notes()).extras
    for name, each in extras.items():
        if each != _member(reading.value, name):
            result.setdefault(name, _valid(each))
    return result


_USUAL: Final = frozenset({"content", "structuredContent", "isError", "_meta", "resultType"})
"""The members of a result that MCP has."""
_OWN_META: Final = frozenset({META_KEY, "fastmcp"})
"""What is said of the form of the original result, not of the new one."""


def _member(value: Any, name: str) -> Any:
    """Return the member of a value that `bare` repeats at the root of a result."""
    return value.get(name) if isinstance(value, dict) else value if name == "result" else None
