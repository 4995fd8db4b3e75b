"""What the sentences of a short text report: an outcome, or that nothing was found.

The phrases are in `lexicon.phrases`; each function decides where in a text to look for them.
"""

import re
from typing import Final

from accord.reader.lexicon import base_forms, phrases
from accord.reader.lexicon.phrases import Pattern

LONGEST_SENTENCE: Final = 300
"""Characters of a sentence that are matched."""
_LONGEST_REPORT: Final = 400
"""Characters of a text that may be a report; longer ones are documents."""
_LONGEST_OUTCOME: Final = 4_000
"""Characters of a report on several operations."""
_LONGEST_NOTHING: Final = 200
"""Characters of a sentence that reports that nothing was found."""
_LONGEST_WORD: Final = 20
"""Characters of a report that is one word: `Done.`"""
_FIRST_WORDS: Final = 14
"""Words of a sentence in which its verb is looked for."""
_FIRST_LINES: Final = 6
"""Lines of a text in which a report is looked for; those below are details."""
_FEW_LINES: Final = 3
"""Lines of a short report: a heading, the report, advice."""
_SOME_LINES: Final = 6
"""Lines below a heading in which the report is looked for."""
_LONGEST_ADVISED: Final = 1_000
"""Characters of a text that reports nothing found, with its advice."""
_MOST_LINES: Final = 16
"""Lines of a text that reports nothing found, with its advice."""
_COMMENTS: Final = ("/*", "//", "<!--")
"""Beginnings of generated files, which are not reports."""
_THERE_IS: Final = ("there is ", "there's ")
_STOP: Final = re.compile(r"[.!?][\"')\]]?\s+(?=[A-Z])|\n\s*\n")
_WORD: Final = re.compile(r"[a-z]+")


def after(opening: "re.Pattern[str] | Pattern", text: str) -> str:
    """Return a text without its opening, if it has one."""
    found = opening.match(text)
    return text[found.end() :] if found is not None and found.end() else text


def first_sentence(text: str) -> str:
    """Return a text up to its first full stop."""
    return split_sentence(text)[0]


