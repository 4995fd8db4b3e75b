"""Rules that say that a reply is a list."""

from collections.abc import Mapping
from typing import Any, Final

from accord.reader.call import Call
from accord.reader.collection import Collection, is_generic
from accord.reader.evidence import Facts, Verdict
from accord.reader.evidence.catalogs import kind_of_list, tells_tools
from accord.reader.items import (
    Items,
    counts_asked,
    find_items,
    is_record,
    is_rule,
    split_advice,
    states_count,
)
from accord.reader.keyed import is_one, mapped, named_things, nothing_in
from accord.reader.lexicon import ARGUMENTS, NAMES, member_of, phrases
from accord.reader.reading import Confidence
from accord.reader.sentences import (
    missing_noun,
    reports_no_problems,
    reports_none_of_all,
    reports_nothing_below_each,
    reports_nothing_found,
    split_sentence,
)

_SEARCHING: Final = ARGUMENTS.searches | {"query"}
_HISTORIES: Final = frozenset({"log", "logs", "history"})
_LINES: Final = frozenset({"alike-lines", "tagged-lines", "paths", "bullets", "plain-lines"})
"""What the lines of a log may look like as well."""
_FAINT: Final = _LINES | {"paragraphs", "commas", "grouped"}
"""What may be a part of what is said about one thing."""
_TABLES: Final = frozenset({"csv", "table", "columns", "data-frame"})
_NOTHING: Final = ("[]", "{}", "null")
_MOST_ABOVE: Final = 6
_SELECTING: Final = ("type", "kind", "filter", "pattern", "contains", "category")
_WAYS: Final = frozenset("direction directions route navigation".split())
_PARTS: Final = frozenset({"steps", "legs", "segments"})
_SUMMING: Final = (("summarize",), ("summarise",))
_LISTING: Final = tuple(
    "results matches found pages entries list all available showing retrieved here".split()
)
"""One of them is in a line that begins a list."""


def _perhaps(found: Items | Collection) -> Verdict:
    return Verdict("list", "guess", found=found)


def array(facts: Facts) -> Verdict | None:
    """An array is a list, whatever is in it."""
    if not isinstance(facts.value, list):
        return None
    if len(facts.value) == 1 and facts.call.wants_many and _is_remark(facts.value[0]):
        return _perhaps(Collection([], {"remarks": facts.value}, (), "guess"))
    if len(facts.value) > 1 and facts.call.wants_many and _is_headed(facts.value):
        return _perhaps(Collection(facts.value[1:], {"remarks": facts.value[:1]}, (), "guess"))
    return Verdict("list", found=facts.find_collection())


def _is_headed(items: list[Any]) -> bool:
    """Whether the first of several texts is the heading of the others, which are elements."""
    first, *others = items
    is_heading = isinstance(first, str) and phrases.results_heading.match(first) is not None
    return is_heading and all(isinstance(each, str) and each[:1] == "<" for each in others)


def _is_remark(item: Any) -> bool:
    """Whether the only item of a list says that there is none."""
    if isinstance(item, dict) and len(item) == 1:
        item = item.get("message")
    return isinstance(item, str) and reports_nothing_found(item, wants_many=True)


def main_array(facts: Facts) -> Verdict | None:
    """An array in an object, if the rest of that is only about it."""
    collection = facts.find_collection()
    if collection is None or (facts.attachments and collection.path == ("content",)):
        return None  # which are what is attached
    if facts.call.intent != "list" and _is_part(facts, collection):
        return None
    if facts.arguments and facts.repeats(collection):
        return None
    return Verdict("list", collection.confidence, found=collection)


def _is_part(facts: Facts, collection: Collection) -> bool:
    """Whether a collection is a part of what a tool gives, rather than what it gives."""
    call, rest = facts.call, collection.rest
    if not _WAYS.isdisjoint(call.words) and _is_way(collection):
        return True
    if not rest:
        return False
    if call.intent == "run" and (isinstance(rest.get("logs"), dict) or rest.get("stdout")):
        return True
    is_summed = call.words[:1] in _SUMMING and isinstance(rest.get("summary"), str)
    return is_summed or _is_made(facts, collection)


def _is_way(collection: Collection) -> bool:
    """Whether items are the only way to somewhere, or its steps."""
    first = collection.items[0] if collection.items else None
    if not isinstance(first, dict):
        return False
    is_way = len(collection.items) == 1 and not _PARTS.isdisjoint(first)
    return is_way or all(
        isinstance(each, dict) and "instruction" in each for each in collection.items
    )


def _is_made(facts: Facts, collection: Collection) -> bool:
    """Whether a collection is a part of what a tool made or came to."""
    words = facts.call.words
    if not NAMES.computing.isdisjoint(words):
        return not is_generic(collection)
    return not NAMES.exporting.isdisjoint(words) and collection.confidence != "certain"


