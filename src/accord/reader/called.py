"""What the name of a tool and its arguments say about what was done."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise, takewhile
from typing import Any, Final, Literal, NamedTuple

from accord.reader.glossary import VERBS
from accord.reader.kept import kept
from accord.reader.verbs import (
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
    VAGUE,
    WORDED,
    acts,
    may_act,
)

Doing = Literal["list", "read", "act", "make", "run", "unknown"]

_PLAINLY_READING: Final = frozenset(
    "get show read fetch describe view check count status info".split()
)
_WORDING: Final = (("build",), ("optimize",))
_REPLACING: Final = ("search", "replace")
_CHOOSING: Final = (("pick",), ("choose",), ("select",))
_JOINTS: Final = re.compile(r"[^a-z0-9]")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SQL_WRITES: Final = re.compile(
    r"\s*(?:insert\s+(?:or\s+\w+\s+)?into|update\s+\S+\s+set|delete\s+from|replace\s+into"
    r"|(?:create|drop|alter)\s+(?:\w+\s+){0,3}?"
    r"(?:table|index|view|database|schema|trigger|function|user|role|type|sequence|extension)"
    r"|truncate|merge\s+into|upsert\s+into|grant\s+.{1,200}\s+to|revoke\s+.{1,200}\s+from"
    r"|vacuum|create\s*\(|match\s.{1,2000}\b(?:delete|set|create|merge|remove)\b)\b",
    re.I | re.S,
)
_SQL_READS: Final = re.compile(
    r"\s*(?:select\s+\S|with\s+\w+\s.{0,80}\bas\s*\(|values\s*\(|show\s+(?:full\s+|all\s+)?(?:tables|databases|schemas|columns|indexe?s|keys|views|create|grants"
    r"|variables|status|processlist|collections|users|functions)\b|describe\s+\S+\s*;?\s*$"
    r"|pragma\s+\w|match\s*\(.{1,2000}\breturn\b|from\s+\S+\s*\|)",
    re.I | re.S,
)
_MUTATION: Final = re.compile(r"\s*mutation\s*(?:\w+\s*)?(?:\([^{]{0,2000}\)\s*)?\{")
_VERB_ARGUMENTS: Final = (
    *("action", "operation", "op", "command", "subcommand", "method", "verb", "mode"),
)
_PROGRAMS: Final = frozenset("kubectl helm aws gcloud az gh glab doctl heroku oc".split())
_COMMAND: Final = re.compile(r"[a-z][a-z0-9-]{0,40}")
_LONGEST_LINE: Final = 400
_MOST_COMMANDS: Final = 4
_SHELLS: Final = frozenset({"shell", "bash", "powershell", "terminal"})
_ACTIONS: Final = ("action", "operation")
_TELLING: Final = frozenset("status list get info show history stats".split())
_WRITES_HTTP: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_READS_HTTP: Final = frozenset({"GET", "HEAD"})
_ADDRESSES: Final = frozenset({"url", "uri", "path", "endpoint"})
_HTTP_VERBS: Final = (("post",), ("put",), ("patch",))
_LONGEST_VERB: Final = 40
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
_ABOUT: Final = frozenset(
    """info metadata outline properties stats statistics size status permissions history list
    count data excel sheet workbook rows cells table""".split()
)
"""With one of these, it is not the content that is given."""
_ONE: Final = frozenset(
    """describe inspect health info information detail details summary overview status profile
    schema metadata stats config configuration settings documentation guide help instructions readme
    prompt template skeleton structure state properties practices conventions principles""".split()
)
_RUNS: Final = frozenset(
    "command cmd command_line commandLine argv code code_snippet script".split()
)
_OPENS: Final = frozenset("read cat view open scrape load fetch".split())
_SEARCHES: Final = frozenset(
    """search pattern keyword keywords search_pattern searchPattern search_term searchTerm
    search_text searchText search_query searchQuery""".split()
)
"""Arguments that only a search takes."""
_WHERE: Final = frozenset(
    """path file filename filepath file_path filePath url uri key object_key objectKey""".split()
)


_LOGS: Final = frozenset({"log", "logs", "logcat", "stderr", "output", "journal"})
_STATEMENTS: Final = ("sql", "query", "sql_query", "sqlQuery", "statement", "cypher")
_TOOLS: Final = frozenset(
    """tool_name toolName tool function_name functionName command_name commandName operation_id
    operationId arguments""".split()
)
"""The tool that is called by another one; `arguments` goes with its `name`."""
_POSITIONS: Final = frozenset({"line", "position"})
_GIVEN: Final = ("arguments", "params", "parameters", "args", "input")
_LINES: Final = ("args", "argv")
_TELL: Final = (
    frozenset((*_VERB_ARGUMENTS, *_STATEMENTS, *_TOOLS, *_LINES, *_POSITIONS))
    | _SEARCHES
    | _RUNS
    | _WHERE
)
"""The arguments that say something about what is done."""


class Called(NamedTuple):
    """What the name of a tool says, and what it was asked to do."""

    words: tuple[str, ...] = ()
    nouns: frozenset[str] = frozenset()
    """The same words in the singular."""
    doing: Doing = "unknown"
    gives_content: bool = False
    """It gives back what somebody wrote, who may have written anything."""
    is_plural: bool = False
    """It is named for several things: `get_users`."""
    wants_many: bool = False
    """It lists or searches, or is named for several things."""
    deeds: frozenset[str] = frozenset()
    """Words of the name that are no verb of reading: the reply may report on them."""
    tells: bool = False
    """It gives words about something: an explanation, an analysis."""
    checks: bool = False
    """What it finds to be bad is no failure of its own."""
    gives_output: bool = False
    """It runs what it is given, and gives the output."""
    may_act: bool = False
    """A word of its name could be a verb that changes something."""
    is_one: bool = False
    """It is named for what is said about one thing: `describe_table`, `get_config`."""
    is_about_faults: bool = False
    """It tells of errors that others made."""
    is_statement: bool = False
    """It was given a statement that reads."""
    is_log: bool = False
    """It gives back lines that were logged, errors among them."""
    prints: bool = False
    """What it gives was printed or told by others, in whatever notation."""
    is_foreign: bool = False
    """It is named in another language, in which it may also answer."""
    is_bare: bool = False
    """It was given nothing at all, and is named for no one thing: it was asked for all there is."""


_NOBODY: Final = Called()


def called(tool: str | None) -> Called:
    """What the name of the tool that was called says."""
    return _called(tool) if tool else _NOBODY


def call_of(tool: str | None, arguments: Mapping[str, Any] | None) -> Called:
    """What a call says: by the tool's name, and by what it was asked to do."""
    found = called(tool)
    if arguments is not None and not arguments and found.doing == "read":
        return found._replace(is_bare=not (found.is_one or found.checks))
    if not arguments or _TELL.isdisjoint(arguments):
        return _vaguely(found)
    if found.doing in ("run", "unknown") and not _TOOLS.isdisjoint(arguments):
        tool, arguments = _passed_on(tool, arguments)
        found = called(tool)
    if found.words[-1:] == ("hover",) and not _POSITIONS.isdisjoint(arguments):
        return found._replace(doing="read")  # as a language server does
    if found.doing not in ("act", "make"):
        found = _asked(tool, found, arguments)
    elif found.doing == "act":
        found = _only_told(tool, found, arguments)
    found = _vaguely(found)
    if found.doing == "unknown" and found.words[-1:] in _HTTP_VERBS and _has_address(arguments):
        return found._replace(doing="act")
    if found.doing in ("read", "unknown") and not _SEARCHES.isdisjoint(arguments):
        return found._replace(wants_many=True, gives_content=False)
    if found.doing in ("run", "unknown") and not _RUNS.isdisjoint(arguments):
        asked = _by_command(found, arguments)
        if asked is not None:
            return asked
        return found._replace(gives_output=True, prints=True) if found.doing == "run" else found
    is_opened = found.doing == "read" and not _OPENS.isdisjoint(found.words)
    if is_opened and not _WHERE.isdisjoint(arguments) and _ABOUT.isdisjoint(found.words):
        return found._replace(gives_content=True)
    return found


