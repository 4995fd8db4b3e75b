"""The reason of a failure as text: nothing is lost, and nothing is said twice."""

import asyncio
from typing import Any

import pytest

from accord import ContractError, FieldError, Problem, Server, read
from accord.integrations.failures import failure_text, levels_from


def text(*blocks: str, **members: Any) -> dict[str, Any]:
    """A result with text blocks."""
    return {"content": [{"type": "text", "text": block} for block in blocks], **members}


def rpc(message: str, data: Any = None) -> dict[str, Any]:
    return {"error": {"code": -32602, "message": message, "data": data}}


TEXTS = {
    "the words of a text": (text("Error: no such table: users"), "Error: no such table: users"),
    "all of a text": (
        text("Error: no such table: users\nTables: shop, orders"),
        "Error: no such table: users\nTables: shop, orders",
    ),
    "without what a server puts before them": (
        text("Error executing tool: No sword here. Try rope.", isError=True),
        "No sword here. Try rope.",
    ),
    "a message and what else there is": (
        text('{"success": false, "error": "closed", "hint": "open it", "tries": 3}'),
        'closed\n{"hint":"open it","tries":3}',
    ),
    "a message alone": (text('{"success": false, "error": "closed"}'), "closed"),
    "the JSON of an HTTP API": (
        text('{"status": 404, "title": "Not Found", "detail": "No item 7"}'),
        'No item 7\n{"status":404,"title":"Not Found"}',
    ),
    "a JSON-RPC error": (rpc("Unknown tool: buy"), "Unknown tool: buy"),
    "fields of a JSON-RPC error": (
        rpc(
            "Invalid character data",
            {"validation_errors": [{"field": "name", "error": "required"}]},
        ),
        "Invalid character data\nname: required",
    ),
    "text as data of a JSON-RPC error": (rpc("It failed", "line 7"), "It failed\nline 7"),
    "other data of a JSON-RPC error": (rpc("It failed", [1, 2]), 'It failed\n{"data":[1,2]}'),
    "fields in another form": (
        rpc("It failed", {"fields": ["name", {"at": 1}]}),
        'It failed\n"name"\n{"at":1}',
    ),
    "nothing at all": ({"content": [], "isError": True}, "The tool reported a failure"),
}


@pytest.mark.parametrize(("reply", "expected"), TEXTS.values(), ids=TEXTS)
def test_the_text_of_a_failure_has(reply: Any, expected: str) -> None:
    reading = read(reply, "close")
    assert reading.is_failure
    assert failure_text(reading) == expected


PROBLEM = Problem.validation(
    "No sword here",
    remediation="try lantern or rope",
    fields=[FieldError("item", "unknown")],
    retry_after=2,
)


@pytest.mark.parametrize("profile", ["plain", "envelope", "bare", "prose", "generic"])
def test_a_problem_reads_alike_in_every_profile(profile: str) -> None:
    server = Server("shop")

    @server.tool()
    def buy() -> None:
        raise PROBLEM

    reading = asyncio.run(server.call("buy", profile=profile))
    expected = "No sword here. Try lantern or rope. Retry after 2 seconds.\nitem: unknown"
    assert failure_text(reading) == expected


def test_a_success_has_its_message() -> None:
    assert failure_text(read(text("sunny"), "get_weather")) == ""


def test_levels_are_those_at_least_as_sure() -> None:
    assert levels_from("likely") == {"certain", "likely"}
    with pytest.raises(ContractError, match="must be one of certain, likely, guess, not 'sure'"):
        levels_from("sure")  # type: ignore[arg-type]
