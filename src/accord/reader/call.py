"""What a call does, derived from the name of its tool and its arguments."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise, takewhile
from typing import Any, Final, Literal, NamedTuple

from accord.reader.lexicon import (
    ARGUMENTS,
    NAMES,
    VERBS,
    memo,
    ordered,
    pairs,
    phrases,
    singular,
    words,
    words_of,
)

Intent = Literal["list", "read", "act", "make", "run", "unknown"]

_ACTING: Final = VERBS.act | VERBS.act_or_noun
_INTENTS: Final[dict[str, Intent]] = {
    **dict.fromkeys(VERBS.act, "act"),
    **dict.fromkeys(VERBS.make, "make"),
    **dict.fromkeys(VERBS.run, "run"),
    **dict.fromkeys(VERBS.read, "read"),
    **dict.fromkeys(VERBS.list, "list"),
}
_NO_PLURAL: Final = ordered("names.no-plural")
_NOUNS: Final = pairs("names.results")
"""The noun for the result of a verb, if it is not the verb itself."""
_FOREIGN_VERBS: Final = pairs("languages.verbs")
_AGENTS: Final = pairs("names.agents")
_PREFIXES: Final = ordered("names.prefixes")
_REPLACING: Final = ("search", "replace")


class Call(NamedTuple):
    """The properties of a call, from the name of its tool and its arguments."""

    words: tuple[str, ...] = ()
    nouns: frozenset[str] = frozenset()
    """`words` in the singular."""
    intent: Intent = "unknown"
    gives_content: bool = False
    """It returns text of other authors, which may contain anything."""
    is_plural: bool = False
    """It is named for several things: `get_users`."""
    wants_many: bool = False
    """It lists or searches, or is named for several things."""
    verbs: frozenset[str] = frozenset()
    """Words of the name that may be verbs of an action, on which the reply may report."""
    gives_prose: bool = False
    """It returns prose: an explanation, an analysis."""
    checks: bool = False
    """A bad finding is not a failure of the tool."""
    gives_output: bool = False
    """It runs a command or code, and returns the output."""
    may_act: bool = False
    """A word of its name could be a verb that changes something."""
    is_about_one: bool = False
    """It returns a description of one thing: `describe_table`, `get_config`."""
    is_about_errors: bool = False
    """It returns errors that are not its own, such as those of a log."""
    is_query: bool = False
    """An argument is a statement that reads."""
    gives_log: bool = False
    """It returns lines of a log, with errors."""
    gives_printed: bool = False
    """It returns the output of a program, in any notation."""
    is_foreign: bool = False
    """It has a name in another language, and may reply in it."""
    runs_action: bool = False
    """It runs a command line that changes something: `kubectl delete pod x`."""
    asks_for_all: bool = False
    """It has no arguments, and its name is not that of one thing."""


def call_of(tool: str | None, arguments: Mapping[str, Any] | None) -> Call:
    """Return what a call does, by the name of the tool and by the arguments."""
    found = _named_call(tool) if tool else _NO_NAME
    if arguments is not None and not arguments and found.intent == "read":
        return found._replace(asks_for_all=not (found.is_about_one or found.checks))
    if not arguments or _INDICATIVE.isdisjoint(arguments):
        return _or_vague(found)
    found = _by_arguments(tool, found, arguments)
    if found.intent in ("run", "unknown") and _runs_action(arguments, found):
        return found._replace(runs_action=True)
    return found


# The name of the tool


_NO_NAME: Final = Call()


@memo
def _named_call(name: str) -> Call:
    parts = words_of(name.rpartition("__")[2] or name)  # gateways put the name of a server first
    if len(parts) > 1 and parts[-1] == "tool":
        parts = parts[:-1]
    if parts and parts[-1] in _AGENTS:
        parts = (_AGENTS[parts[-1]], *parts[:-1])
    is_foreign = not _FOREIGN_VERBS.keys().isdisjoint(parts)
    if is_foreign:
        parts = tuple(_FOREIGN_VERBS.get(word, word) for word in parts)
    found = _described(parts, _intent_of(parts), _is_plural(parts))
    return found._replace(is_foreign=True) if is_foreign else found


def _described(parts: tuple[str, ...], intent: Intent, is_plural: bool) -> Call:
    """Return the properties of a tool from the words of its name, its intent and its number."""
    nouns = frozenset(map(singular, parts)) | {_NOUNS[word] for word in parts if word in _NOUNS}
    head = _head(parts)
    is_collective = bool(parts) and (
        not NAMES.collective.isdisjoint((head[-1], parts[-1])) or not NAMES.ranked.isdisjoint(parts)
    )
    gives_output = intent in ("run", "unknown") and not NAMES.shells.isdisjoint(parts)
    gives_log = not NAMES.logs.isdisjoint(parts)
    is_about_errors = intent != "act" and not NAMES.faults.isdisjoint(nouns)
    reads = intent in ("read", "unknown")
    return Call(
        words=parts,
        nouns=nouns,
        intent=intent,
        gives_content=reads and _gives_content(parts, is_plural),
        is_plural=is_plural,
        wants_many=intent == "list"
        or (reads and (is_plural or is_collective))
        or (intent == "run" and parts[-1] == "query"),
        verbs=frozenset(_verbs(parts, intent)),
        gives_prose=(reads or intent == "make") and not NAMES.prose.isdisjoint(parts),
        checks=intent not in ("list", "act") and not NAMES.checking.isdisjoint(parts),
        gives_output=gives_output,
        may_act=any(word in VERBS.act_or_noun or is_action_verb(word) for word in parts),
        gives_log=gives_log,
        is_about_errors=is_about_errors,
        gives_printed=gives_output or gives_log or is_about_errors,
        is_about_one=(reads or intent == "make")
        and (parts[-1:] == ("health",) or not NAMES.about_one.isdisjoint(parts)),
    )


def _gives_content(parts: tuple[str, ...], is_plural: bool) -> bool:
    """True if a tool that reads returns text of other authors."""
    head = _head(parts)
    if parts != ("fetch",) and NAMES.content.isdisjoint(parts if len(head) < 2 else head):
        return False
    if not (NAMES.about_content.isdisjoint(parts) and NAMES.checking.isdisjoint(parts)):
        return False
    is_document = "to" not in parts or parts[-1] in NAMES.notations
    return is_document and (not is_plural or head[-1] in NAMES.content)


def _verbs(parts: tuple[str, ...], intent: Intent) -> Iterator[str]:
    """Yield the words of a name that may be verbs on which a reply reports."""
    for place, word in enumerate(parts):
        if word in NAMES.half_reading:
            if place < len(parts) - 1:
                yield word
        elif (
            intent != "read" and len(word) > 2 and word not in VERBS.list and word not in VERBS.read
        ):
            yield word


def _head(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words before one that joins others to them: `tags` of `tags_by_note`."""
    for place, word in enumerate(parts):
        if place and word in NAMES.joining:
            return parts[:place]
    return parts


