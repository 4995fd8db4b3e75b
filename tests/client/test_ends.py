"""How requests, handlers and clients end: cancelled, in time, by an error, by the server's death."""

import asyncio
import gc
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from accord import (
    Answer,
    Client,
    Context,
    ContractError,
    Elicited,
    ElicitRequest,
    PeerError,
    Server,
)
from accord.client import Disconnected, TimedOut
from client.connections import UNWATCHED, misbehaving, run
from commands import ACCORD, SAMPLES
from http_peer import HttpServer
from peers.scripted_server import Request, handshake, scripted_server, stateless
from samples import features

SLOW = re.compile(r"^Executing .* took [0-9.]+ seconds$", re.S)
"""What asyncio logs in debug mode where the machine is busy."""
ERAS = ["2025-11-25", "2026-07-28"]
COMMAND = [ACCORD, "serve", f"{SAMPLES / 'features.py'}:basics"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with HttpServer([*COMMAND, "--http", "127.0.0.1:0"]) as server:
        yield server.url
    assert "Traceback" not in server.stderr


@pytest.fixture(params=["in process", "stdio", "http"])
def target(request: pytest.FixtureRequest) -> Any:
    if request.param == "in process":
        return features.build("basics", basics=True)
    return COMMAND if request.param == "stdio" else request.getfixturevalue("url")


async def waiting(client: Client, number: int) -> None:
    """Wait until so many calls wait in the server."""
    for _ in range(2_000):
        if (await client.call_tool("waiting")).value == number:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"there are never {number} calls that wait")


