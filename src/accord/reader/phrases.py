"""What a short text says: that something failed, was done, or that nothing was found.

The patterns are in small letters and are matched against a text in small letters: that takes
`re` a fraction of the time that it needs to ignore case.
"""

import re
from typing import Final, Literal

_LONGEST_ERROR: Final = 4_000
_LONGEST_WEAK: Final = 300
_LONGEST_REPORT: Final = 400
_LONGEST_NONE: Final = 200


def _any_of(*patterns: str) -> "re.Pattern[str]":
    """One pattern of several; a blank in them is any space."""
    spaced = (pattern.replace(" ", r"\s+") for pattern in patterns)
    return re.compile("|".join(f"(?:{pattern})" for pattern in spaced), re.S)


_MARKS: Final = re.compile(r"""[\s"'`*#>]*(?:[❌⛔🚫✗✖⚠️]+\s*)?""")
_CROSS: Final = re.compile(r"""[\s"'`*#>]*[❌⛔🚫✗✖]""")

_STRONG: Final = _any_of(
    r"(?:\w+ ){0,2}(?:error|exception|failure|fatal)\b\s*(?:[:(\[!—-]|$)",
    r"(?:error|exception) (?:executing|while|when|in|from|occurred|calling|during|\w+ing)\b",
    r"(?:\w+ )?error \#?\d",
    r"(?:an? |the )?(?:\w+ ){0,2}error (?:has )?occurred\b",
    r"failed\b(?: to\b|\s*:| with|\s*$)",
    r"(?:mcp|http|api|rpc|sql|db|database) error\b",
    r"traceback \(most recent",
    r"\w*(?:error|exception):",
    r"(?:http )?(?:status )?[45]\d\d (?:error|not found|forbidden|unauthorized|bad request)",
    r"(?:http )?(?:status )?[45]\d\d (?:internal|server|client|gone|too many)",
)
_ERRNO: Final = re.compile(r"E[A-Z]{4,}\b[:,]")
_ENDINGS: Final = (
    r"(?:not found|does not exist|doesn't exist|could not be found)[.!]?$",
    r"(?:no longer exists|already exists|is invalid|timed out|denied)[.!]?$",
    r"(?:is|are) not (?:allowed|permitted|valid|supported|available)\b.{0,60}$",
    r"is not a valid\b.{0,60}$",
    r"(?:is required|is disabled|has expired|is no longer valid)\b.{0,60}$",
    r"(?:not found|timed out) (?:in|for|on|after|at|with)\b.{0,80}$",
    r"(?:must be\b.{0,80}|failed(?:\s*:.{0,160})?|not (?:permitted|allowed).{0,60})$",
    r"outside allowed directories.{0,160}$",
)
_WEAK: Final = _any_of(
    r"(?:invalid|unknown|unsupported|unexpected|malformed|missing) \S+",
    r"(?:unable|not able) to\b",
    r"(?:cannot|can't|can not|could not|couldn't|did not|refus(?:ed|ing) to)\b",
    r"(?:unauthori[sz]ed|forbidden|not authori[sz]ed|access denied|permission denied)\b",
    r"(?:authentication (?:failed|required)|not found|bad request|too many requests)\b",
    r"(?:rate limit(?:ed)?|timed out|timeout|connection (?:refused|reset|failed)|no such)\b",
    r"you (?:do not|don't|must|cannot|need to)\b",
    r"please (?:provide|specify|set|configure|authenticate|log in|try)\b",
    r"only .{1,60}\b(?:is|are) (?:supported|allowed)\b.{0,60}$",
    rf"\S.{{0,150}}?\b(?:{'|'.join(_ENDINGS)})",
)


def says_failed(text: str, *, is_content: bool) -> Literal["strong", "weak"] | None:
    """Whether a text alone says that the operation failed.

    A file or a page may begin with such words too: of a tool that reads them (`is_content`), only
    a single line that could not be a document is believed.
    """
    words = text.strip()
    if not words or len(words) > _LONGEST_ERROR:
        return None
    lines = words.splitlines()
    if is_content and len(lines) > 1:
        return None
    first = lines[0]
    if not first[0].isalnum():
        if _CROSS.match(first):
            return "strong"
        first = _after(_MARKS, first)
    if _STRONG.match(first.lower()) or _ERRNO.match(first):
        return "strong"
    if is_content or len(words) > _LONGEST_WEAK or len(lines) > 2:
        return None
    return "weak" if _WEAK.match(first_sentence(first).lower()) else None


def _after(opening: "re.Pattern[str]", words: str) -> str:
    """A text without what it may begin with."""
    found = opening.match(words)
    return words[found.end() :] if found is not None and found.end() else words