def none_found(facts: Facts) -> Verdict | None:
    """Words that say that a search found nothing, which is no failure of a search."""
    words = facts.told
    call = facts.call
    if words is None or call.gives_content or call.gives_output or "count" in call.words:
        return None
    is_of_all = call.asks_for_all and reports_none_of_all(words)
    if (
        not facts.says_none
        and not is_of_all
        and not (call.wants_many and missing_noun(words) is not None)
    ):
        return None
    if not (call.wants_many or is_of_all) and _is_of_one(call, words):
        return None
    nothing = Items([], (facts.words or "").strip(), "", "none-found")
    confidence: Confidence = "likely" if call.wants_many else "guess"
    return Verdict(kind_of_list(facts, None, words), confidence, found=nothing)


def _is_of_one(call: Call, words: str) -> bool:
    """Whether a text that denies something says so of one thing: that it is well, or is none."""
    is_part = call.is_about_one and missing_noun(words) is None
    return reports_no_problems(words) or (is_part and not reports_nothing_below_each(words))


def itemised(facts: Facts) -> Verdict | None:
    """A text in which `items` finds several things, and that is no text about one."""
    words = facts.words
    call = facts.call
    if words is None or call.gives_output:
        return None
    if call.gives_content or call.gives_prose:
        return _counted(facts, words)
    is_catalog = tells_tools(words)
    wants_list = is_catalog or call.wants_many or _opens(words.lstrip("#* \n"))
    wants_list = wants_list or _searches(facts)
    if (asked := _as_many_as_asked(facts, words)) is not None:
        return asked
    items = find_items(words, wants_list=wants_list, blocks=facts.texts)
    if items is None or (facts.call.gives_log and items.rule in _LINES and not states_count(items)):
        return None
    is_sourced = "\n" in items.heading and phrases.sources_heading.fullmatch(
        items.heading.rpartition("\n")[2]
    )
    if is_sourced and not states_count(items):
        return None  # of an answer in words
    is_asked = is_catalog or (wants_list and not call.is_about_one)
    is_known = call.intent != "unknown" or call.is_about_one
    if not is_asked and is_known and _is_faint(items, call.is_about_one):
        return None
    if call.intent != "list" and items.rule == "bullets" and _is_of_one_thing(items):
        return None
    if call.intent != "list" and _is_figures(items):
        return None
    if items.rule == "lone-name" and call.is_query and _is_column(facts, words.strip()):
        items = items._replace(items=[], heading=words.strip())  # of a column without rows
    is_bare = items.rule == "plain-lines" and not items.heading
    if is_bare and not (call.intent == "list" or call.is_plural):
        return None
    if is_bare and call.is_query:
        items = items._replace(items=items.items[1:], heading=items.items[0])
    return Verdict(kind_of_list(facts, items, items.heading, items.closing), "likely", found=items)


def _searches(facts: Facts) -> bool:
    """Whether an argument says what to look for: `query`."""
    is_open = facts.call.intent in ("read", "unknown") and not facts.call.is_about_one
    return is_open and not _SEARCHING.isdisjoint(facts.arguments)


def _as_many_as_asked(facts: Facts, words: str) -> Verdict | None:
    """As many items as an argument asks for."""
    asked = counts_asked(facts.arguments)
    items = find_items(words, wants_list=True, blocks=facts.texts) if asked else None
    if items is None or items.rule == "commas" or len(items.items) not in asked:
        return None
    return Verdict(kind_of_list(facts, items, items.heading, items.closing), "likely", found=items)


def _is_column(facts: Facts, word: str) -> bool:
    """Whether the only word of a reply is that of a column, which the statement selects."""
    said = (each for each in facts.arguments.values() if isinstance(each, str))
    selected = next((found[1] for each in said if (found := phrases.selected.match(each))), "")
    return word in [column.strip().rpartition(".")[2] for column in selected.split(",")]


def _is_figures(items: Items) -> bool:
    """Whether a table of `Metric` and `Value`, or a line of labels, says what one thing has."""
    if items.rule == "pairs":
        return len(items.items) == 1
    if items.rule != "table" or not items.items:
        return False
    names = [name.lower() for name in items.items[0]]
    return names == ["metric", "value"]


def _is_of_one_thing(items: Items) -> bool:
    """Whether bullets are labelled, as what is told of one thing is."""
    if states_count(items) or not all(isinstance(each, str) for each in items.items):
        return False
    return is_record(items.items)


def _is_faint(items: Items, is_one: bool) -> bool:
    """Whether items may be a part of what is said about one thing, rather than several things."""
    if items.rule in _TABLES:
        return is_one and len(items.items) == 1
    if items.rule not in _FAINT or states_count(items):
        return False
    are_records = len(items.items) > 1 and all(isinstance(each, dict) for each in items.items)
    return is_one or not are_records


