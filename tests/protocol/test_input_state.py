"""Questions of the stateless era: a run ends with them, and begins again with the answers.

The state that travels with the client is good for one request, one caller and a while.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from accord import Context, Elicit, Elicited, ListRoots, Problem, Sample, Server
from accord.model.context import ClientInfo
from accord.protocol import Request
from accord.protocol.input_state import InputState
from accord.revisions import REVISIONS
from accord.serve.call import RunningCall
from accord.serve.executor import run_blocking
from accord.signing import Signer
from peer import Peer

ABLE: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
KEY = b"a key of sixteen"


class Name(msgspec.Struct):
    name: str


class Desk:
    """A server whose questions can be changed between two runs."""

    def __init__(self) -> None:
        self.server = Server("desk", key=KEY)
        self.runs: list[str] = []
        self.wording = "Your name?"
        self.server.tool(self.greet)
        self.server.tool(self.rounds)
        self.server.tool(self.stubborn)
        self.server.tool(self.together)
        self.server.tool(self.twice)
        self.server.tool(self.plain)
        self.server.tool(self.failing)
        self.server.prompt(name="greet")(self.greet_in_words)
        self.server.resource("desk://greeting")(self.greeting)

    async def greet(self, context: Context, polite: bool = False) -> str:
        """Ask for a name."""
        self.runs.append("greet")
        said = await context.ask(who=Elicit(self.wording, Name))
        return f"Hello, {said['who'].data.name}"

    async def greet_in_words(self, context: Context) -> str:
        """The same as a prompt."""
        return await self.greet(context)

    async def greeting(self, context: Context) -> str:
        """The same as a resource."""
        return await self.greet(context)

    async def rounds(self, context: Context) -> list[Any]:
        """Ask three times, and for two things at a time."""
        first = await context.ask(a=Elicit("a?", str), b=Elicit("b?", int))
        second = await context.ask(c=Sample("c?"), d=ListRoots())
        third = await context.elicit("e?", bool)
        return [first["a"].data, first["b"].data, second["c"].text, len(second["d"]), third.data]

    async def stubborn(self, context: Context) -> str:
        """Catch what can be caught."""
        try:
            return str((await context.elicit("?", str)).data)
        except Exception:  # noqa: BLE001 - that is the point
            return "caught"
        finally:
            self.runs.append("cleaned up")

    async def together(self, context: Context) -> list[Any]:
        """Ask in several tasks."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(context, name)) for name in "ab"]
        return [task.result() for task in tasks]

    async def _one(self, context: Context, name: str) -> Any:
        return (await context.ask(**{name: Elicit(f"{name}?", str)}))[name].data

    async def twice(self, context: Context) -> list[Any]:
        """Ask under one name again and again."""
        return [(await context.ask(x=Elicit(f"{n}?", str)))["x"].data for n in range(3)]

    def plain(self, context: Context) -> str:
        """Ask, which a plain function cannot."""
        return str(context.elicit("?", str))

    async def failing(self, context: Context) -> str:
        """Ask, and fail with the answer."""
        said = await context.elicit("?", str)
        raise Problem.conflict(f"{said.data} is taken")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def peer(desk: Desk, capabilities: Mapping[str, Any] = ABLE) -> Peer:
    return Peer(desk.server, wire.STATELESS, capabilities)


def call(
    asker: Peer, tool: str, answers: Any = None, state: Any = None, **arguments: Any
) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    params |= {} if answers is None else {"inputResponses": answers}
    params |= {} if state is None else {"requestState": state}
    return asker.ask("tools/call", params)


def text(reply: dict[str, Any]) -> Any:
    assert "isError" not in reply["result"], reply
    return reply["result"]["content"][0]["text"]


@pytest.mark.requirement("mcp.asking.result", "mcp.asking.input-or-state")
def test_a_run_ends_with_its_question(desk: Desk) -> None:
    result = call(peer(desk), "greet")["result"]
    assert result["resultType"] == "input_required"
    question = {
        "message": "Your name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    }
    assert result["inputRequests"] == {"who": {"method": "elicitation/create", "params": question}}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "desk"


def test_the_run_begins_again_with_the_answer(desk: Desk) -> None:
    asker = peer(desk)
    state = call(asker, "greet")["result"]["requestState"]
    assert text(call(asker, "greet", {"who": accept(name="Ada")}, state)) == "Hello, Ada"
    assert desk.runs == ["greet", "greet"]


@pytest.mark.requirement("mcp.asking.methods")
@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "greet"}), ("resources/read", {"uri": "desk://greeting"})],
)
def test_prompts_and_resources_ask_as_tools_do(
    desk: Desk, method: str, params: dict[str, Any]
) -> None:
    asker = peer(desk)
    asked = asker.ask(method, params)["result"]
    assert list(asked["inputRequests"]) == ["who"]
    answers = {"inputResponses": {"who": accept(name="Ada")}}
    again = asker.ask(method, {**params, **answers, "requestState": asked["requestState"]})
    assert "Hello, Ada" in json.dumps(again["result"])


