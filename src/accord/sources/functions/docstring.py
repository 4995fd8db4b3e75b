"""What a docstring says of a function and of its parameters, in the three common styles."""

import inspect
import re
from typing import Final, NamedTuple

_GOOGLE: Final = re.compile(r"(Args|Arguments|Parameters):")
_NUMPY: Final = re.compile(r"Parameters\n-{3,}")
_SECTION: Final = re.compile(
    r"\n\s*(?:"
    r"(?:Args|Arguments|Parameters|Returns|Return|Yields|Raises|Examples?|Notes?|Warnings?):\n"
    r"|(?:Parameters|Returns|Yields|Raises|Examples|Notes|See Also|Warnings)\n\s*-{3,}"
    r"|:(?:param|type|returns?|rtype|raises?)\b)"
)
_SPHINX_PARAM: Final = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+):(.*(?:\n(?!:).*)*)", re.MULTILINE)
_GOOGLE_PARAM: Final = re.compile(r"(\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(.*)")


class Description(NamedTuple):
    """The words for the tool itself, and for each parameter that has some."""

    text: str
    parameters: dict[str, str]


def describe(docstring: str | None) -> Description:
    """Split a docstring into what describes the function and what describes its parameters."""
    if not docstring:
        return Description("", {})
    doc = inspect.cleandoc(docstring)
    text = _SECTION.split("\n" + doc, maxsplit=1)[0]
    parameters = {name: _join(words) for name, words in _SPHINX_PARAM.findall(doc)}
    for paragraph in _sections(doc):
        parameters.update(paragraph)
    return Description(text.strip(), {name: words for name, words in parameters.items() if words})


def _sections(doc: str) -> list[dict[str, str]]:
    lines = doc.splitlines()
    found = []
    for index, line in enumerate(lines):
        if _GOOGLE.fullmatch(line.strip()):
            found.append(_google(_indented(lines[index + 1 :])))
        elif _NUMPY.fullmatch("\n".join(part.strip() for part in lines[index : index + 2])):
            found.append(_numpy(lines[index + 2 :]))
    return found


def _indented(lines: list[str]) -> list[str]:
    """The lines below a heading, up to the first that is not indented."""
    block = []
    for line in lines:
        if line and not line[0].isspace():
            break
        block.append(line)
    return inspect.cleandoc("\n" + "\n".join(block)).splitlines()


def _google(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        entry = _GOOGLE_PARAM.fullmatch(line)
        if entry:
            name = entry[1].lstrip("*")
            found[name] = entry[2]
        elif name:
            found[name] += " " + line.strip()
    return {name: _join(words) for name, words in found.items()}


def _numpy(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    names: list[str] = []
    for index, line in enumerate(lines):
        if line[:1].isspace() or not line:
            for name in names:
                found[name] += " " + line.strip()
        elif index + 1 < len(lines) and lines[index + 1].startswith("---"):
            break
        else:
            names = [name.strip() for name in line.split(":")[0].split(",")]
            found.update(dict.fromkeys(names, ""))
    return {name: _join(words) for name, words in found.items()}


def _join(words: str) -> str:
    return " ".join(words.split())
