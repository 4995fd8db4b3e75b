r"""Arguments of a tool on the command line: a JSON object, and words such as `item=rope count:=3`.

`NAME=TEXT` is a text, or what the input schema of the tool says: a number, true or false, a list.
`NAME:=JSON` is any JSON value. `NAME[KEY]` is a member of an object, `NAME[]` one more item of a
list, `NAME[0]` its first item. A backslash before `=`, `:`, `[`, `]` or `\` makes it part of a
name.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

import msgspec

from accord.errors import ContractError, did_you_mean

STDIN: Final = "-"
FORMS: Final = 'item=rope, count:=3 or \'{"item": "rope"}\''
"""The forms of arguments, for messages."""
_WORD: Final = re.compile(r"((?:\\.|[^\\=])*?)(:?=)(.*)", re.S)
_PATH: Final = re.compile(r"((?:\\.|[^\\\[\]])*)((?:\[(?:\\.|[^\\\[\]])*\])*)", re.S)
_KEY: Final = re.compile(r"\[((?:\\.|[^\\\[\]])*)\]", re.S)
_ESCAPE: Final = re.compile(r"\\([=:\[\]\\])")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,4000}")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_MAX_DIGITS: Final = 6  # of the place of an item
_MAX_ITEMS: Final = 10**_MAX_DIGITS
_MAX_DEPTH: Final = 16  # of references and alternatives in a schema
_MAX_NAMED: Final = 32  # tools in a message
_MAX_SHOWN: Final = 80  # characters of a word in a message
_COMBINED: Final = ("anyOf", "oneOf", "allOf")
_LIKENESS: Final = 0.75  # of a misspelled argument; others may be allowed
_BOOLEANS: Final = {"true": True, "yes": True, "false": False, "no": False}


class Word(NamedTuple):
    """One word: the path to a member, and its text or JSON value."""

    word: str
    """The word for messages, shortened."""
    path: Sequence[str]
    """The name, then keys; an empty key is one more item of a list."""
    text: str
    is_json: bool


def needs_schema(words: Sequence[str]) -> bool:
    """True if the arguments depend on the input schema of the tool."""
    return any(not _is_object(word) for word in words)


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """Return a message for the name of a tool that a server does not have."""
    names = list(known)
    guess = did_you_mean(name, names)
    has = ", ".join(names[:_MAX_NAMED]) or "none"
    more = "" if len(names) <= _MAX_NAMED else f" and {len(names) - _MAX_NAMED} more"
    return f"there is no tool {name!r}{guess or ';'} the server has: {has}{more}"


def arguments_of(words: Sequence[str], schema: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the arguments; raise ContractError with the word that is wrong."""
    found: dict[str, Any] = {}
    rest = words
    if words and _is_object(words[0]):
        found, rest = _object(words[0]), words[1:]
    root = Schema(schema or {}, schema or {})
    given: list[Sequence[str]] = []
    for word in (_parse(each, root.node) for each in rest):
        _require_name(word, root.node)
        path = _put(found, word, root)
        if any(_overlap(path, other) for other in given):
            raise ContractError(f"{word.word}: {_shown(path)} has a value already")
        given.append(path)
    return found


def _is_object(word: str) -> bool:
    return word == STDIN or not word.strip() or word.lstrip()[0] in "{["


def _object(word: str) -> dict[str, Any]:
    """Return the JSON object in a word, or in standard input."""
    if word == STDIN and sys.stdin is None:
        raise ContractError("standard input is closed; pass the arguments on the command line")
    raw = sys.stdin.buffer.read() if word == STDIN else word.encode(errors="surrogateescape")
    if not raw.strip():
        raise ContractError("the arguments must not be empty; a JSON object without members is {}")
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContractError(
            f"the arguments must be {FORMS}; this is not a JSON object: {error}"
        ) from error


