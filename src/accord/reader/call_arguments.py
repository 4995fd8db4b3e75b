"""What the arguments of a call say about what was done, beside the tool's name."""

import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Final

from accord.reader.call import ABOUT, Call, Intent, called, doing_of, is_plural, named
from accord.reader.command_lines import changes_something, things_asked_for
from accord.reader.lexicon import memo, words_of
from accord.reader.lexicon.tools import VAGUE

_SQL_WRITES: Final = re.compile(
    r"\s*(?:insert\s+(?:or\s+\w+\s+)?into|update\s+\S+\s+set|delete\s+from|replace\s+into"
    r"|(?:create|drop|alter)\s+(?:\w+\s+){0,3}?"
    r"(?:table|index|view|database|schema|trigger|function|user|role|type|sequence|extension)"
    r"|truncate|merge\s+into|upsert\s+into|grant\s+\S.{0,200}?\sto|revoke\s+\S.{0,200}?\sfrom"
    r"|vacuum|create\s*\(|match\s.{1,2000}\b(?:delete|set|create|merge|remove)\b)\b",
    re.I | re.S,
)
_SQL_READS: Final = re.compile(
    r"\s*(?:select\s+\S|with\s+\w+\s.{0,80}\bas\s*\(|values\s*\("
    r"|show\s+(?:full\s+|all\s+)?(?:tables|databases|schemas|columns|indexe?s|keys|views|create|grants"
    r"|variables|status|processlist|collections|users|functions)\b|describe\s+\S+\s*+;?\s*+$"
    r"|pragma\s+\w|match\s*\(.{1,2000}\breturn\b|from\s+\S+\s*\|)",
    re.I | re.S,
)
_MUTATION: Final = re.compile(r"\s*mutation\s*(?:\w+\s*)?(?:\([^{]{0,2000}\)\s*)?\{")
_VERB_ARGUMENTS: Final = tuple("action operation op command subcommand method verb mode".split())
_ACTIONS: Final = ("action", "operation")
_TELLING: Final = frozenset("status list get info history stats".split())
_WRITES_HTTP: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_READS_HTTP: Final = frozenset({"GET", "HEAD"})
_ADDRESSES: Final = frozenset({"url", "uri", "path", "endpoint"})
_HTTP_VERBS: Final = (("post",), ("put",), ("patch",))
_LONGEST_VERB: Final = 40
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
_STATEMENTS: Final = ("sql", "query", "sql_query", "sqlQuery", "statement", "cypher")
_TOOLS: Final = dict.fromkeys(
    """tool_name toolName tool function_name functionName command_name commandName operation_id
    operationId""".split()
).keys()
"""The tool that is called by another one: the first of these, in every process."""
_GIVEN: Final = ("arguments", "params", "parameters", "args", "input")
_LINES: Final = ("args", "argv")
_TELL: Final = (
    frozenset((*_VERB_ARGUMENTS, *_STATEMENTS, *_TOOLS, *_LINES, *_GIVEN, "line", "position"))
    | _SEARCHES
    | _RUNS
    | _WHERE
    | _ADDRESSES
)
"""The arguments that say something about what is done."""


def call_of(tool: str | None, arguments: Mapping[str, Any] | None) -> Call:
    """What a call says: by the tool's name, and by what it was asked to do."""
    found = _call_of(tool, arguments)
    if arguments and found.intent in ("run", "unknown") and changes_something(arguments, found):
        return found._replace(runs_action=True)
    return found


def _call_of(tool: str | None, arguments: Mapping[str, Any] | None) -> Call:
    """What a call says: by the tool's name, and by what it was asked to do."""
    found = called(tool)
    if arguments is not None and not arguments and found.intent == "read":
        return found._replace(asks_for_all=not (found.is_about_one or found.checks))
    if not arguments or _TELL.isdisjoint(arguments):
        return _vaguely(found)
    if found.intent in ("run", "unknown") and _names_tool(tool, found, arguments):
        tool, arguments = _inner_call(tool, arguments)
        found = called(tool)
    if found.words[-1:] == ("hover",) and _is_in_text(arguments):
        return found._replace(intent="read")  # as a language server does
    if found.intent not in ("act", "make"):
        found = _asked(tool, found, arguments)
    elif found.intent == "act":
        found = _only_told(tool, found, arguments)
    found = _vaguely(found)
    if found.intent == "unknown" and found.words[-1:] in _HTTP_VERBS and _has_address(arguments):
        return found._replace(intent="act")
    if found.intent in ("read", "unknown") and not _SEARCHES.isdisjoint(arguments):
        return found._replace(wants_many=True, gives_content=False)
    if found.intent in ("run", "unknown") and not _RUNS.isdisjoint(arguments):
        asked = things_asked_for(arguments, found)
        if asked is not None:
            return asked
        is_run = found.intent == "run"
        return found._replace(gives_output=True, gives_printed=True) if is_run else found
    is_opened = found.intent == "read" and not _OPENS.isdisjoint(found.words)
    if is_opened and not _WHERE.isdisjoint(arguments) and ABOUT.isdisjoint(found.words):
        return found._replace(gives_content=True)
    return found


