"""The details of an answer in `plain`, `bare` and `prose`, which have no members for them.

Details are the page, the warnings, and the marks of an incomplete answer. Data and details are one
object: `{"result": <data>, "page": …}`, or an object with a further member `_accord`. The text of
`prose` ends with a paragraph of sentences instead. `accord.reader.known_shapes` reads both back.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from accord.model.answer import Answer, Encoded, Notice, Page, Value
from accord.model.values import known
from accord.profiles.profile import shape_of

MEMBER: Final = "_accord"
"""The member of an object that has the details."""

_MEMBER_IN_JSON: Final = b'"_accord":'
_CODE: Final = re.compile(r"[\w.\-]{1,64}", re.ASCII)

_EMPTY: Final = Page()
_encode = msgspec.json.Encoder().encode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def with_details(answer: Answer[Value]) -> Value:
    """Return the data of an answer and its details as one object; the data alone without any."""
    details = details_of(answer)
    return Encoded(_joined(answer.data, _encode(details))) if details else answer.data


def details_of(answer: Answer[Value]) -> dict[str, Any]:
    """Return the details of an answer that its data does not state itself."""
    return known(
        page=None if answer.page_in_data else answer.page,
        warnings=answer.warnings or None,
        partial=answer.partial or None,
        truncated=answer.truncated or None,
    )


def sentences(answer: Answer[Value]) -> str:
    """Return the details of an answer in words, one line each."""
    return "\n".join(_lines(answer))


def _joined(data: Value, details: bytes) -> bytes:
    """Join the JSON of data and details without decoding the data."""
    if shape_of(data) != "object":
        json = _encode(data) if isinstance(data, str) else data.json
        return b'{"result":' + json + b"," + details[1:]
    json = data.json.rstrip()  # type: ignore[union-attr]  # text is not an object
    if b'"_accord"' in json or b"\\u" in json:  # its name may be written with escapes
        members = _members(json)
        if MEMBER in members:
            inner = details[:-1] + b"," + _MEMBER_IN_JSON + bytes(members[MEMBER]) + b"}"
            members[MEMBER] = msgspec.Raw(inner)
            return _encode(members)
    body = json[:-1]
    comma = b"" if body.rstrip() == b"{" else b","
    return body + comma + _MEMBER_IN_JSON + details + b"}"


def _lines(answer: Answer[Value]) -> Iterator[str]:
    if answer.page is not None and not answer.page_in_data:
        yield from _page_line(answer.page, answer.data)
    if answer.partial:
        yield "Part of the work failed."
    if answer.truncated:
        yield "The data is incomplete."
    for notice in answer.warnings:
        assert isinstance(notice, Notice)
        code, severity = notice.code, notice.severity
        name = "" if code is None else f" {code if _CODE.fullmatch(code) else _quoted(code)}"
        level = "" if severity == "warning" else f" ({severity})"
        yield f"Warning{name}{level}: {_on_one_line(notice.message)}"


def _page_line(page: Page, data: Value) -> Iterator[str]:
    """Yield the sentence of a page, unless it says nothing."""
    if page != _EMPTY:
        counts = [*_counts(page, data)]
        parts = "; ".join([*counts, *_position(page), *_continuation(page)])
        yield f"{parts}." if counts else f"Page: {parts}."


def _counts(page: Page, data: Value) -> Iterator[str]:
    json = _counted(data)
    if json is not None:
        path = data.items_at  # type: ignore[union-attr]  # text is not a list
        unit = "rows" if json[1:2] == b"{" or (path and path[-1] == "rows") else "items"
        total = "" if page.total is None else f" of {page.total:,}"
        yield f"{len(_items(json)):,}{total} {unit}"
    elif page.total is not None:
        yield f"{page.total:,} in all"


def _counted(data: Value) -> bytes | None:
    """Return the JSON of the list that a page counts: the data, or the list that it names."""
    if isinstance(data, str):
        return None
    json = data.json
    for name in data.items_at or ():
        json = bytes(_members(json).get(name, b"null")) if json[:1] == b"{" else b"null"
    return json if json[:1] == b"[" else None


def _position(page: Page) -> Iterator[str]:
    if page.offset is not None:
        yield f"offset {page.offset}"
    if page.limit is not None:
        yield f"limit {page.limit}"
    if page.before is not None:
        yield f"before {_quoted(page.before)}"
    if page.after is not None:
        yield f"after {_quoted(page.after)}"


def _continuation(page: Page) -> Iterator[str]:
    """Yield whether there is more and how to get it."""
    following, cursor = page.next_offset, page.cursor
    has_offset_only = page.has_more and cursor is None and following is not None
    if following is not None and not has_offset_only:
        yield f"next offset {following}"
    if page.has_more and cursor is not None:
        yield f"pass cursor {_quoted(cursor)} for the rest"
    elif has_offset_only:
        yield f"pass offset {following} for the rest"
    elif cursor is not None:
        yield f"cursor {_quoted(cursor)}"
    elif page.has_more:
        yield "more follow"
    if page.has_more is False:
        yield "no more"


def _quoted(text: str) -> str:
    return _encode(text).decode()


def _on_one_line(text: str) -> str:
    """Return a text as it is, or as JSON if it would not be read back so."""
    is_plain = text.isprintable() and text == text.strip() and text[:1] not in ("", '"')
    return text if is_plain else _quoted(text)
