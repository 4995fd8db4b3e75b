"""Lines in groups: runs of marked lines, parts between separators, parts below headings."""

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
from accord.reader.lexicon import words

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


# Marked lines


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
        elif line.kind == "code":
            items[-1].append(line.text)
        elif not line.text or line.indent > indent or lines[at - 1].kind == "code":
            items[-1].append(line.text.strip())
        elif kind == "number" and LABEL.fullmatch(line.text):
            items[-1].append(line.text)
        else:
            end = at
            break
    found = framed(lines, start, end, [_said(item) for item in items], "bullets")
    if found is None or any(map(_is_bullet, lines[end:])):
        return None
    is_enough = wants_list or len(items) > 1 or len(items) in found.numbers
    if not (is_enough or found.heading.endswith(":")):
        return None
    if found.heading.startswith("#") and not wants_list and (found.closing or len(items) < 2):
        return None
    return found


def _is_bullet(line: Line) -> bool:
    return line.kind == "bullet" or line.kind == "number"


def _said(lines: list[str]) -> Any:
    """Return an item as its text, or as an object if it goes on as labelled lines."""
    if len(lines) == 1:
        return lines[0]
    first, *rest = lines
    labels = [LABEL.fullmatch(line) for line in rest if line]
    if labels and all(labels):
        fields = {plain_key(each[1]): (each[2] or "").strip() for each in labels if each}
        if "text" not in fields:
            return {"text": first, **fields}
    return "\n".join(line for line in lines if line)


_PATH: Final = re.compile(
    r"https?://\S+|[\w./\\-]{1,200}(?::\d{1,7}(?::\d{1,7})?|\(\d{1,7},\d{1,7}\)):.*"
    r"|(?:/|[A-Za-z]:\\|\.{1,2}/|~/)[^\s\0].*|[\w.-]+(?:/[\w. -]+)++(?:\([^()]{1,40}\))?"
)
_COMMIT: Final = re.compile(r"(?:[*|\\/] ?){0,8}(?=[0-9a-f]*\d)[0-9a-f]{7,64} \S")
_STARRED: Final = re.compile(r"[* ] \S+(?: -> \S+)?")


def tagged(lines: Lines, wants_list: bool) -> Items | None:
    """`[FILE] a.txt`."""
    return _uniform(lines, lambda line: line.kind == "tag" and not line.indent, 1, "tagged-lines")


def paths(lines: Lines, wants_list: bool) -> Items | None:
    """One path a line."""
    least = 1 if wants_list else 2
    return _uniform(lines, lambda line: _PATH.fullmatch(line.text), least, "paths")


def tree(lines: Lines, wants_list: bool) -> Items | None:
    """What branches off a line: `├── a.txt`."""
    return _uniform(lines, lambda line: line.kind == "branch", 1, "tree")


def commits(lines: Lines, wants_list: bool) -> Items | None:
    """Commits as git logs them, in full or one a line."""
    starts = [at for at, line in enumerate(lines) if line.text.startswith("commit ")]
    if len(starts) > 1 and not starts[0]:
        return cut(lines, starts, "commits")
    return _uniform(lines, lambda line: _COMMIT.match(line.text), len(lines), "commits")


def starred(lines: Lines, wants_list: bool) -> Items | None:
    """Lines of which one is marked, as git shows branches."""
    if sum(line.text.startswith("* ") for line in lines) != 1:
        return None
    least = min(2, len(lines))
    return _uniform(lines, lambda line: _STARRED.fullmatch(line.text), least, "marked-lines")


def _uniform(
    lines: Lines, is_item: Callable[[Line], object], least: int, rule: str
) -> Items | None:
    """Return lines that are all of one kind, below a heading and above what a blank line parts."""
    start = begin(lines, is_item)
    if start is None or (start > 1 and not lines[start - 1].text.endswith(":")):
        return None
    end = len(lines)
    while end > start and not is_item(lines[end - 1]):
        end -= 1
    body = [line for line in lines[start:end] if line.text]
    if len(body) < least or not all(map(is_item, body)):
        return None
    if start == 0 and end < len(lines) and lines[end].text:
        return None  # nothing sets that line apart
    return framed(lines, start, end, [line.text.strip() for line in body], rule)


