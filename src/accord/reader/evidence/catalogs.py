"""Evidence that a reply is a list of tools: their names, parameters and descriptions."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from accord.model.response import CATALOG, ResponseType
from accord.reader.collection import Collection, entries, is_generic, keyed
from accord.reader.evidence import Facts, Verdict
from accord.reader.items import Items
from accord.reader.items.fields import is_catalog
from accord.reader.lexicon import MEMBERS, NAMES, member_of, ordered, phrases, singular, squeezed
from accord.reader.reading import Confidence

_NAMES: Final = (*ordered("members.tool-names"), *ordered("members.names"))
_PARAMETERS: Final = ordered("members.tool-parameters")
_DESCRIPTIONS: Final = ordered("members.tool-descriptions")
_ANY_NOUN: Final = NAMES.catalog | NAMES.catalog_with_parameters
_MOST_CHECKED: Final = 20
"""Items of a list that are checked."""


def catalog(facts: Facts) -> Verdict | None:
    """A list of tools: each with a name and parameters or a description, under any names."""
    value, call = facts.value, facts.call
    is_act = call.intent == "act"
    if type(value) is dict and not is_act and (tools := _member_tools(facts, value)) is not None:
        return tools
    collection = facts.find_collection()
    if collection is None or (is_act and facts.tool != CATALOG) or facts.repeats(collection):
        return None  # the report of an action
    items, path = collection.items, collection.path
    if facts.tool == CATALOG or is_catalog(items) or _are_functions(items):
        return Verdict("tool_catalog", found=collection)
    nouns = {member_of(path[-1]).noun} if path else set[str]()
    if call.wants_many or call.intent == "unknown" or "help" in call.words:
        nouns |= _nouns_of(call.words)
    if items and not call.gives_content and _are_tools(items, nouns):
        return Verdict("tool_catalog", "likely", found=collection)
    if not _is_for_tools(facts):
        return None
    if any(isinstance(each, dict) and "price" in each for each in items):
        return None  # tools for sale
    is_sure = path[-1:] == ("tools",) or collection.confidence == "certain"
    is_named = all(isinstance(each, str) or _name_of(each) or _has_inner(each) for each in items)
    if is_named and (is_sure or is_generic(collection)):
        return Verdict("tool_catalog", "likely", found=collection)
    return None


def _nouns_of(words: tuple[str, ...]) -> frozenset[str]:
    """Return the nouns of a tool's name: the plural ones, if it has any."""
    plurals = {word for word in words if word.endswith("s") and word not in NAMES.no_plural}
    return frozenset(map(singular, plurals or words))


def _are_tools(items: list[Any], nouns: set[str]) -> bool:
    """True if items have a name, and the parameters or description that their noun requires."""
    is_named_for = not nouns.isdisjoint(_ANY_NOUN)
    if not is_named_for:
        names = set(map(squeezed, _members_of(items[0])))
        if "signature" not in names and MEMBERS.tool_names.isdisjoint(names):
            return False
    few = [_unwrapped(each) for each in items[:_MOST_CHECKED]]
    if not all(map(_name_of, few)):
        return False
    members = [{squeezed(name) for name, each in item.items() if each is not None} for item in few]
    is_named = all(not MEMBERS.tool_names.isdisjoint(each) for each in members)
    parameters = sum(not each.isdisjoint(_PARAMETERS) for each in members)
    descriptions = sum(not each.isdisjoint(_DESCRIPTIONS) for each in members)
    most = len(few) / 2
    if not nouns.isdisjoint(NAMES.catalog):
        return parameters > most or descriptions > most
    if not nouns.isdisjoint(NAMES.catalog_with_parameters):
        return parameters > most and (is_named or descriptions > most or all(map(_has_schema, few)))
    if descriptions == len(few) and all("signature" in each for each in members):
        return True
    is_sole = not any("name" in each for each in members)
    return is_named and is_sole and parameters == descriptions == len(few)