def split_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence of a text, and the rest."""
    stop = _STOP.search(text)
    return (text, "") if stop is None else (text[: stop.start() + 1], text[stop.end() :])


def begins(text: str, phrase: Pattern, most: int = LONGEST_SENTENCE) -> bool:
    """True if a text begins with a phrase, ignoring case and leading blanks."""
    return phrase.match(text[:most].strip().lower()) is not None


# Completion


def reports_completion(text: str) -> bool:
    """True if a text reports that something was done."""
    lines = text.strip()
    if lines.startswith(_COMMENTS):
        return False
    if not lines or len(lines) > _LONGEST_REPORT:
        lines = lines.partition("\n")[0]
        if not lines or len(lines) > _LONGEST_REPORT:
            return False
    first = lines.partition("\n")[0].lower()
    if phrases.ticked.match(first):
        return True
    first = after(phrases.marks_before, first)
    return phrases.completion.match(first) is not None


def reports_retrieval(text: str) -> bool:
    """True if a text reports that something was read, found or computed."""
    sentence = first_sentence(text.strip())[:LONGEST_SENTENCE].lower()
    return phrases.retrieved.match(sentence) is not None


def reports_any_action(sentence: str) -> bool:
    """True if a sentence reports that something was done, even if others were not."""
    small = after(phrases.marks_before, sentence).lower()
    if small.startswith(("nothing ", "none ")) or phrases.not_as_expected.match(small):
        return False
    return (
        phrases.participle.match(small) is not None or phrases.still_done.match(small) is not None
    )


def reports_verb(text: str, verbs: frozenset[str]) -> bool:
    """True if the first sentence has a form of one of some verbs: `resized`, of `resize`."""
    small = text[:LONGEST_SENTENCE].lower()
    if not any(verb[:-1] in small for verb in verbs):
        return False
    words = _WORD.findall(first_sentence(text.strip())[:LONGEST_SENTENCE].lower())
    return any(
        not verbs.isdisjoint(base_forms(word)) for word in words[:_FIRST_WORDS] if word not in verbs
    )


def reports_only_completion(text: str) -> bool:
    """True if a text is one line that reports that something was done, and nothing else."""
    if len(text) > _LONGEST_WORD and "ccess" not in text:
        return False
    line = after(phrases.marks_before, text[: LONGEST_SENTENCE + 1].strip()).lower()
    return len(line) <= LONGEST_SENTENCE and phrases.only_completion.match(line) is not None


def reports_completion_plainly(text: str, *, opens: bool = False) -> bool:
    """True if one of the first lines can only mean that something was done.

    `opens`: the tool shows things, and may have opened one.
    """
    small = text[:_LONGEST_OUTCOME].lower()
    if opens and phrases.opened.match(small[:LONGEST_SENTENCE]) is not None:
        return True
    if "ccessful" not in small and " been " not in small:
        return False
    lines = [line for line in small.splitlines() if line.strip()]
    return any(phrases.plain_completion.match(line) for line in lines[:_FIRST_LINES])


def reports_saving(text: str) -> bool:
    """True if a text reports that something was saved in a place."""
    if len(text) > _LONGEST_REPORT:
        return False
    small = text.lower()
    may_be = "saved" in small or "wr" in small or "ed" in small
    return may_be and phrases.saved.match(small) is not None


# Failure of everything


def reports_each_failed(text: str) -> bool:
    """True if every line of a text names something and reports that it failed."""
    if len(text) > _LONGEST_OUTCOME or ": " not in text[:_LONGEST_OUTCOME]:
        return False
    lines = [line for line in text.lower().splitlines() if not phrases.only_marks.fullmatch(line)]
    return bool(lines) and all(phrases.each_failed.match(line) for line in lines)


# Nothing found


def reports_nothing_found(text: str, *, wants_many: bool = False) -> bool:
    """True if a text reports that a search found nothing, perhaps with advice.

    From a tool that lists, the report may stand below some lines about the search.
    """
    if "_" in text and phrases.marker.fullmatch(text):
        text = text.strip("_").replace("_", " ")
    small = text[:_LONGEST_ADVISED].lower()
    if phrases.nothing_found_plainly.match(small):
        return True
    if wants_many and not small.isascii() and phrases.nothing_found_in_chinese.match(small):
        return True
    lines = _few_lines(text) if phrases.may_be_nothing.search(small) else []
    if not lines or phrases.something_found.match(lines[0].lower()):
        return False
    if text.lstrip()[:1] == "#" and reports_nothing_below_each(text):
        return True
    is_zero = wants_many and phrases.count_of_zero.match(lines[0].lower()) is not None
    if is_zero and not phrases.item_line.search(text.strip()):
        return True
    return _opening_reports_nothing(lines, text, wants_many)


def _opening_reports_nothing(lines: list[str], text: str, wants_many: bool) -> bool:
    """True if the first line, or one below a heading, reports nothing found."""
    head, *below = lines
    if wants_many and len(lines) <= _SOME_LINES and phrases.no_items.match(lines[-1].lower()):
        return True
    is_few = len(lines) <= _FEW_LINES and len(text) <= _LONGEST_REPORT
    is_heading = head.endswith(":") or text.lstrip().startswith("#")
    if is_heading and is_few and below:
        is_advised = all(phrases.advice.fullmatch(line.lower()) for line in below[1:])
        return _is_nothing(below[0 if is_advised else -1], wants_many)
    if _is_nothing(head, wants_many) or (is_few and _is_nothing("\n".join(lines), wants_many)):
        return is_few or not any(phrases.instead.match(line.lower()) for line in below[:2])
    return wants_many and is_heading and any(_is_nothing(line) for line in below[:_SOME_LINES])


def reports_nothing_below_each(text: str) -> bool:
    """True if there are several headings, with nothing found below any of them."""
    lines = [line for line in text.splitlines() if line.strip()]
    below = [line.lower() for line in lines if line[0] != "#"]
    return 1 < len(below) == len(lines) - len(below) and all(map(phrases.no_items.match, below))


def _few_lines(text: str) -> list[str]:
    """Return the lines of a text without their marks; none if they are too many."""
    if len(text) > _LONGEST_ADVISED:
        return []
    marked = text.strip().splitlines()
    lines = [after(phrases.marks_opening, line).rstrip(" <>()[]*_#") for line in marked]
    lines = [line for line in lines if line]
    return lines if len(lines) <= _MOST_LINES else []


def _is_nothing(line: str, wants_many: bool = False) -> bool:
    """True if a line reports that nothing was found."""
    words = after(phrases.polite, line)
    small = words.lower()
    if len(words) > _LONGEST_REPORT or phrases.lacking.match(small):
        return False
    if len(words) <= _LONGEST_NOTHING and phrases.nothing_found.match(small):
        return True
    first, rest = split_sentence(words)
    has_others = phrases.instead.match(rest.lower()) is not None
    if wants_many:
        if phrases.no_values.match(small) or phrases.nothing_listed_at_all.match(small):
            return True
        if phrases.nothing_listed.match(first.lower()) and not has_others:
            return True
    if not rest or has_others:
        return False
    sentences = (first, split_sentence(rest)[0]) if wants_many else (first,)
    return any(phrases.nothing_found.match(each.lower()) for each in sentences)


def missing_noun(text: str) -> str | None:
    """Return what the first sentence reports missing: `device`, of `No active device found`."""
    start = text[:LONGEST_SENTENCE].strip("*_#<> \t\r\n")
    if start[:1].lower() not in ("n", "t") or not start.lower().startswith(("no", *_THERE_IS)):
        return None
    sentence = first_sentence(text.strip()).strip("*_#<> ")[:LONGEST_SENTENCE].lower()
    sentence = sentence.removeprefix(_THERE_IS[0]).removeprefix(_THERE_IS[1])
    found = phrases.missing.match(sentence) or phrases.missing_state.match(sentence)
    return None if found is None or phrases.nothing_to_do.match(sentence) else found["noun"]