def test_rounds_keep_what_was_answered(desk: Desk) -> None:
    asker = peer(desk)
    first = call(asker, "rounds")["result"]
    assert list(first["inputRequests"]) == ["a", "b"]
    second = call(
        asker, "rounds", {"a": accept(value="x"), "b": accept(value=2)}, first["requestState"]
    )["result"]
    assert list(second["inputRequests"]) == ["c", "d"]
    sampled = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "y"}}
    answers = {"c": sampled, "d": {"roots": [{"uri": "file:///a"}]}}
    third = call(asker, "rounds", answers, second["requestState"])["result"]
    assert list(third["inputRequests"]) == ["elicit"]
    last = call(asker, "rounds", {"elicit": accept(value=True)}, third["requestState"])
    assert json.loads(text(last)) == ["x", 2, "y", 1, True]


@pytest.mark.requirement("mcp.asking.missing-again")
def test_what_was_not_answered_is_asked_again_alone(desk: Desk) -> None:
    asker = peer(desk)
    state = call(asker, "rounds")["result"]["requestState"]
    half = call(asker, "rounds", {"b": accept(value=2)}, state)["result"]
    assert list(half["inputRequests"]) == ["a"]
    rest = call(asker, "rounds", {"a": accept(value="x")}, half["requestState"])["result"]
    assert list(rest["inputRequests"]) == ["c", "d"]


@pytest.mark.requirement("mcp.asking.unknown-ignored")
@pytest.mark.parametrize("with_state", [True, False])
def test_answers_that_nobody_asked_for_are_ignored(desk: Desk, with_state: bool) -> None:
    asker = peer(desk)
    state = call(asker, "greet")["result"]["requestState"] if with_state else None
    answers = {"who": accept(name="Ada"), "other": 5, "more": {"action": "no"}}
    assert text(call(asker, "greet", answers, state)) == "Hello, Ada"


def test_an_answer_counts_only_for_the_question_that_was_asked(desk: Desk) -> None:
    asker = peer(desk)
    state = call(asker, "greet")["result"]["requestState"]
    desk.wording = "Your mother's name?"
    again = call(asker, "greet", {"who": accept(name="Ada")}, state)["result"]
    assert again["inputRequests"]["who"]["params"]["message"] == "Your mother's name?"


def test_an_answer_on_record_counts_only_for_its_question(desk: Desk) -> None:
    asker = peer(desk)
    server = desk.server

    @server.tool
    async def both(context: Context) -> str:
        one = await context.ask(one=Elicit(desk.wording, Name))
        two = await context.ask(two=Elicit("And?", Name))
        return f"{one['one'].data.name} {two['two'].data.name}"

    state = call(asker, "both")["result"]["requestState"]
    second = call(asker, "both", {"one": accept(name="Ada")}, state)["result"]
    desk.wording = "Something else?"
    again = call(asker, "both", {"two": accept(name="King")}, second["requestState"])["result"]
    assert list(again["inputRequests"]) == ["one"]


def states(state: str) -> list[str]:
    """What somebody might make of a state."""
    flipped = [state[:i] + ("A" if state[i] != "A" else "B") + state[i + 1 :] for i in (0, 5, -2)]
    return [*flipped, state + "x", state[:-1], state[:20], "", "x", "1", state * 2, state.lower()]


@pytest.mark.requirement("mcp.asking.state-integrity")
def test_a_state_that_was_changed_is_refused(desk: Desk) -> None:
    asker = peer(desk)
    state = call(asker, "greet")["result"]["requestState"]
    for changed in states(state):
        error = call(asker, "greet", {"who": accept(name="Ada")}, changed)["error"]
        assert (error["code"], error["message"]) == (
            -32602,
            "params.requestState was not made here",
        ), changed
    assert desk.runs == ["greet"], "and nothing runs"