_MARK: Final = re.compile(
    r"(?P<label>\w{1,20}[:=])|(?P<sign>[^\w\s#*<({\[\"'`-]{1,2})\s|\[[^\]]{1,60}\]\s"
)
_PAIRS: Final = re.compile(r"(?>\w{1,40}=(?>'[^']*'|\"[^\"]*\"|\S*),?(?: |$)){2,}")
"""`name='Ada' id=1`."""
_SHOWN: Final = re.compile(r"\b(?:results?|found|total|showing)\b", re.I)


def _mark(line: Line) -> str:
    """Return the label, the sign or the bracket that a line begins with."""
    found = _MARK.match(line.text)
    if found is None:
        return ""
    sign = found["sign"]
    return found["label"] or "[" if sign is None else sign if sign.isascii() else "sign"


def alike(lines: Lines, wants_list: bool) -> Items | None:
    """Lines that all begin with the same label, or the same mark, from a tool that lists."""
    for at in range(min(len(lines), MAX_HEADING + 1)):
        mark = _mark(lines[at])
        if not mark or lines[at].text.endswith(":"):
            continue
        starts = [i for i in range(at, len(lines)) if _mark(lines[i]) == mark]
        end = starts[-1] + 1
        while end < len(lines) and (not lines[end].text or lines[end].indent or mark == "["):
            end += 1
        if 2 * len(starts) < sum(1 for line in lines[at:end] if line.text and not line.indent):
            return None
        if len(starts) == 1 and end < len(lines) and _mark(lines[-1]) == "sign" != mark:
            continue  # a label above lines that have another mark
        if _is_title(lines, starts):
            del starts[0]
        if end < len(lines):
            return None  # nothing sets that line apart
        found = cut(lines, starts, "alike-lines")
        found = found and _messages(found) if mark == "[" else found
        if found and (len(starts) > 1 or _SHOWN.search(found.heading) or _is_pairs(lines[at])):
            return found
        return None
    return None


_MESSAGE: Final = re.compile(
    r"\[(?P<time>[^\]\n]{0,20}\d\d?:\d\d[^\]\n]{0,16})\] (?P<name>[^:\n]{1,60}): (?P<text>.*)", re.S
)


def _messages(found: Items) -> Items:
    """Return `[10:01] Ada: hi` as an object with the time, the name and the text."""
    messages = [_MESSAGE.fullmatch(each) for each in found.items]
    items = [each.groupdict() for each in messages if each is not None]
    is_log = all(each["name"].isupper() for each in items)
    is_labelled = all(": " in each["text"] for each in items)
    if len(items) < len(messages) or is_log or is_labelled:
        return found
    return found._replace(items=[*items])


def _is_pairs(line: Line) -> bool:
    return _PAIRS.fullmatch(line.text) is not None


def _is_title(lines: Lines, starts: list[int]) -> bool:
    """True if the first of some marked lines is the heading of the others."""
    below = [lines[at + 1] if at + 1 < len(lines) else None for at in starts]
    has_more = [line is not None and line.indent > 0 for line in below]
    if len(starts) > 2 and not has_more[0] and all(has_more[1:]):
        return True
    is_apart = [line is not None and not line.text for line in below]
    is_sign = not lines[starts[0]].text[:1].isascii()
    return len(starts) > 1 and is_sign and is_apart[0] and not any(is_apart[1:])


_COUNTED: Final = re.compile(r" {0,3}(?P<style>(?:#{1,4}\s*)?\[?)(?P<n>\d{1,5})(?:[.):]|\])\s")


def sequence(lines: Lines, wants_list: bool) -> Items | None:
    """Lines that are numbered from one or zero on, with whatever stands below each of them."""
    numbers = [(at, found) for at, line in enumerate(lines) if (found := _COUNTED.match(line.text))]
    if not numbers or numbers[0][0] > MAX_ABOVE:
        return None
    first, style = int(numbers[0][1]["n"]), numbers[0][1]["style"]
    starts: list[int] = []
    for at, found in numbers:
        if found["style"] == style and int(found["n"]) == len(starts) + first:
            starts.append(at)
    return cut(lines, starts, "sequence") if first <= 1 else None


# Parts between separators


def separated(lines: Lines, wants_list: bool) -> Items | None:
    """Parts that are alike, with a line of dashes or the like between them."""
    rules = [
        at for at, line in enumerate(lines) if line.kind == "rule" and not _underlines(lines, at)
    ]
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
    return line.text.endswith(":") or (line.text[:1] == "[" and line.text[-1] == "]")


