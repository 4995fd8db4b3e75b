"""`accord completion`: what a shell needs to complete our words."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from accord.errors import AccordError

EXAMPLES: Final = """\
examples:
  accord completion bash >> ~/.bashrc
  accord completion zsh > ~/.zfunc/_accord
  accord completion fish > ~/.config/fish/completions/accord.fish
"""
_CANDIDATES: Final = "candidates"
_SCRIPTS: Final = {
    # A colon ends a word in bash, but not in a target: so the line goes over as it is.
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
    """The shells, and the word by which their scripts ask us, which nobody needs to know."""

    __slots__ = ()

    def __contains__(self, word: object) -> bool:
        return word == _CANDIDATES or super().__contains__(word)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes; the line is what a script asks about."""
    parser.add_argument(
        "shell",
        choices=_Shells(_SCRIPTS),
        metavar="SHELL",
        help=f"one of {', '.join(_SCRIPTS)}",
    )
    parser.add_argument("line", nargs="?", default="", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Print the script, or what may come next in a line."""
    if options.shell in _SCRIPTS:
        print(_SCRIPTS[options.shell], end="")
    else:
        for word in candidates(options.line):
            print(word)
    return 0


def candidates(line: str) -> Iterator[str]:
    """The words that may stand where a line ends; none where only files make sense."""
    from accord.cli.main import VERBS

    *before, current = _words(line)[1:] or [""]
    if not before:
        found: Sequence[str] = [*VERBS, "--help", "--version"]
    elif before[0] in VERBS:
        found = _of_verb(before[0], before[1:], current)
    else:
        found = ()
    return (word for word in found if word.startswith(current))


def _words(line: str) -> list[str]:
    """A line as a shell takes it apart; the last word is the one that is being typed."""
    for end in ("", "'", '"'):
        try:
            words = shlex.split(line + end)
        except ValueError:
            continue
        return words if line[-1:].strip() or end else [*words, ""]
    return []


def _of_verb(verb: str, before: Sequence[str], current: str) -> Sequence[str]:
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
    """The words that are neither options nor their values."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            yield word
        elif word in options and options[word].nargs != 0:
            next(rest, None)


def _tools(target: str) -> Sequence[str]:
    """The tools of a Server that can be loaded; nobody's process is started for a key press."""
    from accord.cli import targets
    from accord.cli.quiet import quiet

    try:
        with quiet():
            return list(targets.load([target]).tools)
    except AccordError:
        return ()
