"""What a function returns, from its return hint."""

from collections.abc import Callable, Iterator
from typing import Any, Final, get_args, get_origin

import msgspec

from accord.answer import Answer
from accord.arguments import JsonSchema
from accord.sources.functions.hints import annotate, describe

_SAYS_NOTHING: Final = (Any, None, type(None), Answer)


class Result:
    """The output schema, and the check that a result keeps to it; none where the hint says nothing.

    `str` is text as it stands: neither a JSON value nor structure.
    """

    def __init__(self, hint: Any, tool: str) -> None:
        if get_origin(hint) is Answer:
            (hint,) = get_args(hint)
        self.is_text = hint is str
        self.schema: JsonSchema | None = None
        self.check: Callable[[bytes], object] | None = None
        self.is_loose = not self.is_text
        if not self.is_text and not any(hint is silent for silent in _SAYS_NOTHING):
            what = f"the result of tool {tool!r}"
            hint = annotate(hint, None, what)
            self.schema = describe(hint, what)
            self.check = msgspec.json.Decoder(hint).decode
            self.is_loose = _is_loose(self.schema)


def _is_loose(schema: JsonSchema) -> bool:
    """Whether some part of it may be anything."""
    if not schema.keys() & {"type", "enum", "const", "anyOf", "$ref"}:
        return True
    match schema.get("type"):
        case "array" if not schema.keys() & {"items", "prefixItems"}:
            return True
        case "object" if not schema.keys() & {"properties", "additionalProperties"}:
            return True
    return any(_is_loose(inner) for inner in _inside(schema))


def _inside(schema: JsonSchema) -> Iterator[JsonSchema]:
    for key in ("properties", "$defs"):
        yield from schema.get(key, {}).values()
    for key in ("anyOf", "prefixItems"):
        yield from schema.get(key, ())
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield schema[key]