def _counted(facts: Facts, words: str) -> Verdict | None:
    """As many items as the heading says, of a tool that could give a text as well."""
    call = facts.call
    if not (call.intent == "unknown" or call.gives_prose) or not phrases.counted_heading.match(
        words
    ):
        return None
    items = find_items(words, wants_list=True, blocks=facts.texts)
    if items is None or len(items.items) not in items.stated:
        return None
    return _perhaps(items)


def linked(facts: Facts) -> Verdict | None:
    """Nothing but links to things, or resources, from a tool that gives several."""
    if not facts.attachments or not facts.call.wants_many:
        return None
    kinds = [each.get("type") for each in facts.attachments]
    is_all = all(kind == "resource_link" for kind in kinds) or (
        len(kinds) > 1 and all(kind == "resource" for kind in kinds)
    )
    if not is_all:
        return None
    if facts.words is None and facts.value is not None:
        return None
    items = Items(list(facts.attachments), (facts.words or "").strip(), "", "links")
    return Verdict("list", "likely", found=items)


def lone_item(facts: Facts) -> Verdict | None:
    """One object that is a thing, from a tool that lists them: some send a block for each."""
    call = facts.call
    if not call.wants_many or not isinstance(facts.value, dict) or facts.words is not None:
        return None
    is_none = nothing_in(facts.value, call.nouns) or _says_none(facts.value)
    if is_none or _has_no_items(facts.value) or _is_empty_map(facts):
        return _perhaps(Collection([], dict(facts.value), (), "guess"))
    named = named_things(facts.value)
    if named is not None and not call.is_about_one:
        return _perhaps(Collection(named, {}, (), "guess"))
    if call.intent == "list" and call.is_plural and "list" in call.words:
        found = mapped(facts.value, call.words)
        if found is not None:
            return _perhaps(found)
    if call.intent != "list" or not call.is_plural or not is_one(facts.value):
        return None
    return _perhaps(Collection([facts.value], {}, (), "guess"))


def _has_no_items(value: Mapping[str, Any]) -> bool:
    """Whether there is null where the items would be, and nothing but objects about them beside."""
    others = (each for name, each in value.items() if name != "items")
    return value.get("items", 0) is None and all(isinstance(each, dict) for each in others)


def _says_none(value: Mapping[str, Any]) -> bool:
    """Whether an object without any array has a message that nothing was found."""
    words = value.get("message")
    if not isinstance(words, str) or not value.keys().isdisjoint(("id", "name", "title")):
        return False
    if any(isinstance(each, dict | list) for each in value.values()):
        return False
    rest = split_sentence(words)[1]
    return reports_nothing_found(words, wants_many=True) or bool(
        rest and reports_nothing_found(rest, wants_many=True)
    )


def nothing_listed(facts: Facts) -> Verdict | None:
    """No content at all, or none but blanks."""
    call = facts.call
    if facts.words is None and facts.value and not _is_null(facts.value):
        return None
    words = None if facts.words is None else facts.words.strip()
    if (facts.attachments and words is None) or call.gives_output:
        return None
    is_asked = call.wants_many or not _HISTORIES.isdisjoint(call.words) or _opens(words)
    if not is_asked and (call.intent != "unknown" or words or not _selects(facts)):
        return None
    if words:
        is_none = words in _NOTHING or _is_heading(words)
    else:
        is_none = words is not None or facts.value in (None, {}) or _is_null(facts.value)
    return _perhaps(Items([], words or "", "", "nothing")) if is_none else None


def _is_null(value: Any) -> bool:
    """Whether an object has one member, which is null: `{"users": null}`."""
    return isinstance(value, dict) and list(value.values()) == [None]


def _is_empty_map(facts: Facts) -> bool:
    """Whether a tool that lists gives a map of things by name, with none in it: `{"users": {}}`."""
    if facts.call.intent != "list" or type(facts.value) is not dict or len(facts.value) != 1:
        return False
    ((name, held),) = facts.value.items()
    member = member_of(name)
    return held == {} and (member.is_generic or member.noun in facts.call.nouns)


def _selects(facts: Facts) -> bool:
    """Whether an argument says which of several things are asked for: `branch_type`."""
    return any(name.lower().endswith(_SELECTING) for name in facts.arguments)


def _opens(words: str | None) -> bool:
    """Whether a text begins like a list."""
    if words is None:
        return False
    first = words.partition("\n")[0]
    small = first.lower()
    for each in _LISTING:
        if each in small:
            return phrases.list_heading.fullmatch(first) is not None
    return False


def _is_heading(words: str) -> bool:
    """Whether a text is a heading with nothing below it, or ends with one."""
    if "\n" not in words and words[-1] != ":":
        return phrases.empty_heading.fullmatch(words) is not None
    lines = [line for line in words.splitlines() if not line or not is_rule(line.strip())]
    above = list(split_advice(lines)[0]) or [""]
    last = above.pop()
    while above and not last.strip():
        last = above.pop()
    if not last.endswith(":"):
        return not above and phrases.empty_heading.fullmatch(last) is not None
    return not above or (len(above) <= _MOST_ABOVE and not above[-1].strip())
