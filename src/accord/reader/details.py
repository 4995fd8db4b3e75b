"""The details of an answer as Accord sends them with its data: in one object, or as sentences.

`accord.profiles.details` writes both.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from accord.model.answer import Page
from accord.model.response import META_KEY
from accord.reader.documents import find_json, parse_json

MEMBER: Final = "_accord"
"""The member of an object that has the details."""
DETAILS: Final = frozenset({"page", "warnings", "partial", "truncated"})
_PAGE: Final = frozenset(Page.__struct_encode_fields__)
_POSITION: Final = frozenset({"cursor", "nextOffset"})
_NOTICE: Final = frozenset({"message", "code", "severity"})


class Detailed(NamedTuple):
    """Data, and the details that stood with it."""

    data: Any
    details: Mapping[str, Any]
    is_wrapped: bool = False
    """True if the data was the member `result` of an object."""
    items: int | None = None
    """How many items the data has, if sentences say so: it is then a list."""

    @property
    def plain(self) -> Any:
        """The data as it was sent, without the details."""
        return {"result": self.data} if self.is_wrapped else self.data

    @property
    def is_distinct(self) -> bool:
        """True if the sentences are hardly of another author: they say how to continue, or a cut.

        Paragraphs such as `Warning: …` and `3 of 10 rows.` end the texts of others too.
        """
        page, warnings = self.details.get("page", {}), self.details.get("warnings", ())
        continues = page.get("hasMore") is True and not _POSITION.isdisjoint(page)
        is_cut = "truncated" in self.details and any("code" in each for each in warnings)
        return continues or is_cut


def split_object(value: Any) -> Detailed | None:
    """Return the data and details in a JSON value; None if it is not an object of both."""
    if type(value) is not dict:
        return None
    inner = value.get(MEMBER)
    if type(inner) is dict:
        details = {name: each for name, each in inner.items() if name != MEMBER}
        if not _are_details(details):
            return None
        data = {name: each for name, each in value.items() if name != MEMBER}
        return Detailed(data | {MEMBER: inner[MEMBER]} if MEMBER in inner else data, details)
    if len(value) < 2 or "result" not in value:
        return None
    details = {name: each for name, each in value.items() if name != "result"}
    return Detailed(value["result"], details, True) if _are_details(details) else None


def _are_details(said: Mapping[str, Any]) -> bool:
    if not said or not said.keys() <= DETAILS:
        return False
    is_flagged = said.get("partial", True) is True and said.get("truncated", True) is True
    are_notices = "warnings" not in said or _are_notices(said["warnings"])
    return is_flagged and are_notices and ("page" not in said or _is_page(said["page"]))


def _is_page(said: Any) -> bool:
    if type(said) is not dict or not said.keys() <= _PAGE:
        return False
    try:
        msgspec.convert(said, Page)
    except msgspec.ValidationError:
        return False
    return True


def _are_notices(said: Any) -> bool:
    return type(said) is list and bool(said) and all(map(_is_notice, said))


def _is_notice(said: Any) -> bool:
    if type(said) is not dict or type(said.get("message")) is not str:
        return False
    return said.keys() <= _NOTICE and all(type(each) is str for each in said.values())


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
_WARNING: Final = re.compile(
    rf"Warning(?: (?P<code>[\w.\-]{{1,64}}|{_STRING}))?(?: \((?P<severity>info|error)\))?: (.+)",
    re.ASCII | re.S,
)
_PARTIAL: Final = "Part of the work failed."
_TRUNCATED: Final = "The data is incomplete."
_TITLE: Final = "Page: "
_FIRST: Final = frozenset("-0123456789PTW")
"""First characters of such a paragraph."""


def split_words(text: str) -> Detailed | None:
    """Return a text without its last paragraph, if that has the form of details in sentences.

    The text of any author can end so: the caller decides whether it does.
    """
    if "\n" not in text:  # which takes a fraction of the search for two
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
    items = None if count is None or count["count"] is None else _count(count["count"])
    return Detailed(body, details, items=items)


def _details_in(lines: list[str]) -> dict[str, Any] | None:
    """Return the details in lines; None unless each line is one, in the order of the writer."""
    details: dict[str, Any] = {}
    page = _page_in(lines[0])
    if page:
        details["page"] = page
        lines = lines[1:]
    for name, sentence in (("partial", _PARTIAL), ("truncated", _TRUNCATED)):
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
    notice = {"message": _unquoted(message)}
    if code is not None:
        notice["code"] = _unquoted(code)
    return notice if severity is None else {**notice, "severity": severity}


def _unquoted(text: str) -> str:
    return msgspec.json.decode(text, type=str) if text[:1] == '"' else text


def _page_in(line: str) -> dict[str, Any] | None:
    """Return the page that a sentence states; None if it is not one."""
    if line[-1:] != ".":
        return None
    page: dict[str, Any] = {}
    position = len(_TITLE) if line.startswith(_TITLE) else 0
    while (part := _PART.match(line, position)) is not None:
        for name, said in part.groupdict().items():
            if said is not None and name != "count":
                page.update(_FIELDS[name](said))
        position = part.end()
        if position == len(line) - 1:
            return page
        if not line.startswith("; ", position):
            return None
        position += 2
    return None


def _count(said: str) -> int:
    return int(said.replace(",", ""))


_FIELDS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "total": lambda said: {"total": _count(said)},
    "all": lambda said: {"total": _count(said)},
    "offset": lambda said: {"offset": int(said)},
    "limit": lambda said: {"limit": int(said)},
    "nextOffset": lambda said: {"nextOffset": int(said)},
    "before": lambda said: {"before": _unquoted(said)},
    "after": lambda said: {"after": _unquoted(said)},
    "cursor": lambda said: {"cursor": _unquoted(said)},
    "nextCursor": lambda said: {"cursor": _unquoted(said), "hasMore": True},
    "following": lambda said: {"nextOffset": int(said), "hasMore": True},
    "more": lambda _: {"hasMore": True},
    "end": lambda _: {"hasMore": False},
}


# Details at the end of a text


def details_after(
    text: str, result: Mapping[str, Any], digs: str, *, is_answer: bool
) -> Detailed | None:
    """Return a text and the details that end it; None if its last paragraph is a part of it.

    Where `_meta` or the structure states details, it repeats them. In a text alone it stands behind
    JSON, or says what others hardly say, or is all that follows one paragraph of an answer.
    """
    words = split_words(text)
    if words is None or result.get("isError") is True:  # a failure has no details
        return None
    stated = _stated(result)
    if stated is None:
        are_details = _ends_with_details(words, digs, is_answer=is_answer)
    else:
        are_details = all(words.details.get(name) == (stated.get(name) or None) for name in DETAILS)
    return words if are_details else None


def _stated(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the details that `_meta` or the structure states; None if there is neither."""
    meta, structure = result.get("_meta"), result.get("structuredContent")
    beside = meta.get(META_KEY) if isinstance(meta, dict) else None
    if isinstance(beside, dict):
        return beside
    found = split_object(structure)
    if found is not None:
        return found.details
    return None if structure is None else {}


def _ends_with_details(words: Detailed, digs: str, *, is_answer: bool) -> bool:
    """True if the last paragraph of a text alone is the details of an answer."""
    body = words.data
    if words.is_distinct or parse_json(body)[0]:
        return True
    if not digs:
        return False
    if body.rstrip()[-1:] in ("}", "]") and find_json(body) is not None:
        return True
    if words.items is not None and body.rstrip().endswith("|"):  # a count of the rows of a table
        return True
    return is_answer and digs == "all" and "\n\n" not in body
