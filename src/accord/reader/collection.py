"""The list that a payload is about: itself, or the one array that is its main part."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from accord.reader.kept import kept
from accord.reader.reading import Confidence
from accord.reader.words import Called, singular, squeezed, words_of

_GENERIC: Final = frozenset(
    """items results result value body data rows records entries list values hits documents nodes
    edges elements
    objects content contents matches resultados risultati résultats resultats ergebnisse""".split()
)
_BESIDE: Final = frozenset(
    """facets included links columns headers fields schema aggregations messages_dropped sources
    citations""".split()
)
_REMARKS: Final = frozenset("error warning suggestion note hint tip notice caveat".split())
"""What is said beside an answer, whatever comes before it in the name: `parseWarnings`."""
_STREAMS: Final = frozenset({"output", "stdout", "stderr", "lines", "finalOutput"})
"""Arrays of what was written, a line each: one text."""
_CONTAINERS: Final = frozenset(
    """data result results response payload body output value content json hits _embedded""".split()
)
_IDENTITY: Final = frozenset(
    """id _id uuid sha key slug number name title login username email isbn""".split()
)
_TITLES: Final = frozenset({"name", "title"})
_PAGING: Final = frozenset(
    """hasmore hasnext hasnextpage next nextcursor nextpage nextpagetoken nexttoken nextoffset
    previous prev offset limit cursor page perpage pagesize startat maxresults showing returned
    truncated incompleteresults islast pagination paging pageinfo""".split()
)
_COUNTS: Final = frozenset(
    """total count totalcount totalresults totalitems totalhits numresults resultcount returnedcount
    numfound totalrows rowcount hits n""".split()
)
_MEASURES: Final = frozenset(
    """bound bbox coordinate center centre centroid position size range extent origin vector color
    dimension shape embedding""".split()
)
"""Of which several numbers are one."""
_NOT_NUMBERED: Final = frozenset("page row line total".split())
_SUMS: Final = frozenset({"summary", "Summary", "meta", "metadata"})
_NUMBERS: Final = frozenset({"total", "count", "num", "number", "found"})
_SCHEMAS: Final = frozenset({"inputSchema", "input_schema", "schema", "parameters"})
_NO_MATTER: Final = frozenset({"_meta", "cacheScope", "ttlMs", "resultType"})
_NOTHING: Final = re.compile(
    r"\((?:empty\b[^()]{0,60}|none"
    r"|no (?:[a-z]+ ){0,2}(?:files?|items?|results?|entries|rows|matches))\)",
    re.I,
)
"""What stands for the items where there are none: `(empty directory)`."""
_NUMBERED: Final = re.compile(r"(?P<stem>[A-Za-z]{2,30})[_ -]?(?P<n>\d{1,6})")
_DEEPEST: Final = 5
_NAMING: Final = frozenset({str, int, bool})
_FEW: Final = 3
_MANY: Final = 8
"""Members that only a thing has beside an array."""
_SHORT: Final = 40
_BY_CHANCE: Final = 9


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
    is_beside: bool
    """What it holds goes along with an answer, and is none itself."""


def _is_number(words: tuple[str, ...]) -> bool:
    """Whether a name is that of the number that a thing goes by: `trial_number`."""
    return len(words) == 2 and words[1] == "number" and words[0] not in _NOT_NUMBERED


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
        is_identity=name in _IDENTITY or name.endswith(("_id", "Id")) or _is_number(words),
        is_beside=name.lower() in _BESIDE or (bool(nouns) and nouns[-1] in _REMARKS),
    )


class Collection(NamedTuple):
    """The items, the members beside them, where they were, and how sure that is."""

    items: list[Any]
    rest: dict[str, Any]
    path: tuple[str, ...]
    confidence: Confidence


def collection_in(value: Any, called: Called, arguments: Mapping[str, Any]) -> Collection | None:
    """The collection that a value is, or is about."""
    if isinstance(value, list):
        return Collection(value, {}, (), "certain")
    if not isinstance(value, dict):
        return None
    return _in_object(value, called, arguments, ())


def _in_object(
    value: Mapping[str, Any], called: Called, arguments: Mapping[str, Any], path: tuple[str, ...]
) -> Collection | None:
    arrays = [name for name, each in value.items() if isinstance(each, list)]
    main = [name for name in arrays if not _member(name).is_beside]
    if not main:
        found = _numbered(value, path) if called.wants_many and not called.is_one else None
        found = found or _deeper(value, called, arguments, path)
        if found is not None or not arrays:
            return found
        main = [name for name in arrays if _member(name).noun in called.nouns]
        main = main or (arrays if len(value) == 1 else [])
    name = _main(value, main, called)
    if name is None:
        return None
    rest = dict(value)
    del rest[name]
    confidence = _judged(name, value[name], rest, called, arguments)
    if confidence is None:
        return None
    return _inmost(Collection(value[name], rest, (*path, name), confidence), called)


def _numbered(value: Mapping[str, Any], path: tuple[str, ...]) -> Collection | None:
    """Objects that have a number each behind the same name: `ITEM_1`, `ITEM_2`."""
    found = [(name, _NUMBERED.fullmatch(name)) for name in value if name[-1:].isdigit()]
    stems = {match["stem"] for _, match in found if match}
    if len(stems) != 1:
        return None
    names = [name for name, match in found if match]
    numbers = [int(match["n"]) for _, match in found if match]
    items = [value[name] for name in names]
    numbered = frozenset(names)
    is_series = numbers[0] in (0, 1) and all(b - a == 1 for a, b in pairwise(numbers))
    if not is_series or not all(isinstance(item, dict) for item in items):
        return None
    rest = {name: each for name, each in value.items() if name not in numbered}
    if any(isinstance(each, dict | list) and each for each in rest.values()):
        return None
    return Collection(items, rest, (*path, stems.pop()), "likely")


def _inmost(found: Collection, called: Called) -> Collection:
    """The rows, where the only item is what came of the only statement, or is a list itself."""
    if len(found.items) != 1:
        return found
    (only,) = found.items
    if isinstance(only, str) and _NOTHING.fullmatch(only):
        return found._replace(items=[], rest={**found.rest, found.path[-1]: found.items})
    if isinstance(only, list) and only and all(isinstance(each, dict) for each in only):
        return found._replace(items=only, confidence="guess")
    if called.is_statement and isinstance(only, dict) and isinstance(only.get("rows"), list):
        rest = {**found.rest, **{name: each for name, each in only.items() if name != "rows"}}
        return found._replace(items=only["rows"], rest=rest, path=(*found.path, "rows"))
    return found


def _main(value: Mapping[str, Any], main: list[str], called: Called) -> str | None:
    """Which array is the main part: the only one, or the one that is named for it."""
    if len(main) == 1:
        return main[0]
    generic = [name for name in main if _member(name).is_generic]
    named = [name for name in main if _member(name).noun in called.nouns]
    exact = [name for name in named if name.lower() in called.words]
    for chosen in (generic, named, exact):
        if len(chosen) == 1:
            return chosen[0]
    filled = [name for name in main if value[name]]
    is_listed = called.wants_many and not (called.checks or called.is_one)
    beside = (_member(name) for name, each in value.items() if not isinstance(each, list))
    is_listed = is_listed and all(map(_is_of_list, beside))
    if main and called.wants_many and (called.doing != "unknown" or is_listed) and len(filled) < 2:
        return (filled or named or main)[0]
    full = [name for name in filled if isinstance(value[name][0], dict)]
    if len(full) == 1 and called.doing == "list":
        return full[0]
    if len(full) == 1:
        others = map(_member, value)
        return full[0] if any(each.is_paging or each.is_count for each in others) else None
    return full[0] if full and is_listed else None


def _judged(
    name: str,
    items: list[Any],
    rest: Mapping[str, Any],
    called: Called,
    arguments: Mapping[str, Any],
) -> Confidence | None:
    """How sure it is that an object is about this array, rather than a thing that has it."""
    is_listed = called.doing == "list" or (items and type(items[0]) is dict)
    if not is_listed and _is_one_value(name, items):
        return None
    if rest.keys() <= _NO_MATTER or (called.wants_many and _tells_page(rest)):
        return "certain"
    main = _member(name)
    is_named = main.is_generic or (main.noun in called.nouns and not _is_checked(items, called))
    pages = is_counted = is_a_thing = False
    is_part = _is_part(rest, called)
    for beside, said in rest.items() if _SUMS.isdisjoint(rest) else _told(rest):
        _, _, is_paging, is_count, number_of, is_identity, _ = _member(beside)
        pages = pages or is_paging
        if is_count or main.noun in number_of:
            if said == len(items) and not is_part:
                return "certain"
            is_counted = is_counted or type(said) is int
        elif number_of and said == len(items) > 1 and not called.is_one:
            is_counted = True
        if is_identity and type(said) in _NAMING:
            is_a_thing = True
    is_a_thing = is_a_thing or is_part or len(rest) > _MANY
    if is_a_thing and not called.wants_many and (not pages or is_part):
        return None
    if pages or (is_counted and (is_named or called.wants_many)):
        return "certain"
    if is_named or called.wants_many:
        return "likely"
    holds_objects = bool(items) and all(isinstance(item, dict) for item in items)
    others = (each for beside, each in rest.items() if beside not in _SUMS)
    if is_counted and not any(isinstance(each, dict | list) for each in others):
        return "likely"
    return "guess" if holds_objects and _is_little(rest, called, arguments) else None


def _is_checked(items: list[Any], called: Called) -> bool:
    """Whether an array is figures that were checked."""
    return called.checks and bool(items) and isinstance(items[0], int | float)


def _is_part(rest: Mapping[str, Any], called: Called) -> bool:
    """Whether what stands beside an array makes it a part of one thing that was asked for."""
    if called.is_one and (_has_parts(rest) or _has_facts(rest)):
        return True
    return called.doing == "read" and not called.wants_many and _is_much(rest)


def _is_one_value(name: str, items: list[Any]) -> bool:
    """Whether an array is one thing by its name: lines of a text, numbers of a measure."""
    if name in _STREAMS:
        return bool(items) and all(isinstance(item, str) for item in items)
    is_measure = _member(name).noun in _MEASURES and bool(items)
    return is_measure and all(isinstance(item, int | float) for item in items)


def _is_much(rest: Mapping[str, Any]) -> bool:
    """Whether so much is told beside an array that it is but a part of what is told."""
    told = [name for name, each in rest.items() if type(each) in _NAMING]
    facts = [name for name in told if not _is_of_list(_member(name))]
    has_text = any(isinstance(rest[name], str) and "\n" in rest[name] for name in facts)
    return len(facts) > _FEW or has_text


def _is_of_list(member: Member) -> bool:
    return member.is_paging or member.is_count or bool(member.number_of)


def _tells_page(rest: Mapping[str, Any]) -> bool:
    for name in rest:  # noqa: SIM110 - a generator would cost more than it looks at
        if _member(name).is_paging:
            return True
    return False


def _told(rest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What stands beside an array, also in an object that sums it up."""
    for name, each in rest.items():
        if isinstance(each, dict) and name in _SUMS:
            yield from each.items()
        else:
            yield name, each


