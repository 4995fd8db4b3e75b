"""Errors of pydantic in the words and paths of `accord.model.arguments`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from accord.model.answer import FieldError
from accord.model.arguments import path_of, type_mismatch

_QUOTED: Final = re.compile(r"'([^']+)'")
_CHOICE: Final = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,]+)""")
_CONSTANTS: Final = {"None": "null", "True": "true", "False": "false"}
_VALID: Final = re.compile(r"(?:Input should be|value is not) a valid ([^,:]+)")
_SHOULD: Final = re.compile(r"(?:Input|String|Value|Data|Decimal input) should ")
_WANTED: Final = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "integer"),
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type"), "number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "boolean"),
    **dict.fromkeys(
        ("string_type", "string_sub_type", "bytes_type", "url_type", "uuid_type"), "string"
    ),
    **dict.fromkeys(
        ("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), "array"
    ),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"),
        "object",
    ),
    "none_required": "null",
}
_FORMATS: Final = {
    "datetime_": "date-time",
    "date_": "date",
    "time_delta_": "duration",
    "time_": "time",
    "uuid_": "uuid",
    "url_": "URL",
    "decimal_": "decimal",
}
_LENGTHS: Final = {
    "too_short": "must have at least {min_length} {items}",
    "too_long": "must have at most {max_length} {items}",
}
_TEMPLATES: Final = {
    "missing": "is required",
    "missing_argument": "is required",
    "extra_forbidden": "is not a known field",
    "unexpected_keyword_argument": "is not a known field",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "finite_number": "must be a finite number",
    "int_parsing_size": "must be an integer of fewer digits",
    "string_unicode": "must be Unicode text",
}


class _Fault(NamedTuple):
    """One error of a value."""

    path: tuple[str | int, ...]
    sentence: str
    wanted: str | None = None
    """The JSON type that the value must have, if it has another one."""


def field_errors(error: Any, value: Any) -> list[FieldError]:
    """Return a ValidationError of pydantic in the words of `accord.model.arguments`."""
    details = error.errors(include_url=False)
    return [FieldError(path_of(each.path), each.sentence) for each in _faults(details, value, ())]


def _faults(errors: Sequence[Any], value: Any, path: tuple[str | int, ...]) -> list[_Fault]:
    """Return the errors of a value and its members.

    `loc` of an error has the path in the value, and in between the names of the alternatives of a
    union and of functions, which are not in the value.
    """
    found: list[_Fault] = []
    members: dict[str | int, list[Any]] = {}
    branches: dict[str | int, list[Any]] = {}
    for error in errors:
        step, *others = error["loc"] or (None,)
        inner = {**error, "loc": others}
        if step is None:
            found.append(_fault(error, path))
        elif step == "[key]":
            found.append(_Fault(path, f"has a name that {_fault(inner, path).sentence}"))
        elif _has_member(value, step) or (error["type"] == "missing" and _is_path(others)):
            members.setdefault(step, []).append(inner)
        else:
            branches.setdefault(step, []).append(inner)
    for step, inner_errors in members.items():
        found += _faults(inner_errors, _member(value, step), (*path, step))
    return found + _closest([_faults(each, value, path) for each in branches.values()], value, path)


def _closest(branches: list[list[_Fault]], value: Any, path: tuple[str | int, ...]) -> list[_Fault]:
    """Return the errors of the alternative that the value most likely belongs to."""
    meant = [b for b in branches if not any(each.wanted and each.path == path for each in b)]
    if meant or not branches:
        return min(meant, key=len, default=[])
    wanted = dict.fromkeys(each.wanted for b in branches for each in b if each.wanted)
    return [_Fault(path, type_mismatch(wanted, value), next(iter(wanted)))]


def _is_path(steps: Sequence[str | int]) -> bool:
    """True if the steps after a missing member are a path in it, and it is not an alternative.

    Only an AliasPath has such steps; it usually has an index.
    """
    return not steps or isinstance(steps[0], int)


def _has_member(value: Any, step: str | int) -> bool:
    if isinstance(value, Mapping):
        return step in value
    if isinstance(step, int):
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    is_object = not isinstance(value, str | int | float | list | tuple | set | None)
    return is_object and hasattr(value, step)


def _member(value: Any, step: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(step, int):
        return value[step] if isinstance(value, Sequence) and step < len(value) else None
    return getattr(value, step, None)


def _fault(error: Any, path: tuple[str | int, ...]) -> _Fault:
    """Return one error of pydantic in our words."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _tag_fault(kind, context, path)
    if wanted := _WANTED.get(kind):
        return _Fault(path, type_mismatch([wanted], error["input"]), wanted)
    return _Fault(path, _sentence(kind, context, error))


def _sentence(kind: str, context: Mapping[str, Any], error: Any) -> str:
    if template := _TEMPLATES.get(kind):
        return template.format_map({name: _shown(limit) for name, limit in context.items()})
    if kind in ("literal_error", "enum"):
        return f"must be one of {', '.join(_choices(context['expected']))}"
    if template := _LENGTHS.get(kind):
        items = "fields" if isinstance(error["input"], Mapping) else "items"
        return template.format(**context, items=items)
    if kind == "json_invalid":
        is_deep = "recursion" in str(context.get("error"))
        return "is nested too deeply" if is_deep else "is not valid JSON"
    if "error" in context and kind in ("value_error", "assertion_error"):
        reason = str(context["error"])  # words of the author's own validator
        return f"is not valid: {reason}" if reason else "is not valid"
    return _translated(kind, error["msg"])


def _shown(limit: Any) -> Any:
    """Return a limit as it is written in a schema: pydantic makes floats of integers."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _tag_fault(kind: str, context: Mapping[str, Any], path: tuple[str | int, ...]) -> _Fault:
    """Return the error of a value without a valid discriminator."""
    names = _QUOTED.fullmatch(context["discriminator"])
    at = (*path, names[1]) if names else path
    if kind == "union_tag_not_found":
        return _Fault(at, "is required" if names else "does not fit an alternative of its type")
    return _Fault(at, f"must be one of {', '.join(_choices(context['expected_tags']))}")


def _choices(expected: str) -> Iterable[str]:
    """Return the values in a list of pydantic such as `'a', 'b' or 3`."""
    for quoted, double, bare in _CHOICE.findall(expected):
        if bare != "or":
            yield quoted or double or _CONSTANTS.get(bare, bare)


def _translated(kind: str, message: str) -> str:
    """Return another message of pydantic without the value that it may contain."""
    form = next((_FORMATS[start] for start in _FORMATS if kind.startswith(start)), None)
    if form is not None and kind.endswith(("_type", "_parsing")):
        return f"must be a valid {form}"
    if valid := _VALID.match(message):
        return f"must be a valid {valid[1]}"
    return _SHOULD.sub("must ", message) if _SHOULD.match(message) else f"is not valid: {message}"
