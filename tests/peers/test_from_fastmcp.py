"""The server of the guide "From FastMCP", before and after: the same calls, the same results."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from accord import Client, Context, MCPError, Problem, Server, middleware
from accord.cli.main import VERBS, parser_of
from client.connections import UNWATCHED
from commands import TESTS

pytestmark = pytest.mark.slow

FOLDER = TESTS.parent / "examples/from_fastmcp"
ERAS = ["2025-11-25", "2026-07-28"]
Step = tuple[str, dict[str, Any]]
CALLS: list[Step] = [
    ("tickets", {}),
    ("file_ticket", {"title": "Printer on fire", "priority": "high"}),
    ("file_ticket", {"title": "No coffee"}),
    ("tickets", {}),
    ("close_tickets", {"ids": [1, 9]}),
    ("tickets", {}),
    ("close_tickets", {"ids": [1]}),
    ("tickets", {"open_only": True}),
    ("tickets", {"open_only": False}),
    ("close_tickets", {"ids": []}),
    ("faq_search", {"words": "PASSWORD"}),
    ("faq_search", {"words": "elephant"}),
]
INVALID: list[Step] = [
    ("file_ticket", {}),
    ("file_ticket", {"title": "x"}),
    ("file_ticket", {"title": "Printer", "priority": "urgent"}),
    ("close_tickets", {"ids": ["all"]}),
    ("faq_search", {"words": 7}),
]


def client(name: str, revision: str, **options: Any) -> Client:
    return Client(
        f"{sys.executable} {FOLDER / name}.py",
        revision=revision,
        env=UNWATCHED,
        timeout=30,
        **options,
    )


async def listed(client: Client) -> dict[str, Any]:
    """Return what a client sees in the lists, as far as both servers have to agree."""
    return {
        "tools": {tool.name: described(tool.raw) for tool in await client.list_tools()},
        "templates": [
            (each.raw["uriTemplate"], each.raw["name"], each.raw.get("mimeType"))
            for each in await client.list_resource_templates()
        ],
        "resources": [each.raw["uri"] for each in await client.list_resources()],
        "prompts": {
            each.raw["name"]: [
                (argument["name"], argument.get("required", False))
                for argument in each.raw["arguments"]
            ]
            for each in await client.list_prompts()
        },
        "server": (client.server_info["name"], client.server_info["version"]),
    }


def described(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool["inputSchema"]
    return {
        "description": tool["description"],
        "required": schema.get("required", []),
        "properties": schema["properties"],
        "hints": tool.get("annotations"),
        "has output schema": "outputSchema" in tool,
    }


async def called(client: Client, logs: list[str]) -> list[Any]:
    """Return the outcome of each call: the value or the message of the failure, and progress."""
    outcomes: list[Any] = []
    for name, arguments in CALLS:
        steps: list[Any] = []
        reading = await client.call_tool(
            name, arguments, on_progress=lambda *step, to=steps: to.append(step)
        )
        error = reading.response.error
        outcomes.append((name, reading.value if error is None else error.message, steps))
    for name, arguments in INVALID:
        outcomes.append((name, (await client.call_tool(name, arguments)).is_failure))
    return [*outcomes, logs]


async def read(client: Client) -> list[Any]:
    (known,) = await client.read_resource("desk://tickets/1")
    with pytest.raises(MCPError, match="No ticket 99"):
        await client.read_resource("desk://tickets/99")
    prompts = [
        await client.get_prompt("reply", {"title": "No coffee"}),
        await client.get_prompt("reply", {"title": "No coffee", "tone": "dry"}),
    ]
    with pytest.raises(MCPError, match="title"):
        await client.get_prompt("reply", {})
    with pytest.raises(MCPError):
        await client.get_prompt("sing", {})
    return [known, *[(each.description, each.messages) for each in prompts]]


async def seen(name: str, revision: str) -> dict[str, Any]:
    logs: list[str] = []

    def log(message: Any) -> None:
        data = message.data
        logs.append(data["msg"] if isinstance(data, dict) else data)

    async with client(name, revision, on_log=log) as opened:
        return {
            "lists": await listed(opened),
            "calls": await called(opened, logs),
            "reads": await read(opened),
        }


@pytest.mark.parametrize("revision", ERAS)
def test_both_servers_give_a_client_the_same(revision: str) -> None:
    before = asyncio.run(seen("before", revision))
    after = asyncio.run(seen("after", revision))
    assert after["lists"] == before["lists"]
    assert after["calls"] == before["calls"]
    assert after["reads"] == before["reads"]
    assert [*before["lists"]["tools"]] == ["file_ticket", "tickets", "close_tickets", "faq_search"]
    assert before["calls"][4][1] == "No open ticket 9"
    assert before["calls"][-1] == ["closed 1", "closed 0"]


@pytest.mark.parametrize("name", ["test_before", "test_after"])
def test_the_tests_of_the_example_pass(name: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "."]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"{name}.py"],
        cwd=FOLDER,
        env=UNWATCHED,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert "1 passed" in done.stdout, done.stdout


# The tables of the guide

PAGE = (TESTS.parent / "docs/fastmcp.md").read_text()
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
REMOVED = {"sample", "list_roots"}
"""Members of FastMCP's Context that were removed in 4."""