def _has_schema(item: dict[str, Any]) -> bool:
    """True if an item has a JSON Schema, under any name for parameters."""
    schemas = [each for name, each in item.items() if squeezed(name) in _PARAMETERS]
    return any(isinstance(each, dict) and "properties" in each for each in schemas)


def _has_inner(item: Any) -> bool:
    """True if an item has a description and an object, which may hold the other members."""
    is_object = isinstance(item, dict) and any(isinstance(each, dict) for each in item.values())
    return is_object and not set(map(squeezed, item)).isdisjoint(_DESCRIPTIONS)


def _members_of(item: Any) -> Iterable[str]:
    return item if type(item) is dict else ()


def _unwrapped(item: Any) -> Any:
    """Return an item, or the function in it: `{"type": "function", "function": {…}}`."""
    inner = item.get("function") if isinstance(item, dict) else None
    return inner if isinstance(inner, dict) else item


def _are_functions(items: list[Any]) -> bool:
    """True if items are functions in the format of model APIs."""
    if not items or _unwrapped(items[0]) is items[0]:
        return False
    return is_catalog([_unwrapped(each) for each in items])


def _name_of(item: Any) -> str | None:
    """Return the name of a tool, from any member that may hold it."""
    members = {squeezed(name): each for name, each in item.items()} if type(item) is dict else {}
    found = (members[name] for name in _NAMES if name in members)
    return next((each for each in found if isinstance(each, str) and each), None)


# Tools in the members of an object


def _member_tools(facts: Facts, value: dict[str, Any]) -> Verdict | None:
    """A catalog under a member named for tools, or in groups, such as servers."""
    is_for_tools = _is_for_tools(facts)
    nouns = NAMES.catalog if is_for_tools else _ANY_NOUN & facts.call.nouns
    if not nouns and "tools" not in value:
        return None
    named = [name for name in value if member_of(name).noun in nouns]
    for name in ["tools"] if "tools" in value else named:
        verdict = _tools_under(facts, value, name, is_for_tools)
        if verdict is not None:
            return verdict
    groups = _grouped_tools(value) if is_for_tools and "tools" in facts.call.words else None
    return None if groups is None else Verdict("tool_catalog", "likely", found=groups)


def _tools_under(
    facts: Facts, value: dict[str, Any], name: str, is_for_tools: bool
) -> Verdict | None:
    """A catalog in a member: a list of tools, or an object of tools by name."""
    tools: Any = value[name]
    confidence: Confidence = "certain"
    found: list[Any] | None = None
    if isinstance(tools, dict):
        is_asked = is_for_tools or name != "tools" or "help" in facts.call.words
        found, confidence = entries(tools, is_held=True) if is_asked else None, "likely"
        is_loose = member_of(name).noun in NAMES.catalog_with_parameters
        if found and is_loose and not _are_tools(found, {member_of(name).noun}):
            return None
    elif isinstance(tools, list):
        is_page = name == "tools" and value.keys() <= {name, "nextCursor"}
        found = tools if is_catalog(tools) or (is_page and not tools) else None
    return None if found is None else _collected(found, value, name, confidence)


def _collected(
    tools: list[Any], value: Mapping[str, Any], name: str, confidence: Confidence
) -> Verdict:
    rest = {key: each for key, each in value.items() if key != name}
    return Verdict("tool_catalog", confidence, found=Collection(tools, rest, (name,), confidence))


def _grouped_tools(value: Mapping[str, Any]) -> Collection | None:
    """Return the tools of several groups, each with the name of its group as `key`."""
    tools = _in_groups(value)
    if tools is not None:
        return Collection(tools, {}, (), "likely")
    inner = [name for name, each in value.items() if isinstance(each, dict | list)]
    groups = value[inner[0]] if len(inner) == 1 else None
    tools = _in_groups(groups, 1) if isinstance(groups, dict) else None
    if tools is None:
        return None
    rest = {key: each for key, each in value.items() if key != inner[0]}
    return Collection(tools, rest, (inner[0],), "likely")


