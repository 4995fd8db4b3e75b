"""Arguments and options of each `accord` verb, from the argparse parsers."""

import argparse
from collections.abc import Iterator

from accord.cli.main import VERBS, parser_of

MAX_INLINE_CHOICES = 20
"""Characters; longer choices follow the help text instead of the option."""


def generate() -> str:
    """Return a section for each verb."""
    return "\n\n".join(_section(verb, summary) for verb, summary in VERBS.items())


def _section(verb: str, summary: str) -> str:
    parser = parser_of(verb)
    examples = (parser.epilog or "").partition("examples:\n")[2]
    lines = "\n".join(line.strip() for line in examples.splitlines())
    parts = [
        f"### accord {verb}",
        f"{_capitalize(summary)}.",
        *_tables(parser),
        f"```sh\n{lines}\n```",
    ]
    return "\n\n".join(parts)


def _tables(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a table of the general arguments, then one for each group, in the order of `--help`."""
    arguments, options, *groups = parser._action_groups
    yield _table([*_visible(arguments), *_visible(options)])
    for group in filter(_visible, groups):
        yield f"{_capitalize(group.title or '')}:"
        yield _table(_visible(group))


def _visible(group: argparse._ArgumentGroup) -> list[argparse.Action]:
    actions = group._group_actions
    return [each for each in actions if each.help != argparse.SUPPRESS and each.dest != "help"]


def _table(actions: list[argparse.Action]) -> str:
    return "\n".join(["| | |", "|---|---|", *map(_row, actions)])


def _row(action: argparse.Action) -> str:
    text = (action.help or "") % {"default": action.default, "prog": "accord"}
    if action.metavar is None and _choices(action) and not _is_inline(action):
        text += f"; one of {', '.join(map(str, action.choices or ()))}"
    return f"| `{_cell(_name(action))}` | {_cell(text)} |"


def _name(action: argparse.Action) -> str:
    choices = _choices(action) if _is_inline(action) else ""
    value = str(action.metavar or choices or action.dest.upper())
    if not action.option_strings:
        return value
    options = ", ".join(action.option_strings)
    return options if action.nargs == 0 else f"{options} {value}"


def _choices(action: argparse.Action) -> str:
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""


def _is_inline(action: argparse.Action) -> bool:
    return len(_choices(action)) <= MAX_INLINE_CHOICES


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
