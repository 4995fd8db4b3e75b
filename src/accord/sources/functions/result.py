"""What a function returns, from its return hint."""

from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin

import msgspec

from accord.model.answer import Answer
from accord.model.arguments import JsonSchema
from accord.model.content import Block
from accord.model.tool import Output
from accord.sources.functions.hints import annotate, describe

_SAYS_NOTHING: Final = (Any, None, type(None), Answer)
_BLOCKS: Final = frozenset(get_args(Block))
_KINDS: Final = frozenset({"type", "enum", "const", "anyOf", "$ref"})


def promised(hint: Any, tool: str) -> Output:
    """What a return hint promises; nothing where it says nothing.

    `str` is text as it stands: neither a JSON value nor structure.
    """
    if get_origin(hint) is Answer:
        (hint,) = get_args(hint)
    if hint is str:
        return Output(is_text=True, is_loose=False)
    if any(hint is silent for silent in _SAYS_NOTHING) or _has_blocks(hint):
        return Output()
    what = f"the result of tool {tool!r}"
    hint = annotate(hint, None, what)
    schema = describe(hint, what)
    parts = list(_parts(schema))
    return Output(
        schema=schema,
        check=msgspec.json.Decoder(hint).decode,
        is_loose=any(_is_open(part) for part in parts),
        hides_nan=any(_is_nullable_number(part) for part in parts),
        is_recursive=_is_recursive(schema),
        is_unordered=any("uniqueItems" in part for part in parts),
    )


def _has_blocks(hint: Any) -> bool:
    """Whether pictures and the like are returned, which are content and no data."""
    if isinstance(hint, type) and hint in _BLOCKS:
        return True
    return any(_has_blocks(part) for part in get_args(hint))


def _parts(schema: JsonSchema) -> Iterator[JsonSchema]:
    """A schema and all those that it is made of."""
    yield schema
    inner: list[Any] = [*schema.get("anyOf", ()), *schema.get("prefixItems", ())]
    for key in ("properties", "$defs"):
        inner += schema.get(key, {}).values()
    inner += [schema.get(key) for key in ("items", "additionalProperties")]
    for part in inner:
        if isinstance(part, dict):
            yield from _parts(part)


def _is_recursive(schema: JsonSchema) -> bool:
    """Whether a definition refers to itself, or to one that does."""
    defs = schema.get("$defs", {})
    refers = {name: _references(part) for name, part in defs.items()}
    for _ in defs:  # those that refer to nothing that is left are no part of a circle
        refers = {name: names & refers.keys() for name, names in refers.items() if names}
    return bool(refers)


def _references(schema: JsonSchema) -> set[str]:
    return {part["$ref"].rpartition("/")[2] for part in _parts(schema) if "$ref" in part}


def _is_open(part: JsonSchema) -> bool:
    """Whether it may be anything."""
    if part.keys().isdisjoint(_KINDS):
        return True
    match part.get("type"):
        case "array":
            return part.keys().isdisjoint({"items", "prefixItems"})
        case "object":
            return part.keys().isdisjoint({"properties", "additionalProperties"})
    return False


def _is_nullable_number(part: JsonSchema) -> bool:
    kinds = {each.get("type") for each in part.get("anyOf", ())}
    return {"number", "null"} <= kinds
