"""Whether a text alone says that the operation failed."""

import re
from collections.abc import Collection
from typing import Final, Literal

from accord.reader.lexicon import base_forms, phrases
from accord.reader.lexicon.phrases import FRAGMENTS
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


Strength = Literal["strong", "weak"]


def denies_given(line: str) -> bool:
    """Whether a line about what was given denies something, and reports nothing done."""
    line = _without_quotes(line)
    return phrases.denied_given.match(line.lower()) is not None and not reports_any_action(line)


def rejects_value(text: str) -> bool:
    """Whether a text says what is wrong with a value: `This field must be unique.`"""
    return (
        len(text) <= _LONGEST_DENIAL and phrases.rejection.match(text.strip().lower()) is not None
    )


def may_fail(text: str) -> bool:
    """Whether any of the words is there without which no text says that something failed."""
    small = text[:_LONGEST_ERROR].lower()
    if FRAGMENTS.search(small) is not None:
        return True
    if not small.isascii() and (
        phrases.strong.match(small) or phrases.failed_in_chinese.match(small)
    ):
        return True
    return phrases.cross.match(text) is not None or phrases.error_number.match(text) is not None


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
    if words[0] == "<" and phrases.element.match(words):
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
    first = after(phrases.marks, opening)
    small = first[:_LONGEST_DENIAL].lower()
    if _is_strong(small) or phrases.errno.match(first):
        return "strong"
    if checks:
        return "weak" if len(lines) == 1 and phrases.no_input.match(small) else None
    return (
        "strong" if phrases.cross.match(opening) else _says_weakly(words, lines, is_act, wants_many)
    )


def _are_tagged(lines: list[str]) -> bool:
    """Whether several lines begin with a label in brackets, as those of a log do."""
    return len(lines) > 1 and all(line.lstrip().startswith("[") for line in lines[:2])


def _are_numbered(lines: list[str]) -> bool:
    return len(lines) > 1 and all(map(phrases.numbered.match, lines))


def _is_strong(small: str) -> bool:
    """Whether a line is an error by its first words, and reports no deed after all.

    What follows `error: ` may be advice, which has words of deeds: `error: set confirm=true`.
    """
    is_advice = small.startswith(("error: set ", "error: enable ", "error: first "))
    is_sure = is_advice or small.startswith("error ")
    return phrases.strong.match(small) is not None and (is_sure or not reports_any_action(small))


def _says_weakly(words: str, lines: list[str], is_act: bool, wants_many: bool) -> Strength | None:
    """The same where the first sentence only denies something, and not much comes after it."""
    if len(words) > _LONGEST_ADVICE or len(lines) > _MOST_LINES or _is_record(lines):
        return None
    is_foreign = len(lines) < _MOST_LABELS and not (wants_many or words.isascii())
    if is_foreign and phrases.failed_in_chinese.match(words):
        return "weak"
    first = after(phrases.marks, _opening(lines))
    sentence = first_sentence(first)
    if len(sentence) > _LONGEST_DENIAL or (not is_act and phrases.question.match(first.lower())):
        return None
    is_bad = phrases.named.match(first) is not None or _begins_badly(sentence, len(lines))
    is_bad = is_bad and not (is_act and reports_any_action(sentence))
    if is_bad or ("_" in words and phrases.code.fullmatch(words)):
        return "weak"
    if len(words) > _LONGEST_SHORT or len(lines) > (1 if wants_many else _MOST_SHORT_LINES):
        return None
    return "weak" if _denies(sentence, is_act) else None


def _marked(lines: list[str]) -> list[str]:
    """The lines with a title that is underlined marked as a heading instead."""
    if len(lines) > 1 and phrases.underline.fullmatch(lines[1]):
        return [f"# {lines[0]}", *lines[2:]]
    return lines


def _element_failed(words: str) -> bool:
    """Whether a text is the element of an error, or begins with the status of a failure."""
    found = phrases.element.match(words)
    if found is None or found["bad"]:
        return found is not None
    end = f"</{found['name']}>"
    return words.find(end) == len(words) - len(end)


def _begins_badly(sentence: str, lines: int) -> bool:
    small = sentence.lower()
    is_title = lines > 1 and small.rstrip().endswith(":")
    return not is_title and phrases.starts.match(small) is not None


_QUOTES: Final = frozenset("'\"`“")


def _without_quotes(line: str) -> str:
    return line if _QUOTES.isdisjoint(line) else phrases.quoted.sub("''", line)


def _denies(sentence: str, is_act: bool) -> bool:
    small = _without_quotes(sentence).lower()
    is_denied = phrases.within.match(small) or (is_act and phrases.negation.match(small))
    return bool(is_denied) and not reports_any_action(sentence)


def _is_record(lines: list[str]) -> bool:
    """Whether the first lines are labelled, as those of a thing or a report are."""
    if (
        len(lines) < 2
        or not phrases.labelled.match(lines[0])
        or phrases.bad_value.match(lines[0].lower())
    ):
        return False
    return any(map(phrases.labelled.match, lines[1:3]))


def _title_failed(line: str, *, is_act: bool, own: Collection[str]) -> bool:
    """Whether a heading is that of a failure of the call: `# Delete failed - no such note`."""
    found = phrases.title.match(after(phrases.marks, line)[:_LONGEST_DENIAL].lower())
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
    if words[0] == "<" and phrases.element.match(words):
        return "strong" if _element_failed(words) else None
    if words.endswith("</error>") and _ends_in_error(words):
        return "strong"
    first, _, rest = words.partition("\n")
    opening = after(phrases.marks, first)
    small = opening[:_LONGEST_DENIAL].lower()
    if small.startswith("error: ") and is_told:
        return "strong"
    is_strong = bool(
        _is_strong(small) or phrases.errno.match(opening) or phrases.cross.match(first)
    )
    is_own = mentions or _names_own(small, own)
    if not rest.strip():
        return _line_failed(opening, is_strong, is_own)
    if phrases.bad_value.match(small) and phrases.offers.match(rest.lower()):
        return "weak"
    if len(words) <= _LONGEST_SHORT and phrases.cannot_give.match(small):
        return "weak"
    strength = _opens_badly(first, small, rest, own) if mentions else None
    is_told_so = is_strong and is_own and small.startswith(("error ", "failed "))
    return strength or ("strong" if is_told_so else None)


def _line_failed(line: str, is_strong: bool, is_own: bool) -> Strength | None:
    """The same of one line, which could be the first words of a document."""
    small = line[:_LONGEST_DENIAL].lower()
    if is_strong and (is_own or not phrases.failed_to.match(small)):
        return "strong"
    is_technical = len(small) <= _LONGEST_LINE and phrases.technical.match(small) is not None
    if is_technical or phrases.bad_value.match(small) or phrases.call_failed.match(small):
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
    if phrases.cross.match(first) and phrases.denies.search(small) and "✅" not in rest:
        return "strong"
    if first[0] == "#" and _title_failed(first, is_act=False, own=own):
        return "strong"
    return "weak" if is_brief and phrases.cannot_give.match(small) else None


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
