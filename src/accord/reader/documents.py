"""JSON in text: whole, encoded twice, in a fence, among prose; and Python literals."""

import json
import re
from typing import Any, Final, Literal, NamedTuple

import msgspec

from accord.reader.indented import toon_value, yaml_value
from accord.reader.reading import Confidence, Notes

_OPENS: Final = re.compile(
    r"^[ \t]*+(?:```[ \t]*+[\w+-]*+|<(?P<tag>json|data|results?|output|response"
    r"|(?P<guard>[a-z][\w-]{2,40}-[0-9a-f][0-9a-f-]{7,40}))>)[ \t]*+\n",
    re.M,
)
"""The line before a document: a code fence, a tag, or a mark of text of a third party.

Such marks have a number, so that the text cannot close them: `<untrusted-data-3f9e51a6>`.
"""
_FENCE_END: Final = re.compile(r"```[ \t]*$", re.M)
_STARTS: Final = re.compile(r"(?:^[ \t]*|[:=][ \t]+|\uff1a[ \t]*)(?=[\[{])", re.M)
"""Where a document may begin: at the start of a line, or after a label."""
_BEFORE_NOTHING: Final = "\n: \uff1a"
"""Characters before an empty list."""
_REMARK: Final = re.compile(r"[ \t]*+[.;]?[ \t]*+(?:\([^()\[\]{}\n]{1,100}\))?[.]?")
"""A remark after a document on its last line: `(showing all)`."""
_SHOWN: Final = re.compile(r"\[?[{(\[]'")
"""The beginning of a Python literal of a list or dict."""
_LINE_STARTS: Final = re.compile(r"^[ \t]*(?=[\[{])", re.M)
_BETWEEN: Final = re.compile(r"\}[ \t]*\n\s*\{")
_LINE_ENDS: Final = ("\n", "\r")
_BLANK: Final = re.compile(r"\s*")
_MOST_TRIES: Final = 12
_LONGEST_PROSE: Final = 2_000
_LEAST_LABEL: Final = 4
_MOST_NESTED: Final = 2

Digs = Literal["", "json", "all"]
"""The notations looked for in a text: none in other authors' documents, JSON in output, or all."""

# From this size on, objects and values are counted before JSON is decoded, to limit memory.
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
    rule: str = "json-in-prose"
    confidence: Confidence = "certain"


def parse_json(text: str, notes: Notes | None = None) -> tuple[bool, Any]:
    """Return whether a text is a JSON document, and its value."""
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
    """True if a document may need more than about a gigabyte, by the most values it can have."""
    containers = text.count("{") + text.count("[")
    return containers > _MOST_CONTAINERS or text.count(",") > _MOST_VALUES


def _parse_odd(text: str) -> tuple[bool, Any]:
    """Parse JSON that only Python's decoder accepts: NaN, lone surrogates, control characters."""
    if text[0] not in "{[" or text[-1] not in "}]":
        return False, None
    try:
        value, end = _scan(text)
    except (ValueError, RecursionError):
        return False, None
    return end == len(text), value


def find_json(text: str, digs: Digs = "json") -> Found | None:
    """Return the JSON document that a text is about; None if there is none."""
    if len(text) > LARGE and _is_too_much(text):
        return None
    found = marked(text, digs)
    if found is None and ("{" in text or "[" in text):
        found = _several(text) or _among_prose(text)
    return found


def document_in(text: str, digs: Digs) -> Found | None:
    """Return the document that a text is in another notation, or the JSON in it."""
    for rule, notation, parse, modes in NOTATIONS:
        found, value = parse(text) if digs in modes else (False, None)
        if found:
            return Found(value, "", notation, rule)
    return find_json(text, digs) if digs else None


def marked(text: str, digs: Digs = "json") -> Found | None:
    """Return the document in the only code block of a text, or between tags: `<json>`."""
    begin = _OPENS.search(text) if "```" in text or "</" in text else None
    if begin is None:
        return None
    if begin["tag"] is None:
        closing = _FENCE_END.search(text, begin.end())
        at, end = (-1, -1) if closing is None else closing.span()
    else:
        at = text.find(f"</{begin['tag']}>", begin.end())
        end = at + len(begin["tag"]) + len("</>")
    prose = text[: begin.start()] + text[end:]
    if at < 0 or len(prose) > _LONGEST_PROSE or _OPENS.search(text, end):
        return None
    inner = text[begin.end() : at]
    found, value = parse_json(inner)
    if begin["guard"] and not (found and isinstance(value, dict | list)):
        document = None if _OPENS.search(inner) else document_in(inner, digs)
        found, value = document is not None, document and document.value
    if not found or not isinstance(value, dict | list):
        return None
    if begin["guard"]:
        return Found(value, prose.strip(), "between marks", "guarded", "likely")
    how = "JSON in a code fence" if begin["tag"] is None else "JSON in an element"
    return Found(value, prose.strip(), how)