def _has_facts(rest: Mapping[str, Any]) -> bool:
    """Whether several things are told beside an array that say nothing about it."""
    members = (_member(name) for name, each in rest.items() if type(each) in _NAMING)
    told = [each for each in members if not _is_of_list(each)]
    return len(told) > _FEW or any(name in _TITLES and rest[name] for name in rest)


def _has_parts(rest: Mapping[str, Any]) -> bool:
    """Whether there is an object beside an array, so that both are parts of one thing."""
    return any(isinstance(each, dict) and each for each in rest.values())


def _is_little(rest: Mapping[str, Any], called: Called, arguments: Mapping[str, Any]) -> bool:
    """Whether what stands beside an array is not much more than an echo of what was asked for."""
    told = [each for each in rest.values() if each not in (None, "", [], {})]
    if called.checks:
        return False
    if called.doing not in ("read", "make"):
        return len(told) <= _FEW
    if called.is_one:
        return False
    asked = [each for each in arguments.values() if _is_telling(each)]
    new = [each for each in told if each not in asked]
    return len(new) < len(told) and len(new) <= 1 and all(map(_is_short, new))


def _is_telling(value: Any) -> bool:
    """Whether a value that comes again is an echo, rather than the same by chance."""
    if isinstance(value, str):
        return len(value) > 1 or value.isupper()
    return type(value) is float or (type(value) is int and abs(value) > _BY_CHANCE)