def _underlines(lines: Lines, at: int) -> bool:
    """True if a line makes the one above it a title, rather than to set parts apart."""
    if lines[at].words[0] not in "=-~" or at == 0 or not lines[at - 1].text:
        return False
    if _FIELD.match(lines[at - 1].words) and not lines[at - 1].text.endswith(":"):
        return False
    is_first = at < 2 or not lines[at - 2].text
    return is_first and (at + 1 == len(lines) or not lines[at + 1].text)


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


def records(lines: Lines, wants_list: bool) -> Items | None:
    """Paragraphs that all begin with the same label, or with their number."""
    parts = between_blanks(lines, "rule")
    heading = ""
    if len(parts) > 1 and len(parts[0]) == 1 and (_value(parts[0][0]) or "0").isdigit():
        heading = parts.pop(0)[0].text
    elif parts and len(parts[0]) > 1 and _value(parts[0][0]) == "":
        heading = parts[0].pop(0).text
    if not parts:
        return None
    first = parts[0][0]
    if len(parts) > 1 and all(_RECORD.match(part[0].text) for part in parts):
        return Items([text_of(part) for part in parts], heading, "", "numbered-records")
    if wants_list and heading.endswith(":") and len(parts) == 1 and _FIRST.fullmatch(first.text):
        is_one = len(parts[0]) > 1 and all(line.key for line in parts[0][1:])
        return Items([text_of(parts[0])], heading, "", "numbered-records") if is_one else None
    if first.key is None or not _is_labelled(first):
        return None
    return _labelled([line for part in parts for line in part], first.key, heading, wants_list)


def _is_labelled(line: Line) -> bool:
    """True if a line can be the field of a record; behind a bullet, a label is in capitals."""
    return not line.indent and (
        line.kind == "text" or (line.kind == "bullet" and line.words[0].isupper())
    )


def _value(line: Line) -> str | None:
    """Return what stands behind the label of a line; None if it has no label."""
    label = LABEL.fullmatch(line.words if _is_labelled(line) else line.text)
    return None if label is None else (label[2] or "").strip()


def _labelled(lines: Lines, key: str, heading: str, wants_list: bool) -> Items | None:
    """Return records of labelled lines: a new one wherever the first label comes again."""
    found: list[dict[str, list[str]]] = []
    last = ""
    for line in lines:
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


_SENTENCE: Final = re.compile(r"[A-Z][^:]{8,200}[.!]")


def titled(lines: Lines, wants_list: bool) -> Items | None:
    """Paragraphs of a title and fields, which are the same in all of them."""
    parts = between_blanks(lines)
    heading = parts.pop(0)[0].text if len(parts) > 2 and len(parts[0]) == 1 else ""
    keys = [[key for line in part[1:] if (key := _field(line))] for part in parts]
    if len(parts) < 2 or len(keys[0]) < 2 or any(each != keys[0] for each in keys):
        return None
    if any(_field(part[0]) or len(part) - 1 > len(keys[0]) for part in parts):
        return None
    return Items([text_of(part) for part in parts], heading, "", "titled")


def _field(line: Line) -> str | None:
    """Return the label of a line, as far as it looks like one."""
    field = _FIELD.match(line.words if line.kind in ("bullet", "text") else line.text)
    return None if field is None else field[1]


def paragraphs(lines: Lines, wants_list: bool) -> Items | None:
    """Paragraphs of several lines that all begin alike, or are all of one length."""
    parts = between_blanks(lines)
    heading = closing = ""
    if len(parts) > 1 and len(parts[0]) == 1 and (parts[0][0].text[-1] == ":" or parts[0][0].mark):
        heading = parts.pop(0)[0].text
    if len(parts) > 2 and len(parts[-1]) == 1 and _SENTENCE.fullmatch(parts[-1][0].text):
        closing = parts.pop()[0].text
    shapes = {shape_of(part) for part in parts}
    if len(parts) < 2 or len(shapes) != 1 or any(len(part) < 2 for part in parts):
        return None
    if shapes == {"text"} and len({len(part) for part in parts}) > 1:
        return None
    if shapes == {"title"} and not all(any(map(str.isdigit, part[0].text)) for part in parts):
        return None
    return Items([text_of(part) for part in parts], heading, closing, "paragraphs")


# Parts below headings

