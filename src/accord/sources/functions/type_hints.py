"""Translate type hints to msgspec types and JSON Schemas, and return hints to tool outputs."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime, time
from enum import Enum
from functools import reduce
from itertools import count
from operator import or_
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

from accord.errors import ContractError
from accord.model.answer import Answer
from accord.model.arguments import JsonSchema
from accord.model.content import Block
from accord.model.envelope import is_envelope_schema
from accord.model.pydantic_types import (
    BOUNDS,
    CheckedOutput,
    PydanticType,
    is_msgspec_only,
    map_arguments,
    uses_pydantic,
)
from accord.model.tool import Output
from accord.sources.functions.attrs_types import reject_unusable_attrs

_DOCUMENTATION: Final = ("title", "description", "examples", "extra_json_schema", "extra")
_SUBSCHEMA_MAPS: Final = frozenset({"properties", "patternProperties", "$defs"})
_SUBSCHEMAS: Final = frozenset(
    {"items", "prefixItems", "additionalProperties", "anyOf", "allOf", "oneOf", "not"}
)
_FORMATS: Final = {
    datetime: "date-time",
    time: "time",
}  # msgspec sets them only for values with a zone
_NO_SCHEMA: Final = (Any, None, type(None), Answer)
_BLOCKS: Final = frozenset(get_args(Block))
_TYPE_NAMES: Final = {str: "string", bool: "boolean", int: "integer", type(None): "null"}
_CHOICE: Final = (str, int, type(None))
_KINDS: Final = frozenset({"type", "enum", "const", "anyOf", "$ref"})


def annotate(hint: Any, description: str | None, what: str) -> Any:
    """Return the hint with its bounds and description as msgspec.Meta.

    `Annotated` takes msgspec's Meta, a plain string or a `Doc` as description, and the bounds of
    annotated-types and pydantic's Field, known by their attributes alone.
    """
    try:
        _reject_foreign_bounds(hint)
        hint = _translate(hint)
    except NameError as error:
        raise ContractError(f"{what} has a type that is not defined: {error}") from error
    except (TypeError, ValueError, re.error) as error:
        raise ContractError(f"{what} has bounds that cannot be checked: {error}") from error
    if description and not _is_described(hint):
        hint = Annotated[hint, msgspec.Meta(description=description)]
    return hint


def _is_described(hint: Any) -> bool:
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return any(getattr(extra, "description", None) for extra in extras)


def describe(hint: Any, what: str) -> JsonSchema:
    """Return the JSON Schema of a type: `$defs` at the root, and never a `$ref` there."""
    try:
        (schema,), defs = msgspec.json.schema_components([hint], ref_template="#/$defs/{name}")
        msgspec.json.Decoder(hint)
    except (TypeError, ValueError, RecursionError, NotImplementedError, re.error) as error:
        shown = inspect.formatannotation(hint)
        reason = str(error).partition("\n")[0]
        if reason.endswith(":"):  # msgspec continues with its own hooks
            reason = (
                "use a dataclass, a TypedDict, a msgspec.Struct, an attrs class or a pydantic model"
            )
        raise ContractError(f"{what} is {shown}, which is not a JSON type: {reason}") from error
    return _completed(_with_root(schema, defs), hint)


def _with_root(schema: JsonSchema, defs: dict[str, JsonSchema]) -> JsonSchema:
    """Return a schema with its definitions, and a `$ref` at the root replaced by its target."""
    if "$ref" in schema:
        others = {key: each for key, each in schema.items() if key != "$ref"}
        name = schema["$ref"].rpartition("/")[2]
        schema = defs[name] | others
        if not _mentions(defs, name):
            defs = {each: part for each, part in defs.items() if each != name}
    return {**schema, "$defs": defs} if defs else schema


def merge_definitions(
    defs: dict[str, JsonSchema],
    schemas: dict[str, JsonSchema],
    own: dict[str, JsonSchema],
) -> tuple[dict[str, JsonSchema], dict[str, JsonSchema]]:
    """Return schemas with definitions of their `own`, and these together with others.

    A definition whose name belongs to another one gets a number: `Item_2`.
    """
    schemas = {name: _complete(each, {}) for name, each in schemas.items()}
    own = {name: _complete(each, {}) for name, each in own.items()}
    names: dict[str, str] = {}
    for name, definition in own.items():
        if name in defs and defs[name] != definition:
            numbered = (f"{name}_{number}" for number in count(2))
            names[name] = next(n for n in numbered if n not in defs and n not in own)
    if names:
        schemas, own = _renamed(schemas, names), _renamed(own, names)
    return schemas, defs | {names.get(name, name): each for name, each in own.items()}


def _renamed(node: Any, names: dict[str, str]) -> Any:
    """Return a schema with its references to renamed definitions."""
    if isinstance(node, dict):
        return {key: _renamed(each, names) for key, each in node.items()}
    if isinstance(node, list):
        return [_renamed(each, names) for each in node]
    start, slash, name = node.rpartition("/") if isinstance(node, str) else ("", "", "")
    return f"{start}{slash}{names.get(name, name)}" if start == "#/$defs" else node


_Orders = dict[frozenset[tuple[type, Any]], Sequence[Any]]
"""The values of each `Literal` and `Enum` in the order of the source, by the set of them."""


def _completed(schema: JsonSchema, hint: Any) -> JsonSchema:
    """Return a schema of msgspec in a form that the APIs of models accept.

    Every array has `items`. The values of a `Literal` or `Enum` have a `type`, and are in the order
    of the source. If two in nested classes have the same values, the order of the first applies.
    """
    has_choices = "'enum'" in str(schema)
    if has_choices and "properties" in schema and isinstance(hint, type):
        hints = get_type_hints(hint, include_extras=True)
        properties = {
            name: _complete(each, _orders(hints[name])) if name in hints else each
            for name, each in schema["properties"].items()
        }
        schema = {**schema, "properties": properties}
    completed: JsonSchema = _complete(schema, _orders(hint) if has_choices else {})
    return completed


def _orders(hint: Any) -> _Orders:
    orders: _Orders = {}
    for values in _choices_in(hint, set()):
        orders.setdefault(_key(values), values)
    return orders


def _key(values: Sequence[Any]) -> frozenset[tuple[type, Any]]:
    """Return the set of values in which `True` differs from `1`."""
    return frozenset((_type(value), value) for value in values)


def _type(value: Any) -> type:
    """Return the type of a value; that of an enum may be a subclass of str or int."""
    return next((kind for kind in _TYPE_NAMES if isinstance(value, kind)), type(value))


def _choices_in(hint: Any, seen: set[Any]) -> Iterator[Sequence[Any]]:
    """Yield the values of every `Literal` and `Enum` inside a type, at any depth."""
    if get_origin(hint) is Literal:
        yield get_args(hint)
        return
    for part in get_args(hint):
        yield from _choices_in(part, seen)
    for alias in ("__value__", "__supertype__"):  # of a TypeAliasType, of a NewType
        if (inner := getattr(hint, alias, None)) is not None:
            yield from _choices_in(inner, seen)
    if not isinstance(hint, type) or hint in seen:
        return
    seen.add(hint)
    if issubclass(hint, Enum):
        yield [member.value for member in hint if isinstance(member.value, _CHOICE)]
    elif hasattr(hint, "__annotations__"):
        for field in get_type_hints(hint, include_extras=True).values():
            yield from _choices_in(field, seen)


def _complete(node: Any, orders: _Orders) -> Any:
    if isinstance(node, list):
        return [_complete(each, orders) for each in node]
    if not isinstance(node, dict):
        return node
    full = {name: _complete_keyword(name, each, orders) for name, each in node.items()}
    if "enum" in full and "type" not in full:  # else it is written in an Annotated
        is_plain = all(isinstance(each, _CHOICE) for each in full["enum"])
        return _typed(full, orders) if is_plain else full
    lacks_items = full.get("type") == "array" and not {"items", "prefixItems"} & full.keys()
    return full | {"items": {}} if lacks_items else full


def _complete_keyword(keyword: str, value: Any, orders: _Orders) -> Any:
    if keyword in _SUBSCHEMA_MAPS:
        return {name: _complete(each, orders) for name, each in value.items()}
    return _complete(value, orders) if keyword in _SUBSCHEMAS else value


def _typed(node: JsonSchema, orders: _Orders) -> JsonSchema:
    """Return a schema with `enum` in the order of the source: one part for each type of value."""
    parts: dict[type, list[Any]] = {}
    values: Sequence[Any] = node["enum"]
    for value in orders.get(_key(values), values):
        parts.setdefault(_type(value), []).append(value)
    typed = [_part(kind, each) for kind, each in parts.items()]
    others = {name: each for name, each in node.items() if name != "enum"}
    return others | (typed[0] if len(typed) == 1 else {"anyOf": typed})


def _part(kind: type, values: list[Any]) -> JsonSchema:
    name = _TYPE_NAMES[kind]
    return {"type": name} if name == "null" else {"type": name, "enum": values}


def _translate(hint: Any) -> Any:
    """Return a type in which every Annotated, at any depth, has msgspec.Meta."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bare, *extras = args
        metas = [meta for extra in extras for meta in _metas(extra)]
        return reduce(_attach, sorted(metas, key=_is_documentation), _translate(bare))
    if isinstance(hint, type) and hint in _FORMATS:
        return Annotated[hint, msgspec.Meta(extra_json_schema={"format": _FORMATS[hint]})]
    return map_arguments(hint, _translate)