@pytest.mark.requirement("mcp.asking.state-bound")
def test_a_state_is_good_for_its_own_request_alone(desk: Desk) -> None:
    asker = peer(desk)
    state = call(asker, "greet")["result"]["requestState"]
    answers = {"who": accept(name="Ada")}
    others = [
        call(asker, "greet", answers, state, polite=True),
        call(asker, "rounds", answers, state),
        asker.ask(
            "prompts/get", {"name": "greet", "inputResponses": answers, "requestState": state}
        ),
    ]
    for reply in others:
        assert reply["error"]["message"] == "params.requestState belongs to another request"
    assert text(call(asker, "greet", answers, state)) == "Hello, Ada"


@pytest.mark.requirement("mcp.asking.state-bound")
def test_a_number_and_its_digits_are_two_requests(desk: Desk) -> None:
    @desk.server.tool
    async def of(value: Any, context: Context) -> str:
        return f"{value!r}: {(await context.elicit('?', str)).data}"

    asker, answers = peer(desk), {"elicit": accept(value="x")}
    values: list[Any] = [1.5, "1.5", 1, 1.0, "1", [1.5], "null", None, 10**30, 1e30]
    for value in values:
        state = call(asker, "of", value=value)["result"]["requestState"]
        for other in values:
            reply = call(asker, "of", answers, state, value=other)
            is_same = json.dumps(value) == json.dumps(other)
            assert ("result" in reply) is is_same, (value, other)


def test_what_a_cursor_stands_for_can_be_asked_about() -> None:
    server = Server("desk", max_bytes=2_000, read_more=True)

    @server.tool(read_only=True)
    async def rows(context: Context, cursor: str | None = None) -> list[str]:
        return [str((await context.elicit("?", str)).data)] * 1_000

    @server.tool(read_only=True)
    async def lines(context: Context) -> list[str]:
        return await rows(context)

    asker, answers = Peer(server, wire.STATELESS, ABLE), {"elicit": accept(value="word")}
    for tool, again in (("rows", "rows"), ("lines", "read_more")):
        state = call(asker, tool)["result"]["requestState"]
        cut = call(asker, tool, answers, state)["result"]
        cursor = cut["_meta"]["dev.accord-mcp/answer"]["page"]["cursor"]
        state = call(asker, again, cursor=cursor)["result"]["requestState"]
        assert "word" in text(call(asker, again, answers, state, cursor=cursor))


def test_no_two_questions_share_a_key(desk: Desk) -> None:
    @desk.server.tool
    async def confusing(context: Context) -> list[Any]:
        first = await context.ask(**{"a": Elicit("1?", str), "a-2": Elicit("2?", str)})
        second = await context.ask(a=Elicit("3?", str))
        third = await context.elicit("4?", str)
        return [first["a"].data, first["a-2"].data, second["a"].data, third.data]

    asker, asked = peer(desk), []
    reply = call(asker, "confusing")
    for _ in range(3):
        (*keys,) = reply["result"]["inputRequests"]
        asked += keys
        state = reply["result"]["requestState"]
        reply = call(asker, "confusing", {key: accept(value=key) for key in keys}, state)
    assert json.loads(text(reply)) == asked == ["a", "a-2", "a-3", "elicit"]


@pytest.mark.requirement("mcp.asking.state-bound")
def test_a_state_is_good_for_its_own_caller_alone(desk: Desk) -> None:
    ada, eve = peer(desk), peer(desk)
    ada.principal, eve.principal = b"Bearer ada", b"Bearer eve"
    state = call(ada, "greet")["result"]["requestState"]
    answers = {"who": accept(name="Ada")}
    assert call(eve, "greet", answers, state)["error"]["code"] == -32602
    assert call(peer(desk), "greet", answers, state)["error"]["code"] == -32602
    assert text(call(ada, "greet", answers, state)) == "Hello, Ada"


