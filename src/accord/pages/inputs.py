"""What a tool takes: the arguments given, and those that its schema tells of."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from accord.reader.lexicon import squeezed
from accord.reader.paging import is_number

CURSORS: Final = tuple(
    """cursor pagetoken nextcursor nextpagetoken nexttoken pagecursor continuationtoken
    continuation paginationtoken startingtoken token aftercursor after startcursor scrollid marker
    bookmark exclusivestartkey startkey""".split()
)
OFFSETS: Final = tuple("offset skip startat startindex start from startposition".split())
NUMBERS: Final = tuple("page pagenumber pagenum pageno pageindex currentpage".split())
LIMITS: Final = tuple(
    "limit perpage pagesize maxresults count first top pagelimit maxitems size".split()
)
BEFORE: Final = tuple("before beforeid beforemessageid maxid endingbefore olderthan".split())
AFTER: Final = tuple("after afterid aftermessageid sinceid startingafter minid newerthan".split())
OLDEST: Final = ("oldestmessageid", "oldestid", "oldest")
LINKS: Final = ("next", "nexturl", "nextlink", "nextpageurl", "nextpage", "odatanextlink", "href")
REST: Final = "rest."
"""How our own cursors to the rest of a cut answer begin."""
NEXT: Final = ("nextcursor", "nextpagetoken", "nexttoken", "endcursor")
FAMILIES: Final = (CURSORS, OFFSETS, NUMBERS, LIMITS, BEFORE, AFTER)
CONTAINERS: Final = ("query", "params", "pagination", "paging", "options")

Path = tuple[str, ...]
_VAGUE: Final = ("from", "start")
_TYPES: Final[dict[type, set[Any]]] = {int: {"integer"}, str: {"string"}, dict: {"object"}}
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


class Inputs(NamedTuple):
    """The arguments of a tool, at the root and one level below: those given, and those known."""

    given: dict[Path, Any]
    known: dict[Path, Mapping[str, Any]] | None

    @classmethod
    def of(cls, arguments: Mapping[str, Any], schema: Mapping[str, Any] | None) -> "Inputs":
        known = None if schema is None else dict(_flat(schema, _properties))
        return cls(dict(_flat(arguments, members_of)), known)

    def find(self, names: Sequence[str], value: str | int) -> Path | None:
        """Where an argument of one of these names goes, if it can be that value."""
        for paths in (self.given, self.known or {}):
            for name in names:
                found = [path for path in paths if squeezed(path[-1]) == name]
                fitting = [path for path in found if self._takes(path, value)]
                if fitting:
                    return min(fitting, key=len)
        return None

    def known_as(self, name: str, value: str) -> Path | None:
        """Where the schema has an argument of exactly this name that can be that value."""
        found = [path for path in self.known or {} if path[-1] == name]
        return min((path for path in found if self._takes(path, value)), key=len, default=None)

    def _takes(self, path: Path, value: str | int) -> bool:
        """Whether an argument can be that: `before` may be a date, and `from` a person."""
        is_numeric = type(value) is int or str(value).isdecimal()
        schema, now = (self.known or {}).get(path, {}), self.given.get(path)
        types = _types(schema) or _TYPES.get(type(now), set())
        is_date = str(schema.get("format")).startswith(("date", "time")) or (
            isinstance(now, str) and _DATE.match(now) is not None
        )
        if not types:
            return not is_date
        if is_numeric and types & {"integer", "number"}:
            return True
        is_vague = squeezed(path[-1]) in _VAGUE and type(value) is int
        return "string" in types and not is_date and not is_vague

    def place(self, name: str) -> Path | None:
        """Return the path for an argument that the schema does not name."""
        inside = [path for path in (self.known or self.given) if path[-1] in CONTAINERS]
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
        wants_number = bool(types & {"integer", "number"}) or type(self.given.get(path)) is int
        if isinstance(value, str) and wants_number and "string" not in types and is_number(value):
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


def members_of(value: Any) -> Mapping[str, Any]:
    """The members of an object; what is none has none."""
    return value if isinstance(value, dict) else {}


def _properties(schema: Any) -> Mapping[str, Any]:
    properties = members_of(members_of(schema).get("properties"))
    return {name: members_of(each) for name, each in properties.items()}


def _types(schema: Mapping[str, Any]) -> set[Any]:
    """The JSON types that a schema allows, `null` aside."""
    found: set[Any] = set()
    others = [each for name in ("anyOf", "oneOf") for each in _list(schema.get(name))]
    for each in (schema, *others):
        said = members_of(each).get("type")
        found.update(kind for kind in (said, *_list(said)) if isinstance(kind, str))
    return found - {"null"}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
