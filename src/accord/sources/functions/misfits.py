"""What is wrong with arguments that a function cannot take: each field, in words for a model.

msgspec decides what fits, and stops at the first field that does not; the schema words the rest.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec

from accord.model.answer import FieldError
from accord.model.arguments import Checker, path_of

_EXACT: Final = 2**53  # up to it, a float that is whole is the number that was written
_EXPECTED: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`")
_PATH: Final = re.compile(r"`\$(?P<steps>[^`]*)`$")
_STEP: Final = re.compile(r"[^.\[\]]+")
_INVALID: Final = re.compile(r"Invalid (?P<what>[\w\- ]+?)(?: - at .*)?")
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?')
_JSON_NAMES: Final = {
    "int": "an integer",
    "str": "a string",
    "float": "a number",
    "bool": "a boolean",
    "object": "an object",
    "array": "an array",
}


class Field(NamedTuple):
    """One parameter: how to read its JSON, and whether it must be there."""

    decode: Callable[[bytes], Any]
    is_required: bool

    def read(self, raw: bytes) -> bytes:
        """The JSON of a value that fits: as it came, or with its whole numbers written as such."""
        try:
            self.decode(raw)
        except msgspec.ValidationError:
            rewritten = _whole(raw)
            if rewritten == raw:
                raise
            self.decode(rewritten)
            return rewritten
        return raw


def misfits(name: str, raw: bytes, error: Exception, checker: Checker) -> list[FieldError]:
    """What is wrong with one parameter that does not fit."""
    by_schema = checker.errors({name: msgspec.json.decode(_whole(raw))})
    below = (f"{name}.", f"{name}[")
    found = [e for e in by_schema if e.field == name or e.field.startswith(below)]
    return found or [_in_words(name, str(error))]


def _in_words(name: str, sentence: str) -> FieldError:
    """What msgspec says, without the value that it may hold."""
    path = _PATH.search(sentence)
    steps = _STEP.findall(path["steps"]) if path else []
    field = path_of([name, *(int(step) if step.isdigit() else step for step in steps)])
    if expected := _EXPECTED.match(sentence):
        wanted, got = _named(expected["wanted"]), _named(expected["got"])
        return FieldError(field, f"must be {wanted}, not {got}")
    if refused := _INVALID.fullmatch(sentence):
        return FieldError(field, f"must be a valid {refused['what']}")
    return FieldError(field, "must be a value that fits")


def _named(kinds: str) -> str:
    return " or ".join(_JSON_NAMES.get(kind, kind) for kind in kinds.split(" | "))


def unreadable(error: Exception) -> FieldError:
    """For arguments that are JSON, and yet more than Python can hold."""
    if isinstance(error, RecursionError):
        return FieldError("arguments", "are nested too deeply")
    return FieldError("arguments", "hold a number that is out of range")


def strangers(names: Iterable[str]) -> list[FieldError]:
    """What is wrong with arguments that a strict tool does not know."""
    return [FieldError(path_of([name]), "is not a known field") for name in names]


def _whole(raw: bytes) -> bytes:
    """The same JSON with whole numbers written as such: to a schema `1.0` is an integer too."""
    return _TOKEN.sub(_rewrite, raw)


def _rewrite(token: re.Match[bytes]) -> bytes:
    text = token[0]
    if text[:1] == b'"' or text.removeprefix(b"-").isdigit():
        return text
    number = float(text)
    return b"%d" % number if number.is_integer() and abs(number) <= _EXACT else text
