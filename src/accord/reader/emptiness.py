"""What a short text says: that nothing was found, that something is not there, or not needed.

The patterns are in small letters, as in `phrases`.
"""

import re
from typing import Final

from accord.reader.patterns import any_of
from accord.reader.sentences import LONGEST_SENTENCE, after, first_sentence, split_sentence

_LONGEST_NONE: Final = 200

_GIVEN: Final = "provided|specified|given|supplied|passed|entered"
NOT_GIVEN: Final = rf"(?:(?!found|in|for|the|matching)\w+ ){{1,4}}(?:{_GIVEN})\b"
_THINGS: Final = r"(?:results?|match(?:es)?|data|entries|records|items|\w+[^s\W]s|\w+\(s\))"
_NONE: Final = any_of(
    rf"(?:currently,? )?(?:there (?:are|were|is) )?(?:currently )?no (?:[\w-]+ ){{0,4}}?{_THINGS}\b"
    r"(?: (?:were|was|are|have been|could be|currently))?"
    r"(?: (?:found|match(?:ed|ing)?|available|returned|exist|yet|present|connected|configured"
    r"|active|open|running|installed|scheduled|recorded|detected|registered|stored|to \w+"
    r"|displayed|listed|loaded|defined|set))?"
    r"(?: (?:for|in|with|matching|that|on|at|from|within|under|by|of|to|between|during|after|before"
    r"|yet|about|near|containing|around|here|available|found)\b.*)?[.!]*$",
    r"(?:found|showing|returned|listing) (?:0(?!\W{0,3}(?:to\W)?[1-9])|no|zero)\b.*$",
    r"total:? 0\b.*$",
    r"total results:? 0\b.*$",
    r"rows: 0\s*(?:\([^()\n]*\))?$",
    r"0 (?:\w+ ){0,3}(?:found|results?|matches|rows|items|records|returned).*$",
    r"0 \w+s[.!]*$",
    r"nothing (?:was )?(?:found|matched|to show|here).*$",
    r"(?:reached )?(?:the )?end of (?:the )?(?:\w+ )?(?:items|results|list|data|history)\b.{0,20}$",
    r"(?:the |your )?(?:\w+ )?(?:search|query|directory|folder|list|result|table|queue|inbox|cart)"
    r"\b(?!.*\b(?:must|cannot|can't|should)\b).{0,60}\bempty\b.{0,40}$",
    r"(?:the |your )?(?:search|query)\b.{0,60}\b(?:returned no\b.*|no results)[.!]*$",
    r"\(?(?:empty|none|no results)\)?[.!]*$",
    r"empty (?:directory|folder|list|array|result|set|queue)\b.{0,80}$",
    r".{1,80}\b(?:does not|doesn't|do not|don't|did not|didn't) (?:have|contain|return|match"
    r"|include|produce|yield) any\b.{0,80}$",
    rf"[^.]{{1,80}}\b(?:has|have|contains?|had|returned|with) (?:no|zero|0)"
    rf" (?:\w+ ){{0,2}}{_THINGS}\b.{{0,60}}$",
    r"(?:could not|couldn't|did not|didn't|unable to) find any\b.*$",
)
NO_ENTRY: Final = (
    r"(?:\w+ ){0,2}(?:permissions?|access|credentials?|connection|api key|token|internet)\b"
)
NOT_READY: Final = (
    r"(?:\w+ ){0,2}\w*[^s\W] (?:is |was )?(?:currently )?"
    r"(?:selected|chosen|configured|connected|loaded|authenticated|initialized|logged in)\b"
)
_NOT_NONE: Final = any_of(
    r"no (?:such|valid)\b",
    rf"no {NOT_READY}",
    rf"no {NO_ENTRY}",
    rf"no {NOT_GIVEN}",
)
_NONE_LISTED: Final = any_of(
    r"(?:there (?:are|is|were) )?no (?!such|longer|need)[\w'\"-]+.{0,160}$",
    r"(?:the |your |this )?(?:[\w'\"-]+ ){1,4}(?:is|are|was|were) (?:currently )?empty[.!]*$",
)
_NO_ITEMS: Final = any_of(r"no (?!more|other|further|additional)(?:[\w-]+ ){1,4}(?:were )?found\b")
_NO_NAMES: Final = re.compile(
    r"[^:\n]{1,80}:[*_]{0,2}\s+\W?(?:none|empty(?: array| list)?|nothing|no \w+)\W{0,2}$"
)
_NONE_AT_ALL: Final = any_of(
    r"(?:none of|empty|nothing|0 \w+s?)\b[^:]{0,80}$",
    r"[^.:]{1,60}, but no (?:\w+ ){0,2}(?:results|matches|items) (?:were )?found\b.*$",
    r"you (?:are not|aren't) (?:a member|part) of any [^:.]{1,40}[.!]?$",
    r"(?:i|we|you|there)\b[^:.]{0,20}\b(?:no|zero|0|n't any|not any|aren't any|isn't any"
    r"|weren't any) [^:]{1,100}$",
)
_ZERO: Final = re.compile(
    r".{1,160}[(\[ ]0 (?:occurrences|match(?:es)?|results?|usages|references|hits)[\])]?[.!]?$"
)
"""A heading that says that there is nothing below it."""
_LISTS: Final = re.compile(
    r"\n[^\S\n]*+(?:[-*•]|\d|\S[^\s./]*+[./]\S++$|.*:[^\S\n]*+$|.*[1-9])", re.M
)
"""A line that is an item, or has some below it."""
_INSTEAD: Final = any_of(
    r".*\b(?:showing|similar|instead|falling back|did you mean|closest|found [1-9]|but here)\b"
)
_OPENING: Final = re.compile(r"(?:_|[^\w\"'`]){0,12}\u2139?[^\w\"'`]{0,12}")
_MOST_LINES: Final = 3
_MOST_AROUND: Final = 16
_OF_NONE: Final = ("no", "0", "any", "empty", "zero", "end of")
_MAY_BE_NONE: Final = re.compile(r"(?:\b|_)(?:no|0|zero|none|nothing|empty|any|end of)(?:\b|_)")
_PLAINLY_NONE: Final = re.compile(
    r"no (?!such\b)(?:[a-z]+ )?[a-z]+s found(?: (?:for|matching|in|with) [^.\n]{1,100})?[.!]?$"
    r"|no (?:[\w.*]+,? ){1,6}(?:files|results|matches|items) found in \S+$"
    r"|no (?:[a-z]+ )?[a-z]+s (?:created |added |defined |saved |recorded )?yet[.!]?$"
)
"""What most of them say, and is seen at once."""
_ADVICE: Final = re.compile(r"(?:try|please|use|you can|consider|check|tip|hint)\b[^:\d]*")
_MARKER: Final = re.compile(r"_{0,2}[A-Z]{1,20}(?:_[A-Z]{1,20}){1,5}_{0,2}")
"""A sentence for programs: `__NO_COLLECTIONS_FOUND__`."""
_SOME: Final = re.compile(
    r"(?:found|showing|retrieved|returned|listing) (?:the )?[1-9]\d*\b|[^:]{1,80} \([1-9]\d*\)?:"
)
_NONE_IN_CHINESE: Final = re.compile(
    r"\W{0,4}(?:没有|沒有|暂无|暫無|未|找不到)[^\n]{1,40}\s*$"
    r"|(?:#[^\n]{0,60}\n\s*)?[^\n\d]{0,60}(?:没有|沒有)(?:任何|找到)[^\n]{0,60}\s*$"
)
_POLITE: Final = re.compile(r"(?:(?:sorry|unfortunately),?|(?:search )?results?:)\s+", re.I)
_LABELLED: Final = re.compile(r"[A-Z][\w ]{0,30}: ")


