"""Runs of like lines: bullets, lines of one kind, lines that begin alike, lines with no mark."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from accord.reader.items.lines import (
    LABEL,
    MAX_ABOVE,
    MAX_HEADING,
    Items,
    Line,
    begin,
    cut,
    framed,
    plain_key,
    states_count,
    told,
)
from accord.reader.lexicon import ordered, words

Lines = Sequence[Line]


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
    if wants_list:
        return found
    is_section = found.heading.startswith("#") and (found.closing or len(items) < 2)
    is_part = found.heading.rpartition("\n")[2].strip("#*_: ").lower() in _PARTS
    return None if is_section or is_part else found


_PARTS: Final = words("texts.parts")


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


# Lines of one kind

_PATH: Final = re.compile(
    r"https?://\S+|[\w./\\-]{1,200}(?::\d{1,7}(?::\d{1,7})?|\(\d{1,7},\d{1,7}\)):.*"
    r"|(?:/|[A-Za-z]:\\|\.{1,2}/|~/)[^\s\0].*|[\w.-]+(?:/[\w. -]+)++(?:\([^()]{1,40}\))?"
)
_COMMIT: Final = re.compile(r"(?:[*|\\/] ?){0,8}(?=[0-9a-f]*\d)[0-9a-f]{7,64} \S")
_STARRED: Final = re.compile(r"[* ] \S+(?: -> \S+)?")


_NEVER: Final = 1_000_000


class Run(NamedTuple):
    """A kind of lines of which one is one item."""

    rule: str
    is_item: Callable[[Line], object]
    least: int = 1
    """The fewest lines, from a tool that does not list."""


RUNS: Final = (
    Run("tagged-lines", lambda line: line.kind == "tag" and not line.indent),
    Run("tree", lambda line: line.kind == "branch", _NEVER),
    Run("commits", lambda line: _COMMIT.match(line.text), 2),
    Run("marked-lines", lambda line: _STARRED.fullmatch(line.text)),
    Run("paths", lambda line: _PATH.fullmatch(line.text), 2),
)


def uniform(lines: Lines, wants_list: bool) -> Items | None:
    """Lines that are all of one kind, below a heading and above what a blank line parts."""
    starts = [at for at, line in enumerate(lines) if line.text.startswith("commit ")]
    if len(starts) > 1 and not starts[0]:
        return cut(lines, starts, "commits")
    has_star = sum(line.text.startswith("* ") for line in lines) == 1
    for run in RUNS:
        if has_star or run.rule != "marked-lines":
            found = _uniform(lines, run, 1 if wants_list else run.least)
            if found is not None:
                return found
    return None


def _uniform(lines: Lines, run: Run, least: int) -> Items | None:
    """Return lines that are all of one kind, below a heading and above what a blank line parts."""
    rule, is_item, _ = run
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


# Lines that begin alike

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
        found = cut(lines, numbered, "alike-lines")
        return found and _messages(found)
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
        if end < len(lines):
            return None  # nothing sets that line apart
        found = cut(lines, starts, "alike-lines")
        found = found and _messages(found) if mark == "[" else found
        is_pairs = _PAIRS.fullmatch(lines[at].text) is not None
        if found and (len(starts) > 1 or _COUNTS.search(found.heading) or is_pairs):
            return found
        return None
    return None


def _numbered(lines: Lines) -> list[int]:
    """Return where lines begin that are numbered from zero or one on, whatever is between them."""
    found = ((at, each) for at, line in enumerate(lines) if (each := _NUMBER.match(line.text)))
    starts: list[int] = []
    first = 0
    for at, each in found:
        number = int(each[1])
        if not starts and (at > MAX_ABOVE or number > 1):
            return []
        first = number if not starts else first
        if number == first + len(starts):
            starts.append(at)
    return starts


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


# Lines with no mark

_TITLE: Final = re.compile(r"#{1,6}[ \t]+\S.*|={2,}[ \t]+\S.*|List of .*|.*:")
_PROSE: Final = re.compile(r".{60,}[.!?]|.{300,}|.*[a-z]{3}[.!?] [A-Z].*")
_NAMED: Final = re.compile(r"[a-z0-9][\w.-]*:|\w+ #?\d+:|[^:]{1,60}[\d)]:")
_CLOSING: Final = re.compile(r"(?i:total): (?P<count>\d{1,6})(?: [\w ]{1,60})?[.]?")
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
