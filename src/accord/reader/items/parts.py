"""Texts in parts: between separators, under headings, in groups."""

import re
from collections import Counter
from itertools import groupby, pairwise
from typing import Any, Final

from accord.reader.items.found import Items, key_of

_RULE: Final = re.compile(r"[-=_*~─━═—]{3,}|<{2,}[A-Z _]+>{2,}")
_HEADING: Final = re.compile(r"(?P<level>#{1,6})[ \t]+(?P<title>\S.*)")
_FIELD: Final = re.compile(
    r"[ \t]*(?:[-*•][ \t]+)?(?P<key>[*_]{0,2}[A-Za-z][\w /()-]{0,40}?[*_]{0,2}):"
)
_NUMBERED: Final = re.compile(r"(?:\w+[ \t]+)?#?\[?\d{1,5}[.):\]]?(?:[ \t]|:|$)")
_MARKED: Final = re.compile(
    r"[ \t]*(?:[-*+•▪◦→\u2013]|\d{1,5}[.)]|[^\w\s#(<\"'`*_\[-]{1,3})[ \t]+\S"
)
_GROUP: Final = re.compile(r"#{1,6}[ \t]+\S.*|\*\*[^*]+\*\*:?|[^-*•\d\s].{0,80}:")
_TITLE_LEVEL: Final = 9
"""Of a line that ends with a colon and has indented lines below it."""
_BOLD_LABEL: Final = re.compile(
    r"(?:- )?\*\*(?!Total|Count|Found|Query|Results|Showing|Page|Open|Closed)"
    r"[A-Z][\w ]{0,30}(?::\*\*|\*\*:) \S"
)
_SENTENCE: Final = re.compile(r"[A-Z][^:]{8,200}[.!]")
_BOLD: Final = re.compile(r"\*\*[^*:]{1,80}\*\*(?!:)")
"""The name of a thing, rather than a label."""
_FEWEST_LABELS: Final = 2
_SHORT_MARKS: Final = frozenset({"=", "==", "--", "~", "*", "_", "—"})
_SHORTEST_MARK: Final = 3
_LONGEST_MARK: Final = 80
_MOST_ABOVE: Final = 14
_MOST_LINES_ABOVE: Final = 8


def _blank(text: str) -> bool:
    return not text.strip()


# Separators


def separated(lines: list[str], wants_list: bool) -> Items | None:
    """Parts that are alike, with a line of dashes or the like between them."""
    times = Counter(
        line.strip()
        for at, line in enumerate(lines)
        if _sets_apart(line.strip()) and not _underlines(lines, at)
    )
    marks = {line for line, count in times.items() if count > 1 or _RULE.fullmatch(line)}
    if not marks:
        return None
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.strip() in marks:
            parts.append([])
        else:
            parts[-1].append(line)
    shapes = [shape_of(part) for part in parts]
    usual = Counter(shape for shape in shapes[1:] if shape).most_common(1)
    if not usual:
        return None
    shape = usual[0][0]
    heading, parts[0] = _headed_part(parts[0], shape)
    shapes[0] = shape_of(parts[0]) if parts[0] else ""
    items = [
        "\n".join(part).strip() for part, own in zip(parts, shapes, strict=True) if own == shape
    ]
    others = [
        part for part, own in zip(parts[1:], shapes[1:], strict=True) if own not in ("", shape)
    ]
    if len(others) > 1 or len(items) < (1 if wants_list and not others else 2):
        return None
    if shape == "text" and not wants_list:
        return None
    if len(items) == 1 and not _is_lone(items[0], heading):
        return None
    closing = "\n".join(line.strip() for part in others for line in part if not _blank(line))
    return Items(items, heading, closing, "separated")


def _is_lone(item: str, heading: str) -> bool:
    """Whether the only part below a heading is an item, and no heading or footer itself."""
    return len(heading) > 0 and heading.count("\n") < _MOST_LINES_ABOVE and item[-1] != ":"


def _headed_part(part: list[str], shape: str) -> tuple[str, list[str]]:
    """The heading above the first part, and that part, if it is one of the items."""
    for at in range(min(len(part), _MOST_LINES_ABOVE + 1)):
        is_begun = at == 0 or _blank(part[at - 1]) or (at == 1 and part[0].endswith(":"))
        if is_begun and shape_of(part[at:]) == shape:
            return "\n".join(line for line in part[:at] if not _blank(line)), part[at:]
    return "\n".join(line for line in part if not _blank(line)), []


