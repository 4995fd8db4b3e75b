"""Accord's own shapes: response-v2, the generic response, a Problem, data with details.

`plain`, `bare` and `prose` send the details of an answer with its data, in one object or as
sentences that end the text: `accord.profiles.details` writes both.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, get_args

import msgspec

from accord.model.answer import Notice, Page, Severity
from accord.model.response import META_KEY, ResponseType
from accord.reader.documents import find_json, parse_json

_TYPES: Final = frozenset(get_args(ResponseType))
_ENVELOPE: Final = frozenset({"success", "data", "error", "meta"})
_LEVELS: Final[dict[str, Severity]] = {"info": "info", "error": "error"}
_NOT_METADATA: Final = frozenset(
    "version message wrapper pagination warnings warning_details partial truncated error".split()
)
"""Members of `meta` of response-v2 that are not metadata."""
_GENERIC: Final = frozenset(
    "toolName responseType data pagination summary status message error metadata".split()
)
_PAGE_TYPES: Final[dict[str, type]] = {
    **dict.fromkeys(("offset", "limit", "total", "next_offset"), int),
    "has_more": bool,
    **dict.fromkeys(("cursor", "before", "after"), str),
}
_PAGE_NAMES: Final = {
    "page_size": "limit",
    "total_count": "total",
    "hasMore": "has_more",
    "nextOffset": "next_offset",
}
"""The names of response-v2 and the generic response for fields of a page."""


class Known(msgspec.Struct, kw_only=True):
    """The parts of a reply in one of Accord's shapes."""

    shape: str
    value: Any = None
    kind: ResponseType | None = None
    tool: str | None = None
    message: str | None = None
    page: Page | None = None
    warnings: Sequence[Notice] = ()
    is_partial: bool = False
    is_truncated: bool = False
    failure: Mapping[str, Any] | None = None
    """The `code`, `message` and `details` of a failure."""
    metadata: dict[str, Any] = {}


class Reply(msgspec.Struct, kw_only=True):
    """An unwrapped reply: a JSON-RPC error, a tool result, or another payload."""

    error: Mapping[str, Any] | None = None
    """A JSON-RPC error."""
    result: dict[str, Any] | None = None
    """A tool result, which has `content` or `structuredContent`."""
    payload: Any = None
    """A value or a text that is not an error or a tool result."""
    is_text: bool = False
    """True if the payload is plain text, not a decoded JSON string."""
    size: int | None = None
    """The number of bytes of a binary reply."""
    known: Known | None = None
    """The parts of an Answer or a Problem; `result` then has its content blocks."""
    tool: str | None = None
    """The tool named in a message of an agent framework."""

    @property
    def is_error(self) -> bool | None:
        """The `isError` of a tool result; None if it has none."""
        flag = None if self.result is None else self.result.get("isError")
        return flag if isinstance(flag, bool) else None


def known_shape(value: Any) -> Known | None:
    """Return the parts of a payload in one of Accord's shapes; None if it has another."""
    if not isinstance(value, dict):
        return None
    kind = value.get("responseType")
    if isinstance(kind, str) and kind in _TYPES and isinstance(value.get("toolName"), str):
        return _generic(value)
    meta = value.get("meta")
    if value.keys() == _ENVELOPE and isinstance(meta, dict) and "version" in meta:
        return _envelope(value, meta)
    return None


def problem_in(result: Mapping[str, Any]) -> Known | None:
    """Return the failure of a Problem in `_meta`, where Accord sends it."""
    beside = accord_meta(result) or {}
    error, problem = beside.get("error"), beside.get("problem")
    if isinstance(error, dict) and isinstance(error.get("message"), str) and "details" in error:
        return Known(shape="problem", failure={"code": None} | error)
    details = problem_details(problem)
    if details is None or not isinstance(problem, dict):
        return None
    failure = {"code": details.get("code"), "message": problem["message"], "details": details}
    return Known(shape="problem", failure=failure)


