"""A server: tools by name, what it says of itself, and how one call is run and worded."""

import logging
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, overload

import msgspec
from msgspec import Raw

from accord.answer import Answer, Encoded, Problem, Said
from accord.cursors import Cursors
from accord.errors import INTERNAL_ERROR, INVALID_PARAMS, ContractError, Reject
from accord.limits import DEFAULT_MAX_BYTES, Place
from accord.outcome import Outcome, answer_of, meaning_of, misfit_of
from accord.profiles import Profile, Setting, profile_asked, profile_named
from accord.protocol import Call, Connection, messages, results
from accord.protocol.results import Identity
from accord.rest import READ_MORE, Asked, Rest, may_have_cursor, read_more_tool, takes_cursor
from accord.revisions import Revision
from accord.seal import BrokenSeal, Seal
from accord.sources.functions import Options, function_tool
from accord.telemetry import Telemetry, Watch
from accord.telemetry import outcome_of as ending_of
from accord.tool import Audience, Client, Context, Tool, Toolbox, run_elsewhere
from accord.wording import Shortening, require_room, resumed, shortened_reject, size_of

if TYPE_CHECKING:
    from accord.serve.http import App

log = logging.getLogger("accord")

Function = TypeVar("Function", bound=Callable[..., Any])
_LIST_CURSOR: Final = "tools/list"
_MOST_PAGES: Final = 64  # that are kept: there is one for each set of tools that somebody may see
_NOTHING: Final[frozenset[str]] = frozenset()