def _underlines(lines: list[str], at: int) -> bool:
    """Whether a line makes the one above it a title, rather than to set parts apart."""
    if lines[at].strip()[0] not in "=-~" or at == 0 or _blank(lines[at - 1]):
        return False
    if _FIELD.match(lines[at - 1]) and not lines[at - 1].endswith(":"):
        return False
    return (at < 2 or _blank(lines[at - 2])) and (at + 1 == len(lines) or _blank(lines[at + 1]))


def _sets_apart(line: str) -> bool:
    return line in _SHORT_MARKS or is_symbols(line)


def is_symbols(line: str) -> bool:
    """Whether a line is nothing but signs that set others apart."""
    if not _SHORTEST_MARK <= len(line) <= _LONGEST_MARK or line[0].isalnum():
        return False
    return _RULE.fullmatch(line) is not None or not any(
        c.isalnum() or c in "`|{}[]()" for c in line
    )


def shape_of(part: list[str]) -> str:
    """How a part begins: with a label, a title, a heading, a number, or any words."""
    first = next((line.strip() for line in part if not _blank(line)), "")
    if not first:
        return ""
    if _BOLD.match(first):
        return "*"
    heading = _HEADING.match(first)
    if heading is not None:
        return heading["level"]
    field = _FIELD.match(first)
    if field is not None:
        return "title" if first.rstrip().endswith(":") else key_of(field["key"])
    if _NUMBERED.match(first):
        return "number"
    if first[0] == "[":
        return "["
    return "sign" if not first[0].isascii() and not first[0].isalnum() else "text"


def lone_section(lines: list[str], wants_list: bool) -> Items | None:
    """One heading with labelled lines right below it: the only thing that was found."""
    if [at for at, _, _ in _headings(lines)] != [0]:
        return None
    below = lines[1 : 1 + _FEWEST_LABELS]
    are_labelled = len(below) == _FEWEST_LABELS and all(map(_BOLD_LABEL.match, below))
    return Items(["\n".join(lines).strip()], "", "", "lone-section") if are_labelled else None


def _between_blanks(lines: list[str]) -> list[list[str]]:
    return [list(part) for is_blank, part in groupby(lines, _blank) if not is_blank]


def paragraphs(lines: list[str], wants_list: bool) -> Items | None:
    """Paragraphs of several lines that all begin alike, or are all of one length."""
    parts = _between_blanks(lines)
    heading = ""
    if (
        len(parts) > 1
        and len(parts[0]) == 1
        and (parts[0][0].endswith(":") or parts[0][0][0] == "#")
    ):
        heading, parts = parts[0][0], parts[1:]
    closing = ""
    if len(parts) > 2 and len(parts[-1]) == 1 and _SENTENCE.fullmatch(parts[-1][0]):
        closing = parts.pop()[0]
    if len(parts) < 2 or any(len(part) < 2 for part in parts):
        return None
    shapes = {shape_of(part) for part in parts}
    if len(shapes) != 1:
        return None
    if shapes == {"text"} and len({len(part) for part in parts}) > 1:
        return None
    if shapes == {"title"} and not all(any(map(str.isdigit, part[0])) for part in parts):
        return None
    return Items(["\n".join(part) for part in parts], heading, closing, "paragraphs")


def titled(lines: list[str], wants_list: bool) -> Items | None:
    """Paragraphs of a title and fields, which are the same in all of them."""
    parts = _between_blanks(lines)
    heading = parts.pop(0)[0] if len(parts) > 2 and len(parts[0]) == 1 else ""
    keys = [[found["key"] for line in part[1:] if (found := _FIELD.match(line))] for part in parts]
    if len(parts) < 2 or len(keys[0]) < 2 or any(each != keys[0] for each in keys):
        return None
    if any(_FIELD.match(part[0]) or len(part) - 1 > len(keys[0]) for part in parts):
        return None
    return Items(["\n".join(part) for part in parts], heading, "", "titled")


# Headings


