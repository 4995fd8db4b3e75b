"""A server: tools by name, what it says of itself, and how one call is run and worded."""

import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, overload

import msgspec
from msgspec import Raw

from accord.answer import Answer, Encoded, Notice, Problem, Said
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
        bound = None
        try:
            bound = tool.bind(call.arguments)
            context = Context(tool.name, call.client, call) if tool.wants_context else None
            value = tool.invoke(bound.arguments, context)
            if tool.is_async:
                value = await value
            return self.word(call, tool, _answer(value, tool, bound.warnings))
        except BaseException as error:  # noqa: BLE001 - SystemExit too: nothing ends a server
            is_early = bound is None and not call.revision.argument_failures
            outcome = _as_reject(error) if is_early else _outcome(error, call)
            return self._failed(call, tool, outcome)

    def _failed(self, call: Call, tool: Tool, outcome: Outcome | BaseException) -> Done:
        """How a call ends that did not end well; the cause of what is masked goes to the log."""
        cause: BaseException | None = None
        if isinstance(outcome, BaseException) and not isinstance(outcome, Problem):
            cause, outcome = outcome, _MASKED
        try:
            done = self.word(call, tool, outcome)
        except Exception as error:  # noqa: BLE001 - a message that cannot be sent, say
            cause, done = error, self.word(call, tool, _MASKED)
        if cause is not None and not call.cancelled:
            with suppress(Exception):  # not even a log that a tool has broken
                log.error("tool %s failed", tool.name, exc_info=cause)
        return done

    def word(self, call: Call, tool: Tool, outcome: Outcome) -> Done:
        """An outcome with its wording, in the profile and revision of the caller."""
        client = call.client
        if isinstance(outcome, Answer):
            result = self._profile(tool, client).success(outcome, tool, client.revision)
        elif isinstance(outcome, Reject):
            return Done(outcome, outcome)
        else:
            worded = self._profile(tool, client).failure(outcome, tool, client.revision)
            if isinstance(worded, Reject):
                return Done(outcome, worded)
            result = worded
        if client.revision.stateless:
            results.complete(result, self._stamp)
        return Done(outcome, _json(result))

    def initialize(self, client: Client) -> Raw:
        """The result of `initialize`."""
        return _json(results.initialize(self.identity, self.instructions, client.revision))

    def discover(self, client: Client) -> Raw:
        """The result of `server/discover`."""
        return _json(results.complete(results.discover(self.instructions), self._stamp))

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
        return _json(results.complete(page, self._stamp) if revision.stateless else page)

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
_READY: Final = (Encoded, Raw)
_MASKED: Final = Problem.internal("Internal error")


def _answer(value: Any, tool: Tool, warnings: Sequence[Notice]) -> Answer[Said]:
    """What a tool returned, as an Answer whose data is text or JSON that fits the tool's schema."""
    if isinstance(value, Answer):
        answer = msgspec.structs.replace(value, data=_said(value.data, tool))
    else:
        answer = Answer(_said(value, tool))
    return answer.with_warnings(warnings) if warnings else answer


def _outcome(error: BaseException, call: Call) -> Outcome | BaseException:
    """What an error means to the caller; the error itself if it is not the caller's business."""
    if isinstance(error, MissingCapability):
        return _lacking(error, call)
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        only = error.exceptions[0]  # a task group that failed for one reason alone
        return only if isinstance(only, Problem) else error
    return error


def _said(data: Any, tool: Tool) -> Said:
    """Data as it goes on a wire: text, or one line of JSON that fits what the tool promises."""
    if tool.says_text:
        if not isinstance(data, str):
            raise ContractError(f"{tool.name} is to return str, not {type(data).__name__}")
        return data
    if isinstance(data, _READY):
        json = _compact(data.json if isinstance(data, Encoded) else bytes(data))
    else:
        json = _encode(data)
        if b"null" in json and _holds_nan(data):
            raise ContractError(f"{tool.name} returned a float that JSON does not have")
    check = tool.check
    if check is None or b"\n" in json:  # somewhere inside may be JSON of the author's own
        json = _compact(json)
    if check is not None:
        check(json)
    return Encoded(json)


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


def _as_reject(error: BaseException) -> Reject | BaseException:
    """Arguments that don't fit, as revisions word it that know no failed call for that."""
    if not isinstance(error, Problem):
        return error
    return Reject(INVALID_PARAMS, error.message, {"validation_errors": error.fields})


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