def _parse(word: str, schema: Mapping[str, Any]) -> Word:
    if _is_object(word):
        raise ContractError(f"{word!r}: a JSON object must come first, and there is one at most")
    found = _WORD.fullmatch(word)
    path = None if found is None else _PATH.fullmatch(found[1])
    if found is None or path is None or not path[1]:
        known = schema.get("properties")
        names = f"NAME={word} with one of {', '.join(known)}, or a JSON object" if known else FORMS
        raise ContractError(f"{word!r} is not an argument; write {names}")
    keys = [_plain(key) for key in _KEY.findall(path[2])]
    try:
        word.encode()
    except UnicodeEncodeError as error:
        raise ContractError(f"{word!r} is not valid UTF-8") from error
    shown = word if len(word) <= _MAX_SHOWN else f"{word[:_MAX_SHOWN]}…"
    return Word(shown, [_plain(path[1]), *keys], found[3], found[2] == ":=")


def _plain(name: str) -> str:
    return _ESCAPE.sub(r"\1", name)


def _shown(path: Sequence[str]) -> str:
    return path[0] + "".join(f"[{key}]" for key in path[1:])


def _require_name(word: Word, schema: Mapping[str, Any]) -> None:
    """Raise if the tool has no argument of that name, but one that is near."""
    known = schema.get("properties")
    name = word.path[0]
    if not isinstance(known, dict) or not known or name in known:
        return
    others = ", ".join(known)
    guess = did_you_mean(name, known, _LIKENESS)
    if guess or schema.get("additionalProperties") is False:
        raise ContractError(f"there is no argument {name!r}{guess or ';'} arguments: {others}")


def _overlap(path: Sequence[str], other: Sequence[str]) -> bool:
    """True if one path is the other or a part of it; new items of lists are always others."""
    shorter = min(len(path), len(other))
    return path[:shorter] == other[:shorter] and "" not in path[:shorter]


# Where values go


def _put(found: dict[str, Any], word: Word, root: "Schema") -> Sequence[str]:
    """Set the member that a word names, and return its path."""
    name, *keys = word.path
    schema = root.member(name)
    holder: Any = found
    at: Any = name
    while True:
        if not keys and schema.is_list and not (word.is_json or word.text.lstrip().startswith("[")):
            keys = [""]  # one more item
            word = word._replace(path=[*word.path, ""])
        if not keys:
            break
        key, *keys = keys
        is_item = not key or (key.isascii() and key.isdecimal() and not schema.is_object)
        inner: Any = _enter(holder, at, [] if is_item else {})
        if not isinstance(inner, list if is_item else dict):
            raise ContractError(f"{word.word}: {_shown(word.path)} has a value already")
        schema = schema.items() if is_item else schema.member(key)
        holder, at = inner, _index(word, key, len(inner)) if is_item else key
    value = _value(word, schema)
    if isinstance(holder, list) and at == len(holder):
        holder.append(value)
    else:
        holder[at] = value
    return word.path


def _enter(holder: Any, at: Any, empty: Any) -> Any:
    """Return the container at a place; a new one if there is nothing."""
    if isinstance(holder, dict):
        return holder.setdefault(at, empty)
    if at == len(holder):
        holder.append(empty)
    return holder[at]


def _index(word: Word, key: str, items: int) -> int:
    """Return the place of an item, which exists or is the next."""
    at = items if not key else int(key) if len(key) < _MAX_DIGITS else _MAX_ITEMS
    if at > items:
        raise ContractError(f"{word.word}: [{key}] is not the next item, which is [{items}]")
    return at


# What values are


def _value(word: Word, schema: "Schema") -> Any:
    if not word.is_json:
        return _typed(word, schema)
    try:
        return msgspec.json.decode(word.text)
    except (msgspec.DecodeError, RecursionError) as error:
        text = word.text if len(word.text) <= _MAX_SHOWN else "…"
        hint = f"; for a text write {_shown(word.path)}={text}" if text else ""
        raise ContractError(f"{word.word}: the value is not JSON{hint}") from error


