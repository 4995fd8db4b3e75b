"""The rule that says that a reply is a list of tools."""

import re
from collections.abc import Mapping
from typing import Any, Final

from accord.model.response import CATALOG, ResponseType
from accord.reader.collection import Collection, is_generic
from accord.reader.evidence.facts import Facts, Verdict
from accord.reader.items.fields import is_catalog, is_described
from accord.reader.keyed import entries, keyed
from accord.reader.lexicon.members import member_of
from accord.reader.reading import Confidence

_OF_TOOLS: Final = frozenset({"tool", "list", "search", "find", "catalog", "discover", "mcp"})
_ONLY_TOOLS: Final = frozenset("tools list all available get show mcp".split())
"""The words of a name that says nothing but that tools are listed."""
_NO_GROUPS: Final = frozenset("tools resources prompts servers errors warnings".split())
"""What stands beside tools, rather than for a kind of them."""
_A_TOOL: Final = re.compile(r"\btools?\b")


def catalog(facts: Facts) -> Verdict | None:
    """Tools: what each takes is there, or the tool is named for listing them."""
    value = facts.value
    is_act = facts.call.intent == "act"
    if type(value) is dict and "tools" in value and not is_act:
        verdict = _told_tools(facts, value["tools"])
        if verdict is not None:
            return verdict
    if "tools" in facts.call.words and type(value) is dict and _lists_tools(facts):
        groups = _grouped_tools(value)
        if groups is not None:
            return Verdict("tool_catalog", "likely", found=groups)
    collection = facts.find_collection()
    if collection is None or (facts.arguments and facts.repeats(collection)):
        return None
    items, path = collection.items, collection.path
    if is_act and facts.tool != CATALOG:
        return None  # which says what there is now
    if facts.tool == CATALOG or is_catalog(items):
        return Verdict("tool_catalog", found=collection)
    lists_tools = _lists_tools(facts)
    if not lists_tools and "tools" not in path:
        return None
    named = path[-1:] == ("tools",)
    if named and is_described(items) and not facts.call.gives_content:
        return Verdict("tool_catalog", "likely", found=collection)
    is_sure = (
        named
        or collection.confidence == "certain"
        or (is_generic(collection) and is_described(items))
    )
    if lists_tools and is_sure and _nameable(items):
        return Verdict("tool_catalog", "likely", found=collection)
    return None


def _told_tools(facts: Facts, tools: Any) -> Verdict | None:
    """The tools that stand under `tools`: a list of them, or each by its name."""
    confidence: Confidence = "certain"
    if isinstance(tools, dict) and (_lists_tools(facts) or "help" in facts.call.words):
        tools, confidence = entries(tools, is_held=True), "likely"
    elif not isinstance(tools, list) or not (
        is_catalog(tools) or (not tools and facts.value.keys() <= {"tools", "nextCursor"})
    ):
        return None
    if tools is None:
        return None
    found = Collection(tools, _without(facts.value, "tools"), ("tools",), confidence)
    return Verdict("tool_catalog", confidence, found=found)


def _grouped_tools(value: Mapping[str, Any]) -> Collection | None:
    """The tools of several servers, or of several kinds, each with the name that it goes by."""
    tools = _in_groups(value)
    if tools is not None:
        return Collection(tools, {}, (), "likely")
    inner = [name for name, each in value.items() if isinstance(each, dict | list)]
    groups = value[inner[0]] if len(inner) == 1 else None
    tools = _in_groups(groups) if isinstance(groups, dict) else None
    if tools is None:
        return None
    return Collection(tools, _without(value, inner[0]), (inner[0],), "likely")


def _in_groups(value: Mapping[str, Any]) -> list[Any] | None:
    """The tools in several groups, where there is nothing else."""
    if len(value) < 2 or not _NO_GROUPS.isdisjoint(value):
        return None
    found: list[Any] = []
    for name, group in value.items():
        tools = group.get("tools") if isinstance(group, dict) else group
        if not isinstance(tools, list) or not tools or not all(map(_is_named, tools)):
            return None
        if member_of(name).is_generic:
            return None
        found += [keyed(name, each) for each in tools]
    return found


def _is_named(tool: Any) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str)


def _nameable(items: list[Any]) -> bool:
    return all(isinstance(each, str) or _is_named(each) for each in items)


def _lists_tools(facts: Facts) -> bool:
    """Whether the tool is named for tools: `list_tools`, `tool_list`; not `tool_list_files`."""
    call = facts.call
    words = call.words
    is_named = "tools" in words or ("tool" in words and _OF_TOOLS.issuperset(words))
    return is_named and call.wants_many


def _without(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key != name}


def kind_of_list(facts: Facts, *around: str) -> ResponseType:
    """A list, or a catalog where a tool that lists tools says that these are some."""
    if _ONLY_TOOLS.issuperset(facts.call.words) and "tools" in facts.call.words:
        return "tool_catalog"
    if _lists_tools(facts) and any(_A_TOOL.search(words.lower()) for words in around):
        return "tool_catalog"
    return "list"
