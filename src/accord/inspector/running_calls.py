"""Running calls: each runs to its end, or to an input request that it waits for."""

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from time import perf_counter
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from accord.inspector.target import CallRequest, InputRequest, InputResponse, OnMessage

Result = TypeVar("Result")

_MAX_WAITING: Final = 16
INPUT_TIMEOUT: Final = 600.0  # seconds that a call waits for input responses


class _Frame(msgspec.Struct, frozen=True):
    """The members of a message that identify a request or a cancellation."""

    id: Any = None
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Cancelled(msgspec.Struct, frozen=True, rename="camel"):
    request_id: Any = None


_frame = msgspec.json.Decoder(_Frame).decode
_cancelled = msgspec.json.Decoder(_Cancelled).decode
_encode = msgspec.json.Encoder().encode


class InspectorCall(Generic[Result]):
    """One call; in the stateless era `begin` runs it again with each set of responses."""

    def __init__(self, request: CallRequest) -> None:
        self.request = request
        self.on_message: OnMessage = lambda raw: None
        """Receives the notifications that arrive before the result."""
        self.input_requests: dict[str, InputRequest] = {}
        """The open input requests, by key."""
        self.state: str | None = None
        """The `requestState` to send with the responses, in the stateless era."""
        self.seconds: float = 0.0
        """Duration, without the time spent waiting for input responses."""
        self._task: asyncio.Future[Result] | None = None
        self._has_input_requests = asyncio.Event()

    def begin(self, work: Coroutine[Any, Any, Result]) -> None:
        """Start the call."""
        self._task = asyncio.ensure_future(work)

    async def wait(self) -> Result | None:
        """Return the result, or None if the call asks for input; cancelling this cancels it."""
        assert self._task is not None
        began = perf_counter()
        input_requested = asyncio.ensure_future(self._has_input_requests.wait())
        try:
            first: set[asyncio.Future[Any]] = {self._task, input_requested}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.cancel()
            raise
        finally:
            input_requested.cancel()
            self.seconds += perf_counter() - began
        return self._task.result() if self._task.done() else None

    async def ends_within(self, seconds: float) -> bool:
        """Return True if the call ends within so many seconds, despite open input requests."""
        assert self._task is not None
        try:
            done, _ = await asyncio.wait({self._task}, timeout=seconds)
        except asyncio.CancelledError:
            self.cancel()
            raise
        return bool(done)

    def cancel(self) -> None:
        """Cancel the call."""
        if self._task is not None:
            self._task.cancel()

    def receive(self, raw: bytes) -> None:
        """Add the input request in a message, remove one that it cancels, or pass it on."""
        try:
            frame = _frame(raw)
            if frame.method == "notifications/cancelled":
                self.close(_encode(_cancelled(frame.params).request_id).decode())
            elif frame.method and frame.id is None:
                self.on_message(raw)
            elif frame.method:
                self.add_input_request(
                    InputRequest(_encode(frame.id).decode(), frame.method, frame.params)
                )
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return

    def receive_result(self, result: Any) -> None:
        """Add the input requests in a result of the stateless era."""
        if not isinstance(result, dict) or result.get("resultType") != "input_required":
            return
        state = result.get("requestState")
        self.state = state if isinstance(state, str) else None
        requests = result.get("inputRequests")
        for key, question in requests.items() if isinstance(requests, dict) else ():
            if isinstance(question, dict) and isinstance(question.get("method"), str):
                self.add_input_request(
                    InputRequest(key, question["method"], question.get("params", {}))
                )

    def add_input_request(self, input_request: InputRequest) -> None:
        """Add an open input request."""
        self.input_requests[input_request.key] = input_request
        self._has_input_requests.set()

    def close(self, key: str) -> None:
        """Remove an input request that was answered or cancelled."""
        self.input_requests.pop(key, None)
        if not self.input_requests:
            self._has_input_requests.clear()

    def responses(self, answers: Mapping[str, InputResponse]) -> dict[str, Any]:
        """Return the params to add to the repeated call, in the stateless era."""
        given = {key: each.result for key, each in answers.items() if key in self.input_requests}
        self.input_requests.clear()
        self._has_input_requests.clear()
        state = {} if self.state is None else {"requestState": self.state}
        return {"inputResponses": given, **state}


class _Call(Protocol):
    def cancel(self) -> None: ...


C = TypeVar("C", bound=_Call)


class WaitingCalls(Generic[C]):
    """Calls that wait for input responses, by number; the oldest and the expired are cancelled."""

    def __init__(self, max_calls: int = _MAX_WAITING, timeout: float = INPUT_TIMEOUT) -> None:
        self._max_calls = max_calls
        self._timeout = timeout
        self._calls: OrderedDict[int, tuple[C, asyncio.TimerHandle]] = OrderedDict()

    def add(self, number: int, call: C) -> None:
        """Store a call until its responses arrive."""
        timer = asyncio.get_running_loop().call_later(self._timeout, self.abandon, number)
        self._calls[number] = (call, timer)
        while len(self._calls) > self._max_calls:
            self.abandon(next(iter(self._calls)))

    def take(self, number: int) -> C | None:
        """Remove and return a call that is to continue, if it still waits."""
        found = self._calls.pop(number, None)
        if found is None:
            return None
        call, timer = found
        timer.cancel()
        return call

    def abandon(self, number: int) -> None:
        """Cancel a call that waits."""
        call = self.take(number)
        if call is not None:
            call.cancel()
