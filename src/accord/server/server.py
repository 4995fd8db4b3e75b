"""A server: tools by name, what it says of itself, and how one call is run and worded."""

import os
from collections.abc import Collection, Coroutine, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Unpack

import msgspec
from msgspec import Raw

from accord.errors import INVALID_PARAMS, Reject, require_known
from accord.model.answer import Answer, InputRequired, Problem, Value
from accord.model.changes import Kind
from accord.model.content import Icon
from accord.model.context import ClientInfo, Context
from accord.model.limits import DEFAULT_MAX_BYTES, Position
from accord.model.tool import Tool
from accord.model.values import too_deep
from accord.profiles import Profile, RenderContext, Result, TextResult, profile_asked, profile_named
from accord.protocol import Call, Connection, messages, results
from accord.protocol.entries import tool_entry
from accord.protocol.events import LISTEN, TOOL, TOOLS, Special
from accord.protocol.header_params import fault as header_params_fault
from accord.protocol.replay import Replay, subject
from accord.protocol.results import Identity
from accord.revisions import Revision
from accord.server.catalog import NOTHING
from accord.server.continuation import Asked, Rest, may_have_cursor, read_more_tool
from accord.server.offers import FeatureOperation
from accord.server.operation import Done, Operation, rejected
from accord.server.outcome import (
    Outcome,
    answer_of,
    log_failure,
    mask,
    meaning_of,
    misfit_of,
)
from accord.server.registry import Registry
from accord.server.rendering import Shortener, require_room, resumed, shortened_reject, size_of
from accord.server.subscriptions import Subscription
from accord.signing import Cursors, Signer
from accord.telemetry import CallTimer, Telemetry, outcome_label

if TYPE_CHECKING:
    from accord.reader import Reading
    from accord.serve.http import App, SettingsDict


class ToolOperation(msgspec.Struct, frozen=True, eq=False):
    """A call that can be run: on a loop if it is async, else wherever it may block."""

    call: Call
    tool: Tool
    server: "Server"
    is_async: bool
    """Whether `run` has to be awaited on a loop; else it never waits: see `drive`."""
    place: Position | None = None
    """Where the caller wants the answer to go on."""

    def run(self) -> Coroutine[Any, Any, Done]:
        """Run it. Whatever goes wrong is part of how it ends."""
        return self.server.perform(self.call, self.tool, self.place)

    def refuse(self, problem: Problem) -> Done:
        """How it ends when it cannot be run after all."""
        return self.server.refuse(self.call, self.tool, problem)


