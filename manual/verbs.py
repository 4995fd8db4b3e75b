"""What each verb of the command line takes, from the parsers themselves."""

import argparse
from collections.abc import Iterator

from accord.cli.main import VERBS, parser_of

SHORT = 20
"""Characters: choices that are longer stand behind what they are for."""


def made() -> str:
    """A section for each verb."""
    return "\n\n".join(_section(verb, summary) for verb, summary in VERBS.items())


def _section(verb: str, summary: str) -> str:
    parser = parser_of(verb)
    examples = (parser.epilog or "").partition("examples:\n")[2]
    lines = "\n".join(line.strip() for line in examples.splitlines())
    parts = [
        f"### accord {verb}",
        f"{_capital(summary)}.",
        *_tables(parser),
        f"```sh\n{lines}\n```",
    ]
    return "\n\n".join(parts)


def _tables(parser: argparse.ArgumentParser) -> Iterator[str]:
    """What it takes in any case, and then each group below its title, as `--help` has them."""
    arguments, options, *groups = parser._action_groups
    yield _table([*_shown(arguments), *_shown(options)])
    for group in filter(_shown, groups):
        yield f"{_capital(group.title or '')}:"
        yield _table(_shown(group))


def _shown(group: argparse._ArgumentGroup) -> list[argparse.Action]:
    actions = group._group_actions
    return [each for each in actions if each.help != argparse.SUPPRESS and each.dest != "help"]


def _table(actions: list[argparse.Action]) -> str:
    return "\n".join(["| | |", "|---|---|", *map(_row, actions)])


def _row(action: argparse.Action) -> str:
    said = (action.help or "") % {"default": action.default, "prog": "accord"}
    if action.metavar is None and _choices(action) and not _is_short(action):
        said += f"; one of {', '.join(map(str, action.choices or ()))}"
    return f"| `{_cell(_name(action))}` | {_cell(said)} |"


def _name(action: argparse.Action) -> str:
    choices = _choices(action) if _is_short(action) else ""
    value = str(action.metavar or choices or action.dest.upper())
    if not action.option_strings:
        return value
    options = ", ".join(action.option_strings)
    return options if action.nargs == 0 else f"{options} {value}"


def _choices(action: argparse.Action) -> str:
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""


def _is_short(action: argparse.Action) -> bool:
    return len(_choices(action)) <= SHORT


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
