"""The words of tool names, by what a tool does that has them."""

from typing import Final

from accord.reader.lexicon import words

LISTING: Final = words("verbs.list")
LISTING_FIRST: Final = words("verbs.list", "verbs.list-first")
READING: Final = words("verbs.read")
EITHER: Final = words("verbs.act-or-noun")
ACTING: Final = words("verbs.act", "verbs.act-or-noun")
MAKING: Final = words("verbs.make") | {"build"}
RUNNING: Final = words("verbs.run")
HALF_READING: Final = words("names.half-reading")
TELLING: Final = words("names.telling")
CHECKING: Final = words("names.checking")
DEED_NOUNS: Final = words("names.deed-nouns")
CHANGING: Final = words("names.changing")
TOLD: Final = words("names.told")
TITLES: Final = words("names.titles")
HEADS: Final = words("names.heads")
LAST: Final = words("names.verb-last")
ENDING: Final = words("names.verb-ending")
VAGUE: Final = words("names.vague")
FIRST: Final = words("names.verb-first")
LED: Final = words("names.verb-led")
LED_BY_SERVICE: Final = words("names.verb-led-by-service")
SERVICES: Final = words("names.services")
REFUSING: Final = words("names.refusing")
FAULTS: Final = words("names.faults")
WORDED: Final = words("names.worded")
RUNNING_NOUNS: Final = words("names.running-nouns")
COMPUTING: Final = words("names.computing")
EXPORTING: Final = words("names.exporting")
SHELLS: Final = words("names.shells")
NOUNS: Final = {
    "suggest": "suggestion",
    "recommend": "recommendation",
    "predict": "prediction",
    "classify": "classification",
}
"""The noun for the result of a verb, if it is not the verb itself."""
_PREFIXES: Final = ("un", "re", "de", "dis", "auto", "bulk", "multi", "force")
_NOT_AFTER: Final = frozenset("port act cord sign trace".split())


def may_act(words: tuple[str, ...]) -> bool:
    """Whether a word of a name could be a verb that changes something."""
    return any(word in EITHER or is_action_verb(word) for word in words)


def is_action_verb(word: str) -> bool:
    """Whether a word is a verb that changes something, also with `un` or `bulk` before it."""
    if word in ACTING:
        return True
    for before in _PREFIXES:
        rest = word.removeprefix(before)
        if rest != word and len(rest) > 2 and rest in ACTING and rest not in _NOT_AFTER:
            return True
    return False