@pytest.mark.requirement("mcp.asking.state-bound")
def test_a_state_is_good_for_a_while(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    signer = InputState(Signer(KEY), seconds=60, clock=lambda: now)
    monkeypatch.setattr(desk.server.dispatcher, "_input_state", signer)
    asker = peer(desk)
    state = call(asker, "greet")["result"]["requestState"]
    now = 1_060.0
    assert text(call(asker, "greet", {"who": accept(name="Ada")}, state)) == "Hello, Ada"
    now = 1_061.5
    error = call(asker, "greet", {"who": accept(name="Ada")}, state)["error"]
    assert error["message"] == "params.requestState has expired; begin again without it"


def test_another_worker_with_the_same_key_takes_a_state_and_one_with_another_does_not() -> None:
    state = call(peer(Desk()), "greet")["result"]["requestState"]
    answers = {"who": accept(name="Ada")}
    assert text(call(peer(Desk()), "greet", answers, state)) == "Hello, Ada"
    stranger = Desk()
    stranger.server.configure(key=b"another key of 16")
    assert call(peer(stranger), "greet", answers, state)["error"]["code"] == -32602


@pytest.mark.requirement("mcp.asking.state-integrity")
@pytest.mark.parametrize("state", [5, {}, [], True])
def test_a_state_that_is_no_text_is_a_fault_of_the_params(desk: Desk, state: Any) -> None:
    assert call(peer(desk), "greet", {}, state)["error"]["code"] == -32602


@pytest.mark.requirement("mcp.asking.validate")
@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (5, "params.inputResponses must be an object"),
        ([], "params.inputResponses must be an object"),
        ("x", "params.inputResponses must be an object"),
        ({"who": 12345}, "does not fit"),
        ({"who": None}, "does not fit"),
        ({"who": {"action": "maybe"}}, "does not fit"),
        ({"who": {"action": "accept"}}, "who.name is required"),
        ({"who": accept(name=5)}, "who.name must be a string"),
    ],
)
def test_an_answer_that_does_not_fit_is_a_fault_of_the_params(
    desk: Desk, answers: Any, words: str
) -> None:
    asker = peer(desk)
    state = call(asker, "greet")["result"]["requestState"]
    for sent in (state, None):
        error = call(asker, "greet", answers, sent)["error"]
        assert error["code"] == -32602
        assert words.removeprefix("who.") in error["message"]


@pytest.mark.requirement("mcp.asking.validate")
@pytest.mark.parametrize(
    "value", ["1e999", "-1e999", "9" * 5_000, "[" * 400 + "]" * 400], ids=["e", "-e", "9", "["]
)
@pytest.mark.parametrize("asked", [float, {"properties": {"value": {"type": "number"}}}])
def test_what_nobody_can_read_is_a_fault_of_the_answer_too(
    desk: Desk, caplog: pytest.LogCaptureFixture, asked: Any, value: str
) -> None:
    @desk.server.tool
    async def number(context: Context) -> str:
        return str((await context.elicit("?", asked)).data)

    asker = peer(desk)
    state = call(asker, "number")["result"]["requestState"]
    params = {"inputResponses": {"elicit": accept(value="VALUE")}, "requestState": state}
    message = asker.worded("tools/call", {"name": "number", "arguments": {}, **params}, 9)
    (reply,) = asker.send(json.dumps(message).replace('"VALUE"', value).encode())
    assert reply["error"]["code"] == -32602
    assert caplog.records == []


def test_a_call_that_nobody_waits_for_asks_nobody(desk: Desk) -> None:
    """As where a tool leaves a task behind that has a question later."""
    asked = Elicit("?", str)
    request = Request(1, ClientInfo(REVISIONS["2025-11-25"], dict(ABLE)))
    orphan = RunningCall(request, None, None)
    with pytest.raises(Problem, match="cannot be asked"):
        asyncio.run(orphan.ask({"elicit": asked}))


