"""What a tool can ask of its client: to hear of progress, and to be able to do something."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import wire
from accord import Context, Server
from peer import Peer, request
from serve.talk import ACCORD, ENVIRONMENT, cancel, failure, text
from stdio_peer import StdioPeer, modern_params

SOURCE = '''
import asyncio
from accord import Context, Server

server = Server("works")
tasks = set()
begun = asyncio.Event()
ended = asyncio.Event()

@server.tool
async def count(to: int, context: Context) -> str:
    for step in range(1, to + 1):
        await context.progress(step, to, f"step {step}")
        if step % 2:
            await asyncio.sleep(0)
    return "counted"

@server.tool
async def tell(progress: float, context: Context) -> str:
    """Say one number and nothing else."""
    await context.progress(progress)
    return "told"

@server.tool
async def stubborn(context: Context) -> None:
    """Go on telling after a cancellation."""
    try:
        begun.set()
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await context.progress(1)
        await asyncio.sleep(0)
        await context.progress(2)
        ended.set()

@server.tool
async def until(what: str) -> str:
    await {"begun": begun, "ended": ended}[what].wait()
    return what

@server.tool
async def leave_behind(context: Context) -> str:
    """Return, and go on telling in a task."""
    async def go_on() -> None:
        await asyncio.sleep(0.01)
        await context.progress(1)
        ended.set()
    tasks.add(asyncio.create_task(go_on()))
    return "gone"

@server.tool
async def go_back(context: Context) -> str:
    for step in (1, 1, 3, 2, 3, 4):
        await context.progress(step)
    return "back"

@server.tool
async def tell_no_number(context: Context) -> str:
    await context.progress(float("nan"), float("inf"))
    return "told"

@server.tool
async def fail(context: Context) -> None:
    await context.progress(1)
    raise RuntimeError
'''

ERAS = ["2024-11-05", "2025-03-26", "2025-11-25", wire.STATELESS]
TOKENS = ["a token", "", "ü", 0, 7, -1, 2**53]


@pytest.fixture(scope="module", params=ERAS)
def works(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StdioPeer]:
    """A child that has begun as its revision begins."""
    with _serving(tmp_path_factory.mktemp("works"), request.param) as peer:
        yield peer


@pytest.fixture(params=["2025-11-25", wire.STATELESS])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StdioPeer]:
    """A child for one test."""
    with _serving(tmp_path, request.param) as peer:
        yield peer


@contextmanager
def _serving(folder: Path, revision: str) -> Iterator[StdioPeer]:
    (folder / "works.py").write_text(SOURCE)
    with StdioPeer([ACCORD, "serve", "works"], cwd=folder, env=ENVIRONMENT) as peer:
        if revision != wire.STATELESS:
            peer.initialize(revision)
        yield peer


def call(peer: StdioPeer, id: Any, tool: str, meta: dict[str, Any], **arguments: Any) -> None:
    """Send a call as the peer's revision words it."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments, "_meta": meta}
    if peer.revision is None:
        params = modern_params(params)
    peer.send(request("tools/call", params, id=id))


def progress(peer: StdioPeer) -> dict[str, Any]:
    """The params of the next message, which is a notification of progress."""
    message = peer.receive()
    wire.check(message, revision=peer.revision or wire.STATELESS, method=None)
    assert message["method"] == "notifications/progress"
    return dict(message["params"])


# Progress


@pytest.mark.parametrize("token", TOKENS, ids=ascii)
def test_each_step_is_told_under_the_callers_token_before_the_result(
    works: StdioPeer, token: Any
) -> None:
    call(works, "mine", "count", {"progressToken": token}, to=3)
    for step in (1, 2, 3):
        told = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
        assert progress(works) == told
    assert text(works.receive()) == "counted"


def test_what_is_not_known_is_left_out(works: StdioPeer) -> None:
    call(works, "mine", "tell", {"progressToken": 1}, progress=0.5)
    assert progress(works) == {"progressToken": 1, "progress": 0.5}
    assert text(works.receive()) == "told"


@pytest.mark.requirement("mcp.progress.known-token")
@pytest.mark.parametrize("meta", [{}, {"progressToken": None}, {"other": 1}], ids=str)
def test_nothing_is_told_to_who_does_not_ask(works: StdioPeer, meta: dict[str, Any]) -> None:
    call(works, "mine", "count", meta, to=3)
    assert text(works.receive()) == "counted"


def test_two_calls_each_hear_of_their_own_steps(works: StdioPeer) -> None:
    call(works, 1, "count", {"progressToken": "one"}, to=2)
    call(works, 2, "count", {"progressToken": 2}, to=4)
    messages = [works.receive() for _ in range(8)]
    for id, token, steps in ((1, "one", [1, 2]), (2, 2, [1, 2, 3, 4])):
        mine = [m for m in messages if _is_for(m, id, token)]
        assert [m["params"]["progress"] for m in mine[:-1]] == steps
        assert text(mine[-1]) == "counted"


