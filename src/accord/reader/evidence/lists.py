"""Evidence of a list: an array, the main part of an object, a text that is clearly itemised."""

from collections.abc import Mapping
from typing import Any, Final

from accord.reader.call import Call
from accord.reader.collection import (
    Collection,
    is_generic,
    is_one,
    mapped,
    named_things,
    nothing_in,
)
from accord.reader.evidence import Facts, Verdict
from accord.reader.evidence.catalogs import expects_tools, kind_of_list
from accord.reader.items import (
    Items,
    counts_asked,
    find_items,
    is_record,
    is_rule,
    split_advice,
    states_count,
)
from accord.reader.lexicon import ARGUMENTS, NAMES, member_of, ordered, phrases, words
from accord.reader.reading import Confidence
from accord.reader.sentences import (
    after,
    begins,
    missing_noun,
    reports_nothing_below_each,
    reports_nothing_found,
    split_sentence,
)

_SEARCHING: Final = ARGUMENTS.searches | {"query"}
_SELECTING: Final = ordered("texts.selecting")
_LISTING: Final = ordered("texts.listing")
_FAINT: Final = words("texts.rules-of-a-log", "texts.rules-of-a-part")
"""Rules whose items may describe one thing."""
_TABLES: Final = frozenset({"csv", "table", "columns", "data-frame"})
_NOTHING: Final = ("[]", "{}", "null")
_SUMMING: Final = (("summarize",), ("summarise",))
_PARTS: Final = 3
"""Objects beside an array from which on it is one part of several."""
_MOST_ABOVE: Final = 6
"""Lines above an empty heading."""


def _guess(found: Items | Collection) -> Verdict:
    return Verdict("list", "guess", found=found)


# Arrays and objects


def array(facts: Facts) -> Verdict | None:
    """A JSON array."""
    items = facts.value
    if not isinstance(items, list):
        return None
    if facts.call.gives_output and all(isinstance(each, str | int | float) for each in items):
        return None  # printed by a program
    if facts.call.wants_many and len(items) == 1 and _is_remark(items[0]):
        return _guess(Collection([], {"remarks": items}, (), "guess"))
    if facts.call.wants_many and len(items) > 1 and _is_headed(items):
        return _guess(Collection(items[1:], {"remarks": items[:1]}, (), "guess"))
    return Verdict("list", found=facts.find_collection())


def _is_headed(items: list[Any]) -> bool:
    """True if the first of several texts is a heading, and the others are elements."""
    if not all(isinstance(each, str) for each in items):
        return False
    is_heading = phrases.results_heading.match(items[0]) is not None
    return is_heading and all(each[:1] == "<" for each in items[1:])


def _is_remark(item: Any) -> bool:
    """True if the only item of a list reports that there are none."""
    if isinstance(item, dict) and len(item) == 1:
        item = item.get("message")
    return isinstance(item, str) and reports_nothing_found(item, wants_many=True)


def main_array(facts: Facts) -> Verdict | None:
    """An object whose main part is one array."""
    collection, call = facts.find_collection(), facts.call
    if (
        collection is None
        or isinstance(facts.value, list)
        or (facts.attachments and collection.path == ("content",))
    ):
        return None  # the attachments
    is_part = call.intent != "list" and _is_part(call, collection)
    if is_part or facts.repeats(collection):
        return None
    is_likely = collection.confidence == "likely"
    confidence = _confidence_by_name(call) if is_likely else collection.confidence
    return Verdict("list", confidence, found=collection)


def _confidence_by_name(call: Call) -> Confidence:
    """Return the confidence in a list that may be a part of something, by the tool's name."""
    is_unnamed = not call.words or call.wants_many or call.intent not in ("unknown", "read")
    return "likely" if is_unnamed else "guess"


def _is_part(call: Call, found: Collection) -> bool:
    """True if a collection is only a part of the result."""
    if not NAMES.ways.isdisjoint(call.words) and _is_route(found.items):
        return True
    if not found.rest:
        return False
    is_output = isinstance(found.rest.get("logs"), dict) or found.rest.get("stdout")
    if call.intent == "run" and is_output:
        return True
    parts = sum(isinstance(each, dict) and bool(each) for each in found.rest.values())
    if not call.wants_many and parts >= _PARTS:
        return True
    if call.words[:1] in _SUMMING and isinstance(found.rest.get("summary"), str):
        return True
    if not NAMES.computing.isdisjoint(call.words):
        return not is_generic(found)
    return not NAMES.exporting.isdisjoint(call.words) and found.confidence != "certain"


def _is_route(items: list[Any]) -> bool:
    """True if items are one route, or its steps."""
    if not items or not all(isinstance(each, dict) for each in items):
        return False
    is_only = len(items) == 1 and not NAMES.parts_of_ways.isdisjoint(items[0])
    return is_only or all("instruction" in each for each in items)


