"""The document of the Django REST framework library, by the example project itself."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import wire
from accord.model import schemas
from drf.mcp_clients import Client, text_of
from golden.rule import differences

requirement = pytest.mark.requirement
SHOWN = json.loads((Path(__file__).parents[1] / "golden/seed_000.json").read_text())
PLAIN = jsonschema_rs.validator_for(schemas.load("plain"))
HANDSHAKE = [date for date in wire.REVISIONS if date != wire.STATELESS]


def post(request: Any, revision: str = "2025-06-18") -> Any:
    """The reply to a request as it stands in the document."""
    response = Client().post(
        "/mcp/", request, format="json", headers={"MCP-Protocol-Version": revision}
    )
    return wire.check(response.content, revision=revision, method=request["method"])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("initialize", marks=requirement("000.viewset.initialize")),
        pytest.param("call succeeds", marks=requirement("000.viewset.call-succeeds")),
        pytest.param("call fails", marks=requirement("000.viewset.call-fails")),
        "method not found",
    ],
)
def test_the_document_gets_its_replies_from_a_viewset(name: str) -> None:
    shown = SHOWN[name]
    sent = post(shown["request"])
    assert (
        list(differences(shown["reply"], sent, ["result.structuredContent", "result._meta"])) == []
    )


@requirement("000.viewset.tools-list")
@pytest.mark.parametrize("revision", wire.REVISIONS)
def test_the_actions_of_a_viewset_are_listed(revision: str) -> None:
    client = Client(revision=revision)
    names = [tool["name"] for tool in client.list_tools()]
    assert names[:2] == ["customers_list", "customers_retrieve"]


@requirement("000.viewset.every-response")
@pytest.mark.parametrize("revision", wire.REVISIONS)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("customers_list", {}),
        ("customers_retrieve", {"kwargs": {"pk": 1}}),
        ("customers_retrieve", {"kwargs": {"pk": 2}}),
        ("customers_create", {"body": {}}),
        ("products_list", {"query": {"page": 2}}),
        ("orders_list", {}),
    ],
)
def test_each_response_fits_the_schema_of_the_document(
    revision: str, tool: str, arguments: dict[str, Any]
) -> None:
    result = Client(revision=revision).call_tool(tool, arguments)
    PLAIN.validate(result)
    if "isError" in result:
        assert text_of(result).startswith("Error executing tool: ViewSet returned error: {")
    else:
        json.loads(text_of(result))


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_its_name_and_version_are_those_of_the_document(revision: str) -> None:
    said = Client(revision=revision).initialize()
    assert said["protocolVersion"] == revision
    assert said["capabilities"] == {"tools": {}}
    assert said["serverInfo"] == {"name": "django-rest-framework-mcp", "version": "0.1.0"}
