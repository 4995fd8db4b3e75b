"""Texts about one thing as objects: a record of labelled lines, or a tool."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from accord.reader.items.lines import LABEL, Line, plain_key, split_advice, tokens
from accord.reader.lexicon import MEMBERS, words
from accord.reader.lexicon.phrases import lines_of

_LONGEST: Final = 20_000
"""Characters of a text that is one record."""
_FEWEST_FIELDS: Final = 2
"""Fewest labels of a record; a sentence with a colon has one."""
_NO_RECORD: Final = words("texts.no-record")


def record_in(text: str) -> tuple[dict[str, Any], str] | None:
    """Return labelled lines as an object, and their heading; None if there is other text.

    Indented lines continue the field above them.
    """
    whole = lines_of(text.strip()) if len(text) <= _LONGEST and ":" in text else None
    body, advice = split_advice(whole or [])
    lines = [line for line in tokens(body) if line.text and line.kind != "rule"]
    heading = lines.pop(0) if lines and not _field(lines[0])[1] else None
    found: dict[str, list[str]] = {}
    for line in lines:
        depth = line.indent - lines[0].indent
        name, value = ("", "") if depth else _field(line)
        if name and name not in found and name.lower() not in _NO_RECORD:
            found[name] = [value]
        elif found and depth > 0:
            found[next(reversed(found))].append(line.text.strip())
        else:
            return None
    if len(found) < _FEWEST_FIELDS or not all(map(any, found.values())):
        return None
    fields = {name: "\n".join(filter(None, each)) for name, each in found.items()}
    above = [] if heading is None else [heading.words]
    return fields, "\n".join(filter(None, [*above, *advice]))


def _field(line: Line) -> tuple[str, str]:
    """Return the label of a line and the text after it; two empty texts if it has none."""
    label = LABEL.fullmatch(line.words) if line.kind in ("text", "bullet") else None
    return ("", "") if label is None else (plain_key(label[1]), (label[2] or "").strip())


# Tools

_NAME: Final = r"[`*_]{0,3}(?P<name>[A-Za-z_][\w./:-]{0,80})[`*_]{0,3}"
_TOOL: Final = re.compile(
    rf"{_NAME}(?P<takes>\s?\([^()\n]{{0,200}}\))?"
    r"(?:\s`[^`\n]{0,80}`)?(?:\s->\s[\w\[\], .|]{1,60})?"
    r"(?:[`*_]{0,3}(?:\s{0,4}[:\u2013\u2014-]\s|\s{1,4}[=-]>\s|[ ]{2})\s*(?P<description>.*))?",
    re.S,
)
_PARAMETER: Final = re.compile(
    r"[`*_]{0,3}(?P<name>[A-Za-z_]\w{0,60})[`*_]{0,3}(?P<note>\s?\([^()\n]{0,80}\))?(?::[`*_]{0,3}\s*(?P<description>.*))?"
)
_ANNOTATION: Final = re.compile(r"[:=].*", re.S)
"""The type or the default of a parameter."""
_PARAMETER_LABELS: Final = words("texts.tool-parameters")
_DESCRIPTION_LABELS: Final = words("texts.tool-descriptions")


def tool_in(item: Any) -> Any:
    """Return a tool that a text describes as an object: its name, description and schema."""
    if isinstance(item, dict) and isinstance(item.get("text"), str):
        fields = (f"{name.lower()}: {each}" for name, each in item.items() if name != "text")
        item = "\n".join([item["text"], *fields])
    if not isinstance(item, str):
        return item
    lines = [line for line in tokens(item.splitlines()) if line.text]
    head = _TOOL.fullmatch(lines[0].words) if lines else None
    if head is None:
        return item
    texts, parameters = _parts(lines[1:])
    description = "\n".join(filter(None, [(head["description"] or "").strip(), *texts]))
    tool: dict[str, Any] = {"name": head["name"]}
    if description:
        tool["description"] = description
    schema = _schema(parameters) or _signature(head["takes"])
    return {**tool, "schema": schema} if schema else tool


def _parts(lines: Sequence[Line]) -> tuple[list[str], list[Line]]:
    """Return the texts that describe a tool, and the lines of its parameters."""
    texts: list[str] = []
    parameters: list[Line] = []
    in_parameters = False
    for line in lines:
        name, value = _field(line)
        is_label = line.indent == 0 and line.kind == "text" and bool(name)
        if is_label and name.lower() in _PARAMETER_LABELS:
            in_parameters = True
        elif is_label and name.lower() in _DESCRIPTION_LABELS:
            in_parameters = False
            texts.append(value)
        elif in_parameters and line.kind == "bullet":
            parameters.append(line)
        else:
            texts.append(line.text.strip())
    return texts, parameters


def _schema(lines: Sequence[Line]) -> dict[str, Any] | None:
    """Return the JSON Schema of parameters, a bullet each: `- path (required): the file`."""
    found = [each for line in lines if (each := _PARAMETER.fullmatch(line.words))]
    if not found or len(found) < len(lines):
        return None
    properties = {
        each["name"]: {"description": each["description"]} if each["description"] else {}
        for each in found
    }
    required = [each["name"] for each in found if "required" in (each["note"] or "").lower()]
    schema = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def _signature(takes: str | None) -> dict[str, Any] | None:
    """Return the JSON Schema of the names in brackets: `(path, mode)`."""
    parts = [] if takes is None else takes.strip(" ()").split(",")
    names = [_ANNOTATION.sub("", part).strip(" *?") for part in parts]
    if not names or not all(map(str.isidentifier, names)):
        return None
    return {"type": "object", "properties": {name: {} for name in names}}


# Tools as objects


def is_catalog(items: list[Any]) -> bool:
    """True if all items are tools."""
    return bool(items) and all(map(_is_tool, items))


def _is_tool(item: Any) -> bool:
    if not isinstance(item, dict) or MEMBERS.schemas.isdisjoint(item):
        return False
    held = [(key, each) for key in MEMBERS.schemas if isinstance(each := item.get(key), dict)]
    is_taking = any(key in MEMBERS.input_schemas or _is_schema(each) for key, each in held)
    return is_taking and isinstance(item.get("name"), str)


def _is_schema(value: Mapping[str, Any]) -> bool:
    """True if an object is a JSON Schema of parameters, rather than values of parameters."""
    if not value or "$ref" in value or _is_type(value.get("type")):
        return True
    each = value.values()
    return any(isinstance(one, dict) for one in each) or all(map(_is_type, each))


def _is_type(words: Any) -> bool:
    """True for `string`, also as `string (required)`."""
    return isinstance(words, str) and words.partition(" ")[0] in MEMBERS.json_types
