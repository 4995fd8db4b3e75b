"""`accord call`: calls one tool and prints its answer."""

import argparse
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.cli import databases, targets
from accord.cli.arguments import arguments_of, unknown_tool
from accord.cli.local_run import LocalRun
from accord.cli.logs import log_directly
from accord.cli.options import (
    GRACE_HELP,
    add_grace_argument,
    add_key_argument,
    add_remote_options,
    add_sheet_arguments,
    key_from,
    reply_timeout,
    sheet_options,
)
from accord.cli.parsing import Parser
from accord.cli.targets import Target
from accord.cli.terminal import StatusLine, for_stdout, show_progress, stdout_to_stderr, visible
from accord.errors import ContractError
from accord.model.answer import Answer, InputRequired
from accord.model.context import ClientInfo
from accord.model.questions import Question
from accord.profiles import PROFILES, Profile, asking_for
from accord.protocol import Request
from accord.protocol.input_state import Retry
from accord.revisions import NEWEST, REVISIONS
from accord.serve.call import CallbackEdge, RunningCall
from accord.server.operation import Done

if TYPE_CHECKING:
    from accord.client import Reply
    from accord.reader import Reading

EXAMPLES: Final = """\
  accord call shop.py add a=2 b=3
  accord call shop:server add '{"a": 2, "b": 3}'
  accord call shop:server orders customer=ada --table
  accord call shop:server orders customer=ada --json
  accord call shop:server add '{"a": 2, "b": 3}' --profile envelope --json
  accord call 'accord serve shop:server' orders customer=ada --read
  echo '{"a": 2, "b": 3}' | accord call shop:server add -
  accord call shop.db run_query query='SELECT * FROM users' --table
  accord call accord.toml shop_list_tables
"""
_ELICITATION: Final[dict[str, Any]] = {"elicitation": {"form": {}, "url": {}}}
_PROGRESS_META: Final = b'{"progressToken": "accord"}'
_DEFAULT_PROFILE: Final = "generic"  # it has a member for everything


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.targets = True
    parser.add_argument(
        "target",
        metavar="TARGET",
        help=targets.HELP,
    )
    parser.add_argument("tool", metavar="TOOL", help="name of the tool")
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="ARGUMENT",
        help="NAME=TEXT, read as the type that the tool expects; NAME:=JSON; NAME[KEY]=TEXT within"
        " an object, NAME[]=TEXT for one more item of a list; or all as a JSON object, - for one"
        " on standard input",
    )
    parser.add_argument(
        "--profile",
        choices=list(PROFILES),
        help="print the result in this profile",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="print the raw tool result; with --profile envelope or generic, that object",
    )
    form.add_argument(
        "--read",
        action="store_true",
        help="print the generic response, whatever the format of the server",
    )
    form.add_argument("--table", action="store_true", help="print a table")
    parser.add_argument(
        "--save-to",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder for images, audio and other files in the result (default: this folder)",
    )
    parser.add_argument(
        "--revision",
        choices=list(REVISIONS),
        help=f"MCP revision to use (default {NEWEST.date}, or the newest that the server supports)",
    )
    add_grace_argument(parser, GRACE_HELP)
    add_key_argument(parser)
    add_remote_options(parser, timeout="; of a database, 5")
    databases.add_arguments(parser, timeout=False)
    add_sheet_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Call the tool; exit code 1 if it failed."""
    log_directly()
    given = targets.expand([options.target])
    names = [each.target for each in given]
    is_remote = len(given) == 1 and targets.is_remote(names[0])
    _check_options(options, names, is_remote=is_remote)
    other = () if any(map(databases.is_database, names)) else ("timeout",)
    database = databases.database_options(options, *names, exclude=other)
    sheets = sheet_options(options, *names)
    return _call_remote(options, given[0]) if is_remote else _call(options, given, database, sheets)


def _check_options(options: argparse.Namespace, names: Sequence[str], *, is_remote: bool) -> None:
    """Raise on options that would have no effect."""
    targets.require_tools(*names)
    if options.header and not is_remote:
        raise ContractError(
            "--header requires a remote server; this target is called in this process"
        )
    if options.timeout is not None and not (is_remote or any(map(databases.is_database, names))):
        raise ContractError("--timeout requires a database or a remote server")
    if options.profile is not None and is_remote:
        raise ContractError(
            "--profile requires a Server target; a remote server renders its own answers"
        )
    if options.key_file is not None and is_remote:
        raise ContractError(
            "--key-file requires a Server target; a remote server signs its own cursors"
        )


def _call(
    options: argparse.Namespace,
    given: Sequence[Target],
    database: Mapping[str, Any],
    sheets: Mapping[str, Any],
) -> int:
    """Call a tool of a server in this process."""
    key = key_from(options)
    with stdout_to_stderr(), StatusLine(f"loading {options.target}"):
        server = targets.load(given, database=database, sheets=sheets, key=key)
    with LocalRun(server, options.grace) as local:
        if options.tool not in server.tools:  # only now: the lifespan may add tools
            raise ContractError(unknown_tool(options.tool, server.tools))
        client = ClientInfo(REVISIONS[options.revision or NEWEST.date], _capabilities(options))
        schema = server.tools[options.tool].input_schema
        arguments = msgspec.json.encode(arguments_of(options.arguments, schema))
        request = Request(1, client, name=options.tool, arguments=arguments, meta=_PROGRESS_META)
        if not local.has_lifespan:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the process, not just the tool
        with stdout_to_stderr(), StatusLine(f"calling {options.tool}") as line:
            done = _run(local, request, _TerminalEdge(line))
        local.code = 0 if isinstance(done.outcome, Answer) else 1
        _print_done(done, request, options)
    return local.code


def _print_done(done: Done, request: Request, options: argparse.Namespace) -> None:
    reply = msgspec.json.decode(done.reply, type=_Reply)
    if options.read:
        _print_reading(_reading(done.reply, request))
    elif options.profile is None and not options.json:
        _print_answer(_reading(done.reply, request), options)
    elif options.profile is not None and reply.error is msgspec.UNSET:
        _print_content(reply.result, PROFILES[options.profile], is_raw=options.json)
    else:
        _print_json(reply.result if reply.error is msgspec.UNSET else reply.error)


class _TerminalEdge(CallbackEdge):
    """An edge that shows progress in a status line, and asks questions at the terminal."""

    def __init__(self, line: StatusLine) -> None:
        super().__init__(lambda raw: show_progress(line, msgspec.json.decode(raw)))
        self._line = line

    async def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Ask questions of the handshake era; the tool waits."""
        revision = call.request.revision
        return {key: self.answer(each.params(revision)) for key, each in questions.items()}

    def answer(self, params: Mapping[str, Any]) -> bytes:
        """Return the response to an elicitation, the only capability of this client."""
        from accord.cli import elicitation
        from accord.client.input_requests import elicit_request, elicit_result

        response = elicitation.ask(elicit_request(params), self._line)
        return msgspec.json.encode(elicit_result(response))


