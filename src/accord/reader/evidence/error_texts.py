"""Evidence that the operation failed, in a text.

The opening of a text is graded by its words: an error, a refusal, a denial and so on (`_GRADES`).
The kind of result that the call returns decides which grades count, how long the text may be, and
whether it must mention the call (`_LIMITS`): what others wrote may begin with any words.
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
"""What the call returns; `text` is what others wrote, which may contain any words."""
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
"""What begins an error, whatever was asked for."""
_STATUS: Final = re.compile(r"[45]\d\d")
_WORDS: Final = re.compile(r"[a-z]+")
_QUOTES: Final = frozenset("'\"`“")
_START: Final = 4_000
"""Characters at the start of a text in which a failure is looked for."""
_LONGEST_DENIAL: Final = 400
"""Characters of a sentence that denies something."""
_LONGEST_LINE: Final = 200
"""Characters of a line that a tool writes itself, rather than of a paragraph."""
_END: Final = 80
"""Characters at the end of a text that may report how it ended."""
_MOST_HEADINGS: Final = 3
"""Lines above a failure: what was requested, of what, where."""
_LONGEST_HEADED: Final = 1_000
"""Characters of what others wrote that may be a failure below headings; more are a document."""
_ANY_LENGTH: Final = 1 << 60


class Limit(NamedTuple):
    """The longest text of a grade that is a failure, and what else is required of it."""

    chars: int = _ANY_LENGTH
    lines: int = _ANY_LENGTH
    is_own: bool = False
    """It must mention an argument, or have a word of the tool's name."""
    is_advised: bool = False
    """What may be given instead must follow."""


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
    "finding": {  # which may be bad though the call succeeded
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
"""What is known of a text that is not the reply to a call."""


def error_text(facts: Facts) -> Verdict | None:
    """A text that is nothing but an error, or the words before a document that belongs to it."""
    told, call = facts.words, facts.call
    if told is None:
        return _failed_before(facts)
    if facts.attachments and (facts.gives_anything or "\n" in told.strip()):
        return None
    if call.gives_content and facts.is_structured and not reports_each_failed(told):
        return None
    if (code := _exit_code(facts, told)) is not None:
        return facts.failed(Sign("exit-code", told.strip(), code), "guess")
    facts.may_fail = may_fail(told) or (facts.told is not told and may_fail(str(facts.told)))
    strength = _strength(facts, told) if facts.may_fail else None
    if strength is None or (facts.attachments and strength == "weak" and call.intent != "act"):
        return None
    return facts.failed(
        Sign("error-text", told.strip()), "certain" if strength == "strong" else "likely"
    )


def _failed_before(facts: Facts) -> Verdict | None:
    """The words before a document report a failure, or the only text in a list."""
    value, told, call = facts.value, facts.message, facts.call
    strength: Strength | None = "strong"
    if not told:
        is_only = isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
        told = value[0].strip(" []") if is_only else ""
        strength = says_failed(told, kind="text") if may_fail(told) else None
        if told and strength is None and call.intent in ("act", "run"):
            strength = "strong" if says_failed(told, kind="action") else None
    elif not phrases.ends_with_error.search(told[-_END:].lower()):
        held = value.values() if isinstance(value, dict) else (value,)
        is_void = all(not each or facts.echoes(each) for each in held)
        is_none = not is_void or reports_nothing_found(told, wants_many=True)
        is_open = facts.gives_anything or facts.attachments or call.checks
        if is_open or (call.wants_many and is_none) or not may_fail(told):
            return None
        strength = says_failed(told, kind="action" if call.intent == "act" else "thing")
        if strength and (is_void or call.intent == "act"):
            strength = "strong"
    if strength != "strong":
        return None
    return facts.failed(Sign("error-text", told.strip(), None, value), "likely")


def _exit_code(facts: Facts, told: str) -> int | None:
    """Return the exit code of what was run, if the last or the first line tells it."""
    if not (facts.call.intent == "run" or facts.call.gives_output):
        return None
    found = phrases.exited.search(told.rstrip()[-_END:].lower())
    found = found or phrases.begins_exited.match(told[:_END].lower())
    return None if found is None else int(found[1])


# The strength of a text


def may_fail(text: str) -> bool:
    """Whether any of the words is there without which no text reports a failure."""
    small = text[:_START].lower()
    if FRAGMENTS.search(small) is not None:
        return True
    if not small.isascii() and (
        phrases.strong.match(small) or phrases.failed_in_chinese.match(small)
    ):
        return True
    return phrases.cross.match(text) is not None or phrases.errno.match(text) is not None


def rejects_value(text: str) -> bool:
    """Whether a text reports what is wrong with a value: `This field must be unique.`"""
    return len(text) <= _LONGEST_DENIAL and bool(phrases.rejection.match(text.strip().lower()))


def says_failed(text: str, *, kind: Kind = "thing") -> Strength | None:
    """Return how strongly a text reports a failure, whatever was called."""
    return _grade(text, kind, _UNKNOWN)


def hints_at_failure(facts: Facts) -> bool:
    """Whether a text denies something near its beginning, which is too little to be a failure."""
    told = facts.words
    if not facts.may_fail or told is None or len(told) > _REFUSAL[0].chars:
        return False
    is_document = facts.gives_anything and "\n" in told.strip()
    return not is_document and begins(told, phrases.within)


def _strength(facts: Facts, told: str) -> Strength | None:
    """Return how strongly a text reports a failure, as the reply to a call."""
    told, call = told.strip(), facts.call
    if (reports_each_failed(told) and not call.is_about_errors) or (
        call.intent == "act" and begins(told, phrases.all_failed, _START)
    ):
        return "strong"
    if facts.echoes(told) or _is_about_given(facts, told):
        return None
    if call.gives_log and not (facts.mentions(told) or _rejects_argument(facts, told)):
        return None
    if not facts.gives_anything and facts.says_none and not _is_missed(facts, told):
        return None
    return _grade(told, _kind(facts), facts)


def _kind(facts: Facts) -> Kind:
    call = facts.call
    if facts.gives_anything:
        return "text"
    if call.checks or not NAMES.refusing.isdisjoint(call.words[:1]):
        return "finding"
    if call.wants_many and not call.is_query:
        return "list"
    return "action" if call.intent == "act" else "thing"


def _is_missed(facts: Facts, told: str) -> bool:
    """Whether a text that reports that nothing was found reports a failure."""
    if phrases.error_tag.match(told) or _is_missing(facts, told):
        return True
    is_named = " not found" in told and facts.mentions(told)
    return is_named and not facts.call.wants_many


def _is_about_given(facts: Facts, told: str) -> bool:
    """Whether a text begins with a word that was given, or has an error that was given."""
    small = told[:_START].lower()
    for each in facts.arguments.values():
        given = str(each).lower() if type(each) in (str, int) else ""
        if not 0 < len(given) <= _LONGEST_LINE or given not in small or given == _LABEL:
            continue
        if small.startswith(given) and (_STATUS.fullmatch(given) or may_fail(given)):
            return True
        if " " in given and says_failed(given) == "strong":
            return True
    return False


# The lines that may report a failure


class Opening:
    """A line that may report a failure, what is below it, and what is known of the call."""

    def __init__(self, text: str, chars: int, kind: Kind, facts: Facts) -> None:
        line, _, below = text.partition("\n")
        self.line = line.rstrip()
        self.below = below.strip()
        self.chars = chars
        self.kind = kind
        self.facts = facts
        self.first = after(phrases.marks, self.line)
        """The line without the marks before it."""
        english = self.first[: _LONGEST_DENIAL + 1]
        self.small = english.lower()
        if not english.isascii() or facts.is_foreign:
            english = in_english(english, is_foreign=facts.is_foreign).strip()
        self.english = english.lower()
        self.sentence = first_sentence(english).lower()
        """The first sentence, in English; too long for one if there is none."""
        self.is_heading = bool(below) and line[:1] == "#"
        self._is_own: bool | None = None

    @property
    def is_own(self) -> bool:
        """Whether the line mentions an argument, or has a word that the tool is named for."""
        if self._is_own is None:
            self._is_own = self.facts.mentions(self.line) or self._is_named()
        return self._is_own

    def _is_named(self) -> bool:
        call = self.facts.call
        own = frozenset(call.words[:1]) if call.gives_prose else self.facts.own_words
        own -= NAMES.plain_verbs
        return not own.isdisjoint(_WORDS.findall(self.small))

    @property
    def is_advised(self) -> bool:
        """Whether what may be given instead follows."""
        start = self.below[:_LONGEST_LINE].lower()
        return bool(start) and phrases.offers.match(start) is not None

    @property
    def is_record(self) -> bool:
        """Whether the first lines are labelled, as those of a thing or a report are."""
        if not self.below or not phrases.labelled.match(self.line):
            return False
        below = [line for line in self.below.split("\n", _MOST_HEADINGS + 1) if line.strip()]
        is_value = phrases.bad_value.match(self.small) is not None
        return not is_value and any(map(phrases.labelled.match, below[: _MOST_HEADINGS - 1]))

    def holds(self, limit: Limit) -> bool:
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
    """Whether a line is a heading or a tip, or repeats what the tool was given under a label."""
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
    """An error by its first words, which does not report that something was done after all."""
    line, small, kind = opening.line, opening.small, opening.kind
    end = opening.below or line
    if end[-1] == ">" and (found := phrases.element.match(f"{line}\n{opening.below}")):
        return bool(found["bad"]) or end.endswith(f"</{found['name']}>")
    if kind == "text" and opening.below:
        return _is_own_error(opening)
    if opening.is_heading:
        return kind != "finding" and _title_failed(opening)
    if kind == "list" and line[0] == opening.below[:1] == "[":  # lines with tags, as of a log
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
    """Whether the first of several lines is an error that the call had, and no document has."""
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
    """Whether a heading is that of a failure of the call: `# Delete failed - no such note`."""
    found, facts = phrases.title.match(opening.small), opening.facts
    if found is None or opening.kind == "action" or found["what"] is None:
        return found is not None
    return found["what"] in facts.own_words


def _is_refusal(opening: Opening) -> bool:
    """A denial by the first words, or the name of an error alone."""
    sentence = opening.sentence
    if not _is_sentence(opening) or (opening.below and sentence.rstrip().endswith(":")):
        return False
    if not phrases.starts.match(sentence) and not phrases.named.match(opening.first):
        return False
    return opening.kind != "action" or not reports_any_action(sentence)


def _is_sentence(opening: Opening) -> bool:
    is_short = len(opening.sentence) <= _LONGEST_DENIAL
    return is_short and not (opening.is_record or opening.is_heading)


def _is_missing(facts: Facts, told: str) -> bool:
    call, noun = facts.call, missing_noun(told)
    if noun is None:
        return False
    if call.wants_many and not facts.gives_anything:
        is_one = singular(noun) == noun and noun not in call.nouns | NAMES.no_noun
        return is_one and bool(phrases.advised.match(told) or begins(told, phrases.starts))
    if call.asks_for_all and begins(told, phrases.none_of_all):
        return False
    if call.intent == "act" or phrases.advised.match(told):
        return True
    return singular(noun) == noun and (noun in call.nouns or facts.mentions(told))


def _denies(opening: Opening, phrase: Pattern) -> bool:
    sentence = opening.sentence
    if not _is_sentence(opening) or not phrase.match(_without_quotes(sentence)):
        return False
    return not reports_any_action(sentence)


def _without_quotes(line: str) -> str:
    return line if _QUOTES.isdisjoint(line) else phrases.quoted.sub("''", line)


def _is_rejection(opening: Opening) -> bool:
    """What was given is not accepted, by the name of the argument or by its value."""
    line, facts = opening.line, opening.facts
    if _rejects_argument(facts, line):
        return True
    if facts.call.intent in ("list", "run") or facts.call.is_about_one:
        return False
    given = [str(each) for each in facts.arguments.values() if type(each) in (str, int)]
    parts = [each for each in given if len(each) > 1 and each in line]
    for each in parts:
        line = line.replace(each, "")
    line = _without_quotes(line)
    is_denied = bool(parts) and phrases.denied_given.match(line.lower()) is not None
    return is_denied and not reports_any_action(line)


def _rejects_argument(facts: Facts, line: str) -> bool:
    """Whether a line names an argument and rejects it: `name is required`, `Invalid pattern`."""
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
"""The functions that recognise the grades, the strongest first."""
_RULES: Final = {
    kind: [(grade, limits[grade], has) for grade, has in _GRADES.items() if grade in limits]
    for kind, limits in _LIMITS.items()
}