def _is_short(value: Any) -> bool:
    """Whether a value is but a few words; a number is measured."""
    return isinstance(value, str | bool) and len(str(value)) <= _SHORT


def _deeper(
    value: Mapping[str, Any], called: Called, arguments: Mapping[str, Any], path: tuple[str, ...]
) -> Collection | None:
    """Into the one member that holds the payload, if the others only go along with it."""
    if len(path) >= _DEEPEST:
        return None
    inner = [name for name, each in value.items() if isinstance(each, dict) and each]
    holders = [name for name in inner if name.lower() in _CONTAINERS]
    is_only = len(value) == 1 or (called.wants_many and len(inner) == 1)
    chosen = holders if len(holders) == 1 else inner if is_only else []
    if len(chosen) != 1:
        return None
    name = chosen[0]
    found = _in_object(value[name], called, arguments, (*path, name))
    is_doubtful = not holders and (len(value) > 1 or called.is_one)
    if found is None or (is_doubtful and not _is_named(found, called)):
        return None
    rest = {key: each for key, each in value.items() if key != name}
    return found._replace(rest={**rest, **found.rest})


def _is_named(found: Collection, called: Called) -> bool:
    member = _member(found.path[-1])
    return member.is_generic or member.noun in called.nouns


def is_generic(found: Collection) -> bool:
    """Whether a collection goes by a name that any may have, at the top: `results`."""
    return len(found.path) == 1 and _member(found.path[0]).is_generic