def lone_item(facts: Facts) -> Verdict | None:
    """One item, or none, as an object from a tool that lists."""
    call, value = facts.call, facts.value
    if not isinstance(value, dict) or facts.text is not None:
        return None
    is_asked = call.wants_many or [] in value.values()
    if is_asked and _reports_none(value):
        return _guess(Collection([], dict(value), (), "guess"))
    if not call.wants_many:
        return None
    if nothing_in(value, call.nouns) or _is_empty(value, call):
        return _guess(Collection([], dict(value), (), "guess"))
    named = named_things(value)
    if named is not None and not call.is_about_one:
        return _guess(named)
    if call.intent != "list" or not call.is_plural:
        return None
    found = mapped(value, call.words) if "list" in call.words else None
    if found is None and is_one(value):
        found = Collection([value], {}, (), "guess")
    return None if found is None else _guess(found)


def _is_empty(value: Mapping[str, Any], call: Call) -> bool:
    """True if the items are null or an empty map."""
    others = (each for name, each in value.items() if name != "items")
    if value.get("items", 0) is None and all(isinstance(each, dict) for each in others):
        return True
    if call.intent != "list" or len(value) != 1:
        return False
    ((name, held),) = value.items()
    member = member_of(name)
    return held == {} and (member.is_generic or member.noun in call.nouns)


def _reports_none(value: Mapping[str, Any]) -> bool:
    """True if an object without items has a message that nothing was found."""
    text = value.get("message")
    if not isinstance(text, str) or not value.keys().isdisjoint(("id", "name", "title")):
        return False
    if any(isinstance(each, dict | list) and each for each in value.values()):
        return False
    sentences = (text, split_sentence(text)[1])
    return any(reports_nothing_found(each, wants_many=True) for each in sentences)


def linked(facts: Facts) -> Verdict | None:
    """Links to several items, from a tool that returns links."""
    if not facts.attachments or not facts.call.wants_many:
        return None
    kinds = {each.get("type") for each in facts.attachments}
    if kinds != {"resource_link"} and (kinds != {"resource"} or len(facts.attachments) < 2):
        return None
    if facts.text is None and facts.value is not None:
        return None
    items = Items(list(facts.attachments), (facts.text or "").strip(), "", "links")
    return Verdict("list", "likely", found=items)


# Nothing found


def none_found(facts: Facts) -> Verdict | None:
    """A text that reports no results."""
    text, call = facts.english, facts.call
    if text is None or call.gives_content or call.gives_output or "count" in call.words:
        return None
    is_of_all = call.asks_for_all and begins(text, phrases.none_of_all)
    is_none = facts.reports_none or is_of_all
    if not is_none and not (call.wants_many and missing_noun(text) is not None):
        return None
    if not (call.wants_many or is_of_all) and _is_of_one(call, text):
        return None
    nothing = Items([], (facts.text or "").strip(), "", "none-found")
    confidence: Confidence = "likely" if call.wants_many else "guess"
    return Verdict(kind_of_list(facts, None), confidence, found=nothing)


def _is_of_one(call: Call, text: str) -> bool:
    """True if a negative text is about one thing: it has no problems, or does not exist."""
    is_part = call.is_about_one and missing_noun(text) is None
    return begins(after(phrases.marks_opening, text), phrases.no_problems) or (
        is_part and not reports_nothing_below_each(text)
    )


def nothing_listed(facts: Facts) -> Verdict | None:
    """An empty result, from a tool that lists."""
    call, value = facts.call, facts.value
    is_null = isinstance(value, dict) and list(value.values()) == [None]  # `{"users": null}`
    if facts.text is None and value and not is_null:
        return None
    text = None if facts.text is None else facts.text.strip()
    if (facts.attachments and text is None) or call.gives_output:
        return None
    is_asked = call.wants_many or not NAMES.histories.isdisjoint(call.words) or _opens(text)
    if not is_asked and (call.intent != "unknown" or text or not _selects(facts)):
        return None
    if text:
        is_none = text in _NOTHING or _is_heading(text)
    else:
        is_none = text is not None or value in (None, {}) or is_null
    return _guess(Items([], text or "", "", "nothing")) if is_none else None


def _selects(facts: Facts) -> bool:
    """True if an argument is a filter: `branch_type`."""
    return any(name.lower().endswith(_SELECTING) for name in facts.arguments)


def _is_heading(text: str) -> bool:
    """True if a text is an empty heading, or ends with one."""
    lines = [line for line in text.splitlines() if not line or not is_rule(line.strip())]
    above = list(split_advice(lines)[0]) or [""]
    last = above.pop()
    while above and not last.strip():
        last = above.pop()
    if not last.endswith(":"):
        return not above and phrases.empty_heading.fullmatch(last) is not None
    return not above or (len(above) <= _MOST_ABOVE and not above[-1].strip())