def _passed_on(
    tool: str | None, arguments: Mapping[str, Any]
) -> tuple[str | None, Mapping[str, Any]]:
    """The tool that is called by another one, and what it is given; the same, if there is none."""
    given = next((arguments[name] for name in _GIVEN if name in arguments), None)
    names = [arguments[name] for name in _TOOLS if isinstance(arguments.get(name), str)]
    inner = names[0] if names else arguments.get("name")
    if not isinstance(inner, str) or called(inner).doing == "unknown":
        return tool, arguments
    return inner, given if isinstance(given, dict) else {}


def _has_address(arguments: Mapping[str, Any]) -> bool:
    return not _ADDRESSES.isdisjoint(arguments)


def _vaguely(found: Called) -> Called:
    if found.doing == "unknown" and not VAGUE.isdisjoint(found.words):
        return found._replace(doing="act", wants_many=False)
    return found


@kept
def _called(name: str) -> Called:
    words = words_of(name.rpartition("__")[2] or name)  # as gateways join a server's name to it
    if len(words) > 1 and words[-1] == "tool":
        words = words[:-1]
    is_foreign = not VERBS.keys().isdisjoint(words)
    if is_foreign:
        words = tuple(VERBS.get(word, word) for word in words)
    found = _made(words, _doing_of(words), _is_plural(words))
    return found._replace(is_foreign=True) if is_foreign else found


