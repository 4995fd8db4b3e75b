"""What a short text says: that something was done, all of it or none; its sentences.

The patterns are in small letters and are matched against a text in small letters: that takes
`re` a fraction of the time that it needs to ignore facts.
"""

import re
from typing import Final

from accord.reader.lexicon.outcomes import PARTICIPLES, base_forms
from accord.reader.patterns import Pattern, any_of

CROSSES: Final = "❌⛔🚫✗✖"
"""What marks a line that says that something failed."""
_LONGEST_REPORT: Final = 400
LONGEST_SENTENCE: Final = 300
_LONGEST_WORD: Final = 20
_MOST_WORDS: Final = 14


def after(opening: "re.Pattern[str] | Pattern", words: str) -> str:
    """A text without what it may begin with."""
    found = opening.match(words)
    return words[found.end() :] if found is not None and found.end() else words


_STOP: Final = re.compile(r"[.!?][\"')\]]?\s+(?=[A-Z])|\n\s*\n")


def first_sentence(words: str) -> str:
    """A text up to its first full stop."""
    return split_sentence(words)[0]


def split_sentence(words: str) -> tuple[str, str]:
    """The first sentence of several, and the rest of them."""
    stop = _STOP.search(words)
    return (words, "") if stop is None else (words[: stop.start() + 1], words[stop.end() :])


_DEED: Final = "|".join(sorted(PARTICIPLES))
_DONE: Final = any_of(
    r"(?:successfully|success|done|ok(?:ay)?|finished)\b",
    rf"(?:{_DEED})\b",
    rf".*\b(?:successfully\b|(?:has|have|was|were) (?:been )?(?:{_DEED})\b)",
    rf"(?:(?!(?:not|never|no|cannot|nothing)\b)\S+ ){{1,4}}(?:{_DEED})\b",
    r"now (?:\w+ing|set|at|on|off)\b",
    r"(?:\S+ ){1,3}succeeded\b",
    r"\w+ing .{1,200}(?:\.{3}|…) (?:done|ok|success)\b",
)
_TICKED: Final = re.compile(r"[^\w\s]{0,12}[✅✓✔☑🎉]\W{1,4}(?:\S+ ){0,4}[a-z]{2,}ed\b")
_READ: Final = any_of(
    r".*\b(?:retrieved|fetched|found|listed|read|loaded|queried|returned|searched|analy[sz]ed"
    r"|calculated|computed|parsed|checked|validated|extracted|converted|processed)\b"
)
_BEFORE_DONE: Final = re.compile(r"[\W_]{0,12}")
_PAST: Final = re.compile(
    r"(?!failed|denied|reject|refus|expir|limit|unexpect|unsupport|undefin|block|abort|malform"
    r"|requir|unauthori|unrecogni|interrupt|need|exceed|encounter|receiv)[a-z]+ed\b"
)


_COMMENTS: Final = ("/*", "//", "<!--")
"""With which a file begins that was generated, rather than a report on that."""


def says_done(text: str) -> bool:
    """Whether a text reports that something was done."""
    words = text.strip()
    if words.startswith(_COMMENTS):
        return False
    if not words or len(words) > _LONGEST_REPORT:
        words = words.partition("\n")[0]
        if not words or len(words) > _LONGEST_REPORT:
            return False
    first = words.partition("\n")[0].lower()
    return bool(_DONE.match(after(_BEFORE_DONE, first)) or _TICKED.match(first))


def says_read(text: str) -> bool:
    """Whether what a text reports on is that something was read or found."""
    return _READ.match(first_sentence(text.strip())[:LONGEST_SENTENCE].lower()) is not None


_STILL_DONE: Final = any_of(
    r"(?:(?!(?:not|cannot|be|is|are|no|never|failed|unable|invalid)\b)\S+ ){0,4}"
    rf"(?:{_DEED})\b",
    r".*\bsuccessfully\b",
    rf".*\b(?:has|have|was|were) (?:been )?(?:{_DEED})\b",
    rf".*[,;] (?:but )?(?:\S+ ){{0,3}}(?:{_DEED})\b",
)


_MISSED: Final = re.compile(r"expected [^.\n]{1,60} but (?:found|got|received)\b")


def reports_deed(sentence: str) -> bool:
    """Whether a sentence says that something was done, whatever else was not."""
    small = after(_BEFORE_DONE, sentence).lower()
    if small.startswith(("nothing ", "none ")) or _MISSED.match(small):
        return False
    return _PAST.match(small) is not None or _STILL_DONE.match(small) is not None


_WORD: Final = re.compile(r"[a-z]+")


def says_deed(text: str, deeds: frozenset[str]) -> bool:
    """Whether a text says that what the tool is named for was done: `resized`, of `resize`."""
    small = text[:LONGEST_SENTENCE].lower()
    if not any(deed[:-1] in small for deed in deeds):
        return False
    words = _WORD.findall(first_sentence(text.strip())[:LONGEST_SENTENCE].lower())
    return any(
        not deeds.isdisjoint(base_forms(word)) for word in words[:_MOST_WORDS] if word not in deeds
    )