def _several(text: str) -> Found | None:
    """Return consecutive objects, perhaps with blank lines between and prose above and below."""
    begin = None if _BETWEEN.search(text) is None else _LINE_STARTS.search(text)
    if begin is None or begin.end() > _LONGEST_PROSE:
        return None
    objects: list[Any] = []
    at = begin.end()
    while text.startswith("{", at):
        value, end = _next_object(text, at)
        if value is None:
            break
        objects.append(value)
        at = _BLANK.match(text, end).end()  # type: ignore[union-attr] # it also matches an empty text
    prose = f"{text[: begin.end()].strip()}\n{text[at:].strip()}".strip()
    if len(objects) < 2 or len(prose) > _LONGEST_PROSE:
        return None
    return Found(objects, prose, "several objects")


def _next_object(text: str, at: int) -> tuple[Any, int]:
    """Return the object at a position, JSON or a Python literal on one line, and its end."""
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


def _among_prose(text: str) -> Found | None:
    """Return a document with prose above it, below it, or both."""
    text = text.rstrip()
    may_be_shown = True
    for tries, start in enumerate(_STARTS.finditer(text)):
        at = start.end()
        if tries >= _MOST_TRIES or at > _LONGEST_PROSE:
            return None
        if _recurs(text, at):
            return None  # a field of each of several records
        value, end = _document_at(text, at)
        if end > at and _is_apart(text, start, value, end):
            prose = f"{text[:at].strip()}\n{text[end:].strip()}".strip()
            how = "before" if not at else "among" if end < len(text) else "after"
            return Found(
                value, prose, f"JSON {how} prose", confidence="certain" if at else "likely"
            )
        if may_be_shown and text[at - 1] == "\n" and _SHOWN.match(text, at):
            may_be_shown = False  # tried once, since it is slow
            found, value = python_value(text[at:])
            if found:
                how = "a Python value after prose"
                return Found(value, text[:at].strip(), how, "python-value")
    return None


def _recurs(text: str, at: int) -> bool:
    """True if the label before a document recurs, perhaps with another number."""
    label = text[text.rfind("\n", 0, at) + 1 : at + 1]
    name = label.rstrip("[{:= \t")
    stem = name.rstrip("0123456789")
    if "" < stem < name:
        return f"\n{text}".count(f"\n{stem}") > 1
    return len(label) > _LEAST_LABEL and text.count(label) > 1


def _document_at(text: str, at: int) -> tuple[Any, int]:
    """Return the document at a position, and its end; -1 if there is none."""
    if text[-1] in "}]":
        try:
            return _decode(text[at:]), len(text)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            pass
    try:
        return _scan(text, at)
    except (ValueError, RecursionError):
        return None, -1


def _is_apart(text: str, start: re.Match[str], value: Any, end: int) -> bool:
    """True if the prose around a document is about it; else it is an example in the prose."""
    at, rest = start.end(), text[end:]
    if not rest:
        return value != [] or text[at - 1] in _BEFORE_NOTHING
    if _REMARK.fullmatch(rest):
        return bool(value)
    if len(rest) > _LONGEST_PROSE or rest.lstrip(" \t")[:1] not in _LINE_ENDS:
        return False
    is_only = not any(map(_LINE_STARTS.search, (text[: start.start()], rest)))
    return not at or (is_only and bool(value) and not start[0].strip())


def decoded_twice(value: Any) -> tuple[bool, Any]:
    """Return whether a value is a string with a JSON document, and the decoded value."""
    is_nested = False
    for _ in range(_MOST_NESTED):
        if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
            break
        found, inner = parse_json(value)
        if not found or not inner:  # `"[]"` may be a string as well
            break
        is_nested, value = True, inner
    return is_nested, value


# Python literals

_LONGEST_SHOWN: Final = 10_000_000
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
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.S)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a"}


def python_value(text: str) -> tuple[bool, Any]:
    """Return whether a text is a Python list or dict, and its value; nothing is evaluated."""
    stripped = text.strip()
    if not 2 <= len(stripped) <= _LONGEST_SHOWN:
        return False, None
    if stripped[0] not in "[{(" or stripped[-1] not in "]})" or _BETWEEN.search(stripped):
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


def _translated(token: re.Match[str]) -> str:
    text = token[0]
    match token.lastgroup:
        case "string":
            quote = min(text.find("'") % len(text), text.find('"') % len(text))
            return json.dumps(_ESCAPE.sub(_unescaped, text[quote + 1 : -1]))
        case "call":  # the repr of a date or a decimal
            inner = text[text.index("(") + 1 : -1].strip("'\"")
            return json.dumps(inner if text.startswith(("Decimal", "UUID")) else text)
        case "object":  # a repr without data
            return json.dumps(text)
        case "word":
            return _WORDS.get(text, "null")
        case "parenthesis":
            return "[" if text == "(" else "]"
    return text


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    return _ESCAPES.get(code, "\\" + code)


NOTATIONS: Final = (
    ("yaml", "YAML", yaml_value, ("all",)),
    ("python-value", "a Python value", python_value, ("", "json", "all")),
    ("toon", "TOON", toon_value, ("json", "all")),
)
"""Notations of whole texts other than JSON, with the `Digs` for which each is tried."""