def _made(words: tuple[str, ...], doing: Doing, is_plural: bool) -> Called:
    head = _head(words)
    is_content = words == ("fetch",) or not _CONTENT.isdisjoint(words if len(head) < 2 else head)
    if is_content:
        is_told = doing in ("read", "unknown") and _ABOUT.isdisjoint(words)
        is_told = is_told and ("to" not in words or words[-1] in _NOTATIONS)
        is_told = is_told and CHECKING.isdisjoint(words)
        is_content = is_told and (not is_plural or head[-1] in _CONTENT)
    nouns = frozenset(map(singular, words)) | {NOUNS[word] for word in words if word in NOUNS}
    is_collective = bool(words) and (words[-1] in _COLLECTIVE or not _RANKED.isdisjoint(words))
    gives_output = doing in ("run", "unknown") and not SHELLS.isdisjoint(words)
    is_log = not _LOGS.isdisjoint(words)
    is_about_faults = doing != "act" and not FAULTS.isdisjoint(nouns)
    return Called(
        words=words,
        nouns=nouns,
        doing=doing,
        gives_content=is_content,
        is_plural=is_plural,
        wants_many=doing == "list"
        or (doing in ("read", "unknown") and (is_plural or is_collective))
        or (doing == "run" and words[-1] == "query"),
        deeds=frozenset(_deeds(words, doing)),
        tells=doing in ("read", "unknown", "make") and not TELLING.isdisjoint(words),
        checks=doing not in ("list", "act") and not CHECKING.isdisjoint(words),
        gives_output=gives_output,
        may_act=may_act(words),
        is_log=is_log,
        is_about_faults=is_about_faults,
        prints=gives_output or is_log or is_about_faults,
        is_one=doing in ("read", "unknown", "make") and not _ONE.isdisjoint(words),
    )


def _deeds(words: tuple[str, ...], doing: Doing) -> Iterator[str]:
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


def _is_plural(words: tuple[str, ...]) -> bool:
    """Whether the thing that a name ends with, or that it has before `by` or `in`, is several."""
    last = _head(words)[-1] if words else ""
    if last in ("children", "people"):
        return True
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


def _doing_of(name: tuple[str, ...], *, is_asked: bool = False) -> Doing:
    """What a tool does, by the first verb in its name; `search_and_replace` does the second."""
    words = _told(name)
    if len(words) > 1 and _is_about(words):
        return "list" if words[-1] == "list" else "read"
    found: Doing = "unknown"
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


def _after_all(words: tuple[str, ...], found: Doing) -> Doing:
    """What a tool does after all, where another word says more than the first verb."""
    first, last = words[:1], words[-1] if words else ""
    if found == "read":
        if last in ENDING and words[0] not in _PLAINLY_READING:
            return "act"
        return "list" if last == "list" else "read"
    if first == ("make",) and acts(last):
        return "act"
    if found == "list" and _REPLACING in pairwise(words):
        return "act"
    is_chosen = found in ("act", "unknown") and first in _CHOOSING and "random" in words
    is_worded = first in _WORDING and last in WORDED
    return "make" if is_chosen or is_worded else found


def _is_verb(words: tuple[str, ...]) -> bool:
    return any(word in LISTING or word in READING or acts(word) for word in words)


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
    if words[-1] in TITLES and (words[0] in EITHER or not acts(words[0])):
        return True
    return words[-1] in HEADS and words[0] in DEED_NOUNS


def _is_led(word: str, words: tuple[str, ...]) -> bool:
    """Whether the second word of a name is its verb."""
    return (word in LED and len(words) > 2) or (word in LED_BY_SERVICE and words[0] in SERVICES)