@pytest.mark.requirement("mcp.asking.capabilities", "mcp.errors.missing-capability")
@pytest.mark.parametrize(
    ("tool", "capabilities", "required"),
    [
        ("greet", {}, {"elicitation": {"form": {}}}),
        ("greet", {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ("rounds", {"sampling": {}}, {"elicitation": {"form": {}}}),
    ],
)
def test_a_client_is_not_asked_what_it_cannot_answer(
    desk: Desk, tool: str, capabilities: Any, required: Any
) -> None:
    error = call(peer(desk, capabilities), tool)["error"]
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": required})
    for revision in ("2024-11-05", "2025-06-18", "2025-11-25"):
        failed = Peer(desk.server, revision, capabilities).call(tool)["result"]
        assert failed["isError"] is True
        assert "The client lacks a capability: elicitation" in failed["content"][0]["text"]


def test_a_tool_that_catches_exceptions_does_not_catch_a_question(desk: Desk) -> None:
    asked = call(peer(desk), "stubborn")["result"]
    assert asked["resultType"] == "input_required"
    assert desk.runs == ["cleaned up"]


def test_tasks_of_one_run_ask_together_or_one_by_one(desk: Desk) -> None:
    asker, state = peer(desk), None
    answers: dict[str, Any] = {}
    for _ in range(3):
        reply = call(asker, "together", answers, state)
        if reply["result"]["resultType"] == "complete":
            break
        state = reply["result"]["requestState"]
        answers = {key: accept(value=key * 2) for key in reply["result"]["inputRequests"]}
    assert json.loads(text(reply)) == ["aa", "bb"]


@pytest.mark.requirement("mcp.asking.unique-keys")
def test_a_name_that_is_asked_again_gets_a_key_of_its_own(desk: Desk) -> None:
    asker, state, keys = peer(desk), None, []
    answers: dict[str, Any] = {}
    for n in range(4):
        reply = call(asker, "twice", answers, state)
        if n < 3:
            state = reply["result"]["requestState"]
            (key,) = reply["result"]["inputRequests"]
            keys.append(key)
            answers = {key: accept(value=str(n))}
    assert keys == ["x", "x-2", "x-3"]
    assert json.loads(text(reply)) == ["0", "1", "2"]


@pytest.mark.parametrize("revision", [wire.STATELESS, "2025-11-25"])
def test_a_plain_function_cannot_ask(
    desk: Desk, revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    reply = Peer(desk.server, revision, ABLE).call("plain")
    assert reply["result"]["isError"] is True
    assert "plain is a plain def, and cannot ask; make it async def" in caplog.text


def test_a_failure_after_a_question_is_a_failure(desk: Desk) -> None:
    asker = peer(desk)
    state = call(asker, "failing")["result"]["requestState"]
    result = call(asker, "failing", {"elicit": accept(value="ada")}, state)["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == "Error executing tool: ada is taken"


def test_older_revisions_know_no_answers_in_a_request(desk: Desk) -> None:
    for revision in wire.REVISIONS[:-1]:
        failed = call(Peer(desk.server, revision), "greet", {"who": accept(name="Ada")}, "state")
        assert "lacks a capability" in json.dumps(failed)


# The law: what a function gets to hear is the same in both eras

values = st.one_of(st.text(max_size=5), st.sampled_from(["decline", "cancel"]))
scripts = st.lists(st.lists(values, min_size=1, max_size=3), min_size=1, max_size=4)


class Answering:
    """The edge of a handshake era whose client answers at once."""

    principal = sender = caller = address = None

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    def push(self, message: bytes) -> None: ...
    def tell(self, change: bytes) -> None: ...
    def detach(self, seconds: float) -> None: ...
    async def hold(self, call: Any, wanted: Any) -> None: ...
    async def ask(self, call: Any, questions: Mapping[str, Any]) -> dict[str, bytes]:
        return {key: json.dumps(self._answers[key]).encode() for key in questions}


@given(scripts)
def test_both_eras_say_the_same(script: list[list[str]]) -> None:
    server = Server("law", key=KEY)

    @server.tool
    async def interview(context: Context) -> list[list[Any]]:
        heard = []
        for n, group in enumerate(script):
            asked = {f"q{n}_{m}": Elicit(f"{n}.{m}?", str) for m in range(len(group))}
            said: dict[str, Elicited[str]] = await context.ask(**asked)
            heard.append([[each.action, each.data] for each in said.values()])
        return heard

    answers = {
        f"q{n}_{m}": {"action": value} if value in ("decline", "cancel") else accept(value=value)
        for n, group in enumerate(script)
        for m, value in enumerate(group)
    }
    old = server.dispatcher.connect()
    old.receive(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 0,
                "method": "initialize",
                "params": {"protocolVersion": "2025-11-25", "capabilities": ABLE},
            }
        ).encode()
    )
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "interview"}}
    (opened,) = old.receive(json.dumps(request).encode())
    assert isinstance(opened, Request)
    done = run_blocking(server.dispatcher, RunningCall(opened, old, Answering(answers)))
    expected = json.loads(done.reply)["result"]["structuredContent"]["result"]

    asker, rounds, state = Peer(server, wire.STATELESS, ABLE), 0, None
    reply: dict[str, Any] = {}
    given_answers: dict[str, Any] = {}
    while not reply or reply["result"]["resultType"] == "input_required":
        reply = call(asker, "interview", given_answers, state)
        state = reply["result"].get("requestState")
        given_answers = {key: answers[key] for key in reply["result"].get("inputRequests", {})}
        rounds += 1
    assert reply["result"]["structuredContent"] == expected
    assert rounds == len(script) + 1