def accord_meta(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return Accord's object in the `_meta` of a result."""
    meta = result.get("_meta")
    found = meta.get(META_KEY) if isinstance(meta, dict) else None
    return found if isinstance(found, dict) else None


def problem_details(problem: Any) -> dict[str, Any] | None:
    """Return the details of a Problem under the names of response-v2; None if it is not one."""
    if not isinstance(problem, dict):
        return None
    message = problem.get("message")
    if not isinstance(message, str) or not message.strip():
        return None
    return {
        "type" if name == "kind" else name: each
        for name, each in problem.items()
        if name != "message"
    }


def page_from(members: Any) -> Page | None:
    """Return the page in an object of Accord; None if it is not one."""
    try:
        return None if members is None else msgspec.convert(members, Page)
    except msgspec.ValidationError:
        return None


def warnings_from(value: Any) -> Sequence[Notice]:
    """Return warnings that are objects or sentences."""
    notices: list[Notice] = []
    for each in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(each, dict) and isinstance(each.get("message"), str):
            code, severity = each.get("code"), each.get("severity")
            level = _LEVELS.get(severity if isinstance(severity, str) else "", "warning")
            notices.append(Notice(each["message"], None if code is None else text_of(code), level))
        else:
            notices.append(Notice(text_of(each)))
    return tuple(notices)


def text_of(value: Any) -> str:
    """Return any value as a text."""
    try:
        return str(value)
    except (ValueError, RecursionError):  # too many digits, or nested too deeply
        return f"a {type(value).__name__} that is too large to be shown"


def _envelope(value: Mapping[str, Any], meta: Mapping[str, Any]) -> Known:
    data = value["data"]
    members = data if isinstance(data, dict) else {}
    inner = members.get("_meta")
    inner = inner if isinstance(inner, dict) else {}
    listed = members.get("_warnings")
    known = Known(
        shape="response-v2",
        value=_unwrapped(data, meta.get("wrapper")),
        message=_text_or_none(meta.get("message")),
        page=_page(meta.get("pagination")) or _page(inner.get("pagination", inner)),
        warnings=(
            *warnings_from(meta.get("warning_details") or meta.get("warnings")),
            *warnings_from(listed if isinstance(listed, list) else None),
        ),
        is_partial=meta.get("partial") is True,
        is_truncated=meta.get("truncated") is True,
        metadata={name: each for name, each in meta.items() if name not in _NOT_METADATA},
    )
    if data == {} and "wrapper" in meta and meta["wrapper"] is None:
        known.value = None
    if value["success"] is False:
        error, details = meta.get("error"), members
        if isinstance(error, dict):
            details = {**error, "data": data} if data else error
        elif not isinstance(data, dict) and data is not None:
            details = {"data": data}
        code = details.get("code", details.get("error_code"))
        known.failure = {"code": code, "message": value["error"], "details": dict(details)}
    return known


def _generic(value: Mapping[str, Any]) -> Known:
    given = value.get("metadata")
    metadata = dict(given) if isinstance(given, dict) else {}
    wrapper, warnings = metadata.pop("wrapper", None), metadata.pop("warnings", None)
    known = Known(
        shape="generic",
        value=_unwrapped(value.get("data"), wrapper),
        kind=value["responseType"],
        tool=value["toolName"],
        message=_text_or_none(value.get("message")),
        page=_generic_page(value.get("pagination"), value.get("summary")),
        warnings=warnings_from(warnings),
        is_partial=value.get("status") == "partial",
        is_truncated=metadata.pop("truncated", None) is True,
    )
    unknown = {name: each for name, each in value.items() if name not in _GENERIC}
    known.metadata = {**metadata, **unknown}
    if value["responseType"] == "error":
        error = value.get("error")
        members = error if isinstance(error, dict) else {}
        known.failure = {
            "code": members.get("code"),
            "message": members.get("message") or value.get("message"),
            "details": members.get("details", {}),
        }
    return known


def _unwrapped(data: Any, wrapper: Any) -> Any:
    """Return the value in an object whose one member is named `wrapper`."""
    is_wrapped = isinstance(wrapper, str) and isinstance(data, dict) and data.keys() == {wrapper}
    return data[wrapper] if is_wrapped else data


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _page(value: Any) -> Page | None:
    """Return the page in an object, from the members with valid values."""
    if not isinstance(value, dict):
        return None
    fields: dict[str, Any] = {}
    for member, each in value.items():
        name = str(_PAGE_NAMES.get(member, member))
        kind = _PAGE_TYPES.get(name)
        if kind is int and type(each) is float and each.is_integer():
            fields[name] = int(each)
        elif kind is str and type(each) is int:
            fields[name] = text_of(each)
        elif type(each) is kind:
            fields[name] = each
    is_page = bool(fields) or value.keys() >= {"cursor", "has_more", "page_size"}
    return Page(**fields) if is_page else None


def _generic_page(paging: Any, summary: Any) -> Page | None:
    members: dict[str, Any] = {}
    if isinstance(summary, dict):
        members = {name: summary.get(name) for name in ("total", "hasMore")}
    if isinstance(paging, dict):
        members |= paging
        if isinstance(paging.get("nextOffset"), str):
            members["cursor"] = paging["nextOffset"]
    page = _page(members)
    return Page() if page is None and isinstance(paging, dict) else page


# Data with details

MEMBER: Final = "_accord"
"""The member of an object that holds the details."""
_DETAILS: Final = frozenset({"page", "warnings", "partial", "truncated"})
_PAGE_FIELDS: Final = frozenset(Page.__struct_encode_fields__)
_POSITION: Final = frozenset({"cursor", "nextOffset"})
_NOTICE: Final = frozenset({"message", "code", "severity"})


class Detailed(NamedTuple):
    """Data, and the details sent with it."""

    data: Any
    details: Mapping[str, Any]
    is_wrapped: bool = False
    """True if the data was the member `result` of an object."""
    items: int | None = None
    """The number of items that sentences state: the data is then a list."""

    @property
    def plain(self) -> Any:
        """The data as it was sent, without the details."""
        return {"result": self.data} if self.is_wrapped else self.data

    @property
    def is_distinct(self) -> bool:
        """True if only Accord writes such sentences: how to continue, or that data was cut.

        Other authors also end texts with `Warning: …` or `3 of 10 rows.`.
        """
        page, warnings = self.details.get("page", {}), self.details.get("warnings", ())
        continues = page.get("hasMore") is True and not _POSITION.isdisjoint(page)
        is_cut = "truncated" in self.details and any("code" in each for each in warnings)
        return continues or is_cut


def split_object(value: Any) -> Detailed | None:
    """Return the data and details in an object; None if it does not have both."""
    if type(value) is not dict:
        return None
    inner = value.get(MEMBER)
    if type(inner) is dict:
        details = {name: each for name, each in inner.items() if name != MEMBER}
        data = {name: each for name, each in value.items() if name != MEMBER}
        if MEMBER in inner:  # a member of the data
            data[MEMBER] = inner[MEMBER]
        return Detailed(data, details) if _are_details(details) else None
    if len(value) < 2 or "result" not in value:
        return None
    details = {name: each for name, each in value.items() if name != "result"}
    return Detailed(value["result"], details, True) if _are_details(details) else None


def _are_details(members: Mapping[str, Any]) -> bool:
    if not members or not members.keys() <= _DETAILS:
        return False
    is_flagged = members.get("partial", True) is True and members.get("truncated", True) is True
    are_notices = "warnings" not in members or _are_notices(members["warnings"])
    return is_flagged and are_notices and ("page" not in members or _is_page(members["page"]))


def _is_page(value: Any) -> bool:
    return type(value) is dict and value.keys() <= _PAGE_FIELDS and page_from(value) is not None


def _are_notices(notices: Any) -> bool:
    return (
        type(notices) is list
        and bool(notices)
        and all(type(each) is dict and "message" in each for each in notices)
        and all(each.keys() <= _NOTICE for each in notices)
        and all(type(part) is str for each in notices for part in each.values())
    )


# Details in sentences

_STRING: Final = r'"(?:[^"\\]|\\.)*+"'
_COUNT: Final = r"-?\d{1,3}(?:,\d{3})*+"
_PART: Final = re.compile(
    rf"""
      (?P<count>{_COUNT})(?:\ of\ (?P<total>{_COUNT}))?\ (?:rows|items)
    | (?P<all>{_COUNT})\ in\ all
    | offset\ (?P<offset>-?\d+)
    | limit\ (?P<limit>-?\d+)
    | next\ offset\ (?P<nextOffset>-?\d+)
    | before\ (?P<before>{_STRING})
    | after\ (?P<after>{_STRING})
    | cursor\ (?P<cursor>{_STRING})
    | pass\ (?:cursor\ (?P<nextCursor>{_STRING})|offset\ (?P<following>-?\d+))\ for\ the\ rest
    | (?P<more>more\ follow)
    | (?P<end>no\ more)
    """,
    re.X | re.S,
)
_FIELDS: Final = {"all": "total", "nextCursor": "cursor", "following": "nextOffset"}
_HAS_MORE: Final = {"nextCursor": True, "following": True, "more": True, "end": False}
_WARNING: Final = re.compile(
    rf"Warning(?: (?P<code>[\w.\-]{{1,64}}|{_STRING}))?(?: \((?P<severity>info|error)\))?: (.+)",
    re.ASCII | re.S,
)
_FLAGS: Final = {"partial": "Part of the work failed.", "truncated": "The data is incomplete."}
_TITLE: Final = "Page: "
_FIRST: Final = frozenset("-0123456789PTW")
"""First characters of a paragraph of details."""


def split_sentences(text: str) -> Detailed | None:
    """Return a text and the details in its last paragraph; None if that has another form.

    Any text can end like this; the caller decides whether these are details.
    """
    if "\n" not in text:  # faster than a search for two
        return None
    body, gap, paragraph = text.rpartition("\n\n")
    if not gap or paragraph[:1] not in _FIRST:
        return None
    try:
        details = _details_in(paragraph.split("\n"))
    except (ValueError, RecursionError):  # a string or number that cannot be decoded
        return None
    if details is None:
        return None
    count = _PART.match(paragraph)
    items = None if count is None or count["count"] is None else _decoded(count["count"])
    return Detailed(body, details, items=items)


def _details_in(lines: list[str]) -> dict[str, Any] | None:
    """Return the details in lines; None unless each line is one, in the order of the writer."""
    details: dict[str, Any] = {}
    page = _page_in(lines[0])
    if page:
        details["page"] = page
        lines = lines[1:]
    for name, sentence in _FLAGS.items():
        if lines and lines[0] == sentence:
            details[name] = True
            lines = lines[1:]
    found = [_WARNING.fullmatch(line) for line in lines]
    warnings = [_notice(each) for each in found if each is not None]
    if len(warnings) < len(lines):
        return None
    return {**details, "warnings": warnings} if warnings else details or None


def _notice(found: re.Match[str]) -> dict[str, Any]:
    code, severity, message = found.groups()
    parts = {"message": _unquoted(message), "code": code and _unquoted(code), "severity": severity}
    return {name: each for name, each in parts.items() if each is not None}


def _unquoted(text: str) -> str:
    return msgspec.json.decode(text, type=str) if text[:1] == '"' else text


def _decoded(text: str) -> Any:
    return _unquoted(text) if text[:1] == '"' else int(text.replace(",", ""))


def _page_in(line: str) -> dict[str, Any] | None:
    """Return the page that a sentence states; None if it is not one."""
    if line[-1:] != ".":
        return None
    page: dict[str, Any] = {}
    position = len(_TITLE) if line.startswith(_TITLE) else 0
    while (part := _PART.match(line, position)) is not None:
        for name, text in part.groupdict().items():
            if text is None or name == "count":
                continue
            if name not in ("more", "end"):
                page[_FIELDS.get(name, name)] = _decoded(text)
            if name in _HAS_MORE:
                page["hasMore"] = _HAS_MORE[name]
        position = part.end()
        if position == len(line) - 1:
            return page
        if not line.startswith("; ", position):
            return None
        position += 2
    return None


def details_after(
    text: str, result: Mapping[str, Any], digs: str, *, is_answer: bool
) -> Detailed | None:
    """Return a text and the details at its end; None if it ends without details.

    Details repeat those in `_meta` or the structure. Where neither has any, they follow JSON or one
    paragraph of an answer, or are sentences that only Accord writes.
    """
    found = split_sentences(text)
    if found is None or result.get("isError") is True:  # a failure has no details
        return None
    stated = _stated(result)
    if stated is None:
        are_details = _ends_with_details(found, digs, is_answer=is_answer)
    else:
        own = found.details
        are_details = all(own.get(name) == (stated.get(name) or None) for name in _DETAILS)
    return found if are_details else None


def _stated(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the details in `_meta` or the structure; None if there is neither."""
    beside = accord_meta(result)
    if beside is not None:
        return beside
    structure = result.get("structuredContent")
    found = split_object(structure)
    if found is not None:
        return found.details
    return None if structure is None else {}


def _ends_with_details(found: Detailed, digs: str, *, is_answer: bool) -> bool:
    """True if the last paragraph of a text without `_meta` and structure is details."""
    body = found.data
    if found.is_distinct or parse_json(body)[0]:
        return True
    if not digs:
        return False
    if body.rstrip()[-1:] in ("}", "]") and find_json(body) is not None:
        return True
    if found.items is not None and body.rstrip().endswith("|"):  # a count of the rows of a table
        return True
    return is_answer and digs == "all" and "\n\n" not in body
