"""JSON in text: whole, encoded twice, in a fence, or around prose."""

import json
import re
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from accord.reader.formats.python_repr import python_value
from accord.reader.reading import Notes

_FENCE: Final = re.compile(r"^[ \t]*+```[ \t]*+([\w+-]*+)[ \t]*+\n", re.M)
_ELEMENT: Final = re.compile(r"^[ \t]*<(json|data|results?|output|response)>[ \t]*\n", re.M)
_FENCE_END: Final = re.compile(r"```[ \t]*$", re.M)
_DATA_FENCES: Final = frozenset({"", "json", "jsonc", "json5", "javascript", "js"})
_LINE_END: Final = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_STARTS: Final = re.compile(r"(?:^[ \t]*|[:=][ \t]+)(?=[\[{])", re.M)
_SHOWN: Final = re.compile(r"\[?[{(\[]'")
"""How a list or a dict begins as Python shows it."""
_LINE_STARTS: Final = re.compile(r"^[ \t]*(?=[\[{])", re.M)
_BETWEEN: Final = re.compile(r"\}[ \t]*\n\s*\{")
_CUT: Final = re.compile(r"(?:\.\.\.|…)\s*[\[(]?truncated[^\n]{0,60}\Z", re.I)
_BLANK: Final = re.compile(r"\s*")
_MOST_TRIES: Final = 12
_MOST_LINES: Final = 200
_LONGEST_PROSE: Final = 2_000
_LEAST_LABEL: Final = 4
_MOST_NESTED: Final = 2

# What JSON becomes in memory: from this size on, objects and values are counted beforehand.
LARGE: Final = 16_000_000
_MOST_CONTAINERS: Final = 2_000_000
_MOST_VALUES: Final = 16_000_000

_decode = msgspec.json.Decoder().decode
_scan = json.JSONDecoder(strict=False).raw_decode


class Found(NamedTuple):
    """A document in a text, and the prose around it."""

    value: Any
    prose: str
    how: str
    is_shown: bool = False
    """As Python shows it, not JSON."""


def parse_json(text: str, notes: Notes | None = None) -> tuple[bool, Any]:
    """Whether a text is one JSON document, and which."""
    stripped = text.strip()
    if not stripped or stripped[0] not in '{["-0123456789tfn':
        return False, None
    if len(stripped) > LARGE and _is_too_much(stripped):
        if notes is not None:
            notes.finding("the JSON has too many values to be decoded")
        return False, None
    try:
        return True, _decode(stripped)
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass
    except RecursionError:
        if notes is not None:
            notes.finding("the JSON is nested too deeply to be decoded")
        return False, None
    return _parse_odd(stripped)


def _is_too_much(text: str) -> bool:
    """Whether what a document holds would not fit in a gigabyte or so, by what it has at most."""
    containers = text.count("{") + text.count("[")
    return containers > _MOST_CONTAINERS or text.count(",") > _MOST_VALUES


def _parse_odd(text: str) -> tuple[bool, Any]:
    """JSON that Python's own decoder takes: NaN, lone surrogates, bare control characters."""
    if text[0] not in "{[" or text[-1] not in "}]":
        return False, None
    try:
        value, end = _scan(text)
    except (ValueError, RecursionError):
        return False, None
    return end == len(text), value


def find_json(text: str) -> Found | None:
    """The document that a text is or holds, if there is one that it is about."""
    if "{" not in text and "[" not in text:
        return None
    if len(text) > LARGE and _is_too_much(text):
        return None
    return (
        json_in_fence(text)
        or _in_element(text)
        or _several(text)
        or _after_prose(text)
        or _before_prose(text)
        or _on_a_line(text)
    )


def _several(text: str) -> Found | None:
    """Objects one after the other, as lines or with blank lines between; words above and below."""
    if _BETWEEN.search(text) is None:
        return None
    begin = _LINE_STARTS.search(text)
    if begin is None or begin.end() > _LONGEST_PROSE or text[begin.end()] != "{":
        return None
    objects: list[Any] = []
    at = begin.end()
    while text.startswith("{", at):
        value, end = _next_object(text, at)
        if value is None:
            break
        objects.append(value)
        at = _BLANK.match(text, end).end()  # type: ignore[union-attr] # it matches nothing too
    if objects and text.startswith("{", at) and _CUT.search(text, at):
        objects.append(text[at:])
        at = len(text)
    prose = f"{text[: begin.end()].strip()}\n{text[at:].strip()}".strip()
    if len(objects) < 2 or len(prose) > _LONGEST_PROSE:
        return None
    return Found(objects, prose, "several objects")


