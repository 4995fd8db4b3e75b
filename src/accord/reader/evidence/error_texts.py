"""Evidence that the operation failed, in a text and in what is known of the call.

`says_failed` looks at the words alone; what a tool may be expected to return decides how much they
count: of one that gives what others wrote, only what could be no document does.
"""

import re
from collections.abc import Collection
from typing import Final, Literal

from accord.reader.call import Call, is_action_verb
from accord.reader.evidence import Facts, Sign, Verdict
from accord.reader.lexicon import NAMES, base_forms, phrases, singular, squeezed
from accord.reader.lexicon.phrases import FRAGMENTS
from accord.reader.sentences import (
    after,
    begins,
    first_sentence,
    missing_noun,
    reports_any_action,
    reports_completion,
    reports_each_failed,
    reports_nothing_found,
    reports_verb,
    split_sentence,
)

Strength = Literal["strong", "weak"]
_ADVISING: Final = ("error: set ", "error: enable ", "error: first ")
_INVALID: Final = ("Error: Invalid regex", "Error: Invalid pattern", "Error: Invalid argument")
_LABEL: Final = "error"
"""What begins an error, whatever was asked for."""
_STATUS: Final = re.compile(r"[45]\d\d")
_PART: Final = re.compile(r"\w{3,}")
_WORDS: Final = re.compile(r"[a-z]+")
_QUOTES: Final = frozenset("'\"`“")
_LONGEST_ERROR: Final = 4_000
"""Characters of a text that is an error and no document."""
_LONGEST_ADVICE: Final = 1_500
"""The same where the first words only deny something, and advice comes after them."""
_LONGEST_SHORT: Final = 700
"""The same where a denial is anywhere in the first sentence."""
_LONGEST_DENIAL: Final = 400
"""Characters of a sentence that denies something, and of an error below headings."""
_LONGEST_LINE: Final = 200
"""Characters of a line that a tool says by itself, rather than of a paragraph."""
_LONGEST_END: Final = 80
"""Characters of a last line, or of a line of advice."""
_LONGEST_OUTPUT: Final = 2_000
"""Characters at the end of an output that may tell how it ended."""
_MOST_LINES: Final = 12
"""Lines of a refusal with its advice."""
_MOST_SHORT_LINES: Final = 7
"""The same where only a part of the first sentence denies something."""
_MOST_HEADINGS: Final = 3
"""Lines above an error: what was asked, of what, where."""
_OF_A_DOCUMENT: Final = 2
"""A text with so many headings is a document."""


def error_text(facts: Facts) -> Verdict | None:
    """A text that is nothing but an error, or the words before a document that belongs to it."""
    value, told = facts.value, facts.words
    if isinstance(value, list):
        told = _error_of_list(facts)
        return None if told is None else facts.failed(_sign(told, value), "likely")
    if told is None:
        return _heading_failed(facts, facts.message) if facts.message else None
    if facts.attachments:
        return _error_beside(facts, told)
    if facts.call.gives_content and facts.is_structured and not reports_each_failed(told):
        return None
    if (code := _exit_code(facts, told)) is not None:
        return facts.failed(Sign("exit-code", told.strip(), code), "guess")
    facts.may_fail = may_fail(told)
    strength = _strength(facts, told) if facts.may_fail else None
    english = facts.told
    if strength is None and english is not None and english is not told:
        is_line = "\n" not in english.strip() and not facts.gives_anything
        strength = _strength(facts, english) if is_line and may_fail(english) else None
    if strength is None:
        return None
    return facts.failed(_sign(told), "certain" if strength == "strong" else "likely")


def _sign(told: str, details: object = None) -> Sign:
    return Sign("error-text", told.strip(), None, details)


def _error_beside(facts: Facts, told: str) -> Verdict | None:
    """An error beside an image of what was there."""
    is_image = all(each.get("type") == "image" for each in facts.attachments)
    if not is_image or facts.gives_anything or "\n" in told.strip() or not may_fail(told):
        return None
    strength = says_failed(told)
    if strength is None or (strength == "weak" and facts.call.intent != "act"):
        return None
    return facts.failed(_sign(told), "likely")


def _error_of_list(facts: Facts) -> str | None:
    """Return the words before a list, or the only text in it, if they say what went wrong."""
    value, heading, call = facts.value, facts.message, facts.call
    are_texts = all(isinstance(each, str) for each in value)
    if heading:
        is_told = are_texts and not (facts.gives_anything or call.wants_many or call.checks)
        is_failure = is_told and phrases.failed.match(heading) and says_failed(heading) == "strong"
        return heading if is_failure or _is_headed_error(heading) else None
    if len(value) != 1 or not are_texts:
        return None
    return value[0] if _given_says_failed(value[0], frozenset(), False) == "strong" else None


