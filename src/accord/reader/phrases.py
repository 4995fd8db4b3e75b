"""What a short text says: that something failed, was done, or that nothing was found."""

import re
from typing import Final, Literal

_LONGEST_ERROR: Final = 4_000
_LONGEST_WEAK: Final = 300
_LONGEST_REPORT: Final = 400
_LONGEST_NONE: Final = 200


def _any_of(*patterns: str) -> "re.Pattern[str]":
    """One pattern of several; a blank in them is any space."""
    spaced = (pattern.replace(" ", r"\s+") for pattern in patterns)
    return re.compile("|".join(f"(?:{pattern})" for pattern in spaced), re.I | re.S)


_MARKS: Final = re.compile(r"""^[\s"'`*#>]*(?:[❌⛔🚫✗✖⚠️]+\s*)?""")
_CROSS: Final = re.compile(r"""^[\s"'`*#>]*[❌⛔🚫✗✖]""")

_STRONG: Final = _any_of(
    r"(?:\w+ ){0,2}(?:error|exception|failure|fatal)\b\s*(?:[:(\[!—-]|$)",
    r"(?:error|exception) (?:executing|while|when|in|from|occurred|calling|during|\w+ing)\b",
    r"(?:\w+ )?error \#?\d",
    r"(?:an? |the )?(?:\w+ ){0,2}error (?:has )?occurred\b",
    r"failed\b(?: to\b|\s*:| with|\s*$)",
    r"(?:mcp|http|api|rpc|sql|db|database) error\b",
    r"traceback \(most recent",
    r"\w*(?:Error|Exception):",
    r"(?-i:E[A-Z]{4,})\b[:,]",
    r"(?:http )?(?:status )?[45]\d\d (?:error|not found|forbidden|unauthorized|bad request)",
    r"(?:http )?(?:status )?[45]\d\d (?:internal|server|client|gone|too many)",
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
    r"\S.{0,150}?\b(?:not found|does not exist|doesn't exist|could not be found)[.!]?$",
    r"\S.{0,150}?\b(?:no longer exists|already exists|is invalid|timed out|denied)[.!]?$",
    r"\S.{0,150}?\b(?:is|are) not (?:allowed|permitted|valid|supported|available)\b.{0,60}$",
    r"\S.{0,150}?\bis not a valid\b.{0,60}$",
    r"\S.{0,150}?\b(?:is required|is disabled|has expired|is no longer valid)\b.{0,60}$",
    r"\S.{0,150}?\b(?:not found|timed out) (?:in|for|on|after|at|with)\b.{0,80}$",
    r"only .{1,60}\b(?:is|are) (?:supported|allowed)\b.{0,60}$",
    r"\S.{0,150}?\b(?:must be\b.{0,80}|failed(?:\s*:.{0,160})?|not (?:permitted|allowed).{0,60})$",
    r"\S.{0,150}?\boutside allowed directories.{0,160}$",
)


def says_failed(text: str, *, is_content: bool) -> Literal["strong", "weak"] | None:
    """Whether a text alone says that the operation failed.

    A file or a page may begin with such words too: of a tool that reads them (`is_content`), only
    a single line that could not be a document is believed.
    """
    words = text.strip()
    lines = words.splitlines()
    if not words or len(words) > _LONGEST_ERROR or (is_content and len(lines) > 1):
        return None
    first = _MARKS.sub("", lines[0])
    sentence = first_sentence(first)
    if _STRONG.match(first) or _CROSS.match(lines[0]):
        return "strong"
    is_short = len(words) <= _LONGEST_WEAK and len(lines) <= 2
    return "weak" if is_short and not is_content and _WEAK.match(sentence) else None


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
    r".*\bsuccessfully\b",
    rf".*\b(?:has|have|was|were) (?:been )?(?:successfully )?(?:{_DEEDS})\b",
    rf"(?:\S+ ){{1,4}}(?:{_DEEDS})\b",
)
_BEFORE_DONE: Final = re.compile(r"^[\W_]{0,4}")


_ALL_FAILED: Final = _any_of(
    r".*\b0\s*/\s*[1-9]\d*\b.{0,20}success",
    r".*\bsuccess\w*\b[^\n]{0,40}:\s*0\b.*\bfailed\b[^\n]{0,40}:\s*[1-9]",
)
_KEPT: Final = _any_of(r".*\b(?:saved|written|wrote|exported|downloaded)\b.{0,40}\b(?:to|as|in)\b")


def says_all_failed(text: str) -> bool:
    """Whether a text reports on several deeds, of which none was done."""
    return _ALL_FAILED.match(text[:_LONGEST_ERROR]) is not None


def says_kept(text: str) -> bool:
    """Whether a text reports that something was saved somewhere."""
    return len(text) <= _LONGEST_REPORT and _KEPT.match(text) is not None


def says_done(text: str) -> bool:
    """Whether a text reports that something was done."""
    words = text.strip()
    if not words or len(words) > _LONGEST_REPORT:
        return False
    return _DONE.match(_BEFORE_DONE.sub("", words.splitlines()[0])) is not None


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
_STOP: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_MOST_LINES: Final = 3
_POLITE: Final = re.compile(r"^(?:sorry,?\s+)?", re.I)


def says_none(text: str) -> bool:
    """Whether a text says that a search found nothing."""
    lines = [line.strip(" <>()[]*_#") for line in text.strip().splitlines() if line.strip()]
    if not lines or len(text) > 2 * _LONGEST_NONE or len(lines) > _MOST_LINES:
        return False
    if len(lines) > 1 and not (lines[0].endswith(":") or text.lstrip().startswith("#")):
        lines = ["\n".join(lines)]
    words = _POLITE.sub("", lines[-1])
    if len(words) > _LONGEST_NONE or _NOT_NONE.match(words):
        return False
    return any(_NONE.match(each) for each in (words, *_sentences(words)))


def first_sentence(words: str) -> str:
    """A text up to its first full stop."""
    return _STOP.split(words, maxsplit=1)[0]


def _sentences(words: str) -> list[str]:
    """The first two: `Query executed. No results.`"""
    return _STOP.split(words, maxsplit=2)[:2]
