"""Whether a text alone says that the operation failed."""

import re
from collections.abc import Collection
from typing import Final, Literal

from accord.reader.lexicon import base_forms, ordered, patterns
from accord.reader.lexicon.phrases import CROSSES
from accord.reader.patterns import any_of, any_word
from accord.reader.sentences import after, first_sentence, reports_any_action

_LONGEST_ERROR: Final = 4_000
_LONGEST_ADVICE: Final = 1_500
_LONGEST_SHORT: Final = 700
_LONGEST_DENIAL: Final = 400
_MOST_LINES: Final = 12
_MOST_SHORT_LINES: Final = 7
_MOST_LABELS: Final = 3
_OF_A_DOCUMENT: Final = 2
"""A text with so many headings is a document."""
_LONGEST_LINE: Final = 200
"""Characters of a line that a tool says by itself, rather than of a paragraph."""

_MARKS: Final = re.compile(
    r"""[\s"'`*#>]*(?:[^\w\s<>()\[\]{}"'`$/.,;:@\\+=~-]{1,4}\s+)?[*_`]*"""
    r"(?:\[[A-Za-z][\w -]{2,40}\]\s+)?"
    r"(?:(?i:result|response|output|reply): |(?i:status): (?=[45]\d\d))?"
)
"""What stands before a sentence: signs, quotes, pictures, a label."""
_ELEMENT: Final = re.compile(
    r"<(?P<name>(?:\w{1,40}[_-])?error)(?: [^<>]{1,80})?>"
    r"|<status>\s*(?:[\w-]{1,40}[_ -])?(?P<bad>error|failed|failure)\s*</"
)
_CROSS: Final = re.compile(
    rf"""[\s"'`*#>]*(?:[{CROSSES}]|\[(?:error|err|fatal|failed|failure|exception)\])""", re.I
)