def _is_plural(parts: tuple[str, ...]) -> bool:
    """True if the last word, or the last before `by` or `in`, is a plural."""
    last = _head(parts)[-1] if parts else ""
    if last in ("children", "people"):
        return True
    return last.endswith("s") and not last.endswith(("ss", "us", "is", *_NO_PLURAL))


def is_action_verb(word: str) -> bool:
    """True if a word is a verb that changes something, also with `un` or `bulk` before it."""
    if word in _ACTING:
        return True
    for before in _PREFIXES:
        rest = word.removeprefix(before)
        if rest != word and rest in _ACTING and len(rest) > 2:
            return rest not in NAMES.not_after_prefix
    return False


# The intent, by the verbs of a name


def _intent_of(name: tuple[str, ...], *, is_argument: bool = False) -> Intent:
    """Return the intent by the first verb of a name."""
    parts = _without_fillers(name)
    if len(parts) > 1 and _is_about_action(parts):
        return "list" if parts[-1] == "list" else "read"
    found: Intent = "unknown"
    is_either = False
    for place, word in enumerate(parts):
        if place == 0 and word in NAMES.running_nouns and len(parts) > 2 and _is_verb(parts[1]):
            continue
        is_led = place == 1 and parts[0] in NAMES.services and word in NAMES.verb_led_by_service
        intent = _verb_at(0 if is_led else place, word, len(name) == 1 and not is_argument)
        if intent == "either":
            is_either = True
        elif found == "unknown":
            found = intent
    found = _after_other_words(parts, found)
    is_last = len(parts) > 1 and parts[-1] in NAMES.verb_last
    return "act" if found == "unknown" and (is_either or is_last) else found


def _verb_at(place: int, word: str, is_only: bool) -> Intent | Literal["either"]:
    """Return the intent of a word at a place in a name."""
    if word in VERBS.act_or_noun:
        if place:
            return "unknown"
        return "act" if word in NAMES.verb_first and not is_only else "either"
    if word in VERBS.list_first and not place:
        return "list"
    if word == "add" and is_only:  # it is arithmetic
        return "unknown"
    return _INTENTS.get(word) or ("act" if is_action_verb(word) else "unknown")


def _after_other_words(parts: tuple[str, ...], found: Intent) -> Intent:
    """Return the intent, corrected where another word outweighs the first verb."""
    first, last = (parts[0], parts[-1]) if parts else ("", "")
    if found == "read":
        return "act" if last in NAMES.verb_ending else "list" if last == "list" else "read"
    if first == "make" and is_action_verb(last):
        return "act"
    if first == "perform" and last in ("query", "search"):
        return "list"
    if found == "list" and _REPLACING in pairwise(parts):
        return "act"
    is_chosen = found in ("act", "unknown") and first in NAMES.choosing and "random" in parts
    is_text = first in NAMES.wording and last in NAMES.worded
    return "make" if is_chosen or is_text else found


