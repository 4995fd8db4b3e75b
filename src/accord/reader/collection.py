"""The list that a payload is about: itself, its main array, or the objects that it has by name."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from accord.reader.call import Call
from accord.reader.lexicon import MEMBERS, is_of_list, member_of, squeezed, words_of
from accord.reader.reading import Confidence

_TITLES: Final = frozenset({"name", "title"})
_IN_A_LIST: Final = ("ids", "documents")
"""Columns of what was found for the first of several queries."""
_NOTHING: Final = re.compile(r"\((?:empty\b[^()]{0,60}|none|no (?:[a-z]+ ){0,2}[a-z]+s)\)", re.I)
"""What stands for the items where there are none: `(empty directory)`."""
_MEASURED: Final = ("result", "value")
_NAMING: Final = frozenset({str, int, bool})
_DEEPEST: Final = 5
"""Containers within each other."""
_FEW: Final = 3
"""Facts beside an array that may be about it; more are about a thing that has it."""
_MANY: Final = 8
"""Members that only a thing has beside an array."""
_SHORT: Final = 40
"""Characters of a value that adds little to what was asked for."""
_BY_CHANCE: Final = 9
"""The largest number that may come again by chance."""


class Collection(NamedTuple):
    """The items, the members beside them, where they were, and how sure that is."""

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
    found = Collection(value, {}, (), "certain")
    return _rows_of_statement(found, call) or found


def is_generic(found: Collection) -> bool:
    """True if a collection goes by a name that any may have, at the top: `results`."""
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


def _rows_of_statement(found: Collection, call: Call) -> Collection | None:
    """Return the rows, where a list holds the result of one statement or begins with the names."""
    if not (call.is_query or call.words[-1:] == ("query",)) or not found.items:
        return None
    first, *others = found.items
    if not others and isinstance(first, dict):
        name = next((each for each in ("results", "rows") if isinstance(first.get(each), list)), "")
        rest = {**found.rest, **_without(first, name)}
        return Collection(first[name], rest, (*found.path, name), "certain") if name else None
    rows = row_objects(first, others)
    if rows is None or all(isinstance(each, str) for row in rows for each in row.values()):
        return None
    return found._replace(items=rows, confidence="likely")


def _without(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key != name}


# The main array of an object


def _in_object(
    value: Mapping[str, Any], call: Call, arguments: Mapping[str, Any], path: tuple[str, ...]
) -> Collection | None:
    arrays = [name for name, each in value.items() if isinstance(each, list)]
    main = [name for name in arrays if not member_of(name).is_beside]
    if not main:
        if not arrays and dict not in map(type, value.values()):
            return None
        found = _numbered(value, path) if call.wants_many else None
        found = found or _deeper(value, call, arguments, path)
        if found is not None or not arrays:
            return found
        main = [name for name in arrays if member_of(name).noun in call.nouns]
        main = main or (arrays if len(value) == 1 else [])
    if len(main) == 2 and call.wants_many and (found := _in_folder(value, main, path)):
        return found
    name = _main(value, main, call, arguments)
    if name is None:
        return None
    rest = dict(value)
    items = rest.pop(name)
    if items and type(items[0]) is list:
        items, rest = _as_objects(items, rest)
    confidence = _judged(name, items, rest, call, arguments)
    if confidence is None:
        return None
    return _inmost(Collection(items, rest, (*path, name), confidence), call)


def _as_objects(rows: list[Any], rest: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the rows of a table as objects; columns that say more than names stay beside them."""
    for name, columns in rest.items():
        objects = row_objects(columns, rows) if squeezed(name) in MEMBERS.columns else None
        if objects is not None:
            is_plain = all(isinstance(each, str) for each in columns)
            return objects, _without(rest, name) if is_plain else rest
    return rows, rest


def _in_folder(
    value: Mapping[str, Any], names: list[str], path: tuple[str, ...]
) -> Collection | None:
    """Return the folders and files in a folder; which of them are folders is told beside them."""
    nouns = [member_of(name).noun for name in names]
    if "file" not in nouns or MEMBERS.folders.isdisjoint(nouns):
        return None
    items = [each for name in names for each in value[name]]
    files = names[nouns.index("file")]
    return Collection(items, _without(value, files), (*path, files), "likely")


