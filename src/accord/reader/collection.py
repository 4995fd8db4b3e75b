"""The list that a payload is about: itself, or the one array that is its main part."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from accord.reader.reading import Confidence
from accord.reader.words import Called, Doing, nouns_of, squeezed, words_of

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
_NO_MATTER: Final = frozenset({"_meta", "cacheScope", "ttlMs", "resultType"})
_DEEPEST: Final = 5


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
    rest = {name: each for name, each in value.items() if name != main}
    confidence = _judged(main, value[main], rest, called, doing)
    return confidence and Collection(value[main], rest, (*path, main), confidence)


def _main(value: Mapping[str, Any], arrays: list[str], nouns: frozenset[str]) -> str | None:
    """Which array is the main part: the only one, or the one that is named for it."""
    main = [name for name in arrays if name.lower() not in _BESIDE] or arrays
    if len(main) == 1:
        return main[0]
    generic = [name for name in main if name.lower() in _GENERIC]
    named = [name for name in main if nouns_of(name).last in nouns]
    for chosen in (generic, named):
        if len(chosen) == 1:
            return chosen[0]
    full = [name for name in main if value[name] and isinstance(value[name][0], dict)]
    has_paging = any(squeezed(name) in _PAGING or squeezed(name) in _COUNTS for name in value)
    return full[0] if len(full) == 1 and has_paging else None


def _judged(
    name: str, items: list[Any], rest: Mapping[str, Any], called: Called, doing: Doing
) -> Confidence | None:
    """How sure it is that an object is about this array, rather than a thing that has it."""
    if rest.keys() <= _NO_MATTER:
        return "certain"
    pages = any(squeezed(each) in _PAGING for each in rest)
    noun = nouns_of(name).last
    counts = [each for each in rest if _is_count(each, noun)]
    wants_many = doing == "list" or called.is_plural
    is_a_thing = not wants_many and any(
        _is_identity(each) and isinstance(rest[each], str | int) for each in rest
    )
    is_named = name.lower() in _GENERIC or noun in called.nouns
    is_counted = any(type(rest[each]) is int for each in counts)
    if any(rest[each] == len(items) for each in counts):
        return "certain"
    if is_a_thing and not pages:
        return None
    if pages or (is_counted and (is_named or wants_many)):
        return "certain"
    if is_named or is_counted or wants_many:
        return "likely"
    holds_objects = bool(items) and all(isinstance(item, dict) for item in items)
    few = sum(1 for each in rest.values() if each not in (None, "", [], {})) <= 3
    return "guess" if holds_objects and few and doing != "read" else None


def _is_identity(name: str) -> bool:
    return name in _IDENTITY or name.endswith(("_id", "Id"))


def _is_count(member: str, of: str) -> bool:
    """`total`, `count`, or the number of just these: `totalUsers`, `user_count`."""
    if squeezed(member) in _COUNTS:
        return True
    return not _NUMBERS.isdisjoint(words_of(member)) and of in nouns_of(member).all


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
    return bool(items) and all(
        isinstance(item, dict)
        and isinstance(item.get("name"), str)
        and any(
            isinstance(item.get(key), dict)
            for key in ("inputSchema", "input_schema", "schema", "parameters")
        )
        for item in items
    )