def _verb(word: str, place: int, *, is_name: bool) -> Doing | Literal["either"]:
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
    if acts(word) and not (word == "add" and is_name):  # `add` is arithmetic
        return "act"
    return "unknown"


def _asked(tool: str | None, found: Called, arguments: Mapping[str, Any]) -> Called:
    """The same call, by the statement that it carries or by the action that it names."""
    for name in () if found.checks else _STATEMENTS:
        sql = arguments.get(name)
        if isinstance(sql, str):
            if _SQL_WRITES.match(sql):
                return found._replace(doing="act", wants_many=False)
            if found.doing != "list" and _SQL_READS.match(sql):
                return found._replace(doing="list", wants_many=True, is_statement=True)
    query = arguments.get("query")
    if isinstance(query, str):
        if _MUTATION.match(query):
            return found._replace(doing="act", wants_many=False)
        if found.doing == "run":
            return found._replace(doing="read", wants_many=False)
    return _by_action(tool, found, arguments)


def _by_action(tool: str | None, found: Called, arguments: Mapping[str, Any]) -> Called:
    """The same call, by an argument that is a verb, or a command line."""
    for name in _VERB_ARGUMENTS:
        verb = arguments.get(name)
        is_line = found.doing == "run" or not _SHELLS.isdisjoint(found.words)
        if name == "command" and (is_line or (isinstance(verb, str) and " " in verb)):
            continue  # which is what it runs
        if isinstance(verb, str) and len(verb) < _LONGEST_VERB:
            asked = _acted(f"{tool or ''}\n{verb}")
            if asked is not None and _prevails(asked, found, name):
                return asked
    if found.doing == "unknown" and _lists(arguments):
        return _acted(f"{tool or ''}\nlist") or found
    return found


def _only_told(tool: str | None, found: Called, arguments: Mapping[str, Any]) -> Called:
    """The same call, if what it is asked to do is to tell something: `action: "status"`."""
    verb = next((arguments[name] for name in _ACTIONS if name in arguments), None)
    if not isinstance(verb, str) or verb not in _TELLING:
        return found
    return _acted(f"{tool or ''}\n{verb}") or found


def _by_command(found: Called, arguments: Mapping[str, Any]) -> Called | None:
    """The same call, by the command line of a program that is known to list or to get things."""
    line = next((arguments[name] for name in _RUNS if isinstance(arguments.get(name), str)), "")
    words = line[:_LONGEST_LINE].split()
    if words[:1] and words[0] in _PROGRAMS:
        del words[0]
    elif _PROGRAMS.isdisjoint(found.words):
        return None
    verbs = takewhile(_is_command, words[:_MOST_COMMANDS])
    return _commanded(" ".join(verbs))


def _is_command(word: str) -> bool:
    return _COMMAND.fullmatch(word) is not None


@kept
def _commanded(line: str) -> Called | None:
    """What a program is asked for: `get pods`, `ec2 describe-instances`; None if not for things."""
    words = words_of(line)
    doing = _doing_of(words, is_asked=True) if words else "unknown"
    asked = _made(words, doing, _is_plural(words)) if doing in ("list", "read") else None
    return asked if asked is not None and asked.wants_many else None


def _lists(arguments: Mapping[str, Any]) -> bool:
    """Whether the words of a command line, given as a list of them, end in `list`."""
    line = next((arguments[name] for name in _LINES if name in arguments), None)
    words = [*takewhile(_is_word, line)] if isinstance(line, list) else []
    return words[-1:] == ["list"]


def _is_word(part: Any) -> bool:
    return isinstance(part, str) and part.isalpha()


def _prevails(asked: Called, found: Called, argument: str) -> bool:
    """Whether what an argument says counts for more than what the name does."""
    if found.doing not in ("list", "read"):
        return True
    return asked.doing == "act" and argument in ("action", "operation")


@kept
def _acted(both: str) -> Called | None:
    """What a tool does that takes its verb as an argument; None if that is no verb."""
    tool, _, verb = both.partition("\n")
    words = words_of(verb)
    doing: Doing = _doing_of(words, is_asked=True)
    if verb.upper() in _WRITES_HTTP:
        doing = "act"
    elif verb.upper() in _READS_HTTP:
        doing = "read"
    if doing == "unknown":
        return None
    is_plural = _is_plural(words if len(words) > 1 else words_of(tool))
    return _made((*words_of(tool), *words), doing, is_plural)
