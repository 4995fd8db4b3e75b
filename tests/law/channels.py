"""What each channel of a tool result says by itself: what a reader may rely on, profile by profile.

A channel is the text blocks, the structure, or `_meta`. These are as short as they can be, and
know the profile; a reader has to find that out.
"""

import json
import re
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


# Details: in `_meta` in all profiles, and in three of them together with the data


def beside(result: Result) -> dict[str, Any]:
    """What `_meta` says of the answer; nothing where there is nothing to say."""
    found: dict[str, Any] = result.get("_meta", {}).get(META_KEY, {})
    return found


def with_details(value: Json) -> Said:
    """Data and details in one object: `{"result": …, "page": …}`, or a member `_accord`."""
    if not isinstance(value, dict):
        return Said(value)
    if isinstance(value.get("_accord"), dict):
        data, details = dict(value), dict(value["_accord"])
        del data["_accord"]
        if "_accord" in details:
            data["_accord"] = details.pop("_accord")
    else:
        details = dict(value)
        data = details.pop("result", None)
    if not details or not details.keys() <= BESIDE or (len(value) == 1 and "result" in value):
        return Said(value)
    return _said(data, None, details)


def _said(data: Json, message: str | None, found: dict[str, Any]) -> Said:
    return Said(
        data,
        found.get("page"),
        found.get("warnings"),
        found.get("partial", False),
        found.get("truncated", False),
        message,
    )


PAGE_WORDS = {  # what a sentence says of a page, part by part
    r"-?[\d,]+ of (-?[\d,]+) (?:rows|items)": ("total",),
    r"-?[\d,]+ (?:rows|items)": (),
    r"(-?[\d,]+) in all": ("total",),
    r"offset (-?\d+)": ("offset",),
    r"limit (-?\d+)": ("limit",),
    r"before (\".*\")": ("before",),
    r"after (\".*\")": ("after",),
    r"next offset (-?\d+)": ("nextOffset",),
    r"cursor (\".*\")": ("cursor",),
    r"pass cursor (\".*\") for the rest": ("cursor", "hasMore"),
    r"pass offset (-?\d+) for the rest": ("nextOffset", "hasMore"),
    r"more follow": ("hasMore",),
    r"no more": ("hasNoMore",),
}


def page_of_words(line: str) -> dict[str, Any]:
    page: dict[str, Any] = {}
    line = line.removeprefix("Page: ").removesuffix(".")
    for part in re.findall(r'((?:[^";]|"(?:\\.|[^"\\])*")+)(?:; |$)', line):
        ((names, found),) = [
            (names, match)
            for form, names in PAGE_WORDS.items()
            if (match := re.fullmatch(form, part))
        ]
        for name in names:
            if name.startswith("has"):
                page["hasMore"] = name == "hasMore"
            else:
                page[name] = json.loads(found[1] if '"' in found[1] else found[1].replace(",", ""))
    return page


def details_of_words(paragraph: str) -> dict[str, Any]:
    details: dict[str, Any] = {}
    for line in paragraph.split("\n"):
        warning = re.fullmatch(
            r"Warning(?: ([\w.-]+|\".*\"))?(?: \((\w+)\))?: (.*)", line, re.A | re.S
        )
        if warning is not None:
            said = dict(zip(("code", "severity", "message"), warning.groups(), strict=True))
            notice = {n: value_of(w) if w[:1] == '"' else w for n, w in said.items() if w}
            details.setdefault("warnings", []).append(notice)
        elif line == "Part of the work failed.":
            details["partial"] = True
        elif line == "The data is incomplete.":
            details["truncated"] = True
        else:
            details["page"] = page_of_words(line)
    return details


# The text of each profile


def plain_text(text: str, *, has_details: bool) -> Said:
    """The text is JSON, or words; with details it is an object of both."""
    return with_details(parsed(text)) if has_details else Said(value_of(text))


def prose_text(text: str, *, has_details: bool) -> Said:
    """The data is the longest end of a text that is JSON; what comes before it is words.

    With details they are the last paragraph.
    """
    details: dict[str, Any] = {}
    if has_details:
        text, _, paragraph = text.rpartition("\n\n")
        details = details_of_words(paragraph)
    message, data = split_prose(text)
    return _said(data, message, details)


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
