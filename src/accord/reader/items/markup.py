"""Elements, as XML and HTML have them."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from accord.reader.items.lines import MAX_HEADING, Items, Line, told
from accord.reader.lexicon.members import member_of

_PROLOG: Final = re.compile(r"(?:\s*<[?!][^>]{0,500}>)*\s*")
_TAG: Final = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]{0,60})(?P<attributes>(?:\s[^<>]{0,1000}?)?)(?P<empty>/?)>"
)
_ATTRIBUTE: Final = re.compile(r"""([\w:.-]{1,60})=(?:"([^"]*)"|'([^']*)')""")
_OF_NONE: Final = re.compile(
    r"""(?<![\w-])(?:type=["']array|total[_-]?(?:count|results)=["']0)["']""", re.I
)
_DEEPEST: Final = 3


class Element(NamedTuple):
    name: str
    attributes: str
    inner: str


def elements(lines: Sequence[Line], wants_list: bool) -> Items | None:
    """Elements of one name, alone or within another."""
    first = next((at for at, line in enumerate(lines) if line.words[:1] == "<"), None)
    if first is None or first > (MAX_HEADING if wants_list else 0):
        return None
    text = "\n".join(line.text for line in lines[first:])
    found = _siblings(text)
    if wants_list and found is not None and len(found) == 1 and _holds_none(found[0]):
        return Items([], told(lines), "", "elements")
    for _ in range(_DEEPEST if wants_list else 0):
        if found is None or len(found) != 1 or "<" not in found[0].inner or _is_head(found[0]):
            break
        inner = _siblings(found[0].inner)
        inner = _alike(inner or [])
        if not inner:
            break
        found = inner
    rows = [each for each in found or [] if not _is_head(each)]
    if wants_list and found and not rows:
        return Items([], told(lines), "", "elements")
    found = rows
    if len(found) < (1 if wants_list else 2) or any(each.name != found[0].name for each in found):
        return None
    heading = told(lines[:first])
    return Items([_said(each) for each in found], heading, "", "elements")


def _holds_none(element: Element) -> bool:
    """Whether it stands around items of which there are none, and is none itself."""
    if element.inner or not _OF_NONE.search(element.attributes):
        return False
    names = (found[0] for found in _ATTRIBUTE.findall(element.attributes))
    return not any(member_of(name).is_identity for name in names)


def _is_head(element: Element) -> bool:
    """Whether it is the row of a table that has the names of the others."""
    return element.name == "tr" and "<td" not in element.inner


def _siblings(text: str) -> list[Element] | None:
    """The elements that a text is made of; None where there is anything else between them."""
    at = _PROLOG.match(text).end()  # type: ignore[union-attr] # it matches nothing too
    found: list[Element] = []
    depth = 0
    begin: re.Match[str] | None = None
    for tag in _TAG.finditer(text, at):
        if begin is None:
            if tag["close"] or text[at : tag.start()].strip():
                return None
            begin = tag
        elif tag["name"] != begin["name"]:
            continue
        depth += -1 if tag["close"] else not tag["empty"]
        if depth == 0:
            inner = "" if tag is begin else text[begin.end() : tag.start()].strip()
            found.append(Element(begin["name"], begin["attributes"], inner))
            at, begin = tag.end(), None
    return None if begin is not None or text[at:].strip() else found


def _alike(found: list[Element]) -> list[Element]:
    """Those of the one name that comes again, or of the only one; none where it is not clear."""
    names = Counter(each.name for each in found)
    several = [name for name, count in names.items() if count > 1]
    if len(names) == 1 or len(several) == 1:
        name = (several or list(names))[0]
        return [each for each in found if each.name == name]
    return []


def _said(element: Element) -> Any:
    """What an element says: its text; without any, its attributes."""
    if element.inner or not element.attributes:
        return element.inner
    found = _ATTRIBUTE.findall(element.attributes)
    return {name: double or single for name, double, single in found}