def _numbered(value: Mapping[str, Any], path: tuple[str, ...]) -> Collection | None:
    """Return the objects that have a number each behind the same name: `ITEM_1`, `ITEM_2`."""
    names = {name: None for name in value if name[-1:].isdigit() and isinstance(value[name], dict)}
    stems = {name.rstrip("0123456789") for name in names}
    rest = {name: each for name, each in value.items() if name not in names}
    if len(stems) != 1 or any(isinstance(each, dict | list) and each for each in rest.values()):
        return None
    return Collection([value[name] for name in names], rest, (*path, stems.pop()), "likely")


def _inmost(found: Collection, call: Call) -> Collection:
    """Return the rows, where the only item is the result of one statement, or is a list itself."""
    if len(found.items) != 1:
        return found
    (only,) = found.items
    if isinstance(only, str) and _NOTHING.fullmatch(only):
        return found._replace(items=[], rest={**found.rest, found.path[-1]: found.items})
    if isinstance(only, list) and only and all(isinstance(each, dict) for each in only):
        return found._replace(items=only, confidence="guess")
    if isinstance(only, list) and found.path[-1] in _IN_A_LIST:
        return found._replace(items=only)
    return _rows_of_statement(found, call) or found


def _main(
    value: Mapping[str, Any], main: list[str], call: Call, arguments: Mapping[str, Any]
) -> str | None:
    """Return which array is the main part: the only one, or the one named or counted for it."""
    if len(main) == 1:
        return main[0]
    named = [name for name in main if member_of(name).noun in call.nouns]
    counts = {
        each for name, each in value.items() if type(each) is int and member_of(name).is_count
    }
    for chosen in (
        [name for name in main if member_of(name).is_generic],
        named,
        [name for name in named if name.lower() in call.words],
        [name for name in main if name in arguments.values()],
        [name for name in main if len(value[name]) in counts] if call.wants_many else [],
    ):
        if len(chosen) == 1:
            return chosen[0]
    filled = [name for name in main if value[name]]
    is_graph = call.wants_many and value.keys() <= MEMBERS.graph
    if main and call.wants_many and (call.intent != "unknown" or is_graph) and len(filled) < 2:
        return (filled or named or main)[0]
    full = [name for name in filled if isinstance(value[name][0], dict)]
    if len(full) == 1 and call.intent != "list":
        others = map(member_of, value)
        return full[0] if any(each.is_paging or each.is_count for each in others) else None
    return full[0] if full and (len(full) == 1 or is_graph) else None


# How sure it is


def _judged(
    name: str,
    items: list[Any],
    rest: Mapping[str, Any],
    call: Call,
    arguments: Mapping[str, Any],
) -> Confidence | None:
    """Return how sure it is that an object is about an array, rather than a thing that has it."""
    if _is_of_one(name, items, rest, call, arguments):
        return None
    if rest.keys() <= MEMBERS.no_matter:
        return "certain"
    if call.wants_many and any(member_of(other).is_paging for other in rest):
        return "certain"
    main = member_of(name)
    is_checked = call.checks and bool(items) and isinstance(items[0], int | float)
    is_named = main.is_generic or (main.noun in call.nouns and not is_checked)
    is_part = _is_part(rest, call) or (call.is_about_one and _is_made_of(name, items, rest))
    pages, is_counted, is_exact, has_identity = _beside(main.noun, len(items), rest, call)
    if is_exact and not is_part:
        return "certain"
    is_a_thing = has_identity or is_part or len(rest) > _MANY
    if is_a_thing and not call.wants_many and (not pages or is_part):
        return None
    if pages or (is_counted and (is_named or call.wants_many)):
        return "certain"
    if is_named or call.wants_many:
        return "likely"
    if is_counted and not any(
        isinstance(each, dict | list) for beside, each in rest.items() if beside not in MEMBERS.sums
    ):
        return "likely"
    is_echoed = name != main.noun and _is_echo(rest, call, arguments)
    is_objects = bool(items) and all(isinstance(item, dict) for item in items)
    return "guess" if is_echoed or (is_objects and _is_little(rest, call, arguments)) else None


def _beside(
    noun: str, number: int, rest: Mapping[str, Any], call: Call
) -> tuple[bool, bool, bool, bool]:
    """Return what stands beside an array: pages, a number of items, this number, an identity."""
    pages = is_counted = is_exact = has_identity = False
    for beside, said in rest.items() if MEMBERS.sums.isdisjoint(rest) else _told(rest):
        _, _, is_paging, is_count, number_of, is_identity, _ = member_of(beside)
        pages = pages or is_paging
        if is_count or noun in number_of:
            is_exact = is_exact or said == number
            is_counted = is_counted or type(said) is int
        elif number_of and said == number > 1 and not call.is_about_one:
            is_counted = True
        has_identity = has_identity or (is_identity and type(said) in _NAMING)
    return pages, is_counted, is_exact, has_identity