def _run(local: LocalRun, request: Request, edge: _TerminalEdge) -> Done:
    """Run a call; in the stateless era, repeat it with the responses to its questions."""
    while True:
        done = local.run(RunningCall(request, None, edge))
        if not isinstance(done.outcome, InputRequired):
            return done
        result = msgspec.json.decode(done.reply)["result"]
        responses = {
            key: msgspec.Raw(edge.answer(each["params"]))
            for key, each in result["inputRequests"].items()
        }
        retry = Retry(msgspec.Raw(msgspec.json.encode(responses)), result["requestState"])
        request = msgspec.structs.replace(request, retry=retry)


def _capabilities(options: argparse.Namespace) -> dict[str, Any]:
    """Return the client capabilities: elicitation, and those that request the profile."""
    if options.profile is None and (options.json or options.read):
        return _ELICITATION
    return _ELICITATION | asking_for(options.profile or _DEFAULT_PROFILE)


class _Reply(msgspec.Struct, frozen=True):
    """The members of a JSON-RPC reply."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _reading(reply: bytes, request: Request) -> "Reading":
    from accord.reader import read

    return read(reply, request.name, msgspec.json.decode(request.arguments))


def _call_remote(options: argparse.Namespace, target: Target) -> int:
    """Call a tool of a remote server."""
    from accord.cli import remote

    if not options.tool.startswith(target.prefix):
        raise ContractError(
            f"no tool {options.tool!r}; the tools of {target.name} begin with {target.prefix}:"
            f" {target.prefix}{options.tool}"
        )
    with remote.hinting(target):
        reply, arguments = remote.call(
            target.target,
            options.tool.removeprefix(target.prefix),
            options.arguments,
            headers=dict(options.header),
            revision=options.revision,
            within=reply_timeout(options),
        )
    return print_reply(reply, options.tool, arguments, options)


def print_reply(
    reply: "Reply", tool: str, arguments: Mapping[str, Any], options: argparse.Namespace
) -> int:
    """Print the reply of a remote server as the options say; return the exit code."""
    from accord.reader import read
    from accord.reader.reading import to_json

    reading = read(reply.raw, tool, arguments)
    if options.json:
        content = reply.result if reply.error is None else reply.error
        print(visible(to_json(content, indent=2).decode(), keeps_lines=True))
    elif options.read:
        _print_reading(reading)
    else:
        _print_answer(reading, options)
    return 1 if reading.is_failure else 0


def _print_content(result: msgspec.Raw, profile: Profile, *, is_raw: bool) -> None:
    """Print the content of a result, as a client would show it."""
    if is_raw and not profile.has_own_shape:
        _print_json(result)
        return
    blocks = msgspec.json.decode(result)["content"]
    if is_raw:
        _print_json(blocks[0]["text"].encode())
        return
    for block in blocks:
        print(for_stdout(block["text"]) if block["type"] == "text" else f"[{block['type']}]")


def _print_json(json: bytes | msgspec.Raw) -> None:
    """Print indented JSON; escapes keep it valid."""
    indented = msgspec.json.format(bytes(json), indent=2).decode()
    print(visible(indented, keeps_lines=True), flush=True)


def _print_reading(reading: "Reading") -> None:
    from accord.cli.read import print_reading

    print_reading(reading)


def _print_answer(reading: "Reading", options: argparse.Namespace) -> None:
    """Print a result for a person, and save the images, audio and files in it."""
    from accord.cli.media import media_in, save, saved_line
    from accord.cli.read import print_answer, print_table

    saved: list[str] = []
    if (reading.response.metadata or {}).get("attachments"):
        result = msgspec.json.decode(reading.raw).get("result")
        name = getattr(options, "tool", "result")
        saved += (saved_line(each, save(each, options.save_to)) for each in media_in(result, name))
    (print_table if options.table else print_answer)(reading, saved)