class Done(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A call that has been run: how it ended, and the reply that says so."""

    outcome: Outcome
    reply: bytes


class Job(msgspec.Struct, frozen=True, eq=False):
    """A call that can be run: on a loop if it is async, else wherever it may block."""

    call: Call
    tool: Tool
    server: "Server"
    place: Place | None = None
    """Where the caller wants the answer to go on."""

    @property
    def is_async(self) -> bool:
        """Whether `run` has to be awaited on a loop; else it never waits: see `drive`."""
        return self.tool.is_async

    def run(self) -> Coroutine[Any, Any, Done]:
        """Run it. Whatever goes wrong is part of how it ends."""
        return self.server.run(self.call, self.tool, self.place)

    def refuse(self, problem: Problem) -> Done:
        """How it ends when it cannot be run after all."""
        return self.server.refuse(self.call, self.tool, problem)


class Listing(Job, frozen=True, eq=False):
    """A list of tools that depends on who asks, which may take a look into a database."""

    async def run(self) -> Done:
        """Look, and list."""
        call = self.call
        try:
            page = self.server.list_for(call.sender, call.cursor, call.client)
        except Exception:
            log.exception("tools/list failed")
            page = Reject(INTERNAL_ERROR, "Internal error")
        return self._done(page)

    def refuse(self, problem: Problem) -> Done:
        """How it ends when nobody has the time for it."""
        return self._done(Reject(INTERNAL_ERROR, problem.message))

    def _done(self, page: Raw | Reject) -> Done:
        listed: Outcome = page if isinstance(page, Reject) else Answer(Encoded(bytes(page)))
        return Done(listed, messages.reply(self.call.id, page))


class Server:
    """Tools under one name. It knows nothing of sockets or event loops: see `accord.serve`."""

    telemetry: Telemetry | None = None

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        instructions: str | None = None,
        profile: str = "plain",
        structured: bool = True,
        max_bytes: int = DEFAULT_MAX_BYTES,
        read_more: bool = False,
        page_size: int | None = None,
        key: bytes | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        """`key` signs cursors: give the same one to all workers, or keep it across restarts.

        Without `structured`, results have no `structuredContent`, which costs tokens. An answer of
        more than `max_bytes` of text is cut; with `read_more`, a tool of that name gets the rest
        of what has no cursor of its own.
        """
        if page_size is not None and page_size < 1:
            raise ContractError("page_size is at least 1; leave it out for one page")
        self.identify(Identity(name, version, title))
        self.instructions = instructions
        self.tools = Toolbox()
        self._with_cursor: set[str] = set()
        self._audiences: dict[Audience, list[str]] = {}
        self.page_size = page_size
        self._read_more = read_more_tool() if read_more else None
        self.configure(
            profile=profile,
            structured=structured,
            max_bytes=max_bytes,
            key=os.urandom(32) if key is None else key,
            telemetry=telemetry,
        )
        if self._read_more is not None:
            self.add(self._read_more)

    def configure(
        self,
        *,
        profile: str | None = None,
        structured: bool | None = None,
        max_bytes: int | None = None,
        key: bytes | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        """Set what is given, and leave the rest as it is."""
        if profile is not None:
            self.profile = profile_named(profile)
        if structured is not None:
            self.structured = structured
        if max_bytes is not None:
            require_room(max_bytes)
            self.max_bytes = max_bytes
        if key is not None:
            self._seal = Seal(key)
            self.key = key
            self._rest = Rest(Cursors(key), has_read_more=self._read_more is not None)
            self._shortening = Shortening(self._rest)
        if telemetry is not None:
            self.telemetry = telemetry
        self._pages.clear()

    def identify(self, identity: Identity) -> None:
        """Say who this server is from now on."""
        self.identity = identity
        self._stamp = results.stamp(identity)
        self._pages: dict[tuple[str, str | None, int, frozenset[str]], Raw] = {}

    @property
    def has_read_more(self) -> bool:
        """Whether there is a tool that gets the rest of an answer that was cut."""
        return self._read_more is not None

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
        if tool.max_bytes is not None:
            require_room(tool.max_bytes)
        self.tools.add(tool)
        if takes_cursor(tool):
            self._with_cursor.add(tool.name)
        if tool.audience is not None:
            self._audiences.setdefault(tool.audience, []).append(tool.name)
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
        if tool is None and call.listing:
            return Listing(call, _LISTING, self)
        if tool is None:
            unknown = Reject(INVALID_PARAMS, f"Unknown tool: {call.name}")
            return Done(unknown, messages.failure(call.id, unknown))
        if tool is self._read_more:
            return self._continue(call, tool)
        return Job(call, tool, self)

    def _continue(self, call: Call, read_more: Tool) -> Job | Done:
        """The call that `read_more` means: of the tool whose answer was cut."""
        try:
            name, call.arguments, place = self._rest.elsewhere(call.arguments)
            tool = self.tools.get(name)
            if tool is None or not tool.hints.read_only:
                raise Problem.not_found(f"There is no tool {name} any more")
        except Problem as problem:
            return self.refuse(call, read_more, misfit_of(problem, call.revision))
        return Job(call, tool, self, place)

    async def run(self, call: Call, tool: Tool, place: Place | None = None) -> Done:
        """Run a call. What the tool raises becomes a Problem; what is no Problem is masked."""
        watch = bound = None
        try:
            if self.telemetry is not None:
                watch = self.telemetry.begin(tool.name, call.revision.date, call.meta)
            if tool.name in self._with_cursor and may_have_cursor(call.arguments):
                call.arguments, place = self._rest.continued(Asked(tool, call.arguments, place))
            bound = tool.bind(call.arguments)
            context = Context(tool.name, call.client, call) if tool.wants_context else None
            value = tool.invoke(bound.arguments, context)
            if tool.is_async:
                value = await value
            done = self.word(call, tool, answer_of(value, tool, bound.warnings), watch, place)
        except BaseException as error:  # noqa: BLE001 - SystemExit too: nothing ends a server
            meaning = misfit_of if bound is None else meaning_of
            outcome = meaning(error, call.revision)
            done = self._failed(call, tool, outcome, watch)
        if watch is not None:
            watch.end("cancelled" if call.cancelled else ending_of(done.outcome), len(done.reply))
        return done

    def refuse(self, call: Call, tool: Tool, outcome: Outcome | BaseException) -> Done:
        """How a call ends that is never run."""
        if self.telemetry is None:
            return self._failed(call, tool, outcome)
        watch = self.telemetry.begin(tool.name, call.revision.date, call.meta)
        done = self._failed(call, tool, outcome, watch)
        watch.end(ending_of(done.outcome), len(done.reply))
        return done

    def _failed(
        self,
        call: Call,
        tool: Tool,
        outcome: Outcome | BaseException,
        watch: Watch | None = None,
    ) -> Done:
        """How a call ends that did not end well; the cause of what is masked goes to the log."""
        cause: BaseException | None = None
        if isinstance(outcome, BaseException) and not isinstance(outcome, Problem):
            cause, outcome = outcome, _MASKED
        try:
            done = self.word(call, tool, outcome, watch)
        except Exception as error:  # noqa: BLE001 - a message that cannot be sent, say
            cause, done = error, self.word(call, tool, _MASKED, watch)
        if cause is not None and not call.cancelled:
            with suppress(Exception):  # not even a log that a tool has broken
                log.error("tool %s failed", tool.name, exc_info=cause)
        return done

    def word(
        self,
        call: Call,
        tool: Tool,
        outcome: Outcome,
        watch: Watch | None = None,
        place: Place | None = None,
    ) -> Done:
        """An outcome with its wording, in the profile and revision of the caller."""
        limit = tool.max_bytes or self.max_bytes
        if isinstance(outcome, Reject):
            return Done(outcome, messages.failure(call.id, shortened_reject(outcome, limit)))
        client = call.client
        is_usual = tool.profile is None and not client.capabilities
        profile = self.profile if is_usual else self._profile(tool, client)
        observed = None if watch is None else watch.observed(ending_of(outcome))
        revision = client.revision if self.structured else _without_structure(client.revision)
        setting = Setting(tool, revision, observed)
        if isinstance(outcome, Answer):
            if place is not None:
                outcome = resumed(outcome, tool, call.arguments, place)
            result: results.Result | Reject = profile.success(outcome, setting)
        else:
            result = profile.failure(outcome, setting)
        if revision.stateless:
            results.complete(result, self._stamp)
        reply = messages.reply(call.id, result)
        if len(reply) > limit and size_of(result) > limit:
            result = self._shortened(call, profile, outcome, setting, place)
            if revision.stateless:
                results.complete(result, self._stamp)
            reply = messages.reply(call.id, result)
        return Done(outcome, reply)

    def _shortened(
        self,
        call: Call,
        profile: Profile,
        outcome: Answer[Said] | Problem,
        setting: Setting,
        place: Place | None,
    ) -> results.Result | Reject:
        limit = setting.tool.max_bytes or self.max_bytes
        if isinstance(outcome, Problem):
            return self._shortening.failure(profile, outcome, setting, limit)
        return self._shortening.success(profile, outcome, setting, limit, call.arguments, place)

    def initialize(self, client: Client) -> Raw:
        """The result of `initialize`."""
        return _json(results.initialize(self.identity, self.instructions, client.revision))

    def discover(self, client: Client) -> Raw:
        """The result of `server/discover`."""
        return _json(results.complete(results.discover(self.instructions), self._stamp))

    def list_tools(self, cursor: str | None, client: Client) -> Raw | Reject | None:
        """A page of `tools/list`, encoded once; None if it depends on who asks: see `list_for`."""
        return None if self._audiences else self.list_for(None, cursor, client)

    def list_for(self, sender: Any, cursor: str | None, client: Client) -> Raw | Reject:
        """A page of `tools/list` with the tools that are for this sender."""
        try:
            start = 0 if cursor is None else int(self._seal.open(_LIST_CURSOR, cursor))
        except BrokenSeal:
            return Reject(INVALID_PARAMS, "Invalid cursor: use nextCursor as it was sent")
        asked = profile_asked(client.capabilities)
        hidden = self._hidden(sender) if self._audiences else _NOTHING
        key = (client.revision.date, None if asked is None else asked.name, start, hidden)
        page = self._pages.get(key)
        if page is None:
            if len(self._pages) >= _MOST_PAGES:
                self._pages.clear()
            page = self._pages[key] = self._page(start, client, hidden)
        return page

    def _hidden(self, sender: Any) -> frozenset[str]:
        """The tools that are not for this sender."""
        hidden: list[str] = []
        for audience, names in self._audiences.items():
            is_for_sender = audience(sender)
            hidden += [name for name in names if not is_for_sender(name)]
        return frozenset(hidden)

    def _page(self, start: int, client: Client, hidden: frozenset[str]) -> Raw:
        revision = client.revision
        worded_in = revision if self.structured else _without_structure(revision)
        tools = list(self.tools.values())
        end = len(tools) if self.page_size is None else start + self.page_size
        cursor = self._seal.close(_LIST_CURSOR, b"%d" % end) if end < len(tools) else None
        entries = []
        for tool in tools[start:end]:
            if tool.name in hidden:
                continue
            schema = self._profile(tool, client).output_schema(tool, worded_in)
            entries.append(results.tool_entry(tool, schema, revision))
        page = results.tools_page(entries, cursor, revision)
        return _json(results.complete(page, self._stamp) if revision.stateless else page)

    def _profile(self, tool: Tool, client: Client) -> Profile:
        """How this client is answered by this tool: the one place that chooses."""
        asked = profile_asked(client.capabilities) if client.capabilities else None
        if asked is not None:
            return asked
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
        structured=all(server.structured for server in servers.values()),
        read_more=any(server.has_read_more for server in servers.values()),
        page_size=min((s.page_size for s in servers.values() if s.page_size), default=None),
        telemetry=_only_telemetry(list(servers.values())),
        key=next(iter(servers.values())).key,
    )
    owners: dict[str, str] = {}
    for target, server in servers.items():
        for name, tool in server.tools.items():
            if name == READ_MORE and server.has_read_more:
                continue
            if name in owners:
                raise ContractError(f"both {owners[name]} and {target} have a tool {name!r}")
            owners[name] = target
            profile = tool.profile or server.profile.name
            max_bytes = tool.max_bytes or server.max_bytes
            combined.add(msgspec.structs.replace(tool, profile=profile, max_bytes=max_bytes))
    return combined


def _only_telemetry(servers: list[Server]) -> Telemetry | None:
    found = {id(server.telemetry): server.telemetry for server in servers if server.telemetry}
    if len(found) > 1:
        raise ContractError("two servers with a Telemetry each cannot be one; give them the same")
    return next(iter(found.values()), None)


_encode = msgspec.json.Encoder().encode
_MASKED: Final = Problem.internal("Internal error")
_LISTING: Final = run_elsewhere("tools_list", description="", input_schema={})


@lru_cache
def _without_structure(revision: Revision) -> Revision:
    return msgspec.structs.replace(revision, structured="none")


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
