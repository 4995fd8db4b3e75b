"""Evidence of what a reply is: a failure, an action, a list, a catalog of tools.

Here is what is known of a reply when it is judged. Each function of `failures` (members of
objects), `error_texts`, `actions` and `lists` looks for one kind of evidence in it, with the words
of the lexicon. `accord.reader.decision` weighs what they find.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from accord.model.response import ResponseType
from accord.reader.call import Call
from accord.reader.collection import Collection, collection_in
from accord.reader.documents import parse_json
from accord.reader.items import Items
from accord.reader.items.lines import FRAME, unframed
from accord.reader.lexicon import (
    MEMBERS,
    NAMES,
    is_of_list,
    member_of,
    ordered,
    pairs,
    phrases,
    words,
    words_of,
)
from accord.reader.lexicon.phrases import in_english
from accord.reader.reading import Confidence
from accord.reader.sentences import after, reports_nothing_found

_NONE: Final = frozenset(ordered("languages.none"))
_FOREIGN: Final = _NONE | words("languages.words") | pairs("languages.phrases").keys()
"""Words that show that a text is not in English."""
_START: Final = 100
"""Characters at the start of a text that show its language."""
_MOST_MEMBERS: Final = 6
"""An object of more members holds more than one text."""
_LONGEST_MENTION: Final = 200
"""Characters of an argument that a text may repeat."""
_LONGEST_WORDS: Final = 4_000
"""Characters of a text that may speak of an argument."""


class Sign(NamedTuple):
    """That it failed, why, and the rule that says so."""

    rule: str
    message: str
    code: str | int | None = None
    details: Any = None
    confidence: Confidence = "certain"
    verbs: frozenset[str] = frozenset()
    """The verbs of the tools for which it is a sign; none if it is one for any tool."""


Evidence = Sign | Items | Collection | None
"""The sign of a failure, or the items of a list; None of anything else."""


class Verdict(msgspec.Struct, frozen=True, gc=False):  # read at once and let go, in no cycle
    """What a rule says."""

    kind: ResponseType
    confidence: Confidence = "certain"
    finding: str | None = None
    is_partial: bool = False
    found: Evidence = None


class Facts(msgspec.Struct, kw_only=True):
    """What is known of a reply when it is judged."""

    value: Any
    is_text: bool = False
    is_error: bool | None = None
    """What `isError` says, if it says anything."""
    message: str | None = None
    attachments: Sequence[Mapping[str, Any]] = ()
    is_structured: bool = False
    call: Call = Call()
    arguments: Mapping[str, Any] = {}
    tool: str | None = None
    texts: Sequence[str] = ()
    """The text blocks, where there are several and no more is known of them."""
    words: str | None = None
    """The text that is all there is, also as a member of an object."""
    member: str | None = None
    """The name of that member."""
    told: str | None = None
    """The same in English, as far as it says how it went."""
    is_foreign: bool = False
    """Whether the text may be of another language."""
    collection: Collection | None = None
    may_fail: bool = False
    """Whether the text has any of the words of failures, once that was looked for."""
    has_looked: bool = False
    """Whether a collection was looked for."""
    nothing: bool | None = None
    """Whether the words say that nothing was found, once that was asked."""

    def __post_init__(self) -> None:
        value = self.value
        words = self._words_in(value) if isinstance(value, dict) else value
        if isinstance(words, str):
            self.words = self.told = unframed(words) if words.startswith(FRAME) else words
            start = self.words[:_START].lower().split()
            is_own = NAMES.translating.isdisjoint(self.call.words)
            is_foreign = is_own and not _FOREIGN.isdisjoint(start)
            self.is_foreign = self.call.is_foreign or is_foreign
            if self.is_foreign or not self.words.isascii():
                self.told = in_english(self.words, is_foreign=self.is_foreign)

    def _words_in(self, value: dict[str, Any]) -> Any:
        """The text that an object is about: its own, or that beside an echo of the arguments."""
        if self.message and self.arguments and all(map(self.echoes, value.values())):
            return self.message
        if len(value) > 1:
            if self.call.wants_many and not MEMBERS.texts.isdisjoint(value):
                self.member = _text_in(value)
            return value[self.member] if self.member is not None else None
        for name, only in value.items():
            if only is None:
                return self.message  # which is all that is said
            if name in MEMBERS.texts:
                self.member = name
                return only
        return None

    @property
    def beside(self) -> dict[str, Any]:
        """The members beside the one that holds the words."""
        if self.member is None:
            return {}
        return {name: each for name, each in self.value.items() if name != self.member}

    @property
    def own_words(self) -> frozenset[str]:
        """The words of the tool's name and of the names of its arguments, also in the singular."""
        named = frozenset(word for name in self.arguments for word in words_of(name))
        return self.call.nouns.union(self.call.words, named)

    @property
    def gives_anything(self) -> bool:
        """Whether what the tool gives may be any words at all."""
        call = self.call
        is_told = call.gives_content or call.gives_output or call.gives_prose
        return is_told or call.is_about_errors or call.gives_log

    def failed(self, sign: Sign, confidence: Confidence) -> Verdict:
        """Return the evidence of a failure; a result that says otherwise is a finding."""
        lies = "isError is false, but the payload reports a failure"
        return Verdict("error", confidence, lies if self.is_error is False else None, found=sign)

    def mentions(self, words: str) -> bool:
        """Whether a text speaks of something that the tool was given."""
        given = (str(each) for each in self.arguments.values() if type(each) in (str, int))
        return len(words) <= _LONGEST_WORDS and any(
            2 <= len(each) <= _LONGEST_MENTION and each in words for each in given
        )

    def echoes(self, words: Any) -> bool:
        """Whether a text is nothing but what the tool was given."""
        return words in self.arguments.values()

    def repeats(self, collection: Collection) -> bool:
        """Whether a collection is what the tool was given, beside what it has to say itself."""
        if not self.arguments or self.call.intent != "unknown" or not collection.path:
            return False
        given = self.arguments.get(collection.path[-1])
        has_more = any(not is_of_list(member_of(name)) for name in collection.rest)
        return bool(given) and given == collection.items and has_more

    @property
    def says_none(self) -> bool:
        """Whether the words say that nothing was found."""
        if self.nothing is None:
            words, told, wants_many = self.words, self.told, self.call.wants_many
            self.nothing = words is not None and reports_nothing_found(words, wants_many=wants_many)
            if told is not None and not self.nothing and "\n" not in told.strip():
                is_none = reports_nothing_found(told, wants_many=wants_many)
                self.nothing = is_none or (wants_many and self._is_missed(told))
        return self.nothing

    def _is_missed(self, told: str) -> bool:
        """Whether a line in another language says that something was not found."""
        if phrases.cross.match(told):
            return False
        is_negated = "no results" in told or ("not found" in told and self.call.intent == "list")
        if is_negated and told is not self.words:
            return True
        first, _, rest = after(phrases.marks_opening, told).partition(" ")
        return first.lower() in _NONE and not phrases.lacking.match(f"no {rest}")

    def find_collection(self) -> Collection | None:
        """The collection that the value is, or is about, or has in a document in a member."""
        if not self.has_looked and not self.is_text:
            self.has_looked = True
            self.collection = collection_in(self.value, self.call, self.arguments)
            if self.collection is None and self.call.wants_many and self.words is not None:
                self.collection = self._collection_in_words(self.words)
        return self.collection

    def _collection_in_words(self, words: str) -> Collection | None:
        """That of a document which stands in a member, as what a program wrote."""
        found, inner = parse_json(words) if words[:1] in ("[", "{") else (False, None)
        within = collection_in(inner, self.call, self.arguments) if found else None
        if within is None:
            return None
        beside = self.beside
        if not within.rest.keys().isdisjoint(beside):
            beside = {"beside": beside}  # under another name than its own
        return within._replace(rest={**within.rest, **beside}, confidence="likely")


def _text_in(value: Mapping[str, Any]) -> str | None:
    """The one member of a small object, which has no array, that may be several things in words."""
    if len(value) > _MOST_MEMBERS:
        return None
    if any(isinstance(each, list) for each in value.values()):
        return None
    names = [name for name in value if name in MEMBERS.texts and _is_several(value[name])]
    return names[0] if len(names) == 1 else None


def _is_several(text: Any) -> bool:
    """Whether a text may be several things: lines, or an array."""
    if not isinstance(text, str):
        return False
    return "\n" in text.strip() or (text[:1] == "[" and text.rstrip()[-1:] == "]")
