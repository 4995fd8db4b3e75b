"""The members of `character_data`, from the model."""

from collections.abc import Iterable, Iterator
from inspect import getdoc

from msgspec import inspect as types

from accord.sources.sheets.members import Member, bare, members
from accord.sources.sheets.model import ABILITIES, SKILLS, Character

NAMES: dict[frozenset[object], str] = {
    frozenset(ABILITIES): "ability",
    frozenset(SKILLS): "skill",
}
UNBOUNDED = 1_000
"""Limits from here on are only against accidents; the page leaves them out."""


def generate() -> str:
    """Return a table of members for the character, and one for each class of objects in it."""
    paths: dict[type, list[str]] = {Character: [""]}
    for member in members():
        if cls := _class(member.type):
            paths.setdefault(cls, []).append(member.path + _suffix(member.type))
    sections = [_section(cls, paths_of_cls) for cls, paths_of_cls in paths.items()]
    return "\n\n".join([*sections, _names("An ability", ABILITIES), _names("A skill", SKILLS)])


def _section(cls: type, paths: list[str]) -> str:
    own = [member for member in members() if member.parent == paths[0]]
    heading = [f"### {_heading(paths)}"] if paths[0] else []
    rows = ["| member | type | |", "|---|---|---|", *map(_row, own)]
    return "\n\n".join([*heading, (getdoc(cls) or "").partition("\n")[0], "\n".join(rows)])


def _heading(paths: list[str]) -> str:
    """Return the first and the last of the paths of objects with the same members."""
    if len(paths) == 1:
        return f"`{paths[0]}`"
    return f"`{paths[0]}` {'and' if len(paths) == 2 else 'to'} `{paths[-1]}`"


def _names(kind: str, names: Iterable[str]) -> str:
    return f"{kind} is one of {', '.join(f'`{name}`' for name in names)}."


def _suffix(kind: types.Type) -> str:
    kind, _ = bare(kind)
    return {types.ListType: "[]", types.DictType: ".*"}.get(type(kind), "")


def _class(kind: types.Type) -> type | None:
    """Return the class of an object, of the items of a list or of the values of a mapping."""
    kind, _ = bare(kind)
    if isinstance(kind, types.ListType):
        return _class(kind.item_type)
    if isinstance(kind, types.DictType):
        return _class(kind.value_type)
    return kind.cls if isinstance(kind, types.StructType) else None


def _row(member: Member) -> str:
    return f"| `{member.name}` | {_type(member.type)} | {' '.join(_remarks(member))} |"


def _remarks(member: Member) -> Iterator[str]:
    if member.is_required:
        yield "Required."
    if member.description:
        yield f"{member.description.removesuffix('…').rstrip(', ')}."
    if member.aliases:
        yield f"Also `{'`, `'.join(member.aliases)}`."


def _type(kind: types.Type) -> str:
    """Return a few words for a type."""
    kind, _ = bare(kind)
    match kind:
        case types.StrType():
            return "text"
        case types.BoolType():
            return "true or false"
        case types.IntType(ge=least, le=most):
            return f"integer{_bounds(least, most)}"
        case types.LiteralType(values=values):
            return NAMES[frozenset(values)]
        case types.ListType(item_type=item):
            return f"list of {_plural(_type(item))}"
        case types.DictType(key_type=key, value_type=value):
            return f"{_type(value)} for each {_type(key)}"
        case types.UnionType(types=kinds):
            given = [each for each in kinds if not isinstance(each, types.NoneType)]
            return " or ".join(map(_type, given))
        case types.StructType():
            return "object"
    raise TypeError(f"no words for {kind}")


def _bounds(least: int | None, most: int | None) -> str:
    if most is not None and most < UNBOUNDED:
        return f", {least} to {most}"
    return f", at least {least}" if least == 0 else ""


def _plural(name: str) -> str:
    return {"text": "texts", "ability": "abilities", "skill": "skills"}.get(name, f"{name}s")
