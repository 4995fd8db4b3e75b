"""Evidence that the operation failed, in a text.

The opening of a text is graded by its words: an error, a refusal, a denial and so on (`_GRADES`).
The kind of result that the call returns decides which grades count, how long the text may be, and
whether it must mention the call (`_LIMITS`): text of other authors may begin with any words.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from accord.reader.evidence import Facts, Sign, Verdict
from accord.reader.lexicon import NAMES, phrases, singular, squeezed
from accord.reader.lexicon.phrases import FRAGMENTS, Pattern, in_english
from accord.reader.sentences import (
    after,
    begins,
    first_sentence,
    missing_noun,
    reports_any_action,
    reports_each_failed,
    reports_nothing_found,
)

Strength = Literal["strong", "weak"]
Kind = Literal["action", "thing", "list", "finding", "text"]
"""What the call returns; `text` is written by other authors and may contain any words."""
Grade = Literal[
    "error",
    "refusal",
    "technical",
    "invalid",
    "missing",
    "absent",
    "denial",
    "rejection",
    "negation",
]
_LABEL: Final = "error"
"""The label of an error; an argument with this value does not excuse it."""
_STATUS: Final = re.compile(r"[45]\d\d")
_WORDS: Final = re.compile(r"[a-z]+")
_QUOTES: Final = frozenset("'\"`“")
_START: Final = 4_000
"""Characters at the start of a text in which a failure is looked for."""
_LONGEST_DENIAL: Final = 400
"""Characters of a sentence that may report a failure."""
_LONGEST_LINE: Final = 200
"""Characters of a line that the tool wrote; longer ones are paragraphs."""
_END: Final = 80
"""Characters at the end of a text that may report the outcome."""
_MOST_HEADINGS: Final = 3
"""Lines above a failure, such as the request or the place."""
_LONGEST_HEADED: Final = 1_000
"""Characters of a text of other authors that may be a failure below headings."""
_ANY_LENGTH: Final = 1 << 60


class Limit(NamedTuple):
    """The longest text that is a failure of a grade, and what else it must have."""

    chars: int = _ANY_LENGTH
    lines: int = _ANY_LENGTH
    is_own: bool = False
    """It must mention an argument, or have a word of the tool's name."""
    is_advised: bool = False
    """Valid values must follow it."""


_ALWAYS: Final = Limit()
_ANY: Final = (_ALWAYS,)
_LINE: Final = (Limit(_LONGEST_LINE, 1),)
_ADVISED: Final = Limit(is_own=True, is_advised=True)
_REFUSAL: Final = (Limit(1_500, 12), _ADVISED)
"""With a paragraph of advice."""
_DENIAL: Final = (Limit(700, 7), _ADVISED)
"""With a few lines of advice."""
_OF_THING: Final[Mapping[Grade, tuple[Limit, ...]]] = {
    "error": _ANY,
    "refusal": _REFUSAL,
    "missing": _ANY,
    "denial": _DENIAL,
    "rejection": _LINE,
}
_LIMITS: Final[Mapping[Kind, Mapping[Grade, tuple[Limit, ...]]]] = {
    "thing": _OF_THING,
    "action": {**_OF_THING, "negation": _DENIAL},
    "list": {**_OF_THING, "denial": (Limit(700, 1), _ADVISED)},  # lines may be the items
    "finding": {  # may be bad although the call succeeded
        "error": _ANY,
        "technical": _LINE,
        "missing": _ANY,
        "absent": (Limit(_LONGEST_LINE, 1, is_own=True),),
    },
    "text": {
        "error": _ANY,
        "refusal": (Limit(700, 2, is_own=True), _ADVISED),
        "technical": _LINE,
        "invalid": _LINE,
        "missing": (Limit(300, 3), _ADVISED),
        "denial": (Limit(700, 2, is_own=True), _ADVISED),
    },
}
"""Grades that count for each kind of result; one of the limits must hold."""


_UNKNOWN: Final = Facts(value=None)
"""The facts about a text that is not the reply to a call."""


def error_text(facts: Facts) -> Verdict | None:
    """A text that is only an error, or an error message beside a value."""
    text, call, english = facts.text, facts.call, facts.english
    if text is None:
        return _failed_beside(facts)
    if facts.attachments and (facts.gives_anything or "\n" in text.strip()):
        return None
    if call.gives_content and facts.is_structured and not reports_each_failed(text):
        return None
    if (code := _exit_code(facts, text)) is not None:
        return facts.failed(Sign("exit-code", text.strip(), code), "guess")
    facts.may_fail = may_fail(text) or (english is not text and may_fail(str(english)))
    strength = _strength(facts, text) if facts.may_fail else None
    if strength is None or (facts.attachments and strength == "weak" and call.intent != "act"):
        return None
    return facts.failed(
        Sign("error-text", text.strip()), "certain" if strength == "strong" else "likely"
    )


