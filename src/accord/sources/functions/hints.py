"""Type hints, as people write them, into types and schemas that msgspec understands."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec

from accord.arguments import JsonSchema
from accord.errors import ContractError

_META: Final = (
    *("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern"),
    *("title", "description"),
)


def annotate(hint: Any, description: str | None, what: str) -> Any:
    """The hint with its bounds and description in msgspec's own terms.

    `Annotated` takes msgspec's Meta, a plain string or a `Doc` as description, and the bounds of
    annotated-types and pydantic's Field, known by their attributes alone.
    """
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        try:
            for meta in _metas(extras):
                hint = Annotated[hint, meta]
        except (TypeError, ValueError) as error:
            raise ContractError(f"{what} has bounds that make no sense: {error}") from error
    if description and "description" not in describe(hint, what):
        hint = Annotated[hint, msgspec.Meta(description=description)]
    return hint


def describe(hint: Any, what: str) -> JsonSchema:
    """The JSON Schema of a type: `$defs` at the root, and never a bare `$ref` there."""
    try:
        (schema,), defs = msgspec.json.schema_components([hint], ref_template="#/$defs/{name}")
    except (TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(f"{what} has a type that JSON cannot carry: {reason}") from error
    if set(schema) == {"$ref"}:
        name = schema["$ref"].rpartition("/")[2]
        schema = dict(defs[name])
        if not _mentions(defs, name):
            del defs[name]
    return {**schema, "$defs": defs} if defs else schema


def _metas(extras: Iterable[Any]) -> Iterator[msgspec.Meta]:
    for extra in extras:
        if isinstance(extra, msgspec.Meta):
            yield extra
        elif isinstance(extra, str):
            yield msgspec.Meta(description=extra)
        else:
            words = {"description": getattr(extra, "documentation", None)}
            named = {name: getattr(extra, name, None) for name in _META}
            known = {name: value for name, value in (words | named).items() if value is not None}
            if known:
                yield msgspec.Meta(**known)
            yield from _metas(getattr(extra, "metadata", ()))


def _mentions(node: Any, name: str) -> bool:
    if isinstance(node, dict):
        return node.get("$ref") == f"#/$defs/{name}" or any(
            _mentions(value, name) for value in node.values()
        )
    return isinstance(node, list) and any(_mentions(value, name) for value in node)
