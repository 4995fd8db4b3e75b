"""Type hints, as people write them, into types and schemas that msgspec understands."""

import inspect
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, time
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from accord.errors import ContractError
from accord.model.arguments import JsonSchema

_BOUNDS: Final = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
_WORDS: Final = ("title", "description", "examples", "extra_json_schema", "extra")
_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs"})
_WITHIN: Final = frozenset(
    {"items", "prefixItems", "additionalProperties", "anyOf", "allOf", "oneOf", "not"}
)
_FORMATS: Final = {datetime: "date-time", time: "time"}  # which msgspec names only with a zone


def annotate(hint: Any, description: str | None, what: str) -> Any:
    """The hint with its bounds and description in msgspec's own terms.

    `Annotated` takes msgspec's Meta, a plain string or a `Doc` as description, and the bounds of
    annotated-types and pydantic's Field, known by their attributes alone.
    """
    try:
        _refuse_hidden_bounds(hint)
        hint = _translate(hint)
    except NameError as error:
        raise ContractError(f"{what} names a type that nobody knows: {error}") from error
    except (TypeError, ValueError, re.error) as error:
        raise ContractError(f"{what} has bounds that cannot be kept: {error}") from error
    if description and not _is_described(hint):
        hint = Annotated[hint, msgspec.Meta(description=description)]
    return hint


def _is_described(hint: Any) -> bool:
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return any(getattr(extra, "description", None) for extra in extras)


def describe(hint: Any, what: str) -> JsonSchema:
    """The JSON Schema of a type: `$defs` at the root, and never a bare `$ref` there."""
    try:
        (schema,), defs = msgspec.json.schema_components([hint], ref_template="#/$defs/{name}")
        msgspec.json.Decoder(hint)
    except (TypeError, ValueError, RecursionError, re.error) as error:
        shown = inspect.formatannotation(hint)
        reason = str(error).partition("\n")[0]
        if reason.endswith(":"):  # msgspec goes on about hooks of its own
            reason = "use a dataclass, a TypedDict or a msgspec.Struct"
        raise ContractError(f"{what} is {shown}, which JSON cannot carry: {reason}") from error
    if set(schema) == {"$ref"}:
        name = schema["$ref"].rpartition("/")[2]
        schema = dict(defs[name])
        if not _mentions(defs, name):
            del defs[name]
    described: JsonSchema = _complete({**schema, "$defs": defs} if defs else schema)
    return described


def _complete(node: Any) -> Any:
    """The same, where an array of anything says so: some models' APIs refuse one that does not."""
    if isinstance(node, list):
        return [_complete(each) for each in node]
    if not isinstance(node, dict):
        return node
    full = {name: _completed(name, each) for name, each in node.items()}
    is_silent = full.get("type") == "array" and not {"items", "prefixItems"} & full.keys()
    return full | {"items": {}} if is_silent else full


def _completed(keyword: str, value: Any) -> Any:
    if keyword in _BY_NAME:
        return {name: _complete(each) for name, each in value.items()}
    return _complete(value) if keyword in _WITHIN else value


def _translate(hint: Any) -> Any:
    """A type with all that is Annotated in it, however deep, in msgspec's terms."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bare, *extras = args
        metas = [meta for extra in extras for meta in _metas(extra)]
        return reduce(_attach, sorted(metas, key=_has_words), _translate(bare))
    if isinstance(hint, type) and hint in _FORMATS:
        return Annotated[hint, msgspec.Meta(extra_json_schema={"format": _FORMATS[hint]})]
    if origin is Literal or not args:
        return hint
    inner = tuple(_translate(arg) for arg in args)
    if inner == args:
        return hint
    return reduce(or_, inner) if origin in (Union, UnionType) else origin[inner]


def _attach(hint: Any, meta: msgspec.Meta) -> Any:
    """Annotate a type. A bound on a choice of types is one on each that is not None."""
    if get_origin(hint) in (Union, UnionType) and not _has_words(meta):
        kinds = get_args(hint)
        return reduce(or_, (k if k is type(None) else Annotated[k, meta] for k in kinds))
    return Annotated[hint, meta]


def _metas(extra: Any) -> Iterator[msgspec.Meta]:
    """What an annotation says, bounds and words apart."""
    if isinstance(extra, str):
        yield msgspec.Meta(description=extra)
        return
    said = {name: getattr(extra, name, None) for name in (*_BOUNDS, *_WORDS)}
    said["description"] = said["description"] or getattr(extra, "documentation", None)
    for names in (_BOUNDS, _WORDS):
        known: dict[str, Any] = {name: said[name] for name in names if said[name] is not None}
        if known:
            yield msgspec.Meta(**known)
    inner: Iterable[Any] = getattr(extra, "metadata", ())
    for further in inner:
        yield from _metas(further)


def _has_words(meta: msgspec.Meta) -> bool:
    return any(getattr(meta, name) is not None for name in _WORDS)


def classes_in(hint: Any, seen: set[Any] | None = None) -> Iterator[type]:
    """Every class with fields that a type is made of, however deep."""
    seen = set() if seen is None else seen
    for part in get_args(hint):
        yield from classes_in(part, seen)
    if isinstance(hint, type) and hint not in seen and hasattr(hint, "__annotations__"):
        seen.add(hint)
        yield hint
        for field in get_type_hints(hint, include_extras=True).values():
            yield from classes_in(field, seen)


def _refuse_hidden_bounds(hint: Any) -> None:
    """msgspec reads only its own Meta inside a class: better an error than a bound nobody keeps."""
    for owner in classes_in(hint):
        for name, field in get_type_hints(owner, include_extras=True).items():
            extras = get_args(field)[1:] if get_origin(field) is Annotated else ()
            foreign = [extra for extra in extras if not isinstance(extra, msgspec.Meta)]
            if any(not _has_words(meta) for extra in foreign for meta in _metas(extra)):
                raise ValueError(f"{owner.__name__}.{name} needs them as msgspec.Meta")


def _mentions(node: Any, name: str) -> bool:
    if isinstance(node, dict):
        return node.get("$ref") == f"#/$defs/{name}" or any(
            _mentions(value, name) for value in node.values()
        )
    return isinstance(node, list) and any(_mentions(value, name) for value in node)