def members(column: int, name: str) -> set[str]:
    """Return what a column of the tables names of an object."""
    text = "\n".join(row[column] for row in ROWS if len(row) > column)
    return set(re.findall(rf"(?<![\w.]){re.escape(name)}\.(?!json\b)(\w+)", text))


def test_the_tables_name_what_exists() -> None:
    import fastmcp

    named = [
        (fastmcp.FastMCP("desk"), members(0, "mcp"), set[str]()),
        (fastmcp.Context, members(0, "ctx"), REMOVED),
        (Server, members(1, "server"), set[str]()),
        (Context, members(1, "ctx"), set[str]()),
        (Problem, members(1, "Problem"), set[str]()),
        (middleware, members(1, "accord.middleware"), set[str]()),
    ]
    for owner, names, removed in named:
        assert names
        assert {name for name in names if not hasattr(owner, name)} == removed


def test_the_tables_name_commands_and_options_that_exist() -> None:
    cells = [row[1] for row in ROWS if len(row) > 1]
    verbs = {verb for cell in cells for verb in re.findall(r"`accord (\w+)", cell)}
    options = {option for cell in cells for option in re.findall(r"--[\w-]+", cell)}
    assert {"serve", "call"} <= verbs <= set(VERBS)
    assert "--http" in options
    known = set(re.findall(r"--[\w-]+", parser_of("serve").format_help()))
    assert options - known == set()


# What the guide says of the differences on the wire

WRAPPED = {"2025-11-25": True, "2026-07-28": False}
"""True if Accord puts a result that is not an object into one."""


@pytest.mark.parametrize("revision", ERAS)
def test_results_that_are_not_objects_differ_in_their_structure(revision: str) -> None:
    async def main() -> None:
        for name, wrapped in (("before", True), ("after", WRAPPED[revision])):
            async with client(name, revision) as opened:
                result = (await opened.call_tool_raw("faq_search", {"words": "pass"})).result
                found = ["Reset the password"]
                assert result["structuredContent"] == ({"result": found} if wrapped else found)
                assert result["content"][0]["text"] == '["Reset the password"]'

    asyncio.run(main())


def test_failures_and_numbers_in_quotes_differ() -> None:
    async def main() -> None:
        texts: dict[str, list[str]] = {}
        for name in ("before", "after"):
            async with client(name, ERAS[-1]) as opened:
                texts[name] = [
                    (await opened.call_tool_raw("close_tickets", {"ids": ids})).result["content"][
                        0
                    ]["text"]
                    for ids in ([9], ["9"])
                ]
        assert texts == {
            "before": ["No open ticket 9", "No open ticket 9"],
            "after": [
                "Error executing tool: No open ticket 9",
                "Error executing tool: Invalid arguments for close_tickets:"
                " ids[0] must be an integer, not a string",
            ],
        }

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "revision", "code"),
    [
        ("before", "2025-11-25", -32603),
        ("before", "2026-07-28", -32603),
        ("after", "2025-11-25", -32002),
        ("after", "2026-07-28", -32602),
    ],
)
def test_a_missing_resource_has_another_code(name: str, revision: str, code: int) -> None:
    async def main() -> None:
        async with client(name, revision) as opened:
            await opened.read_resource("desk://tickets/99")

    with pytest.raises(MCPError) as caught:
        asyncio.run(main())
    assert caught.value.code == code


@pytest.mark.parametrize(("name", "is_refused"), [("before", True), ("after", False)])
def test_an_unknown_argument_is_refused_or_a_warning(name: str, is_refused: bool) -> None:
    async def main() -> None:
        async with client(name, ERAS[-1]) as opened:
            reading = await opened.call_tool("faq_search", {"words": "pass", "limit": 3})
        assert reading.is_failure == is_refused
        assert is_refused or ["limit" in each.message for each in reading.warnings] == [True]

    asyncio.run(main())


TEXT = """
from {package} import {name}

server = {name}("text")


@server.tool
def say_hello() -> str:
    return "hello"


server.run()
"""


@pytest.mark.parametrize(
    ("package", "name", "title", "structure"),
    [
        ("fastmcp", "FastMCP", "Say Hello", {"result": "hello"}),
        ("accord", "Server", None, None),
    ],
)
def test_a_text_has_no_structure_and_a_tool_no_title(
    package: str, name: str, title: str | None, structure: object, tmp_path: Path
) -> None:
    (tmp_path / "text.py").write_text(TEXT.format(package=package, name=name))

    async def main() -> None:
        command = f"{sys.executable} {tmp_path}/text.py"
        async with Client(command, env=UNWATCHED, timeout=30) as opened:
            (tool,) = await opened.list_tools()
            assert tool.raw.get("title") == title
            result = (await opened.call_tool_raw("say_hello")).result
            assert result.get("structuredContent") == structure
            assert result["content"] == [{"type": "text", "text": "hello"}]

    asyncio.run(main())