def _names_tool(tool: str | None, found: Call, arguments: Mapping[str, Any]) -> bool:
    """Whether another tool is to be called: `call_tool`, with its `name` and `arguments`."""
    if not _TOOLS.isdisjoint(arguments):
        return True
    if not isinstance(arguments.get("name"), str) or "tool" not in words_of(tool or ""):
        return False
    return found.intent == "run" and isinstance(arguments.get("arguments"), dict)


def _inner_call(
    tool: str | None, arguments: Mapping[str, Any]
) -> tuple[str | None, Mapping[str, Any]]:
    """The tool that is called by another one, and what it is given; the same, if there is none."""
    given = next((arguments[name] for name in _GIVEN if name in arguments), None)
    names = [arguments[name] for name in _TOOLS if isinstance(arguments.get(name), str)]
    inner = names[0] if names else arguments.get("name")
    if not isinstance(inner, str) or called(inner).intent == "unknown":
        return tool, arguments
    return inner, given if isinstance(given, dict) else {}


def _is_in_text(arguments: Mapping[str, Any]) -> bool:
    """Whether a place in a text is meant, rather than on a screen."""
    position = arguments.get("position")
    return "line" in arguments or (isinstance(position, dict) and "line" in position)


def _has_address(arguments: Mapping[str, Any]) -> bool:
    return not _ADDRESSES.isdisjoint(arguments)


def _vaguely(found: Call) -> Call:
    if found.intent == "unknown" and not VAGUE.isdisjoint(found.words):
        return found._replace(intent="act", wants_many=False)
    return found


def _asked(tool: str | None, found: Call, arguments: Mapping[str, Any]) -> Call:
    """The same call, by the statement that it carries or by the action that it names."""
    for name in () if found.checks else _STATEMENTS:
        sql = arguments.get(name)
        if isinstance(sql, str):
            if _SQL_WRITES.match(sql):
                return found._replace(intent="act", wants_many=False)
            if found.intent != "list" and _SQL_READS.match(sql):
                return found._replace(intent="list", wants_many=True, is_query=True)
    query = arguments.get("query")
    if isinstance(query, str):
        if _MUTATION.match(query):
            return found._replace(intent="act", wants_many=False)
        if found.intent == "run":
            return found._replace(intent="read", wants_many=False)
    return _by_action(tool, found, arguments)


def _by_action(tool: str | None, found: Call, arguments: Mapping[str, Any]) -> Call:
    """The same call, by an argument that is a verb, or a command line."""
    for name in _VERB_ARGUMENTS:
        verb = arguments.get(name)
        if name == "command" and found.intent == "run":
            continue  # which is what it runs
        if isinstance(verb, str) and len(verb) < _LONGEST_VERB:
            asked = _acted(f"{tool or ''}\n{verb}")
            if asked is not None and _prevails(asked, found, name):
                return asked
    if found.intent == "unknown" and _lists(arguments):
        return _acted(f"{tool or ''}\nlist") or found
    return found


def _only_told(tool: str | None, found: Call, arguments: Mapping[str, Any]) -> Call:
    """The same call, if what it is asked to do is to tell something: `action: "status"`."""
    verb = next((arguments[name] for name in _ACTIONS if name in arguments), None)
    if not isinstance(verb, str) or verb not in _TELLING:
        return found
    return _acted(f"{tool or ''}\n{verb}") or found


def _lists(arguments: Mapping[str, Any]) -> bool:
    """Whether the words of a command line, given as a list of them, end in `list`."""
    line = next((arguments[name] for name in _LINES if name in arguments), None)
    words = [*takewhile(_is_word, line)] if isinstance(line, list) else []
    return words[-1:] == ["list"]


def _is_word(part: Any) -> bool:
    return isinstance(part, str) and part.isalpha()


def _prevails(asked: Call, found: Call, argument: str) -> bool:
    """Whether what an argument says counts for more than what the name does."""
    if found.intent not in ("list", "read"):
        return True
    return asked.intent == "act" and argument in _ACTIONS


@memo
def _acted(both: str) -> Call | None:
    """What a tool does that takes its verb as an argument; None if that is no verb."""
    tool, _, verb = both.partition("\n")
    words = words_of(verb)
    doing: Intent = doing_of(words, is_asked=True)
    if verb.upper() in _WRITES_HTTP:
        doing = "act"
    elif verb.upper() in _READS_HTTP:
        doing = "read"
    if doing == "unknown":
        return None
    own = words_of(tool)
    return named((*own, *words), doing, is_plural(words if len(words) > 1 else own))