@pytest.mark.parametrize("tool", ["forever", "patient"])
@pytest.mark.parametrize("revision", ERAS)
def test_a_cancelled_await_cancels_the_call_in_the_server(
    target: Any, revision: str, tool: str
) -> None:
    async def main() -> None:
        async with Client(target, revision=revision) as client:
            call = asyncio.create_task(client.call_tool(tool))
            await waiting(client, 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await waiting(client, 0)

    run(main())


@pytest.mark.parametrize("revision", ERAS)
def test_a_call_that_takes_too_long_is_cancelled_in_the_server(target: Any, revision: str) -> None:
    async def main() -> None:
        async with Client(target, revision=revision, timeout=20) as client:
            with pytest.raises(TimedOut, match=r"^tools/call was not answered within 0.1 s"):
                await client.call_tool("forever", timeout=0.1)
            await waiting(client, 0)

    run(main())


@pytest.mark.parametrize("revision", ERAS)
def test_leaving_the_context_cancels_calls_and_ends_all_tasks(target: Any, revision: str) -> None:
    async def main() -> None:
        threads = threading.active_count()
        calls: list[asyncio.Task[Any]] = []

        async def leave_by_an_error() -> None:
            async with Client(target, revision=revision) as client:
                tools = ["forever", "forever", "patient"]
                calls.extend(asyncio.create_task(client.call_tool(tool)) for tool in tools)
                await waiting(client, 3)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await leave_by_an_error()
        for call in calls:
            with pytest.raises(PeerError, match="closed before the reply"):
                await call
        assert len(asyncio.all_tasks()) == 1
        for _ in range(500):
            if threading.active_count() > threads:
                await asyncio.sleep(0.01)
        assert threading.active_count() <= threads

    run(main())


@pytest.mark.parametrize("during", ["a call", "a subscription"])
def test_the_death_of_the_server_is_an_error(during: str) -> None:
    target = f"{SAMPLES / 'features.py'}:every_feature"

    async def main() -> None:
        options: Any = {"revision": "2025-11-25", "on_elicit": _never}
        async with Client([ACCORD, "serve", target], env=UNWATCHED, **options) as client:
            if during == "a call":
                call = asyncio.create_task(client.call_tool("forever"))
                await asyncio.sleep(0.2)
                _kill(client)
                with pytest.raises(Disconnected, match="killed by SIGKILL"):
                    await call
            else:
                async with client.subscribe("sample://menu") as changes:
                    _kill(client)
                    with pytest.raises(Disconnected, match="killed by SIGKILL"):
                        await anext(changes)
            with pytest.raises(PeerError):
                await client.call_tool("brew")

    run(main())


def _kill(client: Client) -> None:
    transport: Any = client._open._session.transport
    os.kill(transport._transport.get_pid(), signal.SIGKILL)


async def _never(request: ElicitRequest) -> Elicited[Any]:
    await asyncio.Event().wait()
    return Elicited("cancel")


# Handlers


def asking() -> Server:
    """A server with a tool that asks, and counts how its runs end."""
    server = Server("asking", version="1")

    @server.tool
    async def ask(context: Context) -> str:
        """Ask for a name."""
        return str((await context.elicit("Your name?", str)).data)

    return server


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("is_async", [True, False])
def test_the_error_of_a_handler_is_raised_by_the_call(revision: str, is_async: bool) -> None:
    def fails(request: ElicitRequest) -> Elicited[Any]:
        raise KeyError(request.message)

    async def fails_later(request: ElicitRequest) -> Elicited[Any]:
        await asyncio.sleep(0)
        return fails(request)

    async def main() -> None:
        handler: Any = fails_later if is_async else fails
        async with Client(asking(), revision=revision, on_elicit=handler) as client:
            with pytest.raises(KeyError, match="Your name"):
                await client.call_tool("ask")
            with pytest.raises(KeyError, match="Your name"):  # and the client still works
                await client.call_tool("ask")

    run(main())


@pytest.mark.parametrize("revision", ERAS)
def test_a_handler_has_a_time_limit_of_its_own(revision: str) -> None:
    async def main() -> None:
        options: Any = {"answer_timeout": 1, "timeout": 0.5}
        async with Client(asking(), revision=revision, on_elicit=_never, **options) as client:
            with pytest.raises(TimedOut, match=r"^on_elicit took longer than 1 s$"):
                await client.call_tool("ask")
        assert len(asyncio.all_tasks()) == 1

    run(main())


@pytest.mark.parametrize("revision", ERAS)
def test_a_cancelled_call_cancels_its_handler(revision: str) -> None:
    ended: list[str] = []

    async def main() -> None:
        asked = asyncio.Event()

        async def wait(request: ElicitRequest) -> Elicited[Any]:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(request.message)
            return Elicited("cancel")

        async with Client(asking(), revision=revision, on_elicit=wait) as client:
            call = asyncio.create_task(client.call_tool("ask"))
            await asked.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            for _ in range(10):
                await asyncio.sleep(0)

    run(main())
    assert ended == ["Your name?"]


@pytest.mark.parametrize("revision", ERAS)
def test_handlers_end_with_the_client(revision: str) -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def wait(request: ElicitRequest) -> Elicited[Any]:
            asked.set()
            return await _never(request)

        async with Client(asking(), revision=revision, on_elicit=wait) as client:
            call = asyncio.create_task(client.call_tool("ask"))
            await asked.wait()
        with pytest.raises(PeerError, match="closed before the reply"):
            await call
        assert len(asyncio.all_tasks()) == 1

    run(main())


@pytest.mark.parametrize("turns", range(1, 12))
@pytest.mark.parametrize("tool", ["in_thread", "in_task"])
def test_a_call_that_begins_at_the_end_leaves_nothing(turns: int, tool: str) -> None:
    server = Server("s")

    @server.tool
    def in_thread() -> None:
        pass

    @server.tool
    async def in_task() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        threads, tasks = threading.active_count(), len(asyncio.all_tasks())
        async with Client(server) as client:
            call = asyncio.create_task(client.call_tool(tool))
            for _ in range(turns):
                await asyncio.sleep(0)
        with suppress(PeerError):
            await call
        for _ in range(2_000):  # a thread ends after its function
            if (threading.active_count(), len(asyncio.all_tasks())) == (threads, tasks):
                return
            await asyncio.sleep(0.005)
        raise AssertionError("a thread or a task is left")

    run(main())


@pytest.mark.parametrize("revision", ERAS)
def test_a_handler_that_answers_after_the_end_holds_nothing(revision: str) -> None:
    asked = asyncio.Event()

    async def late(request: ElicitRequest) -> Elicited[Any]:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Elicited("cancel")
        raise AssertionError

    async def main() -> None:
        async with Client(asking(), revision=revision, on_elicit=late) as client:
            call = asyncio.create_task(client.call_tool("ask"))
            await asked.wait()
        with pytest.raises(PeerError, match="closed"):
            await call
        assert len(asyncio.all_tasks()) == 1

    run(main())


def stepping() -> Server:
    """A server with a tool that reports five steps."""
    server = Server("steps")

    @server.tool
    async def work(ctx: Context) -> str:
        for step in range(5):
            await ctx.progress(step, 5)
            await ctx.log("info", step)
        return "done"

    return server


def test_a_progress_callback_ends_with_the_client() -> None:
    async def hang(*progress: Any) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with Client(stepping()) as client:
            call = asyncio.create_task(client.call_tool("work", on_progress=hang))
            while not any(b"done" in message.raw for message in client.messages):  # noqa: ASYNC110
                await asyncio.sleep(0)
            for _ in range(10):  # the call takes its reply
                await asyncio.sleep(0)
        with pytest.raises(PeerError, match="closed before on_progress ended"):
            await call
        assert len(asyncio.all_tasks()) == 1

    run(main())


def test_a_progress_callback_has_the_time_limit_of_handlers() -> None:
    async def hang(*progress: Any) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        server = features.build("f", every_feature=True)
        async with Client(server, answer_timeout=0.1) as client:
            with pytest.raises(TimedOut, match=r"on_progress took longer than 0.1 s"):
                await client.call_tool("brew", on_progress=hang)

    run(main())


def test_callbacks_run_one_after_another_in_the_order_of_the_messages() -> None:
    seen: dict[str, list[Any]] = {"progress": [], "log": [], "notification": []}
    begun: list[str] = []

    async def slow(kind: str, value: Any) -> None:
        begun.append(kind)
        await asyncio.sleep(0.01 if begun.count(kind) == 1 else 0)  # the first is the slowest
        seen[kind].append(value)

    async def main() -> None:
        async with Client(
            stepping(),
            on_log=lambda message: slow("log", message.data),
            on_notification=lambda message: slow("notification", message["method"]),
        ) as client:
            await client.call_tool("work", on_progress=lambda step, *_: slow("progress", step))
            while len(seen["notification"]) < 10 or len(seen["log"]) < 5:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    run(main())
    assert seen["progress"] == seen["log"] == [0, 1, 2, 3, 4]
    assert seen["notification"] == ["notifications/progress", "notifications/message"] * 5


def test_a_call_that_is_cancelled_as_the_client_ends_logs_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with Client(features.build("basics", basics=True)) as client:
            call = asyncio.create_task(client.call_tool("forever"))
            await waiting(client, 1)
            call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    run(main())
    gc.collect()
    logged = [record.getMessage() for record in caplog.records if record.name == "asyncio"]
    assert [line for line in logged if not SLOW.search(line)] == []


def test_a_flood_of_questions_is_refused() -> None:
    """A server may send any number of requests; handlers run for a limited number at a time."""
    running = 0
    refused: list[Exception] = []
    may_answer = asyncio.Event()

    async def wait(request: ElicitRequest) -> Elicited[Any]:
        nonlocal running
        running += 1
        await may_answer.wait()
        return Elicited("decline")

    server = Server("flood")

    @server.tool
    async def flood(ctx: Context) -> str:
        async def ask() -> None:
            try:
                await ctx.elicit("?", str)
            except Exception as error:  # noqa: BLE001 - the kind does not matter
                refused.append(error)
                if len(refused) == 50:
                    may_answer.set()

        await asyncio.gather(*(ask() for _ in range(150)))
        return f"{150 - len(refused)} answers"

    async def main() -> Any:
        async with Client(server, revision=ERAS[0], on_elicit=wait) as client:
            return (await client.call_tool("flood")).value

    assert run(main()) == "100 answers"
    assert running == 100


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize(
    ("answer", "sentence"),
    [(5, "on_elicit must return an Elicited or a mapping, not int"), (None, "not NoneType")],
)
def test_a_handler_that_returns_something_else_is_told(
    revision: str, answer: Any, sentence: str
) -> None:
    async def main() -> None:
        async with Client(asking(), revision=revision, on_elicit=lambda _: answer) as client:
            await client.call_tool("ask")

    with pytest.raises(ContractError, match=sentence):
        run(main())


@pytest.mark.parametrize("revision", ERAS)
def test_without_a_handler_the_server_knows_that_it_cannot_ask(revision: str) -> None:
    async def main() -> Any:
        async with Client(asking(), revision=revision) as client:
            return (await client.call_tool_raw("ask")).message

    message = run(main())
    assert "error" in message or message["result"]["isError"] is True
    assert "elicitation" in json.dumps(message)


def test_the_error_of_a_progress_callback_is_raised_by_its_call() -> None:
    def fails(*progress: Any) -> None:
        raise KeyError(progress[2])

    async def main() -> None:
        server = features.build("f", every_feature=True)
        async with Client(server) as client:
            with pytest.raises(KeyError, match="grinding"):
                await client.call_tool("brew", on_progress=fails)
            assert (await client.call_tool("brew")).value == "coffee"

    run(main())


def test_the_error_of_a_log_callback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fails(message: Any) -> None:
        raise KeyError("no log")

    async def main() -> None:
        async with Client(features.build("f", every_feature=True), on_log=fails) as client:
            assert (await client.call_tool("brew")).value == "coffee"

    run(main())
    assert [record.message for record in caplog.records] == ["a callback failed"]


# Servers that ask oddly, in the stateless era


ODD: dict[str, tuple[dict[str, Any], str]] = {
    "endless questions": (
        {"inputRequests": {"a": {"method": "roots/list"}}, "requestState": "s"},
        "asked for input more than 32 times",
    ),
    "nothing": ({}, "asked for input, but for nothing in particular"),
    "no object": ({"inputRequests": [1]}, "inputRequests must be an object of requests"),
    "too many questions": (
        {"inputRequests": {f"{n}": {"method": "roots/list"} for n in range(101)}},
        "asks 101 questions at once; the most is 100",
    ),
    "what was not offered": (
        {"inputRequests": {"a": {"method": "sampling/createMessage"}}},
        "requests sampling/createMessage, which this client does not offer",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_a_server_that_asks_oddly_is_an_error(name: str) -> None:
    members, sentence = ODD[name]

    async def answer(request: Request) -> None:
        if request.rpc == "tools/call":
            await request.result({"resultType": "input_required", **members})
        else:
            await stateless(request)

    async def main() -> None:
        async with scripted_server(answer) as server, Client(server.url, roots=[]) as client:
            with pytest.raises(PeerError, match=sentence):
                await client.call_tool("ask")

    run(main())


def test_a_request_may_be_repeated_with_its_state_alone() -> None:
    states: list[Any] = []

    async def answer(request: Request) -> None:
        if request.rpc != "tools/call":
            await stateless(request)
            return
        states.append(request.message["params"].get("requestState"))
        if len(states) < 3:
            await request.result(
                {"resultType": "input_required", "requestState": f"s{len(states)}"}
            )
        else:
            await stateless(request)

    async def main() -> Any:
        async with scripted_server(answer) as server, Client(server.url) as client:
            return (await client.call_tool("work")).value

    assert run(main()) == "well"
    assert states == [None, "s1", "s2"]


PAGE = {"mode": "url", "message": "Sign in", "url": "https://example.org/in", "elicitationId": "1"}


@pytest.mark.parametrize(("action", "calls"), [("accept", 3), ("decline", 1)])
def test_an_error_that_requires_pages_is_answered_and_the_request_repeated(
    action: Any, calls: int
) -> None:
    asked: list[ElicitRequest] = []
    called: list[Request] = []

    def elicit(request: ElicitRequest) -> Elicited[Any]:
        asked.append(request)
        return Elicited(action)

    async def answer(request: Request) -> None:
        if request.rpc != "tools/call":
            await handshake(request)
            return
        called.append(request)
        if len(called) < 3:
            await request.error(200, -32042, data={"elicitations": [PAGE]})
        else:
            await handshake(request)

    async def main() -> Any:
        options: Any = {"era": "handshake", "on_elicit": elicit}
        async with scripted_server(answer) as server, Client(server.url, **options) as client:
            return (await client.call_tool_raw("work")).message

    message = run(main())
    assert len(called) == calls
    assert {each.url for each in asked} == {"https://example.org/in"}
    assert ("result" in message) == (action == "accept")


# Pages


def test_a_list_of_many_pages_is_complete() -> None:
    server = Server("many", version="1", page_size=7)
    for number in range(3_000):
        server.tool(name=f"tool_{number}")(lambda: Answer(1))

    async def main() -> tuple[int, list[str]]:
        async with Client(server) as client:
            first: list[str] = []
            async for tool in client.list_tools():
                first.append(tool.name)
                if len(first) == 10:
                    break
            sent = [m for m in client.messages if b"tools/list" in m.raw]
            assert len(sent) == 2  # pages are fetched as they are needed
            return len(await client.list_tools()), first

    assert run(main()) == (3_000, [f"tool_{number}" for number in range(10)])


def test_endless_pages_are_an_error_and_can_be_iterated() -> None:
    async def answer(request: Request) -> None:
        if request.rpc != "prompts/list":
            await handshake(request)
            return
        cursor = int(request.message.get("params", {}).get("cursor", 0)) + 1
        page = {"prompts": [{"name": f"p{cursor}"}], "nextCursor": str(cursor)}
        await request.result(page)

    async def main() -> None:
        async with scripted_server(answer) as server, Client(server.url) as client:
            with pytest.raises(PeerError, match="prompts/list has more than 1000 pages"):
                await client.list_prompts()
            seen = 0
            async for prompt in client.list_prompts():
                seen += 1
                assert prompt.name == f"p{seen}"
                if seen == 20:
                    break

    run(main())


# Wrong use


def test_a_client_is_used_inside_of_its_context() -> None:
    async def main() -> None:
        client = Client(asking())
        with pytest.raises(ContractError, match="not connected; use it inside of `async with`"):
            await client.call_tool("ask")
        async with client:
            await client.ping()
            with pytest.raises(ContractError, match="connected already"):
                await client.__aenter__()
        async with client:  # a second time, one after the other
            await client.ping()
        with pytest.raises(ContractError, match="not connected"):
            _ = client.revision

    run(main())


WRONG: dict[str, tuple[Any, str]] = {
    "log level": ({"log_level": "loud"}, "log_level must be one of debug, info"),
    "revision": ({"revision": "2020-01-01"}, "revision must be one of"),
    "era": ({"era": "future"}, "era must be one of"),
    "headers": ({"headers": {"a": "b"}}, "headers, cwd and env must not be given for a Server"),
    "no timeout": ({"timeout": None}, "timeout must be a number of seconds above 0, not None"),
    "timeout of nothing": ({"timeout": 0}, "timeout must be a number of seconds above 0, not 0"),
    "timeout as text": ({"timeout": "5"}, "timeout must be a number of seconds above 0, not '5'"),
    "timeout that is not a number": ({"timeout": float("nan")}, "timeout must be a number"),
    "answer timeout": ({"answer_timeout": -1}, "answer_timeout must be a number of seconds"),
    "elicitation": ({"on_elicit": 3}, "on_elicit must be a function, not 3"),
    "sampling": ({"on_sample": "x"}, "on_sample must be a function, not 'x'"),
    "log": ({"on_log": []}, r"on_log must be a function, not \[\]"),
    "notification": ({"on_notification": 1}, "on_notification must be a function, not 1"),
    "one root": ({"roots": "/tmp"}, "roots must be a list; write"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_option_is_told(name: str) -> None:
    options, sentence = WRONG[name]

    async def main() -> None:
        async with Client(asking(), **options):
            pass

    with pytest.raises(ContractError, match=sentence):
        run(main())


@pytest.mark.parametrize("target", [None, 3, ["python", 3], Server, b"python"], ids=repr)
def test_a_wrong_target_is_told(target: Any) -> None:
    async def main() -> None:
        async with Client(target):
            pass

    with pytest.raises(ContractError, match="connect to a Server, a URL or a command line"):
        run(main())


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5"])
def test_a_wrong_timeout_of_a_call_is_told(seconds: Any) -> None:
    async def main() -> None:
        async with Client(features.build("basics", basics=True)) as client:
            with pytest.raises(ContractError, match="timeout must be a number of seconds above 0"):
                await client.call_tool("waiting", timeout=seconds)
            assert (await client.call_tool("waiting", timeout=20)).value == 0

    run(main())


def test_a_subscription_needs_a_subject() -> None:
    async def main(*uris: str, **options: Any) -> None:
        async with Client(asking()) as client, client.subscribe(*uris, **options):
            pass

    with pytest.raises(ContractError, match="needs a URI or a list"):
        run(main())
    with pytest.raises(ContractError, match="lists must be of tools, prompts, resources"):
        run(main(lists=["owls"]))
    with pytest.raises(PeerError):  # its tools never change
        run(main(lists=["tools"]))


def test_a_server_that_hangs_does_not_hold_the_exit() -> None:
    async def main() -> None:
        with pytest.raises(TimedOut):
            async with Client(misbehaving("silent"), env=UNWATCHED, timeout=0.2, era="handshake"):
                pass

    run(main())


UNSUBSCRIBED = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    method, result = message.get("method"), {}
    if method == "initialize":
        capabilities = {"resources": {"subscribe": True}}
        result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {}}
    if "id" in message and method != "resources/unsubscribe":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_subscriptions_end_at_once_although_the_server_hangs() -> None:
    async def main() -> list[str]:
        server = [sys.executable, "-c", UNSUBSCRIBED]
        async with Client(server, env=UNWATCHED, timeout=3, revision="2025-11-25") as client:
            async with client.subscribe("x://a", "x://b", "x://c"):
                pass
            sent = [json.loads(each.raw) for each in client.messages if each.direction == "sent"]
            return [each["method"] for each in sent]

    ends, cancellations = ["resources/unsubscribe"] * 3, ["notifications/cancelled"] * 3
    assert run(main())[-6:] == [*ends, *cancellations]
