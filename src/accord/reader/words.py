"""What the name of a tool, its arguments and a short text say about what was done."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from accord.reader.kept import kept

Doing = Literal["list", "read", "act", "run", "unknown"]

_JOINTS: Final = re.compile(r"[^a-z0-9]")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LISTING: Final = frozenset(
    """list search find browse enumerate query ls glob grep lookup scan discover""".split()
)
_READING: Final = frozenset(
    """get read fetch show describe view display retrieve check count calculate compute convert
    explain validate verify summarize summarise analyze analyse inspect diff compare status
    info tell load peek head tail stat test ping preview resolve translate detect extract
    parse echo think help whoami screenshot snapshot lint review estimate forecast measure
    monitor trace history log logs evaluate rank suggest recommend""".split()
)
_ACTING: Final = frozenset(
    """create add send delete remove update edit set write insert move rename post publish
    start stop reply upload download save put patch merge commit push pull checkout reset
    cancel close reopen archive unarchive restore subscribe unsubscribe append prepend
    replace upsert assign unassign invite kick ban mute pin unpin react approve reject
    submit enable disable toggle activate deactivate install uninstall deploy rollback
    restart kill terminate pause resume clear purge drop truncate import export copy clone
    fork star unstar follow unfollow lock unlock grant revoke register unregister schedule
    trigger book order pay refund transfer mark complete finish init initialize stage
    unstage stash tag click type press navigate scroll hover drag fill select tap swipe drop
    launch connect disconnect login logout rotate sync refresh build make generate draw
    render record transition link unlink attach detach share unshare join leave mkdir touch
    rm mv cp apply migrate index reindex modify change adjust increment decrement push
    bookmark favorite like dislike vote acknowledge escalate dispatch notify forget remember
    memorize store cache""".split()
)
# Nouns as often as verbs: they say what a tool does only where they come first.
_EITHER: Final = frozenset(
    """order tag link index record like set type star store share build commit pull post book
    fork select stage press fill mark transfer cache schedule lock star vote stash
    import export label reset match change branch merge patch clone pin""".split()
)
_RUNNING: Final = frozenset(
    """run execute exec call invoke process perform do eval request""".split()
)
_SQL_WRITES: Final = re.compile(
    r"\s*(?:insert|update|delete|replace|create|drop|alter|truncate|merge|upsert|grant|revoke|vacuum)\b",
    re.I,
)
_SQL_READS: Final = re.compile(
    r"\s*(?:select|with|values|show|describe|explain|pragma|table)\b", re.I
)
_VERB_ARGUMENTS: Final = ("action", "operation", "op", "command", "method", "verb", "mode")
_NO_PLURALS: Final = ("details", "stats", "statistics", "news", "settings", "contents", "metrics")

_CONTENT: Final = frozenset(
    """cat file files page document doc contents text html markdown url website webpage pdf scrape
    transcript readme note echo""".split()
)


class Called(NamedTuple):
    """What the name of a tool says."""

    words: tuple[str, ...] = ()
    nouns: frozenset[str] = frozenset()
    """The same words in the singular."""
    doing: Doing = "unknown"
    gives_content: bool = False
    """It gives back what somebody wrote, who may have written anything."""
    is_plural: bool = False
    """It is named for several things: `get_users`."""


_NOBODY: Final = Called()


def called(tool: str | None) -> Called:
    """What the name of the tool that was called says."""
    return _called(tool) if tool else _NOBODY


@kept
def _called(tool: str) -> Called:
    words = words_of(tool)
    doing = _doing_of(words)
    is_content = words == ("fetch",) or not _CONTENT.isdisjoint(words)
    nouns = frozenset(map(singular, words))
    return Called(words, nouns, doing, is_content and doing != "list", _is_plural(words))


def _is_plural(words: tuple[str, ...]) -> bool:
    last = words[-1] if words else ""
    return last.endswith("s") and not last.endswith(("ss", "us", "is", *_NO_PLURALS))


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, however they are joined."""
    return tuple(part.lower() for part in _PARTS.findall(name))


def singular(word: str) -> str:
    """`user` of `users`, `query` of `queries`."""
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


@kept
def squeezed(name: str) -> str:
    """A name without what joins its words: `has_more`, `hasMore` and `Has-More` are one."""
    return _JOINTS.sub("", name.lower())


def _doing_of(name: tuple[str, ...]) -> Doing:
    """What a tool does, by the first verb in its name."""
    words = tuple(word for word in name if word not in ("api", "mcp"))
    is_either = False
    for place, word in enumerate(words):
        if word in _EITHER:
            is_either = is_either or (place == 0 and len(words) > 1)
        elif word in _LISTING:
            return "list"
        elif word in _READING:
            return "read"
        elif word in _RUNNING:
            return "run"
        elif word in _ACTING and not (word == "add" and len(words) == 1):
            return "act"
    return "act" if is_either else "unknown"


def doing(name: Called, arguments: Mapping[str, Any] | None) -> Doing:
    """What a call does, by the tool's name and what it was asked to do."""
    if arguments and name.doing in ("run", "unknown", "list"):
        return _doing_of_arguments(arguments, name.doing)
    return name.doing


def _doing_of_arguments(arguments: Mapping[str, Any], otherwise: Doing) -> Doing:
    for name in ("sql", "query", "statement"):
        sql = arguments.get(name)
        if isinstance(sql, str):
            if _SQL_WRITES.match(sql) and len(sql.split()) > 2:
                return "act"
            if _SQL_READS.match(sql) and len(sql.split()) > 2:
                return "list"
    if otherwise == "list":
        return otherwise
    for name in _VERB_ARGUMENTS:
        verb = arguments.get(name)
        if isinstance(verb, str) and len(verb) < 40:
            if verb.upper() in ("POST", "PUT", "PATCH", "DELETE"):
                return "act"
            if verb.upper() in ("GET", "HEAD"):
                return "read"
            found = called(verb).doing
            if found != "unknown":
                return found
    return otherwise
