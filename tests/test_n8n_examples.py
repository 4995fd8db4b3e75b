"""The n8n workflows in examples/ can be imported, and do with our schema and endpoint what they say."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from accord.model import schemas
from accord.model.response import ResponseType
from accord.serve.http.read_endpoint import answer
from cli.command import ACCORD

FOLDER = Path(__file__).parents[1] / "examples/n8n"
FLOWS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))
}
NODES = [
    pytest.param(node, id=f"{name}: {node['name']}")
    for name, flow in FLOWS.items()
    for node in flow["nodes"]
]
NODE = Path(sys.executable).with_name("node")


class Kind(NamedTuple):
    """A type of node in n8n's source: its versions, parameters and outputs."""

    versions: set[float]
    parameters: set[str]
    output: str = "main"


# From github.com/n8n-io/n8n, commit fbd9449: packages/nodes-base and packages/@n8n/nodes-langchain.
KINDS = {
    "n8n-nodes-base.manualTrigger": Kind({1}, set()),
    "n8n-nodes-base.noOp": Kind({1}, set()),
    "n8n-nodes-base.stickyNote": Kind({1}, {"content", "height", "width", "color"}),
    "n8n-nodes-base.set": Kind({3, 3.1, 3.2, 3.3, 3.4, 3.5}, {"mode", "jsonOutput", "options"}),
    "n8n-nodes-base.switch": Kind({3, 3.1, 3.2, 3.3, 3.4}, {"mode", "rules", "options"}),
    "n8n-nodes-base.httpRequest": Kind(
        {3, 4, 4.1, 4.2, 4.3, 4.4, 4.5},
        {"method", "url", "sendBody", "contentType", "specifyBody", "jsonBody", "options"},
    ),
    "@n8n/n8n-nodes-langchain.chatTrigger": Kind(
        {1, 1.1, 1.2, 1.3, 1.4, 1.5}, {"public", "options"}
    ),
    "@n8n/n8n-nodes-langchain.agent": Kind(
        {2, 2.1, 2.2, 2.3, 3, 3.1}, {"promptType", "text", "hasOutputParser", "options"}
    ),
    "@n8n/n8n-nodes-langchain.lmChatOpenAi": Kind(
        {1.2, 1.3}, {"model", "options"}, "ai_languageModel"
    ),
    "@n8n/n8n-nodes-langchain.mcpClientTool": Kind(
        {1.2, 1.3, 1.4},
        {"endpointUrl", "serverTransport", "authentication", "include", "options"},
        "ai_tool",
    ),
    "@n8n/n8n-nodes-langchain.mcpClient": Kind(
        {1, 1.1},
        {
            *("serverTransport", "endpointUrl", "authentication", "tool"),
            *("inputMode", "jsonInput", "options"),
        },
    ),
    "@n8n/n8n-nodes-langchain.outputParserStructured": Kind(
        {1.2, 1.3}, {"schemaType", "inputSchema", "autoFix"}, "ai_outputParser"
    ),
}


# What n8n's expressions may not name as a member, from n8n-workflow 2.40: `unsafeObjectProperties`.
UNSAFE = re.compile(
    r"\.(?:__proto__|prototype|constructor|\w+PrototypeOf|getOwnPropertyDescriptors?|arguments"
    r"|definePropert(?:y|ies)|mainModule|binding|_linkedBinding|_load|prepareStackTrace|callee"
    r"|__(?:lookup|define)[GS]etter__|caller|getBuiltinModule)\b"
)


def named(flow: str, kind: str) -> dict[str, Any]:
    (found,) = (node for node in FLOWS[flow]["nodes"] if node["type"].endswith(f".{kind}"))
    return dict(found)


def test_there_are_two() -> None:
    assert list(FLOWS) == ["agent", "reader"]


