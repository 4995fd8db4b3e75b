"""Lists and dicts as Python shows them, which some servers send for JSON."""

import json
import re
from typing import Any, Final

import msgspec

_LONGEST: Final = 10_000_000
_TOKEN: Final = re.compile(
    r"""(?P<string>[bru]?'[^'\\\n]*(?:\\.[^'\\\n]*)*'|[bru]?"[^"\\\n]*(?:\\.[^"\\\n]*)*")
      | (?P<plain>[\[\]{},:\s]+)
      | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<call>[A-Za-z_][\w.]*\(
            [^()'"]*(?:(?:'[^'\n]*'|"[^"\n]*"|\((?:[^()'"]|'[^'\n]*'|"[^"\n]*")*\))[^()'"]*)*\))
      | (?P<object><[A-Za-z_][\w.]*\s[^<>\n]*>)
      | (?P<word>None|True|False|nan|inf|-inf)
      | (?P<parenthesis>[()])""",
    re.X,
)
_LAST_COMMA: Final = re.compile(r",\s*([\]}])")
_WORDS: Final = {"None": "null", "True": "true", "False": "false"}
_ESCAPE: Final = re.compile(
    r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.S
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a"}


def python_value(text: str) -> tuple[bool, Any]:
    """A list or dict as Python shows it. It is translated, never evaluated."""
    stripped = text.strip()
    if not 2 <= len(stripped) <= _LONGEST:
        return False, None
    if stripped[0] not in "[{(" or stripped[-1] not in "]})":
        return False, None
    parts: list[str] = []
    at = 0
    while token := _TOKEN.match(stripped, at):
        parts.append(token[0] if token.lastgroup == "plain" else _translated(token))
        at = token.end()
    if at != len(stripped):
        return False, None
    source = "".join(parts)
    if ",)" in stripped:
        source = _LAST_COMMA.sub(r"\1", source)
    try:
        return True, msgspec.json.decode(source)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
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
        case "object":  # of which Python shows no more
            return json.dumps(words)
        case "word":
            return _WORDS.get(words, "null")
        case "parenthesis":
            return "[" if words == "(" else "]"
    return words


def _unescaped(escape: "re.Match[str]") -> str:
    code = escape[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    if code[0] in "01234567":
        return chr(int(code, 8) % 0x110000)
    return _ESCAPES.get(code, "\\" + code)
