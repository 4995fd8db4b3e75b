"""What each channel of a tool result says by itself: what a reader may rely on, profile by profile.

A channel is the text blocks, the structure, or `_meta`. These are as short as they can be, and
know the profile; a reader has to find that out.
"""

import json
from typing import Any, NamedTuple, NoReturn

META_KEY = "dev.accord-mcp/answer"
BESIDE = {"page", "warnings", "partial", "truncated"}

Json = Any
Result = dict[str, Any]


class NoJson(ValueError):
    """Words that are no JSON document."""


class Said(NamedTuple):
    """What a channel says of an answer. What it has no place for is left out of the comparison."""

    data: Json
    page: dict[str, Any] | None = None
    warnings: list[dict[str, Any]] | None = None
    partial: bool = False
    truncated: bool = False
    message: str | None = None


class Failed(NamedTuple):
    """The content of a channel for a failure."""

    message: str
    more: dict[str, Any]


def parsed(text: str) -> Json:
    """The JSON document that a text is, or NoJson. NaN and Infinity are words."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise NoJson(text) from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def value_of(text: str) -> Json:
    """A text as JSON, or else as the words that it is."""
    try:
        return parsed(text)
    except NoJson:
        return text


# Beside the data: `_meta` in all profiles, a second text block in three of them


def beside(result: Result) -> dict[str, Any]:
    """What `_meta` says of the answer; nothing where there is nothing to say."""
    found: dict[str, Any] = result.get("_meta", {}).get(META_KEY, {})
    return found


def _second_text(content: list[dict[str, Any]]) -> dict[str, Any]:
    found = value_of(content[1].get("text", "")) if len(content) > 1 else None
    if isinstance(found, dict) and found.keys() <= BESIDE:
        return found
    return {}  # it is a block that the revision words as text


def _with_beside(data: Json, message: str | None, found: dict[str, Any]) -> Said:
    return Said(
        data,
        found.get("page"),
        found.get("warnings"),
        found.get("partial", False),
        found.get("truncated", False),
        message,
    )


# The text of each profile


def plain_text(content: list[dict[str, Any]]) -> Said:
    """The first block is the data, unless it is no text: then there is none."""
    first = content[0]
    data = value_of(first["text"]) if first["type"] == "text" else None
    return _with_beside(data, None, _second_text(content))


def prose_text(content: list[dict[str, Any]]) -> Said:
    """The data is the longest end of the first text that is JSON; what comes before it is words."""
    first = content[0]
    message, data = split_prose(first["text"]) if first["type"] == "text" else (None, None)
    return _with_beside(data, message, _second_text(content))


def split_prose(text: str) -> tuple[str | None, Json]:
    """The words, and the data behind them; None for what there is not."""
    lines = text.split("\n")
    for start in range(len(lines)):
        try:
            data = parsed("\n".join(lines[start:]))
        except NoJson:
            continue
        return ("\n".join(lines[:start]) if start else None), data
    return text, None


def envelope(shape: Result) -> Said:
    """response-v2, as text or as structure; `meta.wrapper` names a member that only wraps."""
    meta = shape["meta"]
    data = shape["data"]
    if "wrapper" in meta:
        wrapper = meta["wrapper"]
        data = None if wrapper is None else data[wrapper]
    page = meta.get("pagination")
    return Said(
        data,
        page if page is None else _renamed(page, _ENVELOPE_PAGE),
        _warnings_of(meta),
        meta.get("partial", False),
        meta.get("truncated", False),
        meta.get("message"),
    )


_ENVELOPE_PAGE = {
    "page_size": "limit",
    "total_count": "total",
    "has_more": "hasMore",
    "next_offset": "nextOffset",
}


def _warnings_of(meta: dict[str, Any]) -> list[dict[str, Any]] | None:
    details = meta.get("warning_details")
    if details is not None:
        assert [each["message"] for each in details] == meta["warnings"]
        return [_without_default_severity(each) for each in details]
    sentences = meta.get("warnings")
    return None if sentences is None else [{"message": sentence} for sentence in sentences]


def _without_default_severity(notice: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in notice.items() if (name, value) != _DEFAULT_SEVERITY}


_DEFAULT_SEVERITY = ("severity", "warning")


def _renamed(page: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in page.items() if value is not None}


def generic(shape: Result) -> Said:
    """The generic response, as text or as structure; `metadata.wrapper` as in the envelope."""
    metadata = shape.get("metadata", {})
    data: Json = shape.get("data")
    if "wrapper" in metadata:
        data = data[metadata["wrapper"]]
    return Said(
        data,
        _generic_page(shape),
        metadata.get("warnings"),
        shape.get("status") == "partial",
        metadata.get("truncated", False),
        shape.get("message"),
    )


def _generic_page(shape: Result) -> dict[str, Any] | None:
    if "pagination" not in shape:
        return None
    page = dict(shape["pagination"])
    if isinstance(page.get("nextOffset"), str):
        page["cursor"] = page.pop("nextOffset")
    return page | {name: shape["summary"][name] for name in ("total",) if name in shape["summary"]}


# Failures


def failure_text(text: str, beginning: str) -> str:
    """Return the message and remediation in a text of `plain` or `prose`."""
    before, _, words = text.partition(f"Error executing {beginning}: ")
    assert before == ""
    return words


def sent_problem(members: dict[str, Any]) -> Failed:
    """The whole problem, as `_meta` of a result or `data` of an error holds it."""
    more = {"type" if name == "kind" else name: each for name, each in members.items()}
    return Failed(more.pop("message"), more)


def envelope_failure(shape: Result) -> Failed:
    assert shape["data"] == {}
    return Failed(shape["error"], shape["meta"]["error"])


def generic_failure(shape: Result) -> Failed:
    details = dict(shape["error"]["details"])
    more = {
        "code": shape["error"]["code"],
        "summary": shape["message"],
        "retryable": details.pop("retryable", False),
    }
    names = {"validationErrors": "fields", "retryAfter": "retry_after"}
    return Failed(shape["error"]["message"], more | _renamed(details, names))
