"""Finds the page of a list: in members beside it, in a sentence, in a notice of a cut text."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from accord.model.answer import Page
from accord.reader.lexicon import MEMBERS, memo, ordered, squeezed

_FIELD_OF: Final[dict[str, str]] = {
    **dict.fromkeys(MEMBERS.returned, "returned"),
    **dict.fromkeys(MEMBERS.total, "total"),
    "nextpage": "next_number",
    **dict.fromkeys(MEMBERS.page, "number"),
    **dict.fromkeys(MEMBERS.pages, "pages"),
    **dict.fromkeys(MEMBERS.limit, "limit"),
    **dict.fromkeys(MEMBERS.offset, "offset"),
    **dict.fromkeys(MEMBERS.next_offset, "next_offset"),
}
"""Fields of a page by the names of members that are numbers."""
_FLAGS: Final = {
    **dict.fromkeys(MEMBERS.is_cut, "cut"),
    **dict.fromkeys(MEMBERS.is_last, "last"),
    **dict.fromkeys(MEMBERS.has_more, "more"),
}
_NEXT: Final = MEMBERS.next_page
_PREVIOUS: Final = MEMBERS.previous_page
_ASKED: Final = ("offset", "limit", "number")
"""Fields of a page that arguments of a call may have."""
_PLACES: Final = MEMBERS.page_places
_CURSOR: Final = MEMBERS.cursor
_BEFORE: Final = MEMBERS.before
_AFTER: Final = MEMBERS.after
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
                flag = _FLAGS.get(squeezed(name))
                if flag is not None:
                    _read_flag(flag, value, found)
            elif kind is str or value is None:
                _read_text(squeezed(name), value, found)
            elif kind is dict and (squeezed(name) in _PLACES or name in _PLACES):
                places.append(value)  # it takes precedence over members beside it
    if not found or found.keys() == {"returned"}:
        return None
    _infer(found, returned, arguments)
    stated = {name: found[name] for name in _FIELDS & found.keys()}
    return Page(**stated) if stated else None


@memo
def _number(name: str) -> tuple[str, bool]:
    """Return the field of a page that a number is by its name, and whether the name is exact."""
    key = squeezed(name)
    field = _FIELD_OF.get(key, "")
    if not field and key.startswith(("total", "overall")) and not _NO_COUNT.search(key):
        return "total", False
    return field, field not in ("", "returned")


def _read_flag(flag: str, value: bool, found: dict[str, Any]) -> None:
    """Interpret a flag: more pages, the last page, a cut list."""
    if flag == "more":
        found["has_more"] = value
    elif flag == "last" or value:
        found.setdefault("has_more", flag == "cut" or not value)


def _read_text(name: str, value: str | None, found: dict[str, Any]) -> None:
    if name in _NEXT:
        _read_next(value, found)
    elif name in _PREVIOUS:
        found["knows_ends"] = True
    elif name in _CURSOR and (value or name != "endcursor"):
        found.update({"cursor": value} if value else {"has_more": found.get("has_more", False)})
    elif value and name in _BEFORE:
        found["before"] = value
    elif value and name in _AFTER:
        found["after"] = value


def _read_next(value: str | None, found: dict[str, Any]) -> None:
    """Interpret a link or cursor to the next page; an empty one means that there is none."""
    found["next_link"] = value
    if not value:
        return
    if "://" not in value and not value.startswith(("/", "?")):
        found["cursor"] = value
        return
    query = dict(reversed(query_of(value)))
    for name in ordered("members.link-cursors"):
        if name in query:
            found["cursor"] = query[name]
    for name in ordered("members.link-offsets"):
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
    if arguments and ("total" in found or "has_more" in found):
        for name, value in arguments.items():  # a position that the reply does not state
            field = _FIELD_OF.get(squeezed(name))
            if type(value) is int and field in _ASKED:
                found.setdefault(field, value)
    number, limit = found.get("number"), found.get("limit")
    if number is not None and limit:
        found.setdefault("offset", max(number - 1, 0) * limit)
    if "next_link" in found:
        found.setdefault("has_more", bool(found["next_link"]))
        if "knows_ends" in found and "returned" in found:
            found.setdefault("total", found["returned"])
    if "has_more" not in found:
        _infer_more(found, returned)
    if found.get("has_more") is False:
        found.pop("cursor", None)
        found.pop("next_offset", None)
    is_full = limit is not None and limit == returned and number is None
    if is_full and stated is not None and found.get("has_more") and not found.get("cursor"):
        found.setdefault("next_offset", stated + returned)


def _infer_more(found: dict[str, Any], returned: int | None) -> None:
    number, pages = found.get("number"), found.get("pages")
    offset, total = found.get("offset"), found.get("total")
    if found.get("cursor") is not None or found.get("next_offset") is not None:
        found["has_more"] = True
    elif number is not None and pages is not None:
        found["has_more"] = number < pages
    elif offset is not None and total is not None and returned:
        found["has_more"] = offset + returned < total
    elif total is not None and total == returned and not offset:
        found["has_more"] = False


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
    first, shown, total = (int((each or "0").replace(",", "")) for each in found.groups())
    offset = None if found["first"] is None else max(first - 1, 0)
    return Page(offset=offset, total=total, has_more=shown < total)


_CUT: Final = re.compile(
    r"(?:start|offset|skip|index|position|line)\w{0,40}[\W_]{1,3}(?:of |to |is )?"
    r"(?P<next>\d{1,15})\b"
)
_LONGEST_NOTICE: Final = 300
_LENGTHS: Final = MEMBERS.limit | MEMBERS.lengths


def page_of_cut(text: str, arguments: Mapping[str, Any]) -> Page | None:
    """Return where a cut text continues: `Content truncated. Call … with a start_index of 100`."""
    notice = text[-_LONGEST_NOTICE:].lower()
    at = notice.find("truncated")
    found = _CUT.search(notice, at) if at >= 0 else None
    if found is None:
        return None
    asked = {squeezed(name): each for name, each in arguments.items() if type(each) is int}
    offset = next((each for name, each in asked.items() if name in MEMBERS.offset), None)
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
    """True if a text is a number of a page or an offset."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS
