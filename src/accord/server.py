"""A server: tools by name, what it says of itself, and how one call is run and worded."""

import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, overload

import msgspec
from msgspec import Raw

from accord.answer import Answer, Encoded, Problem, Said
from accord.errors import (
    INVALID_PARAMS,
    MISSING_CLIENT_CAPABILITY,
    ContractError,
    Reject,
)
from accord.profiles import Profile, profile_named
from accord.protocol import Call, Connection, results
from accord.protocol.results import Identity
from accord.revisions import Revision
from accord.seal import BrokenSeal, Seal
from accord.sources.functions import Options, function_tool
from accord.tool import Client, Context, MissingCapability, Tool, Toolbox

if TYPE_CHECKING:
    from accord.serve.http import App

log = logging.getLogger("accord")

Outcome = Answer[Said] | Problem | Reject
"""How a call ended."""

Function = TypeVar("Function", bound=Callable[..., Any])
_LIST_CURSOR: Final = "tools/list"


class Done(msgspec.Struct, frozen=True, eq=False):
    """A call that has been run: how it ended, and its result as it goes on the wire."""

    outcome: Outcome
    result: Raw | Reject


class Job(msgspec.Struct, frozen=True, eq=False):
    """A call that can be run: on a loop if it is async, else wherever it may block."""

    call: Call
    tool: Tool
    server: "Server"

    @property
    def is_async(self) -> bool:
        """Whether `run` has to be awaited on a loop; else it never waits: see `drive`."""
        return self.tool.is_async

    def run(self) -> Coroutine[Any, Any, Done]:
        """Run it. Whatever goes wrong is part of how it ends."""
        return self.server.run(self.call, self.tool)

    def refuse(self, problem: Problem) -> Done:
        """How it ends when it cannot be run after all."""
        return self.server.word(self.call, self.tool, problem)


class Server:
    """Tools under one name. It knows nothing of sockets or event loops: see `accord.serve`."""

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        instructions: str | None = None,
        profile: str = "plain",
        page_size: int | None = None,
        key: bytes | None = None,
    ) -> None:
        if page_size is not None and page_size < 1:
            raise ContractError("page_size is at least 1; leave it out for one page")
        self.identify(Identity(name, version, title))
        self.instructions = instructions
        self.tools = Toolbox()
        self.profile = profile_named(profile)
        self.page_size = page_size
        self._seal = Seal(key)

    def identify(self, identity: Identity) -> None:
        """Say who this server is from now on."""
        self.identity = identity
        self._stamp = results.stamp(identity)
        self._pages: dict[tuple[str, int], Raw] = {}

    @overload
    def tool(self, function: Function, /) -> Function: ...
    @overload
    def tool(self, /, **options: Unpack[Options]) -> Callable[[Function], Function]: ...
    def tool(
        self, function: Function | None = None, /, **options: Unpack[Options]
    ) -> Function | Callable[[Function], Function]:
        """Make a function a tool, and give it back unchanged."""

        def register(function: Function) -> Function:
            self.add(function_tool(function, **options))
            return function

        return register if function is None else register(function)

    def add(self, tool: Tool) -> None:
        """Put a tool from any source into this server."""
        if tool.profile is not None:
            profile_named(tool.profile)
        self.tools.add(tool)
        self._pages.clear()

    def connect(self, *, revision: Revision | None = None, handshake: bool = True) -> Connection:
        """A new peer. Without a revision it has to say which one it speaks."""
        return Connection(self, revision=revision, handshake=handshake)

    def asgi(self, **settings: Any) -> "App":
        """This server as an ASGI app, for uvicorn and its like; needs `accord-mcp[http]`."""
        from accord.serve.http import App, Settings

        return App(self, Settings(**settings))

    def prepare(self, call: Call) -> Job | Done:
        """What is to be done for a call; Done if that is already clear."""
        tool = self.tools.get(call.name)
        if tool is None:
            unknown = Reject(INVALID_PARAMS, f"Unknown tool: {call.name}")
            return Done(unknown, unknown)
        return Job(call, tool, self)

    async def run(self, call: Call, tool: Tool) -> Done:
        """Run a call. What the tool raises becomes a Problem; what is no Problem is masked."""
        try:
            return self.word(call, tool, await self._attempt(call, tool))
        except BaseException:  # SystemExit and cancellations too: nothing of a tool's ends a server
            if not call.cancelled:
                with suppress(Exception):  # not even a log that a tool has broken
                    log.exception("tool %s failed", tool.name)
            return self.word(call, tool, Problem.internal("Internal error"))

    async def _attempt(self, call: Call, tool: Tool) -> Outcome:
        try:
            bound = tool.bind(call.arguments)
        except Problem as problem:
            return problem if call.revision.argument_failures else _as_reject(problem)
        context = Context(tool.name, call.client, call) if tool.wants_context else None
        try:
            value = tool.invoke(bound.arguments, context)
            if tool.is_async:
                value = await value
        except Problem as problem:
            return problem
        except MissingCapability as missing:
            return _lacking(missing, call)
        except BaseExceptionGroup as group:  # a task group that failed for one reason alone
            if len(group.exceptions) == 1 and isinstance(group.exceptions[0], Problem):
                return group.exceptions[0]
            raise
        answer = _encoded(value, tool)
        return answer.with_warnings(bound.warnings) if bound.warnings else answer

    def word(self, call: Call, tool: Tool, outcome: Outcome) -> Done:
        """An outcome with its wording, in the profile and revision of the caller."""
        if isinstance(outcome, Reject):
            return Done(outcome, outcome)
        profile, revision = self._profile(tool, call.client), call.client.revision
        if isinstance(outcome, Answer):
            result = profile.success(outcome, tool, revision)
        else:
            worded = profile.failure(outcome, tool, revision)
            if isinstance(worded, Reject):
                return Done(outcome, worded)
            result = worded
        return Done(outcome, _json(results.complete(result, self._stamp, revision)))

    def initialize(self, client: Client) -> Raw:
        """The result of `initialize`."""
        return _json(results.initialize(self.identity, self.instructions, client.revision))

    def discover(self, client: Client) -> Raw:
        """The result of `server/discover`."""
        found = results.discover(self.instructions)
        return _json(results.complete(found, self._stamp, client.revision))

    def list_tools(self, cursor: str | None, client: Client) -> Raw | Reject:
        """A page of `tools/list`, encoded once."""
        try:
            start = 0 if cursor is None else int(self._seal.open(_LIST_CURSOR, cursor))
        except BrokenSeal:
            return Reject(INVALID_PARAMS, "Invalid cursor: use nextCursor as it was sent")
        key = (client.revision.date, start)
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = self._page(start, client)
        return page

    def _page(self, start: int, client: Client) -> Raw:
        revision = client.revision
        tools = list(self.tools.values())
        end = len(tools) if self.page_size is None else start + self.page_size
        cursor = self._seal.close(_LIST_CURSOR, b"%d" % end) if end < len(tools) else None
        entries = []
        for tool in tools[start:end]:
            schema = self._profile(tool, client).output_schema(tool, revision)
            entries.append(results.tool_entry(tool, schema, revision))
        page = results.tools_page(entries, cursor, revision)
        return _json(results.complete(page, self._stamp, revision))

    def _profile(self, tool: Tool, client: Client) -> Profile:
        """How this client is answered by this tool: the one place that chooses."""
        return self.profile if tool.profile is None else profile_named(tool.profile)


def combine(servers: dict[str, Server]) -> Server:
    """Several servers as one, each under the target it came from; a name clash is an error."""
    if len(servers) == 1:
        return next(iter(servers.values()))
    combined = Server(
        "+".join(server.identity.name for server in servers.values()),
        version="+".join(server.identity.version for server in servers.values()),
        instructions="\n\n".join(s.instructions for s in servers.values() if s.instructions)
        or None,
    )
    owners: dict[str, str] = {}
    for target, server in servers.items():
        for name, tool in server.tools.items():
            if name in owners:
                raise ContractError(f"both {owners[name]} and {target} have a tool {name!r}")
            owners[name] = target
            profile = tool.profile or server.profile.name
            combined.add(msgspec.structs.replace(tool, profile=profile))
    return combined


_encode = msgspec.json.Encoder().encode


def _encoded(value: Any, tool: Tool) -> Answer[Said]:
    """What a tool returned, as an Answer whose data is text or JSON that fits the tool's schema."""
    data = value.data if isinstance(value, Answer) else value
    if tool.says_text:
        if not isinstance(data, str):
            raise ContractError(f"{tool.name} is to return str, not {type(data).__name__}")
    else:
        data = Encoded(_to_json(data, tool))
    if isinstance(value, Answer):
        return msgspec.structs.replace(value, data=data)
    return Answer(data)


def _to_json(data: Any, tool: Tool) -> bytes:
    """Data as one line of JSON that fits what the tool promises."""
    if isinstance(data, Encoded | Raw):
        json = _compact(data.json if isinstance(data, Encoded) else bytes(data))
    else:
        json = _encode(data)
        if b"\n" in json or tool.check is None:  # somewhere inside may be JSON of the author's own
            json = _compact(json) if b"\n" in json else _valid(json)
        if b"null" in json and _holds_nan(data):
            raise ContractError(f"{tool.name} returned a float that JSON does not have")
    if tool.check is not None:
        tool.check(json)
    return json


def _holds_nan(data: Any) -> bool:
    """Whether a NaN or an infinity is in there, which msgspec would write as null."""
    if isinstance(data, float):
        return not isfinite(data)
    if isinstance(data, dict):
        return any(_holds_nan(value) for value in data.values())
    if isinstance(data, list | tuple | set | frozenset):
        return any(_holds_nan(value) for value in data)
    if isinstance(data, msgspec.Struct):
        return any(_holds_nan(getattr(data, name)) for name in data.__struct_fields__)
    return is_dataclass(data) and any(_holds_nan(value) for value in vars(data).values())


def _valid(json: bytes) -> bytes:
    msgspec.json.decode(json, type=Raw)
    return json


def _lacking(missing: MissingCapability, call: Call) -> Outcome:
    """The stateless era has a code for this; before it, the tool has failed."""
    if call.revision.stateless:
        data = {"requiredCapabilities": missing.capabilities}
        return Reject(MISSING_CLIENT_CAPABILITY, str(missing), data)
    return Problem.unavailable(str(missing), retryable=False)


def _compact(json: bytes) -> bytes:
    """A source's own JSON, looked through: one line of it, or an error."""
    json.decode()
    return msgspec.json.format(json, indent=-1)


def _as_reject(problem: Problem) -> Reject:
    return Reject(INVALID_PARAMS, problem.message, {"validation_errors": problem.fields})


def _json(result: results.Result) -> Raw:
    return Raw(_encode(result))


def drive(coroutine: Coroutine[Any, Any, Done]) -> Done:
    """Run a coroutine that never waits, such as `run` of a tool that is not async."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        finished: Done = done.value
        return finished
    raise ContractError("a tool that is not async has waited")
