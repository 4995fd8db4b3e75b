"""Objects that hold several things by their names, and what an object says of one thing."""

from collections.abc import Mapping
from typing import Any, Final

from accord.reader.collection import CONTAINERS, DEEPEST, Collection
from accord.reader.lexicon import MEMBERS, Member, member_of, words, words_of

_SAID: Final = words("members.said")
_FIELDS: Final = words("members.of-one")
_FEWEST: Final = 3
"""Members of an object that are items by their values alone."""
_MANY: Final = 8
"""Members that only a thing has, rather than an answer about several."""


def is_one(value: Mapping[str, Any]) -> bool:
    """Whether an object is a thing with a name of its own, rather than words about a list."""
    members = [(member_of(name), each) for name, each in value.items()]
    if any(member.is_paging or member.is_count for member, _ in members):
        return False
    return any(member.is_identity and isinstance(each, str | int) for member, each in members)


def named_things(value: Mapping[str, Any]) -> list[Any] | None:
    """The objects of an object that has nothing but those, alike, each by its name."""
    things = [each for each in value.values() if isinstance(each, dict)]
    if len(things) < 2 or len(things) < len(value) or not set(things[0]).intersection(*things[1:]):
        return None
    return [keyed(name, each) for name, each in value.items()]


def mapped(value: Mapping[str, Any], called: tuple[str, ...], depth: int = 0) -> Collection | None:
    """What an object holds by name, itself or in its one member that is named for several."""
    things = entries(value) if len(value) > 1 else None
    if things is not None:
        return Collection(things, {}, (), "guess")
    inner = [name for name, each in value.items() if isinstance(each, dict | list) and each]
    if len(inner) != 1 or not isinstance(value[inner[0]], dict):
        return None
    name = inner[0]
    if name.lower() in CONTAINERS:
        deeper = mapped(value[name], called, depth + 1) if depth < DEEPEST else None
        return deeper and deeper._replace(path=(name, *deeper.path))
    rest = {each: value[each] for each in value if each != name}
    if any(isinstance(each, str) and not _goes_along(beside) for beside, each in rest.items()):
        return None
    words = words_of(name)
    is_named = bool(words) and set(words).issubset(called)
    things = entries(value[name], is_held=True) if is_named else None
    return None if things is None else Collection(things, rest, (name,), "guess")


def _goes_along(name: str) -> bool:
    """Whether a member says how it went, or by which number, rather than what of."""
    return name in _SAID or name.endswith(("_id", "Id")) or member_of(name).is_paging


def entries(value: Mapping[str, Any], *, is_held: bool = False) -> list[Any] | None:
    """The members of an object that are all of one kind and have names of their own.

    `is_held`: it goes by the name of several things; else they have to be sentences, or objects.
    """
    if not value or not _SAID.isdisjoint(value) or not _FIELDS.isdisjoint(value):
        return None
    if any(each.is_identity or each.is_beside for each in map(member_of, value)):
        return None
    each_of = value.values()
    if all(isinstance(each, dict) for each in each_of):
        return [keyed(name, each) for name, each in value.items()]
    are_texts = all(isinstance(each, str) and "\n" not in each for each in each_of)
    if are_texts and not is_held:
        are_texts = len(value) >= _FEWEST and all(" " in each for each in each_of)
    are_groups = is_held and all(
        isinstance(each, list) and not _holds_objects(each) for each in each_of
    )
    are_figures = is_held and all(type(each) is int for each in each_of)
    if not (are_texts or are_groups or are_figures):
        return None
    return [{"key": name, "value": each} for name, each in value.items()]


def _holds_objects(items: list[Any]) -> bool:
    return any(isinstance(item, dict) for item in items)


def keyed(name: str, thing: dict[str, Any]) -> dict[str, Any]:
    """A thing with the name that it goes by."""
    return {"_key" if "key" in thing else "key": name, **thing}


def nothing_in(value: Mapping[str, Any], nouns: frozenset[str]) -> bool:
    """Whether an object without any array says that the number of things in it is none."""
    if any(isinstance(each, list) for each in value.values()):
        return False
    if len(value) > _MANY and is_one(value):
        return False
    return any(
        type(each) is int and each == 0 and (member.is_count or _is_number_of(member, nouns))
        for member, each in ((member_of(name), each) for name, each in value.items())
    )


def _is_number_of(member: Member, nouns: frozenset[str]) -> bool:
    """Whether a member counts what was asked for, or a kind of things by one word."""
    counted = member.number_of - MEMBERS.numbers
    return len(counted) == 1 or not counted.isdisjoint(nouns)
