"""Headers of the stateless era that repeat the body: what differs is refused, whatever it says."""

from typing import Any

import pytest

from http_peer import HttpPeer, HttpServer, encoded
from serve.http.talk import STATELESS
from stdio_peer import META, modern_params

MISMATCH = -32020

WRONG: dict[str, dict[str, Any]] = {
    "no version": {"MCP-Protocol-Version": None},
    "an old version": {"MCP-Protocol-Version": "2025-11-25"},
    "the version of batches": {"MCP-Protocol-Version": "2025-03-26"},
    "a future version": {"MCP-Protocol-Version": "2099-12-31"},
    "an empty version": {"MCP-Protocol-Version": ""},
    "two versions": {"MCP-Protocol-Version": [STATELESS, STATELESS]},
    "no method": {"Mcp-Method": None},
    "an empty method": {"Mcp-Method": ""},
    "another method": {"Mcp-Method": "tools/list"},
    "a method in capitals": {"Mcp-Method": "TOOLS/CALL"},
    "an encoded method": {"Mcp-Method": encoded("tools/call")},
    "the method twice": {"Mcp-Method": ["tools/call", "tools/call"]},
    "two methods": {"Mcp-Method": ["tools/call", "tools/list"]},
    "no name": {"Mcp-Name": None},
    "an empty name": {"Mcp-Name": ""},
    "another name": {"Mcp-Name": "lose"},
    "a name in capitals": {"Mcp-Name": "KEEP"},
    "a longer name": {"Mcp-Name": "keep2"},
    "a name with a blank inside": {"Mcp-Name": "ke ep"},
    "the name twice": {"Mcp-Name": ["keep", "keep"]},
    "two names": {"Mcp-Name": ["keep", "lose"]},
    "a list of names": {"Mcp-Name": "keep, keep"},
    "another name, encoded": {"Mcp-Name": encoded("lose")},
    "the name encoded with a blank": {"Mcp-Name": encoded(" keep")},
    "the name encoded twice": {"Mcp-Name": encoded(encoded("keep"))},
    "no Base64": {"Mcp-Name": "=?base64?k!ep?="},
    "Base64 without its padding": {"Mcp-Name": "=?base64?a2VlcA?="},
    "Base64 of no UTF-8": {"Mcp-Name": "=?base64?/w==?="},
    "marks in capitals": {"Mcp-Name": "=?BASE64?a2VlcA==?="},
    "marks that overlap": {"Mcp-Name": "=?base64?="},
    "one mark": {"Mcp-Name": "=?base64?a2VlcA=="},
    "a name beyond ASCII": {"Mcp-Name": "keep\u00a0"},
}

RIGHT: dict[str, dict[str, Any]] = {
    "as they are": {},
    "an encoded name": {"Mcp-Name": encoded("keep")},
    "blanks around": {"Mcp-Name": " \tkeep ", "Mcp-Method": "tools/call\t"},
    "names of headers in capitals": {
        "Mcp-Name": None,
        "MCP-NAME": "keep",
        "Mcp-Method": None,
        "mcp-method": "tools/call",
        "MCP-Protocol-Version": None,
        "mcp-protocol-version": STATELESS,
    },
    "a session that this era knows nothing of": {"Mcp-Session-Id": "what is this"},
    "an event that this era knows nothing of": {"Last-Event-ID": "1-1"},
}


@pytest.mark.requirement("mcp.http.header-mismatch")
@pytest.mark.parametrize("what", WRONG)
def test_headers_that_differ_from_the_body_are_refused(server: HttpServer, what: str) -> None:
    with HttpPeer(server.port) as client:
        response = client.post(client.calling("keep", id="mine", secret="s"), WRONG[what])
        assert (response.status, response.code) == (400, MISMATCH)
        assert response.message.get("id", "mine") == "mine"


@pytest.mark.parametrize("what", RIGHT)
def test_headers_that_agree_are_served(server: HttpServer, what: str) -> None:
    with HttpPeer(server.port) as client:
        response = client.post(client.calling("keep", secret="s"), RIGHT[what])
        assert (response.status, response.text) == (200, "s")
        assert response.headers["Mcp-Session-Id"] is None


@pytest.mark.requirement("mcp.http.header-encoding")
@pytest.mark.parametrize("name", ["größe", "a b", " padded ", "=?base64?literal?=", "two\nlines"])
def test_a_name_that_needs_encoding_is_read_before_it_is_compared(
    server: HttpServer, name: str
) -> None:
    with HttpPeer(server.port) as client:
        message = client.calling(name)
        response = client.post(message, {"Mcp-Name": encoded(name)})
        assert (response.status, response.code) == (400, -32602), "it agrees, but is no tool"


def test_a_list_needs_no_name(server: HttpServer) -> None:
    with HttpPeer(server.port) as client:
        response = client.post(client.request("tools/list"), {"Mcp-Name": None})
        assert response.status == 200


def test_a_body_of_the_stateless_era_is_not_let_into_a_session_under_an_old_header(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        params = modern_params({"name": "keep", "arguments": {"secret": "s"}})
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        for _ in range(2):
            response = client.post(message)
            assert (response.status, response.code) == (400, MISMATCH)


def test_a_stateless_header_with_a_body_that_names_an_old_revision_is_refused(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port) as client:
        message = client.calling("keep", secret="s")
        message["params"]["_meta"][f"{META}/protocolVersion"] = "2025-11-25"
        response = client.post(message)
        assert (response.status, response.code) == (400, MISMATCH)