def headed(lines: list[str], wants_list: bool) -> Items | None:
    """A heading for each item, with its number or with the same labels below each."""
    headings = _headings(lines)
    levels = Counter(level for _, level, _ in headings)
    level = min((each for each, count in levels.items() if count > 1), default=0)
    if not level:
        level = 2 if levels == {1: 1, 2: 1} else 0
    starts = [(at, title) for at, each, title in headings if each == level]
    if not starts or starts[0][0] > _MOST_ABOVE:
        return None
    ends = [*(at for at, _ in starts[1:]), len(lines)]
    bodies = [lines[at + 1 : end] for (at, _), end in zip(starts, ends, strict=True)]
    is_numbered = all(_NUMBERED.match(title) for _, title in starts)
    if not is_numbered and not _are_fields(bodies):
        return None
    items = ["\n".join(lines[at:end]).strip() for (at, _), end in zip(starts, ends, strict=True)]
    heading = "\n".join(line for line in lines[: starts[0][0]] if not _blank(line))
    return Items(items, heading, "", "headed")


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """Where headings are, of which level and with which words; not those in a code block."""
    found: list[tuple[int, int, str]] = []
    is_code = False
    for at, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif line.startswith("#") and not is_code:
            heading = _HEADING.fullmatch(line)
            if heading is not None:
                found.append((at, len(heading["level"]), heading["title"]))
        elif not is_code and _is_title(line) and lines[at + 1 : at + 2]:
            found += [(at, _TITLE_LEVEL, line[:-1])] if lines[at + 1][:1].isspace() else []
    return found


def _is_title(line: str) -> bool:
    return line.endswith(":") and line[0].isalnum()


def _are_fields(bodies: list[list[str]]) -> bool:
    """Whether what stands below each heading are fields, of which the first is the same."""
    firsts = set()
    for body in bodies:
        fields = [_FIELD.match(line) for line in body if not _blank(line)]
        keys = [field["key"] for field in fields if field is not None]
        if not keys or fields[0] is None or keys.count(keys[0]) > 1:
            return False
        firsts.add(keys[0])
    return len(firsts) == 1


def sections(lines: list[str], wants_list: bool) -> Items | None:
    """Headings of one level below one of a higher level, with words below each of them."""
    headings = [each for each in _headings(lines) if each[1] != _TITLE_LEVEL]
    level = max((each for _, each, _ in headings), default=0)
    tops = [(at, each) for at, each, _ in headings] + [(len(lines), 0)]
    parts = [(at, end) for (at, each), (end, _) in pairwise(tops) if each == level]
    groups = len(headings) - len(parts)
    if len(parts) < 2 or not 0 < groups <= len(parts) or headings[0][1] == level:
        return None
    start = parts[0][0]
    if start > _MOST_ABOVE:
        return None
    bodies = ["\n".join(lines[a + 1 : b]).lstrip("\n") for a, b in parts]
    if any(not body.strip() or _MARKED.match(body) for body in bodies):
        return None
    items = ["\n".join(lines[a:b]).strip() for a, b in parts]
    heading = "\n".join(line for line in lines[:start] if not _blank(line))
    return Items(list(items), heading, "", "sections")


# Groups


_NO_MEMBER: Final = re.compile(r"\s+\((?:none|empty)\)", re.I)
"""What stands below the heading of a group that has nothing in it."""


def grouped(lines: list[str], wants_list: bool) -> Items | None:
    """Marked lines under headings of their own: `## Files`, then a line for each."""
    items: list[list[str]] = []
    above: list[str] = []
    indent = -1
    groups = 0
    is_new = True
    for line in lines:
        if _blank(line):
            continue
        if above and _NO_MEMBER.fullmatch(line):
            groups += is_new
            is_new = False
            continue
        depth = len(line) - len(line.lstrip())
        is_item = _MARKED.match(line) is not None or (depth > 0 and bool(above))
        if is_item and (indent < 0 or depth <= indent) and not line.startswith("#"):
            indent = depth if indent < 0 else indent
            groups += is_new
            is_new = False
            items.append([line.strip()])
        elif items and depth > indent:
            items[-1].append(line.strip())
        elif not items or _GROUP.fullmatch(line):
            above.append(line)
            is_new = True
            if not items and len(above) > _MOST_ABOVE:
                return None
        else:
            return None
    if groups < 2 or is_new or not items:
        return None
    found: list[Any] = ["\n".join(_unmarked(item)) for item in items]
    return Items(found, "\n".join(above), "", "grouped")


def _unmarked(item: list[str]) -> list[str]:
    first, *rest = item
    mark, _, words = first.partition(" ")
    return [words.strip() if mark in "-*+•" else first, *rest]
