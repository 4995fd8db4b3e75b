"""Arguments and options of each `accord` command, from the argparse parsers."""

import argparse
from collections.abc import Iterator

from accord.cli import targets
from accord.cli.help import capitalised, help_of, name_of, shown_actions
from accord.cli.main import VERBS, parser_of


def generate() -> str:
    """Return a section for each command."""
    return "\n\n".join(_section(verb, summary) for verb, summary in VERBS.items())


def _section(verb: str, summary: str) -> str:
    parser = parser_of(verb)
    lines = "\n".join(line.strip() for line in (parser.epilog or "").splitlines())
    parts = [
        f"### accord {verb}",
        f"{summary}.",
        *_tables(parser),
        f"```sh\n{lines}\n```",
    ]
    return "\n\n".join(parts)


def _tables(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a table of the general arguments, then one for each group, in the order of `--help`."""
    arguments, options, *groups = parser._action_groups
    yield _table([*_visible(arguments), *_visible(options)])
    for group in filter(_visible, groups):
        yield f"{capitalised(group.title or '')}:"
        yield _table(_visible(group))


def _visible(group: argparse._ArgumentGroup) -> list[argparse.Action]:
    return [each for each in shown_actions(group) if each.dest != "help"]


def _table(actions: list[argparse.Action]) -> str:
    return "\n".join(["| | |", "|---|---|", *map(_row, actions)])


def _row(action: argparse.Action) -> str:
    text = help_of(action).replace(targets.HELP, "a [target](#the-command-line)")
    return f"| `{_cell(name_of(action))}` | {_cell(text)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
