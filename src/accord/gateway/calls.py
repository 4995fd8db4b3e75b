"""Calls that are open at an upstream: its messages meanwhile, and calls that wait for answers."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from secrets import token_urlsafe
from typing import Any, Final, cast

import msgspec

from accord.client import Reply
from accord.errors import INTERNAL_ERROR, PeerError
from accord.gateway.questions import ForwardedQuestion
from accord.model.answer import InputRequired, Problem
from accord.model.context import LEVELS, Context, MissingCapability
from accord.serve.worker_name import worker_name
from accord.server.operation import RequestChannel

_MAX_EVENTS: Final = 1_000
"""Messages of an upstream that are kept until its caller has taken those before."""
_MAX_ROUNDS: Final = 32
"""Times that one request may ask for input."""
_MAX_ASKED: Final = 16
"""Questions that an upstream may have open in one call."""
_PARKED: Final = "call."
"""Start of the keys of questions in parked calls."""
PARKED_SECONDS: Final = 300.0
"""Time for a caller of the stateless era to come back with its answers."""

_BATCH_SECONDS: Final = 0.02
"""Seconds in which several questions of an upstream are one result for its caller."""
_ABANDONED: Final = {"error": {"code": INTERNAL_ERROR, "message": "The call was cancelled"}}

Respond = Callable[[Mapping[str, Any]], Awaitable[None]]


class Progress(msgspec.Struct, frozen=True):
    """A progress notification of an upstream."""

    progress: float
    total: float | None
    message: str | None


class Log(msgspec.Struct, frozen=True):
    """A log message of an upstream."""

    level: Any
    data: Any
    logger: str | None


class PendingQuestion(msgspec.Struct, frozen=True):
    """A question of an upstream of the handshake era, and the way to answer it."""

    key: str
    question: ForwardedQuestion
    respond: Respond


Event = Progress | Log | PendingQuestion


class ForwardedCall:
    """A request to an upstream, in a task of its own: it goes on while its caller is away.

    A caller of the stateless era ends its request to answer a question, and comes back with
    another one; between them the call is parked.
    """

    def __init__(self, context: Context[Any]) -> None:
        self.principal: bytes | None = context.channel.principal
        self.on_abandon: Callable[[], None] = lambda: None
        """Called if the call is ended before its upstream has replied."""
        self._context = context
        self._events: deque[Event] = deque()
        self._open: dict[str, PendingQuestion] = {}
        self._number = 0
        self._task: asyncio.Task[Reply] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_direct = False
        self._passing: asyncio.Task[None] | None = None
        """Passes on the messages of a direct call."""

    @cached_property
    def id(self) -> str:
        """A random id, which begins with the name of the worker that has the call."""
        return f"{worker_name()}-{token_urlsafe(12)}"

    @cached_property
    def _changed(self) -> asyncio.Event:
        return asyncio.Event()

    def start(self, request: Coroutine[Any, Any, Reply]) -> None:
        """Begin the request."""
        self._task = asyncio.create_task(request)
        self._task.add_done_callback(lambda _: self._changed.set())

    @property
    def is_parked(self) -> bool:
        """True while its caller of the stateless era has to come back with answers."""
        return self._timer is not None and not self._timer.cancelled()

    @property
    def is_done(self) -> bool:
        """True once the upstream has replied or failed."""
        return self._task is not None and self._task.done()

    async def direct(self, request: Awaitable[Reply]) -> Reply:
        """Send a request that never has to be parked, in the task of its caller."""
        self._is_direct = True
        try:
            reply = await request
            if self._passing is not None:
                await self._passing
        except BaseException:
            if self._passing is not None:
                self._passing.cancel()
            raise
        finally:
            if self._open:
                self._abandon_questions()
        return reply

    async def _pass_on_all(self) -> None:
        while self._events:
            await self._pass_on(self._events.popleft())

    # Messages of the upstream

    def add(self, event: Event) -> None:
        """Take a message of the upstream for the caller; the oldest are dropped if it is away."""
        if len(self._events) >= _MAX_EVENTS:
            self._events.popleft()
        self._events.append(event)
        if not self._is_direct:
            self._changed.set()
        elif self._passing is None or self._passing.done():
            self._passing = asyncio.create_task(self._pass_on_all())

    def ask(self, question: ForwardedQuestion, respond: Respond) -> bool:
        """Take a question of the upstream; False if too many are open."""
        if len(self._open) >= _MAX_ASKED:
            return False
        self._number += 1
        asked = PendingQuestion(f"{_PARKED}{self.id}.{self._number}", question, respond)
        self._open[asked.key] = asked
        self.add(asked)
        return True

    # The caller

    async def follow(self, context: Context[Any]) -> Reply:
        """Pass on messages of the upstream until it replies; raise what ends the request.

        InputRequired parks the call, everything else ends it.
        """
        self._context = context
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._answer_open()
            while True:
                while self._events:
                    await self._pass_on(self._events.popleft())
                if self.is_done:
                    break
                self._changed.clear()
                await self._changed.wait()
            assert self._task is not None
            return self._task.result()
        except InputRequired:
            self._park()
            raise
        except BaseException:
            self.cancel()
            raise

    def _park(self) -> None:
        """Wait for the caller to come back with its answers."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(PARKED_SECONDS, self.cancel)

    def cancel(self) -> None:
        """End the request; the upstream is told."""
        self.on_abandon()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            self._task.add_done_callback(_retrieve)
        self._abandon_questions()

    def _abandon_questions(self) -> None:
        for asked in self._open.values():
            refusal = asyncio.ensure_future(asked.respond(_ABANDONED))
            refusal.add_done_callback(_retrieve)
        self._open.clear()

    async def _pass_on(self, event: Event) -> None:
        match event:
            case Progress(progress, total, message):
                await self._context.progress(progress, total, message)
            case Log(level, data, logger) if level in LEVELS:
                await self._context.log(level, data, logger)
            case PendingQuestion():
                await self._ask_open(event)

    async def _answer_open(self) -> None:
        """Ask again what was open when the caller left: it brings the answers."""
        open_ = [asked for asked in self._open.values() if asked not in self._events]
        if open_:
            await self._ask_caller(open_)

    async def _ask_open(self, first: PendingQuestion) -> None:
        """Ask the caller a question; one of the stateless era all that come together."""
        if first.key not in self._open:  # it was asked with another one
            return
        if not self._context.client.revision.stateless:
            await self._ask_caller([first])
            return
        await asyncio.sleep(_BATCH_SECONDS)
        await self._ask_caller(list(self._open.values()))

    async def _ask_caller(self, asked: Sequence[PendingQuestion]) -> None:
        """Let the caller answer questions, and pass its answers or refusals to the upstream."""
        client = self._context.client
        possible = {}
        for each in asked:
            missing = each.question.lacks(client.capabilities, client.revision)
            if missing is None:
                possible[each.key] = each.question
            else:
                await self._respond(each, _refusal(MissingCapability(missing)))
        try:
            answers = await self._context.channel.ask(possible) if possible else {}
        except (MissingCapability, Problem) as error:
            for key in possible:
                await self._respond(self._open[key], _refusal(error))
            return
        for key, answer in answers.items():
            await self._respond(self._open[key], {"result": msgspec.Raw(answer)})

    async def _respond(self, asked: PendingQuestion, response: Mapping[str, Any]) -> None:
        del self._open[asked.key]
        with suppress(PeerError):  # the call itself fails for the same reason
            await asked.respond(response)


