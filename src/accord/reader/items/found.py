"""What the items of a text are, and what may stand around them."""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

MOST_HEADING: Final = 3
MOST_STATING: Final = 6
"""Lines at the top that may say how many items there are."""
_MOST_CLOSING: Final = 2
_MOST_ABOVE: Final = 14
_MOST_BELOW: Final = 6
_LONGEST_HEADING: Final = 300
LABEL: Final = re.compile(
    r"(?P<key>[*_]{0,2}[A-Za-z][\w ./()-]{0,40}?[*_]{0,2}):(?:[*_]{2})?(?:[ \t]+(?P<value>.*)|$)"
)
_RANGE: Final = re.compile(r"\b(\d{1,9}) ?(?:-|\u2013|to) ?(\d{1,9}) of\b")
_FOUND: Final = "found|showing|retrieved|returned|returning|listed|listing|here are|there are|total"
_STATED: Final = re.compile(
    rf"\b(?:{_FOUND}|top|first|next)\W[^\d\n]{{0,20}}(\d{{1,9}})\b"
    r"|^\W{0,4}(\d{1,9}) (?:[a-z]+ ){0,3}(?:[a-z]+s|found)\b",
    re.M,
)
_IN_BRACKETS: Final = re.compile(r"\((\d{1,9})(?: [\w ]{1,20})?\)")
_SUM: Final = re.compile(r"\b(\d{1,9}) [a-z]+(?:,| and) (\d{1,9}) (?:[a-z]+s|director\w+)\b")
"""`2 files, 3 folders`."""
_STATES: Final = re.compile(
    rf"\W{{0,4}}(?:{_FOUND})\b\D{{0,40}}\d"
    r"|\W{0,4}\d{1,9} (?:[a-z]+ ){0,3}(?:[a-z]+s found|(?:results|matches|items|rows|entries))\b"
)
COUNT: Final = re.compile(r"\b(\d{1,9})\b")


class Items(NamedTuple):
    """The items of a text, what stands above and below them, and the pattern that found them."""

    items: list[Any]
    heading: str
    closing: str
    rule: str

    @property
    def numbers(self) -> set[int]:
        """The numbers that stand above and below the items: one may be how many there are."""
        return {int(each) for each in COUNT.findall(f"{self.heading}\n{self.closing}")}

    @property
    def stated(self) -> set[int]:
        """How many items the words around them say that there are."""
        return stated_in(f"{self.heading}\n{self.closing}")


def stated_in(text: str) -> set[int]:
    """How many things some words say that there are; `0-4 of 4` are four or five."""
    words = text.lower()
    ranges = [(int(first), int(last)) for first, last in _RANGE.findall(words)]
    found = {last - first + 1 for first, last in ranges} | {
        last for first, last in ranges if not first
    }
    sums = {int(one) + int(other) for one, other in _SUM.findall(words)}
    found = found or sums or {int(one or other) for one, other in _STATED.findall(words)}
    return found or {int(number) for number in _IN_BRACKETS.findall(words)}


def states_number(line: str) -> bool:
    """Whether a line says how many things there are, and is none of them."""
    return len(line) <= _LONGEST_HEADING and _STATES.match(line.lower()) is not None


def split_heading(lines: list[str], is_item: Callable[[str], object]) -> int | None:
    """Where the items begin, if no more than a heading stands above them."""
    seen = 0
    for index, line in enumerate(lines):
        if is_item(line):
            return index
        seen += bool(line.strip())
        if seen > MOST_HEADING or len(line) > _LONGEST_HEADING:
            return None
    return None


def around(lines: list[str], start: int, end: int) -> tuple[str, str | None]:
    """The heading, and the closing lines; None if there are too many of them."""
    heading = "\n".join(line for line in lines[:start] if line.strip())
    closing = [line.strip() for line in lines[end:] if line.strip()]
    return heading, "\n".join(closing) if len(closing) <= _MOST_CLOSING else None


def listed_around(lines: list[str], start: int, end: int) -> tuple[str, str | None]:
    """The same of what can be nothing but rows: more may stand around them."""
    heading = "\n".join(line for line in lines[:start] if line.strip())
    closing = [line.strip() for line in lines[end:] if line.strip()]
    is_much = len(closing) > _MOST_BELOW or heading.count("\n") >= _MOST_ABOVE
    return heading, None if is_much else "\n".join(closing)


_ADVICE: Final = re.compile(
    r"\W{0,4}(?:possible|suggest\w*|next(?: (?:steps?|page|cursor)|:)|notes?:|tips?:|hints?:|legend"
    r"|usage|debug|pagination|page \d|use (?:the|\w+ (?:to|with))|for more|showing|total\b.*\d"
    r"|to (?:see|get|view|load|use|fetch|read)\b"
    r"|more (?:results|items|entries|pages|info|details|data|available)"
    r"|summary:|search completed|see also|please|try|you can|warning:|output truncated|truncated"
    r"|results? (?:may|truncated)|end of|\d+ (?:results?|items|matches|entries)\b)",
    re.I,
)
_ADVISES: Final = re.compile(
    r"\W{0,4}(?:possible|suggest\w*|next steps?|legend|notes?|tips?|hints?|usage|debug)\b", re.I
)
_MOST_ADVICE: Final = 14


def split_advice(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines, and those at their end that say what else there is to know or to do."""
    for at in range(max(2, len(lines) - _MOST_ADVICE), len(lines)):
        line = lines[at]
        if not line[:1].strip() or line[0] in "#|" or not _ADVICE.match(line):
            continue
        above = lines[at - 1].strip()
        is_apart = not above or not any(map(str.isalnum, above))
        is_heading = line.endswith(":") and _ADVISES.match(line) is not None
        if not is_heading and _is_above(lines, at):
            continue
        if (is_apart or is_heading) and not any(map(_GOES_ON.match, lines[at:])):
            return lines[:at], lines[at:]
    return lines, []


def _is_above(lines: list[str], at: int) -> bool:
    """Whether a line stands above all items, rather than below them."""
    return any(map(_LISTED.match, lines[at + 1 :])) and not any(map(_LISTED.match, lines[:at]))


_GOES_ON: Final = re.compile(r"#|\[\d{1,4}\] ")
"""A line with which something else begins."""
_LISTED: Final = re.compile(r"\s*(?:[-*•|]|\d{1,4}[.)])(?: |-)\s*\S|\|-")


def is_advice(block: str) -> bool:
    """Whether a text block after others says what else there is to know or to do."""
    return _ADVISES.match(block) is not None or _ADVICE.match(block.lstrip()) is not None


def key_of(label: str) -> str:
    return label.strip("*_ ")