def _failed_beside(facts: Facts) -> Verdict | None:
    """The text beside a value, or the only item of a list, reports a failure."""
    value, text, call = facts.value, facts.message, facts.call
    strength: Strength | None = "strong"
    if not text:
        is_only = isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
        text = value[0].strip(" []") if is_only else ""
        strength = failure_strength(text, kind="text") if may_fail(text) else None
        if text and strength is None and call.intent in ("act", "run"):
            strength = "strong" if failure_strength(text, kind="action") else None
    elif not phrases.ends_with_error.search(text[-_END:].lower()):
        held = value.values() if isinstance(value, dict) else (value,)
        is_void = all(not each or facts.echoes(each) for each in held)
        is_none = not is_void or reports_nothing_found(text, wants_many=True)
        is_open = facts.gives_anything or facts.attachments or call.checks
        if is_open or (call.wants_many and is_none) or not may_fail(text):
            return None
        strength = failure_strength(text, kind="action" if call.intent == "act" else "thing")
        if strength and (is_void or call.intent == "act"):
            strength = "strong"
    if strength != "strong":
        return None
    return facts.failed(Sign("error-text", text.strip(), None, value), "likely")


def _exit_code(facts: Facts, text: str) -> int | None:
    """Return the exit code of a program, if the last or the first line reports it."""
    if not (facts.call.intent == "run" or facts.call.gives_output):
        return None
    found = phrases.exited.search(text.rstrip()[-_END:].lower())
    found = found or phrases.begins_exited.match(text[:_END].lower())
    return None if found is None else int(found[1])


# The strength of a text


def may_fail(text: str) -> bool:
    """True if a text has a word that every text about a failure has."""
    small = text[:_START].lower()
    if FRAGMENTS.search(small) is not None:
        return True
    if not small.isascii() and (
        phrases.strong.match(small) or phrases.failed_in_chinese.match(small)
    ):
        return True
    return phrases.cross.match(text) is not None or phrases.errno.match(text) is not None


def rejects_value(text: str) -> bool:
    """True if a text rejects a value: `This field must be unique.`"""
    return len(text) <= _LONGEST_DENIAL and bool(phrases.rejection.match(text.strip().lower()))


def failure_strength(text: str, *, kind: Kind = "thing") -> Strength | None:
    """Return how strongly a text reports a failure, for any call."""
    return _grade(text, kind, _UNKNOWN)


def hints_at_failure(facts: Facts) -> bool:
    """True if a text begins with a denial, too weak to be a failure."""
    text = facts.text
    if not facts.may_fail or text is None or len(text) > _REFUSAL[0].chars:
        return False
    is_document = facts.gives_anything and "\n" in text.strip()
    return not is_document and begins(text, phrases.within)


def _strength(facts: Facts, text: str) -> Strength | None:
    """Return how strongly a text reports a failure, as the reply to a call."""
    text, call = text.strip(), facts.call
    if (reports_each_failed(text) and not call.is_about_errors) or (
        call.intent == "act" and begins(text, phrases.all_failed, _START)
    ):
        return "strong"
    if facts.echoes(text) or _quotes_failure(facts, text):
        return None
    if call.gives_log and not (facts.mentions(text) or _rejects_argument(facts, text)):
        return None
    if not facts.gives_anything and facts.reports_none and not _is_missed(facts, text):
        return None
    return _grade(text, _kind(facts), facts)


def _kind(facts: Facts) -> Kind:
    call = facts.call
    if facts.gives_anything:
        return "text"
    if call.checks or not NAMES.refusing.isdisjoint(call.words[:1]):
        return "finding"
    if call.wants_many and not call.is_query:
        return "list"
    return "action" if call.intent == "act" else "thing"


def _is_missed(facts: Facts, text: str) -> bool:
    """True if a text that reports nothing found is a failure: the requested thing is missing."""
    if phrases.error_tag.match(text) or _is_missing(facts, text):
        return True
    is_named = " not found" in text and facts.mentions(text)
    return is_named and not facts.call.wants_many


def _quotes_failure(facts: Facts, text: str) -> bool:
    """True if the words of failure in a text are those of an argument."""
    small = text[:_START].lower()
    for each in facts.given_texts():
        given = each.lower()
        if not 0 < len(given) <= _LONGEST_LINE or given not in small or given == _LABEL:
            continue
        if small.startswith(given) and (_STATUS.fullmatch(given) or may_fail(given)):
            return True
        if " " in given and failure_strength(given) == "strong":
            return True
    return False


# The lines that may report a failure


