"""Where a list stands among all there is, in whatever dialect it is said."""

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
    """The page that a list's fellow members tell of, if they do."""
    said: dict[str, Any] = {}
    places = [members]
    for place in places:
        for name, value in place.items():
            kind = type(value)
            if kind is int:
                says, is_certain = _number(name)
                if is_certain:  # what is said in so many words wins
                    said[says] = value
                elif says:
                    said.setdefault(says, value)
            elif kind is bool:
                _hear_flag(_flag(name), value, said)
            elif kind is str or value is None:
                _hear_words(squeezed(name), value, said)
            elif kind is dict and (squeezed(name) in _PLACES or name in _PLACES):
                places.append(value)  # which knows better than those beside it
    if not said or (len(said) == 1 and "returned" in said):
        return None
    _infer(said, returned, arguments)
    if _FIELDS.isdisjoint(said):
        return None
    known = said.get
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
    """What a number is by its name, if it is known; and whether it could be something else."""

    says: str = ""
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


def _hear_flag(flag: str, value: bool, said: dict[str, Any]) -> None:
    if flag == "more":
        said["has_more"] = value
    elif flag == "last" or (flag == "cut" and value):
        said.setdefault("has_more", flag == "cut" or not value)


@memo
def _flag(name: str) -> Literal["more", "last", "cut", ""]:
    """What a flag is by its name: that there is more, that this is the last, that it was cut."""
    key = squeezed(name)
    if key in _HAS_MORE:
        return "more"
    if key in _IS_LAST:
        return "last"
    return "cut" if key in _IS_CUT else ""


def _hear_words(name: str, value: str | None, said: dict[str, Any]) -> None:
    if name in ("next", "nexturl", "nextlink", "nextpageurl", "nextpage", "odatanextlink"):
        _hear_next(value, said)
    elif name in ("previous", "prev", "previousurl"):
        said["knows_ends"] = True
    elif name in _CURSOR:
        if value:
            said["cursor"] = value
        elif name != "endcursor":
            said.setdefault("has_more", False)
    elif value and name in _BEFORE:
        said["before"] = value
    elif value and name in _AFTER:
        said["after"] = value


def _hear_next(value: str | None, said: dict[str, Any]) -> None:
    """A link or a token to the next page; none where there is no next page."""
    said["next_link"] = value
    if not value:
        return
    if "://" not in value and not value.startswith(("/", "?")):
        said["cursor"] = value
        return
    query = dict(reversed(query_of(value)))
    for name in ("cursor", "page_token", "pageToken", "after", "continuation"):
        if name in query:
            said["cursor"] = query[name]
    for name in ("offset", "start", "skip"):
        if is_number(query.get(name, "")):
            said["next_offset"] = int(query[name])
    if "cursor" not in said and "next_offset" not in said:
        if is_number(query.get("page", "")):
            said["next_number"] = int(query["page"])
        said["cursor"] = value


def _infer(said: dict[str, Any], returned: int | None, arguments: Mapping[str, Any] | None) -> None:
    """What follows from what was said; whether there is more is never made up."""
    begins = said.get("offset")
    if arguments:
        _use_arguments(said, arguments)
    number, limit, pages = said.get("number"), said.get("limit"), said.get("pages")
    if number is not None and limit and "offset" not in said:
        said["offset"] = max(number - 1, 0) * limit
    if "next_link" in said:
        said.setdefault("has_more", bool(said["next_link"]))
        if "knows_ends" in said and "total" not in said and "returned" in said:
            said["total"] = said["returned"]
    if "has_more" not in said:
        if said.get("cursor") is not None or said.get("next_offset") is not None:
            said["has_more"] = True
        elif number is not None and pages is not None:
            said["has_more"] = number < pages
        elif said.get("offset") is not None and said.get("total") is not None and returned:
            said["has_more"] = said["offset"] + returned < said["total"]
        elif said.get("total") is not None and said["total"] == returned and not said.get("offset"):
            said["has_more"] = False
    if said.get("has_more") is False:
        said.pop("cursor", None)
        said.pop("next_offset", None)
    elif begins is not None and limit and limit == returned and number is None:
        _go_on(said, begins + limit)


def _go_on(said: dict[str, Any], offset: int) -> None:
    """The next offset, where there is more, the page is full and nothing else says how to go on."""
    if said.get("has_more") and said.get("cursor") is None:
        said.setdefault("next_offset", offset)


def _use_arguments(said: dict[str, Any], arguments: Mapping[str, Any]) -> None:
    """What the caller asked for, where the reply speaks of pages but not of that."""
    if "total" not in said and "has_more" not in said:
        return
    for name, value in arguments.items():
        key = squeezed(name)
        if type(value) is not int:
            continue
        if key in _OFFSET:
            said.setdefault("offset", value)
        elif key in _LIMIT:
            said.setdefault("limit", value)
        elif key in _PAGE:
            said.setdefault("number", value)


_SHOWING: Final = re.compile(
    r"""(?:showing|displaying|returned|listing|found|results?)\D{0,30}?
        (?:(?P<first>\d[\d,]{0,15})\s*(?:-|\u2013|to)\s*)?(?P<shown>\d[\d,]{0,15})\s*(?:\w{1,40}\s+){0,2}?(?:of|out\s+of|/)\s*(?:a\s+total\s+of\s+)?(?P<total>\d[\d,]{0,15})""",
    re.X,
)


def page_in_text(text: str) -> Page | None:
    """The page that a sentence tells of: `Showing 1-10 of 250`."""
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
    """Where a text goes on that was cut: `Content truncated. Call … with a start_index of 100`."""
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
