"""Items with no mark at all: a line each below a heading, or one after the other on a line."""

import re
from typing import Final

from accord.reader.items.found import LABEL, Items, states_number

_TITLE: Final = re.compile(r"#{1,6}[ \t]+\S.*|={2,}[ \t]+\S.*|List of .*|.*:")
_SENTENCE: Final = re.compile(r".{60,}[.!?]|.{300,}|.*[a-z]{3}[.!?] [A-Z].*")
_LABELLED: Final = re.compile(r"[^:]{1,100}: +(?P<rest>\S.*)")
_PAIR: Final = re.compile(r"[A-Z][\w ]{0,30}: ")
_PART: Final = re.compile(r"(?:[^,()\[\]]|\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])+")
_COUNTS: Final = re.compile(r"\b(?:showing|total|found|results?|page)\b", re.I)
_NAME: Final = re.compile(r"[\w./:@#-]{1,80}(?: \([^()]{1,80}\))?")
_ALONE: Final = re.compile(
    r"(?!(?:ok|yes|done|success|none|null|true|false|empty|unknown|undefined|pending|loading|ready"
    r"|\w*connected|error|failed|unavailable|running|stopped)$)[a-z][a-z_]{2,40}"
)
"""One word that is no answer: a name."""
_NAMED: Final = re.compile(r"[a-z0-9][\w.-]*:|\w+ #?\d+:|[^:]{1,60}[\d)]:")
_FIGURE: Final = re.compile(r"(?:total|average|avg|mean|median|number|count|max|min|sum)\b")
_CLOSING: Final = re.compile(r"(?i:total): (?P<count>\d{1,6})(?: [\w ]{1,60})?[.]?")
_MOST_ABOVE: Final = 14
_LONGEST_PART: Final = 100
_LONGEST_LINE: Final = 20_000
_MANY: Final = 20
_CODE: Final = re.compile(
    r".*[;{}]|(?:import|from|const|let|var|function|return|export|#include)\b.*|</?\w.*>"
    r"|(?:def|class)\b.*:"
)
"""A line of a program, as likely as not."""


def one_per_line(lines: list[str], wants_list: bool) -> Items | None:
    """Short lines below a heading, or with nothing around them."""
    start = _start(lines)
    heading = "\n".join(line for line in lines[:start] if line.strip())
    body = [line for line in lines[start:] if line.strip()]
    closing = ""
    if heading and _counts(body):
        closing = body.pop().strip()
    if not body or (not heading and len(body) < 2):
        return None
    depth = min(len(line) - len(line.lstrip()) for line in body)
    outer = [line for line in body if _is_at(line, depth)]
    long = sum(line.endswith(":") or _SENTENCE.fullmatch(line) is not None for line in outer)
    if long * _MANY > len(outer) or (not heading and _is_code(outer)):
        return None
    if len(body) == 1:
        found = _split(body[0].strip(), heading, closing)
        is_one = found is None and heading.endswith(":") and len(heading) <= _LONGEST_PART
        return Items([body[0].strip()], heading, closing, "plain-lines") if is_one else found
    parts: list[list[str]] = []
    for line in body:
        if not parts or _is_at(line, depth):
            parts.append([])
        parts[-1].append(line.strip())
    items = ["\n".join(part) for part in parts]
    if not heading and all(map(LABEL.fullmatch, items)) and not all(map(_NAMED.match, items)):
        return None
    return Items(list(items), heading, closing, "plain-lines")


def _counts(body: list[str]) -> bool:
    """Whether the last line is the number of those before it."""
    found = _CLOSING.fullmatch(body[-1].strip()) if len(body) > 1 else None
    if found is None:
        return False
    above = body[:-1]
    depth = min(len(line) - len(line.lstrip()) for line in above)
    lines = sum(_is_at(line, depth) for line in above)
    return int(found["count"]) == (above[0].count(",") + 1 if lines == 1 else lines)


def is_record(items: list[str]) -> bool:
    """Whether lines are figures about one thing, each with its label: `Total jobs: 12`."""
    labels = [item.partition(": ")[0] for item in items if LABEL.fullmatch(item)]
    is_labelled = len(set(labels)) == len(labels) == len(items) > 1
    figures = {found[0] for label in labels if (found := _FIGURE.match(label.lower()))}
    return is_labelled and len(figures) > 1


def _is_code(lines: list[str]) -> bool:
    """Whether some lines are those of a program."""
    code = sum(_CODE.fullmatch(line.strip()) is not None for line in lines)
    return code > 1 and code * 3 > len(lines) and any(line.strip()[-1:] in ";{}" for line in lines)


def _is_at(line: str, depth: int) -> bool:
    return not line[depth].isspace()


def _start(lines: list[str]) -> int:
    """Where the lines begin below the last heading; what is above it are headings and labels."""
    start = seen = 0
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        seen += 1
        if seen > _MOST_ABOVE:
            break
        if _TITLE.fullmatch(line) or states_number(line):
            start = at + 1
        elif LABEL.fullmatch(line) is None:
            told = _COUNTS.search(line)
            if told is None or not any(map(str.isdecimal, line[told.end() :])):
                break
    return start


def commas(lines: list[str], wants_list: bool) -> Items | None:
    """`Found these: one, two (2), three`, or `one, two` below a heading."""
    told = [line for line in lines if line.strip()]
    if len(told) != 1:
        return None
    labelled = _LABELLED.fullmatch(told[0])
    if labelled is None:
        names = told[0].split(", " if ", " in told[0] else ",")
        is_names = len(names) > 1 and all(map(_NAME.fullmatch, names))
        is_names = is_names and any(map(str.isalpha, told[0]))
        return Items(list(names), "", "", "commas") if is_names else None
    parts = labelled["rest"].split(", ")
    if len(parts) > 1 and all(map(_PAIR.match, parts[1:])):
        return None  # labels, of what one thing has
    return _split(labelled["rest"], told[0][: labelled.start("rest")].strip())


def lone_name(lines: list[str], wants_list: bool) -> Items | None:
    """One word that is the name of something."""
    is_name = len(lines) == 1 and _ALONE.fullmatch(lines[0]) is not None
    return Items([lines[0]], "", "", "lone-name") if is_name else None


def _split(words: str, heading: str, closing: str = "") -> Items | None:
    if len(words) > _LONGEST_LINE:
        return None
    parts = [part.strip() for part in _PART.findall(words)]
    if any(not part or len(part) > _LONGEST_PART or _SENTENCE.fullmatch(part) for part in parts):
        return None
    is_told = len(parts) > 1 or _TITLE.fullmatch(heading.rpartition("\n")[2]) is not None
    return Items(list(parts), heading, closing, "commas") if is_told and parts else None
