"""Tools that not everybody gets to see, and the request that a call came in."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import wire
from accord import Context, ContractError, Server
from accord.protocol import Request
from accord.serve.call import OneWay, RunningCall
from accord.serve.executor import run_blocking
from accord.server import combine
from peer import request
from stdio_peer import modern_params


def audience(sender: Any) -> Callable[[str], bool]:
    """Return a filter that shows the tools that begin with the sender's name."""
    if sender == "broken":
        raise RuntimeError("the password is hunter2")
    return lambda name: name.startswith(str(sender))


@pytest.fixture
def server() -> Server:
    server = Server("club", version="1", page_size=2)
    plain = Server("plain")

    @plain.tool
    def ada_reads(context: Context) -> str:
        """Read, as whoever asks."""
        return str(context.sender)

    for name in ("ada_reads", "bob_reads", "ada_writes", "bob_writes", "ada_sings"):
        tool = plain.tools["ada_reads"]
        server.add(msgspec.structs.replace(tool, name=name, audience=audience))

    @server.tool
    def greet() -> str:
        """For everybody."""
        return "hello"

    return server


def ask(server: Server, method: str, params: Any, sender: Any) -> Any:
    connection = server.dispatcher.connect()
    message = request(method, modern_params(params))
    (event,) = connection.receive(json.dumps(message).encode())
    if isinstance(event, Request):
        assert not connection.is_idle
        call = RunningCall(event, connection, OneWay(sender))
        event = call.finish(run_blocking(server.dispatcher, call))  # type: ignore[assignment]
    assert connection.is_idle
    assert isinstance(event, bytes)
    return wire.check(event, revision=wire.STATELESS, method=method)


def names(server: Server, sender: Any) -> list[str]:
    found: list[str] = []
    params: dict[str, Any] = {}
    while True:
        page = ask(server, "tools/list", params, sender)["result"]
        assert page["cacheScope"] == "private"
        found += [tool["name"] for tool in page["tools"]]
        if "nextCursor" not in page:
            return found
        params = {"cursor": page["nextCursor"]}


def test_each_sender_sees_their_own_tools(server: Server) -> None:
    for _ in range(2):
        assert names(server, "ada") == ["ada_reads", "ada_writes", "ada_sings", "greet"]
        assert names(server, "bob") == ["bob_reads", "bob_writes", "greet"]
        assert names(server, None) == ["greet"]


def test_a_call_knows_the_request_that_it_came_in(server: Server) -> None:
    reply = ask(server, "tools/call", {"name": "ada_reads", "arguments": {}}, "bob")
    assert reply["result"]["content"][0]["text"] == "bob"


def test_a_function_says_whom_it_is_for() -> None:
    server = Server("club")
    server.tool(audience=audience, name="ada_waves")(lambda: "hi")
    assert names(server, "ada") == ["ada_waves"]
    assert names(server, "bob") == []
    reply = ask(server, "tools/call", {"name": "ada_waves", "arguments": {}}, "bob")
    assert reply["result"]["content"][0]["text"] == '"hi"', "it is hidden, not forbidden"


def test_a_cursor_that_leads_nowhere_is_refused(server: Server) -> None:
    assert ask(server, "tools/list", {"cursor": "x"}, "ada")["error"]["code"] == -32602


def test_an_audience_that_fails_is_masked(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    reply = ask(server, "tools/list", {}, "broken")
    assert reply["error"] == {"code": -32603, "message": "Internal error"}
    assert "hunter2" in caplog.text


def test_a_list_that_nobody_has_time_for_says_so(server: Server) -> None:
    from accord import Problem

    connection = server.dispatcher.connect()
    message = request("tools/list", modern_params({}))
    (event,) = connection.receive(json.dumps(message).encode())
    assert isinstance(event, Request)
    operation = server.dispatcher.prepare(RunningCall(event, connection, OneWay()))
    done = operation.refuse(Problem.unavailable("Too many calls are open"))  # type: ignore[union-attr]
    assert json.loads(done.reply)["error"]["message"] == "Too many calls are open"


def test_no_list_depends_on_who_asks_once_such_tools_are_gone(server: Server) -> None:
    for tool in [tool for tool in server.tools.values() if tool.audience is not None]:
        server.remove(tool)
    (event,) = server.dispatcher.connect().receive(
        json.dumps(request("tools/list", modern_params({}))).encode()
    )
    assert isinstance(event, bytes), "and it is no call"
    assert names(server, None) == ["greet"]


def test_servers_that_are_one_show_each_tool_to_its_audience(server: Server) -> None:
    other = Server("other")
    other.tool(name="wave")(lambda: "hi")
    both = combine({"club": server, "other": other})
    assert names(both, "bob") == ["bob_reads", "bob_writes", "greet", "wave"]


def test_a_list_is_still_good_where_there_are_many_audiences(server: Server) -> None:
    for number in range(100):
        tool = server.tools["ada_reads"]
        server.add(msgspec.structs.replace(tool, name=f"{number}_reads", audience=audience))
    for number in range(100):
        assert f"{number}_reads" in names(server, f"{number}_")


def test_nobody_is_taken_for_the_sender_of_a_call_that_is_over() -> None:
    server, kept = Server("club"), []

    @server.tool
    def keep(context: Context) -> str:
        """Hold on to the context."""
        kept.append(context)
        return str(context.sender)

    reply = ask(server, "tools/call", {"name": "keep", "arguments": {}}, "ada")
    assert reply["result"]["content"][0]["text"] == "ada"
    with pytest.raises(ContractError, match="not known after its end"):
        _ = kept[0].sender