def _attach(hint: Any, meta: msgspec.Meta) -> Any:
    """Annotate a type; a bound on a union applies to each member that is not None."""
    if get_origin(hint) in (Union, UnionType) and not _is_documentation(meta):
        kinds = get_args(hint)
        return reduce(or_, (k if k is type(None) else Annotated[k, meta] for k in kinds))
    return Annotated[hint, meta]


def _metas(extra: Any) -> Iterator[msgspec.Meta]:
    """Yield an annotation as msgspec.Meta, bounds and documentation apart."""
    if isinstance(extra, str):
        yield msgspec.Meta(description=extra)
        return
    values = {name: getattr(extra, name, None) for name in (*BOUNDS, *_DOCUMENTATION)}
    values["description"] = values["description"] or getattr(extra, "documentation", None)
    for names in (BOUNDS, _DOCUMENTATION):
        known: dict[str, Any] = {name: values[name] for name in names if values[name] is not None}
        if known:
            yield msgspec.Meta(**known)
    inner: Iterable[Any] = getattr(extra, "metadata", ())
    for further in inner:
        yield from _metas(further)


def _is_documentation(meta: msgspec.Meta) -> bool:
    return any(getattr(meta, name) is not None for name in _DOCUMENTATION)


def classes_in(hint: Any, seen: set[Any] | None = None) -> Iterator[type]:
    """Yield every class with fields inside a type, at any depth."""
    seen = set() if seen is None else seen
    for part in get_args(hint):
        yield from classes_in(part, seen)
    if isinstance(hint, type) and hint not in seen and hasattr(hint, "__annotations__"):
        seen.add(hint)
        yield hint
        for field in get_type_hints(hint, include_extras=True).values():
            yield from classes_in(field, seen)


