"""Lines in groups: runs of marked lines, parts between separators, parts below headings."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from accord.reader.items.lines import (
    COUNT_LINES,
    LABEL,
    MAX_ABOVE,
    Items,
    Line,
    counts_in,
    cut,
    text_of,
    told,
)
from accord.reader.lexicon import ordered, words

Lines = Sequence[Line]

_FIELD: Final = re.compile(r"[*_]{0,2}([A-Za-z][\w /()-]{0,40}?)[*_]{0,2}:")
_NUMBERED: Final = re.compile(r"(?:\w+[ \t]+)?#?\[?\d{1,5}[.):\]]?(?:[ \t]|:|$)")
_BOLD: Final = re.compile(r"\*\*[^*:]{1,80}\*\*(?!:)")
"""The name of a thing, rather than a label."""


def shape_of(lines: Lines) -> str:
    """Return how a part begins: with a label, a title, a heading, a number, or any words."""
    line = next((line for line in lines if line.text), None)
    if line is None:
        return ""
    whole = line.text.strip()
    if _BOLD.match(whole):
        return "*"
    if line.kind == "heading":
        return line.mark
    field = _FIELD.match(line.words if line.kind == "bullet" else whole)
    if field is not None:
        return "title" if whole.endswith(":") else field[1]
    if _NUMBERED.match(whole):
        return "number"
    if whole[0] == "[":
        return "["
    return "sign" if not whole[0].isascii() and not whole[0].isalnum() else "text"


# Parts between separators


def separated(lines: Lines, wants_list: bool) -> Items | None:
    """Parts that are alike, with a line of dashes or the like between them."""
    rules = [at for at, line in enumerate(lines) if line.kind == "rule"]
    times = Counter(lines[at].words for at in rules)
    ends = [at for at in rules if times[lines[at].words] > 1 or lines[at].mark]
    parts = [list(lines[a + 1 : b]) for a, b in pairwise([-1, *ends, len(lines)])]
    usual = Counter(filter(None, map(shape_of, parts[1:]))).most_common(1)
    if not ends or not usual:
        return None
    shape = usual[0][0]
    heading, parts[0] = _below_heading(parts[0], shape)
    items = [text_of(part) for part in parts if shape_of(part) == shape]
    others = [part for part in parts[1:] if shape_of(part) not in ("", shape)]
    if len(others) > 1 or len(items) < (1 if wants_list and not others else 2):
        return None
    if not wants_list and (shape == "text" or shape[0] == "#"):
        return None  # parts of a document, as likely
    if len(items) == 1 and (
        not heading or heading.count("\n") >= _MAX_ABOVE_PART or items[0][-1] == ":"
    ):
        return None
    closing = "\n".join(line.text.strip() for part in others for line in part if line.text)
    return Items(list(items), heading, closing, "separated")


_MAX_ABOVE_PART: Final = 8
"""Lines of a heading above the first of several parts."""


def _below_heading(part: list[Line], shape: str) -> tuple[str, list[Line]]:
    """Return the heading above the first part, and that part if it is one of the items."""
    for at in range(min(len(part), _MAX_ABOVE_PART + 1)):
        is_begun = at == 0 or not part[at - 1].text or (at == 1 and _is_heading(part[0]))
        if is_begun and shape_of(part[at:]) == shape:
            return told(part[:at]), part[at:]
    return told(part), []


def _is_heading(line: Line) -> bool:
    """True for `Results:`, and for `[sqlite]`: the source of all that follows."""
    is_bracket = line.text[:1] == "[" and line.text[-1] == "]"
    return line.kind == "heading" or line.text.endswith(":") or is_bracket


def between_blanks(lines: Lines, *kinds: str) -> list[list[Line]]:
    """Return the parts of a text between blank lines, or others of some kinds."""
    found: list[list[Line]] = [[]]
    for line in lines:
        if line.kind == "blank" or line.kind in kinds:
            found.append([])
        else:
            found[-1].append(line)
    return [each for each in found if each]


_FIRST_LABELS: Final = words("texts.first-labels")
_RECORD: Final = re.compile(
    r"(#{1,6}|\*\*)?[ \t]*(?:(?:Result|Item|Entry|Page|Record)[ \t]+#?)?\d+[.):]?(?:[ \t]|$)", re.I
)
_FIRST: Final = re.compile(r"[A-Z][a-z]{2,20} #?1:")
"""The only one of several that could be: `Memory 1:`."""
_SENTENCE: Final = re.compile(r"[A-Z][^:]{8,200}[.!]")


def records(lines: Lines, wants_list: bool) -> Items | None:
    """Labelled lines: a new record begins wherever the first label comes again."""
    parts = between_blanks(lines, "rule")
    heading = ""
    if len(parts) > 1 and len(parts[0]) == 1 and (_value(parts[0][0]) or "0").isdigit():
        heading = parts.pop(0)[0].text
    elif parts and len(parts[0]) > 1 and _value(parts[0][0]) == "":
        heading = parts[0].pop(0).text
    body = [line for part in parts for line in part]
    key = body[0].key if body and _is_labelled(body[0]) else None
    if key is None:
        return None
    found: list[dict[str, list[str]]] = []
    last = key
    for line in body:
        name = line.key if _is_labelled(line) else None
        if name == key:
            found.append({})
        if name is not None:
            last = name
            found[-1][last] = [_value(line) or ""]
        else:
            found[-1][last].append(line.text.strip())
    is_named = heading.lower().startswith(key.lower())  # `Commit history:`, `Commit: …`
    least = 1 if is_named or (wants_list and key.lower() in _FIRST_LABELS) else 2
    if len(found) < least or not all(len(record) > 1 for record in found):
        return None
    items = [{name: "\n".join(each).strip() for name, each in record.items()} for record in found]
    return Items([*items], heading, "", "records")


def _is_labelled(line: Line) -> bool:
    """True if a line can be the field of a record; behind a bullet, a label is in capitals."""
    is_capital = line.kind == "bullet" and line.words[0].isupper()
    return not line.indent and (line.kind == "text" or is_capital)


def _value(line: Line) -> str | None:
    """Return what stands behind the label of a line; None if it has no label."""
    label = LABEL.fullmatch(line.words if _is_labelled(line) else line.text)
    return None if label is None else (label[2] or "").strip()


def _field(line: Line) -> str | None:
    """Return the label of a line, as far as it looks like one."""
    field = _FIELD.match(line.words if line.kind in ("bullet", "text") else line.text)
    return None if field is None else field[1]


def paragraphs(lines: Lines, wants_list: bool) -> Items | None:
    """Paragraphs that have numbers, a title and the same fields, or that begin alike."""
    parts = between_blanks(lines, "rule")
    heading = closing = ""
    if len(parts) > 1 and len(parts[0]) == 1 and (len(parts) > 2 or _is_heading(parts[0][0])):
        heading = parts.pop(0)[0].text
    elif parts and len(parts[0]) > 1 and _value(parts[0][0]) == "":
        heading = parts[0].pop(0).text
    if len(parts) > 2 and len(parts[-1]) == 1 and _SENTENCE.fullmatch(parts[-1][0].text):
        closing = parts.pop()[0].text
    rule = _likeness(parts, wants_list, heading)
    return Items([text_of(part) for part in parts], heading, closing, rule) if rule else None


def _likeness(parts: list[list[Line]], wants_list: bool, heading: str) -> str | None:
    """Return the name of what paragraphs have in common."""
    if len(parts) == 1 and wants_list and heading.endswith(":"):
        is_first = len(parts[0]) > 1 and _FIRST.fullmatch(parts[0][0].text) is not None
        return "numbered-records" if is_first and all(each.key for each in parts[0][1:]) else None
    if len(parts) < 2:
        return None
    if all(_RECORD.match(part[0].text) for part in parts):
        return "numbered-records"
    keys = [[key for line in part[1:] if (key := _field(line))] for part in parts]
    is_even = len(keys[0]) > 1 and all(each == keys[0] for each in keys)
    if is_even and not any(_field(part[0]) or len(part) - 1 > len(keys[0]) for part in parts):
        return "titled"
    shapes = set(map(shape_of, parts))
    if not wants_list or len(shapes) != 1 or any(len(part) < 2 for part in parts):
        return None
    if shapes == {"text"} and len({len(part) for part in parts}) > 1:
        return None
    if parts[0][0].kind == "heading" and parts[0][1].kind == "bullet":
        return None  # groups, or headings of several levels
    if shapes == {"title"} and not all(any(map(str.isdigit, part[0].text)) for part in parts):
        return None
    return "paragraphs"


# Parts below headings

_BOLD_LEVEL: Final = 7
"""Of a line that is bold and nothing else."""
_TITLE_LEVEL: Final = 9
"""Of a line that ends with a colon and has indented lines below it."""
_ONLY_BOLD: Final = re.compile(r"\*\*[^*]{1,80}\*\*")
_NO_LABELS: Final = "|".join(ordered("texts.no-label"))
_BOLD_LABEL: Final = re.compile(
    rf"(?:- )?\*\*(?!(?i:{_NO_LABELS}))[A-Z][\w ]{{0,30}}(?::\*\*|\*\*:) \S"
)
_LONE_LABELS: Final = 2
"""Labels below the only heading that make what it heads an item."""
_MARKED: Final = re.compile(
    r"[ \t]*(?:[-*+•▪◦→\u2013]|\d{1,5}[.)]|[^\w\s#(<\"'`*_\[-]{1,3})[ \t]+\S"
)
_GROUP: Final = re.compile(r"#{1,6}[ \t]+\S.*|\*\*[^*]+\*\*:?|[^-*•\d\s].{0,80}:")
_NO_MEMBER: Final = re.compile(r"\s+\((?:none|empty)\)", re.I)
"""What stands below the heading of a group that has nothing in it."""


def _headings(lines: Lines) -> list[tuple[int, int]]:
    """Return where headings are, and of which level."""
    found: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if line.kind == "heading" and not line.indent:
            found.append((at, len(line.mark)))
        elif line.kind == "text" and _ONLY_BOLD.fullmatch(line.text):
            found.append((at, _BOLD_LEVEL))
        elif line.kind == "text" and not line.indent:
            below = lines[at + 1] if at + 1 < len(lines) else None
            is_title = line.text.endswith(":") and line.text[0].isalnum()
            if is_title and below is not None and below.indent:
                found.append((at, _TITLE_LEVEL))
    return found


def headed(lines: Lines, wants_list: bool) -> Items | None:
    """A heading for each item, with its number or with the same labels below each."""
    headings = _headings(lines)
    levels = Counter(level for _, level in headings)
    level = min((each for each, count in levels.items() if count > 1), default=0)
    if not level:
        level = 2 if levels == {1: 1, 2: 1} else 0
    starts = [at for at, each in headings if each == level]
    if not starts or starts[0] > MAX_ABOVE:
        return None
    bodies = [lines[a + 1 : b] for a, b in pairwise([*starts, len(lines)])]
    is_numbered = all(_NUMBERED.match(lines[at].words) for at in starts)
    are_banners = all(lines[at].mark == "=" for at in starts) and all(map(told, bodies))
    if not (is_numbered or are_banners or _are_fields(bodies)):
        return None
    return cut(lines, starts, "headed")


def _are_fields(bodies: Sequence[Lines]) -> bool:
    """True if what stands below each heading are fields, of which the first is the same."""
    firsts = set()
    for body in bodies:
        fields = [_field(line) for line in body if line.text]
        if not fields or fields[0] is None or fields.count(fields[0]) > 1:
            return False
        firsts.add(fields[0])
    return len(firsts) == 1


def sections(lines: Lines, wants_list: bool) -> Items | None:
    """Headings of one level below one of a higher level, with words below each of them."""
    headings = [each for each in _headings(lines) if each[1] < _BOLD_LEVEL]
    if [at for at, _ in headings] == [0]:
        below = [line.text for line in lines[1:] if line.text][:_LONE_LABELS]
        is_one = len(below) == _LONE_LABELS and all(map(_BOLD_LABEL.match, below))
        return Items([text_of(lines)], "", "", "lone-section") if is_one else None
    level = max((each for _, each in headings), default=0)
    parts = [
        (a, b) for (a, each), (b, _) in pairwise([*headings, (len(lines), 0)]) if each == level
    ]
    groups = len(headings) - len(parts)
    if len(parts) < 2 or not 0 < groups <= len(parts) or headings[0][1] == level:
        return None
    bodies = [next((line for line in lines[a + 1 : b] if line.text), None) for a, b in parts]
    if parts[0][0] > MAX_ABOVE or any(each is None or _MARKED.match(each.text) for each in bodies):
        return None
    items = [text_of(lines[a:b]) for a, b in parts]
    return Items([*items], told(lines[: parts[0][0]]), "", "sections")


def grouped(lines: Lines, wants_list: bool) -> Items | None:
    """Marked lines under headings of their own: `## Files`, then a line for each."""
    items: list[list[str]] = []
    above: list[str] = []
    indent, groups, is_new = -1, 0, True
    for line in lines:
        if not line.text:
            continue
        is_none = bool(above) and _NO_MEMBER.fullmatch(line.text) is not None
        is_item = _MARKED.match(line.text) is not None or (line.indent > 0 and bool(above))
        is_item = is_item and (indent < 0 or line.indent <= indent) and line.kind != "heading"
        if is_none or is_item:
            groups += is_new
            is_new = False
        if is_none:
            continue
        if is_item:
            indent = line.indent if indent < 0 else indent
            items.append([line.words if line.kind == "bullet" else line.text.strip()])
        elif items and line.indent > indent:
            items[-1].append(line.text.strip())
        elif len(above) <= MAX_ABOVE and (not items or _GROUP.fullmatch(line.text)):
            above.append(line.text)
            is_new = True
        else:
            return None
    if groups < 2 or is_new or not items:
        return None
    return Items(["\n".join(item) for item in items], "\n".join(above), "", "grouped")


# As many as a heading says

_COUNTING: Final = re.compile(r"\d{1,6} [a-z]+s")
"""A heading that says nothing else: `8 rules`."""
_DIGITS: Final = re.compile(r"\d+")
_OPENING: Final = re.compile(r"\s*(?:[A-Za-z][\w ]{0,30}:|[^\w\s]{1,6})")


def counted(lines: Lines, wants_list: bool) -> Items | None:
    """A heading that says how many, and as many lines or paragraphs below it."""
    heading = lines[0].text
    if not heading.endswith(":") and not _COUNTING.fullmatch(heading.strip()):
        return None
    numbers = counts_in(heading)
    body = [line.text.strip() for line in lines[1:] if line.text]
    if not numbers or (body and _COUNTING.fullmatch(body[0])):
        return None
    if len(body) in numbers:
        return Items(body, heading, "", "counted-lines")
    parts = between_blanks(lines[1:], "rule")
    if len(parts) in numbers:
        return Items([text_of(each) for each in parts], heading, "", "counted-paragraphs")
    return None


def as_many(lines: Lines, numbers: set[int]) -> Items | None:
    """As many lines that begin alike as there are said to be items, of which each has one."""
    tops = [at for at, line in enumerate(lines[:COUNT_LINES]) if counts_in(line.text) & numbers]
    top = max(tops, default=-1) + 1
    body = [line for line in lines[top:] if line.text]
    starts = _starts([line.text for line in body], numbers) if max(numbers) > 1 else []
    found = cut(body, starts, "counted-lines") if starts else None
    return found and found._replace(heading=told(lines[:top]))


def _starts(body: list[str], numbers: set[int]) -> list[int]:
    """Return where items begin, by the first line, the one below it or the last that they share."""
    for at in (0, 1, -1) if len(body) > 1 else ():
        for shape in (_outline, _opening):
            mark = shape(body[at])
            alike = [i for i, line in enumerate(body) if mark and shape(line) == mark]
            if len(alike) in numbers and len(alike) > 1:
                return [0, *(i + 1 for i in alike[:-1])] if at < 0 else [i - at for i in alike]
    return []


def _outline(line: str) -> str:
    """Return a line without its digits, which numbered lines have in common."""
    return _DIGITS.sub("0", line) if any(map(str.isdigit, line)) else ""


def _opening(line: str) -> str:
    """Return how a line begins, if not with a word: a mark, or a label without its digits."""
    found = _OPENING.match(line)
    return "" if found is None else _DIGITS.sub("0", found[0])