_STRONG: Final = any_of(*patterns("phrases.strong"))
_ERROR_NUMBER: Final = re.compile(r"E[A-Z]{4,}\b[:,]")
_NAMED: Final = re.compile(r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+: (?:\S+ ){3}")
"""An error that begins with its name, and goes on with a sentence: `LIMIT_REACHED: only 5 …`"""
_CLASS: Final = (
    r"(?:\w{1,60}\.){1,8}(?:\w{0,60}(?:Error|Exception)|(?<=\berrors\.)[A-Z]\w{1,60}"
    r"|(?<=\bexceptions\.)[A-Z]\w{1,60})"
)
_TOLD_OF: Final = r"(?! (?:is|are|was|were|means|occurs|happens|indicates|can|may|and|or)\b)"
_ERRNO: Final = re.compile(
    rf"{_ERROR_NUMBER.pattern}"
    rf"|\({_CLASS}\){_TOLD_OF} \S|{_CLASS}: \S"
    r"|(?:\S+ ){0,3}(?:\w*::)?(?:ERR_[A-Z]{3}|E(?:CONN|NOTF|NOENT|ACCES|PERM|TIMEDO|HOST|ADDR))"
)
"""What the system calls an error, also after the name of what was called.

Or the class of an exception and its message: `(sqlite3.OperationalError) no such table: users`.
"""
_STARTS: Final = any_of(*patterns("phrases.starts"))
_WITHIN: Final = any_of(*patterns("phrases.within"))
_CODE: Final = re.compile(
    r"(?:[a-z]+_){0,12}(?:not_found|failed|error|denied|required|unauthorized|forbidden|expired|not_authed"
    r"|rate_limited|(?:invalid|missing|unknown|no|not|already|cannot)_[a-z_]+)"
)
"""An error that is told by its name alone: `channel_not_found`."""
_NEGATION: Final = any_of(*patterns("phrases.negation"))
_BAD: Final = any_word(ordered("phrases.fragments"))
"""Parts of words without any of which no text says that something failed."""
Strength = Literal["strong", "weak"]
_TECHNICAL: Final = any_of(*patterns("phrases.technical"))
_REJECTION: Final = any_of(*patterns("phrases.rejection"))


_DENIED_GIVEN: Final = any_of(*patterns("phrases.denied-given"))


def denies_given(line: str) -> bool:
    """Whether a line about what was given denies something, and reports nothing done."""
    line = _without_quotes(line)
    return _DENIED_GIVEN.match(line.lower()) is not None and not reports_any_action(line)


def rejects_value(text: str) -> bool:
    """Whether a text says what is wrong with a value: `This field must be unique.`"""
    return len(text) <= _LONGEST_DENIAL and _REJECTION.match(text.strip().lower()) is not None


_FAILED_IN_CHINESE: Final = re.compile(
    r"[^\n,;\uff0c\u3002\uff1b]{0,30}(?:失败|失敗|未找到|找不到|不存在|没有打开|沒有打開|无法|無法)"
)


def may_fail(text: str) -> bool:
    """Whether any of the words is there without which no text says that something failed."""
    small = text[:_LONGEST_ERROR].lower()
    if _BAD.search(small) is not None:
        return True
    if not small.isascii() and (_STRONG.match(small) or _FAILED_IN_CHINESE.match(small)):
        return True
    return _CROSS.match(text) is not None or _ERROR_NUMBER.match(text) is not None


def says_failed(
    text: str,
    *,
    is_act: bool = False,
    checks: bool = False,
    wants_many: bool = False,
    own: Collection[str] = (),
) -> Strength | None:
    """Whether a text is nothing but words that say that the operation failed.

    Of a tool that acts, any sentence that denies something and reports no deed says so; of one
    that checks something, only what could be no finding; of one that lists, several lines may be
    items. `own` are the words that the tool is named for.
    """
    words = text.strip()
    if not words or len(words) > _LONGEST_ERROR:
        return None
    if words[0] == "<" and _ELEMENT.match(words):
        return "strong" if _element_failed(words) else None
    lines = _marked([line for line in words.splitlines() if line.strip()])
    is_titled = lines[0].startswith("#")
    if is_titled and not checks and _title_failed(lines[0], is_act=is_act, own=own):
        return "strong"
    if wants_many and (_are_tagged(lines) or _are_numbered(lines)):
        return None
    if words[:6].lower() == "usage:" and ": error: " in words:
        return "strong"
    if is_titled and _is_record(lines[1:]):
        return None
    opening = _opening(lines)
    first = after(_MARKS, opening)
    small = first[:_LONGEST_DENIAL].lower()
    if _is_strong(small) or _ERRNO.match(first):
        return "strong"
    if checks:
        return "weak" if len(lines) == 1 and _NO_INPUT.match(small) else None
    return "strong" if _CROSS.match(opening) else _says_weakly(words, lines, is_act, wants_many)


def _are_tagged(lines: list[str]) -> bool:
    """Whether several lines begin with a label in brackets, as those of a log do."""
    return len(lines) > 1 and all(line.lstrip().startswith("[") for line in lines[:2])


def _are_numbered(lines: list[str]) -> bool:
    return len(lines) > 1 and all(map(_NUMBERED.match, lines))


def _is_strong(small: str) -> bool:
    """Whether a line is an error by its first words, and reports no deed after all.

    What follows `error: ` may be advice, which has words of deeds: `error: set confirm=true`.
    """
    is_advice = small.startswith(("error: set ", "error: enable ", "error: first "))
    is_sure = is_advice or small.startswith("error ")
    return _STRONG.match(small) is not None and (is_sure or not reports_any_action(small))


def _says_weakly(words: str, lines: list[str], is_act: bool, wants_many: bool) -> Strength | None:
    """The same where the first sentence only denies something, and not much comes after it."""
    if len(words) > _LONGEST_ADVICE or len(lines) > _MOST_LINES or _is_record(lines):
        return None
    is_foreign = len(lines) < _MOST_LABELS and not (wants_many or words.isascii())
    if is_foreign and _FAILED_IN_CHINESE.match(words):
        return "weak"
    first = after(_MARKS, _opening(lines))
    sentence = first_sentence(first)
    if len(sentence) > _LONGEST_DENIAL or (not is_act and _ASKS.match(first.lower())):
        return None
    is_bad = _NAMED.match(first) is not None or _begins_badly(sentence, len(lines))
    is_bad = is_bad and not (is_act and reports_any_action(sentence))
    if is_bad or ("_" in words and _CODE.fullmatch(words)):
        return "weak"
    if len(words) > _LONGEST_SHORT or len(lines) > (1 if wants_many else _MOST_SHORT_LINES):
        return None
    return "weak" if _denies(sentence, is_act) else None


def _marked(lines: list[str]) -> list[str]:
    """The lines with a title that is underlined marked as a heading instead."""
    if len(lines) > 1 and _UNDERLINE.fullmatch(lines[1]):
        return [f"# {lines[0]}", *lines[2:]]
    return lines


def _element_failed(words: str) -> bool:
    """Whether a text is the element of an error, or begins with the status of a failure."""
    found = _ELEMENT.match(words)
    if found is None or found["bad"]:
        return found is not None
    end = f"</{found['name']}>"
    return words.find(end) == len(words) - len(end)


def _begins_badly(sentence: str, lines: int) -> bool:
    small = sentence.lower()
    is_title = lines > 1 and small.rstrip().endswith(":")
    return not is_title and _STARTS.match(small) is not None


_UNDERLINE: Final = re.compile(r"[=-]{3,}")
_QUOTES: Final = frozenset("'\"`“")
_QUOTED: Final = re.compile(r"""(?<!\w)(?:'[^'\n]*'|"[^"\n]*"|`[^`\n]*`|“[^”\n]{0,400}”)(?!\w)""")


def _without_quotes(line: str) -> str:
    return line if _QUOTES.isdisjoint(line) else _QUOTED.sub("''", line)


def _denies(sentence: str, is_act: bool) -> bool:
    small = _without_quotes(sentence).lower()
    is_denied = _WITHIN.match(small) or (is_act and _NEGATION.match(small))
    return bool(is_denied) and not reports_any_action(sentence)


_ASKS: Final = re.compile(
    r"(?:\w+: )?(?:why|what|which|who|whose|how|when|where|did|does|do|is|are|can) [^.!]+\?"
)
_NUMBERED: Final = re.compile(r"[A-Z]{0,3}\d{1,6}: ")
_LABELLED: Final = re.compile(r"[*_]{0,2}[A-Z][\w ]{0,30}[*_]{0,2}:[*_]{0,2} ")


def _is_record(lines: list[str]) -> bool:
    """Whether the first lines are labelled, as those of a thing or a report are."""
    if len(lines) < 2 or not _LABELLED.match(lines[0]) or _BAD_VALUE.match(lines[0].lower()):
        return False
    return any(map(_LABELLED.match, lines[1:3]))


_TITLE: Final = any_of(*patterns("phrases.title"))


def _title_failed(line: str, *, is_act: bool, own: Collection[str]) -> bool:
    """Whether a heading is that of a failure of the call: `# Delete failed - no such note`."""
    found = _TITLE.match(after(_MARKS, line)[:_LONGEST_DENIAL].lower())
    if found is None:
        return False
    return is_act or found["what"] is None or found["what"] in own


def _opening(lines: list[str]) -> str:
    """The first line that is no Markdown heading, unless there is nothing else."""
    headings = sum(line.lstrip().startswith("#") for line in lines)
    for line in lines[:3] if headings < _OF_A_DOCUMENT else ():
        if not line.lstrip().startswith("#"):
            return line
    return lines[0]


_FAILED_TO: Final = any_of(*patterns("phrases.failed-to"))


_CALL_FAILED: Final = any_of(*patterns("phrases.call-failed"))
_NO_INPUT: Final = any_of(*patterns("phrases.no-input"))
_OFFERS: Final = any_of(*patterns("phrases.offers"))
_BAD_VALUE: Final = any_of(*patterns("phrases.bad-value"))


def says_failed_to_give(
    text: str, own: frozenset[str], mentions: bool, *, is_told: bool = False
) -> Strength | None:
    """The same of a tool that gives what somebody wrote, which may begin with such words too.

    One line that could not be a document is believed, also with labels before it or a line below,
    and one that speaks of the call: of what the tool is named for, or of an argument. `is_told`:
    nobody wrote it but the tool.
    """
    words = text.strip()
    if not words or len(words) > _LONGEST_ERROR:
        return None
    if words[0] == "<" and _ELEMENT.match(words):
        return "strong" if _element_failed(words) else None
    if words.endswith("</error>") and _ends_in_error(words):
        return "strong"
    first, _, rest = words.partition("\n")
    opening = after(_MARKS, first)
    small = opening[:_LONGEST_DENIAL].lower()
    if small.startswith("error: ") and is_told:
        return "strong"
    is_strong = bool(_is_strong(small) or _ERRNO.match(opening) or _CROSS.match(first))
    is_own = mentions or _names_own(small, own)
    if not rest.strip():
        return _line_failed(opening, is_strong, is_own)
    if _BAD_VALUE.match(small) and _OFFERS.match(rest.lower()):
        return "weak"
    if len(words) <= _LONGEST_SHORT and _CANNOT_GIVE.match(small):
        return "weak"
    strength = _opens_badly(first, small, rest, own) if mentions else None
    is_told_so = is_strong and is_own and small.startswith(("error ", "failed "))
    return strength or ("strong" if is_told_so else None)


def _line_failed(line: str, is_strong: bool, is_own: bool) -> Strength | None:
    """The same of one line, which could be the first words of a document."""
    small = line[:_LONGEST_DENIAL].lower()
    if is_strong and (is_own or not _FAILED_TO.match(small)):
        return "strong"
    is_technical = len(small) <= _LONGEST_LINE and _TECHNICAL.match(small) is not None
    if is_technical or _BAD_VALUE.match(small) or _CALL_FAILED.match(small):
        return "weak"
    sentence = first_sentence(line)
    if not is_own or len(line) > _LONGEST_SHORT or len(sentence) > _LONGEST_DENIAL:
        return None
    is_denied = _begins_badly(sentence, 1) or _denies(sentence, is_act=False)
    return "weak" if is_denied else None


def _ends_in_error(words: str) -> bool:
    """Whether a few labelled lines come before an error: `Contents of https://…:`."""
    above, tag, _ = words.partition("\n<error>")
    lines = [line for line in above.splitlines() if line.strip()]
    is_brief = len(above) <= _LONGEST_SHORT and len(lines) <= _MOST_LABELS
    return bool(tag) and is_brief and all(":" in line for line in lines)


def _opens_badly(first: str, small: str, rest: str, own: frozenset[str]) -> Strength | None:
    """Whether the first of several lines, which speaks of the call, says that it failed."""
    is_brief = _is_brief(first, rest)
    if is_brief and small.startswith("error: ") and "error" not in rest.lower():
        return "strong"
    if _CROSS.match(first) and _DENIES.search(small) and "✅" not in rest:
        return "strong"
    if first[0] == "#" and _title_failed(first, is_act=False, own=own):
        return "strong"
    return "weak" if is_brief and _CANNOT_GIVE.match(small) else None


_CANNOT_GIVE: Final = re.compile(
    r"(?:.{0,80}\b)?(?:cannot|could not|unable to) (?:fetch|retrieve|load)\b"
)


_DENIES: Final = re.compile(r"not found|fail|error|invalid|unknown|cannot|could not|unable")


def _is_brief(first: str, rest: str) -> bool:
    """Whether a text is a line and one more."""
    return len(first) + len(rest) <= _LONGEST_SHORT and "\n" not in rest.strip()


def _names_own(small: str, own: frozenset[str]) -> bool:
    """Whether a line has a word that the tool is named for, in any form: `analyzing`."""
    for word in _WORDS.findall(small):
        if word in own or (word.endswith("ing") and not own.isdisjoint(base_forms(word))):
            return True
    return False


_WORDS: Final = re.compile(r"[a-z]+")