@pytest.mark.parametrize("node", NODES)
def test_every_node_is_of_a_type_and_version_that_n8n_has(node: dict[str, Any]) -> None:
    kind = KINDS[node["type"]]
    assert node["typeVersion"] in kind.versions
    assert node["parameters"].keys() <= kind.parameters
    assert len(node["position"]) == 2


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_names_and_ids_are_there_once(flow: dict[str, Any]) -> None:
    for key in ("name", "id"):
        values = [node[key] for node in flow["nodes"]]
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_every_connection_goes_from_a_node_to_a_node_by_a_way_out_it_has(
    flow: dict[str, Any],
) -> None:
    kinds = {node["name"]: KINDS[node["type"]] for node in flow["nodes"]}
    for source, ways in flow["connections"].items():
        assert list(ways) == [kinds[source].output]
        for way, outputs in ways.items():
            for target in (target for output in outputs for target in output):
                assert target["node"] in kinds
                assert target["type"] == way


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_there_is_an_id_without_which_the_command_line_imports_nothing(
    flow: dict[str, Any],
) -> None:
    assert re.fullmatch(r"\w{16}", flow["id"])


@pytest.mark.parametrize("node", NODES)
def test_no_expression_names_what_n8n_forbids(node: dict[str, Any]) -> None:
    expressions = re.findall(r'"=(.*?[^\\])"', json.dumps(node["parameters"]))
    assert [each for each in expressions if UNSAFE.search(each)] == []


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_every_node_but_the_note_is_connected(flow: dict[str, Any]) -> None:
    text = json.dumps(flow["connections"], ensure_ascii=False)
    nodes = [node for node in flow["nodes"] if not node["type"].endswith("stickyNote")]
    assert [node["name"] for node in nodes if f'"{node["name"]}"' not in text] == []


@pytest.mark.parametrize(
    ("flow", "value"),
    [
        ("agent", "={{ $json.output.responseType }}"),
        ("reader", "={{ $json.response.responseType }}"),
    ],
)
def test_the_switch_has_an_output_for_every_response_type(flow: str, value: str) -> None:
    switch = named(flow, "switch")
    rules = switch["parameters"]["rules"]["values"]
    conditions = [rule["conditions"]["conditions"][0] for rule in rules]
    assert [each["rightValue"] for each in conditions] == list(get_args(ResponseType))
    assert [rule["outputKey"] for rule in rules] == list(get_args(ResponseType))
    assert {each["leftValue"] for each in conditions} == {value}
    assert len(FLOWS[flow]["connections"][switch["name"]]["main"]) == len(rules)


def test_the_parser_has_our_schema_and_is_the_agents() -> None:
    parser, agent = named("agent", "outputParserStructured"), named("agent", "agent")
    assert parser["parameters"]["schemaType"] == "manual"
    schema = json.loads(parser["parameters"]["inputSchema"])
    assert schema == schemas.for_n8n(schemas.load("generic"))
    target = {"node": agent["name"], "type": "ai_outputParser", "index": 0}
    assert FLOWS["agent"]["connections"][parser["name"]] == {"ai_outputParser": [[target]]}
    assert agent["parameters"]["hasOutputParser"] is True


def test_the_agent_is_told_of_every_member_and_every_type() -> None:
    words = named("agent", "agent")["parameters"]["options"]["systemMessage"]
    members = schemas.load("generic")["properties"]
    assert [name for name in (*members, *get_args(ResponseType)) if name not in words] == []
    assert "{" not in words, "langchain would take it for a variable"


# What the deterministic one posts: its expression is run, on what n8n's MCP Client gives


