"""`read_all`: the items of all pages, whatever a tool says about the way to the next one."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from accord.answer import Page
from accord.errors import PeerError
from accord.reader.read import read
from accord.reader.reading import Reading
from accord.reader.words import squeezed

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]
Path = tuple[str, ...]
Changes = dict[Path, Any]

_MOST_PAGES: Final = 1_000
_DEEPEST: Final = 3
_SHOWN: Final = 80

_CURSORS: Final = tuple(
    """cursor pagetoken nextcursor nextpagetoken nexttoken pagecursor continuationtoken
    continuation paginationtoken startingtoken token aftercursor after startcursor scrollid marker
    bookmark exclusivestartkey startkey""".split()
)
_OFFSETS: Final = tuple("offset skip startat startindex start from startposition".split())
_NUMBERS: Final = tuple("page pagenumber pagenum pageno pageindex currentpage".split())
_LIMITS: Final = tuple(
    "limit perpage pagesize maxresults count first top pagelimit maxitems size".split()
)
_BEFORE: Final = tuple("before beforeid beforemessageid maxid endingbefore olderthan".split())
_AFTER: Final = tuple("after afterid aftermessageid sinceid startingafter minid newerthan".split())
_OLDEST: Final = ("oldestmessageid", "oldestid", "oldest")
_LINKS: Final = ("next", "nexturl", "nextlink", "nextpageurl", "nextpage", "odatanextlink", "href")
_NEXT: Final = ("nextcursor", "nextpagetoken", "nexttoken", "endcursor")
_FAMILIES: Final = (_CURSORS, _OFFSETS, _NUMBERS, _LIMITS, _BEFORE, _AFTER)
_CONTAINERS: Final = ("query", "params", "pagination", "paging", "options")
_VAGUE: Final = ("from", "start")
_TYPES: Final[dict[type, set[Any]]] = {int: {"integer"}, str: {"string"}, dict: {"object"}}
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_READ_MORE: Final = "read_more"
_REST: Final = "rest."  # how our own cursors to the rest of an answer begin
_FOLLOWING: Final = re.compile(r"^next_?(?=.)", re.I)


async def read_all(
    call: Call,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    schema: Mapping[str, Any] | None = None,
    max_items: int | None = None,
    max_pages: int = _MOST_PAGES,
) -> AsyncIterator[Any]:
    """The items of a list, page after page; of anything else, its one value.

    `call` is what calls a tool, by its name and arguments, and gives back the reply: the `call`
    of a `Peer`, an SDK's `call_tool`, your own. The tool's input `schema` helps to find the
    argument that leads on. It ends quietly after `max_items`. A page that failed, one that comes
    again, more than `max_pages` of them, and more that there is no way to are a PeerError.
    """
    asked = _Asked(tool, dict(arguments or {}))
    been = {repr(asked)}
    last: list[Any] = []
    given = 0
    for number in range(1, max_pages + 1):
        if given == max_items:
            return
        reading = _read(await call(asked.tool, dict(asked.arguments)), tool, asked.arguments)
        if reading.is_failure:
            raise PeerError(f"page {number} of {tool} failed: {reading.response.message}")
        items = _items(reading)
        if items and items == last:
            raise PeerError(f"{tool} leads in a circle: page {number} repeats the one before it")
        for item in items:
            yield item
            given += 1
            if given == max_items:
                return
        turn = _Turn.of(reading, asked.arguments, schema, len(items), given)
        following = _following(asked, turn)
        if following is None:
            return
        if repr(following) in been:
            raise PeerError(f"{tool} leads in a circle: {_shown(asked, following)} comes again")
        been.add(repr(following))
        asked, last = following, items
    raise PeerError(f"{tool} has more than {max_pages} pages")


def following(
    reading: Reading,
    tool: str,
    arguments: Mapping[str, Any],
    schema: Mapping[str, Any] | None = None,
) -> tuple[str, dict[str, Any]] | None:
    """The tool and the arguments that get the next page; None where there is none, or no way."""
    count = len(_items(reading))
    try:
        found = _following(
            _Asked(tool, dict(arguments)), _Turn.of(reading, arguments, schema, count, count)
        )
    except PeerError:
        return None
    return None if found is None or found.arguments == arguments else (found.tool, found.arguments)


class _Asked(NamedTuple):
    """One call."""

    tool: str
    arguments: dict[str, Any]


def _read(reply: Any, tool: str, arguments: Mapping[str, Any]) -> Reading:
    raw = getattr(reply, "raw", None)  # a Reply of `connect` has the message as it came
    return read(raw if isinstance(raw, bytes) else reply, tool, arguments)


def _items(reading: Reading) -> list[Any]:
    if _is_list(reading):
        items: list[Any] = reading.response.data or []
        return items
    return [] if reading.value is None else [reading.value]


def _is_list(reading: Reading) -> bool:
    return reading.response.response_type in ("list", "tool_catalog")


def _shown(asked: _Asked, following: _Asked) -> str:
    """What the next call has that this one has not."""
    changed = {
        name: value
        for name, value in following.arguments.items()
        if asked.arguments.get(name) != value
    }
    words = ", ".join(f"{name} {value!r}" for name, value in changed.items()) or "the same call"
    return words if len(words) <= _SHOWN else words[:_SHOWN] + "…"


# What a tool takes


class _Inputs(NamedTuple):
    """The arguments of a tool, at the root and one level below: those given, and those known."""

    given: dict[Path, Any]
    known: dict[Path, Mapping[str, Any]] | None

    @classmethod
    def of(cls, arguments: Mapping[str, Any], schema: Mapping[str, Any] | None) -> "_Inputs":
        known = None if schema is None else dict(_flat(schema, _properties))
        return cls(dict(_flat(arguments, _members)), known)

    def find(self, names: Sequence[str], value: str | int) -> Path | None:
        """Where an argument of one of these names goes, if it can be that value."""
        for paths in (self.given, self.known or {}):
            for name in names:
                found = [path for path in paths if squeezed(path[-1]) == name]
                fitting = [path for path in found if self._takes(path, value)]
                if fitting:
                    return min(fitting, key=len)
        return None

    def _takes(self, path: Path, value: str | int) -> bool:
        """Whether an argument can be that: `before` may be a date, and `from` a person."""
        is_number = type(value) is int or str(value).isdecimal()
        schema, now = (self.known or {}).get(path, {}), self.given.get(path)
        types = _types(schema) or _TYPES.get(type(now), set())
        is_date = str(schema.get("format")).startswith(("date", "time")) or (
            isinstance(now, str) and _DATE.match(now) is not None
        )
        if not types:
            return not is_date
        if is_number and types & {"integer", "number"}:
            return True
        is_vague = squeezed(path[-1]) in _VAGUE and type(value) is int
        return "string" in types and not is_date and not is_vague

    def place(self, name: str) -> Path | None:
        """Where an argument may go that nobody has told of."""
        inside = [path for path in (self.known or self.given) if path[-1] in _CONTAINERS]
        for path in inside:
            if self.known is None:
                if isinstance(self.given[path], dict):
                    return (*path, name)
            elif "object" in _types(self.known[path]) and not _properties(self.known[path]):
                return (*path, name)
        return (name,) if self.known is None else None

    def value(self, path: Path) -> Any:
        """What an argument is now: what was given, or its default."""
        default = (self.known or {}).get(path, {}).get("default")
        return self.given.get(path, default)

    def fit(self, path: Path, value: Any) -> Any:
        """A number or its digits, as the argument has it."""
        types = _types((self.known or {}).get(path, {}))
        is_number = bool(types & {"integer", "number"}) or type(self.given.get(path)) is int
        if isinstance(value, str) and value.isdecimal() and is_number and "string" not in types:
            return int(value)
        return str(value) if type(value) is int and types == {"string"} else value

    def least(self, path: Path) -> int:
        """The number of the first page."""
        return 0 if (self.known or {}).get(path, {}).get("minimum") == 0 else 1


def _flat(
    value: Mapping[str, Any], inside: Callable[[Any], Mapping[str, Any]]
) -> Iterator[tuple[Path, Any]]:
    for name, each in inside(value).items():
        yield (name,), each
        for inner, deeper in inside(each).items():
            yield (name, inner), deeper


def _members(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _properties(schema: Any) -> Mapping[str, Any]:
    return {
        name: _members(each) for name, each in _members(_members(schema).get("properties")).items()
    }


def _types(schema: Mapping[str, Any]) -> set[Any]:
    """The JSON types that a schema allows, `null` aside."""
    found: set[Any] = set()
    others = [each for name in ("anyOf", "oneOf") for each in _list(schema.get(name))]
    for each in (schema, *others):
        said = _members(each).get("type")
        found.update(kind for kind in (said, *_list(said)) if isinstance(kind, str))
    return found - {"null"}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# What a page says


class _Turn(NamedTuple):
    """What there is to go by after a page."""

    page: Page
    members: dict[str, tuple[str, Any]]
    """What stands beside the items, by squeezed names: the name as it is, and the value."""
    inputs: _Inputs
    items: list[Any] | None
    """None where the page is no list."""
    seen: int
    is_action: bool
    reading: Reading

    @classmethod
    def of(
        cls,
        reading: Reading,
        arguments: Mapping[str, Any],
        schema: Mapping[str, Any] | None,
        count: int,
        given: int,
    ) -> "_Turn":
        page = reading.page or Page()
        offset = page.offset or 0
        return cls(
            page=page,
            members=_beside(reading.response.metadata or {}),
            inputs=_Inputs.of(arguments, schema),
            items=reading.response.data if _is_list(reading) else None,
            seen=max(given, offset + count),
            is_action=reading.response.response_type == "action",
            reading=reading,
        )

    def said(self, names: tuple[str, ...], kind: type) -> tuple[str, Any] | None:
        """The first member of these names with a value of that type."""
        found = (self.members.get(name) for name in names)
        return next((each for each in found if each and type(each[1]) is kind), None)

    @property
    def is_open(self) -> bool:
        """Whether an argument may be tried that nobody has told of."""
        return self.page.has_more is True

    @property
    def may_have_more(self) -> bool:
        """Whether there may be more, where the page does not say it."""
        if not self.items:
            return False
        if self.page.total is not None:
            return self.seen < self.page.total
        return self.page.after is not None or self._is_full

    @property
    def _is_full(self) -> bool:
        path = self.inputs.find(_LIMITS, 1)
        limit = self.page.limit or (path and self.inputs.value(path))
        return type(limit) is int and self.items is not None and 0 < limit <= len(self.items)

    def find(self, names: Sequence[str], value: str | int, otherwise: str) -> Path | None:
        """The argument of one of these names that can be this, or one to try."""
        found = self.inputs.find(names, value)
        return self.inputs.place(otherwise) if found is None and self.is_open else found


def _beside(members: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """All members by squeezed names; what is said further up is believed first."""
    found: dict[str, tuple[str, Any]] = {}
    level = [members]
    for _ in range(_DEEPEST):
        for name, value in (pair for each in level for pair in each.items()):
            found.setdefault(squeezed(name), (name, value))
        level = [each for above in level for each in above.values() if isinstance(each, dict)]
    return found


# The ways on


def _following(asked: _Asked, turn: _Turn) -> _Asked | None:
    """The call for the next page; None where there is none."""
    if turn.is_action or turn.page.has_more is False:
        return None
    if _wants_read_more(turn):
        return _Asked(_READ_MORE, {"cursor": turn.page.cursor})
    for way in _WAYS:
        changes = way(turn)
        if changes:
            return _Asked(asked.tool, _changed(asked.arguments, changes))
    if turn.page.has_more:
        raise PeerError(f"{asked.tool} says that there is more, but not how to get it")
    return None


def _changed(arguments: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    changed = dict(arguments)
    for (root, *below), value in changes.items():
        changed[root] = {**_members(changed.get(root)), below[0]: value} if below else value
    return changed


def _wants_read_more(turn: _Turn) -> bool:
    """A server of ours cut the answer, and the tool takes no cursor: another one gets the rest."""
    return (turn.page.cursor or "").startswith(_REST) and any(
        f"call {_READ_MORE} with" in warning.message for warning in turn.reading.warnings
    )


def _by_link(turn: _Turn) -> Changes | None:
    """`next: "https://…?page=2"`, as Django REST framework says it."""
    said = next((each for name in _LINKS if _is_link(each := turn.members.get(name))), None)
    link = said[1] if said else turn.page.cursor
    if not link or not _is_link(("", link)):
        return None
    changes: Changes = {}
    leads = False
    for name, value in parse_qsl(urlsplit(link).query):
        family = next((each for each in _FAMILIES if squeezed(name) in each), None)
        if family is None:
            continue
        path = turn.inputs.find((squeezed(name), *family), value)
        if path is None and family is not _LIMITS:
            path = turn.inputs.place(name)
        if path is not None:
            is_number = family in (_OFFSETS, _NUMBERS, _LIMITS) and value.isdecimal()
            changes[path] = turn.inputs.fit(path, int(value) if is_number else value)
            leads = leads or family is not _LIMITS
    return changes if leads else None


def _is_link(said: tuple[str, Any] | None) -> bool:
    return said is not None and isinstance(said[1], str) and bool(_LINK.match(said[1]))


_LINK: Final = re.compile(r"https?://|[/?]")


def _by_cursor(turn: _Turn) -> Changes | None:
    """`nextCursor`, `next_page_token` and the like: an opaque word, or a number."""
    cursor: Any = turn.page.cursor
    said = next((name for name, value in turn.members.values() if value == cursor), None)
    if cursor is None:
        number = turn.said(_NEXT, int)
        if number is None:
            return None
        said, cursor = number
    own = squeezed(said or "")
    names = (_FOLLOWING.sub("", own), own, *_CURSORS)
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


def _by_next_offset(turn: _Turn) -> Changes | None:
    """`nextOffset: 50`."""
    offset = turn.page.next_offset
    path = None if offset is None else turn.find(_OFFSETS, offset, "offset")
    return None if path is None else {path: turn.inputs.fit(path, offset)}


def _by_next_number(turn: _Turn) -> Changes | None:
    """`nextPage: 3`."""
    said = turn.said(("nextpage", "nextpagenumber"), int)
    if said is None:
        return None
    path = turn.inputs.find(_NUMBERS, said[1]) or turn.inputs.place("page")
    return None if path is None else {path: turn.inputs.fit(path, said[1])}


def _by_ids(turn: _Turn) -> Changes | None:
    """`before` the oldest or `after` the newest that is here."""
    if not turn.items or not (turn.is_open or turn.may_have_more):
        return None
    goes_back = _goes_back(turn)
    names, said = (_BEFORE, turn.page.before) if goes_back else (_AFTER, turn.page.after)
    last = said if said is not None else _id_of(turn.items, is_oldest=goes_back)
    if last is None:
        return None
    path = turn.inputs.find(names, last)
    if path is None and said is not None and turn.is_open:
        path = turn.inputs.place(names[0])
    return None if path is None else {path: turn.inputs.fit(path, last)}


def _goes_back(turn: _Turn) -> bool:
    """Whether the next page has what is older."""
    sample = turn.page.before or turn.page.after or _id_of(turn.items or [], is_oldest=True) or ""
    before, after = turn.inputs.find(_BEFORE, sample), turn.inputs.find(_AFTER, sample)
    for path in (before, after):
        if path in turn.inputs.given:
            return path == before
    if turn.inputs.known is not None and (before is None) != (after is None):
        return before is not None
    if turn.page.before is not None or turn.page.after is not None:
        return turn.page.after is None or any(name in turn.members for name in _OLDEST)
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
    found = _members(item).get("id")
    return found if isinstance(found, str | int) else None


def _order(id: Any) -> tuple[int, str]:
    """Numbers by their size, also those that are written as text."""
    return (len(str(id)), str(id)) if str(id).isdecimal() else (0, "")


def _by_position(turn: _Turn) -> Changes | None:
    """The next page by its number, or by how many items came before it."""
    if not turn.items or not (turn.is_open or turn.may_have_more):
        return None
    number, offset = turn.inputs.find(_NUMBERS, 1), turn.inputs.find(_OFFSETS, 1)
    said = turn.said(_NUMBERS, int)
    choices = (
        number if number in turn.inputs.given else None,
        offset if offset in turn.inputs.given else None,
        turn.find(_NUMBERS, 1, said[0]) if said else None,
        offset if turn.page.offset is not None else None,
        number,
        turn.find(_OFFSETS, 1, "offset"),
    )
    path = next((each for each in choices if each is not None), None)
    if path is None:
        return None
    if squeezed(path[-1]) in _NUMBERS:
        current = said[1] if said else _number(turn.inputs.value(path), turn.inputs.least(path))
        return {path: turn.inputs.fit(path, current + 1)}
    current = turn.page.offset
    if current is None:
        current = _number(turn.inputs.value(path), 0)
    return {path: turn.inputs.fit(path, current + len(turn.items))}


def _number(value: Any, otherwise: int) -> int:
    return int(value) if str(value).isdecimal() else otherwise


_WAYS: Final[tuple[Callable[[_Turn], Changes | None], ...]] = (
    _by_link,
    _by_cursor,
    _by_next_offset,
    _by_next_number,
    _by_ids,
    _by_position,
)
