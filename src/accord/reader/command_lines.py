"""What a command line does: it changes something, or it asks a program for several things."""

import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Final

from accord.reader.call import Call, doing_of, is_plural, named
from accord.reader.lexicon import memo, words_of
from accord.reader.lexicon.tools import EITHER, LISTING, READING, is_action_verb

_NAMES: Final = ("command", "cmd", "command_line", "commandLine", "args")
_PROGRAMS: Final = frozenset(
    """git docker podman kubectl oc helm terraform aws gcloud az doctl heroku gh glab npm""".split()
)
_LED: Final = frozenset("commit pull merge clone scale patch switch".split())
"""Verbs after the name of a program, whatever else they are."""
_CHANGED_TO: Final = re.compile(r"\Acd \S{1,200} *(?:&&|;) *")
_CHAINED: Final = re.compile(r"&&|[;>]")
_WORD: Final = re.compile(r"[a-z][a-z0-9-]{0,40}")
_LONGEST: Final = 400
_FIRST: Final = 3
"""Words among which the verb is."""


def changes_something(arguments: Mapping[str, Any], called: Call) -> bool:
    """Whether a command line says so by its first words: `kubectl delete pod x`.

    It is that of a known program, which may be in the tool's name, or the tool runs any.
    """
    return any(_is_deed(arguments.get(name), called) for name in _NAMES)


def _is_deed(line: Any, called: Call) -> bool:
    if isinstance(line, str):
        line = _CHANGED_TO.sub("", line[:_LONGEST]).split()
    if not isinstance(line, list):
        return False
    words = [str(word).lower() for word in line[:_FIRST]]
    asked = _after_program(words, called)
    if asked is None:
        return called.intent == "run" and any(map(_is_verb, words))
    if "--dry-run" in line:
        return False
    if words[:1] == ["aws"]:  # `aws ec2 stop-instances`
        asked = [word.partition("-")[0] for word in asked[1:]]
    if not asked or asked[0] in READING or asked[0] in LISTING:
        return False
    return asked[0] in _LED or any(map(_is_verb, asked))


def _after_program(words: list[str], called: Call) -> list[str] | None:
    """What a known program is told; None if it is no such program."""
    if words and words[0] in _PROGRAMS:
        return words[1:]
    is_named = called.intent == "run" and not _PROGRAMS.isdisjoint(called.words)
    return words if is_named else None


def _is_verb(word: str) -> bool:
    return is_action_verb(word) and word not in EITHER


def things_asked_for(arguments: Mapping[str, Any], called: Call) -> Call | None:
    """The call that a command line is, if it asks a known program for several things."""
    line = next((arguments[name] for name in _NAMES if isinstance(arguments.get(name), str)), "")
    if _CHAINED.search(line):
        return None
    words = line[:_LONGEST].split()
    asked = _after_program(words, called)
    if asked is None or words[:1] == ["git"]:  # which shows branches by their names, say
        return None
    return _things(" ".join(takewhile(_WORD.fullmatch, asked)))


@memo
def _things(line: str) -> Call | None:
    """What is asked for: `get pods`, `ec2 describe-instances`; None if it is not several things."""
    words = words_of(line)
    doing = doing_of(words, is_asked=True) if words else "unknown"
    if doing not in ("list", "read") or "config" in words:
        return None
    asked = named(words, doing, is_plural(words))
    return asked if asked.wants_many else None
