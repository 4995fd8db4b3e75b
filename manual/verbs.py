"""What each verb of the command line takes, from the parsers themselves."""

import argparse

from accord.cli.main import VERBS, parser_of


def made() -> str:
    """A section for each verb."""
    return "\n\n".join(_section(verb, summary) for verb, summary in VERBS.items())


def _section(verb: str, summary: str) -> str:
    parser = parser_of(verb)
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    rows = [_row(action) for action in actions if action.dest != "help"]
    table = "\n".join(["| | |", "|---|---|", *rows])
    examples = (parser.epilog or "").partition("examples:\n")[2]
    lines = "\n".join(line.strip() for line in examples.splitlines())
    title = summary[0].upper() + summary[1:]
    return f"### accord {verb}\n\n{title}.\n\n{table}\n\n```sh\n{lines}\n```"


def _row(action: argparse.Action) -> str:
    said = (action.help or "") % {"default": action.default, "prog": "accord"}
    return f"| `{_cell(_name(action))}` | {_cell(said)} |"


def _name(action: argparse.Action) -> str:
    choices = "{" + ",".join(map(str, action.choices or ())) + "}"
    value = str(action.metavar or (choices if action.choices else action.dest.upper()))
    if not action.option_strings:
        return value
    options = ", ".join(action.option_strings)
    return options if action.nargs == 0 else f"{options} {value}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
