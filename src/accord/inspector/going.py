"""A call that is under way: to its end, or to where its tool asks something and waits."""

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from time import perf_counter
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from accord.inspector.target import Asked, Posed, Said

Ended = TypeVar("Ended")

_MOST: Final = 16
PATIENCE: Final = 600.0  # seconds that somebody may take to answer


class _Frame(msgspec.Struct, frozen=True):
    """As much of a message as tells whether it asks something."""

    id: Any = None
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Withdrawn(msgspec.Struct, frozen=True, rename="camel"):
    request_id: Any = None


_frame = msgspec.json.Decoder(_Frame).decode
_withdrawn = msgspec.json.Decoder(_Withdrawn).decode
_encode = msgspec.json.Encoder().encode


class Going(Generic[Ended]):
    """One call, which `begin`s anew with each answer in the stateless era."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.open: dict[str, Posed] = {}
        """The questions that are open, each by the key that its answer has to name."""
        self.state: str | None = None
        """What has to come along with the answers, in the stateless era."""
        self.seconds = 0.0
        """How long it took, without the time in which somebody thought."""
        self._task: asyncio.Future[Ended] | None = None
        self._asks = asyncio.Event()

    def begin(self, work: Coroutine[Any, Any, Ended]) -> None:
        """Set it going."""
        self._task = asyncio.ensure_future(work)

    async def wait(self) -> Ended | None:
        """How it ended; None if it asks first. Whoever cancels this cancels the call."""
        assert self._task is not None
        began = perf_counter()
        asks = asyncio.ensure_future(self._asks.wait())
        try:
            first: set[asyncio.Future[Any]] = {self._task, asks}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.cancel()
            raise
        finally:
            asks.cancel()
            self.seconds += perf_counter() - began
        return self._task.result() if self._task.done() else None

    async def ends_within(self, seconds: float) -> bool:
        """Whether it ends by itself, whatever it asks."""
        assert self._task is not None
        try:
            done, _ = await asyncio.wait({self._task}, timeout=seconds)
        except asyncio.CancelledError:
            self.cancel()
            raise
        return bool(done)

    def cancel(self) -> None:
        """Nobody wants to know any longer."""
        if self._task is not None:
            self._task.cancel()

    def hear(self, raw: bytes) -> None:
        """Note what a message asks, or no longer asks."""
        try:
            frame = _frame(raw)
            if frame.method == "notifications/cancelled":
                self.close(_encode(_withdrawn(frame.params).request_id).decode())
            elif frame.method and frame.id is not None:
                self.pose(Posed(_encode(frame.id).decode(), frame.method, frame.params))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return

    def hear_result(self, result: Any) -> None:
        """Note what a result of the stateless era asks."""
        if not isinstance(result, dict) or result.get("resultType") != "input_required":
            return
        state = result.get("requestState")
        self.state = state if isinstance(state, str) else None
        asked = result.get("inputRequests")
        for key, question in asked.items() if isinstance(asked, dict) else ():
            if isinstance(question, dict) and isinstance(question.get("method"), str):
                self.pose(Posed(key, question["method"], question.get("params", {})))

    def pose(self, posed: Posed) -> None:
        """There is something to be answered."""
        self.open[posed.key] = posed
        self._asks.set()

    def close(self, key: str) -> None:
        """It need not be answered any longer, or has been."""
        self.open.pop(key, None)
        if not self.open:
            self._asks.clear()

    def responses(self, answers: Mapping[str, Said]) -> dict[str, Any]:
        """What goes along with the call that is made again."""
        given = {key: said.result for key, said in answers.items() if key in self.open}
        self.open.clear()
        self._asks.clear()
        state = {} if self.state is None else {"requestState": self.state}
        return {"inputResponses": given, **state}


class _Call(Protocol):
    def cancel(self) -> None: ...


C = TypeVar("C", bound=_Call)


class Waiting(Generic[C]):
    """Calls that wait for answers, by number; the oldest, and the forgotten ones, are let go."""

    def __init__(self, most: int = _MOST, patience: float = PATIENCE) -> None:
        self._most = most
        self._patience = patience
        self._calls: OrderedDict[int, tuple[C, asyncio.TimerHandle]] = OrderedDict()

    def add(self, number: int, call: C) -> None:
        """Keep a call until it is answered."""
        timer = asyncio.get_running_loop().call_later(self._patience, self.leave, number)
        self._calls[number] = (call, timer)
        while len(self._calls) > self._most:
            self.leave(next(iter(self._calls)))

    def take(self, number: int) -> C | None:
        """The call that is to go on, if it still waits."""
        found = self._calls.pop(number, None)
        if found is None:
            return None
        call, timer = found
        timer.cancel()
        return call

    def leave(self, number: int) -> None:
        """End a call that nobody answers."""
        call = self.take(number)
        if call is not None:
            call.cancel()
