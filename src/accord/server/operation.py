"""Operations: requests that can be executed, and `perform`, which executes every one of them."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

import msgspec
from msgspec import Raw

from accord.errors import INTERNAL_ERROR, INVALID_PARAMS, ContractError, Reject
from accord.model.answer import MASKED, Answer, InputRequired, Notice, Problem, Value
from accord.model.context import Channel, Context, Level
from accord.model.limits import Position
from accord.model.prompt import Prompt
from accord.model.resource import Resource
from accord.model.scope import Scope
from accord.model.tool import Tool
from accord.model.values import known
from accord.protocol import messages
from accord.protocol.events import RESOURCES_READ, Request
from accord.protocol.input_state import InputResponses
from accord.protocol.messages import Wanted
from accord.protocol.results import Result
from accord.server.continuation import ToolRequest, may_have_cursor
from accord.server.forwarding import ForwardedProblem, ForwardedResult, outcome_of_result
from accord.server.middleware import Call, Next
from accord.server.outcome import (
    Outcome,
    answer_of,
    log_failure,
    mask,
    outcome_of,
    outcome_of_arguments,
    plain_answer,
)
from accord.server.rendering import resume_answer
from accord.telemetry import CallTimer, outcome_label

if TYPE_CHECKING:
    from accord.server.dispatcher import Dispatcher

SUCCEEDED: Final[Answer[Value]] = Answer("given")
"""The outcome of any operation but a tool's that succeeded."""

Invocation = tuple[Callable[[Any, Any], Any], Any, Any]
"""A function and its two arguments."""


