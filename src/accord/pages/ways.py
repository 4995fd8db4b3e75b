"""The ways on to the next page: a table of dialects, the first that leads on is taken."""

import re
from collections.abc import Callable
from typing import Any, Final

from accord.pages.inputs import (
    AFTER,
    BEFORE,
    CURSORS,
    FAMILIES,
    LIMITS,
    LINKS,
    NEXT,
    NUMBERS,
    OFFSETS,
    OLDEST,
    Path,
    members_of,
)
from accord.pages.turn import Turn
from accord.reader.lexicon import squeezed
from accord.reader.paging import is_number, query_of

Changes = dict[Path, Any]
_FOLLOWING: Final = re.compile(r"^next_?(?=.)", re.I)
_LINK: Final = re.compile(r"https?://|[/?]")


def _by_link(turn: Turn) -> Changes | None:
    """`next: "https://…?page=2"`, as Django REST framework says it."""
    changes: Changes = {}
    leads = False
    for name, value in query_of(_link_of(turn) or ""):
        family = next((each for each in FAMILIES if squeezed(name) in each), None)
        if family is None:
            continue
        path = turn.inputs.find((squeezed(name), *family), value)
        if path is None and family is not LIMITS:
            path = turn.inputs.place(name)
        if path is not None:
            counts = family in (OFFSETS, NUMBERS, LIMITS) and is_number(value)
            changes[path] = turn.inputs.fit(path, int(value) if counts else value)
            leads = leads or family is not LIMITS
    return changes if leads else None


def _link_of(turn: Turn) -> str | None:
    """Return the link to the next page; None on a page that was cut."""
    if turn.is_cut:
        return None
    said = next((each for name in LINKS if _is_link(each := turn.members.get(name))), None)
    link = said[1] if said else turn.page.cursor
    return link if link and _is_link(("", link)) else None


def _is_link(said: tuple[str, Any] | None) -> bool:
    return said is not None and isinstance(said[1], str) and bool(_LINK.match(said[1]))


def _by_cursor(turn: Turn) -> Changes | None:
    """`nextCursor`, `next_page_token` and the like: an opaque word, or a number."""
    cursor: Any = turn.page.cursor
    said = next((name for name, value in turn.members.values() if value == cursor), None)
    if cursor is None:
        number = turn.said(NEXT, int)
        if number is None:
            return None
        said, cursor = number
    own = squeezed(said or "")
    names = (_FOLLOWING.sub("", own), own, *CURSORS)
    path = turn.find(names, cursor, _argument_for(said))
    return None if path is None else {path: turn.inputs.fit(path, cursor)}


def _argument_for(member: str | None) -> str:
    """What the argument is likely called that takes what this member says."""
    stem = _FOLLOWING.sub("", member or "")
    if squeezed(stem) in ("", "next", "cursor"):
        return "cursor"
    if squeezed(stem) == "endcursor":
        return "after"
    if squeezed(stem) == "token":
        return str(member)
    return stem[0].lower() + stem[1:]


def _by_next_offset(turn: Turn) -> Changes | None:
    """`nextOffset: 50`."""
    offset = turn.page.next_offset
    path = None if offset is None else turn.find(OFFSETS, offset, "offset")
    return None if path is None else {path: turn.inputs.fit(path, offset)}


def _by_next_number(turn: Turn) -> Changes | None:
    """`nextPage: 3`."""
    said = turn.said(("nextpage", "nextpagenumber"), int)
    if said is None:
        return None
    path = turn.inputs.find(NUMBERS, said[1]) or turn.inputs.place("page")
    return None if path is None else {path: turn.inputs.fit(path, said[1])}


def _by_ids(turn: Turn) -> Changes | None:
    """`before` the oldest or `after` the newest that is here."""
    if not turn.items or not (turn.is_open or turn.may_have_more):
        return None
    goes_back = _goes_back(turn)
    names, said = (BEFORE, turn.page.before) if goes_back else (AFTER, turn.page.after)
    last = said if said is not None else _id_of(turn.items, is_oldest=goes_back)
    if last is None:
        return None
    path = turn.inputs.find(names, last)
    if path is None and said is not None and turn.is_open:
        path = turn.inputs.place(names[0])
    return None if path is None else {path: turn.inputs.fit(path, last)}


def _goes_back(turn: Turn) -> bool:
    """Whether the next page has what is older."""
    sample = turn.page.before or turn.page.after or _id_of(turn.items or [], is_oldest=True) or ""
    before, after = turn.inputs.find(BEFORE, sample), turn.inputs.find(AFTER, sample)
    for path in (before, after):
        if path in turn.inputs.given:
            return path == before
    if turn.inputs.known is not None and (before is None) != (after is None):
        return before is not None
    if turn.page.before is not None or turn.page.after is not None:
        return turn.page.after is None or any(name in turn.members for name in OLDEST)
    ids = [_id(item) for item in turn.items or ()]
    return len(ids) > 1 and None not in ids and _order(ids[0]) > _order(ids[-1])


def _id_of(items: list[Any], *, is_oldest: bool) -> Any:
    """The id that comes last; among numbers, the smallest or the greatest."""
    ids = [_id(item) for item in items]
    if not ids or None in ids:
        return None
    if all(str(each).isdecimal() for each in ids):
        return (min if is_oldest else max)(ids, key=_order)
    return ids[-1]


def _id(item: Any) -> Any:
    found = members_of(item).get("id")
    return found if isinstance(found, str | int) else None


def _order(id: Any) -> tuple[int, str]:
    """Numbers by their size, also those that are written as text."""
    return (len(str(id)), str(id)) if str(id).isdecimal() else (0, "")


def _by_position(turn: Turn) -> Changes | None:
    """The next page by its number, or by how many items came before it."""
    if not turn.items or not (turn.is_open or turn.may_have_more):
        return None
    number, offset = turn.inputs.find(NUMBERS, 1), turn.inputs.find(OFFSETS, 1)
    said = turn.said(NUMBERS, int)
    choices = (
        number if number in turn.inputs.given else None,
        offset if offset in turn.inputs.given else None,
        turn.find(NUMBERS, 1, said[0]) if said else None,
        offset if turn.page.offset is not None else None,
        number,
        turn.find(OFFSETS, 1, "offset"),
    )
    path = next((each for each in choices if each is not None), None)
    if path is None:
        return None
    if squeezed(path[-1]) in NUMBERS:
        current = said[1] if said else _number(turn.inputs.value(path), turn.inputs.least(path))
        return {path: turn.inputs.fit(path, current + 1)}
    current = turn.page.offset
    if current is None:
        current = _number(turn.inputs.value(path), 0)
    return {path: turn.inputs.fit(path, current + len(turn.items))}


def _by_arguments_of_link(turn: Turn) -> Changes | None:
    """`next: "https://…?nr=2"`, with names that are arguments of the tool, whatever they are."""
    changes: Changes = {}
    for name, value in query_of(_link_of(turn) or ""):
        path = turn.inputs.known_as(name, value)
        if path is not None and str(turn.inputs.value(path)) != value:
            changes[path] = turn.inputs.fit(path, value)
    return changes or None


def _number(value: Any, otherwise: int) -> int:
    return int(value) if is_number(str(value)) else otherwise


WAYS: Final[tuple[Callable[[Turn], Changes | None], ...]] = (
    _by_link,
    _by_cursor,
    _by_next_offset,
    _by_next_number,
    _by_ids,
    _by_position,
    _by_arguments_of_link,
)