def _next_object(text: str, at: int) -> tuple[Any, int]:
    """The object that begins here, and its end: on a line, JSON or as Python shows it, or JSON."""
    end = text.find("\n", at)
    line = text[at:] if end < 0 else text[at:end]
    if line.rstrip().endswith("}"):
        for parse in (parse_json, python_value):
            found, value = parse(line)
            if found:
                return value, at + len(line)
    try:
        return _scan(text, at)
    except (ValueError, RecursionError):
        return None, at


def json_in_fence(text: str) -> Found | None:
    """The only code block of a text, if it is JSON."""
    if "```" not in text:
        return None
    begin = _FENCE.search(text)
    end = None if begin is None else _FENCE_END.search(text, begin.end())
    if begin is None or end is None or begin[1].lower() not in _DATA_FENCES:
        return None
    prose = text[: begin.start()] + text[end.end() :]
    if len(prose) > _LONGEST_PROSE or _is_fenced(text[end.end() :]):
        return None
    found, value = parse_json(text[begin.end() : end.start()])
    if not found or not isinstance(value, dict | list):
        return None
    return Found(value, prose.strip(), "JSON in a code fence")


def _in_element(text: str) -> Found | None:
    """The document between two tags that say so, on lines of their own: `<json>`."""
    begin = _ELEMENT.search(text) if "</" in text else None
    end = -1 if begin is None else text.find(f"</{begin[1]}>", begin.end())
    if begin is None or end < 0:
        return None
    prose = text[: begin.start()] + text[end + len(begin[1]) + len("</>") :]
    found, value = parse_json(text[begin.end() : end])
    if not found or not isinstance(value, dict | list) or len(prose) > _LONGEST_PROSE:
        return None
    return Found(value, prose.strip(), "JSON in an element")


def _is_fenced(text: str) -> bool:
    """Whether there is a code block in a text."""
    begin = _FENCE.search(text)
    return begin is not None and _FENCE_END.search(text, begin.end()) is not None


def _after_prose(text: str) -> Found | None:
    """Words, then a document that goes on to the end."""
    end = text.rstrip()
    if not end or end[-1] not in "}]":
        return None
    may_be_shown = True
    for tries, start in enumerate(_STARTS.finditer(end)):
        if tries >= _MOST_TRIES or start.end() > _LONGEST_PROSE:
            return None
        if start.end() == 0:
            continue
        label = end[end.rfind("\n", 0, start.end()) + 1 : start.end() + 1]
        if len(label) > _LEAST_LABEL and end.count(label) > 1:
            return None  # a member of each of several things
        found, value = parse_json(end[start.end() :])
        if (found and value != []) or (found and end[start.end() - 1] in "\n: "):
            return Found(value, end[: start.end()].strip(), "JSON after prose")
        if may_be_shown and end[start.end() - 1] == "\n" and _SHOWN.match(end, start.end()):
            may_be_shown = False  # once, for it is long
            shown = _shown_after_prose(end, start.end())
            if shown is not None:
                return shown
    return None


def _shown_after_prose(text: str, start: int) -> Found | None:
    found, value = python_value(text[start:])
    if not found:
        return None
    return Found(value, text[:start].strip(), "a Python value after prose", is_shown=True)


def _before_prose(text: str) -> Found | None:
    """A document, then words on lines of their own."""
    begin = text.lstrip()
    if not begin or begin[0] not in "{[":
        return None
    try:
        value, end = _scan(begin)
    except (ValueError, RecursionError):
        return None
    prose = begin[end:]
    if len(prose) > _LONGEST_PROSE or not prose.startswith(("\n", "\r\n", " \n")):
        return None
    return Found(value, prose.strip(), "JSON before prose")


def _on_a_line(text: str) -> Found | None:
    """Words, one line that is a document, and words again."""
    ends = _LINE_END.finditer(text)
    if next(islice(ends, _LONGEST_PROSE, None), None) is not None:
        return None
    lines = text.splitlines()
    starts = [line for line in lines[:_MOST_LINES] if line.strip()[:1] in ("[", "{")]
    if len(starts) != 1 or len(text) - len(starts[0]) > _LONGEST_PROSE:
        return None
    found, value = parse_json(starts[0])
    if not found or not isinstance(value, dict | list):
        return None
    prose = "\n".join(line for line in lines if line is not starts[0])
    return Found(value, prose.strip(), "JSON among prose")


def decoded_twice(value: Any) -> tuple[bool, Any]:
    """A JSON string that holds a JSON document, and that document."""
    is_nested = False
    for _ in range(_MOST_NESTED):
        if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
            break
        found, inner = parse_json(value)
        if not found or not inner:  # `"[]"` may be a string as well
            break
        is_nested, value = True, inner
    return is_nested, value