# Texts


def itemised(facts: Facts) -> Verdict | None:
    """A text that is clearly a list and does not describe one thing."""
    text, call = facts.text, facts.call
    if text is None or call.gives_output:
        return None
    is_catalog = expects_tools(facts)
    if call.gives_content or call.gives_prose:
        return (_tools_in(facts, text) if is_catalog else None) or _counted(facts, text)
    is_open = call.intent in ("read", "unknown") and not call.is_about_one
    is_search = is_open and not _SEARCHING.isdisjoint(facts.arguments)
    wants_list = is_catalog or call.wants_many or is_search or _opens(text.lstrip("#* \n"))
    if asked := counts_asked(facts.arguments):  # as many as an argument requests
        items = find_items(text, wants_list=True, blocks=facts.texts)
        if items is not None and items.rule != "commas" and len(items.items) in asked:
            return _verdict(facts, items)
    items = find_items(text, wants_list=wants_list, blocks=facts.texts)
    if items is None or (not states_count(items) and _is_of_text(items, call)):
        return None
    is_asked = is_catalog or (wants_list and not call.is_about_one)
    is_known = call.intent != "unknown" or call.is_about_one
    if not is_asked and is_known and _is_faint(items, call.is_about_one):
        return None
    if call.intent != "list" and _is_of_one_thing(items):
        return None
    if call.is_query:
        items = _of_statement(items, facts, text.strip())
    is_bare = items.rule == "plain-lines" and not items.heading
    if is_bare and call.intent != "list" and (call.intent == "run" or not call.is_plural):
        return None
    return _verdict(facts, items)


def _tools_in(facts: Facts, text: str) -> Verdict | None:
    """Return a catalog if a text has only tools."""
    items = find_items(text, wants_list=True, blocks=facts.texts)
    verdict = None if items is None else _verdict(facts, items)
    return verdict if verdict is not None and verdict.kind == "tool_catalog" else None


def _verdict(facts: Facts, items: Items) -> Verdict:
    return Verdict(kind_of_list(facts, items), _confidence_by_name(facts.call), found=items)


def _is_of_text(items: Items, call: Call) -> bool:
    """True if items are lines of a log, or the sources of an answer."""
    is_log = call.gives_log and items.rule in words("texts.rules-of-a-log")
    above, _, last = items.heading.rpartition("\n")
    return is_log or (bool(above) and phrases.sources_heading.fullmatch(last) is not None)


def _of_statement(items: Items, facts: Facts, text: str) -> Items:
    """Return the rows of a statement, without the line with the name of their column."""
    if items.rule == "plain-lines" and not items.heading:
        return items._replace(items=items.items[1:], heading=items.items[0])
    given = (each for each in facts.arguments.values() if isinstance(each, str))
    selected = next((found[1] for each in given if (found := phrases.selected.match(each))), "")
    columns = [column.strip().rpartition(".")[2] for column in selected.split(",")]
    if items.rule == "lone-name" and text in columns:
        return items._replace(items=[], heading=text)
    return items


def _is_of_one_thing(items: Items) -> bool:
    """True for labelled bullets, a table of metrics or a line of labels about one thing."""
    if items.rule == "pairs":
        return len(items.items) == 1
    if items.rule == "table" and items.items:
        return [name.lower() for name in items.items[0]] == ["metric", "value"]
    are_texts = all(isinstance(each, str) for each in items.items)
    may_be_record = items.rule == "bullets" and are_texts and not states_count(items)
    return may_be_record and is_record(items.items)


def _is_faint(items: Items, is_one: bool) -> bool:
    """True if items may describe one thing rather than several."""
    if items.rule in _TABLES:
        return is_one and len(items.items) == 1
    if items.rule not in _FAINT or states_count(items):
        return False
    are_records = len(items.items) > 1 and all(isinstance(each, dict) for each in items.items)
    return is_one or not are_records


def _counted(facts: Facts, text: str) -> Verdict | None:
    """A list with as many items as its heading states, from a tool that may return documents."""
    call = facts.call
    is_open = call.intent == "unknown" or call.gives_prose
    if not is_open or not phrases.counted_heading.match(text):
        return None
    items = find_items(text, wants_list=True, blocks=facts.texts)
    return None if items is None or len(items.items) not in items.stated else _guess(items)


def _opens(text: str | None) -> bool:
    """True if a text begins like a list."""
    first = (text or "").partition("\n")[0]
    small = first.lower()
    for each in _LISTING:
        if each in small:
            break
    else:
        return False
    return phrases.list_heading.fullmatch(first) is not None