def says_none(text: str, *, wants_many: bool = False) -> bool:
    """Whether a text says that a search found nothing, whatever advice it adds.

    From a tool that lists, that may stand below some lines about the search.
    """
    if "_" in text and _MARKER.fullmatch(text):
        text = text.strip("_").replace("_", " ")
    small = text[: 5 * _LONGEST_NONE].lower()
    if _PLAINLY_NONE.match(small) or (
        wants_many and not small.isascii() and _NONE_IN_CHINESE.match(small)
    ):
        return True
    lines = _few_lines(text) if _may_be_none(small) else []
    if not lines or _SOME.match(lines[0].lower()):
        return False
    if text.lstrip()[:1] == "#" and says_none_below_each(text):
        return True
    if wants_many and _ZERO.match(lines[0].lower()) and not _LISTS.search(text.strip()):
        return True
    if len(lines) <= _MOST_LINES and len(text) <= 2 * _LONGEST_NONE:
        if len(lines) > 1 and (lines[0].endswith(":") or text.lstrip().startswith("#")):
            is_advised = all(_ADVICE.fullmatch(line.lower()) for line in lines[2:])
            return _is_none(lines[1 if is_advised else -1], wants_many)
        if len(lines) > 1 and wants_many and _NO_ITEMS.match(lines[-1].lower()):
            return True
        return _is_none("\n".join(lines), wants_many) or _is_none(lines[0], wants_many)
    head, *below = lines
    if wants_many and len(lines) <= 2 * _MOST_LINES and _NO_ITEMS.match(lines[-1].lower()):
        return True
    if _is_none(head, wants_many):
        return not any(_INSTEAD.match(line.lower()) for line in below[:2])
    if not wants_many or not _is_heading(head, text):
        return False
    return any(_is_none(line) for line in below[: _MOST_LINES * 2])


