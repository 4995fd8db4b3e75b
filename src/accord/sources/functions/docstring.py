"""What a docstring says of a function and of its parameters, in the three common styles."""

import inspect
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_GOOGLE: Final = re.compile(
    r"(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters):"
)
_OTHER_GOOGLE: Final = re.compile(
    r"(Attributes|Examples?|Notes?|Raises|References|Returns?|See Also|Warnings?|Warns|Yields?):"
)
_NUMPY: Final = re.compile(r"(Other )?Parameters")
_UNDERLINE: Final = re.compile(r"-{3,}")
_SPHINX: Final = re.compile(r":[a-z]+\b[^:]*:")
_SPHINX_PARAM: Final = re.compile(r":param\s++(?:[^:]*\s)?(\w+):\s*(.*)")
_GOOGLE_PARAM: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?:\s*(.*)")


class Description(NamedTuple):
    """The words for the tool itself, and for each parameter that has some."""

    text: str
    parameters: dict[str, str]


def describe(docstring: str | None) -> Description:
    """Split a docstring into what describes the function and what describes its parameters."""
    lines = [line.rstrip() for line in inspect.cleandoc(docstring or "").splitlines()]
    starts = [index for index in range(len(lines)) if _is_heading(lines, index)]
    text = lines[: starts[0]] if starts else lines
    parameters: dict[str, list[str]] = {}
    for start in starts:
        for name, words in _parameters(lines[start], lines[start + 1 :]):
            parameters.setdefault(name, []).append(words)
    spoken = {name: " ".join(" ".join(words).split()) for name, words in parameters.items()}
    return Description("\n".join(text).strip(), {k: words for k, words in spoken.items() if words})


def _is_heading(lines: list[str], index: int) -> bool:
    line = lines[index]
    if _GOOGLE.fullmatch(line) or _OTHER_GOOGLE.fullmatch(line):
        return True
    return bool(_SPHINX.match(line)) or (bool(line) and _is_underlined(lines, index))


def _is_underlined(lines: list[str], index: int) -> bool:
    return index + 1 < len(lines) and _UNDERLINE.fullmatch(lines[index + 1]) is not None


def _parameters(heading: str, below: list[str]) -> Iterator[tuple[str, str]]:
    """Each parameter that a section describes, line by line."""
    if _GOOGLE.fullmatch(heading):
        yield from _google(_indented(below))
    elif entry := _SPHINX_PARAM.match(heading):
        yield from ((entry[1], words) for words in [entry[2], *_paragraph(below)])
    elif _NUMPY.fullmatch(heading):
        yield from _numpy(below[1:])


def _indented(lines: list[str]) -> list[str]:
    """The lines below a heading, up to the first that is not indented."""
    end = next((i for i, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    return inspect.cleandoc("\n" + "\n".join(lines[:end])).splitlines()


def _paragraph(lines: list[str]) -> list[str]:
    """The lines that go on with the one before: indented ones, up to a blank."""
    end = next((i for i, line in enumerate(lines) if not line[:1].isspace()), len(lines))
    return lines[:end]


def _google(lines: list[str]) -> Iterator[tuple[str, str]]:
    name = ""
    for line in lines:
        if entry := _GOOGLE_PARAM.fullmatch(line):
            name = entry[1]
            yield name, entry[2]
        elif name:
            yield name, line


def _numpy(lines: list[str]) -> Iterator[tuple[str, str]]:
    names: list[str] = []
    for index, line in enumerate(lines):
        if line[:1].isspace():
            yield from ((name, line) for name in names)
        elif _is_underlined(lines, index):
            return
        elif line:
            names = [name.strip(" *") for name in line.partition(":")[0].split(",")]
