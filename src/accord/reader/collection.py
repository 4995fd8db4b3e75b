"""The collection in a payload: the payload itself, its main array, or its objects by name.

An array in an object is judged by points: members of a list, such as pages or a count, add points,
and members of a single thing, such as an identity or a text, subtract them.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from accord.reader.call import Call
from accord.reader.lexicon import MEMBERS, is_of_list, member_of, squeezed, words_of
from accord.reader.reading import Confidence

_NOTHING: Final = re.compile(r"\((?:empty\b[^()]{0,60}|none|no (?:[a-z]+ ){0,2}[a-z]+s)\)", re.I)
"""The only item of an empty list: `(empty directory)`."""
_NAMING: Final = frozenset({str, int, bool})
_DEEPEST: Final = 5
"""Levels of nested objects that are searched for an array."""
_MANY: Final = 8
"""Members from which on an object is a thing rather than a report about a list."""
_SHORT: Final = 40
"""Characters of a value that adds little to the items."""
_FEWEST: Final = 3
"""Members beside an array that may be about it; members that are items by their values."""


class Collection(NamedTuple):
    """Items, the members beside them, their path, and the confidence in them."""

    items: list[Any]
    rest: dict[str, Any]
    path: tuple[str, ...]
    confidence: Confidence


def collection_in(value: Any, call: Call, arguments: Mapping[str, Any]) -> Collection | None:
    """Return the collection that a value is, or is about."""
    if isinstance(value, dict):
        return _in_object(value, call, arguments, ())
    if not isinstance(value, list):
        return None
    return _inmost(Collection(value, {}, (), "certain"), call)


def is_generic(found: Collection) -> bool:
    """True if a collection at the top has a generic name: `results`."""
    return len(found.path) == 1 and member_of(found.path[0]).is_generic


def row_objects(columns: Any, rows: list[Any]) -> list[Any] | None:
    """Return rows that are lists as objects by the names of their columns; None if they do not fit.

    A column is a name, or an object that has one.
    """
    if not isinstance(columns, list) or not columns or not rows:
        return None
    names = [each.get("name") if isinstance(each, dict) else each for each in columns]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    return [dict(zip(names, row, strict=True)) for row in rows]


def _without(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key != name}


# The main array of an object


def _in_object(
    value: Mapping[str, Any], call: Call, arguments: Mapping[str, Any], path: tuple[str, ...]
) -> Collection | None:
    arrays = [name for name, each in value.items() if isinstance(each, list)]
    main = [name for name in arrays if not member_of(name).is_beside]
    if not main:
        found = _deeper(value, call, arguments, path)
        main = [name for name in arrays if member_of(name).noun in call.nouns]
        if found is not None or not main:
            return found
    if len(main) > 1 and call.wants_many and (found := _in_folder(value, main, path)):
        return found
    name = main[0] if len(main) == 1 else _main(value, main, call)
    if name is None:
        return None
    rest = dict(value)
    items = rest.pop(name)
    if items and type(items[0]) is list:
        items, rest = _as_objects(items, rest)
    confidence = _judged(_Array(name, items, rest, call, arguments))
    if confidence is None:
        return None
    return _inmost(Collection(items, rest, (*path, name), confidence), call)


def _deeper(
    value: Mapping[str, Any], call: Call, arguments: Mapping[str, Any], path: tuple[str, ...]
) -> Collection | None:
    """Return the collection in the one member that holds the payload."""
    inner = [name for name, each in value.items() if isinstance(each, dict) and each]
    holders = [name for name in inner if name.lower() in MEMBERS.containers]
    chosen = holders or (inner if len(value) == 1 or call.wants_many else [])
    if len(chosen) != 1 or len(path) >= _DEEPEST:
        return None  # several may hold it
    (name,) = chosen
    if name == "content" and not MEMBERS.places.isdisjoint(map(squeezed, value)):
        return None  # the content of a file
    found = _in_object(value[name], call, arguments, (*path, name))
    if found is None:
        return None
    is_doubtful = not holders and (len(value) > 1 or call.is_about_one)
    if is_doubtful and not _is_named(found.path[-1], call):
        return None
    rest = _without(value, name)
    if not rest.keys().isdisjoint(found.rest):
        rest = {"beside": rest}  # a member has that name
    return found._replace(rest={**rest, **found.rest})


def _is_named(name: str, call: Call) -> bool:
    """True if an array has a generic name, or a noun of the tool's name."""
    member = member_of(name)
    return member.is_generic or member.noun in call.nouns