def _is_verb(word: str) -> bool:
    return word in VERBS.list or word in VERBS.read or is_action_verb(word)


def _without_fillers(name: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a name without fillers such as `mcp`; a pull request is one word."""
    parts = [word for word in name if word not in ("api", "mcp", "tool")]
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] in ("request", "requests") and parts[place - 1] in ("pull", "merge"):
            parts[place - 1 : place + 1] = ["pr"]
    return tuple(parts)


def _is_about_action(parts: tuple[str, ...]) -> bool:
    """True if a tool returns information about an action: `deploy_status`."""
    first, last = parts[0], parts[-1]
    if last in NAMES.topics and NAMES.changing.isdisjoint(parts) and VERBS.list.isdisjoint(parts):
        return True
    return last in NAMES.heads and first in NAMES.action_nouns


# The arguments


_VERB_ARGUMENTS: Final = ordered("arguments.verbs")
_STATEMENTS: Final = ordered("arguments.statements")
_TOOLS: Final = ordered("arguments.tools")
_GIVEN: Final = (*ordered("arguments.given"), "args")
_COMMAND_LINES: Final = ("command", *ordered("arguments.command-lines"), "args")
_RUNS: Final = words("arguments.command-lines", "arguments.code") | {"command", "argv"}
_PLACES: Final = ARGUMENTS.places | {"url"}
_INDICATIVE: Final = (
    frozenset((*_VERB_ARGUMENTS, *_STATEMENTS, *_TOOLS, *_GIVEN, *_COMMAND_LINES))
    | _RUNS
    | _PLACES
    | ARGUMENTS.searches
    | ARGUMENTS.positions
)
"""Arguments that show what a call does."""
_ACTIONS: Final = ("action", "operation")
_HTTP: Final[dict[str, Intent]] = {
    **dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), "act"),
    **dict.fromkeys(("GET", "HEAD"), "read"),
}
_MAX_VERB: Final = 40
"""Characters of an argument that is a verb."""


def _by_arguments(tool: str | None, found: Call, arguments: Mapping[str, Any]) -> Call:
    if found.intent in ("run", "unknown"):
        tool, arguments = _inner_call(tool, found, arguments)
        found = _named_call(tool) if tool else found
    if found.words[-1:] == ("hover",) and _is_in_text(arguments):
        return found._replace(intent="read")  # of a language server
    if found.intent == "act":
        verb = next((arguments[name] for name in _ACTIONS if name in arguments), None)
        if isinstance(verb, str) and verb in NAMES.asking:
            found = _with_verb(f"{tool or ''}\n{verb}") or found
    elif found.intent != "make":
        found = _by_statement(tool, found, arguments)
    found = _or_vague(found)
    if found.intent in ("read", "unknown") and not ARGUMENTS.searches.isdisjoint(arguments):
        return found._replace(wants_many=True, gives_content=False)
    if found.intent in ("run", "unknown") and not _RUNS.isdisjoint(arguments):
        asked = _listed_by_command(arguments, found)
        if asked is None and found.intent == "run":
            return found._replace(gives_output=True, gives_printed=True)
        return asked or found
    is_opened = found.intent == "read" and not NAMES.opening.isdisjoint(found.words)
    if is_opened and not _PLACES.isdisjoint(arguments):
        return found._replace(gives_content=NAMES.about_content.isdisjoint(found.words))
    return found


def _inner_call(
    tool: str | None, found: Call, arguments: Mapping[str, Any]
) -> tuple[str | None, Mapping[str, Any]]:
    """Return the inner tool and its arguments if the tool calls another one; else those given."""
    names = [arguments[name] for name in _TOOLS if isinstance(arguments.get(name), str)]
    if not names and found.intent == "run" and isinstance(arguments.get("arguments"), dict):
        names = [arguments.get("name")] if "tool" in words_of(tool or "") else []
    given = next((arguments[name] for name in _GIVEN if name in arguments), None)
    if not names or not isinstance(names[0], str):
        return tool, arguments
    if _named_call(names[0]).intent == "unknown" and not isinstance(given, dict):
        return tool, arguments
    return names[0], given if isinstance(given, dict) else {}


def _is_in_text(arguments: Mapping[str, Any]) -> bool:
    """True if the arguments name a position in a text, rather than on a screen."""
    position = arguments.get("position")
    return "line" in arguments or (isinstance(position, dict) and "line" in position)


def _or_vague(found: Call) -> Call:
    """Return the call as an action if its only verb is a vague one: `manage`."""
    if found.intent == "unknown" and not NAMES.vague.isdisjoint(found.words):
        return found._replace(intent="act", wants_many=False)
    return found


def _by_statement(tool: str | None, found: Call, arguments: Mapping[str, Any]) -> Call:
    """Return the call, classified by a statement among its arguments, else by a verb."""
    for name in () if found.checks else _STATEMENTS:
        sql = arguments.get(name)
        if isinstance(sql, str):
            if phrases.sql_writes.match(sql):
                return found._replace(intent="act", wants_many=False)
            if found.intent != "list" and phrases.sql_reads.match(sql):
                return found._replace(intent="list", wants_many=True, is_query=True)
    query = arguments.get("query")
    if isinstance(query, str):
        if phrases.mutation.match(query):
            return found._replace(intent="act", wants_many=False)
        if found.intent == "run":
            return found._replace(intent="read", wants_many=False)
    return _by_verb(tool, found, arguments)


def _by_verb(tool: str | None, found: Call, arguments: Mapping[str, Any]) -> Call:
    """Return the call, classified by an argument that is a verb: `action="delete"`."""
    for name in _VERB_ARGUMENTS:
        verb = arguments.get(name)
        if not isinstance(verb, str) or len(verb) >= _MAX_VERB:
            continue
        if name == "command" and found.intent == "run":
            continue  # the command to run
        asked = _with_verb(f"{tool or ''}\n{verb}")
        if asked is not None and (
            found.intent not in ("list", "read") or (asked.intent == "act" and name in _ACTIONS)
        ):
            return asked
    return found


@memo
def _with_verb(both: str) -> Call | None:
    """Return the call of a tool that takes its verb as an argument; None if it is not a verb."""
    tool, _, verb = both.partition("\n")
    parts = words_of(verb)
    intent = _HTTP.get(verb.upper()) or _intent_of(parts, is_argument=True)
    if intent == "unknown":
        return None
    own = words_of(tool)
    return _described((*own, *parts), intent, _is_plural(parts if len(parts) > 1 else own))


# Command lines


_COMMAND_WORD: Final = re.compile(r"[a-z][a-z0-9-]{0,40}")
_MAX_LINE: Final = 400
"""Characters of a command line that are parsed."""
_VERB_WITHIN: Final = 3
"""Words at the start of a command line among which the verb is."""


def _runs_action(arguments: Mapping[str, Any], call: Call) -> bool:
    """True if a command line changes something by its first words: `kubectl delete pod x`.

    It is that of a known program, which may be in the name of the tool, or the tool runs any.
    """
    return any(_is_action_line(arguments.get(name), call) for name in _COMMAND_LINES)


def _is_action_line(line: Any, call: Call) -> bool:
    if isinstance(line, str):
        line = phrases.changed_folder.sub("", line[:_MAX_LINE]).split()
    if not isinstance(line, list):
        return False
    parts = [str(word).lower() for word in line[:_VERB_WITHIN]]
    asked = _after_program(parts, call)
    if asked is None:
        return call.intent == "run" and any(map(_is_only_verb, parts))
    if parts[:1] == ["aws"]:  # `aws ec2 stop-instances`
        asked = [word.partition("-")[0] for word in asked[1:]]
    if "--dry-run" in line or not asked or asked[0] in VERBS.read or asked[0] in VERBS.list:
        return False
    return asked[0] in NAMES.program_verbs or any(map(_is_only_verb, asked))


def _is_only_verb(word: str) -> bool:
    return is_action_verb(word) and word not in VERBS.act_or_noun


def _after_program(parts: list[str], call: Call) -> list[str] | None:
    """Return the words after the name of a known program; None if it is not one."""
    if parts and parts[0] in NAMES.programs:
        return parts[1:]
    is_named = call.intent == "run" and not NAMES.programs.isdisjoint(call.words)
    return parts if is_named else None


def _listed_by_command(arguments: Mapping[str, Any], call: Call) -> Call | None:
    """Return the call for a command line that requests a list from a known program, else None."""
    lines = (arguments.get(name) for name in _COMMAND_LINES)
    line = next((each for each in lines if isinstance(each, str)), "")
    parts = line[:_MAX_LINE].split()
    asked = None if phrases.chained.search(line) else _after_program(parts, call)
    if asked is None or parts[:1] == ["git"]:  # which prints names of branches, for example
        return None
    return _listed_things(" ".join(takewhile(_COMMAND_WORD.fullmatch, asked)))


@memo
def _listed_things(line: str) -> Call | None:
    """Return the call for `get pods` or `describe-instances`; None if it is not a list."""
    parts = words_of(line)
    intent = _intent_of(parts, is_argument=True) if parts else "unknown"
    if intent not in ("list", "read") or "config" in parts:
        return None
    asked = _described(parts, intent, _is_plural(parts))
    return asked if asked.wants_many else None
