"""JSON in text: whole, encoded twice, in a fence, around prose, or as Python shows it."""

import json
import re
from typing import Any, Final, NamedTuple

import msgspec

from accord.reader.reading import Notes

_FENCE: Final = re.compile(
    r"^[ \t]*```[ \t]*([\w+-]*)[ \t]*\n(.*?)\n?[ \t]*```[ \t]*$", re.S | re.M
)
_DATA_FENCES: Final = frozenset({"", "json", "jsonc", "json5", "javascript", "js"})
_STARTS: Final = re.compile(r"(?:^[ \t]*|[:=][ \t]+)(?=[\[{])", re.M)
_MOST_TRIES: Final = 12
_MOST_LINES: Final = 200
_LONGEST_PROSE: Final = 2_000
_MOST_NESTED: Final = 2

_decode = msgspec.json.Decoder().decode
_scan = json.JSONDecoder(strict=False).raw_decode


class Found(NamedTuple):
    """A JSON document in a text, and the prose around it."""

    value: Any
    prose: str
    how: str


def parse_json(text: str, notes: Notes | None = None) -> tuple[bool, Any]:
    """Whether a text is one JSON document, and which."""
    stripped = text.strip()
    if not stripped or stripped[0] not in '{["-0123456789tfn':
        return False, None
    try:
        return True, _decode(stripped)
    except msgspec.DecodeError:
        pass
    except RecursionError:
        if notes is not None:
            notes.finding("the JSON is nested too deeply to be read")
        return False, None
    return _parse_odd(stripped)


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
    return json_in_fence(text) or _after_prose(text) or _before_prose(text) or _on_a_line(text)


def json_in_fence(text: str) -> Found | None:
    """The only code block of a text, if it is JSON."""
    if "```" not in text:
        return None
    fences = list(_FENCE.finditer(text))
    if len(fences) != 1 or fences[0][1].lower() not in _DATA_FENCES:
        return None
    found, value = parse_json(fences[0][2])
    if not found or not isinstance(value, dict | list):
        return None
    prose = text[: fences[0].start()] + text[fences[0].end() :]
    if len(prose) > _LONGEST_PROSE:
        return None
    return Found(value, prose.strip(), "JSON in a code fence")


def _after_prose(text: str) -> Found | None:
    """Words, then a document that goes on to the end."""
    end = text.rstrip()
    if not end or end[-1] not in "}]":
        return None
    for tries, start in enumerate(_STARTS.finditer(end)):
        if tries >= _MOST_TRIES or start.end() > _LONGEST_PROSE:
            return None
        if start.end() == 0:
            continue
        found, value = parse_json(end[start.end() :])
        if (found and value != []) or (found and end[start.end() - 1] in "\n: "):
            return Found(value, end[: start.end()].strip(), "JSON after prose")
    return None


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
        if not found:
            break
        is_nested, value = True, inner
    return is_nested, value


_TOKEN: Final = re.compile(
    r"""(?P<string>[bru]?'(?:[^'\\\n]|\\.)*'|[bru]?"(?:[^"\\\n]|\\.)*")
      | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<call>[A-Za-z_][\w.]*\((?:[^()'"]|'[^'\n]*'|"[^"\n]*")*\))
      | (?P<word>None|True|False|nan|inf|-inf)
      | (?P<mark>[\[\]{},:()])
      | (?P<blank>\s+)""",
    re.X,
)
_WORDS: Final = {"None": "null", "True": "true", "False": "false"}
_ESCAPE: Final = re.compile(
    r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.S
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a"}


def python_value(text: str) -> tuple[bool, Any]:
    """A list or dict as Python shows it. It is translated, never evaluated."""
    stripped = text.strip()
    if len(stripped) < 2 or stripped[0] not in "[{(" or stripped[-1] not in "]})":
        return False, None
    parts: list[str] = []
    at = 0
    while at < len(stripped):
        token = _TOKEN.match(stripped, at)
        if token is None:
            return False, None
        parts.append(_translated(token))
        at = token.end()
    source = re.sub(r",\s*([\]}])", r"\1", "".join(parts)) if ",)" in stripped else "".join(parts)
    try:
        return True, _decode(source)
    except (msgspec.DecodeError, RecursionError):
        return False, None


def _translated(token: "re.Match[str]") -> str:
    words = token[0]
    match token.lastgroup:
        case "string":
            quote = min(words.find("'") % len(words), words.find('"') % len(words))
            return json.dumps(_ESCAPE.sub(_unescaped, words[quote + 1 : -1]))
        case "call":  # a date, a decimal: what Python would write to make it
            inner = words[words.index("(") + 1 : -1].strip("'\"")
            return json.dumps(inner if words.startswith(("Decimal", "UUID")) else words)
        case "word":
            return _WORDS.get(words, "null")
        case "mark":
            return {"(": "[", ")": "]"}.get(words, words)
    return words


def _unescaped(escape: "re.Match[str]") -> str:
    code = escape[1]
    if code[0] in "xuU":
        return chr(min(int(code[1:], 16), 0x10FFFF))
    if code.isdigit():
        return chr(int(code, 8) % 0x110000)
    return _ESCAPES.get(code, "\\" + code)