def is_catalog(items: list[Any]) -> bool:
    """Whether a list is one of tools."""
    return bool(items) and _is_tool(items[0]) and all(map(_is_tool, items))


def _is_tool(item: Any) -> bool:
    if not isinstance(item, dict) or _SCHEMAS.isdisjoint(item):
        return False
    has_schema = any(isinstance(item.get(key), dict) for key in _SCHEMAS)
    return has_schema and isinstance(item.get("name"), str)


def is_described(items: list[Any]) -> bool:
    """Whether everything in a list has a name and says what it is for, as tools do."""
    return bool(items) and all(
        isinstance(item, dict)
        and isinstance(item.get("name"), str)
        and isinstance(item.get("description"), str)
        for item in items
    )


def is_one(value: Mapping[str, Any]) -> bool:
    """Whether an object is a thing with a name of its own, rather than words about a list."""
    members = [(_member(name), each) for name, each in value.items()]
    if any(member.is_paging or member.is_count for member, _ in members):
        return False
    return any(member.is_identity and isinstance(each, str | int) for member, each in members)


def named_things(value: Mapping[str, Any]) -> list[Any] | None:
    """The objects of an object that has nothing but those, alike, each by its name."""
    things = [each for each in value.values() if isinstance(each, dict)]
    if len(things) < 2 or len(things) < len(value) or not set(things[0]).intersection(*things[1:]):
        return None
    return [_keyed(name, each) for name, each in value.items()]


def mapped(value: Mapping[str, Any], depth: int = 0) -> Collection | None:
    """What an object holds by name, itself or in its one member that is an object."""
    things = entries(value) if len(value) > 1 else None
    if things is not None:
        return Collection(things, {}, ("",), "guess")
    inner = [name for name, each in value.items() if isinstance(each, dict | list) and each]
    if len(inner) != 1 or not isinstance(value[inner[0]], dict) or inner[0] in _SUMS:
        return None
    if inner[0].lower() in _CONTAINERS:
        deeper = mapped(value[inner[0]], depth + 1) if depth < _DEEPEST else None
        return deeper and deeper._replace(path=(inner[0], *deeper.path))
    things = entries(value[inner[0]], is_held=True)
    rest = {name: each for name, each in value.items() if name != inner[0]}
    if any(isinstance(each, str) and not _goes_along(name) for name, each in rest.items()):
        return None
    return None if things is None else Collection(things, rest, (inner[0],), "guess")


def _goes_along(name: str) -> bool:
    """Whether a member says how it went, or by which number, rather than what of."""
    return name in _SAID or name.endswith(("_id", "Id")) or _member(name).is_paging


def entries(value: Mapping[str, Any], *, is_held: bool = False) -> list[Any] | None:
    """The members of an object that are all of one kind and have names of their own.

    `is_held`: the object is the only one in another; else its members may well be its own.
    """
    if not value or not _SAID.isdisjoint(value) or not _FIELDS.isdisjoint(value):
        return None
    members = map(_member, value)
    if any(each.is_identity or each.is_beside for each in members):
        return None
    each_of = value.values()
    if all(isinstance(each, dict) for each in each_of):
        return [_keyed(name, each) for name, each in value.items()]
    if all(isinstance(each, str) and "\n" not in each for each in each_of) or (
        is_held and all(isinstance(each, list) and not _holds_objects(each) for each in each_of)
    ):
        return [{"key": name, "value": each} for name, each in value.items()]
    return None


def _holds_objects(items: list[Any]) -> bool:
    return any(isinstance(item, dict) for item in items)


def _keyed(name: str, thing: dict[str, Any]) -> dict[str, Any]:
    """A thing with the name that it goes by."""
    return {"_key" if "key" in thing else "key": name, **thing}


_SAID: Final = frozenset("message status text error warning note description data result".split())
_FIELDS: Final = frozenset(
    """stdout stderr path directory folder file files html markdown tree summary owner color url
    version type size""".split()
)
"""What one thing has, rather than the names of several."""


def nothing_in(value: Mapping[str, Any], nouns: frozenset[str]) -> bool:
    """Whether an object without any array says that the number of things in it is none."""
    if any(isinstance(each, list) for each in value.values()):
        return False
    if len(value) > _MANY and is_one(value):
        return False
    return any(
        type(each) is int and each == 0 and (member.is_count or _is_number_of(member, nouns))
        for member, each in ((_member(name), each) for name, each in value.items())
    )


def _is_number_of(member: Member, nouns: frozenset[str]) -> bool:
    """Whether a member counts what was asked for, or a kind of things by one word."""
    counted = member.number_of - _NUMBERS
    return len(counted) == 1 or not counted.isdisjoint(nouns)