def _reject_foreign_bounds(hint: Any) -> None:
    """Raise if a class has bounds that are not msgspec.Meta: msgspec would ignore them."""
    for owner in classes_in(hint):
        for name, field in get_type_hints(owner, include_extras=True).items():
            extras = get_args(field)[1:] if get_origin(field) is Annotated else ()
            foreign = [extra for extra in extras if not isinstance(extra, msgspec.Meta)]
            if any(not _is_documentation(meta) for extra in foreign for meta in _metas(extra)):
                instead = (
                    "msgspec.Meta" if is_msgspec_only(owner) else "msgspec.Meta or pydantic.Field"
                )
                raise ValueError(f"{owner.__name__}.{name} needs them as {instead}")


def _mentions(node: Any, name: str) -> bool:
    if isinstance(node, dict):
        return node.get("$ref") == f"#/$defs/{name}" or any(
            _mentions(value, name) for value in node.values()
        )
    return isinstance(node, list) and any(_mentions(value, name) for value in node)


def output_of(hint: Any, tool: str) -> Output:
    """Return the output that a return hint declares; an empty one without a usable hint.

    `str` is plain text: not JSON, no structured content.
    """
    if get_origin(hint) is Answer:
        (hint,) = get_args(hint)
    if hint is str:
        return Output(is_text=True, is_loose=False)
    if any(hint is silent for silent in _NO_SCHEMA) or _has_blocks(hint):
        return Output()
    what = f"the result of tool {tool!r}"
    if uses_pydantic(hint):
        output = _output_of_model(PydanticType(hint, what))
        return Output() if is_envelope_schema(output.schema or {}) else output
    hint = annotate(hint, None, what)
    schema = describe(hint, what)
    if is_envelope_schema(schema):  # the data in it has any form
        return Output()
    for owner in classes_in(hint):
        reject_unusable_attrs(owner, what, is_result=True)
    parts = list(_subschemas(schema))
    return Output(
        schema=schema,
        check=_checker(hint),
        is_loose=any(_accepts_anything(part) for part in parts),
        hides_nan=any(_is_nullable_number(part) for part in parts),
        is_recursive=_is_recursive(schema),
        is_unordered=any("uniqueItems" in part for part in parts),
    )