def _heading_failed(facts: Facts, told: str) -> Verdict | None:
    """The words before an object say that it failed, more of them if the object holds anything."""
    call = facts.call
    if type(facts.value) is not dict or facts.gives_anything or facts.attachments:
        return None
    if not _is_headed_error(told):
        is_void = all(not each or facts.echoes(each) for each in facts.value.values())
        is_none = reports_nothing_found(told, wants_many=True)
        is_asked = not call.wants_many or (is_void and not is_none)
        strength = says_failed(told, is_act=call.intent == "act") if is_asked else None
        if strength is None or (strength == "weak" and call.intent != "act" and not is_void):
            return None
    return facts.failed(_sign(told, facts.value), "likely")


def _is_headed_error(told: str) -> bool:
    return phrases.ends_with_error.search(told[-_LONGEST_END:].lower()) is not None


def _exit_code(facts: Facts, told: str) -> int | None:
    """Return the exit code of what was run, if the last or the first line says it."""
    if not (facts.call.intent == "run" or facts.call.gives_output):
        return None
    found = phrases.exited.search(told.rstrip()[-_LONGEST_END:].lower())
    found = found or phrases.begins_exited.match(told[:_LONGEST_END].lower())
    return None if found is None else int(found[1])


# How much a text says that it failed, as the reply to a call


def _strength(facts: Facts, told: str) -> Strength | None:
    call = facts.call
    if (reports_each_failed(told) and not call.is_about_errors) or (
        call.intent == "act" and begins(told, phrases.all_failed, _LONGEST_ERROR)
    ):
        return "strong"
    if facts.echoes(told.strip()) or _is_about_given(facts, told):
        return None
    if call.gives_log and not (facts.mentions(told) or _is_own_error(facts, told.strip())):
        return None
    missing, below = _missing(facts, told), _below_headings(facts, told)
    if facts.gives_anything:
        below = facts.texts[0] if len(facts.texts) > 1 else below
        strength = _given_strength(facts, told, missing)
        return strength or (_given_strength(facts, below, False) if below else None)
    lacks_session = call.wants_many and _lacks_session(call, told)
    if call.wants_many and facts.says_none and not lacks_session:
        return None
    if missing or lacks_session or _refuses(facts, told):
        return "weak"
    is_missed = not call.wants_many and " not found" in told and facts.mentions(told)
    if facts.says_none and not is_missed and not phrases.failed.match(told):
        return None
    if call.wants_many and _denies_call(facts, told):
        return "weak"
    if (strength := _said(facts, told)) is not None:
        return strength
    if call.checks and _is_absent(facts, told.strip()):
        return "weak"
    is_below = below is not None and _said(facts, below) is not None
    return "weak" if is_below or _rejects_given(facts, told.strip()) else None


def _said(facts: Facts, told: str) -> Strength | None:
    call = facts.call
    return says_failed(
        told,
        is_act=call.intent == "act",
        checks=call.checks or _is_denial(call),
        wants_many=call.wants_many and not call.is_query,
        own=facts.own_words,
    )


def _is_denial(call: Call) -> bool:
    """Whether the verb of a tool is one that denies: `block_user`, not `edit_block`."""
    if call.intent in ("read", "list"):
        return False
    verbs = (word for word in call.words if is_action_verb(word) or word in NAMES.refusing)
    return next(verbs, "") in NAMES.refusing


def _refuses(facts: Facts, told: str) -> bool:
    """Whether the call was turned down, or cannot be done before something is configured."""
    is_act = facts.call.intent == "act"
    if is_act and phrases.configure.search(told[:_LONGEST_DENIAL]) and not reports_completion(told):
        return True
    return begins(first_sentence(told.strip()), phrases.rejected) and not reports_verb(
        told, facts.call.verbs
    )


def _is_about_given(facts: Facts, told: str) -> bool:
    """Whether a text is about a word that was given, and only reads like an error: `failure: …`."""
    small = told[:_LONGEST_OUTPUT].lower()
    for each in facts.arguments.values():
        given = str(each).lower() if type(each) in (str, int) else ""
        if not given or given not in small or len(given) > _LONGEST_LINE:
            continue
        is_error = may_fail(given)
        if small.startswith(given):
            is_word = is_error and given.replace(" ", "").isalpha() and given != _LABEL
            if _STATUS.fullmatch(given) or (is_word and phrases.defined.match(small[len(given) :])):
                return True
        if is_error and " " in given and says_failed(given) == "strong":
            return True
    return False