_TITLE_LEVEL: Final = 9
"""Of a line that ends with a colon and has indented lines below it."""
_NO_LABELS: Final = "|".join(sorted(words("texts.no-label")))
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
    if not is_numbered and not _are_fields(bodies):
        return None
    items = [text_of(lines[a:b]) for a, b in pairwise([*starts, len(lines)])]
    return Items([*items], told(lines[: starts[0]]), "", "headed")


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
    headings = [each for each in _headings(lines) if each[1] != _TITLE_LEVEL]
    if [at for at, _ in headings] == [0]:
        below = [line.text for line in lines[1 : 1 + _LONE_LABELS] if _BOLD_LABEL.match(line.text)]
        is_one = len(below) == _LONE_LABELS
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
    return as_many(lines, numbers) if wants_list else None


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


# Lines with no mark

_TITLE: Final = re.compile(r"#{1,6}[ \t]+\S.*|={2,}[ \t]+\S.*|List of .*|.*:")
_PROSE: Final = re.compile(r".{60,}[.!?]|.{300,}|.*[a-z]{3}[.!?] [A-Z].*")
_COUNTS: Final = re.compile(r"\b(?:showing|total|found|results?|page)\b", re.I)
_NAMED: Final = re.compile(r"[a-z0-9][\w.-]*:|\w+ #?\d+:|[^:]{1,60}[\d)]:")
_CLOSING: Final = re.compile(r"(?i:total): (?P<count>\d{1,6})(?: [\w ]{1,60})?[.]?")
_FIGURES: Final = words("texts.figures")
_OF_CODE: Final = "|".join(sorted(words("texts.of-code")))
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
_NAME: Final = re.compile(r"[\w./:@#-]{1,80}(?: \([^()]{1,80}\))?")
_WORD: Final = re.compile(r"[a-z][a-z_]{2,40}")
_LONE: Final = re.compile(
    r"[\w./:@#-]{1,80}(?: \([^()\n]{1,80}\)| v?\d[\w.:%-]{0,30}){1,4}"
    r"|\[[^\]\n]{0,40}\d[^\]\n]{0,20}\] \S.*"
)
"""The only line of a list: a name with figures, or a text behind a number in brackets."""
_NO_NAMES: Final = words("texts.no-name")


def plain(lines: Lines, wants_list: bool) -> Items | None:
    """Short lines below a heading, or with nothing around them."""
    start = _below_titles(lines)
    heading, closing = told(lines[:start]), ""
    body = [line for line in lines[start:] if line.text]
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
    if not heading and all(map(LABEL.fullmatch, items)) and not all(map(_NAMED.match, items)):
        return None
    return Items([*items], heading, closing, "plain-lines")


def _counts(body: list[Line]) -> bool:
    """True if the last line is the number of those before it."""
    found = _CLOSING.fullmatch(body[-1].words) if len(body) > 1 else None
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
        if _TITLE.fullmatch(line.text) or states_count(line.text):
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
    if len(lines) == 1 and _is_lone(body[0]):
        return Items([body[0]], "", "", "lone-name")
    if "," not in body[0]:
        return None
    labelled = _LABELLED.fullmatch(body[0])
    if labelled is None:
        names = body[0].split(", " if ", " in body[0] else ",")
        is_names = len(names) > 1 and all(map(_NAME.fullmatch, names))
        is_names = is_names and any(map(str.isalpha, body[0]))
        return Items([*names], "", "", "commas") if is_names else None
    parts = labelled["rest"].split(", ")
    if len(parts) > 1 and all(map(_PAIR.match, parts[1:])):
        return None  # labels, of what one thing has
    return _split(labelled["rest"], body[0][: labelled.start("rest")].strip())


def _is_lone(line: str) -> bool:
    """True if a line is the name of one thing, perhaps with figures, and no answer."""
    if line.partition(" ")[0].lower() in _NO_NAMES:
        return False
    return _WORD.fullmatch(line) is not None or _LONE.fullmatch(line) is not None


def _split(text: str, heading: str, closing: str = "") -> Items | None:
    """Return the parts of a line between commas, if they are names rather than a sentence."""
    if len(text) > _LONGEST_LINE:
        return None
    parts = [part.strip() for part in _PART.findall(text)]
    if any(not part or len(part) > _LONGEST_PART or _PROSE.fullmatch(part) for part in parts):
        return None
    is_told = len(parts) > 1 or _TITLE.fullmatch(heading.rpartition("\n")[2]) is not None
    return Items([*parts], heading, closing, "commas") if is_told and parts else None