class Opening:
    """A line that may report a failure, the lines below it, and the facts about the reply."""

    def __init__(self, text: str, chars: int, kind: Kind, facts: Facts) -> None:
        line, _, below = text.partition("\n")
        self.line: str = line.rstrip()
        self.below: str = below.strip()
        self.chars: int = chars
        self.kind: Kind = kind
        self.facts: Facts = facts
        self.first: str = after(phrases.marks, self.line)
        """The line without its leading marks."""
        english = self.first[: _LONGEST_DENIAL + 1]
        self.small: str = english.lower()
        if not english.isascii() or facts.is_foreign:
            english = in_english(english, is_foreign=facts.is_foreign).strip()
        self.english: str = english.lower()
        self.sentence: str = first_sentence(english).lower()
        """The first sentence in English, or a part of it that is too long for a sentence."""
        self.is_heading: bool = bool(below) and line[:1] == "#"
        self._is_own: bool | None = None

    @property
    def is_own(self) -> bool:
        """True if the line has the value of an argument, or a word of the tool's name."""
        if self._is_own is None:
            self._is_own = self.facts.mentions(self.line) or self._is_named()
        return self._is_own

    def _is_named(self) -> bool:
        call = self.facts.call
        own = frozenset(call.words[:1]) if call.gives_prose else self.facts.name_words
        own -= NAMES.plain_verbs
        return not own.isdisjoint(_WORDS.findall(self.small))

    @property
    def is_advised(self) -> bool:
        """True if valid values follow."""
        start = self.below[:_LONGEST_LINE].lower()
        return bool(start) and phrases.offers.match(start) is not None

    @property
    def is_record(self) -> bool:
        """True if the first lines are labelled, as in a record or a report."""
        if not self.below or not phrases.labelled.match(self.line):
            return False
        below = [line for line in self.below.split("\n", _MOST_HEADINGS + 1) if line.strip()]
        is_value = phrases.bad_value.match(self.small) is not None
        return not is_value and any(map(phrases.labelled.match, below[: _MOST_HEADINGS - 1]))

    def holds(self, limit: Limit) -> bool:
        """True if the line is within a limit and has what it requires."""
        if limit is _ALWAYS:
            return True
        if self.chars > limit.chars or (limit.is_advised and not self.is_advised):
            return False
        if self.below and limit.lines != _ANY_LENGTH:
            below = sum(map(bool, map(str.strip, self.below.split("\n"))))
            if below >= limit.lines:
                return False
        return not limit.is_own or self.is_own


def _openings(text: str, kind: Kind, facts: Facts) -> Iterator[Opening]:
    """Yield the first line of a text, and the first one below headings and tips."""
    start, chars = text[:_START].strip(), len(text)
    if not start:
        return
    first = opening = Opening(start, chars, kind, facts)
    yield first
    if kind == "text" and len(facts.texts) > 1:
        yield Opening(facts.texts[0], 0, kind, facts)
    if kind == "text" and chars > _LONGEST_HEADED:
        return
    for _ in range(1 if kind == "list" else _MOST_HEADINGS):
        if opening.below and _is_heading(opening):
            opening = Opening(opening.below, chars, kind, facts)
    if opening is not first and not (first.is_heading and opening.is_record):
        yield opening


def _is_heading(opening: Opening) -> bool:
    """True if a line is a heading or a tip, or repeats an argument under a label."""
    if phrases.heading.match(opening.line):
        return True
    echo = phrases.echo.match(opening.line)
    return echo is not None and echo[1] in opening.facts.arguments.values()


def _grade(text: str, kind: Kind, facts: Facts) -> Strength | None:
    """Return how strongly one of the openings of a text reports a failure."""
    for opening in _openings(text, kind, facts):
        for grade, limits, has_grade in _RULES[kind]:
            if any(map(opening.holds, limits)) and has_grade(opening):
                return "strong" if grade == "error" else "weak"
    return None


# The grades


def _is_error(opening: Opening) -> bool:
    """True for an error by its first words that does not also report an action."""
    line, small, kind = opening.line, opening.small, opening.kind
    end = opening.below or line
    if end[-1] == ">" and (found := phrases.element.match(f"{line}\n{opening.below}")):
        return bool(found["bad"]) or end.endswith(f"</{found['name']}>")
    if kind == "text" and opening.below:
        return _is_own_error(opening)
    if opening.is_heading:
        return kind != "finding" and _title_failed(opening)
    is_mark = not line[0].isalnum()
    if kind == "list" and is_mark and line[0] == opening.below[:1]:  # tagged lines, such as a log
        return False
    if kind != "finding" and phrases.cross.match(line):
        return True
    starts = (line, opening.first) if len(line) > len(opening.first) else (line,)
    if any(map(phrases.errno.match, starts)):
        return True
    if small.startswith("usage:") and ": error: " in opening.below:
        return True
    if not phrases.strong.match(small):
        is_line = kind != "text" and not opening.below and opening.english is not opening.small
        return is_line and phrases.strong.match(opening.english) is not None
    if reports_any_action(small) and not phrases.not_done.match(small):
        return False
    return kind != "text" or opening.is_own or not phrases.failed_to.match(small)


