"""`accord completion`: scripts that complete the command line in a shell."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from accord.errors import AccordError

EXAMPLES: Final = """\
  accord completion bash >> ~/.bashrc
  accord completion zsh > ~/.zfunc/_accord
  accord completion fish > ~/.config/fish/completions/accord.fish
"""
_CANDIDATES: Final = "candidates"
_SCRIPTS: Final = {
    # A colon ends a word in bash, but not in a target: so the whole line is passed.
    "bash": """\
_accord() {
    local IFS=$'\\n'
    local found
    found="$(accord completion candidates "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)"
    COMPREPLY=($(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _accord accord
""",
    "zsh": """\
#compdef accord
_accord() {
    local -a found
    found=("${(@f)$(accord completion candidates "${(j: :)${(@q)words[1,CURRENT]}}" 2>/dev/null)}")
    found=("${(@)found:#}")
    if (( $#found )); then compadd -a found; else _files; fi
}
compdef _accord accord
""",
    "fish": """\
function __accord_candidates
    accord completion candidates (commandline -cp | string collect) 2>/dev/null
end
complete -c accord -a '(__accord_candidates)'
""",
}


class _Shells(tuple[str, ...]):
    """The shells, and the hidden choice that their scripts use."""

    __slots__ = ()

    def __contains__(self, word: object) -> bool:
        return word == _CANDIDATES or super().__contains__(word)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb; `line` is for the scripts."""
    parser.add_argument(
        "shell",
        choices=_Shells(_SCRIPTS),
        metavar="SHELL",
        help=f"one of {', '.join(_SCRIPTS)}",
    )
    parser.add_argument("line", nargs="?", default="", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Print the script of a shell, or the candidates for a line."""
    if options.shell in _SCRIPTS:
        print(_SCRIPTS[options.shell], end="")
    else:
        for word in candidates(options.line):
            print(word)
    return 0


def candidates(line: str) -> Iterator[str]:
    """Return the words that may complete a line; none where files are completed."""
    from accord.cli.main import VERBS

    *before, current = _words(line)[1:] or [""]
    if not before:
        found: Sequence[str] = [*VERBS, "--help", "--version"]
    elif before[0] in VERBS:
        found = _verb_candidates(before[0], before[1:], current)
    else:
        found = ()
    return (word for word in found if word.startswith(current))


def _words(line: str) -> list[str]:
    """Split a line as a shell does; the last word is the one being typed."""
    for end in ("", "'", '"'):
        try:
            words = shlex.split(line + end)
        except ValueError:
            continue
        return words if line[-1:].strip() or end else [*words, ""]
    return []


def _verb_candidates(verb: str, before: Sequence[str], current: str) -> Sequence[str]:
    from accord.cli.main import parser_of

    parser = parser_of(verb)
    options = {name: action for action in parser._actions for name in action.option_strings}
    if before and (action := options.get(before[-1])) is not None and action.nargs != 0:
        return _choices(action)
    if current.startswith("-"):
        return list(options)
    positional = [action for action in parser._actions if not action.option_strings]
    given = list(_positionals(before, options))
    if verb == "call" and len(given) == 1:
        return _tools(given[0])
    at = min(len(given), len(positional) - 1)
    return _choices(positional[at]) if positional else ()


def _choices(action: argparse.Action) -> Sequence[str]:
    return [str(choice) for choice in action.choices or ()]


def _positionals(words: Sequence[str], options: dict[str, argparse.Action]) -> Iterator[str]:
    """Yield the words that are neither options nor their values."""
    remaining = iter(words)
    for word in remaining:
        if not word.startswith("-"):
            yield word
        elif word in options and options[word].nargs != 0:
            next(remaining, None)


def _tools(target: str) -> Sequence[str]:
    """Return the tools of a Server; no foreign one is started to complete a word."""
    from accord.cli import targets
    from accord.cli.terminal import stdout_to_stderr

    try:
        with stdout_to_stderr():
            given = targets.expand([target])
            return () if any(map(targets.is_foreign, given)) else list(targets.load(given).tools)
    except AccordError:
        return ()
