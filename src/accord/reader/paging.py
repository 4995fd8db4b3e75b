"""Finds the page of a list: in members beside it, in a sentence, in a notice of a cut text."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from accord.model.answer import Page
from accord.reader.lexicon import memo, squeezed, words

_PLACES: Final = words("members.page-places")
_HAS_MORE: Final = words("members.has-more")
_IS_LAST: Final = words("members.is-last")
_IS_CUT: Final = words("members.is-cut")
_OFFSET: Final = words("members.offset")
_LIMIT: Final = words("members.limit")
_TOTAL: Final = words("members.total")
_NEXT_OFFSET: Final = words("members.next-offset")
_CURSOR: Final = words("members.cursor")
_BEFORE: Final = words("members.before")
_AFTER: Final = words("members.after")
_PAGE: Final = words("members.page")
_PAGES: Final = words("members.pages")
_RETURNED: Final = words("members.returned")
_NUMBERS: Final[dict[str, str]] = {
    **dict.fromkeys(_TOTAL, "total"),
    "nextpage": "next_number",
    **dict.fromkeys(_PAGE, "number"),
    **dict.fromkeys(_PAGES, "pages"),
    **dict.fromkeys(_LIMIT, "limit"),
    **dict.fromkeys(_OFFSET, "offset"),
    **dict.fromkeys(_NEXT_OFFSET, "next_offset"),
}
_FIELDS: Final = frozenset(Page.__struct_fields__)
_NO_COUNT: Final = re.compile(
    r"(?:size|bytes|pages?|time|ms|duration|cost|tokens|price|amount|score|weight)$"
)


def page_of(
    members: Mapping[str, Any], returned: int | None, arguments: Mapping[str, Any] | None = None
) -> Page | None:
    """Return the page that the members beside a list state; None if they state none."""
    found: dict[str, Any] = {}
    places = [members]
    for place in places:
        for name, value in place.items():
            kind = type(value)
            if kind is int:
                field, is_certain = _number(name)
                if is_certain:  # an exact name takes precedence
                    found[field] = value
                elif field:
                    found.setdefault(field, value)
            elif kind is bool:
                _read_flag(_flag(name), value, found)
            elif kind is str or value is None:
                _read_text(squeezed(name), value, found)
            elif kind is dict and (squeezed(name) in _PLACES or name in _PLACES):
                places.append(value)  # it takes precedence over members beside it
    if not found or (len(found) == 1 and "returned" in found):
        return None
    _infer(found, returned, arguments)
    if _FIELDS.isdisjoint(found):
        return None
    known = found.get
    return Page(
        offset=known("offset"),
        limit=known("limit"),
        total=known("total"),
        has_more=known("has_more"),
        next_offset=known("next_offset"),
        cursor=known("cursor"),
        before=known("before"),
        after=known("after"),
    )


class Number(NamedTuple):
    """The field of a page that a number is by its name, and whether the name is exact."""

    field: str = ""
    is_certain: bool = False


@memo
def _number(name: str) -> Number:
    key = squeezed(name)
    if key in _NUMBERS:
        return Number(_NUMBERS[key], True)
    if key in _RETURNED:
        return Number("returned")
    if key.startswith(("total", "overall")) and not _NO_COUNT.search(key):
        return Number("total")
    return Number()


def _read_flag(flag: str, value: bool, found: dict[str, Any]) -> None:
    if flag == "more":
        found["has_more"] = value
    elif flag == "last" or (flag == "cut" and value):
        found.setdefault("has_more", flag == "cut" or not value)


@memo
def _flag(name: str) -> Literal["more", "last", "cut", ""]:
    """Return what a flag says by its name: more pages, the last page, a cut list."""
    key = squeezed(name)
    if key in _HAS_MORE:
        return "more"
    if key in _IS_LAST:
        return "last"
    return "cut" if key in _IS_CUT else ""


def _read_text(name: str, value: str | None, found: dict[str, Any]) -> None:
    if name in ("next", "nexturl", "nextlink", "nextpageurl", "nextpage", "odatanextlink"):
        _read_next(value, found)
    elif name in ("previous", "prev", "previousurl"):
        found["knows_ends"] = True
    elif name in _CURSOR:
        if value:
            found["cursor"] = value
        elif name != "endcursor":
            found.setdefault("has_more", False)
    elif value and name in _BEFORE:
        found["before"] = value
    elif value and name in _AFTER:
        found["after"] = value


def _read_next(value: str | None, found: dict[str, Any]) -> None:
    """Take a link or a cursor to the next page; without a value there is no next page."""
    found["next_link"] = value
    if not value:
        return
    if "://" not in value and not value.startswith(("/", "?")):
        found["cursor"] = value
        return
    query = dict(reversed(query_of(value)))
    for name in ("cursor", "page_token", "pageToken", "after", "continuation"):
        if name in query:
            found["cursor"] = query[name]
    for name in ("offset", "start", "skip"):
        if is_number(query.get(name, "")):
            found["next_offset"] = int(query[name])
    if "cursor" not in found and "next_offset" not in found:
        if is_number(query.get("page", "")):
            found["next_number"] = int(query["page"])
        found["cursor"] = value


def _infer(
    found: dict[str, Any], returned: int | None, arguments: Mapping[str, Any] | None
) -> None:
    """Add what follows from the stated fields; `has_more` is never guessed."""
    stated = found.get("offset")
    if arguments:
        _use_arguments(found, arguments)
    number, limit, pages = found.get("number"), found.get("limit"), found.get("pages")
    if number is not None and limit and "offset" not in found:
        found["offset"] = max(number - 1, 0) * limit
    if "next_link" in found:
        found.setdefault("has_more", bool(found["next_link"]))
        if "knows_ends" in found and "total" not in found and "returned" in found:
            found["total"] = found["returned"]
    offset, total = found.get("offset"), found.get("total")
    if "has_more" not in found:
        if found.get("cursor") is not None or found.get("next_offset") is not None:
            found["has_more"] = True
        elif number is not None and pages is not None:
            found["has_more"] = number < pages
        elif offset is not None and total is not None and returned:
            found["has_more"] = offset + returned < total
        elif total is not None and total == returned and not offset:
            found["has_more"] = False
    if found.get("has_more") is False:
        found.pop("cursor", None)
        found.pop("next_offset", None)
    elif stated is not None and limit and limit == returned and number is None:
        _add_next_offset(found, stated + limit)


def _add_next_offset(found: dict[str, Any], offset: int) -> None:
    """Add the next offset if there are more items, the page is full and no cursor is given."""
    if found.get("has_more") and found.get("cursor") is None:
        found.setdefault("next_offset", offset)


def _use_arguments(found: dict[str, Any], arguments: Mapping[str, Any]) -> None:
    """Add the position that the caller requested, if the reply states pages but no position."""
    if "total" not in found and "has_more" not in found:
        return
    for name, value in arguments.items():
        key = squeezed(name)
        if type(value) is not int:
            continue
        if key in _OFFSET:
            found.setdefault("offset", value)
        elif key in _LIMIT:
            found.setdefault("limit", value)
        elif key in _PAGE:
            found.setdefault("number", value)


_SHOWING: Final = re.compile(
    r"""(?:showing|displaying|returned|listing|found|results?)\D{0,30}?
        (?:(?P<first>\d[\d,]{0,15})\s*(?:-|\u2013|to)\s*)?(?P<shown>\d[\d,]{0,15})\s*(?:\w{1,40}\s+){0,2}?(?:of|out\s+of|/)\s*(?:a\s+total\s+of\s+)?(?P<total>\d[\d,]{0,15})""",
    re.X,
)


def page_in_text(text: str) -> Page | None:
    """Return the page that a sentence states: `Showing 1-10 of 250`."""
    small = text[:2_000].lower()
    found = _SHOWING.search(small) if "of" in small or "/" in small else None
    if found is None:
        return None
    shown, total = (int(found[name].replace(",", "")) for name in ("shown", "total"))
    if found["first"] is not None:
        first = int(found["first"].replace(",", ""))
        return Page(offset=max(first - 1, 0), total=total, has_more=shown < total)
    return Page(total=total, has_more=shown < total)


_CUT: Final = re.compile(
    r"(?:start|offset|skip|index|position|line)\w{0,40}[\W_]{1,3}(?:of |to |is )?"
    r"(?P<next>\d{1,15})\b"
)
_LONGEST_NOTICE: Final = 300
_LENGTHS: Final = _LIMIT | {
    "maxlength",
    "maxchars",
    "maxcharacters",
    "maxbytes",
    "length",
    "maxlines",
}


def page_of_cut(text: str, arguments: Mapping[str, Any]) -> Page | None:
    """Return where a cut text continues: `Content truncated. Call … with a start_index of 100`."""
    notice = text[-_LONGEST_NOTICE:].lower()
    at = notice.find("truncated")
    found = _CUT.search(notice, at) if at >= 0 else None
    if found is None:
        return None
    asked = {squeezed(name): each for name, each in arguments.items() if type(each) is int}
    offset = next((each for name, each in asked.items() if name in _OFFSET), None)
    limit = next((each for name, each in asked.items() if name in _LENGTHS), None)
    return Page(
        offset=offset,
        limit=None if offset is None else limit,
        has_more=True,
        next_offset=int(found["next"]),
    )


_MOST_DIGITS: Final = 18


def query_of(link: str) -> list[tuple[str, str]]:
    """Return the names and values in the query of a link; none if it is not one."""
    try:
        return parse_qsl(urlsplit(link).query)
    except ValueError:
        return []


def is_number(text: str) -> bool:
    """Whether a text is a number of a page or an offset."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS
