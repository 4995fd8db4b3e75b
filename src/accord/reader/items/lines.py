"""Lines of a text as tokens, and the words around items: headings, counts, closing remarks."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from accord.reader.lexicon import ordered

MAX_HEADING: Final = 3
"""Lines of a usual heading; a longer one needs more evidence."""
MAX_ABOVE: Final = 14
"""Lines above items that are certain, such as a table or numbered headings."""
COUNT_LINES: Final = 6
"""Lines at the top that may state the number of items."""
_MAX_BELOW: Final = 6
"""Lines below items that are certain."""
_MAX_TITLE: Final = 300
"""Characters of a line that is a heading."""
_MAX_ADVICE: Final = 14
"""Lines of closing remarks."""

_KEY: Final = r"[*_]{0,2}[A-Za-z][\w ./()-]{0,40}?[*_]{0,2}"
LABEL: Final = re.compile(rf"({_KEY}):(?:[*_]{{2}})?(?:[ \t]+(.*)|$)")
_TOKEN: Final = re.compile(
    r"""(?P<fence>```)
    | (?P<heading>\#{1,6})[ \t]+(?=\S)
    | (?P<branch>[│ \t\u00a0]{0,200}[├└]─{1,3})[ ]?(?=[^\s─┴┬┼┐┘])
    | (?P<bullet>[-*+•\u2013▪◦→])[ \t]+(?=\S)
    | (?P<number>\d{1,6}[.)])[ \t]+(?=\S)
    | (?P<tag>\[(?:[A-Z][A-Z _-]{1,15}|[A-Z][a-z]{2,15}|[a-z]{2,20}(?:[/:.-][a-z]{2,20})*)\])
      [ \t]+(?=\S)
    | (?P<border>\+)""",
    re.X,
)
_UNMARKED: Final = "|{}()"
"""First characters of lines without a mark that are not a rule."""
_BANNER: Final = re.compile(r"(-{2,8}|={2,8}|\*{3,8}) (\S.{0,100}\S|\S) \1")
"""`=== Users ===`."""
_RULE: Final = re.compile(r"[-=_*~─━═—]{3,}|<{2,}[A-Z _]+>{2,}")
_SHORT_RULES: Final = frozenset({"=", "==", "--", "~", "*", "_", "—"})
_RULE_LENGTHS: Final = range(3, 81)


class Line(NamedTuple):
    """A line: its indent, its mark and its words."""

    text: str
    """The line without trailing blanks."""
    indent: int
    kind: str
    """`blank`, `rule`, `code`, the name of a mark, or `text`."""
    mark: str
    """The mark; of a rule its character, if it repeats only one."""
    words: str
    """The text after the mark, or the stripped line."""
    key: str | None = None
    """The label at its beginning: `Name` of `Name: Ada` and of `- **Name:** Ada`."""
    opening: "Opening | None" = None
    """How it begins; None if an item cannot begin like this."""


Lines = Sequence[Line]

_BLANK: Final = Line("", 0, "blank", "", "")


def tokens(lines: Iterable[str]) -> list[Line]:
    """Return lines as tokens; those in a code block are `code`."""
    found: list[Line] = []
    is_code = False
    for each in lines:
        text = each.rstrip()
        if "`" in text and text.count("```") % 2 == 1:
            is_code = not is_code
        elif is_code:
            found.append(Line(text, len(text) - len(text.lstrip()), "code", "", text.strip()))
            continue
        found.append(_token(text))
    for at in range(1, len(found)):
        if found[at].kind == "rule" and _is_underline(found, at):
            found[at - 1] = found[at - 1]._replace(
                kind="heading", mark="#", opening=Opening("headed", 1)
            )
            found[at] = _BLANK
    return found


# How lines begin

_BEGINNING: Final = re.compile(
    r"""(?P<number>(?:[*]{2})?(?:[A-Za-z]{1,20}[ ])?\#?\[?\d{1,5}[.):\]]*(?=\s|$|:\s))
    | (?P<bracket>\[[^\]]{1,60}\])
    | (?P<bold>[*]{2}[^*:]{1,80}[*]{2}(?!:))
    | (?P<pair>\w{1,20}[:=](?=\S))
    | (?P<sign>[^\w\s#*<({\[\"'`-]{1,2}(?=\s))""",
    re.X,
)
_PLACE: Final = re.compile(
    r"""(?P<commits>commit[ ](?=[0-9a-f]{3})|(?:[*|\\/][ ]?){0,8}(?=[0-9a-f]*\d)[0-9a-f]{7,64}[ ]\S)
    | (?P<paths>https?://\S+$|[\w./\\-]{1,200}+(?::\d{1,7}(?::\d{1,7})?|\(\d{1,7},\d{1,7}\)):
      |(?:/|[A-Za-z]:\\|\.{1,2}/|~/)[^\s\0].*$|[\w.-]++(?:/[\w. -]+)++(?:\([^()]{1,40}\))?$)""",
    re.X,
)
_DISTINCT: Final = re.compile(r"[\d/\\:=(]")
"""Characters of lines of paths, numbers and labels that begin with a letter."""
_DIGITS: Final = re.compile(r"\d+")
_ONLY_BOLD: Final = re.compile(r"\*\*[^*]{1,80}\*\*")
_BOLD_LEVEL: Final = 7
"""The level, as a heading, of a line that is only bold."""


class Opening(NamedTuple):
    """How a line begins; lines with equal openings are alike."""

    kind: str
    detail: str | int = ""
    indent: int = 0


def _opening(kind: str, indent: int, mark: str, words: str, key: str | None) -> Opening | None:
    """Return how a line begins."""
    if kind in ("bullet", "number", "tag"):
        return Opening(kind, "", indent)
    if kind == "heading" or (words[:1] == "*" and _ONLY_BOLD.fullmatch(words)):
        return Opening("headed", len(mark) or _BOLD_LEVEL, indent)
    if kind != "text":
        return Opening(kind) if kind == "branch" else None
    is_plain = words[:1].isalpha() and not _DISTINCT.search(words)
    found = None if is_plain else _PLACE.match(words) or _BEGINNING.match(words)
    if found is None:
        return Opening("text", "", indent) if key is None else Opening("label", key, indent)
    name = str(found.lastgroup)
    if name == "number":
        return Opening(name, _DIGITS.sub("0", found[0].strip("*")), indent)
    has_detail = name == "pair" or (name == "sign" and found[0].isascii())
    return Opening(name, found[0] if has_detail else "", indent)


def _is_underline(lines: list[Line], at: int) -> bool:
    """True if a rule underlines a heading, rather than separates parts."""
    above = lines[at - 1]
    if lines[at].mark not in ("=", "-", "~") or above.kind != "text":
        return False
    if LABEL.fullmatch(above.text) and not above.text.endswith(":"):
        return False
    is_first = at == 1 or not lines[at - 2].text
    return is_first and (at + 1 == len(lines) or not lines[at + 1].text)


def _token(text: str) -> Line:
    body = text.lstrip()
    if not body:
        return _BLANK
    indent, first = len(text) - len(body), body[0]
    kind, mark, words = "text", "", body
    if not (first.isalpha() or first in _UNMARKED):
        found = _TOKEN.match(body)
        banner = _BANNER.fullmatch(body) if first in "-=*" else None
        if found is not None and found.lastgroup is not None:
            kind, mark, words = found.lastgroup, found[0].rstrip(), body[found.end() :]
        elif banner is not None:
            kind, mark, words = "heading", "=", banner[2]
        elif is_rule(body):
            kind, mark = "rule", first if _RULE.fullmatch(body) else ""
    label = LABEL.fullmatch(words) if ":" in words and kind in ("text", "bullet") else None
    key = None if label is None else plain_key(label[1])
    return Line(text, indent, kind, mark, words, key, _opening(kind, indent, mark, words, key))


def is_rule(line: str) -> bool:
    """True for a separator: a line of only punctuation."""
    if not line or line[0].isalnum():
        return False
    if line in _SHORT_RULES or _RULE.fullmatch(line):
        return len(line) <= _RULE_LENGTHS[-1]
    return len(line) in _RULE_LENGTHS and not any(c.isalnum() or c in "`|{}[]()" for c in line)


def plain_key(label: str) -> str:
    """Return a label without its emphasis."""
    return label.strip("*_ ")


def heading_of(lines: Lines) -> str:
    """Return lines as a heading: one text, without blank lines."""
    return "\n".join(line.text for line in lines if line.text)


# Items


class Items(NamedTuple):
    """The items of a text, the text above and below them, and the rule that found them."""

    items: list[Any]
    heading: str
    closing: str
    rule: str

    @property
    def numbers(self) -> set[int]:
        """The numbers above and below the items, of which one may be their count."""
        return {int(each) for each in _NUMBER.findall(f"{self.heading}\n{self.closing}")}

    @property
    def stated(self) -> set[int]:
        """The counts of items stated above and below them."""
        return counts_in(f"{self.heading}\n{self.closing}")


def framed(lines: Lines, start: int, end: int, items: list[Any], rule: str) -> Items | None:
    """Return items with the lines around them; None if those are too many for a list."""
    below = (line for line in lines[end:] if line.text)
    closing = [line.words if line.kind == "text" else line.text.strip() for line in below]
    heading = heading_of(lines[:start])
    if len(closing) > _MAX_BELOW or heading.count("\n") >= MAX_ABOVE:
        return None
    return Items(items, heading, "\n".join(closing), rule)


# Counts

_COUNTING: Final = "|".join(ordered("texts.counting")) + "|here are|there are"
_NUMBER: Final = re.compile(r"\b(\d{1,9})\b")
_RANGE: Final = re.compile(r"\b(\d{1,9}) ?(?:-|\u2013|to) ?(\d{1,9}) of\b")
_STATED: Final = re.compile(
    rf"\b(?:{_COUNTING}|top|first|next)\W[^\d\n]{{0,20}}(\d{{1,9}})\b"
    r"|^\W{0,4}(\d{1,9}) (?:[a-z]+ ){0,3}(?:[a-z]+s|found)\b",
    re.M,
)
_IN_BRACKETS: Final = re.compile(r"\((\d{1,9})(?: [\w ]{1,20})?\)")
_SUM: Final = re.compile(r"\b(\d{1,9}) [a-z]+(?:,| and) (\d{1,9}) (?:[a-z]+s|director\w+)\b")
"""`2 files, 3 folders`."""
_STATES: Final = re.compile(
    rf"\W{{0,4}}(?:{_COUNTING})\b\D{{0,40}}\d"
    r"|\W{0,4}\d{1,9} (?:[a-z]+ ){0,3}(?:[a-z]+s found|(?:results|matches|items|rows|entries))\b"
)


def counts_in(text: str) -> set[int]:
    """Return the counts that a text states; four or five for `0-4 of 4`."""
    if not _DIGITS.search(text):
        return set()
    small = text.lower()
    ranges = [(int(first), int(last)) for first, last in _RANGE.findall(small)]
    found = {last - first + 1 for first, last in ranges}
    found |= {last for first, last in ranges if not first}
    found = found or {int(one) + int(other) for one, other in _SUM.findall(small)}
    found = found or {int(one or other) for one, other in _STATED.findall(small)}
    return found or {int(number) for number in _IN_BRACKETS.findall(small)}


def states_count(line: str) -> bool:
    """True if a line states a count and is not an item."""
    if len(line) > _MAX_TITLE or not _DIGITS.search(line):
        return False
    return _STATES.match(line.lower()) is not None


# Closing remarks


def _any(section: str) -> str:
    return "|".join(word.replace("_", " ") for word in ordered(section))


_ADVICE: Final = re.compile(rf"\W{{0,4}}(?:{_any('texts.advice')})", re.I)
_ADVISES: Final = re.compile(rf"\W{{0,4}}(?:{_any('texts.advice-headings')})\b", re.I)
_LISTED: Final = re.compile(r"\s*(?:[-*•|]|\d{1,4}[.)])(?: |-)\s*\S|\|-")
_GOES_ON: Final = re.compile(r"#|\[\d{1,4}\] ")
"""The first line of another section."""
_ONLY_COUNT: Final = re.compile(r"\W{0,4}\d{1,9} [a-z]+(?: [a-z]+)?\W{0,2}", re.I)


def split_advice(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return lines without closing remarks, and the closing remarks."""
    for at in range(max(2, len(lines) - _MAX_ADVICE), len(lines)):
        line = lines[at]
        is_count = at == len(lines) - 1 and (states_count(line) or _is_sum(lines))
        if not line[:1].strip() or line[0] in "#|" or not (is_count or _ADVICE.match(line)):
            continue
        label, colon, _ = line.partition(":")
        if colon and any(each.startswith(f"{label}:") for each in lines[:at]):
            continue  # a label of the items
        is_heading = line.endswith(":") and _ADVISES.match(line) is not None
        is_apart = is_heading or not any(map(str.isalnum, lines[at - 1]))
        if is_apart and (is_heading or not _is_above(lines, at)):
            return (lines, []) if any(map(_GOES_ON.match, lines[at:])) else (lines[:at], lines[at:])
    return lines, []


def _is_sum(lines: list[str]) -> bool:
    """True if only the last line is a count: `3 notes`."""
    return [line for line in lines if line and _ONLY_COUNT.fullmatch(line)] == lines[-1:]


def _is_above(lines: list[str], at: int) -> bool:
    """True if a line is above all items rather than below them."""
    return any(map(_LISTED.match, lines[at + 1 :])) and not any(map(_LISTED.match, lines[:at]))


def is_advice(block: str) -> bool:
    """True if a text block is closing remarks."""
    return any(pattern.match(block.lstrip()) for pattern in (_ADVISES, _ADVICE))


_BEGIN: Final = re.compile(r"[-=*<\[ ]{1,12}(?:BEGIN|START)(?:\s[\w ]{1,40})?[-=*>\] ]{1,12}")
_END: Final = re.compile(r"[-=*<\[ /]{1,12}END(?:\s[\w ]{1,40})?[-=*>\] ]{1,12}")
FRAME: Final = ("<<<", "---", "===", "***", "[BEGIN", "[START")


def unframed(text: str) -> str:
    """Return a text without lines that mark its beginning and end: `--- BEGIN ---`."""
    first, _, rest = text.strip().partition("\n")
    inside, _, last = rest.rpartition("\n")
    return inside.strip("\n") if _BEGIN.fullmatch(first) and _END.fullmatch(last) else text