class Done(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The outcome of a request, and the reply with it."""

    outcome: Outcome
    reply: bytes
    forwarded: ForwardedResult | None = None
    """The result of another server's tool that the reply is made of."""


def rejected(request: Request, reject: Reject) -> Done:
    """Return the outcome of a request that cannot be executed."""
    return Done(reject, messages.failure(request.id, reject))


_HANDED_OVER: Final = Done(SUCCEEDED, b"")


class RequestChannel(Channel, Protocol):
    """A request in execution, and the way to its client; `accord.serve.call` has the class."""

    request: Request
    responses: InputResponses | None
    """Responses of the client to input requests, in the stateless era."""
    is_task: ClassVar[bool]
    """True if the result is not sent, but kept."""

    @property
    def principal(self) -> bytes | None:
        """The identity of the sender, by the HTTP request itself."""

    def log_level(self) -> Level | None:
        """Return the minimum level of log messages that the client wants; None for none."""

    async def hold(self, wanted: Wanted) -> None:
        """Send changes to a subscription until the client or the server ends it."""


C = TypeVar("C", bound=RequestChannel)


class Operation(msgspec.Struct, Generic[C], eq=False, gc=False):
    """A request that can be executed: see `perform`."""

    call: C
    dispatcher: "Dispatcher"
    is_async: bool
    """True if it has to run on an event loop; else `perform` never waits: see `drive`."""
    timer: CallTimer | None = None

    @property
    def label(self) -> str:
        """Its name in the log."""
        raise NotImplementedError

    def bind(self) -> Invocation:
        """Check the arguments and return the function to call with them."""
        raise NotImplementedError

    def render(self, value: Any) -> Done:
        """Return the outcome with a value that the function returned."""
        raise NotImplementedError

    def reply(self, outcome: Problem | Reject) -> bytes:
        """Return the reply with a failure."""
        raise NotImplementedError

    def outcome_of(self, error: BaseException) -> Outcome | BaseException:
        """Return the meaning of an exception for the caller; itself if it has none."""
        return outcome_of(error, self.call.request.revision)

    def fail(self, error: BaseException) -> Done:
        """Turn an exception into an outcome: the only place that does.

        Exceptions that are not meant for the caller are logged and masked.
        """
        done = self.conclude(self.outcome_of(error))
        error.__traceback__ = None  # a cycle: its frames hold the user's function and its locals
        outcome = done.outcome
        if isinstance(outcome, BaseException):  # so do those of its cause
            outcome.__traceback__ = outcome.__cause__ = outcome.__context__ = None
        self.record(done)
        return done

    def refuse(self, problem: Problem) -> Done:
        """Return the outcome of an operation that is not executed."""
        return self.conclude(problem)

    def record(self, done: Done | None) -> None:
        """Count the outcome in the telemetry; None if the call was cancelled."""
        if self.timer is None:
            return
        is_cancelled = done is None or self.call.cancelled
        label = "cancelled" if is_cancelled or done is None else outcome_label(done.outcome)
        self.timer.end(label, 0 if done is None else len(done.reply))

    def conclude(self, outcome: Outcome | BaseException) -> Done:
        """Return a failure with its reply; a cause that is not for the caller is masked."""
        cause: BaseException | None = None
        if isinstance(outcome, BaseException) and not isinstance(outcome, Problem | InputRequired):
            cause, outcome = outcome, mask(outcome)
        try:
            done = self._done(outcome)
        except Exception as error:  # noqa: BLE001 - a message that cannot be encoded
            cause, done = error, self._done(mask(error))
        if cause is not None:
            if not self.call.cancelled:
                log_failure(self.label, cause)
            cause.__traceback__ = None
        return done

    def _done(self, outcome: Outcome) -> Done:
        if isinstance(outcome, InputRequired):
            return Done(outcome, self.dispatcher.input_required(self.call, outcome))
        assert not isinstance(outcome, Answer)
        return Done(outcome, self.reply(outcome))


async def perform(operation: Operation[Any]) -> Done:
    """Execute an operation and return its outcome.

    Every Exception becomes an outcome. Others, CancelledError among them, pass.
    """
    try:
        function, arguments, context = operation.bind()
        if operation.call.cancelled:  # just now, as a thread began with it
            raise _cancelled()
        value = function(arguments, context)
        if operation.is_async:
            value = await value
        done = operation.render(value)
    except Exception as error:  # noqa: BLE001 - any error of a user's function
        return operation.fail(error)
    if operation.timer is not None:
        operation.record(done)
    return done


def _cancelled() -> Problem:
    """Return the outcome of a call that must not run any more: its arguments are gone."""
    return Problem.unavailable("The call was cancelled")


def drive(coroutine: Coroutine[Any, Any, Done]) -> Done:
    """Run a coroutine that never waits, such as `perform` of an operation that is not async."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        finished: Done = done.value
        return finished
    raise ContractError("a tool that is not async has waited")


class FunctionOperation(Operation[C], kw_only=True, gc=False):
    """A blocking function that an async operation runs in a thread."""

    function: Callable[[], Any]
    value: Any = None
    error: BaseException | None = None

    @property
    def label(self) -> str:
        """Its name in the log."""
        return f"a thread of {self.call.request.name}"

    def bind(self) -> Invocation:
        """Return the function."""
        return _call_alone, self.function, None

    def render(self, value: Any) -> Done:
        """Keep the value for the operation that waits for it."""
        self.value = value
        return _HANDED_OVER

    def fail(self, error: BaseException) -> Done:
        """Keep the exception for the operation that waits for it."""
        self.error = error
        return _HANDED_OVER

    def refuse(self, problem: Problem) -> Done:
        """Keep the problem for the operation that waits for it."""
        return self.fail(problem)

    def result(self) -> Any:
        """Return the value of the function, or raise its exception."""
        if self.error is None:
            return self.value
        try:
            raise self.error
        finally:
            self.error = None  # a cycle: its traceback has this frame


def _call_alone(function: Callable[[], Any], _: None) -> Any:
    return function()


class ToolOperation(Operation[C], kw_only=True, gc=False):
    """A call of a tool."""

    tool: Tool
    arguments: bytes | None = None
    """The arguments of the call that a cursor stands for; those of the request if None."""
    position: Position | None = None
    """The position in the answer from which the caller continues."""
    warnings: Sequence[Notice] | None = None
    """Warnings about the arguments; None until they are checked."""
    original: str | None = None
    """The id of the kept reply of another server that the answer is from."""

    @property
    def label(self) -> str:
        """Its name in the log."""
        return f"tool {self.tool.name}"

    def bind(self) -> Invocation:
        """Check the arguments and return the tool's function with them."""
        tool, dispatcher = self.tool, self.dispatcher
        if dispatcher.telemetry is not None and self.timer is None:
            self.start_timer()
        if tool.name in dispatcher.registry.with_cursor:
            self.resolve_cursor()
        bound = tool.bind(self.call.request.arguments if self.arguments is None else self.arguments)
        self.warnings = bound.warnings
        context = self.make_context(may_wait=tool.is_async) if tool.wants_context else None
        return tool.invoke, bound.arguments, context

    def make_context(self, *, may_wait: bool) -> Context[Any]:
        """Return the context of the call."""
        scope = self.dispatcher.registry.scope_of(self.tool)
        return Context(
            self.tool.name, self.call.request.client, self.call, scope, may_wait=may_wait
        )

    def resolve_cursor(self) -> None:
        """Find the call that a cursor of ours stands for."""
        arguments = self.given_arguments
        if self.tool.name in self.dispatcher.registry.with_cursor and may_have_cursor(arguments):
            request = ToolRequest(self.tool, arguments, self.position)
            self.arguments, self.position = self.dispatcher.continuations.resolve(request)

    @property
    def given_arguments(self) -> bytes:
        """The arguments to execute the tool with."""
        return self.call.request.arguments if self.arguments is None else self.arguments

    def render(self, value: Any) -> Done:
        """Return the outcome with a value that the tool returned."""
        if type(value) is ForwardedResult:
            return Done(outcome_of_result(value), self.forward(value), value)
        tool, position = self.tool, self.position
        answer = answer_of(value, tool, self.warnings or ())
        if position is not None:
            answer = resume_answer(answer, tool, self.given_arguments, position)
        render = self.dispatcher.renderer.render  # not by `reply`: this runs for every call
        request = self.call.request
        return Done(answer, render(request, tool, answer, self.arguments, position, self.timer))

    def reply(self, outcome: Answer[Value] | Problem | Reject) -> bytes:
        """Return the reply with an outcome, as the profile renders it."""
        if isinstance(outcome, ForwardedProblem):
            return self.forward(outcome.result)
        return self.dispatcher.renderer.render(
            self.call.request, self.tool, outcome, self.arguments, self.position, self.timer
        )

    def forward(self, result: ForwardedResult) -> bytes:
        """Return the reply with the result of another server's tool."""
        from accord.server.forwarded_reply import Forwarding  # it imports the reader

        forwarding = Forwarding(
            dispatcher=self.dispatcher,
            request=self.call.request,
            tool=self.tool,
            result=result,
            principal=self.call.principal,
            position=self.position,
            original=self.original,
        )
        return forwarding.reply()

    def outcome_of(self, error: BaseException) -> Outcome | BaseException:
        """Return the meaning of an exception: before the call, the arguments are not valid."""
        if self.warnings is None:
            return outcome_of_arguments(error, self.call.request.revision)
        return outcome_of(error, self.call.request.revision)

    def refuse(self, problem: Problem) -> Done:
        """Return the outcome of a call that is not executed."""
        self.start_timer()
        done = self.conclude(problem)
        self.record(done)
        return done

    def start_timer(self) -> None:
        """Start the telemetry of the call, if the server has any."""
        telemetry = self.dispatcher.telemetry
        if telemetry is not None:
            request = self.call.request
            self.timer: CallTimer | None = telemetry.begin(
                self.tool.name, request.revision.date, request.meta
            )


class WrappedToolOperation(ToolOperation[C], kw_only=True, gc=False):
    """A call of a tool inside middleware."""

    chain: Next
    own_context: Context[Any] | None = None
    """The context for middleware, and for the tool if that is async."""
    bind_error: BaseException | None = None
    value: Any = None
    """The value that the tool returned last, and the answer that middleware gets for it."""
    answer: Answer[Any] | None = None

    def bind(self) -> Invocation:
        """Return the chain of middleware with the call; it sees no cursor of ours.

        A call that continues an answer has the arguments of the first one, so middleware treats
        both alike.
        """
        if self.dispatcher.telemetry is not None:
            self.start_timer()
        try:
            self.resolve_cursor()
        except Exception as error:
            self.bind_error = error
            raise
        return _start, self.chain, Call("tool", self.tool.name, self.tool, self)

    @property
    def raw_arguments(self) -> bytes:
        """The arguments before middleware changes them; cursors are made for these."""
        return self.given_arguments

    @property
    def context(self) -> Context[Any]:
        """The context for middleware."""
        if self.own_context is None:
            self.own_context = super().make_context(may_wait=True)
        return self.own_context

    def make_context(self, *, may_wait: bool) -> Context[Any]:
        """Return the context for the tool: that of the middleware, unless only one may ask."""
        return self.context if may_wait else super().make_context(may_wait=False)

    async def execute(self, call: Call) -> Answer[Any]:
        """Check the arguments and run the tool; a blocking one runs in a thread."""
        if self.call.cancelled:  # and middleware goes on
            raise _cancelled()
        tool = self.tool
        try:
            bound = tool.bind(call.raw_arguments)
        except Exception as error:
            self.bind_error = error
            raise
        context = self.make_context(may_wait=tool.is_async) if tool.wants_context else None
        value = await _invoke(tool, self.call, bound.arguments, context)
        answer = plain_answer(value, tool)
        if bound.warnings:
            return answer.with_warnings(bound.warnings)
        self.value, self.answer = value, answer
        return answer

    def render(self, value: Any) -> Done:
        """Return the outcome with the answer of the outermost middleware."""
        if value is self.answer:  # as the tool returned it, which takes less time
            return ToolOperation.render(self, self.value)
        _require_answer(value, self)
        self.warnings: Sequence[Notice] | None = ()  # they are in the answer
        return ToolOperation.render(self, value)

    def outcome_of(self, error: BaseException) -> Outcome | BaseException:
        """Return the meaning of an exception: of invalid arguments, of middleware, of the tool."""
        if error is self.bind_error:
            return outcome_of_arguments(error, self.call.request.revision)
        return outcome_of(error, self.call.request.revision)


async def _invoke(
    feature: Tool | Prompt | Resource,
    call: RequestChannel,
    arguments: Any,
    context: Context[Any] | None,
) -> Any:
    """Run the function of a feature; a blocking one runs in a thread."""
    try:
        if feature.is_async:
            return await feature.invoke(arguments, context)
        return await call.run_in_thread(feature.invoke, arguments, context)
    except BaseException:
        if context is not None:
            context.abandon()
        raise


def _start(chain: Next, call: Call) -> Awaitable[Answer[Any]]:
    return chain(call)


def _require_answer(value: Any, operation: Operation[Any]) -> None:
    if not isinstance(value, Answer):
        raise ContractError(
            f"the middleware of {operation.label} returned {type(value).__name__}, not an Answer;"
            " end it with `return await next(call)`"
        )


class FeatureOperation(Operation[C], kw_only=True):
    """An operation on a prompt, a resource, a completion, a subscription or a list."""

    what: str
    invocation: Callable[[], Invocation]
    to_result: Callable[[Any], Result | Raw | Reject]
    """Renders the returned value; Raw is sent as it is."""

    @property
    def label(self) -> str:
        """Its name in the log."""
        return self.what

    def bind(self) -> Invocation:
        """Check the arguments and return the function with them."""
        return self.invocation()

    def render(self, value: Any) -> Done:
        """Return the outcome with a value that the function returned."""
        request = self.call.request
        result = self.to_result(value)
        if isinstance(result, Reject):
            return rejected(request, result)
        if isinstance(result, dict):
            result = self.dispatcher.renderer.complete(result, request.revision)
        return Done(SUCCEEDED, messages.reply(request.id, result))

    def reply(self, outcome: Problem | Reject) -> bytes:
        """Return the JSON-RPC error with a failure."""
        request = self.call.request
        reject = outcome if isinstance(outcome, Reject) else _reject_of(outcome, request)
        return messages.failure(request.id, reject)


class WrappedFeatureOperation(FeatureOperation[C], kw_only=True):
    """An operation on a prompt or a resource inside middleware."""

    chain: Next
    feature: Prompt | Resource
    raw_arguments: bytes
    scope: Scope
    own_context: Context[Any] | None = None

    def bind(self) -> Invocation:
        """Return the chain of middleware with the call."""
        kind: Literal["prompt", "resource"] = (
            "prompt" if isinstance(self.feature, Prompt) else "resource"
        )
        return _start, self.chain, Call(kind, self.call.request.name, None, self)

    @property
    def context(self) -> Context[Any]:
        """The context for middleware."""
        if self.own_context is None:
            request = self.call.request
            self.own_context = Context(request.name, request.client, self.call, self.scope)
        return self.own_context

    async def execute(self, call: Call) -> Answer[Any]:
        """Check the arguments and run the function; a blocking one runs in a thread."""
        if self.call.cancelled:  # and middleware goes on
            raise _cancelled()
        feature = self.feature
        _, bound, context = bind_feature(feature, self.call, call.raw_arguments, self.scope)
        if feature.is_async and context is not None:
            context = self.context
        return Answer(await _invoke(feature, self.call, bound, context))

    def render(self, value: Any) -> Done:
        """Return the outcome with the answer of the outermost middleware."""
        _require_answer(value, self)
        return super().render(value.data)


def _reject_of(problem: Problem, request: Request) -> Reject:
    """Return a problem as JSON-RPC error, for methods whose results have no errors."""
    if problem.kind == "not_found" and request.method == RESOURCES_READ:
        return Reject(request.revision.missing_resource, problem.message, {"uri": request.name})
    if problem.kind == "validation":
        return Reject(INVALID_PARAMS, problem.message, {"validation_errors": problem.fields})
    details = known(code=problem.code, remediation=problem.remediation)
    return Reject(INTERNAL_ERROR, problem.message, None if problem is MASKED else details)


def bind_feature(
    feature: Prompt | Resource, call: RequestChannel, arguments: bytes, scope: Scope
) -> Invocation:
    """Check the arguments of a prompt or resource and return its function with them."""
    bound = feature.bind(arguments)
    context: Context[Any] | None = None
    if feature.wants_context:
        request = call.request
        context = Context(request.name, request.client, call, scope, may_wait=feature.is_async)
    return feature.invoke, bound.arguments, context