def _is_for(message: dict[str, Any], id: int, token: Any) -> bool:
    params = message.get("params", {})
    return bool(message.get("id") == id or params.get("progressToken") == token)


def test_a_thousand_steps_come_whole_and_in_order(works: StdioPeer) -> None:
    call(works, "mine", "count", {"progressToken": 1}, to=1000)
    assert [progress(works)["progress"] for _ in range(1000)] == list(range(1, 1001))
    assert text(works.receive()) == "counted"


@pytest.mark.requirement("mcp.progress.increases")
def test_progress_never_goes_back(works: StdioPeer) -> None:
    meta = {"progressToken": "t"}
    works.send(request("tools/call", modern_params({"name": "go_back", "_meta": meta}), "back"))
    *steps, reply = [works.receive() for _ in range(4)]
    assert [step["params"]["progress"] for step in steps] == [1, 3, 4]
    assert text(reply) == "back"


def test_steps_of_a_call_that_fails_come_before_its_failure(works: StdioPeer) -> None:
    call(works, "mine", "fail", {"progressToken": 1})
    assert progress(works)["progress"] == 1
    assert failure(works.receive()) == "Error executing tool: Internal error"


def test_a_number_that_json_has_not_is_never_sent(fresh: StdioPeer) -> None:
    call(fresh, "mine", "tell_no_number", {"progressToken": 1})
    assert "method" not in fresh.receive()


@pytest.mark.parametrize("token", [True, 1.5, [], {}], ids=str)
def test_a_token_that_is_none_is_refused(works: StdioPeer, token: Any) -> None:
    call(works, "mine", "count", {"progressToken": token}, to=1)
    assert works.receive()["error"]["code"] == -32602


def test_nothing_is_told_after_a_cancellation(fresh: StdioPeer) -> None:
    call(fresh, "mine", "stubborn", {"progressToken": 1})
    call(fresh, "begun", "until", {}, what="begun")
    assert fresh.receive()["id"] == "begun"
    cancel(fresh, "mine")
    call(fresh, "ended", "until", {}, what="ended")
    assert fresh.receive()["id"] == "ended"
    fresh.close_input()
    assert fresh.rest() == []


@pytest.mark.requirement("mcp.progress.stops")
def test_nothing_is_told_after_the_result(fresh: StdioPeer) -> None:
    call(fresh, "mine", "leave_behind", {"progressToken": 1})
    assert text(fresh.receive()) == "gone"
    call(fresh, "ended", "until", {}, what="ended")
    assert "method" not in fresh.receive()


# Capabilities


def needing(*capabilities: str) -> Server:
    server = Server("needy")

    @server.tool
    def think(context: Context) -> str:
        context.require(*capabilities)
        return "thought"

    @server.tool
    async def think_later(context: Context) -> str:
        context.require(*capabilities)
        return "thought"

    return server


TOOLS = pytest.mark.parametrize("tool", ["think", "think_later"])


def asked(server: Server, revision: str, capabilities: Any, tool: str) -> dict[str, Any]:
    peer = Peer(server)
    params: dict[str, Any] = {"name": tool}
    if revision == wire.STATELESS:
        params = modern_params(params, capabilities=capabilities)
    else:
        begin = {"protocolVersion": revision, "capabilities": capabilities}
        peer.send(request("initialize", begin))
    (reply,) = peer.send(request("tools/call", params))
    return dict(reply)


@TOOLS
def test_a_lacking_capability_has_a_code_in_the_stateless_era(tool: str) -> None:
    error = asked(needing("sampling"), wire.STATELESS, {}, tool)["error"]
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"sampling": {}}}
    assert "sampling" in error["message"]


@TOOLS
@pytest.mark.parametrize("revision", wire.REVISIONS[:-1])
def test_a_lacking_capability_is_a_failure_before(tool: str, revision: str) -> None:
    assert "sampling" in failure(asked(needing("sampling"), revision, {}, tool))


@TOOLS
@pytest.mark.parametrize("revision", wire.REVISIONS)
@pytest.mark.parametrize("declared", [{}, {"tools": {}}], ids=str)
def test_a_declared_capability_passes(tool: str, revision: str, declared: Any) -> None:
    reply = asked(needing("sampling"), revision, {"sampling": declared, "roots": {}}, tool)
    assert text(reply) == "thought"


def test_only_what_lacks_is_named() -> None:
    server = needing("sampling", "roots", "elicitation")
    error = asked(server, wire.STATELESS, {"roots": {}}, "think")["error"]
    assert error["data"] == {"requiredCapabilities": {"sampling": {}, "elicitation": {}}}