def _refusal(error: Exception) -> Mapping[str, Any]:
    return {"error": {"code": INTERNAL_ERROR, "message": str(error)}}


def _retrieve(task: "asyncio.Future[Any]") -> None:
    """Mark the exception of a task as known."""
    if not task.cancelled():
        task.exception()


async def ask(
    context: Context[Any], questions: Mapping[str, ForwardedQuestion]
) -> Mapping[str, bytes]:
    """Return the answers of a caller; raise MissingCapability if it cannot be asked."""
    client = context.client
    for question in questions.values():
        missing = question.lacks(client.capabilities, client.revision)
        if missing is not None:
            raise MissingCapability(missing)
    return await context.channel.ask(questions)


def parked_key(channel: RequestChannel) -> str | None:
    """Return the id of the parked call that a request comes back to, if it does."""
    asked = () if channel.responses is None else channel.responses.asked
    ours = (key.removeprefix(_PARKED) for key in asked if key.startswith(_PARKED))
    return next((key.partition(".")[0] for key in ours), None)


def is_asking(reply: Reply) -> bool:
    """True if the result of an upstream asks for input."""
    result = reply.result
    return isinstance(result, dict) and result.get("resultType") == "input_required"


def first_answers(context: Context[Any]) -> Mapping[str, Any]:
    """Return the answers that a caller of the stateless era brings, as params of the request."""
    responses = cast(RequestChannel, context.channel).responses
    if responses is None or not responses.asked:
        return {}
    return _answers(responses.given, responses.inner)


async def with_input(
    context: Context[Any],
    reply: Reply,
    send: Callable[[Mapping[str, Any]], Awaitable[Reply]],
    ask_upstream: Callable[[Mapping[str, Any]], Mapping[str, ForwardedQuestion]],
) -> Reply:
    """Repeat a request to an upstream of the stateless era until its result is complete.

    A caller of the handshake era is asked in between. One of the stateless era gets the questions
    as the result, and its retry continues here with the upstream's `requestState`.
    """
    for _ in range(_MAX_ROUNDS):
        if not is_asking(reply):
            return reply
        result = reply.result
        questions, state = ask_upstream(result), result.get("requestState")
        state = state if isinstance(state, str) else None
        if context.client.revision.stateless:
            _require_able(context, questions)
            raise InputRequired(questions, state)
        found = await ask(context, questions) if questions else {}
        responses = {key: msgspec.Raw(each) for key, each in found.items()}
        reply = await send(_answers(responses, state))
    raise PeerError(f"it asked for input more than {_MAX_ROUNDS} times")


def _require_able(context: Context[Any], questions: Mapping[str, ForwardedQuestion]) -> None:
    for question in questions.values():
        missing = question.lacks(context.client.capabilities, context.client.revision)
        if missing is not None:
            raise MissingCapability(missing)


def _answers(responses: Mapping[str, Any], state: str | None) -> Mapping[str, Any]:
    answers: dict[str, Any] = {"inputResponses": responses} if responses else {}
    return answers if state is None else {**answers, "requestState": state}