def _as_objects(rows: list[Any], rest: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the rows of a table as objects; columns with more than names stay beside them."""
    for name, columns in rest.items():
        objects = row_objects(columns, rows) if squeezed(name) in MEMBERS.columns else None
        if objects is not None:
            is_plain = all(isinstance(each, str) for each in columns)
            return objects, _without(rest, name) if is_plain else rest
    return rows, rest


def _in_folder(
    value: Mapping[str, Any], names: list[str], path: tuple[str, ...]
) -> Collection | None:
    """Return the folders and files in a folder; the folders stay beside them too."""
    nouns = [member_of(name).noun for name in names]
    if "file" not in nouns or MEMBERS.folders.isdisjoint(nouns):
        return None
    items = [each for name in names for each in value[name]]
    files = names[nouns.index("file")]
    return Collection(items, _without(value, files), (*path, files), "likely")


def _inmost(found: Collection, call: Call) -> Collection:
    """Return the rows of a statement in the only item, or below the names of columns."""
    if not found.items:
        return found
    first, others = found.items[0], found.items[1:2]
    if not others and isinstance(first, str) and _NOTHING.fullmatch(first):
        return found._replace(items=[], rest={**found.rest, (found.path or ("",))[-1]: found.items})
    if not (call.is_query or "query" in call.words):
        return found
    if not others and isinstance(first, list) and first and found.path[-1:] not in ((), ("rows",)):
        return found._replace(items=first)  # the result of the only query
    if not others and isinstance(first, dict):
        name = next((each for each in ("results", "rows") if isinstance(first.get(each), list)), "")
        rest = {**found.rest, **_without(first, name)}
        return Collection(first[name], rest, (*found.path, name), "certain") if name else found
    rows = row_objects(first, found.items[1:])
    if rows is None or all(isinstance(each, str) for row in rows for each in row.values()):
        return found
    return found._replace(items=rows, confidence="likely")


def _main(value: Mapping[str, Any], names: list[str], call: Call) -> str | None:
    """Return the name of the main array, by its name, else by the other arrays."""
    ranks = {}
    counts = [each for name, each in value.items() if member_of(name).is_count]
    for name in names:
        noun = member_of(name).noun in call.nouns
        is_counted = len(value[name]) in counts
        ranks[name] = (member_of(name).is_generic, noun, name.lower() in call.words, is_counted)
    best = max(ranks.values())
    leaders = [name for name in names if ranks[name] == best]
    if len(leaders) == 1 and any(best):
        return leaders[0]
    filled = [name for name in names if value[name]]
    is_graph = value.keys() <= MEMBERS.graph
    if call.wants_many and (len(filled) < 2 or is_graph):
        return (filled or leaders)[0]
    tables = [name for name in filled if isinstance(value[name][0], dict)]
    others = map(member_of, value)
    is_listed = call.intent == "list" or any(each.is_paging or each.is_count for each in others)
    return tables[0] if len(tables) == 1 and is_listed else None


# How sure it is

_CERTAIN: Final = 5
_LIKELY: Final = 2
"""Points from which on an object is about an array; without any points it may be a guess."""
_EXPECTED: Final = 3  # the tool wants several things, or the array has its noun or a general name
_COUNTED: Final = 2  # a number of items: with one that is expected, certain
_EXACTLY: Final = 6  # the number of these items: certain alone
_PAGED: Final = 6
_OTHERS: Final = -1  # further containers: a count may be of those
_ONE: Final = -1  # the tool describes one thing
_IDENTITY: Final = -5  # more than a name and a count are for it
_THING: Final = -5
_PART: Final = -12  # more than anything for it


class _Array(NamedTuple):
    """An array in an object: its name, its items, the other members, and the call."""

    name: str
    items: list[Any]
    rest: Mapping[str, Any]
    call: Call
    arguments: Mapping[str, Any]

    @property
    def has_objects(self) -> bool:
        return bool(self.items) and type(self.items[0]) is dict

    @property
    def beside(self) -> Mapping[str, Any]:
        """The other members, and those of a summary among them."""
        if MEMBERS.sums.isdisjoint(self.rest):
            return self.rest
        found: dict[str, Any] = {}
        for name, each in self.rest.items():
            is_sum = name in MEMBERS.sums and isinstance(each, dict)
            found |= each if is_sum else {name: each}
        return found


def _judged(array: _Array) -> Confidence | None:
    """Return the confidence that an object is about an array; None if it is a thing with one."""
    name, call = array.name, array.call
    if _is_one_value(array) or _is_of_one(array):
        return None
    if array.rest.keys() <= MEMBERS.no_matter:
        return "certain"
    is_named = _is_named(name, call)
    weights = {
        **_weights_beside(array),
        "expected": _EXPECTED * (call.wants_many or is_named),
        "thing": _THING * (not is_named and _is_thing(array)),
        "part": _PART * _is_part(array),
        "one": _ONE * call.is_about_one,
    }
    if all(kind == "others" for kind, weight in weights.items() if weight):
        return "guess" if _is_little(array) else None
    points = sum(weights.values())
    return "certain" if points >= _CERTAIN else "likely" if points >= _LIKELY else None


def _weights_beside(array: _Array) -> dict[str, int]:
    """Return the points of each kind of member beside an array."""
    weights: dict[str, int] = {}
    noun, wants_many = member_of(array.name).noun, array.call.wants_many
    for name, value in array.beside.items():
        member = member_of(name)
        if member.is_paging:
            weights["pages"] = _PAGED
        if member.is_count or noun in member.number_of:
            exactly = value == len(array.items) or weights.get("count") == _EXACTLY
            weights["count"] = _EXACTLY if exactly else _COUNTED * (type(value) is int)
        elif member.is_identity and type(value) in _NAMING and not wants_many:
            weights["identity"] = _IDENTITY
        elif isinstance(value, dict | list) and not wants_many:
            weights["others"] = _OTHERS
    return weights


def _is_thing(array: _Array) -> bool:
    """True if the other members are those of a thing: a requested one, or many."""
    call, members = array.call, [(member_of(name), each) for name, each in array.rest.items()]
    if call.wants_many:
        is_asked = any(type(each) is str and member.noun in call.nouns for member, each in members)
        return is_asked and not array.has_objects
    return sum(not is_of_list(member) for member, _ in members) > _FEWEST


def _is_of_one(array: _Array) -> bool:
    """True if an array is only a part: of a verdict, of a setting, of an argument."""
    name, items, rest, call, arguments = array
    if not MEMBERS.judgements.isdisjoint(map(squeezed, rest)):
        return True
    if name in MEMBERS.steps and call.intent not in ("list", "read"):
        return bool(rest)
    if call.wants_many:
        return False
    if not MEMBERS.settings.isdisjoint(call.nouns) and not _is_named(name, call):
        return True
    if array.has_objects or not rest:
        return False
    texts = [each for each in arguments.values() if isinstance(each, str) and "," in each]
    return items in [[part.strip() for part in each.split(",")] for each in texts]


def _is_one_value(array: _Array) -> bool:
    """True if an array is one value: lines of a text, numbers of a measure, a pair."""
    name, items, _, call, _ = array
    if array.has_objects:
        return False
    kinds = set(map(type, items))
    if kinds == {str}:
        return name in MEMBERS.streams
    if len(kinds) == len(items) == 2 and not call.wants_many:
        return kinds == {float, str}
    is_measure = call.checks or (member_of(name).noun in MEMBERS.measures and call.intent != "list")
    return is_measure and bool(kinds) and kinds <= {int, float}


def _is_part(array: _Array) -> bool:
    """True if the other members make an array a part of one requested thing."""
    _, items, rest, call, _ = array
    if call.wants_many or not (call.is_about_one or call.checks or call.intent == "read"):
        return False
    if any(isinstance(each, str) and "\n" in each for each in rest.values()):
        return True
    if not call.is_about_one:
        return isinstance(rest.get("title"), str)
    return len({tuple(item) for item in items if isinstance(item, dict)}) > 1  # of many kinds


def _is_little(array: _Array) -> bool:
    """True if the other members are little more than echoes of arguments."""
    call, arguments = array.call, array.arguments
    filled = [each for each in array.rest.values() if each not in (None, "", [], {})]
    new = [each for each in filled if each not in arguments.values()]
    if call.checks:
        return False
    if not array.has_objects:
        return call.intent == "unknown" and not new
    if call.intent not in ("read", "make"):
        return len(filled) <= _FEWEST
    is_short = all(isinstance(each, str | bool) and len(str(each)) <= _SHORT for each in new)
    return len(new) < 2 and len(new) < len(filled) and is_short


# Objects that hold several things by name


def is_one(value: Mapping[str, Any]) -> bool:
    """True if an object is a thing with an identity, rather than a report about a list."""
    members = [(member_of(name), each) for name, each in value.items()]
    if any(member.is_paging or member.is_count for member, _ in members):
        return False
    return any(member.is_identity and isinstance(each, str | int) for member, each in members)


def named_things(value: Mapping[str, Any]) -> Collection | None:
    """Return the members of an object that has only similar objects, each with its name.

    Other values are allowed beside numbered objects: `ITEM_1`, `ITEM_2`.
    """
    things = {name: each for name, each in value.items() if isinstance(each, dict)}
    rest = {name: each for name, each in value.items() if name not in things}
    is_numbered = len({name.rstrip("0123456789") for name in things}) == 1
    if len(things) < 2 or (rest and not is_numbered) or list in map(type, rest.values()):
        return None
    first, *others = things.values()
    if not set(first).intersection(*others):
        return None
    items = [each if is_numbered else keyed(name, each) for name, each in things.items()]
    return Collection(items, rest, (), "guess")


def mapped(value: Mapping[str, Any], called: tuple[str, ...]) -> Collection | None:
    """Return the things by name in an object, or in its one plural member."""
    things = entries(value) if len(value) > 1 else None
    if things is not None:
        return Collection(things, {}, (), "guess")
    inner = [name for name, each in value.items() if isinstance(each, dict | list) and each]
    if len(inner) != 1 or not isinstance(value[inner[0]], dict):
        return None
    (name,) = inner
    rest = _without(value, name)
    if any(
        isinstance(each, str) and beside not in MEMBERS.of_answer for beside, each in rest.items()
    ):
        return None
    is_named = bool(words_of(name)) and set(words_of(name)).issubset(called)
    things = entries(value[name], is_held=True) if is_named else None
    return None if things is None else Collection(things, rest, (name,), "guess")


def entries(value: Mapping[str, Any], *, is_held: bool = False) -> list[Any] | None:
    """Return the members of an object as items, if all have one type; else None.

    `is_held`: the object has a plural name; otherwise the members must be sentences or objects.
    """
    members = list(map(member_of, value))
    if not members or any(each.is_identity or each.is_beside for each in members):
        return None
    if not (MEMBERS.of_answer | MEMBERS.of_one).isdisjoint(value):
        return None
    kinds = set(map(type, value.values()))
    if kinds == {dict}:
        return [keyed(name, each) for name, each in value.items()]
    are_lines = kinds == {str} and all("\n" not in each for each in value.values())
    if not is_held:
        may_be_items = len(value) >= _FEWEST and are_lines
        are_alike = may_be_items and all(" " in each for each in value.values())
    else:
        are_lists = kinds == {list} and all(dict not in map(type, e) for e in value.values())
        are_alike = are_lines or are_lists or kinds == {int}
    return [{"key": name, "value": each} for name, each in value.items()] if are_alike else None


def keyed(name: str, thing: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its name as `key`."""
    return {"_key" if "key" in thing else "key": name, **thing}


def nothing_in(value: Mapping[str, Any], nouns: frozenset[str]) -> bool:
    """True if an object without arrays states a count of zero."""
    if any(isinstance(each, list) for each in value.values()):
        return False
    if len(value) > _MANY and is_one(value):
        return False
    for name, each in value.items():
        member = member_of(name)
        counted = member.number_of - MEMBERS.numbers
        is_number_of = len(counted) == 1 or not counted.isdisjoint(nouns)
        if type(each) is int and each == 0 and (member.is_count or is_number_of):
            return True
    return False