def says_none_below_each(text: str) -> bool:
    """Whether there are several headings, with nothing below any of them."""
    lines = [line for line in text.splitlines() if line.strip()]
    below = [line.lower() for line in lines if line[0] != "#"]
    return 1 < len(below) == len(lines) - len(below) and all(map(_NO_ITEMS.match, below))


def _may_be_none(small: str) -> bool:
    for each in _OF_NONE:
        if each in small:
            return _MAY_BE_NONE.search(small) is not None
    return False


def _is_heading(head: str, text: str) -> bool:
    return head.endswith(":") or text.lstrip().startswith("#") or bool(_LABELLED.match(head))


def _few_lines(text: str) -> list[str]:
    if len(text) > 5 * _LONGEST_NONE:
        return []
    lines = [after(_OPENING, line).rstrip(" <>()[]*_#") for line in text.strip().splitlines()]
    lines = [line for line in lines if line]
    return lines if len(lines) <= _MOST_AROUND else []


def _is_none(line: str, wants_many: bool = False) -> bool:
    words = after(_POLITE, line)
    small = words.lower()
    if len(words) > 2 * _LONGEST_NONE or _NOT_NONE.match(small):
        return False
    if len(words) <= _LONGEST_NONE and _NONE.match(small):
        return True
    first, rest = split_sentence(words)
    if wants_many and (_NO_NAMES.match(small) or _NONE_AT_ALL.match(small)):
        return True
    if wants_many and _NONE_LISTED.match(first.lower()) and not _INSTEAD.match(rest.lower()):
        return True
    if not rest or _INSTEAD.match(rest.lower()):
        return False
    told = (first, split_sentence(rest)[0]) if wants_many else (first,)
    return any(_NONE.match(each.lower()) for each in told)


_WELL: Final = any_of(
    r"no (?:\w+ ){0,2}(?:errors?|issues?|problems?|warnings?|violations?|conflicts?)\b",
    r"no (?:\w+ ){0,2}vulnerabilit(?:y|ies)\b",
)


def says_all_well(text: str) -> bool:
    """Whether a text says that nothing is wrong: what a check found."""
    return _WELL.match(after(_OPENING, text)[:LONGEST_SENTENCE].lower()) is not None


_NO_ONE: Final = any_of(
    r"no (?:[\w'\"-]+ ){0,4}?(?P<noun>[\w-]+) (?:was |were |is |are |has been |could be )?"
    r"(?:currently )?(?:found|available|exists?|match\w*|set|selected|open|active|running|connected"
    r"|loaded|detected|started|configured|registered|extracted|returned|retrieved|with|for|named)\b"
)
_NO_CURRENT: Final = any_of(
    r"no (?:currently )?(?:active|open|current|connected|selected|running) (?P<noun>[\w-]+)\b"
)
_NOT_NEEDED: Final = any_of(
    r"no (?:\w+ ){0,3}(?:changes?|occurrences?|differences|output|updates?|further|more|need)\b",
    r"no (?:\w+ ){1,4}to \w+\b",
    r"nothing (?:to|was|has)\b",
)


_OF_LACK: Final = frozenset("nNtT")
"""What a sentence begins with that says that there is none: `No`, `There is no`."""


def lacks(text: str) -> str | None:
    """What a sentence says that there is none of: `device` of `No active device found`."""
    words = text[:LONGEST_SENTENCE].strip("*_#<> \t\r\n")
    if words[:1] not in _OF_LACK or not words.lower().startswith(("no", "there is no ")):
        return None
    words = first_sentence(text.strip()).strip("*_#<> ")[:LONGEST_SENTENCE].lower()
    words = words.removeprefix("there is ")
    found = _NO_ONE.match(words) or _NO_CURRENT.match(words)
    return None if found is None or _NOT_NEEDED.match(words) else found["noun"]


_NONE_OF_ALL: Final = any_of(
    r"no (?!active|open|current|connected|selected|running|valid)[\w' -]{1,60} found\b"
)


def says_none_of_all(text: str) -> bool:
    """Whether a text says that nothing was found, if nothing in particular was asked for."""
    return _NONE_OF_ALL.match(text.strip()[:LONGEST_SENTENCE].lower()) is not None


def says_not_needed(text: str) -> bool:
    """Whether a text says that there was nothing to do."""
    return _NOT_NEEDED.match(text.strip()[:LONGEST_SENTENCE].lower()) is not None