def _is_own_error(opening: Opening) -> bool:
    """True if the first of several lines is an error of the call, not a part of a document."""
    small, below, facts = opening.small, opening.below, opening.facts
    if small.startswith(("error ", "failed ", "traceback ")):
        return phrases.strong.match(small) is not None
    if facts.call.gives_prose and small.startswith("error: "):
        return True
    if not facts.mentions(opening.line + below):
        return False
    if small.startswith("error: "):
        return "error" not in below.lower()
    if phrases.cross.match(opening.line):
        return "✅" not in below
    return opening.is_heading and _title_failed(opening)


def _title_failed(opening: Opening) -> bool:
    """True if a heading reports a failure of the call: `# Delete failed - no such note`."""
    found, facts = phrases.title.match(opening.small), opening.facts
    if found is None or opening.kind == "action" or found["what"] is None:
        return found is not None
    return found["what"] in facts.name_words


def _is_refusal(opening: Opening) -> bool:
    """True for a denial by its first words, or the name of an error alone."""
    sentence = opening.sentence
    if not _is_sentence(opening) or (opening.below and sentence.rstrip().endswith(":")):
        return False
    if not phrases.starts.match(sentence) and not phrases.named.match(opening.first):
        return False
    return opening.kind != "action" or not reports_any_action(sentence)


def _is_sentence(opening: Opening) -> bool:
    is_short = len(opening.sentence) <= _LONGEST_DENIAL
    return is_short and not (opening.is_record or opening.is_heading)


def _is_missing(facts: Facts, text: str) -> bool:
    call, noun = facts.call, missing_noun(text)
    if noun is None:
        return False
    if call.wants_many and not facts.gives_anything:
        is_one = singular(noun) == noun and noun not in call.nouns | NAMES.no_noun
        return is_one and bool(phrases.advised.match(text) or begins(text, phrases.starts))
    if call.asks_for_all and begins(text, phrases.none_of_all):
        return False
    if call.intent == "act" or phrases.advised.match(text):
        return True
    return singular(noun) == noun and (noun in call.nouns or facts.mentions(text))


def _denies(opening: Opening, phrase: Pattern) -> bool:
    sentence = opening.sentence
    if not _is_sentence(opening) or not phrase.match(_without_quotes(sentence)):
        return False
    return not reports_any_action(sentence)


def _without_quotes(line: str) -> str:
    return line if _QUOTES.isdisjoint(line) else phrases.quoted.sub("''", line)


def _is_rejection(opening: Opening) -> bool:
    """True if the line rejects an argument, by its name or its value."""
    line, facts = opening.line, opening.facts
    if _rejects_argument(facts, line):
        return True
    if facts.call.intent in ("list", "run") or facts.call.is_about_one:
        return False
    parts = [each for each in facts.given_texts() if len(each) > 1 and each in line]
    for each in parts:
        line = line.replace(each, "")
    line = _without_quotes(line)
    is_denied = bool(parts) and phrases.denied_given.match(line.lower()) is not None
    return is_denied and not reports_any_action(line)


def _rejects_argument(facts: Facts, line: str) -> bool:
    """True if a line names an argument and rejects it: `name is required`, `Invalid pattern`."""
    named = phrases.bad_argument.match(line.lower())
    if named is not None and named["name"] in facts.arguments:
        return True
    name, _, rest = line.partition(" ")
    is_named = squeezed(name) in map(squeezed, facts.arguments)
    return is_named and (rejects_value(f"it {rest}") or rejects_value(rest))


_GRADES: Final[Mapping[Grade, Callable[[Opening], bool]]] = {
    "error": _is_error,
    "refusal": _is_refusal,
    "technical": lambda each: phrases.technical.match(each.small) is not None,
    "invalid": lambda each: phrases.bad_value.match(each.small) is not None,
    "missing": lambda each: _is_missing(each.facts, each.line),
    "absent": lambda each: phrases.absent.match(each.sentence) is not None,
    "denial": lambda each: _denies(each, phrases.within),
    "rejection": _is_rejection,
    "negation": lambda each: _denies(each, phrases.negation),
}
"""The functions that recognise the grades, strongest first."""
_RULES: Final = {
    kind: [(grade, limits[grade], has) for grade, has in _GRADES.items() if grade in limits]
    for kind, limits in _LIMITS.items()
}