def _rejects_given(facts: Facts, line: str) -> bool:
    """Whether a line says what is wrong with an argument: `name is required`."""
    call = facts.call
    if "\n" in line or len(line) > _LONGEST_LINE or call.checks:
        return False
    name, _, rest = line.partition(" ")
    is_named = squeezed(name) in map(squeezed, facts.arguments)
    if is_named and (rejects_value(f"it {rest}") or rejects_value(rest)):
        return True
    if call.intent in ("list", "run") or call.is_about_one:
        return False
    given = [str(each) for each in facts.arguments.values() if type(each) in (str, int)]
    parts = [part for each in given for part in (each, *_PART.findall(each))]
    parts = [part for part in parts if len(part) > 1 and part in line]
    for each in parts:
        line = line.replace(each, "")
    line = _without_quotes(line)
    is_denied = bool(parts) and phrases.denied_given.match(line.lower()) is not None
    return is_denied and not reports_any_action(line)


def _below_headings(facts: Facts, told: str) -> str | None:
    """Return the text below a few headings, which may be an error: `Weather for Oslo:\\nfailed`."""
    if len(told) > _LONGEST_LINE * _MOST_HEADINGS + _LONGEST_DENIAL or "\n" not in told:
        return None
    lines = [line.strip() for line in told.strip().splitlines() if line.strip()]
    number, most = 0, 1 if facts.call.wants_many else _MOST_HEADINGS
    while number < min(len(lines) - 1, most) and _is_heading(facts, lines[number]):
        number += 1
    below = lines[number:]
    is_long = sum(map(len, below)) > _LONGEST_DENIAL or (facts.call.wants_many and len(below) > 2)
    if not number or is_long or sum(map(bool, map(phrases.labelled.match, below))) > 1:
        return None
    return "\n".join(below)


def _is_heading(facts: Facts, line: str) -> bool:
    """Whether a line is a heading, or repeats what the tool was given under a label."""
    if phrases.heading.match(line):
        return True
    echo = phrases.echo.match(line)
    return echo is not None and echo[1] in facts.arguments.values()


def _is_own_error(facts: Facts, told: str) -> bool:
    """Whether a line is no line of a log, but speaks of an argument by its name."""
    if phrases.own_error.fullmatch(told) is None:
        return False
    names = [name for name in facts.arguments if name in told.lower()]
    return any("_" in name for name in names) or (bool(names) and told.startswith(_INVALID))


def _lacks_session(call: Call, told: str) -> bool:
    """Whether what has to be there before anything can be listed is not."""
    found = phrases.no_session.match(told.lower())
    if found is None:
        return False
    what, state = found["what"], found["state"]
    if (what or state) in call.nouns:
        return False
    return what is not None or (singular(state) == state and state not in NAMES.no_noun)


def _denies_call(facts: Facts, told: str) -> bool:
    """Whether a text begins with a sentence that denies what was asked for, and then says why."""
    first, _, below = told.strip().partition("\n")
    sentence, rest = split_sentence(first)
    is_advised = bool(rest) or phrases.offers.match(below.lower()) is not None
    return is_advised and facts.mentions(sentence) and says_failed(sentence) is not None


def _is_absent(facts: Facts, line: str) -> bool:
    """Whether a line says that what is to be checked is not there, or cannot be looked at."""
    small = line.lower()
    if "\n" in line or len(line) > _LONGEST_LINE:
        return False
    if phrases.technical.match(small):
        return True
    is_named = not facts.own_words.isdisjoint(_WORDS.findall(small))
    return is_named and facts.mentions(line) and phrases.absent.match(small) is not None


def _missing(facts: Facts, told: str) -> bool:
    """Whether a text says that there is not the one thing that was asked for, or is acted on."""
    call = facts.call
    if call.wants_many or call.intent in ("list", "make"):
        return False
    if call.asks_for_all and begins(told, phrases.none_of_all):
        return False
    noun = missing_noun(told)
    if noun is None and (found := phrases.none_named.match(told.strip().lower())) is not None:
        name = found["name"].strip("'\"`.!")
        is_given = any(str(each).lower() == name for each in facts.arguments.values())
        return is_given and singular(found["noun"]) == found["noun"]
    if noun is None or call.intent == "act" or phrases.advised.match(told):
        return noun is not None
    return singular(noun) == noun and (noun in call.nouns or facts.mentions(told))


