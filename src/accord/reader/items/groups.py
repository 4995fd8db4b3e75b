"""Lines in groups: runs of lines that are marked alike, parts that begin alike, lines with no mark.

Each function takes the lines of a text and returns its items, or None if it has no such group.
`wants_list` means that the tool lists things, so that less has to be proved.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

from accord.reader.items.lines import (
    COUNT_LINES,
    LABEL,
    MAX_ABOVE,
    MAX_HEADING,
    Items,
    Line,
    begin,
    counts_in,
    cut,
    framed,
    plain_key,
    states_count,
    text_of,
    told,
)
from accord.reader.lexicon import ordered, words

Lines = Sequence[Line]

# How lines begin

_FIELD: Final = re.compile(r"[*_]{0,2}([A-Za-z][\w /()-]{0,40}?)[*_]{0,2}:")
_NUMBERED: Final = re.compile(r"(?:\w+[ \t]+)?#?\[?\d{1,5}[.):\]]?(?:[ \t]|:|$)")
_BOLD: Final = re.compile(r"\*\*[^*:]{1,80}\*\*(?!:)")
"""The name of a thing, rather than a label."""
_DIGITS: Final = re.compile(r"\d+")


def opening(line: Line) -> str:
    """Return how a line begins: with a label, a title, a heading, a number, a sign, or words."""
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


def _value(line: Line) -> str | None:
    """Return what stands behind the label of a line; None if it has no label."""
    label = LABEL.fullmatch(line.words if _is_labelled(line) else line.text)
    return None if label is None else (label[2] or "").strip()


def _is_labelled(line: Line) -> bool:
    """True if a line can be the field of a record; behind a bullet, a label is in capitals."""
    is_capital = line.kind == "bullet" and line.words[0].isupper()
    return not line.indent and (line.kind == "text" or is_capital)


def _field(line: Line) -> str | None:
    """Return the label of a line, as far as it looks like one."""
    field = _FIELD.match(line.words if line.kind in ("bullet", "text") else line.text)
    return None if field is None else field[1]


# Runs of lines that are marked alike

_PATH: Final = re.compile(
    r"https?://\S+|[\w./\\-]{1,200}(?::\d{1,7}(?::\d{1,7})?|\(\d{1,7},\d{1,7}\)):.*"
    r"|(?:/|[A-Za-z]:\\|\.{1,2}/|~/)[^\s\0].*|[\w.-]+(?:/[\w. -]+)++(?:\([^()]{1,40}\))?"
)
_COMMIT: Final = re.compile(r"(?:[*|\\/] ?){0,8}(?=[0-9a-f]*\d)[0-9a-f]{7,64} \S")
_STARRED: Final = re.compile(r"[* ] \S+(?: -> \S+)?")
_NEVER: Final = 1_000_000
_UNIFORM: Final[tuple[tuple[str, Callable[[Line], object], int], ...]] = (
    ("tagged-lines", lambda line: line.kind == "tag" and not line.indent, 1),
    ("tree", lambda line: line.kind == "branch", _NEVER),
    ("commits", lambda line: _COMMIT.match(line.text), 2),
    ("marked-lines", lambda line: _STARRED.fullmatch(line.text), 1),
    ("paths", lambda line: _PATH.fullmatch(line.text), 2),
)
"""Kinds of lines of which each is an item, and the fewest from a tool that does not list."""
_PARTS: Final = words("texts.parts")


def uniform(lines: Lines, wants_list: bool) -> Items | None:
    """Lines that are all of one kind, below a heading and above what a blank line parts."""
    starts = [at for at, line in enumerate(lines) if line.text.startswith("commit ")]
    if len(starts) > 1 and not starts[0]:
        return cut(lines, starts, "commits")
    has_star = sum(line.text.startswith("* ") for line in lines) == 1
    for rule, is_item, least in _UNIFORM:
        start = begin(lines, is_item) if has_star or rule != "marked-lines" else None
        if start is None or (start > 1 and not lines[start - 1].text.endswith(":")):
            continue
        end = max(at for at in range(start, len(lines)) if is_item(lines[at])) + 1
        body = [line for line in lines[start:end] if line.text]
        if len(body) < (1 if wants_list else least) or not all(map(is_item, body)):
            continue
        if start or end == len(lines) or not lines[end].text:  # something sets that line apart
            items: list[Any] = [line.text.strip() for line in body]
            if (found := framed(lines, start, end, items, rule)) is not None:
                return found
    return None


def _is_bullet(line: Line) -> bool:
    return line.kind == "bullet" or line.kind == "number"


def bullets(lines: Lines, wants_list: bool) -> Items | None:
    """`- one`, `* two`, `1. three`; lines that belong to an item are indented."""
    start = begin(lines, _is_bullet)
    if start is None:
        return None
    indent, kind = lines[start].indent, lines[start].kind
    items: list[list[str]] = []
    end = len(lines)
    for at in range(start, len(lines)):
        line = lines[at]
        if line.kind == kind and line.indent == indent:
            items.append([line.words])
        elif not line.text or line.indent > indent or "code" in (line.kind, lines[at - 1].kind):
            items[-1].append(line.text if line.kind == "code" else line.text.strip())
        else:
            end = at
            break
    found = framed(lines, start, end, [_said(item) for item in items], "bullets")
    if found is None or any(map(_is_bullet, lines[end:])):
        return None
    if wants_list:
        return found
    is_section = found.heading.startswith("#") and (found.closing or len(items) < 2)
    is_part = found.heading.rpartition("\n")[2].strip("#*_: ").lower() in _PARTS
    return found if (found.heading or len(items) > 1) and not (is_section or is_part) else None


def _said(lines: list[str]) -> Any:
    """Return an item as its text, or as an object if it goes on as labelled lines."""
    first, *rest = lines
    labels = [LABEL.fullmatch(line) for line in rest if line]
    if labels and all(labels):
        fields = {plain_key(each[1]): (each[2] or "").strip() for each in labels if each}
        if "text" not in fields:
            return {"text": first, **fields}
    return "\n".join(line for line in lines if line)


_MARK: Final = re.compile(
    r"(?P<label>\w{1,20}[:=])|(?P<sign>[^\w\s#*<({\[\"'`-]{1,2})\s|\[[^\]]{1,60}\]\s"
)
_NUMBER: Final = re.compile(r" {0,3}(?:#{1,4}\s*)?\[?(\d{1,5})(?:[.):]|\])\s")
_PAIRS: Final = re.compile(r"(?>\w{1,40}=(?>'[^']*'|\"[^\"]*\"|\S*),?(?: |$)){2,}")
"""`name='Ada' id=1`."""
_COUNTING: Final = "|".join(ordered("texts.counting"))
_COUNTS: Final = re.compile(rf"\b(?:{_COUNTING}|results?|page)\b", re.I)


def _mark(line: Line) -> str:
    """Return the label, the sign or the bracket that a line begins with."""
    found = _MARK.match(line.text)
    if found is None:
        return ""
    sign = found["sign"]
    return found["label"] or "[" if sign is None else sign if sign.isascii() else "sign"


def alike(lines: Lines, wants_list: bool) -> Items | None:
    """Lines that begin with the same label or mark, or with numbers from zero or one on."""
    numbered = _numbered(lines)
    if len(numbered) > 1:
        return cut(lines, numbered, "alike-lines")
    for at in range(min(len(lines), MAX_HEADING + 1)):
        mark = _mark(lines[at])
        if not mark or lines[at].text.endswith(":"):
            continue
        starts = [i for i in range(at, len(lines)) if _mark(lines[i]) == mark]
        end = starts[-1] + 1
        while end < len(lines) and (not lines[end].text or lines[end].indent or mark == "["):
            end += 1
        if len(starts) == 1 and _mark(lines[-1]) == "sign" != mark:
            continue  # a label above lines that have another mark
        outer = sum(1 for line in lines[at:end] if line.text and not line.indent)
        if end < len(lines) or 2 * len(starts) < outer:
            return None
        found = cut(lines, starts, "alike-lines")
        is_pairs = _PAIRS.fullmatch(lines[at].text) is not None
        if found and (len(starts) > 1 or _COUNTS.search(found.heading) or is_pairs):
            return found
        return None
    return None


def _numbered(lines: Lines) -> list[int]:
    """Return where lines begin that are numbered from zero or one on, whatever is between them."""
    starts: list[int] = []
    first = 0
    for at, line in enumerate(lines):
        found = _NUMBER.match(line.text)
        if found is None:
            continue
        number = int(found[1])
        if not starts and (at > MAX_ABOVE or number > 1):
            return []
        first = first if starts else number
        if number == first + len(starts):
            starts.append(at)
    return starts


_MESSAGE: Final = re.compile(
    r"\[?(?P<time>[^\]\n\w]{0,2}[\dT:./ -]{0,20}\d\d?:\d\d[\w:.+ -]{0,16}?)(?:\]| -|:)?[ \t]+"
    r"(?P<name>[^:\n]{1,60}): (?P<text>.*)"
)


def messages(lines: Lines, wants_list: bool) -> Items | None:
    """`[10:01] Ada: hi`: the time, the name and the text of each, below a heading."""
    start = begin(lines, lambda line: _MESSAGE.fullmatch(line.text))
    if start is None:
        return None
    items: list[dict[str, str]] = []
    for line in lines[start:]:
        message = _MESSAGE.fullmatch(line.text)
        if message is not None:
            items.append(message.groupdict())
        elif line.text and line.kind != "rule":
            items[-1]["text"] += f"\n{line.text}"
    is_log = all(each["name"].isupper() or ": " in each["text"] for each in items)
    said = sum(1 for line in lines[start:] if line.text and line.kind != "rule")
    if is_log or len(items) < (1 if wants_list else 2) or 2 * len(items) < said:
        return None
    return Items([*items], told(lines[:start]), "", "messages")


# Parts that begin alike: between rules, between blank lines, with the same labels

_MAX_ABOVE_PART: Final = 8
"""Lines of a heading above the first of several parts."""
_FIRST_LABELS: Final = words("texts.first-labels")
_RECORD: Final = re.compile(
    r"(#{1,6}|\*\*)?[ \t]*(?:(?:Result|Item|Entry|Page|Record)[ \t]+#?)?\d+[.):]?(?:[ \t]|$)", re.I
)
_FIRST: Final = re.compile(r"[A-Z][a-z]{2,20} #?1:")
"""The only one of several that could be: `Memory 1:`."""
_SENTENCE: Final = re.compile(r"[A-Z][^:]{8,200}[.!]")


def _shape(lines: Lines) -> str:
    """Return how the first line of a part begins."""
    return next((opening(line) for line in lines if line.text), "")


def separated(lines: Lines, wants_list: bool) -> Items | None:
    """Parts that are alike, with a line of dashes or the like between them."""
    rules = [at for at, line in enumerate(lines) if line.kind == "rule"]
    times = Counter(lines[at].words for at in rules)
    ends = [at for at in rules if times[lines[at].words] > 1 or lines[at].mark]
    parts = [list(lines[a + 1 : b]) for a, b in pairwise([-1, *ends, len(lines)])]
    usual = Counter(filter(None, map(_shape, parts[1:]))).most_common(1)
    if not usual:
        return None
    shape = usual[0][0]
    heading, parts[0] = _below_heading(parts[0], shape)
    items = [text_of(part) for part in parts if _shape(part) == shape]
    others = [part for part in parts[1:] if _shape(part) not in ("", shape)]
    if len(others) > 1 or len(items) < (1 if wants_list and not others else 2):
        return None
    if not wants_list and (shape == "text" or shape[0] == "#"):
        return None  # parts of a document, as likely
    if len(items) == 1 and (not heading or heading.count("\n") >= _MAX_ABOVE_PART):
        return None
    closing = "\n".join(line.text.strip() for part in others for line in part if line.text)
    return Items(list(items), heading, closing, "separated")


def _below_heading(part: list[Line], shape: str) -> tuple[str, list[Line]]:
    """Return the heading above the first part, and that part if it is one of the items."""
    for at in range(min(len(part), _MAX_ABOVE_PART + 1)):
        is_begun = at == 0 or not part[at - 1].text or (at == 1 and _is_heading(part[0]))
        if is_begun and _shape(part[at:]) == shape:
            return told(part[:at]), part[at:]
    return told(part), []


def _is_heading(line: Line) -> bool:
    """True for `Results:`, and for `[sqlite]`: the source of all that follows."""
    is_bracket = line.text[:1] == "[" and line.text[-1] == "]"
    return line.kind == "heading" or line.text.endswith(":") or is_bracket


def _between_blanks(lines: Lines) -> list[list[Line]]:
    """Return the parts of a text between blank lines or rules."""
    parts: list[list[Line]] = [[]]
    for line in lines:
        if line.kind == "blank" or line.kind == "rule":
            parts.append([])
        else:
            parts[-1].append(line)
    return [each for each in parts if each]


def _below_line(parts: list[list[Line]]) -> tuple[str, list[list[Line]]]:
    """Return the line on top of some parts if it is their heading, and the parts without it."""
    if parts and _RECORD.match(parts[0][0].text):
        return "", parts
    if len(parts) > 1 and len(parts[0]) == 1:
        line = parts[0][0]
        if len(parts) > 2 or _is_heading(line) or (_value(line) or "0").isdigit():
            return parts.pop(0)[0].text, parts
    elif parts and len(parts[0]) > 1 and _value(parts[0][0]) == "":
        return parts[0].pop(0).text, parts
    return "", parts


def records(lines: Lines, wants_list: bool) -> Items | None:
    """Labelled lines: a new record begins wherever the first label comes again."""
    heading, parts = _below_line(_between_blanks(lines))
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


def paragraphs(lines: Lines, wants_list: bool) -> Items | None:
    """Paragraphs that have numbers, a title and the same fields, or that begin alike."""
    heading, parts = _below_line(_between_blanks(lines))
    closing = ""
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
    shapes = set(map(_shape, parts))
    if not wants_list or len(shapes) != 1 or any(len(part) < 2 for part in parts):
        return None
    if shapes == {"text"} and len({len(part) for part in parts}) > 1:
        return None
    first, second, *_ = parts[0]
    is_heading = first.kind == "heading" or _ONLY_BOLD.fullmatch(first.text) is not None
    if is_heading and _is_bullet(second):
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
_GROUP: Final = re.compile(
    r"#{1,6}[ \t]+\S.*|\*\*[^*]+\*\*:?|[^-*•\d\s].{0,80}:|[^-*•\d\s].{0,80}\(\d{1,6}[^()\n]{0,30}\)"
)
_NO_MEMBER: Final = re.compile(r"\s+\((?:none|empty)\)", re.I)
"""What stands below the heading of a group that has nothing in it."""


_IDENTIFIER: Final = re.compile(
    r"[`*]{0,3}/?[a-z]\w{0,40}+(?:[.:/-]\w{1,40}+){0,5}+(?:\([^()\n]{0,80}\))?[`*]{0,3}"
)
"""The name of a tool or a file, rather than the heading of a chapter."""


def _headings(lines: Lines) -> list[tuple[int, int]]:
    """Return where headings are, and of which level."""
    found: list[tuple[int, int]] = []
    for (at, line), below in zip(enumerate(lines), [*lines[1:], None], strict=True):
        if line.kind == "heading" and not line.indent:
            found.append((at, len(line.mark)))
        elif line.kind == "text" and _ONLY_BOLD.fullmatch(line.text):
            found.append((at, _BOLD_LEVEL))
        elif line.kind == "text" and line.text.endswith(":") and below is not None:
            is_title = bool(below.indent) and line.text[0].isalnum()
            found += [(at, _TITLE_LEVEL)] * is_title
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
    is_named = len(starts) > 1 and all(_IDENTIFIER.fullmatch(lines[at].words) for at in starts)
    are_banners = all(lines[at].mark == "=" for at in starts) and all(map(told, bodies))
    if not (is_numbered or is_named or are_banners or _are_fields(bodies)):
        return None
    return cut(lines, starts, "headed")


def _are_fields(bodies: Sequence[Lines]) -> bool:
    """True if what stands below each heading are fields, of which the first is the same."""
    fields = [[_field(line) for line in body if line.text] for body in bodies]
    firsts = {each[0] if each and each.count(each[0]) == 1 else None for each in fields}
    return len(firsts) == 1 and None not in firsts


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

_COUNT: Final = re.compile(r"\d{1,6} [a-z]+s")
"""A heading that says nothing else: `8 rules`."""
_LABEL_OR_SIGN: Final = re.compile(r"\s*(?:[A-Za-z][\w ]{0,30}:|[^\w\s]{1,6})")


def counted(lines: Lines, wants_list: bool) -> Items | None:
    """A heading that says how many, and as many lines or paragraphs below it."""
    heading = lines[0].text
    if not heading.endswith(":") and not _COUNT.fullmatch(heading.strip()):
        return None
    numbers = counts_in(heading)
    body = [line.text.strip() for line in lines[1:] if line.text]
    if not numbers or (body and _COUNT.fullmatch(body[0])):
        return None
    if len(body) in numbers:
        return Items(body, heading, "", "counted-lines")
    parts = _between_blanks(lines[1:])
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
        for shape in (_outline, _label_or_sign):
            mark = shape(body[at])
            alike = [i for i, line in enumerate(body) if mark and shape(line) == mark]
            if len(alike) in numbers and len(alike) > 1:
                return [0, *(i + 1 for i in alike[:-1])] if at < 0 else [i - at for i in alike]
    return []


def _outline(line: str) -> str:
    """Return a line without its digits, which numbered lines have in common."""
    return _DIGITS.sub("0", line) if any(map(str.isdigit, line)) else ""


def _label_or_sign(line: str) -> str:
    """Return how a line begins, if not with a word: a mark, or a label without its digits."""
    found = _LABEL_OR_SIGN.match(line)
    return "" if found is None else _DIGITS.sub("0", found[0])


# Lines with no mark

_TITLE: Final = re.compile(r"#{1,6}[ \t]+\S.*|={2,}[ \t]+\S.*|List of .*|.*:")
_PROSE: Final = re.compile(r".{60,}[.!?]|.{300,}|.*[a-z]{3}[.!?] [A-Z].*")
_NAMED: Final = re.compile(r"[a-z0-9][\w.-]*:|\w+ #?\d+:|[^:]{1,60}[\d)]:")
_TOTAL: Final = re.compile(r"(?i:total): (?P<count>\d{1,6})(?: [\w ]{1,60})?[.]?")
_FIGURES: Final = words("texts.figures")
_OF_CODE: Final = "|".join(ordered("texts.of-code"))
_CODE: Final = re.compile(rf".*[;{{}}]|(?:{_OF_CODE})\b.*|</?\w.*>")
"""A line of a program, as likely as not."""
_PROSE_SHARE: Final = 20
"""One line of so many may be a sentence."""
_CODE_SHARE: Final = 3
"""A third of the lines of a program look like code."""
_LONGEST_LABEL: Final = 100
_LONGEST_PART: Final = 100
_LONGEST_LINE: Final = 20_000
_LABELLED: Final = re.compile(r"[^:]{1,100}: +(?P<rest>\S.*)")
_PAIR: Final = re.compile(r"[A-Z][\w ]{0,30}: ")
_PART: Final = re.compile(r"(?:[^,()\[\]]|\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])+")
_NAME: Final = re.compile(r"`?[\w./:@#-]{1,80}`?(?: \([^()]{1,80}\))?")
_JOINTS: Final = (", ", ",", "; ", " | ")
_AND: Final = re.compile(r",? (?:and|&) (?=[^,;|]{1,80}\Z)")
_LONE: Final = re.compile(
    r"[a-z][a-z_]{2,40}|[A-Za-z_][\w-]{0,60}\.\w{1,8}"
    r"|[\w./:@#-]{1,80}(?: \([^()\n]{1,80}\)| v?\d[\w.:%-]{0,30}){1,4}"
    r"|\[[^\]\n]{0,40}\d[^\]\n]{0,20}\] \S.*"
)
"""The only line of a list: a name, perhaps with figures, or a text behind a number in brackets."""
_NO_NAMES: Final = words("texts.no-name")


def plain(lines: Lines, wants_list: bool) -> Items | None:
    """Short lines below a heading, or with nothing around them."""
    start = _below_titles(lines)
    heading, closing = told(lines[:start]), ""
    body = [line for line in lines[start:] if line.text]
    while body and body[-1].kind == "rule":
        body.pop()
    if heading and _counts(body):
        closing = body.pop().words
    if not body or (not heading and len(body) < 2):
        return None
    depth = min(line.indent for line in body)
    starts = [at for at, line in enumerate(body) if line.indent == depth]
    outer = [body[at].text for at in starts]
    long = sum(line.endswith(":") or _PROSE.fullmatch(line) is not None for line in outer)
    is_code = any(line.kind == "code" for line in lines) or (not heading and _is_code(outer))
    if long * _PROSE_SHARE > len(outer) or starts[0] or is_code:
        return None
    if len(body) == 1:
        found = _split(body[0].text.strip(), heading, closing)
        is_one = found is None and heading.endswith(":") and len(heading) <= _LONGEST_LABEL
        return Items([body[0].text.strip()], heading, closing, "plain-lines") if is_one else found
    spans = pairwise([*starts, len(body)])
    items = ["\n".join(line.text.strip() for line in body[a:b]) for a, b in spans]
    if not heading and all(map(LABEL.fullmatch, items)) and not _are_names(items):
        return None
    return Items([*items], heading, closing, "plain-lines")


def _are_names(items: list[str]) -> bool:
    """True if the labels of lines are names of several things, rather than fields of one."""
    labels = [item.partition(":")[0] for item in items]
    is_one_kind = len({label.split(" ")[0] for label in labels}) == 1 < len(set(labels))
    return is_one_kind or all(map(str.isupper, labels)) or all(map(_NAMED.match, items))


def _counts(body: list[Line]) -> bool:
    """True if the last line is the number of those before it."""
    found = _TOTAL.fullmatch(body[-1].words) if len(body) > 1 else None
    if found is None:
        return False
    depth = min(line.indent for line in body[:-1])
    lines = sum(line.indent == depth for line in body[:-1])
    return int(found["count"]) == (body[0].text.count(",") + 1 if lines == 1 else lines)


def is_record(items: list[str]) -> bool:
    """True if lines are figures about one thing, each with its label: `Total jobs: 12`."""
    labels = [item.partition(": ")[0] for item in items if LABEL.fullmatch(item)]
    is_labelled = len(set(labels)) == len(labels) == len(items) > 1
    return is_labelled and len({label.lower().split()[0] for label in labels} & _FIGURES) > 1


def _is_code(lines: list[str]) -> bool:
    """True if some lines are those of a program."""
    code = sum(_CODE.fullmatch(line.strip()) is not None for line in lines)
    is_much = code > 1 and code * _CODE_SHARE > len(lines)
    return is_much and any(line[-1:] in ";{}" for line in lines)


def _below_titles(lines: Lines) -> int:
    """Return where lines begin below the last heading; above are headings and labels."""
    start = seen = 0
    for at, line in enumerate(lines):
        if not line.text:
            continue
        seen += 1
        if seen > MAX_ABOVE:
            break
        if line.kind == "heading" or _TITLE.fullmatch(line.text) or states_count(line.text):
            start = at + 1
        elif LABEL.fullmatch(line.text) is None:
            counts = _COUNTS.search(line.text)
            if counts is None or not any(map(str.isdecimal, line.text[counts.end() :])):
                break
    return start


def commas(lines: Lines, wants_list: bool) -> Items | None:
    """`Found these: one, two (2), three`, `one, two` below a heading, or one name."""
    body = [line.text for line in lines if line.text]
    if len(body) != 1:
        return None
    (line,) = body
    if line.partition(" ")[0].lower() not in _NO_NAMES and _LONE.fullmatch(line):
        return Items([line], "", "", "lone-name")
    labelled = _LABELLED.fullmatch(line)
    if labelled is None:
        joint = next((each for each in _JOINTS if each in line), None)
        if joint is None:
            return None
        names = _AND.sub(joint, line.removesuffix(".")).split(joint)
        is_names = all(map(_NAME.fullmatch, names)) and any(map(str.isalpha, line))
        return Items([*names], "", "", "commas") if is_names else None
    if "," not in line:
        return None
    if all(map(_PAIR.match, labelled["rest"].split(", ")[1:])) and ", " in labelled["rest"]:
        return None  # labels, of what one thing has
    rest = _AND.sub(", ", labelled["rest"]) if ", " in labelled["rest"] else labelled["rest"]
    return _split(rest, line[: labelled.start("rest")].strip())


def _split(text: str, heading: str, closing: str = "") -> Items | None:
    """Return the parts of a line between commas, if they are names rather than a sentence."""
    if len(text) > _LONGEST_LINE:
        return None
    parts = [part.strip() for part in _PART.findall(text)]
    if any(not part or len(part) > _LONGEST_PART or _PROSE.fullmatch(part) for part in parts):
        return None
    is_told = len(parts) > 1 or _TITLE.fullmatch(heading.rpartition("\n")[2]) is not None
    return Items([*parts], heading, closing, "commas") if is_told and parts else None