_ALL_FAILED: Final = any_of(
    r".*\b0\s*/\s*[1-9]\d*\b.{0,20}success",
    r".{0,60}\b0 of [1-9]\d*\b.*\b(?:errors?|failed|failures?|not found)\b",
    r"(?>.*?\bsuccess\w*\b[^\n]{0,40}?:\s*0\b).*\bfailed\b[^\n]{0,40}:\s*[1-9]",
)
_EACH_FAILED: Final = re.compile(r"[^\s:]{0,200}[./][^\s:]{0,200}: (?:error|failed)\b")
_ONLY_MARKS: Final = re.compile(r"[\W_]*")
_KEPT: Final = any_of(
    r".*\b(?:saved|written|wrote|exported|downloaded)\b.{0,40}\b(?:to|as|in)\b",
    r"(?:(?:the )?(?:document|file|image|video|audio) )?successfully converted\b"
    r".{0,80}\.[a-z0-9]{2,5}$",
)
_AFFECTED: Final = any_of(
    r"(?:query ok,? )?\d+ rows? (?:were |was )?(?:affected|inserted|updated|deleted)\b",
    r"(?:insert \d+|update|delete) \d+$",
)
_OF_SQL: Final = frozenset("QIUDqiud0123456789")
"""What one of them begins with."""
_LONGEST_OUTCOME: Final = 4_000


_REJECTED: Final = any_of(
    r"(?:[^\s:]+ ){0,5}(?:rejected|declined|refused|denied|blocked)"
    r"(?:[.:!]|$| (?:by|because|due)\b)"
)


def says_rejected(text: str) -> bool:
    """Whether a sentence says that what was asked for was turned down."""
    words = first_sentence(text[:LONGEST_SENTENCE].strip())
    return "\n" not in words and _REJECTED.match(words.lower()) is not None


def says_all_failed(text: str) -> bool:
    """Whether a text reports on several deeds, of which none was done."""
    return _ALL_FAILED.match(text[:_LONGEST_OUTCOME].lower()) is not None


def says_each_failed(text: str) -> bool:
    """Whether every line of a text names something and says that it failed."""
    if len(text) > _LONGEST_OUTCOME or ": " not in text[:_LONGEST_OUTCOME]:
        return False
    lines = [line for line in text.lower().splitlines() if not _ONLY_MARKS.fullmatch(line)]
    return bool(lines) and all(_EACH_FAILED.match(line) for line in lines)


_ONLY_DONE: Final = any_of(
    r"(?:done|ok(?:ay)?|success(?:ful(?:ly)?)?|completed|finished)[.!]*$",
    rf"successfully (?:{_DEED})\b[^\n]*$",
)


def says_only_done(text: str) -> bool:
    """Whether a text is a line that reports a deed and nothing else."""
    if len(text) > _LONGEST_WORD and "ccess" not in text:
        return False
    words = after(_BEFORE_DONE, text[: LONGEST_SENTENCE + 1].strip()).lower()
    return len(words) <= LONGEST_SENTENCE and _ONLY_DONE.match(words) is not None


_FULLY_DONE: Final = any_of(
    rf"[^\n]{{1,120}} (?:has|have|was|were) (?:been )?successfully (?:{_DEED})\b",
    rf"(?:the|your) [^\n.]{{1,80}} (?:has|have) been (?:{_DEED})\b[^\n]*[.!]$",
)
_OPENED: Final = any_of(
    r"(?:\S+ ){1,4}(?:opened|launched|started)[.!]",
    r"(?:\S+ ){1,8}opened in (?:the |your |a )?(?:\w+ )?(?:browser|editor|window|tab)\b",
)
_MOST_SENTENCES: Final = 6


def says_fully_done(text: str, *, is_shown: bool = False) -> bool:
    """Whether one of the first lines can mean nothing but that something was done.

    `is_shown`: by a tool that shows things, which may have opened one.
    """
    small = text[:_LONGEST_OUTCOME].lower()
    if is_shown and _OPENED.match(small[:LONGEST_SENTENCE]) is not None:
        return True
    if "ccessful" not in small and " been " not in small:
        return False
    lines = [line for line in small.splitlines() if line.strip()]
    return any(_FULLY_DONE.match(line) for line in lines[:_MOST_SENTENCES])


def says_changed(text: str) -> bool:
    """Whether a text is what a database says of rows that were changed."""
    return text[:1] in _OF_SQL and _AFFECTED.match(text[:LONGEST_SENTENCE].lower()) is not None


def says_kept(text: str) -> bool:
    """Whether a text reports that something was saved somewhere."""
    if len(text) > _LONGEST_REPORT:
        return False
    small = text.lower()
    may_be = "saved" in small or "wr" in small or "ed" in small
    return may_be and _KEPT.match(small) is not None