def hints_at_failure(facts: Facts) -> bool:
    """Whether a text denies something near its beginning, which is too little to be a failure."""
    told = facts.words
    if not facts.may_fail or told is None or len(told) > _LONGEST_ADVICE:
        return False
    is_document = facts.gives_anything and "\n" in told.strip()
    return not is_document and begins(told, phrases.within)


# What a text says by its words alone


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


def rejects_value(text: str) -> bool:
    """Whether a text says what is wrong with a value: `This field must be unique.`"""
    return len(text) <= _LONGEST_DENIAL and bool(phrases.rejection.match(text.strip().lower()))


def says_failed(
    text: str,
    *,
    is_act: bool = False,
    checks: bool = False,
    wants_many: bool = False,
    own: Collection[str] = (),
) -> Strength | None:
    """Whether a text is nothing but words that say that the operation failed.

    Of a tool that acts, any sentence that denies something and reports nothing done says so; of one
    that checks something, only what could be no finding; of one that lists, several lines may be
    items. `own` are the words that the tool is named for.
    """
    words = text.strip()
    if not words or len(words) > _LONGEST_ERROR:
        return None
    if words[0] == "<" and phrases.element.match(words):
        return "strong" if _element_failed(words) else None
    lines = [line for line in words.splitlines() if line.strip()]
    is_titled = lines[0].startswith("#")
    if is_titled and not checks and _title_failed(lines[0], is_act=is_act, own=own):
        return "strong"
    if wants_many and len(lines) > 1 and _are_tagged(lines):
        return None
    if words[: len("usage:")].lower() == "usage:" and ": error: " in words:
        return "strong"
    if is_titled and _is_record(lines[1:]):
        return None
    opening = _opening(lines)
    first = after(phrases.marks, opening)
    small = first[:_LONGEST_DENIAL].lower()
    if _is_strong(small) or phrases.errno.match(first) or phrases.errno.match(opening):
        return "strong"
    if checks:
        return "weak" if len(lines) == 1 and phrases.no_input.match(small) else None
    if phrases.cross.match(opening):
        return "strong"
    return "weak" if _says_weakly(words, lines, first, is_act, wants_many) else None


def _are_tagged(lines: list[str]) -> bool:
    """Whether several lines begin with a label in brackets, as those of a log do."""
    return all(line.lstrip().startswith("[") for line in lines[:2])


def _is_strong(small: str) -> bool:
    """Whether a line is an error by its first words, and reports nothing done after all.

    What follows `error: ` may be advice, which has words of actions: `error: set confirm=true`.
    """
    is_sure = small.startswith(("error ", *_ADVISING))
    return phrases.strong.match(small) is not None and (is_sure or not reports_any_action(small))


def _says_weakly(words: str, lines: list[str], first: str, is_act: bool, wants_many: bool) -> bool:
    """Whether the first sentence only denies something, and not much comes after it."""
    if len(words) > _LONGEST_ADVICE or len(lines) > _MOST_LINES or _is_record(lines):
        return False
    sentence = first_sentence(first)
    if len(sentence) > _LONGEST_DENIAL:
        return False
    is_bad = phrases.named.match(first) is not None or _begins_badly(sentence, len(lines))
    if (is_bad and not (is_act and reports_any_action(sentence))) or phrases.code.fullmatch(words):
        return True
    if len(words) > _LONGEST_SHORT or len(lines) > (1 if wants_many else _MOST_SHORT_LINES):
        return False
    return _denies(sentence, is_act)


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


def _without_quotes(line: str) -> str:
    return line if _QUOTES.isdisjoint(line) else phrases.quoted.sub("''", line)


def _denies(sentence: str, is_act: bool) -> bool:
    small = _without_quotes(sentence).lower()
    is_denied = phrases.within.match(small) or (is_act and phrases.negation.match(small))
    return bool(is_denied) and not reports_any_action(sentence)


def _is_record(lines: list[str]) -> bool:
    """Whether the first lines are labelled, as those of a thing or a report are."""
    if len(lines) < 2 or not phrases.labelled.match(lines[0]):
        return False
    return not phrases.bad_value.match(lines[0].lower()) and any(
        map(phrases.labelled.match, lines[1:_MOST_HEADINGS])
    )