def text(words: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


PAYLOAD = {"items": [{"id": 1}], "total": 1}
FAILED = {"error": {"message": "No customer 'zoe'"}}
SENT: dict[str, tuple[Any, Any]] = {
    # what the node gives, and what is posted as the reply
    "JSON in text, which n8n has decoded": (text(PAYLOAD), text(json.dumps(PAYLOAD))),
    "a number in text, which n8n has decoded": (text(5), text("5")),
    "plain text": (text("sunny"), text("sunny")),
    "structure": (
        {"structuredContent": {"result": [1, 2]}, **text([1, 2])},
        {"structuredContent": {"result": [1, 2]}, **text("[1,2]")},
    ),
    "a picture": (
        {"content": [{"type": "image", "data": "cG5n", "mimeType": "image/png"}]},
        {"content": [{"type": "image", "data": "cG5n", "mimeType": "image/png"}]},
    ),
    "nothing at all, which n8n makes of a reply without content": ({}, {"content": []}),
    "a call that failed": (FAILED, {"isError": True, **text(FAILED["error"]["message"])}),
    "a call that failed in other words": (
        {"error": "no such host"},
        {"isError": True, **text("no such host")},
    ),
    "a reply that speaks of a tool": (
        {"tool": "hammer", **text({"tool": "hammer"})},
        {"tool": "hammer", **text('{"tool": "hammer"}')},
    ),
    "what n8n passes on where the server is down": (
        {"tool": "catalogue", "input": {}},
        {"isError": True, **text("The MCP server gave no reply")},
    ),
}


def posted(item: Any) -> bytes:
    """The body that the HTTP Request node makes of an item."""
    node = named("reader", "httpRequest")
    assert node["parameters"]["url"].endswith("/read")
    expression = re.fullmatch(r"=\{\{(.*)\}\}", node["parameters"]["jsonBody"], re.S)
    assert expression is not None
    called = json.loads(named("reader", "set")["parameters"]["jsonOutput"])
    script = f"""
        const $json = {json.dumps(item)};
        const $ = (name) => ({{ "Tool and arguments": {{ item: {{ json: {json.dumps(called)} }} }} }})[name];
        process.stdout.write({expression[1].strip()});
    """
    done = subprocess.run([NODE, "--eval", script], capture_output=True, check=True, timeout=50)
    return done.stdout


@pytest.mark.parametrize("name", SENT)
def test_what_the_mcp_client_gives_is_posted_as_what_the_tool_said(name: str) -> None:
    item, reply = SENT[name]
    asked = json.loads(posted(item))
    assert (asked["tool"], asked["arguments"]) == ("catalogue", {"category": "music"})
    assert plain(asked["reply"]) == plain(reply)


def plain(reply: Any) -> Any:
    """Return a value with JSON in text in a canonical form."""
    return json.loads(json.dumps(reply).replace(": ", ":").replace(", ", ","))


@pytest.mark.parametrize(
    ("item", "kind", "data"),
    [
        (text(PAYLOAD), "list", [{"id": 1}]),
        (text(5), "single", {"result": 5}),
        ({}, "list", []),
        (FAILED, "error", None),
        ({"tool": "catalogue", "input": {}}, "error", None),
    ],
    ids=["a list", "a number", "nothing", "a failure", "no reply"],
)
def test_the_endpoint_reads_what_is_posted(item: Any, kind: str, data: Any) -> None:
    said = json.loads(answer(posted(item)).body)["response"]
    assert said["toolName"] == "catalogue"
    assert (said["responseType"], said.get("data")) == (kind, data)


def test_a_failure_that_is_json_is_read_as_what_it_says() -> None:
    meta = {"version": "response-v2", "error": {"code": "NOT_FOUND"}}
    said = {"success": False, "data": None, "error": "no order 9", "meta": meta}
    failed = {"error": {"message": json.dumps(said)}}
    error = json.loads(answer(posted(failed)).body)["response"]["error"]
    assert (error["code"], error["message"]) == ("NOT_FOUND", "no order 9")


def test_what_it_calls_the_demo_has() -> None:
    called = json.loads(named("reader", "set")["parameters"]["jsonOutput"])
    command = [ACCORD, "call", FOLDER.parent / "demo/tools.py", called["tool"]]
    done = subprocess.run(
        [*command, json.dumps(called["input"]), "--read"],
        capture_output=True,
        check=True,
        timeout=50,
    )
    said = json.loads(done.stdout)
    assert said["responseType"] == "list"
    assert [each["name"] for each in said["data"]][:2] == ["lute", "flute"]


def test_a_call_that_fails_goes_on_to_the_reader() -> None:
    assert named("reader", "mcpClient")["onError"] == "continueRegularOutput"