_DEEDS: Final = (
    "created|updated|deleted|removed|added|saved|sent|wrote|written|moved|renamed|started|stopped"
    "|copied|inserted|committed|uploaded|downloaded|enabled|disabled|posted|published|installed"
    "|applied|closed|restored|archived|cancell?ed|scheduled|merged|pushed|pulled|cloned|switched"
    "|staged|reset|initiali[sz]ed|registered|launched|navigated|clicked|typed|executed|assigned"
    "|filled|skipped|marked|remembered|dismissed|replaced|edited|appended|cleared|triggered|approved|rejected|completed|queued|stored"
)
_DONE: Final = _any_of(
    r"(?:successfully|success|done|ok(?:ay)?|finished)\b",
    rf"(?:{_DEEDS})\b",
    rf".*\b(?:successfully\b|(?:has|have|was|were) (?:been )?(?:{_DEEDS})\b)",
    rf"(?:\S+ ){{1,4}}(?:{_DEEDS})\b",
)
_BEFORE_DONE: Final = re.compile(r"[\W_]{0,4}")


_ALL_FAILED: Final = _any_of(
    r".*\b0\s*/\s*[1-9]\d*\b.{0,20}success",
    r".*\bsuccess\w*\b[^\n]{0,40}:\s*0\b.*\bfailed\b[^\n]{0,40}:\s*[1-9]",
)
_KEPT: Final = _any_of(r".*\b(?:saved|written|wrote|exported|downloaded)\b.{0,40}\b(?:to|as|in)\b")


def says_all_failed(text: str) -> bool:
    """Whether a text reports on several deeds, of which none was done."""
    return _ALL_FAILED.match(text[:_LONGEST_ERROR].lower()) is not None


def says_kept(text: str) -> bool:
    """Whether a text reports that something was saved somewhere."""
    return len(text) <= _LONGEST_REPORT and _KEPT.match(text.lower()) is not None


def says_done(text: str) -> bool:
    """Whether a text reports that something was done."""
    words = text.strip()
    if not words or len(words) > _LONGEST_REPORT:
        return False
    return _DONE.match(_after(_BEFORE_DONE, words.splitlines()[0]).lower()) is not None


_THINGS: Final = r"(?:results?|match(?:es)?|data|entries|records|items|\w+[^s\W]s)"
_NONE: Final = _any_of(
    rf"(?:there (?:are|were) )?no (?:\w+ ){{0,4}}?{_THINGS}\b"
    r"(?: (?:were|was|are|have been|could be))?"
    r"(?: (?:found|matched|available|returned|exist|yet|present|to \w+|match(?:ing|ed)?))?"
    r"(?: (?:for|in|with|matching|that|on|at|from|within|under|by|of|to)\b.*)?[.!]*$",
    r"(?:found|showing|returned|listing) (?:0|no)\b.*$",
    r"total:?\s+0\b.*$",
    r"total results:? 0\b.*$",
    r"0 (?:\w+ ){0,3}(?:found|results?|matches|rows|items|records|returned).*$",
    r"nothing (?:was )?(?:found|matched|to show).*$",
    r"(?:the )?(?:search|query|directory|folder|list|result|table)\b.{0,60}\bempty\b.{0,40}$",
    r"(?:the )?(?:search|query)\b.{0,60}\b(?:returned no\b.*|no results)[.!]*$",
    r"\(?(?:empty|none|no results)\)?[.!]*$",
)
_NOT_NONE: Final = _any_of(r"no such\b", r"no (?:\w+ )?(?:permissions?|access|credentials)\b")
_STOP: Final = re.compile(r"[.!?]\s+(?=[A-Z])")
_MOST_LINES: Final = 3
_POLITE: Final = re.compile(r"sorry,?\s+", re.I)


def says_none(text: str) -> bool:
    """Whether a text says that a search found nothing."""
    if len(text) > 2 * _LONGEST_NONE:
        return False
    lines = [line.strip(" <>()[]*_#") for line in text.strip().splitlines() if line.strip()]
    if not lines or len(lines) > _MOST_LINES:
        return False
    if len(lines) > 1 and not (lines[0].endswith(":") or text.lstrip().startswith("#")):
        lines = ["\n".join(lines)]
    words = _after(_POLITE, lines[-1])
    small = words.lower()
    if len(words) > _LONGEST_NONE or _NOT_NONE.match(small):
        return False
    if _NONE.match(small):
        return True
    first, rest = _split(words)
    return bool(rest) and any(_NONE.match(each.lower()) for each in (first, _split(rest)[0]))


def first_sentence(words: str) -> str:
    """A text up to its first full stop."""
    return _split(words)[0]


def _split(words: str) -> tuple[str, str]:
    """The first sentence of several, and the rest of them."""
    stop = _STOP.search(words)
    return (words, "") if stop is None else (words[: stop.start() + 1], words[stop.end() :])