def _in_groups(value: Mapping[str, Any], fewest: int = 2) -> list[Any] | None:
    """Return the tools in groups; None if an object has anything else."""
    if len(value) < fewest or not MEMBERS.no_groups.isdisjoint(value):
        return None
    found: list[Any] = []
    for name, group in value.items():
        tools = _tools_of(group) if isinstance(group, dict) else group
        if not isinstance(tools, list) or not tools or member_of(name).is_generic:
            return None
        if not all(isinstance(tool, str) or _name_of(tool) for tool in tools):
            return None
        found += [keyed(name, {"name": each} if isinstance(each, str) else each) for each in tools]
    return found


def _tools_of(group: dict[str, Any]) -> Any:
    """Return the tools in a group, or the group if it is a tool; None if it is neither."""
    held = [each for name, each in group.items() if member_of(name).noun == "tool"]
    if len(held) == 1 and isinstance(held[0], list):
        return held[0]
    names = set(map(squeezed, group))
    is_tool = not MEMBERS.tool_names.isdisjoint(names) and not names.isdisjoint(_DESCRIPTIONS)
    return [group] if is_tool else None


def _is_for_tools(facts: Facts) -> bool:
    """True if the tool is named for tools: `list_tools`, `tool_list`; not `tool_list_files`."""
    call = facts.call
    is_only = "tool" in call.words and NAMES.of_tools.issuperset(call.words)
    is_listing = call.wants_many or "catalog" in call.words
    return ("tools" in call.words or is_only) and is_listing


# Tools in a text


def expects_tools(facts: Facts) -> bool:
    """True if a text should be a list of tools, by its heading or the name of the tool."""
    return "tools" in facts.call.words or _is_for_tools(facts) or _begins_catalog(facts)


def _begins_catalog(facts: Facts) -> bool:
    """True if a text begins with a heading of tools: `Available tools:`."""
    text, english = facts.text, facts.english
    if text is None or english is None or "\n" not in text:
        return False
    is_heading = phrases.tools_heading.match(text) is not None
    return is_heading or (english is not text and bool(phrases.tools_heading.match(english)))


def kind_of_list(facts: Facts, found: Items | None) -> ResponseType:
    """Return the type of a list in text: a catalog if its items are described tools."""
    call = facts.call
    around = (facts.english or "",) if found is None else (found.heading, found.closing)
    if "tools" in call.words and NAMES.only_tools.issuperset(call.words):
        return "tool_catalog"
    if _is_for_tools(facts) and any(phrases.a_tool.search(each.lower()) for each in around):
        return "tool_catalog"
    if found is None or not found.items or not all(map(_is_described, found.items)):
        return "list"
    nouns = _ANY_NOUN & _nouns_of(call.words)
    is_catalog = not nouns.isdisjoint(NAMES.catalog) or (
        bool(nouns) and all(map(_is_signature, found.items))
    )
    is_asked = is_catalog and (call.wants_many or "tools" in call.words)
    is_counted = any(phrases.counted_tools.search(each.lower()) for each in around)
    return "tool_catalog" if is_asked or is_counted or _begins_catalog(facts) else "list"


def _is_signature(item: Any) -> bool:
    """True if an item in a text begins with a signature: `read(path)`."""
    return isinstance(item, str) and phrases.signature.match(item) is not None


def _is_described(item: Any) -> bool:
    """True if an item in a text has a name and a description."""
    if isinstance(item, str):
        return phrases.tool_item.match(item) is not None
    return isinstance(item, dict) and not set(map(squeezed, item)).isdisjoint(_DESCRIPTIONS)


def as_tool(item: Any) -> Any:
    """Return a tool with its members renamed to `name`, `description` and `schema`."""
    tool = _unwrapped(item)
    if _name_of(tool) is None:
        return item
    plain = {squeezed(name): name for name in tool}
    renamed: dict[str, str] = {}
    for member, names in (
        ("name", _NAMES),
        ("description", _DESCRIPTIONS),
        ("schema", _PARAMETERS),
    ):
        own = next((plain[each] for each in names if each in plain), None)
        if own is not None and member not in tool:
            renamed[own] = member
    return {renamed.get(name, name): each for name, each in tool.items()}
