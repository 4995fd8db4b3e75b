"""Replies whose shape says what they are: response-v2, the generic response, a Problem."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

import msgspec

from accord.model.answer import Notice, Page, Severity
from accord.model.response import META_KEY, ResponseType

_TYPES: Final = frozenset(get_args(ResponseType))
_ENVELOPE: Final = frozenset({"success", "data", "error", "meta"})
_LEVELS: Final[dict[str, Severity]] = {"info": "info", "error": "error"}
_WARNINGS: Final = "_warnings"
_META: Final = "_meta"


class Known(msgspec.Struct, kw_only=True):
    """What a reply of a known shape says, part by part."""

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
    """`code`, `message` and `details` of what went wrong."""
    metadata: dict[str, Any] = {}


class Reply(msgspec.Struct, kw_only=True):
    """A reply without its wrapping: an error, a tool result, or some payload."""

    error: Mapping[str, Any] | None = None
    """A JSON-RPC error."""
    result: dict[str, Any] | None = None
    """A tool result: it has `content`, or structure."""
    payload: Any = None
    """What is neither: a value, or a text."""
    is_text: bool = False
    """The payload is text as it came, not a JSON string."""
    size: int | None = None
    """The bytes of what is no text at all."""
    known: Known | None = None
    """What an object of our own says; `result` then has the content blocks beside it."""
    tool: str | None = None
    """The tool that a message of an agent framework names."""

    @property
    def is_error(self) -> bool | None:
        """What a tool result says of itself, if it says anything."""
        said = None if self.result is None else self.result.get("isError")
        return said if isinstance(said, bool) else None


def known_shape(value: Any) -> Known | None:
    """What a payload says, if it has a shape of our own."""
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
    """Return the failure of which a writer of ours sends the whole Problem in `_meta`."""
    meta = result.get("_meta")
    beside = meta.get(META_KEY) if isinstance(meta, dict) else None
    error = beside.get("error") if isinstance(beside, dict) else None
    if isinstance(error, dict) and isinstance(error.get("message"), str) and "details" in error:
        return Known(shape="problem", failure={"code": None} | error)
    problem = beside.get("problem") if isinstance(beside, dict) else None
    if problem is None:
        return None
    details = problem_details(problem)
    if details is None:
        return None
    failure = {"code": details.get("code"), "message": problem["message"], "details": details}
    return Known(shape="problem", failure=failure)


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


def page_from(said: Any) -> Page | None:
    """A page as our own writers word it in `_meta` and beside the text."""
    try:
        return None if said is None else msgspec.convert(said, Page)
    except msgspec.ValidationError:
        return None


def warnings_from(said: Any) -> Sequence[Notice]:
    """Warnings, as objects or as sentences."""
    notices: list[Notice] = []
    for each in said if isinstance(said, list) else [] if said is None else [said]:
        if isinstance(each, dict) and isinstance(each.get("message"), str):
            code, severity = each.get("code"), each.get("severity")
            level = _LEVELS.get(severity if isinstance(severity, str) else "", "warning")
            notices.append(Notice(each["message"], None if code is None else said_of(code), level))
        else:
            notices.append(Notice(said_of(each)))
    return tuple(notices)


def said_of(value: Any) -> str:
    """A value as a text, whatever it is."""
    try:
        return str(value)
    except (ValueError, RecursionError):  # a number or a nesting that Python will not show
        return f"a {type(value).__name__} that is too large to be shown"


def _envelope(value: Mapping[str, Any], meta: Mapping[str, Any]) -> Known:
    data = value["data"]
    known = Known(shape="response-v2", value=data, message=_words(meta.get("message")))
    if "wrapper" in meta and isinstance(data, dict):
        wrapper = meta["wrapper"]
        if wrapper is None:
            known.value = data or None
        elif isinstance(wrapper, str) and data.keys() == {wrapper}:
            known.value = data[wrapper]
    inner = data.get(_META) if isinstance(data, dict) else None
    known.page = _pagination(meta.get("pagination")) or _pagination(
        inner.get("pagination", inner) if isinstance(inner, dict) else None
    )
    said = data.get(_WARNINGS) if isinstance(data, dict) else None
    own = warnings_from(said) if isinstance(said, list) else ()
    known.warnings = (*warnings_from(meta.get("warning_details") or meta.get("warnings")), *own)
    known.is_partial = meta.get("partial") is True
    known.is_truncated = meta.get("truncated") is True
    known.metadata = {name: each for name, each in meta.items() if name not in _TOLD}
    if value["success"] is False:
        error = meta.get("error")
        details = _details(data)
        if isinstance(error, dict):
            details = {**error, "data": data} if data else dict(error)
        code = details.get("code", details.get("error_code"))
        known.failure = {"code": code, "message": value["error"], "details": details}
    return known


def _details(said: Any) -> dict[str, Any]:
    if isinstance(said, dict):
        return dict(said)
    return {} if said is None else {"data": said}


def _words(said: Any) -> str | None:
    return said if isinstance(said, str) else None


_TOLD: Final = frozenset(
    "version message wrapper pagination warnings warning_details partial truncated error".split()
)


_PAGINATION: Final = {"page_size": "limit", "total_count": "total"}


def _pagination(said: Any) -> Page | None:
    if not isinstance(said, dict):
        return None
    given = {name: each for name, each in said.items() if each is not None}
    known = _fitting({_PAGINATION.get(name) or name: each for name, each in given.items()})
    is_said = set(said) & {"cursor", "has_more", "page_size"}
    return Page(**known) if known or len(is_said) == 3 else None


def _fitting(said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a page, as far as they are what such fields can be."""
    fields = {
        name: _fitted(each, _OF_A_PAGE[name]) for name, each in said.items() if name in _OF_A_PAGE
    }
    return {name: each for name, each in fields.items() if each is not None}