def _output_of_model(model: PydanticType) -> Output:
    described = model.schema("serialization")
    schemas, defs = merge_definitions({}, {"": described}, described.pop("$defs", {}))
    schema = _with_root(schemas[""], defs)
    checked = CheckedOutput(model, schema)
    return Output(
        schema=schema,
        encode=checked.encode,
        check=checked.check,
        is_loose=False,
    )


def _checker(hint: Any) -> Callable[[bytes], object]:
    """Return a function that raises if JSON is not valid for a type."""
    try:
        return msgspec.json.Decoder(_fast_type(hint, {})).decode
    except (TypeError, ValueError, NameError):  # msgspec cannot make a Struct of some class
        return msgspec.json.Decoder(hint).decode


def _fast_type(hint: Any, structs: dict[type, Any]) -> Any:
    """Return a type that is valid for the same JSON, with Structs in place of other classes.

    msgspec decodes a Struct in less than half the time of a dataclass.
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[(_fast_type(args[0], structs), *args[1:])]
    if origin in (Union, UnionType):
        return reduce(or_, (_fast_type(arg, structs) for arg in args))
    if origin in (list, dict, tuple, set, frozenset):
        return origin[tuple(_fast_type(arg, structs) for arg in args)]
    if isinstance(hint, type) and (is_typeddict(hint) or _is_plain_dataclass(hint)):
        if hint not in structs:
            structs[hint] = None  # while its fields are found
            structs[hint] = _struct_of(hint, structs)
        if structs[hint] is None:
            raise TypeError(f"{hint.__name__} contains itself")
        return structs[hint]
    return hint


def _is_plain_dataclass(hint: type) -> bool:
    return is_dataclass(hint) and not hasattr(hint, "__post_init__")


def _struct_of(owner: type, structs: dict[type, Any]) -> Any:
    """Return a Struct with the fields of a dataclass or TypedDict."""
    hints = get_type_hints(owner, include_extras=True)
    names = [field.name for field in fields(owner)] if is_dataclass(owner) else list(hints)
    members: list[Any] = []
    for name in names:
        hint = hints[name]
        while get_origin(hint) in (Required, NotRequired):
            (hint,) = get_args(hint)
        is_required = name in _required(owner)
        members.append((name, _fast_type(hint, structs), *(() if is_required else (None,))))
    return msgspec.defstruct(owner.__name__, members, kw_only=True, frozen=True, gc=False)


def _required(owner: Any) -> Collection[str]:
    """Return the names of the required fields of a dataclass or TypedDict."""
    if not is_dataclass(owner):
        keys: frozenset[str] = owner.__required_keys__
        return keys
    return [
        field.name
        for field in fields(owner)
        if field.default is MISSING and field.default_factory is MISSING
    ]


def _has_blocks(hint: Any) -> bool:
    """True if a hint contains content blocks, which are not data."""
    if isinstance(hint, type) and hint in _BLOCKS:
        return True
    return any(_has_blocks(part) for part in get_args(hint))


def _subschemas(schema: JsonSchema) -> Iterator[JsonSchema]:
    """Yield a schema and every schema inside it."""
    yield schema
    inner: list[Any] = [*schema.get("anyOf", ()), *schema.get("prefixItems", ())]
    for key in ("properties", "$defs"):
        inner += schema.get(key, {}).values()
    inner += [schema.get(key) for key in ("items", "additionalProperties")]
    for part in inner:
        if isinstance(part, dict):
            yield from _subschemas(part)


def _is_recursive(schema: JsonSchema) -> bool:
    """True if a definition refers to itself, directly or through others."""
    defs = schema.get("$defs", {})
    references = {name: _references(part) for name, part in defs.items()}
    for _ in defs:  # definitions without references left are not in a cycle
        references = {
            name: names & references.keys() for name, names in references.items() if names
        }
    return bool(references)


def _references(schema: JsonSchema) -> set[str]:
    return {part["$ref"].rpartition("/")[2] for part in _subschemas(schema) if "$ref" in part}


def _accepts_anything(part: JsonSchema) -> bool:
    """True if a schema leaves a value unconstrained."""
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
