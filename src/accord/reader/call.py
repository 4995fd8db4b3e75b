"""What the name of a tool says about what was done."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from accord.reader.lexicon import memo, singular, words_of
from accord.reader.lexicon.languages import VERBS
from accord.reader.lexicon.tools import (
    CHANGING,
    CHECKING,
    DEED_NOUNS,
    EITHER,
    ENDING,
    FAULTS,
    FIRST,
    HALF_READING,
    HEADS,
    LAST,
    LED,
    LED_BY_SERVICE,
    LISTING,
    LISTING_FIRST,
    MAKING,
    NOUNS,
    READING,
    RUNNING,
    RUNNING_NOUNS,
    SERVICES,
    SHELLS,
    TELLING,
    TITLES,
    TOLD,
    WORDED,
    is_action_verb,
    may_act,
)

Intent = Literal["list", "read", "act", "make", "run", "unknown"]

_PLAINLY_READING: Final = frozenset(
    "get show read fetch describe view check count status info".split()
)
_WORDING: Final = (("build",), ("optimize",))
_REPLACING: Final = ("search", "replace")
_CHOOSING: Final = (("pick",), ("choose",), ("select",))
_NO_PLURALS: Final = (
    "details",
    "stats",
    "statistics",
    "news",
    "settings",
    "contents",
    "metrics",
    "canvas",
    "analytics",
    "credentials",
    "kubernetes",
    "directions",
)
_COLLECTIVE: Final = frozenset(
    """history feed timeline inbox backlog queue trending recent popular upcoming forecast news
    analytics""".split()
)
_RANKED: Final = frozenset("top trending popular recent upcoming hottest".split())
_CONTENT: Final = frozenset(
    """cat file files page document doc docs content contents text html email mail message article
    body source snippet prompt instruction instructions guide guidelines description policy
    advice horoscope trivia joke fact story poem recipe biography definition meaning riddle
    terms faq lyrics ocr tweet post comment title clipboard caption quote markdown url website
    webpage pdf scrape transcript subtitles captions readme note echo commit diff patch
    changelog""".split()
)
_NOTATIONS: Final = frozenset({"markdown", "html", "text", "md"})
"""In which a document is given: `convert_to_markdown`."""
ABOUT: Final = frozenset(
    """info metadata outline properties stats statistics size status permissions history list
    count data excel sheet workbook rows cells table""".split()
)
"""With one of these, it is not the content that is given."""
_ONE: Final = frozenset(
    """describe inspect info information detail details summary overview status profile
    schema metadata stats config configuration settings documentation guide help instructions readme
    prompt template skeleton structure state properties practices conventions principles""".split()
)


_LOGS: Final = frozenset({"log", "logs", "logcat", "stderr", "output", "journal"})


class Call(NamedTuple):
    """What the name of a tool says, and what it was asked to do."""

    words: tuple[str, ...] = ()
    nouns: frozenset[str] = frozenset()
    """The same words in the singular."""
    intent: Intent = "unknown"
    gives_content: bool = False
    """It gives back what somebody wrote, who may have written anything."""
    is_plural: bool = False
    """It is named for several things: `get_users`."""
    wants_many: bool = False
    """It lists or searches, or is named for several things."""
    verbs: frozenset[str] = frozenset()
    """Words of the name that are no verb of reading: the reply may report on them."""
    gives_prose: bool = False
    """It gives words about something: an explanation, an analysis."""
    checks: bool = False
    """What it finds to be bad is no failure of its own."""
    gives_output: bool = False
    """It runs what it is given, and gives the output."""
    may_act: bool = False
    """A word of its name could be a verb that changes something."""
    is_about_one: bool = False
    """It is named for what is said about one thing: `describe_table`, `get_config`."""
    is_about_errors: bool = False
    """It gives errors that others made."""
    is_query: bool = False
    """It was given a statement that reads."""
    gives_log: bool = False
    """It gives back lines that were logged, errors among them."""
    gives_printed: bool = False
    """What it gives was printed or told by others, in whatever notation."""
    is_foreign: bool = False
    """It is named in another language, in which it may also answer."""
    runs_action: bool = False
    """It runs a command line that changes something: `kubectl delete pod x`."""
    asks_for_all: bool = False
    """It was given nothing at all, and is named for no one thing: it was asked for all there is."""


_NOBODY: Final = Call()


def called(tool: str | None) -> Call:
    """What the name of the tool that was called says."""
    return _called(tool) if tool else _NOBODY


@memo
def _called(name: str) -> Call:
    words = words_of(name.rpartition("__")[2] or name)  # as gateways join a server's name to it
    if len(words) > 1 and words[-1] == "tool":
        words = words[:-1]
    is_foreign = not VERBS.keys().isdisjoint(words)
    if is_foreign:
        words = tuple(VERBS.get(word, word) for word in words)
    found = named(words, doing_of(words), is_plural(words))
    return found._replace(is_foreign=True) if is_foreign else found


def named(words: tuple[str, ...], doing: Intent, is_several: bool) -> Call:
    """What words say of a tool that does something, to several things or to one."""
    head = _head(words)
    is_content = words == ("fetch",) or not _CONTENT.isdisjoint(words if len(head) < 2 else head)
    if is_content:
        is_told = doing in ("read", "unknown") and ABOUT.isdisjoint(words)
        is_told = is_told and ("to" not in words or words[-1] in _NOTATIONS)
        is_told = is_told and CHECKING.isdisjoint(words)
        is_content = is_told and (not is_several or head[-1] in _CONTENT)
    nouns = frozenset(map(singular, words)) | {NOUNS[word] for word in words if word in NOUNS}
    is_collective = bool(words) and (words[-1] in _COLLECTIVE or not _RANKED.isdisjoint(words))
    gives_output = doing in ("run", "unknown") and not SHELLS.isdisjoint(words)
    gives_log = not _LOGS.isdisjoint(words)
    is_about_errors = doing != "act" and not FAULTS.isdisjoint(nouns)
    return Call(
        words=words,
        nouns=nouns,
        intent=doing,
        gives_content=is_content,
        is_plural=is_several,
        wants_many=doing == "list"
        or (doing in ("read", "unknown") and (is_several or is_collective))
        or (doing == "run" and words[-1] == "query"),
        verbs=frozenset(_deeds(words, doing)),
        gives_prose=doing in ("read", "unknown", "make") and not TELLING.isdisjoint(words),
        checks=doing not in ("list", "act") and not CHECKING.isdisjoint(words),
        gives_output=gives_output,
        may_act=may_act(words),
        gives_log=gives_log,
        is_about_errors=is_about_errors,
        gives_printed=gives_output or gives_log or is_about_errors,
        is_about_one=doing in ("read", "unknown", "make")
        and (words[-1:] == ("health",) or not _ONE.isdisjoint(words)),
    )


def _deeds(words: tuple[str, ...], doing: Intent) -> Iterator[str]:
    """The words that may be verbs of something that was done."""
    for place, word in enumerate(words):
        is_last = place == len(words) - 1
        if word in HALF_READING:
            if not is_last:
                yield word
        elif doing != "read" and len(word) > 2 and word not in LISTING and word not in READING:
            yield word


_JOINING: Final = frozenset(
    """by in for from of on with to at under within near between since after before around into
    using via as per matching about inside across against along over without""".split()
)


def _head(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name before one that joins others to them: `tags` of `tags_by_note`."""
    for place, word in enumerate(words):
        if place and word in _JOINING:
            return words[:place]
    return words