def _title_failed(line: str, *, is_act: bool, own: Collection[str]) -> bool:
    """Whether a heading is that of a failure of the call: `# Delete failed - no such note`."""
    found = phrases.title.match(after(phrases.marks, line)[:_LONGEST_DENIAL].lower())
    return found is not None and (is_act or found["what"] is None or found["what"] in own)


def _opening(lines: list[str]) -> str:
    """Return the first line that is not a Markdown heading, unless there is nothing else."""
    headings = sum(line.lstrip().startswith("#") for line in lines)
    few = lines[:_MOST_HEADINGS] if headings < _OF_A_DOCUMENT else ()
    return next((line for line in few if not line.lstrip().startswith("#")), lines[0])


# The words of a tool that gives what others wrote, which may begin with such words too


def _given_strength(facts: Facts, told: str, missing: bool) -> Strength | None:
    call = facts.call
    if (call.intent == "run" and _raised(told)) or (missing and _is_short(told)):
        return "weak"
    own = frozenset(call.words[:1]) if call.gives_prose else facts.own_words
    mentions = facts.mentions(told)
    return _given_says_failed(told, own - NAMES.plain_verbs, mentions, is_told=call.gives_prose)


def _is_short(told: str) -> bool:
    """Whether a text is a sentence, perhaps with some advice below it, and no document."""
    first, _, rest = told.strip().partition("\n")
    is_advice = len(rest) <= _LONGEST_END * 2 and "\n\n" not in rest.strip() and first[-1:] in ".!"
    return not rest or is_advice


def _raised(told: str) -> bool:
    """Whether a text is the traceback of what was run, or ends with it."""
    if phrases.traceback.match(told):
        return True
    is_traced = "\nTraceback (most recent call last)" in told
    return is_traced and phrases.raised.search(told[-_LONGEST_OUTPUT:]) is not None


def _given_says_failed(
    text: str, own: frozenset[str], mentions: bool, *, is_told: bool = False
) -> Strength | None:
    """Whether a text could be no document, or speaks of the call, and says that it failed.

    `own` are the words that the tool is named for, `mentions`: an argument is in the text.
    `is_told`: the tool says it by itself, in prose.
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
    is_strong = _is_strong(small) or bool(
        phrases.errno.match(opening) or phrases.cross.match(first)
    )
    is_own = mentions or _names_own(small, own)
    if not rest.strip():
        return _line_failed(opening, is_strong, is_own)
    is_offered = phrases.offers.match(rest.lower()) is not None
    if is_offered and (phrases.bad_value.match(small) or (mentions and _denies_briefly(opening))):
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
    is_line = len(small) <= _LONGEST_LINE
    if is_line and (phrases.technical.match(small) or phrases.not_working.match(small)):
        return "weak"
    if phrases.bad_value.match(small) or phrases.call_failed.match(small):
        return "weak"
    return "weak" if is_own and _denies_briefly(line) else None


def _denies_briefly(line: str) -> bool:
    """Whether a line that is not long begins with a sentence that denies something."""
    sentence = first_sentence(line)
    if len(line) > _LONGEST_SHORT or len(sentence) > _LONGEST_DENIAL:
        return False
    return _begins_badly(sentence, 1) or _denies(sentence, is_act=False)


def _ends_in_error(words: str) -> bool:
    """Whether a few labelled lines come before an error: `Contents of https://…:`."""
    above, tag, _ = words.partition("\n<error>")
    lines = [line for line in above.splitlines() if line.strip()]
    is_brief = len(above) <= _LONGEST_SHORT and len(lines) <= _MOST_HEADINGS
    return bool(tag) and is_brief and all(":" in line for line in lines)


def _opens_badly(first: str, small: str, rest: str, own: frozenset[str]) -> Strength | None:
    """Whether the first of several lines, which speaks of the call, says that it failed."""
    is_brief = len(first) + len(rest) <= _LONGEST_SHORT and "\n" not in rest.strip()
    if is_brief and small.startswith("error: ") and "error" not in rest.lower():
        return "strong"
    if phrases.cross.match(first) and phrases.denies.search(small) and "✅" not in rest:
        return "strong"
    if is_brief and phrases.failed_in_chinese.match(first):
        return "weak"
    return "strong" if first[0] == "#" and _title_failed(first, is_act=False, own=own) else None


def _names_own(small: str, own: frozenset[str]) -> bool:
    """Whether a line has a word that the tool is named for, in any form: `analyzing`."""
    for word in _WORDS.findall(small):
        if word in own or (word.endswith("ing") and not own.isdisjoint(base_forms(word))):
            return True
    return False
