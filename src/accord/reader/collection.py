"""The list that a payload is about: itself, or the one array that is its main part."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from accord.reader.kept import kept
from accord.reader.reading import Confidence
from accord.reader.words import Called, Doing, singular, squeezed, words_of

_GENERIC: Final = frozenset(
    """items results data rows records entries list values hits documents nodes edges elements
    objects content contents matches""".split()
)
_BESIDE: Final = frozenset(
    """errors warnings _warnings facets included links columns headers fields schema
    suggestions aggregations notes messages_dropped hints sources citations""".split()
)
_CONTAINERS: Final = frozenset(
    """data result results response payload body output value content json""".split()
)
_IDENTITY: Final = frozenset(
    """id _id uuid sha key slug number name title login username email isbn""".split()
)
_PAGING: Final = frozenset(
    """hasmore hasnext hasnextpage next nextcursor nextpage nextpagetoken nexttoken nextoffset
    previous prev offset limit cursor page perpage pagesize startat maxresults showing returned
    truncated incompleteresults islast pagination paging pageinfo""".split()
)
_COUNTS: Final = frozenset(
    """total count totalcount totalresults totalitems totalhits numresults resultcount returnedcount
    numfound totalrows rowcount hits n""".split()
)
_NUMBERS: Final = frozenset({"total", "count", "num", "number", "found"})
_SCHEMAS: Final = frozenset({"inputSchema", "input_schema", "schema", "parameters"})
_NO_MATTER: Final = frozenset({"_meta", "cacheScope", "ttlMs", "resultType"})
_DEEPEST: Final = 5


class Member(NamedTuple):
    """What the name of a member says, beside a list or as that of one."""

    noun: str
    """Its last word in the singular: what it is."""
    is_generic: bool
    """A name that any list may have."""
    is_paging: bool
    is_count: bool
    """`total`, `count`."""
    number_of: frozenset[str]
    """What it is the number of: `totalUsers`, `user_count`."""
    is_identity: bool
    """It says which thing this is."""


@kept
def _member(name: str) -> Member:
    words, key = words_of(name), squeezed(name)
    nouns = tuple(map(singular, words))
    return Member(
        noun=nouns[-1] if nouns else "",
        is_generic=name.lower() in _GENERIC,
        is_paging=key in _PAGING,
        is_count=key in _COUNTS,
        number_of=frozenset() if _NUMBERS.isdisjoint(words) else frozenset(nouns),
        is_identity=name in _IDENTITY or name.endswith(("_id", "Id")),
    )


class Collection(NamedTuple):
    """The items, the members beside them, where they were, and how sure that is."""

    items: list[Any]
    rest: dict[str, Any]
    path: tuple[str, ...]
    confidence: Confidence


def collection_in(value: Any, called: Called, doing: Doing) -> Collection | None:
    """The collection that a value is, or is about."""
    if isinstance(value, list):
        return Collection(value, {}, (), "certain")
    if not isinstance(value, dict):
        return None
    return _in_object(value, called, doing, ())


def _in_object(
    value: Mapping[str, Any], called: Called, doing: Doing, path: tuple[str, ...]
) -> Collection | None:
    arrays = [name for name, each in value.items() if isinstance(each, list)]
    if not arrays:
        return _deeper(value, called, doing, path)
    main = _main(value, arrays, called.nouns)
    if main is None:
        return None
    rest = dict(value)
    del rest[main]
    confidence = _judged(main, value[main], rest, called, doing)
    return confidence and Collection(value[main], rest, (*path, main), confidence)


def _main(value: Mapping[str, Any], arrays: list[str], nouns: frozenset[str]) -> str | None:
    """Which array is the main part: the only one, or the one that is named for it."""
    if len(arrays) == 1:
        return arrays[0]
    main = [name for name in arrays if name.lower() not in _BESIDE] or arrays
    if len(main) == 1:
        return main[0]
    generic = [name for name in main if _member(name).is_generic]
    named = [name for name in main if _member(name).noun in nouns]
    for chosen in (generic, named):
        if len(chosen) == 1:
            return chosen[0]
    full = [name for name in main if value[name] and isinstance(value[name][0], dict)]
    if len(full) != 1:
        return None
    others = map(_member, value)
    return full[0] if any(each.is_paging or each.is_count for each in others) else None


def _judged(
    name: str, items: list[Any], rest: Mapping[str, Any], called: Called, doing: Doing
) -> Confidence | None:
    """How sure it is that an object is about this array, rather than a thing that has it."""
    if rest.keys() <= _NO_MATTER:
        return "certain"
    wants_many = doing == "list" or called.is_plural
    main = _member(name)
    is_named = main.is_generic or main.noun in called.nouns
    pages = is_counted = is_a_thing = False
    for beside, said in rest.items():
        member = _member(beside)
        pages = pages or member.is_paging
        if member.is_count or main.noun in member.number_of:
            if said == len(items):
                return "certain"
            is_counted = is_counted or type(said) is int
        if member.is_identity and isinstance(said, str | int):
            is_a_thing = True
    if is_a_thing and not wants_many and not pages:
        return None
    if pages or (is_counted and (is_named or wants_many)):
        return "certain"
    if is_named or is_counted or wants_many:
        return "likely"
    holds_objects = bool(items) and all(isinstance(item, dict) for item in items)
    few = sum(1 for each in rest.values() if each not in (None, "", [], {})) <= 3
    return "guess" if holds_objects and few and doing != "read" else None


def _deeper(
    value: Mapping[str, Any], called: Called, doing: Doing, path: tuple[str, ...]
) -> Collection | None:
    """Into the one member that holds the payload, if the others only go along with it."""
    if len(path) >= _DEEPEST:
        return None
    inner = [name for name, each in value.items() if isinstance(each, dict) and each]
    holders = [name for name in inner if name.lower() in _CONTAINERS]
    chosen = holders if len(holders) == 1 else inner if len(value) == 1 else []
    if len(chosen) != 1:
        return None
    name = chosen[0]
    found = _in_object(value[name], called, doing, (*path, name))
    if found is None:
        return None
    rest = {key: each for key, each in value.items() if key != name}
    return found._replace(rest={**rest, **found.rest})


def is_catalog(items: list[Any]) -> bool:
    """Whether a list is one of tools."""
    return bool(items) and all(map(_is_tool, items))


def _is_tool(item: Any) -> bool:
    if not isinstance(item, dict) or _SCHEMAS.isdisjoint(item):
        return False
    has_schema = any(isinstance(item.get(key), dict) for key in _SCHEMAS)
    return has_schema and isinstance(item.get("name"), str)
