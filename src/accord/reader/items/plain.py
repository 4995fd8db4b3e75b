"""Items with no mark at all: a line each below a heading, or one after the other on a line."""

import re
from typing import Final

from accord.reader.items.found import LABEL, Items, states_number

_TITLE: Final = re.compile(r"#{1,6}[ \t]+\S.*|={2,}[ \t]+\S.*|List of .*|.*:")
_SENTENCE: Final = re.compile(r".{60,}[.!?]|.{300,}|.*[a-z]{3}[.!?] [A-Z].*")
_LABELLED: Final = re.compile(r"[^:]{1,100}: +(?P<rest>\S.*)")
_PART: Final = re.compile(r"(?:[^,()\[\]]|\([^()]*\)|\[[^\[\]]*\])+")
_COUNTS: Final = re.compile(r"\b(?:showing|total|found|results?|page)\b.*\d", re.I)
_NAME: Final = re.compile(r"[\w./:@#-]{1,80}(?: \([^()]{1,80}\))?")
_NAMED: Final = re.compile(r"[a-z0-9][\w.-]*:|\w+ #?\d+:|[^:]{1,60}[\d)]:")
_MOST_ABOVE: Final = 14
_LONGEST_PART: Final = 100
_LONGEST_LINE: Final = 20_000


def one_per_line(lines: list[str], wants_list: bool) -> Items | None:
    """Short lines below a heading, or with nothing around them."""
    start = _start(lines)
    heading = "\n".join(line for line in lines[:start] if line.strip())
    body = [line for line in lines[start:] if line.strip()]
    if not body or (not heading and len(body) < 2):
        return None
    depth = min(len(line) - len(line.lstrip()) for line in body)
    if any(line.endswith(":") or _SENTENCE.fullmatch(line) for line in body if _is_at(line, depth)):
        return None
    if len(body) == 1:
        return _split(body[0].strip(), heading)
    parts: list[list[str]] = []
    for line in body:
        if not parts or _is_at(line, depth):
            parts.append([])
        parts[-1].append(line.strip())
    items = ["\n".join(part) for part in parts]
    if not heading and all(map(LABEL.fullmatch, items)) and not all(map(_NAMED.match, items)):
        return None
    return Items(list(items), heading, "", "plain-lines")


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
        elif LABEL.fullmatch(line) is None and _COUNTS.search(line) is None:
            break
    return start


def commas(lines: list[str], wants_list: bool) -> Items | None:
    """`Found these: one, two (2), three`, or `one, two` below a heading."""
    told = [line for line in lines if line.strip()]
    if len(told) != 1:
        return None
    labelled = _LABELLED.fullmatch(told[0])
    if labelled is None:
        names = told[0].split(", ")
        is_names = len(names) > 1 and all(map(_NAME.fullmatch, names))
        return Items(list(names), "", "", "commas") if is_names else None
    return _split(labelled["rest"], told[0][: labelled.start("rest")].strip())


def _split(words: str, heading: str) -> Items | None:
    if len(words) > _LONGEST_LINE:
        return None
    parts = [part.strip() for part in _PART.findall(words)]
    if any(not part or len(part) > _LONGEST_PART or _SENTENCE.fullmatch(part) for part in parts):
        return None
    is_told = len(parts) > 1 or _TITLE.fullmatch(heading.rpartition("\n")[2]) is not None
    return Items(list(parts), heading, "", "commas") if is_told and parts else None
