"""One call, or one list of tools, of a remote server."""

import asyncio
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from accord.auth.sign_in import SignIn, browser
from accord.cli import targets
from accord.cli.arguments import arguments_of, needs_schema, unknown_tool
from accord.cli.elicitation import TerminalUser
from accord.cli.targets import Target
from accord.cli.terminal import StatusLine, visible
from accord.client import Client, Reply, TaskStatus
from accord.client.tasks import task_in
from accord.errors import ContractError, MCPError, PeerError

_CANCEL_CHECKS: Final = 20
_CANCEL_PAUSE: Final = 0.1  # seconds


class Listing(NamedTuple):
    """The information of a server about itself, and its tools as listed."""

    server: Mapping[str, Any]
    tools: Sequence[Mapping[str, Any]]


@contextmanager
def hinting(target: Target) -> Iterator[None]:
    """Explain an error of a command whose name looks like an environment variable."""
    try:
        yield
    except PeerError as error:
        if target.name is None or not target.name.isupper():
            raise
        raise PeerError(
            f"{error}; {target.name}= is the name of this target: for a variable write"
            f" 'env {target.word}'"
        ) from error


def require_url(target: str) -> None:
    """Raise unless a target is the URL of a server, which alone has a sign-in."""
    if not targets.is_url(target):
        raise ContractError(f"{visible(target)} is not the URL of a server (https://…)")


def auth_for(
    target: str,
    headers: Mapping[str, str],
    line: StatusLine | None = None,
    on_page: Callable[[str], object] = lambda url: None,
) -> SignIn | None:
    """Return the stored sign-in at a URL, unless a header has the token.

    With a status line, which the page's URL interrupts, a new sign-in can be started; `on_page` is
    given the URL, too.
    """
    if not targets.is_url(target) or any(name.lower() == "authorization" for name in headers):
        return None
    if line is None:
        return SignIn(interactive=False)

    def announce(url: str) -> None:
        on_page(url)
        with line.paused():
            browser.announce(url)

    return SignIn(announce=announce)


def call(
    target: str,
    tool: str,
    words: Sequence[str],
    *,
    headers: Mapping[str, str],
    revision: str | None,
    within: float,
) -> tuple[Reply, Mapping[str, Any]]:
    """Return the reply to one call, and its arguments; questions are asked at the terminal.

    Words such as `count=3` are read as the listed schema of the tool says. Ctrl-C ends the server's
    process first; a task of a server at a URL goes on.
    """
    given = None if needs_schema(words) else arguments_of(words)

    async def main() -> tuple[Reply, Mapping[str, Any]]:
        async with _asking_client(target, line, headers, within, revision) as client:
            arguments = given
            if arguments is None:
                arguments = arguments_of(words, await _schema(client, tool))
            reply = await client.call_tool_raw(
                tool, arguments, on_progress=line.progress, task=True
            )
            started = task_in(reply)
            if started is not None:
                reply = await _wait(client, target, started.id, line)
            return reply, arguments

    with StatusLine(f"calling {visible(tool)}") as line:
        return asyncio.run(main())


async def _schema(client: Client, name: str) -> Mapping[str, Any]:
    """Return the input schema of a tool, page by page; empty if the server lists no tools."""
    known: list[str] = []
    try:
        async for tool in client.list_tools():
            if tool.name == name:
                return tool.input_schema
            known.append(tool.name)
    except MCPError:
        return {}
    raise ContractError(unknown_tool(name, known))


def wait_for_task(target: str, task_id: str, *, headers: Mapping[str, str], within: float) -> Reply:
    """Return the reply of a task, once it is over; its questions are asked at the terminal."""

    async def main() -> Reply:
        async with _asking_client(target, line, headers, within, None) as client:
            return await _wait(client, target, task_id, line)

    with StatusLine("waiting for the task") as line:
        return asyncio.run(main())


def cancel_task(target: str, task_id: str, *, headers: Mapping[str, str], within: float) -> str:
    """Ask a server to end a task, and return its status, shortly after."""

    async def main() -> str:
        auth = auth_for(target, headers)
        async with Client(target, headers=headers, auth=auth, timeout=within) as client:
            task = client.task(task_id)
            await task.cancel()
            state = await task.get()
            for _ in range(_CANCEL_CHECKS):
                if state.is_final:
                    break
                await asyncio.sleep(_CANCEL_PAUSE)
                state = await task.get()
            return visible(state.status)

    with StatusLine("cancelling the task"):
        return asyncio.run(main())


def _asking_client(
    target: str,
    line: StatusLine,
    headers: Mapping[str, str],
    within: float,
    revision: str | None,
) -> Client:
    """Return a client whose user answers questions at the terminal."""
    return Client(
        target,
        on_elicit=TerminalUser(line).elicit,
        headers=headers,
        auth=auth_for(target, headers),
        revision=revision,
        timeout=within,
        answer_timeout=None,
    )


async def _wait(client: Client, target: str, task_id: str, line: StatusLine) -> Reply:
    """Wait for a task and show its status; if interrupted, print how to come back to it."""

    def show(state: TaskStatus) -> None:
        line.progress(0, None, state.message or state.status)

    try:
        return await client.task(task_id).wait(show)
    except asyncio.CancelledError:
        if targets.is_url(target):
            with line.paused():
                is_like_option = ["--"] if task_id.startswith("-") else []
                words = shlex.join(["accord", "task", target, *is_like_option, task_id])
                print(f"the task goes on; to wait for it: {visible(words)}", file=sys.stderr)
        raise


def tools(target: str, *, headers: Mapping[str, str], within: float) -> Listing:
    """Return all tools of a server."""

    async def main() -> Listing:
        auth = auth_for(target, headers)
        async with Client(target, headers=headers, auth=auth, timeout=within) as client:
            return Listing(client.server_info, [tool.raw for tool in await client.list_tools()])

    with StatusLine(f"reaching {visible(target)}"):
        return asyncio.run(main())
