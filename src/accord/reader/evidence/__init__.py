"""Evidence of what a reply is: a failure, an action, a list, a catalog of tools.

`Facts` is what the reader knows about a reply. Each function of `failures` (members of objects),
`error_texts`, `actions`, `lists` and `catalogs` looks in it for one kind of evidence and returns a
Verdict, with the words of the lexicon. `accord.reader.decision` weighs the verdicts.
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
_LONGEST_ARTICLE: Final = 3
"""Letters of words that other languages share with English: `is`, `met`."""
_PHRASES: Final = pairs("languages.phrases")
_ENGLISH: Final = frozenset(" ".join(_PHRASES.values()).split())
_FOREIGN: Final = (
    _NONE
    | words("languages.words")
    | {word for word in " ".join(_PHRASES).split() if len(word) > _LONGEST_ARTICLE} - _ENGLISH
)
"""Words that show that a text is not in English."""
_LARGEST: Final = 10**18
"""Numbers of more digits are not searched for."""
_START: Final = 100
"""Characters at the start of a text that show its language."""
_MOST_MEMBERS: Final = 6
"""Members of an object that may have one text as its payload."""
_LONGEST_MENTION: Final = 200
"""Characters of an argument that is looked for in a text."""
_LONGEST_TEXT: Final = 4_000
"""Characters of a text in which arguments are looked for."""


class Sign(NamedTuple):
    """A failure: the rule that found it, its message, code and details."""

    rule: str
    message: str
    code: str | int | None = None
    details: Any = None
    confidence: Confidence = "certain"
    verbs: frozenset[str] = frozenset()
    """Verbs of the tools for which this is a failure; empty for any tool."""


Evidence = Sign | Items | Collection | None
"""The failure, or the items of the list; None for other types."""


class Verdict(msgspec.Struct, frozen=True, gc=False):  # short-lived, never in a cycle
    """The type that a rule gives to a reply, how sure it is, and what it found."""

    kind: ResponseType
    confidence: Confidence = "certain"
    finding: str | None = None
    is_partial: bool = False
    found: Evidence = None


class Facts(msgspec.Struct, kw_only=True):
    """What the reader knows about a reply: its value, its text and the call."""

    value: Any
    is_text: bool = False
    is_error: bool | None = None
    """The value of `isError`; None if it is absent."""
    message: str | None = None
    attachments: Sequence[Mapping[str, Any]] = ()
    is_structured: bool = False
    call: Call = Call()
    arguments: Mapping[str, Any] = {}
    tool: str | None = None
    texts: Sequence[str] = ()
    """The text blocks, if there are several and the value is all of them."""
    text: str | None = None
    """The value if it is a text, or the one text of an object."""
    member: str | None = None
    """The name of the member that holds `text`."""
    english: str | None = None
    """`text` with the phrases of other languages that report outcomes in English."""
    is_foreign: bool = False
    """True if the text may be in another language."""
    collection: Collection | None = None
    may_fail: bool = False
    """True if `text` has a word of failures; set by `error_text`."""
    has_looked: bool = False
    """True once `find_collection` has run."""
    none_reported: bool | None = None
    """The cached result of `reports_none`."""

    def __post_init__(self) -> None:
        value = self.value
        text = self._text_of(value) if isinstance(value, dict) else value
        if isinstance(text, str):
            self.text = self.english = unframed(text) if text.startswith(FRAME) else text
            start = self.text[:_START].lower().replace(":", " ").split()
            is_own = NAMES.translating.isdisjoint(self.call.words)
            is_foreign = is_own and not _FOREIGN.isdisjoint(start)
            self.is_foreign = self.call.is_foreign or is_foreign
            if self.is_foreign or not self.text.isascii():
                self.english = in_english(self.text, is_foreign=self.is_foreign)

    def _text_of(self, value: dict[str, Any]) -> Any:
        """Return the text of an object; the text beside it if it only repeats the arguments."""
        if self.message and self.arguments and all(map(self.echoes, value.values())):
            return self.message
        if len(value) > 1:
            if self.call.wants_many and not MEMBERS.texts.isdisjoint(value):
                self.member = _text_in(value)
            return value[self.member] if self.member is not None else None
        for name, only in value.items():
            if only is None:
                return self.message  # the object has no other value
            if name in MEMBERS.texts:
                self.member = name
                return only
        return None

    @property
    def beside(self) -> dict[str, Any]:
        """The members of the object except the one that holds `text`."""
        if self.member is None:
            return {}
        return {name: each for name, each in self.value.items() if name != self.member}

    @property
    def name_words(self) -> frozenset[str]:
        """The words in the names of the tool and its arguments, also in the singular."""
        named = frozenset(word for name in self.arguments for word in words_of(name))
        return self.call.nouns.union(self.call.words, named)

    @property
    def gives_anything(self) -> bool:
        """True if the tool may return any text: content, output, prose, errors or a log."""
        call = self.call
        is_text = call.gives_content or call.gives_output or call.gives_prose
        return is_text or call.is_about_errors or call.gives_log

    def failed(self, sign: Sign, confidence: Confidence) -> Verdict:
        """Return the verdict for a failure; `isError: false` is then a finding."""
        odd = "isError is false, but the payload reports a failure"
        return Verdict("error", confidence, odd if self.is_error is False else None, found=sign)

    def mentions(self, text: str) -> bool:
        """True if a text contains the value of an argument."""
        return len(text) <= _LONGEST_TEXT and any(
            2 <= len(each) <= _LONGEST_MENTION and each in text for each in self.given_texts()
        )

    def given_texts(self) -> list[str]:
        """Return the texts and numbers among the arguments, as text."""
        return [
            str(each)
            for each in self.arguments.values()
            if type(each) is str or (type(each) is int and abs(each) < _LARGEST)
        ]

    def echoes(self, value: Any) -> bool:
        """True if a value is the value of an argument."""
        return value in self.arguments.values()

    def repeats(self, collection: Collection) -> bool:
        """True if a collection repeats the argument of its name, beside members of its own."""
        if not self.arguments or self.call.intent != "unknown" or not collection.path:
            return False
        given = self.arguments.get(collection.path[-1])
        has_more = any(not is_of_list(member_of(name)) for name in collection.rest)
        return bool(given) and given == collection.items and has_more

    @property
    def reports_none(self) -> bool:
        """True if the text reports that nothing was found."""
        if self.none_reported is None:
            text, english, many = self.text, self.english, self.call.wants_many
            is_none = text is not None and reports_nothing_found(text, wants_many=many)
            may_be_foreign = self.is_foreign or english is not text
            if may_be_foreign and english and not is_none and "\n" not in english.strip():
                is_none = reports_nothing_found(english, wants_many=many)
                is_none = is_none or (many and self._is_foreign_none(english))
            self.none_reported = is_none
        return self.none_reported

    def _is_foreign_none(self, line: str) -> bool:
        """True if a line, translated from another language, reports that nothing was found."""
        if phrases.cross.match(line):
            return False
        is_negated = "no results" in line or ("not found" in line and self.call.intent == "list")
        if is_negated and line is not self.text:
            return True
        first, _, rest = after(phrases.marks_opening, line).partition(" ")
        return first.lower() in _NONE and not phrases.lacking.match(f"no {rest}")

    def find_collection(self) -> Collection | None:
        """Return the collection that the value is or is about, or that JSON in its text is."""
        if not self.has_looked and not self.is_text:
            self.has_looked = True
            self.collection = collection_in(self.value, self.call, self.arguments)
            if self.collection is None and self.call.wants_many and self.text is not None:
                self.collection = self._collection_in_text(self.text)
        return self.collection

    def _collection_in_text(self, text: str) -> Collection | None:
        """Return the collection in a text that is JSON, as programs print it."""
        found, inner = parse_json(text) if text[:1] in ("[", "{") else (False, None)
        within = collection_in(inner, self.call, self.arguments) if found else None
        if within is None:
            return None
        beside = self.beside
        if not within.rest.keys().isdisjoint(beside):
            beside = {"beside": beside}  # a member has that name
        return within._replace(rest={**within.rest, **beside}, confidence="likely")


def _text_in(value: Mapping[str, Any]) -> str | None:
    """Return the one member of a small object without arrays whose text may be a list."""
    if len(value) > _MOST_MEMBERS:
        return None
    if any(isinstance(each, list) for each in value.values()):
        return None
    names = [name for name in value if name in MEMBERS.texts and _may_be_list(value[name])]
    return names[0] if len(names) == 1 else None


def _may_be_list(text: Any) -> bool:
    """True if a value is a text of several lines, or of an array."""
    if not isinstance(text, str):
        return False
    return "\n" in text.strip() or (text[:1] == "[" and text.rstrip()[-1:] == "]")
