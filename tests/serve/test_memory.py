"""What calls hold is freed when they end, and bounded while they are open."""

import asyncio
import gc
import json
import logging
import weakref

import pytest

from accord import Problem, Server
from accord.model.context import ClientInfo
from accord.protocol import Request
from accord.protocol.batch import Batch
from accord.revisions import NEWEST
from accord.serve.call import OneWay, RunningCall
from accord.serve.executor import Executor
from accord.serve.http.streams import Stream

LARGE = 1024 * 1024


class Local:
    """Something that a tool has in a local variable."""


@pytest.mark.parametrize("error", [Problem.not_found("nothing here"), ValueError("a bug")])
@pytest.mark.parametrize("is_async", [True, False])
def test_a_failed_call_keeps_none_of_its_locals(
    error: Exception, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("accord"), "disabled", True)  # records keep tracebacks
    server = Server("failing", version="1")
    locals_of_tool: list[weakref.ref[Local]] = []

    def fail() -> None:
        local = Local()
        locals_of_tool.append(weakref.ref(local))
        raise type(error)(*error.args) if isinstance(error, ValueError) else error

    async def fail_async() -> None:
        fail()

    server.tool(fail_async if is_async else fail)
    gc.disable()
    try:
        asyncio.run(server.call("fail_async" if is_async else "fail"))
        assert [each() for each in locals_of_tool] == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("in_executor", [True, False])
def test_a_problem_with_a_cause_keeps_none_of_its_locals(is_async: bool, in_executor: bool) -> None:
    server = Server("failing", version="1")
    locals_of_tool: list[weakref.ref[Local]] = []

    def fail() -> None:
        local = Local()
        locals_of_tool.append(weakref.ref(local))
        try:
            int("x")
        except ValueError as error:
            raise Problem.not_found("nothing here") from error

    async def fail_async() -> None:
        fail()

    async def run() -> None:
        request = Request(1, ClientInfo(NEWEST), name="fail_async" if is_async else "fail")
        executor = Executor(server.dispatcher, asyncio.get_running_loop())
        if in_executor:
            await executor.run(RunningCall(request, None, OneWay()))
        else:
            await server.call(request.name)
        executor.close()

    server.tool(fail_async if is_async else fail)
    asyncio.run(run())
    gc.collect()
    assert [each() for each in locals_of_tool] == [None]


def test_an_executor_is_freed_with_its_loop() -> None:
    server = Server("moving", version="1")

    @server.tool
    async def here() -> str:
        return "here"

    async def run() -> weakref.ref[Executor]:
        executor = Executor(server.dispatcher, asyncio.get_running_loop())
        request = Request(1, ClientInfo(NEWEST), name="here")
        await executor.run(RunningCall(request, None, OneWay()))
        return weakref.ref(executor)

    executor = asyncio.run(run())
    gc.collect()
    assert executor() is None


def test_a_cancelled_call_drops_its_arguments() -> None:
    connection = Server("empty", version="1").dispatcher.connect()
    [request] = connection.receive(_call("x" * LARGE))
    assert isinstance(request, Request)
    call = RunningCall(request, connection, None)
    call.cancel()
    assert len(call.request.arguments) < 100


def _call(text: str) -> bytes:
    meta = "io.modelcontextprotocol"
    params = {
        "name": "take",
        "arguments": {"text": text},
        "_meta": {f"{meta}/protocolVersion": "2026-07-28", f"{meta}/clientCapabilities": {}},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def test_replies_beyond_the_budget_of_batches_become_errors_with_their_ids() -> None:
    batches = [Batch() for _ in range(3)]
    for number, batch in enumerate(batches):
        for position in range(8):
            batch.add(_reply(100 * number + position))
    replies = [json.loads(batch.settle() or b"") for batch in batches]
    ids = [reply["id"] for each in replies for reply in each]
    assert ids == [100 * number + position for number in range(3) for position in range(8)]
    failed = [reply for each in replies for reply in each if "error" in reply]
    assert 8 <= len(failed) <= 9  # 16 MiB fit, of 24
    assert all("by itself" in reply["error"]["message"] for reply in failed)


def test_a_batch_that_is_dropped_gives_its_room_back() -> None:
    for _ in range(3):
        batch = Batch()
        for number in range(12):
            batch.add(_reply(number))
        del batch
    last = Batch()
    last.add(_reply(1))
    assert "error" not in json.loads(last.settle() or b"")[0]


def _reply(id: int) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": {"text": "x" * LARGE}}).encode()


def test_a_call_that_sends_much_waits_for_the_client_of_its_stream() -> None:
    async def send() -> tuple[bool, bool]:
        stream = Stream()
        events = stream.follow(0, 60)
        stream.append(b"1" * LARGE)
        await anext(events)
        before = stream.is_behind
        stream.append(b"2" * LARGE)
        waiting = asyncio.create_task(_wait(stream))
        await asyncio.sleep(0)
        assert not waiting.done()
        await anext(events)
        await waiting
        return before, stream.is_behind

    assert asyncio.run(send()) == (False, False)


def test_nothing_waits_for_a_stream_without_a_client() -> None:
    async def send() -> bool:
        stream = Stream()
        stream.append(b"1" * LARGE)
        return stream.is_behind

    assert asyncio.run(send()) is False


async def _wait(stream: Stream) -> None:
    await stream.drained()


def test_streams_keep_a_bounded_number_of_bytes_together() -> None:
    async def fill() -> int:
        streams = [Stream(str(number)) for number in range(40)]
        for _ in range(4):
            for stream in streams:
                stream.append(b"x" * (LARGE // 2))
        return sum([len([e async for e in _ended(stream).follow(0, 1)]) for stream in streams])

    assert asyncio.run(fill()) <= 64 + 40  # 32 MiB of them, and the newest of each


def _ended(stream: Stream) -> Stream:
    stream.close()
    return stream
