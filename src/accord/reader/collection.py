"""The list that a payload is about: itself, or the one array that is its main part."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from accord.reader.call import Call
from accord.reader.lexicon import is_of_list, member_of, squeezed, words
from accord.reader.reading import Confidence

_SUMS: Final = words("members.sums")
CONTAINERS: Final = words("members.containers")
_STREAMS: Final = words("members.streams")
_MEASURES: Final = words("members.measures")
_GRAPH: Final = words("members.graph")
_FOLDERS: Final = words("members.folders")
_CHECKS: Final = words("members.checks")
_NO_MATTER: Final = words("members.no-matter")
_SETTINGS: Final = words("members.settings")
_JUDGEMENTS: Final = words("members.judgements")
_COLUMNS: Final = words("members.columns")
_PLACES: Final = words("members.places")
_TITLES: Final = frozenset({"name", "title"})
_HEADED_BY: Final = ("title",)
"""What a document has beside the parts of it."""
_OF_A_QUERY: Final = ("ids", "documents")
_MEASURED: Final = ("result", "value")
_NAMING: Final = frozenset({str, int, bool})
_NOTHING: Final = re.compile(
    r"\((?:empty\b[^()]{0,60}|none"
    r"|no (?:[a-z]+ ){0,2}(?:files?|items?|results?|entries|rows|matches))\)",
    re.I,
)
"""What stands for the items where there are none: `(empty directory)`."""
_NUMBERED: Final = re.compile(r"(?P<stem>[A-Za-z]{2,30})[_ -]?(?P<n>\d{1,6})")
DEEPEST: Final = 5
"""Containers within each other."""
_FEW: Final = 3
"""Facts beside an array that may be about it; more are about a thing that has it."""
_MANY: Final = 8
"""Members that only a thing has beside an array."""
_SHORT: Final = 40
"""Characters of a value that adds little to what was asked for."""
_BY_CHANCE: Final = 9
"""The largest number that may come again by chance."""
_EPOCH: Final = 1_000_000_000
"""The smallest number that is a time in seconds, rather than a figure."""


class Collection(NamedTuple):
    """The items, the members beside them, where they were, and how sure that is."""

    items: list[Any]
    rest: dict[str, Any]
    path: tuple[str, ...]
    confidence: Confidence


def collection_in(value: Any, call: Call, arguments: Mapping[str, Any]) -> Collection | None:
    """The collection that a value is, or is about."""
    if isinstance(value, list):
        found = _of_statement(value, call) or _below_names(value, call)
        return found or Collection(value, {}, (), "certain")
    if not isinstance(value, dict):
        return None
    return _in_object(value, call, arguments, ())


def _of_statement(value: list[Any], call: Call) -> Collection | None:
    """The rows, where a list holds what came of the only statement."""
    if len(value) != 1 or not _is_statement(call) or not isinstance(value[0], dict):
        return None
    rows = value[0].get("results")
    if not isinstance(rows, list) or "meta" not in value[0]:
        return None
    rest = {name: each for name, each in value[0].items() if name != "results"}
    return Collection(rows, rest, ("results",), "certain")


def _below_names(value: list[Any], call: Call) -> Collection | None:
    """The rows of a statement, where the first of several lists has the names of the columns."""
    if not _is_statement(call) or len(value) < 2 or not isinstance(value[0], list):
        return None
    rows = row_objects(value[0], value[1:])
    if rows is None or all(isinstance(each, str) for row in rows for each in row.values()):
        return None
    return Collection(rows, {}, (), "likely")


def _is_statement(call: Call) -> bool:
    return call.is_query or call.words[-1:] == ("query",)


def _in_object(
    value: Mapping[str, Any], call: Call, arguments: Mapping[str, Any], path: tuple[str, ...]
) -> Collection | None:
    arrays = [name for name, each in value.items() if isinstance(each, list)]
    main = [name for name in arrays if not member_of(name).is_beside]
    if not main:
        if not arrays and dict not in map(type, value.values()):
            return None
        found = _numbered(value, path) if call.wants_many and not call.is_about_one else None
        found = found or _deeper(value, call, arguments, path)
        if found is not None or not arrays:
            return found
        main = [name for name in arrays if member_of(name).noun in call.nouns]
        main = main or (arrays if len(value) == 1 else [])
    if len(main) == 2 and call.wants_many and _is_folder(main):
        return _both(value, main, path)
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
    """The rows of a table as objects; its columns stay beside them if they say more than names."""
    for name, columns in rest.items():
        objects = row_objects(columns, rows) if squeezed(name) in _COLUMNS else None
        if objects is not None:
            if all(isinstance(each, str) for each in columns):
                rest = {other: each for other, each in rest.items() if other != name}
            return objects, rest
    return rows, rest


def _is_folder(names: list[str]) -> bool:
    """Whether two arrays are what is in a folder."""
    is_of_folders = any(member_of(name).noun in _FOLDERS for name in names)
    return is_of_folders and any(map(_is_of_files, names))


def _both(value: Mapping[str, Any], names: list[str], path: tuple[str, ...]) -> Collection:
    """What is in a folder. Which of it are folders is told beside it."""
    items = [each for name in names for each in value[name]]
    files = next(name for name in names if _is_of_files(name))
    rest = {name: each for name, each in value.items() if name != files}
    return Collection(items, rest, (*path, files), "likely")


def _is_of_files(name: str) -> bool:
    return member_of(name).noun == "file"


def _numbered(value: Mapping[str, Any], path: tuple[str, ...]) -> Collection | None:
    """Objects that have a number each behind the same name: `ITEM_1`, `ITEM_2`."""
    found = [(name, _NUMBERED.fullmatch(name)) for name in value if name[-1:].isdigit()]
    base_forms = {match["stem"] for _, match in found if match}
    if len(base_forms) != 1:
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
    return Collection(items, rest, (*path, base_forms.pop()), "likely")


def _inmost(found: Collection, call: Call) -> Collection:
    """The rows, where the only item is what came of the only statement, or is a list itself."""
    if len(found.items) != 1:
        return found
    (only,) = found.items
    if isinstance(only, str) and _NOTHING.fullmatch(only):
        return found._replace(items=[], rest={**found.rest, found.path[-1]: found.items})
    if isinstance(only, list) and only and all(isinstance(each, dict) for each in only):
        return found._replace(items=only, confidence="guess")
    if isinstance(only, list) and found.path[-1] in _OF_A_QUERY and _is_nested(found):
        return found._replace(items=only)  # a column each
    if call.is_query and isinstance(only, dict) and isinstance(only.get("rows"), list):
        rest = {**found.rest, **{name: each for name, each in only.items() if name != "rows"}}
        return found._replace(items=only["rows"], rest=rest, path=(*found.path, "rows"))
    return found


def _is_nested(found: Collection) -> bool:
    """Whether the ids of things are a list in a list, as those found for one of several queries."""
    ids = found.items if found.path[-1] == "ids" else found.rest.get("ids")
    return isinstance(ids, list) and len(ids) == 1 and isinstance(ids[0], list)


def _main(
    value: Mapping[str, Any], main: list[str], call: Call, arguments: Mapping[str, Any]
) -> str | None:
    """Which array is the main part: the only one, or the one that is named or counted for it."""
    if len(main) == 1:
        return main[0]
    generic = [name for name in main if member_of(name).is_generic]
    named = [name for name in main if member_of(name).noun in call.nouns]
    exact = [name for name in named if name.lower() in call.words]
    asked = [name for name in main if name in arguments.values()]
    counts = {
        each for name, each in value.items() if type(each) is int and member_of(name).is_count
    }
    counted = [name for name in main if len(value[name]) in counts] if call.wants_many else []
    for chosen in (generic, named, exact, asked, counted):
        if len(chosen) == 1:
            return chosen[0]
    filled = [name for name in main if value[name]]
    is_graph = call.wants_many and value.keys() <= _GRAPH
    if main and call.wants_many and (call.intent != "unknown" or is_graph) and len(filled) < 2:
        return (filled or named or main)[0]
    full = [name for name in filled if isinstance(value[name][0], dict)]
    if len(full) == 1 and call.intent == "list":
        return full[0]
    if len(full) == 1:
        others = map(member_of, value)
        return full[0] if any(each.is_paging or each.is_count for each in others) else None
    return full[0] if full and is_graph else None


def _judged(
    name: str,
    items: list[Any],
    rest: Mapping[str, Any],
    call: Call,
    arguments: Mapping[str, Any],
) -> Confidence | None:
    """How sure it is that an object is about this array, rather than a thing that has it."""
    if _is_of_one(name, items, rest, call, arguments):
        return None
    if _is_all(rest, call):
        return "certain"
    main = member_of(name)
    is_named = main.is_generic or (main.noun in call.nouns and not _is_checked(items, call))
    pages = is_counted = is_a_thing = False
    is_part = _is_part(rest, call) or (call.is_about_one and _is_made_of(name, items, rest))
    for beside, said in rest.items() if _SUMS.isdisjoint(rest) else _told(rest):
        _, _, is_paging, is_count, number_of, is_identity, _ = member_of(beside)
        pages = pages or is_paging
        if is_count or main.noun in number_of:
            if said == len(items) and not is_part:
                return "certain"
            is_counted = is_counted or type(said) is int
        elif number_of and said == len(items) > 1 and not call.is_about_one:
            is_counted = True
        if is_identity and type(said) in _NAMING:
            is_a_thing = True
    is_a_thing = is_a_thing or is_part or len(rest) > _MANY
    if is_a_thing and not call.wants_many and (not pages or is_part):
        return None
    if pages or (is_counted and (is_named or call.wants_many)):
        return "certain"
    if is_named or call.wants_many:
        return "likely"
    others = (each for beside, each in rest.items() if beside not in _SUMS)
    if is_counted and not any(isinstance(each, dict | list) for each in others):
        return "likely"
    is_echoed = name != main.noun and _is_echo(rest, call, arguments)
    is_objects = bool(items) and all(isinstance(item, dict) for item in items)
    return "guess" if is_echoed or (is_objects and _is_little(rest, call, arguments)) else None


def _is_of_one(
    name: str,
    items: list[Any],
    rest: Mapping[str, Any],
    call: Call,
    arguments: Mapping[str, Any],
) -> bool:
    """Whether an array cannot be but a part: beside a verdict, one value, or what was given."""
    if not _JUDGEMENTS.isdisjoint(map(squeezed, rest)):
        return True
    is_setting = not (_SETTINGS.isdisjoint(call.nouns) or call.wants_many)
    if is_setting and member_of(name).noun not in call.nouns:
        return True
    if call.intent == "list" or (items and type(items[0]) is dict):
        return False
    return _is_one_value(name, items) or _is_given(items, rest, arguments)


def _is_all(rest: Mapping[str, Any], call: Call) -> bool:
    """Whether nothing stands beside an array, or what only a list has, from a tool that lists."""
    if rest.keys() <= _NO_MATTER:
        return True
    return call.wants_many and any(member_of(name).is_paging for name in rest)


def _is_echo(rest: Mapping[str, Any], call: Call, arguments: Mapping[str, Any]) -> bool:
    """Whether all that stands beside an array is what was asked for."""
    if call.intent != "unknown" or call.is_about_one:
        return False
    return all(each in arguments.values() for each in rest.values())


def _is_given(items: list[Any], rest: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    """Whether an array is what the tool was given as one text: `tea, coffee`."""
    texts = [each for each in arguments.values() if isinstance(each, str) and "," in each]
    given = [[part.strip() for part in text.split(",")] for text in texts]
    return bool(rest) and items in given


def _is_checked(items: list[Any], call: Call) -> bool:
    """Whether an array is figures that were checked."""
    return call.checks and bool(items) and isinstance(items[0], int | float)


def _is_part(rest: Mapping[str, Any], call: Call) -> bool:
    """Whether what stands beside an array makes it a part of one thing that was asked for."""
    if call.is_about_one and (_has_parts(rest) or _has_facts(rest)):
        return True
    if call.checks and _is_much(rest):
        return True
    if call.intent != "read" or call.wants_many:
        return False
    return _is_much(rest) or any(isinstance(rest.get(name), str) for name in _HEADED_BY)


def _is_made_of(name: str, items: list[Any], rest: Mapping[str, Any]) -> bool:
    """Whether an array is what one thing is made of: checks of a state, details of many kinds."""
    if name in _CHECKS:
        return "state" in rest
    kinds = {tuple(item) for item in items if isinstance(item, dict)}
    return name == "details" and len(kinds) > 1 and not any(member_of(n).is_count for n in rest)


def _is_one_value(name: str, items: list[Any]) -> bool:
    """Whether an array is one thing by its name: lines of a text, numbers of a measure."""
    if name in _STREAMS:
        return bool(items) and all(isinstance(item, str) for item in items)
    if name in _MEASURED and len(items) == 2 and _is_reading(*items):
        return True
    is_measure = member_of(name).noun in _MEASURES and bool(items)
    return is_measure and all(isinstance(item, int | float) for item in items)


def _is_reading(when: Any, figure: Any) -> bool:
    """Whether two values are a time and a figure in words, as Prometheus has them."""
    is_time = type(when) in (int, float) and when > _EPOCH
    return is_time and isinstance(figure, str) and figure.replace(".", "", 1).isdigit()


def _is_much(rest: Mapping[str, Any]) -> bool:
    """Whether so much is told beside an array that it is but a part of what is told."""
    told = [name for name, each in rest.items() if type(each) in _NAMING]
    facts = [name for name in told if not is_of_list(member_of(name))]
    has_text = any(isinstance(rest[name], str) and "\n" in rest[name] for name in facts)
    return len(facts) > _FEW or has_text


def _told(rest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What stands beside an array, also in an object that sums it up."""
    for name, each in rest.items():
        if isinstance(each, dict) and name in _SUMS:
            yield from each.items()
        else:
            yield name, each