class Server(Registry):
    """Tools, prompts and resources under one name.

    It knows nothing of sockets or event loops: see `accord.serve`.
    """

    telemetry: Telemetry | None = None
    origin: object = None
    """The Combined that made this server of others, if one did: it has to live as long."""

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
        website_url: str | None = None,
        icons: Sequence[Icon] = (),
        changing: Collection[Kind] = (),
    ) -> None:
        """`key` signs cursors: give the same one to all workers, or keep it across restarts.

        Without `structured`, results have no `structuredContent`, and cost fewer tokens. An answer
        of more than `max_bytes` of text is cut; with `read_more`, a tool of that name gets the rest
        of what has no cursor of its own. `changing` names what comes and goes while it is served
        (`tools`, `prompts`, `resources`), so that clients are told.
        """
        super().__init__(changing=changing, page_size=page_size)
        self.identify(Identity(name, version, title, website_url, icons or None))
        self.instructions = instructions
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
            self._signer = Signer(key)
            self._replay = Replay(self._signer)
            self.key = key
            self._rest = Rest(Cursors(key), has_read_more=self._read_more is not None)
            self._shortening = Shortener(self._rest)
        if telemetry is not None:
            self.telemetry = telemetry
        self.catalog.clear()

    def identify(self, identity: Identity) -> None:
        """Say who this server is from now on."""
        self.identity = identity
        self._stamp = results.stamp(identity)
        self._end_of_result = results.ending(self._stamp)
        self.catalog.clear()

    @property
    def has_read_more(self) -> bool:
        """Whether there is a tool that gets the rest of an answer that was cut."""
        return self._read_more is not None

    def connect(self, *, revision: Revision | None = None, handshake: bool = True) -> Connection:
        """A new peer. Without a revision it has to say which one it speaks."""
        return Connection(self, revision=revision, handshake=handshake)

    def run(self) -> None:
        """Serve over standard input and output until the peer is gone, as `accord serve` does.

        Both are taken for that, for the rest of the process: what is printed then goes to standard
        error.
        """
        from accord.serve import inprocess

        inprocess.run(self)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        profile: str | None = None,
    ) -> "Reading":
        """Call a tool as a peer would, and read its answer: for tests, say.

        `profile` is what the peer asks for; without, the server or the tool chooses.
        """
        from accord.serve import inprocess

        return await inprocess.call(self, name, arguments or {}, profile)

    def asgi(self, **settings: Unpack["SettingsDict"]) -> "App":
        """This server as an ASGI app, for uvicorn and its like, one of which has to serve it."""
        from accord.serve.http import App, Settings

        require_known(settings, Settings._fields, "asgi()")
        return App(self, Settings(**settings))

    def prepare(self, call: Call) -> Operation | Done:
        """What is to be done for a call; Done if that is already clear."""
        if call.special is not None:
            done = self._take_answers(call, call.special)
            if done is not None or call.special.method != TOOL:
                return done or self._prepare_other(call, call.special)
        tool = self.tools.get(call.name)
        if tool is None:
            return rejected(call, Reject(INVALID_PARAMS, f"Unknown tool: {call.name}"))
        if tool is self._read_more:
            return self._continue(call, tool)
        return ToolOperation(call, tool, self, tool.is_async)

    def mismatch(self, call: Call, headers: Mapping[bytes, bytes]) -> Done | None:
        """That headers say something else than the arguments that they repeat."""
        marks = self.mirrored.get(call.name) if call.method == TOOL else None
        if marks is None or not call.revision.stateless:
            return None
        fault = header_params_fault(marks, headers, call.arguments)
        return None if fault is None else rejected(call, fault)

    def _take_answers(self, call: Call, special: Special) -> Done | None:
        """Put the answers that a call brings on record; Done if they cannot be taken."""
        if special.retry is not None:
            script = self._replay.script(_subject(call), special.retry)
            if isinstance(script, Reject):
                return rejected(call, script)
            special.script = script
        return None

    def known_name(self, call: Call) -> str:
        """What a call is for, in words of our own: those of a peer may be anything."""
        if call.method == TOOL:
            return call.name if call.name in self.tools else "?"
        return self.offered.known_name(call)

    def _prepare_other(self, call: Call, special: Special) -> Operation | Done:
        if special.method == LISTEN:
            return Subscription(call, self.catalog.honoured(special.params, call.revision), self)
        if special.method == TOOLS:
            return self._list_for_sender(call, special.params.cursor)
        return self.offered.prepare(call, special)

    def _list_for_sender(self, call: Call, cursor: str | None) -> Operation:
        """A list of tools that depends on who asks."""
        return FeatureOperation(
            call,
            TOOLS,
            lambda: self.catalog.hidden_from(call.sender),
            lambda hidden: self._page(TOOLS, cursor, call.client, hidden),
            self,
        )

    def _continue(self, call: Call, read_more: Tool) -> ToolOperation | Done:
        """The call that `read_more` means: of the tool whose answer was cut."""
        try:
            name, arguments, place = self._rest.elsewhere(call.arguments)
            call.mean(arguments)
            tool = self.tools.get(name)
            if tool is None or not tool.hints.read_only:
                raise Problem.not_found(f"There is no tool {name} any more")
        except Problem as problem:
            return self.refuse(call, read_more, misfit_of(problem, call.revision))
        return ToolOperation(call, tool, self, tool.is_async, place)

    async def perform(self, call: Call, tool: Tool, place: Position | None = None) -> Done:
        """Run a call. What the tool raises becomes a Problem; what is no Problem is masked."""
        watch = bound = None
        try:
            if self.telemetry is not None:
                watch = self.telemetry.begin(tool.name, call.revision.date, call.meta)
            if tool.name in self.with_cursor:
                place = self.resume(call, tool, place)
            bound = tool.bind(call.arguments)
            context = None
            if tool.wants_context:
                context = Context(tool.name, call.client, call, may_wait=tool.is_async)
            value = tool.invoke(bound.arguments, context)
            if tool.is_async:
                value = await value
            answer = answer_of(value, tool, bound.warnings)
            if place is not None:
                answer = resumed(answer, tool, call.arguments, place)
            done = self.word(call, tool, answer, watch, place)
        except BaseException as error:  # noqa: BLE001 - nothing that a tool raises ends a server
            meaning = misfit_of if bound is None else meaning_of
            done = self._failed(call, tool, meaning(error, call.revision), watch)
            error.__traceback__ = None  # a cycle: its frames hold this one, and the tool's locals
        if watch is not None:
            watch.end(
                "cancelled" if call.cancelled else outcome_label(done.outcome), len(done.reply)
            )
        return done

    def resume(self, call: Call, tool: Tool, place: Position | None) -> Position | None:
        """Where the answer goes on for a cursor of ours; the call then means the first one."""
        if tool.name in self.with_cursor and may_have_cursor(call.arguments):
            arguments, place = self._rest.continued(Asked(tool, call.arguments, place))
            call.mean(arguments)
        return place

    def refuse(self, call: Call, tool: Tool, outcome: Outcome | BaseException) -> Done:
        """How a call ends that is never run."""
        if self.telemetry is None:
            return self._failed(call, tool, outcome)
        watch = self.telemetry.begin(tool.name, call.revision.date, call.meta)
        done = self._failed(call, tool, outcome, watch)
        watch.end(outcome_label(done.outcome), len(done.reply))
        return done

    def _failed(
        self,
        call: Call,
        tool: Tool,
        outcome: Outcome | BaseException,
        watch: CallTimer | None = None,
    ) -> Done:
        """How a call ends that did not end well; the cause of what is masked goes to the log."""
        cause: BaseException | None = None
        if isinstance(outcome, BaseException) and not isinstance(outcome, Problem | InputRequired):
            cause, outcome = outcome, mask(outcome)
        try:
            if isinstance(outcome, InputRequired):
                done = self.asking(call, outcome)
            else:
                done = self.word(call, tool, outcome, watch)
        except Exception as error:  # noqa: BLE001 - a message that cannot be sent, say
            cause, done = error, self.word(call, tool, mask(error), watch)
        if cause is not None:
            if not call.cancelled:
                log_failure(f"tool {tool.name}", cause)
            cause.__traceback__ = None  # a cycle, if it was raised here
        return done

    def word(
        self,
        call: Call,
        tool: Tool,
        outcome: Answer[Value] | Problem | Reject,
        watch: CallTimer | None = None,
        place: Position | None = None,
    ) -> Done:
        """An outcome with its wording, in the profile and revision of the caller.

        `place` is where an answer begins that goes on with another: a cursor counts from there.
        """
        limit = tool.max_bytes or self.max_bytes
        if isinstance(outcome, Reject):
            return Done(outcome, messages.failure(call.id, shortened_reject(outcome, limit)))
        client = call.client
        is_usual = tool.profile is None and not client.capabilities
        profile = self.profile if is_usual else self._profile(tool, client)
        observed = None if watch is None else watch.observed(outcome_label(outcome))
        revision = client.revision if self.structured else _without_structure(client.revision)
        setting = RenderContext(tool, revision, observed)
        try:
            if isinstance(outcome, Answer):
                result: TextResult | Result | Reject = profile.success(outcome, setting)
            else:
                result = profile.failure(outcome, setting)
            reply = self._reply(call, result, revision)
        except RecursionError:
            raise too_deep(f"what {tool.name} says beside its data") from None
        if len(reply) > limit and size_of(result) > limit:
            result = self._shortened(call, profile, outcome, setting, place)
            reply = self._reply(call, result, revision)
        return Done(outcome, reply)

    def _reply(self, call: Call, result: TextResult | Result | Reject, revision: Revision) -> bytes:
        if isinstance(result, TextResult):
            end = self._end_of_result if revision.stateless else b"}"
            return messages.success(call.id, result.parts(end))
        if isinstance(result, Reject):
            return messages.failure(call.id, result)
        return messages.reply(call.id, self.complete(result, revision))

    def _shortened(
        self,
        call: Call,
        profile: Profile,
        outcome: Answer[Value] | Problem,
        setting: RenderContext,
        place: Position | None,
    ) -> TextResult | Result | Reject:
        limit = setting.tool.max_bytes or self.max_bytes
        if isinstance(outcome, Problem):
            return self._shortening.failure(profile, outcome, setting, limit)
        return self._shortening.success(profile, outcome, setting, limit, call.arguments, place)

    def asking(self, call: Call, asking: InputRequired) -> Done:
        """How a call ends that has something to ask."""
        asked = self._replay.result(_subject(call), call.script(), asking.questions, call.revision)
        return Done(asking, messages.reply(call.id, asked | {"_meta": self._stamp}))

    def complete(self, result: Result, revision: Revision) -> Result:
        """A result with what its revision wants in every one of them."""
        return results.complete(result, self._stamp) if revision.stateless else result

    def initialize(self, client: ClientInfo) -> Raw:
        """The result of `initialize`."""
        revision, capabilities = client.revision, self.catalog.capabilities(client.revision)
        return _json(results.initialize(self.identity, capabilities, self.instructions, revision))

    def discover(self, client: ClientInfo) -> Raw:
        """The result of `server/discover`."""
        capabilities = self.catalog.capabilities(client.revision)
        result = results.discover(capabilities, self.instructions)
        return _json(self.complete(result, client.revision))

    def list_page(self, method: str, cursor: str | None, client: ClientInfo) -> Raw | Reject | None:
        """A page of a list, encoded once; None if it depends on who asks: then it is a call."""
        if method == TOOLS and self.catalog.audiences:
            return None
        return self._page(method, cursor, client)

    def _page(
        self, method: str, cursor: str | None, client: ClientInfo, hidden: frozenset[str] = NOTHING
    ) -> Raw | Reject:
        return self.catalog.page(
            method,
            cursor,
            client,
            self._signer,
            hidden,
            tool_entry=lambda tool: self._entry(tool, client),
            word=lambda page: _json(self.complete(page, client.revision)),
        )

    def _entry(self, tool: Tool, client: ClientInfo) -> Result:
        revision = client.revision
        worded_in = revision if self.structured else _without_structure(revision)
        schema = self._profile(tool, client).output_schema(tool, worded_in)
        return tool_entry(tool, schema, revision)

    def _profile(self, tool: Tool, client: ClientInfo) -> Profile:
        """How this client is answered by this tool; `word` spares the usual case the question."""
        asked = profile_asked(client.capabilities) if client.capabilities else None
        if asked is not None:
            return asked
        return self.profile if tool.profile is None else profile_named(tool.profile)


_encode = msgspec.json.Encoder().encode


@lru_cache
def _without_structure(revision: Revision) -> Revision:
    return msgspec.structs.replace(revision, structured="none")


def _json(result: Result) -> Raw:
    return Raw(_encode(result))


def _subject(call: Call) -> bytes:
    principal = None if call.edge is None else call.edge.principal
    return subject(call.method, call.name, call.sent, principal)