def is_plural(words: tuple[str, ...]) -> bool:
    """Whether the thing that a name ends with, or that it has before `by` or `in`, is several."""
    last = _head(words)[-1] if words else ""
    if last in ("children", "people"):
        return True
    return last.endswith("s") and not last.endswith(("ss", "us", "is", *_NO_PLURALS))


def doing_of(name: tuple[str, ...], *, is_asked: bool = False) -> Intent:
    """What a tool does, by the first verb in its name; `search_and_replace` does the second."""
    words = _told(name)
    if len(words) > 1 and _is_about(words):
        return "list" if words[-1] == "list" else "read"
    found: Intent = "unknown"
    is_either = is_both = False
    for place, word in enumerate(words):
        if word in ("and", "or", "then"):
            is_both = found != "unknown"
            continue
        is_led = place == 1 and found == "unknown" and _is_led(word, words)
        first = 0 if is_led and not is_either else place
        doing = _verb(word, first, is_name=len(name) == 1 and not is_asked)
        if place == 0 and word in RUNNING_NOUNS and len(words) > 2 and _is_verb(words[1:2]):
            continue
        if doing == "either":
            is_either = is_either or first == 0
        elif doing != "unknown" and (found == "unknown" or (is_both and doing == "act")):
            found = doing
    found = _after_all(words, found)
    is_last = len(words) > 1 and words[-1] in LAST
    return "act" if found == "unknown" and (is_either or is_last) else found


def _after_all(words: tuple[str, ...], found: Intent) -> Intent:
    """What a tool does after all, where another word says more than the first verb."""
    first, last = words[:1], words[-1] if words else ""
    if found == "read":
        if last in ENDING and words[0] not in _PLAINLY_READING:
            return "act"
        return "list" if last == "list" else "read"
    if first == ("make",) and is_action_verb(last):
        return "act"
    if first == ("perform",) and last in ("query", "search"):
        return "list"
    if found == "list" and _REPLACING in pairwise(words):
        return "act"
    is_chosen = found in ("act", "unknown") and first in _CHOOSING and "random" in words
    is_worded = first in _WORDING and last in WORDED
    return "make" if is_chosen or is_worded else found


def _is_verb(words: tuple[str, ...]) -> bool:
    return any(word in LISTING or word in READING or is_action_verb(word) for word in words)


def _told(name: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name that say what a tool does; a pull request is one thing."""
    words = [word for word in name if word not in ("api", "mcp", "tool")]
    for place in range(len(words) - 1, 0, -1):
        if words[place] in ("request", "requests") and words[place - 1] in ("pull", "merge"):
            del words[place - 1]
            words[place - 1] = "pr"
    return tuple(words)


def _is_about(words: tuple[str, ...]) -> bool:
    """Whether a name is that of what is told about a deed: `order_history`, `deploy_status`."""
    if words[-1] in TOLD and CHANGING.isdisjoint(words) and LISTING.isdisjoint(words):
        return True
    if words[-1] in TITLES and (words[0] in EITHER or not is_action_verb(words[0])):
        return True
    return words[-1] in HEADS and words[0] in DEED_NOUNS


def _is_led(word: str, words: tuple[str, ...]) -> bool:
    """Whether the second word of a name is its verb."""
    return (word in LED and len(words) > 2) or (word in LED_BY_SERVICE and words[0] in SERVICES)


def _verb(word: str, place: int, *, is_name: bool) -> Intent | Literal["either"]:
    if word in EITHER:
        if place == 0 and word in FIRST and not is_name:
            return "act"
        return "either" if place == 0 else "unknown"
    if word in (LISTING if place else LISTING_FIRST):
        return "list"
    if word in READING:
        return "read"
    if word in RUNNING:
        return "run"
    if word in MAKING:
        return "make"
    if is_action_verb(word) and not (word == "add" and is_name):  # `add` is arithmetic
        return "act"
    return "unknown"