def _typed(word: Word, schema: "Schema") -> Any:
    """Return the value that a text is by the schema: a text, unless that is not allowed."""
    choices = schema.choices()
    types = schema.types()
    if choices:
        return next((each for each in choices if _text(each) == word.text), word.text)
    if not types or "string" in types:
        return word.text
    for name, (_, convert) in _TYPES.items():
        if name in types and (found := convert(word.text)) is not None:
            return found[0]
    expected = " or ".join(_TYPES[name][0] for name in _TYPES if name in types)
    hint = f"; or write {_shown(word.path)}[KEY]=TEXT" if "object" in types else ""
    raise ContractError(f"{word.word}: {_shown(word.path)} must be {expected}{hint}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _integer(text: str) -> tuple[int] | None:
    return (int(text),) if _INTEGER.fullmatch(text) else None


def _number(text: str) -> tuple[int | float] | None:
    if _integer(text):
        return _integer(text)
    return (float(text),) if _NUMBER.fullmatch(text) and isfinite(float(text)) else None


def _boolean(text: str) -> tuple[bool] | None:
    value = _BOOLEANS.get(text.lower())
    return None if value is None else (value,)


def _null(text: str) -> tuple[None] | None:
    return (None,) if text == "null" else None


def _json(kind: type) -> Callable[[str], tuple[Any] | None]:
    """Return a function that decodes JSON of a type."""

    def convert(text: str) -> tuple[Any] | None:
        try:
            return (msgspec.json.decode(text, type=kind),)
        except (msgspec.MsgspecError, RecursionError):
            return None

    return convert


_TYPES: Final[Mapping[str, tuple[str, Callable[[str], tuple[Any] | None]]]] = {
    "integer": ("an integer", _integer),
    "number": ("a number", _number),
    "boolean": ("true or false", _boolean),
    "null": ("null", _null),
    "array": ("a JSON array", _json(list)),
    "object": ("a JSON object", _json(dict)),
}
"""Types of JSON Schema except strings, with their names and the functions that read a text."""


class Schema(NamedTuple):
    """A part of an input schema, and the whole, which local references are in."""

    node: Any
    root: Any

    @property
    def is_list(self) -> bool:
        """True if a value is a list, and cannot be a text."""
        types = self.types()
        return "array" in types and "string" not in types

    @property
    def is_object(self) -> bool:
        """True if a value can be an object."""
        return "object" in self.types()

    def types(self) -> set[str]:
        """Return the types that a value can have; empty if the schema does not say."""
        found: set[str] = set()
        for option in self._options():
            kind = option.get("type")
            names = kind if isinstance(kind, list) else [kind]
            known = {name for name in names if isinstance(name, str)} & {*_TYPES, "string"}
            if not known:
                return set()
            found |= known
        return found

    def choices(self) -> list[Any]:
        """Return the only values that are allowed; empty if there are others."""
        found: list[Any] = []
        for option in self._options():
            if isinstance(option.get("enum"), list):
                found += option["enum"]
            elif "const" in option:
                found.append(option["const"])
            elif option.get("type") != "null":
                return []
        return found

    def member(self, name: str) -> "Schema":
        """Return the schema of a member."""
        for option in self._options():
            members = option.get("properties")
            if isinstance(members, dict) and name in members:
                return Schema(members[name], self.root)
        others = (option.get("additionalProperties") for option in self._options())
        return Schema(next(filter(None, others), None), self.root)

    def items(self) -> "Schema":
        """Return the schema of the items of a list."""
        items = (option.get("items") for option in self._options())
        return Schema(next(filter(None, items), None), self.root)

    def _options(self, depth: int = 0) -> Iterator[Mapping[str, Any]]:
        """Yield the schemas of which a value must fit one."""
        found = self._resolved()
        several = next((found[key] for key in _COMBINED if isinstance(found.get(key), list)), None)
        if several is None or depth > _MAX_DEPTH or "type" in found:
            yield found
            return
        for each in several:
            yield from Schema(each, self.root)._options(depth + 1)

    def _resolved(self) -> Mapping[str, Any]:
        """Return the schema, or the one that its `$ref` names."""
        found = self.node
        for _ in range(_MAX_DEPTH):
            reference = found.get("$ref") if isinstance(found, dict) else None
            if not isinstance(reference, str):
                break
            found = self._at(reference)
        return found if isinstance(found, dict) else {}

    def _at(self, reference: str) -> Any:
        """Return what a local reference names; None if there is nothing."""
        found = self.root if reference.startswith("#") else None
        for part in reference.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        return found