def _has_facts(rest: Mapping[str, Any]) -> bool:
    """Whether several things are told beside an array that say nothing about it."""
    members = (member_of(name) for name, each in rest.items() if type(each) in _NAMING)
    told = [each for each in members if not is_of_list(each)]
    return len(told) > _FEW or any(name in _TITLES and rest[name] for name in rest)


def _has_parts(rest: Mapping[str, Any]) -> bool:
    """Whether there is an object beside an array, so that both are parts of one thing."""
    return any(isinstance(each, dict) and each for each in rest.values())


def _is_little(rest: Mapping[str, Any], call: Call, arguments: Mapping[str, Any]) -> bool:
    """Whether what stands beside an array is not much more than an echo of what was asked for."""
    told = [each for each in rest.values() if each not in (None, "", [], {})]
    if call.checks:
        return False
    if call.intent not in ("read", "make"):
        return len(told) <= _FEW
    if call.is_about_one:
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
    value: Mapping[str, Any], call: Call, arguments: Mapping[str, Any], path: tuple[str, ...]
) -> Collection | None:
    """Into the one member that holds the payload, if the others only go along with it."""
    if len(path) >= DEEPEST:
        return None
    inner = [name for name, each in value.items() if isinstance(each, dict) and each]
    holders = [name for name in inner if name.lower() in CONTAINERS]
    is_only = len(value) == 1 or (call.wants_many and len(inner) == 1)
    chosen = holders if len(holders) == 1 else inner if is_only else []
    if len(chosen) != 1 or (chosen == ["content"] and not _PLACES.isdisjoint(map(squeezed, value))):
        return None  # of several, or a file
    name = chosen[0]
    found = _in_object(value[name], call, arguments, (*path, name))
    is_doubtful = not holders and (len(value) > 1 or call.is_about_one)
    if found is None or (is_doubtful and not _is_named(found, call)):
        return None
    rest = {key: each for key, each in value.items() if key != name}
    if not rest.keys().isdisjoint(found.rest):
        rest = {"beside": rest}  # under another name than its own
    return found._replace(rest={**rest, **found.rest})


def _is_named(found: Collection, call: Call) -> bool:
    member = member_of(found.path[-1])
    return member.is_generic or member.noun in call.nouns


def is_generic(found: Collection) -> bool:
    """Whether a collection goes by a name that any may have, at the top: `results`."""
    return len(found.path) == 1 and member_of(found.path[0]).is_generic


def row_objects(columns: Any, rows: list[Any]) -> list[Any] | None:
    """Rows that are lists, as objects by the names of their columns; None if they do not fit.

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