def _told(rest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what stands beside an array, also in an object that sums it up."""
    for name, each in rest.items():
        if isinstance(each, dict) and name in MEMBERS.sums:
            yield from each.items()
        else:
            yield name, each


def _is_of_one(
    name: str,
    items: list[Any],
    rest: Mapping[str, Any],
    call: Call,
    arguments: Mapping[str, Any],
) -> bool:
    """True if an array cannot be but a part: beside a verdict, one value, or what was given."""
    if not MEMBERS.judgements.isdisjoint(map(squeezed, rest)):
        return True
    is_made = name in MEMBERS.steps and call.intent not in ("list", "read")
    if is_made and any(type(each) in _NAMING for each in rest.values()):
        return True
    is_setting = not (MEMBERS.settings.isdisjoint(call.nouns) or call.wants_many)
    if is_setting and member_of(name).noun not in call.nouns:
        return True
    if call.intent == "list" or (items and type(items[0]) is dict):
        return False
    texts = [each for each in arguments.values() if isinstance(each, str) and "," in each]
    is_given = bool(rest) and items in [
        [part.strip() for part in each.split(",")] for each in texts
    ]
    return is_given or _is_one_value(name, items)


def _is_one_value(name: str, items: list[Any]) -> bool:
    """True if an array is one thing by its name: lines of a text, a time and its figure."""
    if name in MEMBERS.streams:
        return bool(items) and all(isinstance(item, str) for item in items)
    if name in _MEASURED and len(items) == 2 and isinstance(items[1], str):
        when, figure = items  # a time and a figure in words, as Prometheus has them
        return isinstance(when, int | float) and figure.replace(".", "", 1).isdigit()
    is_measure = member_of(name).noun in MEMBERS.measures and bool(items)
    return is_measure and all(isinstance(item, int | float) for item in items)


def _is_echo(rest: Mapping[str, Any], call: Call, arguments: Mapping[str, Any]) -> bool:
    """True if all that stands beside an array is what was asked for."""
    if call.intent != "unknown" or call.is_about_one:
        return False
    return all(each in arguments.values() for each in rest.values())


def _is_part(rest: Mapping[str, Any], call: Call) -> bool:
    """True if what stands beside an array makes it a part of one thing that was asked for."""
    is_read = call.intent == "read" and not call.wants_many
    if not (call.is_about_one or call.checks or is_read):
        return False
    facts = [name for name in rest if type(rest[name]) in _NAMING]
    facts = [name for name in facts if not is_of_list(member_of(name))]
    if len(facts) > _FEW:
        return True
    if call.is_about_one and (
        any(isinstance(each, dict) and each for each in rest.values())
        or any(rest.get(name) for name in _TITLES)
    ):
        return True
    if is_read and isinstance(rest.get("title"), str):
        return True
    has_text = any(isinstance(rest[name], str) and "\n" in rest[name] for name in facts)
    return has_text and (call.checks or is_read)


def _is_made_of(name: str, items: list[Any], rest: Mapping[str, Any]) -> bool:
    """True if an array is what one thing is made of: checks of a state, details of many kinds."""
    if name in MEMBERS.checks:
        return "state" in rest
    return name == "details" and len({tuple(item) for item in items if isinstance(item, dict)}) > 1


def _is_little(rest: Mapping[str, Any], call: Call, arguments: Mapping[str, Any]) -> bool:
    """True if what stands beside an array is not much more than an echo of what was asked for."""
    told = [each for each in rest.values() if each not in (None, "", [], {})]
    if call.checks:
        return False
    if call.intent not in ("read", "make"):
        return len(told) <= _FEW
    asked = [each for each in arguments.values() if _is_telling(each)]
    new = [each for each in told if each not in asked]
    is_little = len(new) < len(told) and len(new) <= 1 and not call.is_about_one
    return (
        is_little
        and all(isinstance(each, str | bool) for each in new)
        and (all(len(str(each)) <= _SHORT for each in new))
    )


def _is_telling(value: Any) -> bool:
    """True if a value that comes again is an echo, rather than the same by chance."""
    if isinstance(value, str):
        return len(value) > 1 or value.isupper()
    return type(value) is float or (type(value) is int and abs(value) > _BY_CHANCE)


def _deeper(
    value: Mapping[str, Any], call: Call, arguments: Mapping[str, Any], path: tuple[str, ...]
) -> Collection | None:
    """Look in the one member that holds the payload, if the others only go along with it."""
    if len(path) >= _DEEPEST:
        return None
    inner = [name for name, each in value.items() if isinstance(each, dict) and each]
    holders = [name for name in inner if name.lower() in MEMBERS.containers]
    is_only = len(value) == 1 or (call.wants_many and len(inner) == 1)
    chosen = holders if len(holders) == 1 else inner if is_only else []
    if len(chosen) != 1 or (
        chosen == ["content"] and not MEMBERS.places.isdisjoint(map(squeezed, value))
    ):
        return None  # of several, or a file
    name = chosen[0]
    found = _in_object(value[name], call, arguments, (*path, name))
    if found is None:
        return None
    member = member_of(found.path[-1])
    is_doubtful = not holders and (len(value) > 1 or call.is_about_one)
    if is_doubtful and not (member.is_generic or member.noun in call.nouns):
        return None
    rest = _without(value, name)
    if not rest.keys().isdisjoint(found.rest):
        rest = {"beside": rest}  # under another name than its own
    return found._replace(rest={**rest, **found.rest})


# Objects that hold several things by their names, and what an object says of one thing

_FEWEST: Final = 3
"""Members of an object that are items by their values alone."""


def is_one(value: Mapping[str, Any]) -> bool:
    """True if an object is a thing with a name of its own, rather than words about a list."""
    members = [(member_of(name), each) for name, each in value.items()]
    if any(member.is_paging or member.is_count for member, _ in members):
        return False
    return any(member.is_identity and isinstance(each, str | int) for member, each in members)


def named_things(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the objects of an object that has nothing but those, alike, each by its name."""
    things = [each for each in value.values() if isinstance(each, dict)]
    if len(things) < 2 or len(things) < len(value) or not set(things[0]).intersection(*things[1:]):
        return None
    return [keyed(name, each) for name, each in value.items()]


def mapped(value: Mapping[str, Any], called: tuple[str, ...], depth: int = 0) -> Collection | None:
    """Return what an object holds by name, itself or in its one member named for several."""
    things = entries(value) if len(value) > 1 else None
    if things is not None:
        return Collection(things, {}, (), "guess")
    inner = [name for name, each in value.items() if isinstance(each, dict | list) and each]
    if len(inner) != 1 or not isinstance(value[inner[0]], dict):
        return None
    name = inner[0]
    if name.lower() in MEMBERS.containers:
        deeper = mapped(value[name], called, depth + 1) if depth < _DEEPEST else None
        return deeper and deeper._replace(path=(name, *deeper.path))
    rest = _without(value, name)
    if any(isinstance(each, str) and not _goes_along(beside) for beside, each in rest.items()):
        return None
    is_named = bool(words_of(name)) and set(words_of(name)).issubset(called)
    things = entries(value[name], is_held=True) if is_named else None
    return None if things is None else Collection(things, rest, (name,), "guess")


def _goes_along(name: str) -> bool:
    """True if a member says how it went, or by which number, rather than what of."""
    return name in MEMBERS.said or name.endswith(("_id", "Id")) or member_of(name).is_paging


def entries(value: Mapping[str, Any], *, is_held: bool = False) -> list[Any] | None:
    """Return the members of an object that are all of one kind and have names of their own.

    `is_held`: it goes by the name of several things; else they have to be sentences, or objects.
    """
    if not value or not MEMBERS.said.isdisjoint(value) or not MEMBERS.of_one.isdisjoint(value):
        return None
    if any(each.is_identity or each.is_beside for each in map(member_of, value)):
        return None
    each_of = value.values()
    if all(isinstance(each, dict) for each in each_of):
        return [keyed(name, each) for name, each in value.items()]
    are_alike = all(isinstance(each, str) and "\n" not in each for each in each_of)
    if not is_held:
        are_alike = are_alike and len(value) >= _FEWEST and all(" " in each for each in each_of)
    else:
        are_alike = are_alike or all(type(each) is int for each in each_of)
        are_alike = are_alike or all(
            isinstance(e, list) and dict not in map(type, e) for e in each_of
        )
    return [{"key": name, "value": each} for name, each in value.items()] if are_alike else None


def keyed(name: str, thing: dict[str, Any]) -> dict[str, Any]:
    """Return a thing with the name that it goes by."""
    return {"_key" if "key" in thing else "key": name, **thing}


def nothing_in(value: Mapping[str, Any], nouns: frozenset[str]) -> bool:
    """True if an object without any array says that the number of things in it is none."""
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
