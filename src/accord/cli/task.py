"""`accord task`: waits for a task of a remote server and prints its answer, or cancels it."""

import argparse
from pathlib import Path
from typing import Final

from accord.cli import targets
from accord.cli.options import add_remote_options, reply_timeout
from accord.errors import ContractError

EXAMPLES: Final = """\
  accord task https://example.com/mcp 786f1c05-…
  accord task https://example.com/mcp 786f1c05-… --cancel
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("target", metavar="URL", help="URL of the server")
    parser.add_argument("task", metavar="ID", help="id of the task, as accord call printed it")
    parser.add_argument("--cancel", action="store_true", help="ask the server to cancel it")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the raw tool result")
    form.add_argument("--read", action="store_true", help="print the generic response")
    form.add_argument("--table", action="store_true", help="print a table")
    parser.add_argument(
        "--save-to",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder for images, audio and other files in the result (default: this folder)",
    )
    add_remote_options(parser)


def run(options: argparse.Namespace) -> int:
    """Wait for the task and print its answer; exit code 1 if it failed or was cancelled."""
    from accord.cli import remote
    from accord.cli.call import print_reply

    target = targets.parse(options.target)
    if not targets.is_url(target.target):
        raise ContractError(f"{options.target} is not a URL; a command has no tasks once it ended")
    headers, within = dict(options.header), reply_timeout(options)
    if options.cancel:
        status = remote.cancel_task(target.target, options.task, headers=headers, within=within)
        print(f"task {options.task}: {status}")
        return 0
    reply = remote.wait_for_task(target.target, options.task, headers=headers, within=within)
    return print_reply(reply, "", {}, options)