def _fitted(value: Any, kind: type) -> Any:
    """The same as a number, a flag or a text; None if it is none."""
    if kind is int and type(value) is float and value.is_integer():
        return int(value)
    if kind is str and type(value) is int:
        return said_of(value)
    return value if type(value) is kind else None


_OF_A_PAGE: Final[dict[str, type]] = {
    **dict.fromkeys(("offset", "limit", "total", "next_offset"), int),
    "has_more": bool,
    **dict.fromkeys(("cursor", "before", "after"), str),
}


def _generic(value: Mapping[str, Any]) -> Known:
    metadata = dict(value.get("metadata") or {}) if isinstance(value.get("metadata"), dict) else {}
    wrapper = metadata.pop("wrapper", None)
    warnings = warnings_from(metadata.pop("warnings", None))
    truncated = metadata.pop("truncated", None)
    data = value.get("data")
    known = Known(
        shape="generic",
        value=data,
        kind=value["responseType"],
        tool=value["toolName"],
        message=_words(value.get("message")),
        page=_generic_page(value),
        warnings=warnings,
        is_partial=value.get("status") == "partial",
        is_truncated=truncated is True,
    )
    if isinstance(wrapper, str) and isinstance(data, dict) and data.keys() == {wrapper}:
        known.value = data[wrapper]
    unknown = {name: each for name, each in value.items() if name not in _GENERIC}
    known.metadata = {**metadata, **unknown}
    error = value.get("error")
    if value["responseType"] == "error":
        said = error if isinstance(error, dict) else {}
        known.failure = {
            "code": said.get("code"),
            "message": said.get("message") or value.get("message"),
            "details": said.get("details", {}),
        }
    return known


_GENERIC: Final = frozenset(
    """toolName responseType data pagination summary status message error metadata""".split()
)


def _generic_page(value: Mapping[str, Any]) -> Page | None:
    paging, summary = value.get("pagination"), value.get("summary")
    if not isinstance(paging, dict) and not isinstance(summary, dict):
        return None
    said = paging if isinstance(paging, dict) else {}
    total = summary.get("total") if isinstance(summary, dict) else None
    more = said.get("hasMore", summary.get("hasMore") if isinstance(summary, dict) else None)
    following = said.get("nextOffset")
    is_cursor = isinstance(following, str)
    fields = {
        "offset": said.get("offset"),
        "limit": said.get("limit"),
        "total": total,
        "has_more": more,
        "next_offset": None if is_cursor else following,
        "cursor": following if is_cursor else said.get("cursor"),
        "before": said.get("before"),
        "after": said.get("after"),
    }
    known = _fitting(fields)
    return Page(**known) if known or isinstance(paging, dict) else None
